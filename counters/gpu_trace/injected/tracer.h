// The state of tracing in one process: its file, and its clock. Used by what CUPTI calls and by
// what NVTX calls, from any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "counters/gpu_trace/trace_file.h"

namespace dlroof::gpu_trace {

// Returns the value of an environment variable, or "".
const char* Setting(const char* name);
// Returns the number in an environment variable, or `otherwise`.
std::uint64_t Number(const char* name, std::uint64_t otherwise);
// Returns this process's program and arguments, separated by spaces.
std::string CommandLine();

class Tracer {
 public:
  // Never destroyed.
  static Tracer& Get();

  // Whether files are to be written (DLROOF_GPU_TRACE_FOLDER).
  bool IsActive() const { return !folder_.empty(); }

  // Calls use(file) under a lock. Creates the process's file first if it has none: a forked child
  // gets a file of its own. Does nothing where no file can be created.
  template <class Use>
  void WithFile(const Use& use) {
    const std::lock_guard lock(mutex_);
    if (TraceFile* file = File()) use(*file);
  }

  // [ns] on the clock of the trace: the system's time, which CUPTI uses too.
  std::uint64_t Now() const;
  // Replaces the clock by CUPTI's own.
  void UseClock(std::uint64_t (*now)()) { now_ = now; }

 private:
  Tracer();
  TraceFile* File();

  std::mutex mutex_;
  std::string folder_;
  std::unique_ptr<TraceFile> file_;
  std::uint64_t (*now_)() = nullptr;
};

}  // namespace dlroof::gpu_trace
