// The file format of a trace of one process's GPU work. The injected library writes the file while
// the program runs; a file that ends early is readable up to its end. Needs only the C++ standard
// library, because the injected library includes it too.
//
// A file is a FileHeader and blocks. A block is a BlockHeader and records. A record begins with a
// RecordHeader; its length is a multiple of 8 bytes. Numbers are little-endian, times are in ns on
// CUPTI's clock. A record that defines a text, a kernel or a device precedes the records that refer
// to its number. Readers skip unknown kinds of records, and unknown bytes at the end of a record.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace dlroof::gpu_trace {

static_assert(std::endian::native == std::endian::little, "trace files are little-endian");

inline constexpr char kFileMark[8] = {'D', 'L', 'R', 'O', 'O', 'F', 'G', 'T'};
inline constexpr std::uint32_t kVersion = 1;
inline constexpr std::uint32_t kBlockMark = 0x4b4c4231;  // "1BLK"
inline constexpr const char* kFileEnding = ".gputrace";

struct FileHeader {
  char mark[8];
  std::uint32_t version;
  std::uint32_t bytes;  // [byte] of this header
};

struct BlockHeader {
  std::uint32_t mark;
  std::uint32_t bytes;     // [byte] of the records
  std::uint64_t checksum;  // Checksum() of the records
};

enum class Kind : std::uint16_t {
  kProcess = 1,
  kText = 2,
  kDevice = 3,
  kKernel = 4,
  kLaunch = 5,
  kCopy = 6,
  kFill = 7,
  kRange = 8,
  kDropped = 9,
  // 10 in older versions: the overhead of tracing
  kFailure = 11,
  kFull = 12,
  kEnd = 13,
  kCall = 14,
  kAnswer = 15,
};

struct RecordHeader {
  Kind kind;
  std::uint16_t words;  // [8 byte] length of the record, including this header
};

struct ProcessRecord {
  RecordHeader header;
  std::uint32_t pid, reserved;
  std::uint32_t command;  // number of a text: program and arguments, separated by spaces
  std::uint32_t reserved_too[2];
  std::uint64_t begin_ns;  // when CUDA was initialized
};
// Defines a text. `bytes` bytes follow, then zeros up to a multiple of 8.
struct TextRecord {
  RecordHeader header;
  std::uint32_t number, bytes, reserved;
};
struct DeviceRecord {
  RecordHeader header;
  std::uint32_t number;
  std::uint32_t name;                // number of a text
  std::uint32_t compute_capability;  // [1] major * 10 + minor
  std::uint32_t reserved[4];
};
// Defines a kernel: all launches of a function with the same grid and block.
struct KernelRecord {
  RecordHeader header;
  std::uint32_t number, reserved;
  std::uint32_t name;  // number of a text: the function's mangled name
  std::uint32_t grid[3], block[3];
  std::uint32_t reserved_too[6];  // older files have shared memory and registers here
};
// One launch. `graph` is 0 if the launch is not part of a CUDA graph. If graphs are traced as a
// whole, the launch of a graph is recorded as the launch of a kernel without a grid.
struct LaunchRecord {
  RecordHeader header;
  std::uint32_t kernel;
  std::uint64_t begin_ns, duration_ns;
  std::uint32_t device, context, stream, correlation;
  std::uint64_t reserved;
  std::uint32_t graph, reserved_too;
};
// `kind`, `source` and `destination` are CUpti_ActivityMemcpyKind and CUpti_ActivityMemoryKind.
struct CopyRecord {
  RecordHeader header;
  std::uint8_t kind, source, destination, peer;
  std::uint64_t begin_ns, duration_ns;
  std::uint64_t bytes;
  std::uint32_t device, context, stream, reserved[3];
};
struct FillRecord {
  RecordHeader header;
  std::uint32_t reserved;
  std::uint64_t begin_ns, duration_ns;
  std::uint64_t bytes;
  std::uint32_t device, context, stream, reserved_too[3];
};
// An NVTX range of a thread. Written at the end of the range.
struct RangeRecord {
  RecordHeader header;
  std::uint32_t name;  // number of a text
  std::uint64_t begin_ns, duration_ns;
  std::uint32_t thread, depth;
};
// A call of a CUDA function that put work onto the GPU.
struct CallRecord {
  RecordHeader header;
  std::uint32_t correlation;  // the same in the records of the work that the call launched
  std::uint64_t begin_ns;
  std::uint32_t thread, reserved;
};
// The number of GPU work items that were not recorded.
struct DroppedRecord {
  RecordHeader header;
  std::uint32_t reserved;
  std::uint64_t records;  // [1] since the previous DroppedRecord
};
struct FailureRecord {
  RecordHeader header;
  std::uint32_t text;  // number of a text: a sentence that says why there is no trace
};
// CUPTI's result for a request to record something.
struct AnswerRecord {
  RecordHeader header;
  std::uint32_t what, result;  // numbers of texts: the request, "kernels"; CUPTI's result code
  std::uint32_t reserved;
};
// The file has reached its maximum size; only an EndRecord may follow.
struct FullRecord {
  RecordHeader header;
  std::uint32_t reserved;
  std::uint64_t at_ns;
};
// The process ended by exit(). Without this record the last part of the trace may be missing.
struct EndRecord {
  RecordHeader header;
  std::uint32_t reserved;
  std::uint64_t at_ns;
};

static_assert(sizeof(FileHeader) == 16 && sizeof(BlockHeader) == 16 && sizeof(ProcessRecord) == 32);
static_assert(sizeof(DeviceRecord) == 32 && sizeof(KernelRecord) == 64 &&
              sizeof(LaunchRecord) == 56);
static_assert(sizeof(CopyRecord) == 56 && sizeof(FillRecord) == 56 && sizeof(RangeRecord) == 32);
static_assert(sizeof(CallRecord) == 24 && sizeof(DroppedRecord) == 16 &&
              sizeof(FailureRecord) == 8 && sizeof(AnswerRecord) == 16);

// Returns a hash of `bytes` bytes, which must be a multiple of 8.
inline std::uint64_t Checksum(const char* data, std::size_t bytes) {
  std::uint64_t hash = 0x9e3779b97f4a7c15 ^ bytes;
  for (std::size_t i = 0; i + 8 <= bytes; i += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, data + i, sizeof word);
    hash = std::rotl((hash ^ word) * 0xff51afd7ed558ccdU, 29);
  }
  return hash;
}

}  // namespace dlroof::gpu_trace
