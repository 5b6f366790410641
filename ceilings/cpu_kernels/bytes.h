// The data of one thread (operands and results of arithmetic kernels, arrays of memory kernels),
// and the memory kernels with their traffic.
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

// kHuge asks for huge pages, which the system may refuse; kSmall forbids them.
enum class PageSize { kHuge, kSmall };

// Page-aligned memory. The creating thread writes it, which places it on that thread's NUMA node.
// It is filled with the byte 0x3f (floats of 0.747) to avoid zero pages and denormal numbers.
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
  // Arithmetic kernels load their operands and accumulators from here, keep everything in registers
  // for all iterations and store the accumulators at the end. So no operand is a constant to the
  // compiler, and every result is used.
  alignas(64) std::array<std::byte, 4096> operands{};
  alignas(64) std::array<std::byte, 4096> accumulators{};

  // Memory kernels walk through these arrays in steps. They continue where the last call stopped
  // and wrap around at the end.
  float* arrays[3] = {};
  std::size_t floats = 0;  // in each array; a multiple of the kernel's step
  std::size_t next = 0;    // [float] where the next call begins
  // Kernels that only load store here the exclusive or of what they loaded; see kFolds.
  alignas(64) std::array<std::byte, 512> folds{};
};

// Does the kernel's work `iterations` times.
using Kernel = void (*)(Workspace& workspace, std::int64_t iterations);

inline constexpr float kBytesScale = 3;  // the triad's factor
// Store kernels write the first elements of kStoredVector, update kernels flip the bits of
// kFlippedBits. All elements differ, so that the results show the width of the vectors. The flipped
// bits do not change exponents, so that no number becomes denormal.
alignas(64) inline constexpr float kStoredVector[] = {
    2.0F, 2.0625F, 2.125F, 2.1875F, 2.25F, 2.3125F, 2.375F, 2.4375F,
    2.5F, 2.5625F, 2.625F, 2.6875F, 2.75F, 2.8125F, 2.875F, 2.9375F};
alignas(64) inline constexpr std::uint32_t kFlippedBits[] = {
    0x80000001, 0x80000002, 0x80000003, 0x80000004, 0x80000005, 0x80000006, 0x80000007, 0x80000008,
    0x80000009, 0x8000000a, 0x8000000b, 0x8000000c, 0x8000000d, 0x8000000e, 0x8000000f, 0x80000010};
// Number of registers into which load kernels fold: vector i of a step by exclusive or into
// register i % kFolds. Each call begins with zeros and stores the registers in Workspace::folds.
inline constexpr std::size_t kFolds = 8;
// Ridge kernels compute sum = sum * factor + element, which stays below twice the largest element.
inline constexpr float kRidgeFactor = 0.5F;

// A kernel that does `multiply_adds` vector multiply-adds per `loads` vector loads.
struct RidgeRow {
  int loads, multiply_adds;
  Kernel kernel;

  // Returns the [flop/byte] in fp32: a multiply-add is 2 flop, an element 4 byte.
  double Intensity() const { return 2.0 * multiply_adds / (4.0 * loads); }
};

// The kernels of one instruction set. The table can be read on any CPU.
struct BytesIsa {
  const char* name;
  const char* needs[2];       // features of counters/cpu/cpu.h; null for an unused place
  std::size_t vector_floats;  // [float] per vector
  std::size_t step_floats;    // [float] per array and iteration
  Kernel load, store, copy, triad, update;
  Kernel streaming_store, streaming_copy, streaming_triad;  // non-temporal stores; may be null
  std::span<const RidgeRow> ridge;                          // by rising intensity
};

// Returns the instruction sets that CPUs of this architecture may have, the widest first
// (x86/native_tables.cpp, other/portable_tables.cpp).
std::vector<const BytesIsa*> BytesIsas();
// Returns those that a CPU with these features has, the widest first, at least BytesPortable.
std::vector<const BytesIsa*> BytesIsasFor(const std::set<std::string>& features);

const BytesIsa& BytesPortable();  // vectors as the compiler makes them, for any CPU

enum class BytesOperation { kLoad, kStore, kCopy, kTriad, kUpdate };

// Numbers of streams of one operation. Rates count the bytes that the program names. Write-allocate
// moves more bytes, which no rate here includes.
struct Streams {
  int arrays;  // arrays in memory
  int named;   // streams that the program reads or writes
  int moved;   // modelled, with write-allocate; equal to `named` with non-temporal stores
};

// A mix of accesses: load; store; copy a = b; triad a = b + 3 c; update a = a ^ kFlippedBits.
struct Mix {
  const char* name;  // "copy-nt" for non-temporal stores
  BytesOperation operation;
  bool streaming;  // non-temporal stores
  Kernel kernel;

  Streams OfStreams() const;
};

// Returns the mixes of this instruction set; those with non-temporal stores only for L3 and DRAM.
std::vector<Mix> MixesFor(const BytesIsa& isa, Level level);
// Returns "2 streams named, 3 moved with write-allocate (modelled)", or "" for L1.
std::string TrafficText(const Mix& mix, Level level);

// Returns moved / named streams. L1 has none: nothing moves further in.
std::optional<double> MovedPerNamed(const Mix& mix, Level level);

// Places `streams` arrays of together `set_bytes` in page-aligned memory of MemoryBytes(set_bytes)
// or more. The size of each array is a multiple of `step_floats`, at least one step. Each array
// begins 256 byte further into a page of 4 KiB than the one before, because loads wait for stores
// with the same low address bits. Unused pointers equal the first one: an update reads and writes
// one array.
void PlaceArrays(char* memory, double set_bytes, int streams, std::size_t step_floats,
                 Workspace& workspace);
std::size_t MemoryBytes(double set_bytes);

}  // namespace dlroof::cpu_kernels
