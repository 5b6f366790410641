// The memory of one thread (operands and results of arithmetic kernels, arrays of memory kernels),
// and the memory kernels with the traffic that they cause.
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

#include "counters/base/work.h"

namespace dlroof::cpu_kernels {

struct Unmap {
  std::size_t bytes;
  void operator()(char* mapping) const;
};
// New memory from mmap(2).
using Mapping = std::unique_ptr<char, Unmap>;

// Page-aligned memory, on huge pages if there are any, filled with bytes of 0x3f (floats of 0.747):
// neither zero pages nor denormals. The constructor writes all bytes, so that the memory is on the
// calling thread's NUMA node.
class Pages {
 public:
  Pages() = default;
  // Allocates and fills `bytes` bytes. Throws std::bad_alloc.
  explicit Pages(std::size_t bytes);

  char* begin() const { return begin_; }
  std::size_t size() const { return bytes_; }

 private:
  Mapping mapping_;
  char* begin_ = nullptr;
  std::size_t bytes_ = 0;
};

struct Workspace {
  // Arithmetic kernels load their operands and accumulators from here, compute in registers, and
  // store the accumulators at the end. So the compiler cannot remove the computation.
  alignas(64) std::array<std::byte, 4096> operands{};
  alignas(64) std::array<std::byte, 4096> accumulators{};

  // Memory kernels process these arrays in steps of equal length. A call begins where the last call
  // stopped and wraps around at the end of the arrays.
  float* arrays[3] = {};
  std::size_t floats = 0;  // per array; a multiple of the kernel's step
  std::size_t next = 0;    // [float] index at which the next call begins
  // Load kernels store here the exclusive or of all vectors that they loaded; see kFolds.
  alignas(64) std::array<std::byte, 512> folds{};
};

// Runs `iterations` iterations of a kernel on the thread's memory.
using Kernel = void (*)(Workspace& workspace, std::int64_t iterations);

inline constexpr float kBytesScale = 3;  // factor of the triad a = b + 3 c
// Store kernels write kStoredVector; update kernels flip the bits of kFlippedBits. All elements
// differ, so that results show how wide the vectors were. The flipped bits leave exponents
// unchanged, so that no number becomes denormal.
alignas(64) inline constexpr float kStoredVector[] = {
    2.0F, 2.0625F, 2.125F, 2.1875F, 2.25F, 2.3125F, 2.375F, 2.4375F,
    2.5F, 2.5625F, 2.625F, 2.6875F, 2.75F, 2.8125F, 2.875F, 2.9375F};
alignas(64) inline constexpr std::uint32_t kFlippedBits[] = {
    0x80000001, 0x80000002, 0x80000003, 0x80000004, 0x80000005, 0x80000006, 0x80000007, 0x80000008,
    0x80000009, 0x8000000a, 0x8000000b, 0x8000000c, 0x8000000d, 0x8000000e, 0x8000000f, 0x80000010};
// Number of registers of a load kernel: vector i of a step is combined by exclusive or into
// register i % kFolds. A call begins with zeros and stores the registers in Workspace::folds.
inline constexpr std::size_t kFolds = 8;
// Factor of ridge kernels: sum = sum * factor + element stays below twice the largest element.
inline constexpr float kRidgeFactor = 0.5F;

// A ridge kernel: `multiply_adds` vector multiply-adds per `loads` vector loads.
struct RidgeRow {
  int loads, multiply_adds;
  Kernel kernel;

  // Returns the intensity [flop/byte] in fp32: 2 flop per multiply-add, 4 byte per element.
  double Intensity() const { return 2.0 * multiply_adds / (4.0 * loads); }
};

// The memory kernels of one instruction set. Reading this table needs no CPU feature.
struct BytesIsa {
  const char* name;
  const char* needs[2];       // CPU features (counters/cpu/cpu.h); null: unused element
  std::size_t vector_floats;  // [float] per vector
  std::size_t step_floats;    // [float] per array and iteration
  Kernel load, store, copy, triad, update;
  Kernel streaming_store, streaming_copy, streaming_triad;  // non-temporal stores; null: none
  std::span<const RidgeRow> ridge;                          // by rising intensity
};

const BytesIsa& BytesSse2();  // every x86-64 CPU has it
const BytesIsa& BytesAvx2();
const BytesIsa& BytesAvx512();
// Returns the instruction sets that these CPU features allow, the widest first; SSE2 always.
std::vector<const BytesIsa*> BytesIsasFor(const std::set<std::string>& features);

enum class BytesOperation { kLoad, kStore, kCopy, kTriad, kUpdate };

// Numbers of streams of one operation. Rates count the bytes of `named` streams only;
// write-allocate (reading a cache line before writing it) makes the memory level move more.
struct Streams {
  int arrays;  // allocated arrays
  int named;   // streams of reads and of writes in the code; update has one of each
  int moved;   // streams that the level moves (modelled), with write-allocate if there is one
};

// A mix of loads and stores: load; store; copy a = b; triad a = b + 3 c; update a ^= kFlippedBits.
struct Mix {
  const char* name;  // "copy-nt" for non-temporal stores
  BytesOperation operation;
  bool streaming;  // true: non-temporal stores
  Kernel kernel;

  Streams OfStreams() const;
};

// Returns the mixes of an instruction set for a level; non-temporal stores only for L3 and DRAM.
std::vector<Mix> MixesFor(const BytesIsa& isa, Level level);
// Returns "2 streams named, 3 moved with write-allocate (modelled)", or "" for L1.
std::string TrafficText(const Mix& mix, Level level);

// Returns the moved divided by the named streams, or nullopt for L1, which moves what is named.
std::optional<double> MovedPerNamed(const Mix& mix, Level level);

// Sets the array pointers of `workspace` to `streams` arrays, of `set_bytes` [byte] in all, in the
// page-aligned `memory` of at least MemoryBytes(set_bytes) bytes. The length of an array is a
// multiple of `step_floats`, at least one step. Arrays begin at different offsets in a 4 KiB page
// (256 byte apart), because loads wait for stores with equal low address bits. Unused pointers
// equal the first: an update kernel reads and writes one array by two pointers.
void PlaceArrays(char* memory, double set_bytes, int streams, std::size_t step_floats,
                 Workspace& workspace);
std::size_t MemoryBytes(double set_bytes);

// ---- validation on small arrays: a memory kernel does the loads and stores that are counted ----

struct KernelValidation {
  bool passed = false;
  std::string text;  // one sentence: what was checked, or what is wrong
};

// Checks `mix.kernel`, whose vectors and steps are those of `isa`:
// - Results: the arrays equal those of a reference loop, also when the kernel passes the end of the
//   arrays. The elements of a stored or flipped vector all differ. Finds skipped bytes, a call of
//   memset, and half a vector that is stored twice.
// - Loads: each of a load kernel's registers (kFolds) contains the exclusive or of its own vectors.
//   Finds loads that were deleted, skipped, or of another width.
// - Width: copy, triad and update write to an array that begins half a vector after the array that
//   they read (non-temporal stores: a whole vector, as they need aligned addresses). Only vectors
//   of the expected width, in order, give the reference result. Finds memcpy and other widths.
// - Pages: exactly the counted pages of each array become resident (mincore(2)). Finds accesses to
//   other memory. If the system reports every page as resident (some sandboxes), this check is left
//   out and `text` says so.
// These checks cannot find a store that is split into two stores of half the width.
KernelValidation ValidateBytesKernel(const Mix& mix, const BytesIsa& isa);

}  // namespace dlroof::cpu_kernels
