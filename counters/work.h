// The work of ONE call of a workload: FLOPs by pipe, bytes by memory level, launches. Ceilings,
// placement and reports are expressed in these terms.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dlroof {

// The three products of a trained layer: its result, and the gradients of its two factors.
enum class ProductDirection { kForward, kBackwardData, kBackwardWeights };
std::string_view Key(ProductDirection direction);  // "fwd", "bwd_data", "bwd_weights"
std::optional<ProductDirection> ProductDirectionFromKey(std::string_view key);

enum class Level { kL1, kL2, kL3, kDram, kHost };

// Origin of a quantity: a hardware counter, a cache simulation, or a formula. Results always name
// it.
enum class Provenance { kMeasured, kSimulated, kModelled };

// All values: levels from the core outwards, provenances from the best known to the least.
const std::vector<Level>& AllLevels();
const std::vector<Provenance>& AllProvenances();

// Text keys as files spell them: "l1", "l2", "l3", "dram", "host"; "measured", "simulated",
// "modelled".
std::string_view Key(Level level);
std::string_view Key(Provenance provenance);
std::optional<Level> LevelFromKey(std::string_view key);
std::optional<Provenance> ProvenanceFromKey(std::string_view key);

// A pipe (Nsight Compute's word) is an execution unit with the type of its operands,
// "<type>.<unit>": "fp32.vector", "bf16.matrix". Machine files may divide pipes further
// ("fp32.vector.avx2").
bool IsPipeKey(std::string_view key);
const std::vector<std::string>& AllPipeTypes();  // "fp64", "fp32", ...
const std::vector<std::string>& AllPipeUnits();  // "vector", "matrix"

// A missing key means that the quantity is unknown; zero means that no work was done.
struct Work {
  std::map<std::string, double> flops;  // [flop] by pipe key; a fused multiply-add is 2
  std::map<Level, double> bytes;   // [byte] read and written between this level and the one nearer
                                   // to the core
  std::optional<double> launches;  // [1] primitives or device kernels started
  std::map<std::string, double> parts;  // [flop] the same FLOPs by step of the algorithm ("matrix",
                                        // "elementwise")

  bool operator==(const Work&) const = default;
};

// Remark about how the work of a call was counted.
struct CountingNote {
  std::string source;  // "perf", "cupti"; may be empty
  std::optional<Provenance>
      provenance;    // set if `text` says how work of this provenance was counted
  std::string text;  // one sentence, for people

  bool operator==(const CountingNote&) const = default;
};

// Launch configuration and resources of a GPU kernel.
struct KernelFacts {
  std::int64_t blocks = 0;
  int threads = 0;              // per block
  int registers = 0;            // per thread
  double shared_bytes = 0;      // [byte] per block, static and dynamic
  std::optional<double> waves;  // [1] blocks over the blocks that fit on the GPU at once

  bool operator==(const KernelFacts&) const = default;
};

struct LaunchedKernel {
  std::string name;
  int launches = 1;                  // [1] by one call
  std::optional<double> seconds;     // [s] of these launches together, if they were traced
  std::optional<KernelFacts> facts;  // of each launch, if it was traced

  bool operator==(const LaunchedKernel&) const = default;
};

// [flop] Sum over pipes, or nullopt if no pipe is known.
std::optional<double> TotalFlops(const Work& work);

}  // namespace dlroof
