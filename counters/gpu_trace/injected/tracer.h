// The state of tracing in one process: file and clock. CUPTI and NVTX call back from any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "counters/gpu_trace/trace_file.h"

namespace dlroof::gpu_trace {

// Returns the value of an environment variable, or "".
const char* Setting(const char* name);
// Returns the number in an environment variable, or `otherwise` if it has none.
std::uint64_t Number(const char* name, std::uint64_t otherwise);
// Returns this process's program and arguments, separated by spaces.
std::string CommandLine();

class Tracer {
 public:
  // Returns the tracer of this process, which is never destroyed.
  static Tracer& Get();

  // Returns whether tracing is on (DLROOF_GPU_TRACE_FOLDER is set).
  bool IsActive() const { return !folder_.empty(); }

  // Calls use(file) under a lock. Creates the process's file first if there is none; a forked child
  // gets its own. Does nothing if no file can be created.
  template <class Use>
  void WithFile(const Use& use) {
    const std::lock_guard lock(mutex_);
    if (TraceFile* file = File()) use(*file);
  }

  // Returns the time [ns] on the trace's clock: by default the system's time, which CUPTI uses too.
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
