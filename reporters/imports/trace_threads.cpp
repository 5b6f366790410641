#include "reporters/imports/trace_threads.h"

#include <algorithm>

namespace dlroof::imports {
namespace {

// Autograd's process of the times of operators on the GPU.
constexpr std::string_view kAutogradGpu = "CUDA functions";

// Threads of a GPU's process that sum up its streams.
constexpr std::string_view kSpans[] = {
    "Steps",          "XLA Modules",          "XLA TraceMe",   "TensorFlow Name Scope",
    "TensorFlow Ops", "Framework Name Scope", "Framework Ops", "Source code",
    "Source Code",    "Launch Stats"};
// Repeats the streams where there are any; otherwise its calls are the only ones.
constexpr std::string_view kXlaOps = "XLA Ops";

bool Has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace

void ThreadNames::NameProcess(const std::string& process, const std::string& name) {
  if (!Has(name, "/device:GPU:") && !Has(name, "/gpu:")) return;
  processes_[process] = name;
  streams_ = streams_ || Has(name, "/stream:");
  all_streams_ = all_streams_ || Has(name, "/stream:all");
}

void ThreadNames::NameThread(const ThreadId& thread, const std::string& name) {
  threads_[thread] = name;
}

ThreadKind ThreadNames::KindOf(const ThreadId& thread) const {
  if (thread.first == kAutogradGpu) return ThreadKind::kKernels;
  const auto process = processes_.find(thread.first);
  if (process == processes_.end()) return ThreadKind::kOperators;
  if (Has(process->second, "/memcpy")) return ThreadKind::kKernels;
  if (streams_ && !Has(process->second, "/stream:")) return ThreadKind::kOperators;
  if (all_streams_ && !Has(process->second, "/stream:all")) return ThreadKind::kRepeated;
  const auto name = threads_.find(thread);
  if (name == threads_.end()) return ThreadKind::kKernels;
  const bool streams = std::ranges::any_of(threads_, [&](const auto& one) {
    return one.first.first == thread.first && one.second.starts_with("Stream");
  });
  const bool spans = std::ranges::count(kSpans, std::string_view(name->second)) > 0 ||
                     (streams && name->second == kXlaOps);
  return spans ? ThreadKind::kSpans : ThreadKind::kKernels;
}

bool ThreadNames::LacksName(const ThreadId& thread) const {
  return processes_.contains(thread.first) && !threads_.contains(thread) &&
         std::ranges::any_of(threads_,
                             [&](const auto& one) { return one.first.first == thread.first; });
}

}  // namespace dlroof::imports
