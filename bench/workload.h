// A workload is one benchmark before it runs; a cell makes the workloads of one op on one device by
// one library.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/benchmark_name.h"
#include "counters/error.h"
#include "counters/work.h"

namespace dlroof {

// What the comparison with the plain-loop reference found.
struct Verification {
  bool ok = false;
  double max_error =
      0;  // [1] largest |output - reference| / (tolerance scale of that output), see the cell
  double tolerance = 0;  // [1] what was allowed
  std::string
      how;  // "all 4096 outputs", "512 sampled outputs", "all outputs of the twin t2n4i64h64"
};

// Memory filled with seeded data, algorithm chosen. Owns everything that `run` uses.
struct PreparedCall {
  std::function<void()> run;             // one call, finished when it returns; nothing but the call
  std::function<Verification()> verify;  // compares with the reference; called once, before timing
  std::string algorithm;                 // what the library chose: "brgconv:avx512_core"
  std::string isa;                       // what the library may use here: "avx512_core_vnni"
  Work modelled;                         // of one call, on the pipes that this algorithm uses
  int threads = 0;  // that work on it, where they are not all that were given; 0: all
};

struct RunSettings {
  int threads = 1;
  std::vector<int> cpus;  // one for each thread to stay on; empty: not pinned
  unsigned seed = 1;
};

struct Workload {
  BenchmarkName name;
  // Throws Unsupported with the library's own words, std::exception when it breaks.
  std::function<PreparedCall(const RunSettings&)> prepare;
};

// One op on one device by one library. `make` parses the problem and throws BadInput (column within
// the whole name) for a direction, type, problem or option that cannot exist. Whether it is
// supported here shows only in prepare.
struct Cell {
  std::string op, device, library;
  std::function<Workload(const BenchmarkName&)> make;
};

// Called by each cell's file at namespace scope: [[maybe_unused]] const bool registered =
// RegisterCell({...});
bool RegisterCell(Cell cell);
const std::vector<Cell>& AllCells();

// Column (from 1) at which part `index` of the name's text begins; for messages of `make`.
int ColumnOfPart(const BenchmarkName& name, int index);

// A library that cells call: named in every run file and by the doctor.
struct Library {
  std::string name;                          // "onednn"
  std::function<std::string()> description;  // version, threading, ISA that it may use
  // Keeps its i-th thread on cpus[i] from now on, and with it the calling thread on cpus[0].
  std::function<void(const std::vector<int>& cpus)> pin;
};
bool RegisterLibrary(Library library);
const std::vector<Library>& AllLibraries();

// name -> Workload. Throws BadInput: what ParseBenchmarkName refuses, or no such op, device or
// library (listing those there are). A cell that exists in dlroof but not in this build (a library
// that was not found) gives a workload whose prepare throws Unsupported: it is recorded, it does
// not vanish.
Workload MakeWorkload(const std::string& name);

}  // namespace dlroof
