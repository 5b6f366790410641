// A GPU with the times of an H100 for a convolution and an LSTM, whose library prefers a wrong
// engine in bwd_weights. Writes the benchmark of each graph into the file DLROOF_FAKE_GRAPHS.
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>

#include "tests/fakes/modules/module.h"

namespace {

using dlroof::workload::BenchmarkName;
using dlroof::workload::PreparedCall;
using dlroof::workload::RunSettings;

// The call that was enqueued last.
double call_seconds = 0;  // [s]
std::string call_name;

double SecondsOf(const BenchmarkName& name) {
  const double plain = name.op == "LSTM" ? 103.5e-6 : 19.0e-6;
  static const std::map<std::string, double> seconds = {{"best", 17.2e-6},
                                                        {"nchw", 59.8e-6},
                                                        {"padded", 61.1e-6},
                                                        {"persist-static", 34.6e-6},
                                                        {"persist-small-h", 26.4e-6},
                                                        {"persist-dynamic", 186e-6}};
  double all = plain;
  for (const auto& option : name.options) all *= seconds.at(option) / plain;
  return all;
}

PreparedCall EnginePrepare(const BenchmarkName& name, const RunSettings&) {
  auto call = dlroof::fakes::FakeCall();
  call.gpu->enqueue = [name](void*) {
    call_seconds = SecondsOf(name);
    call_name = name.problem;
    for (const auto& option : name.options) call_name += "/" + option;
  };
  call.run = [enqueue = call.gpu->enqueue] { enqueue(nullptr); };
  if (std::ranges::count(name.options, "best") > 0) call.heuristic_over_best = 19.0 / 17.2;
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
  const auto* const path = std::getenv("DLROOF_FAKE_GRAPHS");
  const auto graphs = std::make_shared<std::ofstream>(path == nullptr ? "" : path, std::ios::app);
  *graphs << "process" << std::endl;
  clock->graph = [graphs](const dlroof::gpu::Enqueue& call, int calls) {
    call(nullptr);
    *graphs << call_name << std::endl;
    return [call, calls] {
      call(nullptr);
      return dlroof::gpu::GpuBatch{3e-6 + calls * call_seconds, 1.7e9};
    };
  };
  return clock;
}

}  // namespace

void Change(dlroof::gpu_loader::GpuModule& module) {
  module.backends.at(0).prepare = EnginePrepare;
  module.backends.push_back(module.backends.front());
  module.backends.back().op = "LSTM";
  module.clock = EngineClock;
}
