// A GPU on which "best" takes half of the time and "padded" a third, and whose library prefers a
// wrong engine in bwd_weights.
#include <algorithm>

#include "tests/fakes/fake_gpu.h"

namespace {

using dlroof::workload::BenchmarkName;
using dlroof::workload::PreparedCall;
using dlroof::workload::RunSettings;

double call_seconds = 0;  // [s] of the call that was enqueued last

bool Has(const BenchmarkName& name, const std::string& option) {
  return std::ranges::count(name.options, option) > 0;
}

double SecondsOf(const BenchmarkName& name) {
  double seconds = 12e-6;
  if (Has(name, "best")) seconds /= 2;
  if (Has(name, "padded")) seconds /= 3;
  return seconds;
}

PreparedCall EnginePrepare(const BenchmarkName& name, const RunSettings&) {
  auto call = dlroof::fakes::FakeCall();
  call.gpu->enqueue = [seconds = SecondsOf(name)](void*) { call_seconds = seconds; };
  call.run = [enqueue = call.gpu->enqueue] { enqueue(nullptr); };
  if (Has(name, "best")) call.heuristic_over_best = 2;
  if (name.direction != "bwd_weights") return call;
  call.algorithm = "engine 20";
  const auto wrong = std::make_shared<bool>(true);
  call.verify = [wrong] {
    return dlroof::workload::Verification{!*wrong, *wrong ? 6780.0 : 0.5, 1, "by decree"};
  };
  call.next_algorithm = [wrong](PreparedCall& changed) {
    changed.algorithm = "engine 1";
    *wrong = false;
    return true;
  };
  return call;
}

std::shared_ptr<dlroof::gpu::GpuClock> EngineClock(int) {
  auto clock = dlroof::fakes::OpenFake();
  clock->once = [](const dlroof::gpu::Enqueue& call) {
    call(nullptr);
    return call_seconds + 2e-6;
  };
  clock->batch = [](const dlroof::gpu::Enqueue& call, int calls,
                    const std::function<void()>& while_running) {
    call(nullptr);
    if (while_running) while_running();
    return dlroof::gpu::GpuBatch{calls * call_seconds, 1.7e9};
  };
  clock->queued = [](const dlroof::gpu::L2State&, const dlroof::gpu::Enqueue& call, int calls) {
    call(nullptr);
    return dlroof::gpu::QueuedCalls{std::vector<double>(calls, call_seconds), 1.7e9};
  };
  clock->graph = [](const dlroof::gpu::Enqueue& call, int calls) {
    return [call, calls] {
      call(nullptr);
      return dlroof::gpu::GpuBatch{3e-6 + calls * call_seconds, 1.7e9};
    };
  };
  return clock;
}

}  // namespace

extern "C" const dlroof::gpu_loader::GpuModule* dlroof_cuda_module() {
  static const dlroof::gpu_loader::GpuModule module = [] {
    auto made = dlroof::fakes::FakeModule();
    made.backends.at(0).prepare = EnginePrepare;
    made.clock = EngineClock;
    return made;
  }();
  return &module;
}
