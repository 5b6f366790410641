// Imported records as a run file on the roofs of a machine.
//
// Anyone's measurements as records: a table of the formats of other tools.
#pragma once

#include <iosfwd>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ceilings/machine/machine.h"
#include "reporters/record/record.h"
#include "reporters/record/run_file.h"

namespace dlroof::imports {

struct ImportChoice {
  std::string set;                       // before every name, with a slash; empty: nothing
  std::optional<Provenance> provenance;  // of all FLOPs and bytes; absent: as the records say
};

// Names of six parts keep them; any other stands on `machine`'s device as a whole. Threads for
// which the machine has no ceilings become all of its threads, and `warnings` gets a sentence.
record::RunFile ImportedRun(std::vector<record::Record> records,
                            const std::optional<machine::Machine>& machine,
                            const ImportChoice& choice, std::ostream& warnings);

// Content of another tool's file.
struct Imported {
  std::vector<record::Record> records;
  std::optional<machine::Machine> machine;  // of a file of ceilings
  std::vector<std::string> remarks;         // what was left out or assumed, each with its place
};

// One format. `read` throws BadInput ("FILE:LINE: column N: ...") for what it cannot use; `where`
// names the file.
struct ImportFormat {
  std::string_view name;         // for --format
  std::string_view description;  // for --help
  bool (*recognise)(std::string_view text);
  Imported (*read)(const std::string& text, const std::string& where);
};

// Those of this layer, in the order in which a file is tried against them.
std::span<const ImportFormat> ImportFormats();

// Our own CSV: a header, then a row per repetition. Columns: name, seconds, launches, threads,
// flops_<pipe>, bytes_<level>; base units; an empty field is unknown; lines that begin with # are
// comments. Rows of one name are repetitions of one benchmark and must agree in their work.
bool LooksLikeOwnCsv(std::string_view text);
Imported ImportOwnCsv(const std::string& text, const std::string& where);

// Nsight Compute, `--csv` with `--page raw` (a column per metric, units below the names) or
// `details` (a row per metric), metric names of 2020.1 and later. All launches of one kernel name
// become one record, their FLOPs, bytes and times summed (Wang et al., section 4 of the
// hierarchical roofline paper); kernels without FLOPs stay in it with 0.
bool LooksLikeNsightCompute(std::string_view text);
Imported ImportNsightCompute(const std::string& text, const std::string& where);

// The Empirical Roofline Toolkit's roofline.json: ceilings. They are given, not measured here;
// a remark says so.
bool LooksLikeErt(std::string_view text);
Imported ImportErt(const std::string& text, const std::string& where);

// likwid-perfctr -O, or -o with .csv: a record per region and group. Runtime is that of the slowest
// hardware thread, FLOPs and volumes are sums over hardware threads.
bool LooksLikeLikwid(std::string_view text);
Imported ImportLikwid(const std::string& text, const std::string& where);

// nvbench --json: a record per state; bytes are those that the benchmark's author declares.
bool LooksLikeNvbench(std::string_view text);
Imported ImportNvbench(const std::string& text, const std::string& where);

// A Chrome trace of PyTorch's profiler (Kineto) or TensorFlow's: a record per operator and sizes of
// its inputs, or per kernel where the trace has a GPU's. Time is that of all calls, each without
// the calls within it; FLOPs and bytes where the sizes tell them (trace_events.h).
bool LooksLikeTrace(std::string_view text);
Imported ImportTrace(const std::string& text, const std::string& where);

// A run time [s] that some call can have: from 1 ps to 30,000 years.
bool IsRunTime(double seconds);

// Adds the remark "FILE:1: columns 'a', 'b' and 3 more are not known and left out"; none for none.
void AddUnknownColumns(const std::vector<std::string>& columns, const std::string& where,
                       Imported& imported);

}  // namespace dlroof::imports
