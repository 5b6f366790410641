#include "counters/gpu_trace/injected/tracer.h"

#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>

namespace dlroof::gpu_trace {
namespace {

constexpr std::uint64_t kMaxBytes = std::uint64_t{4} << 30;  // [byte] default limit of a file

std::mutex* forking = nullptr;
std::unique_ptr<TraceFile>* forked = nullptr;

// Handlers around fork(): they ensure that the child can lock and that it gets a file of its own.
void BeforeFork() { forking->lock(); }
void InParent() { forking->unlock(); }
void InChild() {
  if (*forked) (*forked)->Abandon();
  forked->reset();
  forking->unlock();
}

}  // namespace

const char* Setting(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::uint64_t Number(const char* name, std::uint64_t otherwise) {
  const char* text = Setting(name);
  char* end = nullptr;
  const std::uint64_t number = std::strtoull(text, &end, 10);
  return end == text ? otherwise : number;
}

std::string CommandLine() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  while (!text.empty() && text.back() == '\0') text.pop_back();
  std::replace(text.begin(), text.end(), '\0', ' ');
  return text;
}

Tracer::Tracer() : folder_(Setting("DLROOF_GPU_TRACE_FOLDER")) {
  forking = &mutex_;
  forked = &file_;
  if (IsActive()) pthread_atfork(BeforeFork, InParent, InChild);
}

Tracer& Tracer::Get() {
  static auto* const tracer = new Tracer;
  return *tracer;
}

TraceFile* Tracer::File() {
  if (!IsActive()) return nullptr;
  if (file_ == nullptr)
    file_ = std::make_unique<TraceFile>(folder_, static_cast<std::uint32_t>(getpid()),
                                        Number("DLROOF_GPU_TRACE_BYTES", kMaxBytes));
  return file_->IsOpen() ? file_.get() : nullptr;
}

std::uint64_t Tracer::Now() const {
  if (now_ != nullptr) return now_();
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(now.tv_nsec);
}

}  // namespace dlroof::gpu_trace
