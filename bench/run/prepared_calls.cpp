#include "bench/run/prepared_calls.h"

#include <utility>

#include "bench/run/counting.h"

namespace dlroof::runner {
namespace {

// [byte] Tensors of a GPU's calls that stay until they are counted.
constexpr double kMostKeptBytes = 4e9;

double Bytes(const workload::PreparedCall& call) {
  double bytes = 1;  // so that no kept call counts as none
  for (const auto& region : call.memory) bytes += static_cast<double>(region.bytes);
  return bytes;
}

}  // namespace

timing::Timer& PreparedCalls::TimerOf(const workload::Workload& workload) {
  if (workload.name.device == "gpu") return gpu_;
  return cpu_;
}

bool PreparedCalls::CountsLater(const workload::Workload& workload) {
  return TimerOf(workload).CountsLast() && MeansGpuCounters(settings_.counters);
}

void PreparedCalls::Take(const workload::Workload& workload) {
  if (auto kept = kept_.extract(workload::ToText(workload.name))) {
    call_ = std::move(kept.mapped());
    kept_bytes_ -= Bytes(*call_);
    TimerOf(workload).SetUp(*call_, workload.cache, threads_);
    return;
  }
  try {
    call_ = Make(workload);
  } catch (const std::exception&) {
    if (kept_.empty()) throw;
    kept_.clear();
    kept_bytes_ = 0;
    call_ = Make(workload);
  }
}

void PreparedCalls::Keep(const std::string& name) {
  if (!call_ || kept_bytes_ + Bytes(*call_) > kMostKeptBytes) return;
  kept_bytes_ += Bytes(*call_);
  kept_.emplace(name, *std::exchange(call_, std::nullopt));
}

void PreparedCalls::Drop() {
  call_.reset();
  cpu_.TearDown();
  gpu_.TearDown();
}

workload::RunSettings PreparedCalls::Settings() const {
  workload::RunSettings settings = settings_;
  settings.threads = threads_;
  return settings;
}

// Returns the call, ready in the state of the caches that the name asks for.
workload::PreparedCall PreparedCalls::Make(const workload::Workload& workload) {
  timing::Timer& timer = TimerOf(workload);
  threads_ = timer.Threads(workload, settings_.threads);
  timer.Open();
  Pin();
  workload::PreparedCall call = workload.prepare(Settings());
  timer.SetUp(call, workload.cache, threads_);
  return call;
}

// Pins each thread to a CPU of its own.
void PreparedCalls::Pin() {
  if (settings_.cpus.empty()) return;
  if (static_cast<size_t>(threads_) > settings_.cpus.size())
    throw Unsupported("threads{}: this process may use {} CPUs, and each thread needs its own",
                      threads_, settings_.cpus.size());
  const std::vector<int> cpus(settings_.cpus.begin(), settings_.cpus.begin() + threads_);
  if (cpus == pinned_) return;
  for (const auto& library : workload::AllLibraries()) library.pin(cpus);
  pinned_ = cpus;
}

}  // namespace dlroof::runner
