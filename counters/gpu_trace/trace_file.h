// Writes a trace file (format.h) while a program runs. Needs only the C++ standard library and
// POSIX: the injected library contains it.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "counters/gpu_trace/format.h"

namespace dlroof::gpu_trace {

// The file of one process. Not thread-safe. Does not throw if the file cannot be written: the
// records are lost. The destructor does not write.
class TraceFile {
 public:
  // Creates FOLDER/PID.gputrace, or PID-2.gputrace and so on. Records at most `most_bytes` [byte].
  TraceFile(const std::string& folder, std::uint32_t pid, std::uint64_t most_bytes);
  ~TraceFile();
  TraceFile(const TraceFile&) = delete;
  TraceFile& operator=(const TraceFile&) = delete;

  bool IsOpen() const { return fd_ >= 0; }
  // Closes the file without writing. For a forked child: its parent writes the file.
  void Abandon();

  // Adds a record, whose header's `kind` must be set. Writes a block if enough records wait.
  template <class Record>
  void Add(Record record) {
    static_assert(sizeof(Record) % 8 == 0);
    record.header.words = sizeof(Record) / 8;
    Append(&record, sizeof record);
  }
  // Adds a record of GPU work. Returns false, and writes a FullRecord once, if the file is full.
  template <class Record>
  bool AddWork(const Record& record) {
    if (!HasRoom(record.begin_ns)) return false;
    Add(record);
    return true;
  }
  // Returns the number of the text. Adds a TextRecord first if the text is new.
  std::uint32_t TextNumber(const char* text);
  // Returns the number of the kernel. Adds `kernel` first if it is new.
  std::uint32_t KernelNumber(KernelRecord kernel);

  // Writes the waiting records as one block, by one call of write(2).
  void WriteBlock();

 private:
  void Append(const void* record, std::size_t bytes);
  bool HasRoom(std::uint64_t at_ns);

  struct KernelHash {
    std::size_t operator()(const KernelRecord& kernel) const;
  };
  struct SameKernel {
    bool operator()(const KernelRecord& a, const KernelRecord& b) const;
  };

  int fd_ = -1;
  std::uint64_t most_bytes_ = 0, written_ = 0;
  bool full_ = false;
  std::vector<char> waiting_;  // the block's header and records
  // Look-ups by pointer also compare the text, because CUPTI may reuse the memory of a name.
  std::unordered_map<const char*, std::uint32_t> by_pointer_;
  std::unordered_map<std::string, std::uint32_t> by_text_;
  std::vector<const std::string*> texts_;
  std::unordered_map<KernelRecord, std::uint32_t, KernelHash, SameKernel> kernels_;
};

}  // namespace dlroof::gpu_trace
