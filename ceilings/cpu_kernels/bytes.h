// One thread's data: operands and results of arithmetic kernels, arrays of memory kernels.
//
// The memory kernels and their traffic.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "counters/work.h"

namespace dlroof::cpu_kernels {

enum class PageSize { kHuge, kSmall };  // a wish: huge where the system has them; never huge

// Page-aligned memory, written by the thread that makes it, so that it lies in that thread's NUMA
// node. Filled with the byte 0x3f, floats of 0.747: neither zero pages nor denormal numbers.
class Pages {
 public:
  Pages() = default;
  // Throws std::bad_alloc.
  explicit Pages(std::size_t bytes, PageSize page_size = PageSize::kHuge);

  char* begin() const { return begin_; }
  std::size_t size() const { return bytes_; }
  PageSize page_size() const { return page_size_; }

 private:
  struct Unmap {
    std::size_t bytes;
    void operator()(char* mapping) const;
  };

  std::unique_ptr<char, Unmap> mapping_;
  char* begin_ = nullptr;
  std::size_t bytes_ = 0;
  PageSize page_size_ = PageSize::kHuge;
};

struct Workspace {
  // Arithmetic kernels load their operands here, keep everything in registers for all iterations,
  // and accumulate in `accumulators` (loaded before, stored after): nothing is a constant to the
  // compiler, and every result is consumed.
  alignas(64) std::array<std::byte, 4096> operands{};
  alignas(64) std::array<std::byte, 4096> accumulators{};

  // Memory kernels walk through these arrays in steps, from where the last call stopped, and begin
  // again at the end.
  float* arrays[3] = {};
  std::size_t floats = 0;  // in each array; a multiple of the kernel's step
  std::size_t next = 0;    // [float]
  // Memory kernels that only load leave here what they loaded, folded.
  alignas(64) std::array<std::byte, 512> folds{};
};

// Does so many times the kernel's work.
using Kernel = void (*)(Workspace& workspace, std::int64_t iterations);

inline constexpr float kBytesScale = 3;  // the triad's factor
// Store kernels write the first elements of kStoredVector, update kernels flip those of
// kFlippedBits. All elements differ, so the results show the width of the vectors. Flipped bits
// leave exponents unchanged: no number becomes denormal.
alignas(64) inline constexpr float kStoredVector[] = {
    2.0F, 2.0625F, 2.125F, 2.1875F, 2.25F, 2.3125F, 2.375F, 2.4375F,
    2.5F, 2.5625F, 2.625F, 2.6875F, 2.75F, 2.8125F, 2.875F, 2.9375F};
alignas(64) inline constexpr std::uint32_t kFlippedBits[] = {
    0x80000001, 0x80000002, 0x80000003, 0x80000004, 0x80000005, 0x80000006, 0x80000007, 0x80000008,
    0x80000009, 0x8000000a, 0x8000000b, 0x8000000c, 0x8000000d, 0x8000000e, 0x8000000f, 0x80000010};
// Registers that the load kernels fold into: a step's vector i by exclusive or into i % kFolds.
// Each call begins with zeros, and leaves them in Workspace::folds.
inline constexpr std::size_t kFolds = 8;
// The ridge kernels' sum = sum * factor + element: it stays below twice the largest element.
inline constexpr float kRidgeFactor = 0.5F;

// A kernel with this number of multiply-adds and loads of a vector.
struct RidgeRow {
  int loads, multiply_adds;
  Kernel kernel;

  // Returns [flop/byte] of fp32: a multiply-add is 2 flops, an element 4 byte.
  double Intensity() const { return 2.0 * multiply_adds / (4.0 * loads); }
};

// The kernels of one instruction set. Reading them runs none of its instructions.
struct BytesIsa {
  const char* name;
  const char* needs[2];       // features of counters/cpu/cpu.h; null: nothing more
  std::size_t vector_floats;  // [float] per vector
  std::size_t step_floats;    // [float] per array and iteration
  Kernel load, store, copy, triad, update;
  Kernel streaming_store, streaming_copy, streaming_triad;  // non-temporal stores; null: has none
  std::span<const RidgeRow> ridge;                          // by rising intensity
};

// Returns the instruction sets that this processor family may have, the widest first. The build
// chooses a file per family.
std::vector<const BytesIsa*> BytesIsas();
// Returns those that a CPU with these features has, the widest first; never empty.
std::vector<const BytesIsa*> BytesIsasFor(const std::set<std::string>& features);

const BytesIsa& BytesPortable();  // the compiler's own vectors, any processor

enum class BytesOperation { kLoad, kStore, kCopy, kTriad, kUpdate };

// Streams of one operation. Rates count the bytes that the program names. Write-allocate moves
// more, which no rate here contains.
struct Streams {
  int arrays;  // in memory
  int named;   // read or written by the program
  int moved;   // [1] modelled, with write-allocate; equal to `named` with non-temporal stores
};

// A way to access memory: load; store; copy a = b; triad a = b + 3 c; update a = a ^ kFlippedBits.
struct Mix {
  const char* name;  // "copy-nt" for non-temporal stores
  BytesOperation operation;
  bool streaming;  // non-temporal stores
  Kernel kernel;

  Streams OfStreams() const;
};

// Returns the mixes of this instruction set. Non-temporal stores belong to L3 and DRAM alone.
std::vector<Mix> MixesFor(const BytesIsa& isa, Level level);
// Returns "named 2 streams, moved 3 with write-allocate (modelled)"; empty for L1.
std::string TrafficText(const Mix& mix, Level level);

// Returns moved / named; absent for L1.
std::optional<double> MovedPerNamed(const Mix& mix, Level level);

// Places the arrays of `streams` streams, `set_bytes` together, in page-aligned memory of at least
// MemoryBytes(set_bytes). Each gets a multiple of `step_floats`, at least one step. Each begins
// kPadBytes further into a page of 4 KiB than the one before, because loads wait for stores of the
// same low address bits. Unused arrays equal the first: an update reads and writes one.
void PlaceArrays(char* memory, double set_bytes, int streams, std::size_t step_floats,
                 Workspace& workspace);
std::size_t MemoryBytes(double set_bytes);

}  // namespace dlroof::cpu_kernels
