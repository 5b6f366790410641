// The three products of a trained layer: its result, and the gradients of its two factors.
//
// The work of ONE call of a workload: FLOPs by pipe, bytes by memory level, launches.
// Everything else in the tree (ceilings, placement, reports) is expressed in these terms.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dlroof {

enum class ProductDirection { kForward, kBackwardData, kBackwardWeights };
std::string_view Key(ProductDirection direction);  // "fwd", "bwd_data", "bwd_weights"
std::optional<ProductDirection> ProductDirectionFromKey(std::string_view key);

enum class Level { kL1, kL2, kL3, kDram, kHost };

// Origin of a quantity: a hardware counter, a cache simulation, or a formula. Never mixed
// silently.
enum class Provenance { kMeasured, kSimulated, kModelled };

// All values in order, best known first for Provenance, nearest to the core first for Level.
const std::vector<Level>& AllLevels();
const std::vector<Provenance>& AllProvenances();

// Text keys as files spell them: "l1", "l2", "l3", "dram", "host"; "measured", "simulated",
// "modelled".
std::string_view Key(Level level);
std::string_view Key(Provenance provenance);
std::optional<Level> LevelFromKey(std::string_view key);
std::optional<Provenance> ProvenanceFromKey(std::string_view key);

// A pipe is the unit that executes and the type of its operands, "<type>.<unit>": "fp32.vector",
// "bf16.matrix". The types and units are one table in work.cpp. A machine may hold finer rows
// ("fp32.vector.avx2").
bool IsPipeKey(std::string_view key);
const std::vector<std::string>& AllPipeTypes();  // "fp64", "fp32", ...
const std::vector<std::string>& AllPipeUnits();  // "vector", "matrix"

// A missing key means unknown; zero means none.
struct Work {
  std::map<std::string, double> flops;  // [flop] by pipe key; a fused multiply-add is 2
  std::map<Level, double>
      bytes;  // [byte] read + written between this level and the next nearer one
  std::optional<double> launches;  // [1] primitives or device kernels started
  std::map<std::string, double>
      parts;  // [flop] the same FLOPs by algorithmic part ("matrix", "elementwise")

  bool operator==(const Work&) const = default;
};

// Remark about how a work was counted.
struct CountingNote {
  std::string source;                    // "perf", "cupti"; empty: no source's, or not known
  std::optional<Provenance> provenance;  // of the work that `text` explains; absent: none
  std::string text;                      // one sentence, for people

  bool operator==(const CountingNote&) const = default;
};

// Resources that a kernel's launch needs of a GPU.
struct KernelFacts {
  std::int64_t blocks = 0;
  int threads = 0;              // of a block
  int registers = 0;            // of a thread
  double shared_bytes = 0;      // [byte] of a block, static and dynamic
  std::optional<double> waves;  // [1] blocks over those that the GPU holds at once; absent: unknown

  bool operator==(const KernelFacts&) const = default;
};

struct LaunchedKernel {
  std::string name;
  int launches = 1;                  // [1] by one call
  std::optional<double> seconds;     // [s] of these launches together; absent: not traced
  std::optional<KernelFacts> facts;  // of each launch; absent: not traced

  bool operator==(const LaunchedKernel&) const = default;
};

// Sum over pipes [flop]; absent when no pipe is known.
std::optional<double> TotalFlops(const Work& work);

}  // namespace dlroof
