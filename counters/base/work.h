// The work of ONE call of a benchmark: FLOPs by pipe, bytes by memory level, launches. Ceilings,
// rooflines and reports use these quantities.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dlroof {

// The three GEMMs of training a layer: the result, the data gradient, the weights gradient.
enum class ProductDirection { kForward, kBackwardData, kBackwardWeights };
std::string_view Key(ProductDirection direction);  // "fwd", "bwd_data", "bwd_weights"
std::optional<ProductDirection> ProductDirectionFromKey(std::string_view key);

enum class Level { kL1, kL2, kL3, kDram, kHost };  // kHost: between a GPU and its host (PCIe)

// Origin of a quantity: a hardware counter, a cache simulation or a formula. Results state it.
enum class Provenance { kMeasured, kSimulated, kModelled };

// Return all values: levels from the core outwards, provenances from the most reliable.
const std::vector<Level>& AllLevels();
const std::vector<Provenance>& AllProvenances();

// Returns the text in files: "l1", "l2", "l3", "dram", "host"; "measured", "simulated", "modelled".
std::string_view Key(Level level);
std::string_view Key(Provenance provenance);
std::optional<Level> LevelFromKey(std::string_view key);
std::optional<Provenance> ProvenanceFromKey(std::string_view key);

// A pipe (as in Nsight Compute) is an execution unit and the type of its operands, "<type>.<unit>":
// "fp32.vector", "bf16.matrix". Machine files may subdivide pipes ("fp32.vector.avx2"). IsPipeKey
// returns whether `key` has this form.
bool IsPipeKey(std::string_view key);
const std::vector<std::string>& AllPipeTypes();  // "fp64", "fp32", ...
const std::vector<std::string>& AllPipeUnits();  // "vector", "matrix"

// The work of one call. A missing key means that the quantity is unknown; 0 means none.
struct Work {
  std::map<std::string, double> flops;  // [flop] by pipe key; a fused multiply-add is 2
  std::map<Level, double> bytes;   // [byte] read and written between this level and the one nearer
                                   // to the core
  std::optional<double> written;   // [byte] the part of modelled DRAM bytes that the call writes
  std::optional<double> launches;  // [1] primitives or device kernels started
  std::map<std::string, double> parts;  // [flop] the same FLOPs by step of the algorithm ("matrix",
                                        // "elementwise")

  bool operator==(const Work&) const = default;
};

// Note for the user about how the work of a call was counted.
struct CountingNote {
  std::string source;  // "perf", "cupti"; may be empty
  std::optional<Provenance>
      provenance;    // set if `text` describes how work of this provenance was counted
  std::string text;  // one sentence

  bool operator==(const CountingNote&) const = default;
};

struct KernelFacts {
  std::int64_t blocks = 0;
  int threads = 0;              // per block
  int registers = 0;            // per thread
  double shared_bytes = 0;      // [byte] per block, static and dynamic
  std::optional<double> waves;  // [1] blocks divided by those that fit on the GPU at once
  int cluster = 1;              // [1] blocks of a thread block cluster; 1 without clusters

  bool operator==(const KernelFacts&) const = default;
};

struct LaunchedKernel {
  std::string name;
  int launches = 1;                  // [1] launches in one call
  std::optional<double> seconds;     // [s] of all `launches` together, if traced
  std::optional<KernelFacts> facts;  // equal for all `launches`; unset if unknown

  bool operator==(const LaunchedKernel&) const = default;
};

// [flop] Returns the sum over pipes, or nullopt if no pipe is known.
std::optional<double> TotalFlops(const Work& work);

// One dimension of a convolution [elements]. Output o multiplies tap t by the source's element
// o * stride + t * dilation - pad_begin, where an element outside the source is padding.
//
// A backward pass has the same pairs of an output and a tap. For a deconvolution, `source` is the
// size of its result and `outputs` is the size of its source.
struct FilterAxis {
  int64_t source = 1;
  int64_t outputs = 1;
  int64_t taps = 1;
  int64_t stride = 1, dilation = 1;  // at least 1; a dilation of 1 is dense
  int64_t pad_begin = 0;  // padding before the source; if negative, that many elements are cut off
};

// Returns the number [1] of pairs of an output and a tap whose element is inside the source, in
// logarithmic time. (outputs - 1) * stride, (taps - 1) * dilation and outputs * taps must be below
// 2^62.
int64_t PairsInside(const FilterAxis& axis);

// [1] Returns the number of pairs of an output and a tap that are useful work: those inside the
// source in every dimension, as oneDNN's benchdnn counts (prb_t::count_ops). With n images, k
// filters and c channels in g groups, a convolution has n * k * c / g times as many useful
// multiply-adds, in every direction, whatever its strides, padding and dilation.
double UsefulPairs(std::span<const FilterAxis> axes);

}  // namespace dlroof
