// A GPU that is made up, for the fake CUDA modules: what it does is known to the last digit.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/gpu_loader/module.h"
#include "counters/base/version.h"

namespace dlroof::fakes {

// [s] a call takes when started on an idle GPU, queued, back to back, and in a graph; an empty
// kernel, queued; what each train of calls takes beside them.
inline constexpr double kFakeOnce = 12e-6, kFakeQueued = 11e-6, kFakeBackToBack = 10e-6,
                        kFakeInGraph = 8e-6, kFakeEmpty = 2e-6, kFakeTrain = 5e-6;

// A test replaces the functions whose behaviour it plans.
struct FakeClock final : gpu::GpuClock {
  std::function<double(const gpu::Enqueue&)> once = [](const gpu::Enqueue& call) {
    call(nullptr);
    return kFakeOnce;
  };
  std::function<gpu::GpuBatch(const gpu::Enqueue&, int, const std::function<void()>&)> batch =
      [](const gpu::Enqueue& call, int calls, const std::function<void()>& while_running) {
        for (int i = 0; i < calls; ++i) call(nullptr);
        if (while_running) while_running();
        return gpu::GpuBatch{calls * kFakeBackToBack, 1.7e9};
      };
  std::function<std::function<gpu::GpuBatch()>(const gpu::Enqueue&, int)> graph =
      [](const gpu::Enqueue& call, int calls) {
        for (int i = 0; i < calls; ++i) call(nullptr);
        return [calls] { return gpu::GpuBatch{kFakeTrain + calls * kFakeInGraph, 1.7e9}; };
      };
  std::function<gpu::QueuedCalls(const gpu::L2State&, const gpu::Enqueue&, int)> queued =
      [](const gpu::L2State&, const gpu::Enqueue& call, int calls) {
        empties = 0;
        for (int i = 0; i < calls; ++i) call(&empties);
        const double each = empties == calls ? kFakeEmpty : kFakeQueued;
        return gpu::QueuedCalls{std::vector<double>(calls, each), 1.7e9};
      };
  std::function<gpu::GpuHealth()> health = [] {
    return gpu::GpuHealth{1.6e9, 3.2e9, /*power_watts=*/500, /*temperature_celsius=*/50, 4};
  };
  std::function<std::vector<LaunchedKernel>()> kernels = [] {
    const KernelFacts facts{.blocks = 66, .threads = 128, .waves = 0.5};
    return std::vector<LaunchedKernel>{{"fake_kernel", 1, std::nullopt, facts}};
  };
  std::function<void(const gpu::L2State&)> prepare = [](const gpu::L2State&) {};
  std::function<std::shared_ptr<void>(const void*, std::size_t)> copy = [](const void* begin,
                                                                           std::size_t bytes) {
    const auto text = std::make_shared<std::string>(static_cast<const char*>(begin), bytes);
    return std::shared_ptr<void>(text, text->data());
  };
  std::function<void()> recover = [] {};
  std::function<std::optional<double>()> energy_joules = [] { return std::optional<double>(); };
  static inline int empties = 0;  // empty kernels in a queue, whose stream points here

  double Once(const gpu::Enqueue& call) override { return once(call); }
  gpu::GpuBatch Batch(const gpu::Enqueue& call, int calls,
                      const std::function<void()>& while_running) override {
    return batch(call, calls, while_running);
  }
  std::function<gpu::GpuBatch()> Graph(const gpu::Enqueue& call, int calls) override {
    return graph(call, calls);
  }
  gpu::QueuedCalls Queued(const gpu::L2State& l2, const gpu::Enqueue& call, int calls) override {
    return queued(l2, call, calls);
  }
  void Empty(void* stream) override {
    if (stream == &empties) ++empties;
  }
  std::vector<LaunchedKernel> Kernels(const gpu::Enqueue& call) override {
    call(nullptr);
    return kernels();
  }
  void Prepare(const gpu::L2State& l2) override { prepare(l2); }
  double L2Bytes() override { return 2000; }
  std::shared_ptr<void> Copy(const void* begin, std::size_t bytes) override {
    return copy(begin, bytes);
  }
  void Recover() override { recover(); }
  gpu::GpuHealth Health() override { return health(); }
  std::optional<double> EnergyJoules() override { return energy_joules(); }
  std::optional<double> DefaultClockHz() override { return 2e9; }
};

inline std::shared_ptr<FakeClock> OpenFake() { return std::make_shared<FakeClock>(); }

// Returns what opens the GPU with a clock that `change` has changed.
inline std::function<std::shared_ptr<gpu::GpuClock>()> OpenWith(
    const std::function<void(FakeClock&)>& change) {
  return [change] {
    auto clock = OpenFake();
    change(*clock);
    return clock;
  };
}

inline machine::Machine FakeGpuMachine() {
  return {.device = "gpu",
          .name = "Fake GPU",
          .fingerprint = "00000000000000aa",
          .measured_at = "2020-01-01T00:00:00Z",
          .facts = {{"gpu.name", "Fake GPU"}}};
}

// 1e12 flop/s and 1e11 byte/s.
inline machine::Machine FakeGpuWithCeilings() {
  machine::Machine machine = FakeGpuMachine();
  machine::CeilingSet& all = machine.by_threads[1];
  all.flops["fp32.vector"] = {
      .per_second = 1e12, .how = "made up", .status = machine::CeilingStatus::kValidated};
  all.bytes[Level::kDram] = {
      .per_second = 1e11, .how = "made up", .status = machine::CeilingStatus::kValidated};
  all.launch_seconds = 2e-6;
  all.overheads = {{machine::kQueuedOverhead, 1.5e-6}, {machine::kGraphNodeOverhead, 0.5e-6}};
  return machine;
}

// A call of 1e6 flop and 1e5 byte: on the fake's roofs 1 us each.
inline workload::PreparedCall FakeCall() {
  workload::PreparedCall call;
  const auto output = std::make_shared<std::string>(1000, 'x');
  call.gpu.emplace().enqueue = [output](void*) { output->front() = 'y'; };
  call.gpu->on_copies = [](const std::map<const void*, void*>& copies) {
    return [copy = static_cast<char*>(copies.rbegin()->second)](void*) { *copy = 'y'; };
  };
  call.run = [enqueue = call.gpu->enqueue] { enqueue(nullptr); };
  call.verify = [] { return workload::Verification{true, 0, 1, "by decree"}; };
  call.algorithm = "fake engine";
  call.modelled.flops["fp32.vector"] = 1e6;
  call.modelled.bytes[Level::kDram] = 1e5;
  call.modelled.launches = 1;
  call.memory = {{output->data(), 600, false}, {output->data() + 600, 400, true}};
  return call;
}

// The library refuses "n2" and breaks at "n3", also as the convolution "n2c16h16w16k8r3s3_p1".
inline workload::PreparedCall FakePrepare(const workload::BenchmarkName& name,
                                          const workload::RunSettings&) {
  const auto is = [&](const std::string& images) {
    return name.problem == images || name.problem == images + "c16h16w16k8r3s3_p1";
  };
  if (is("n2")) throw Unsupported("the fake library has no n2");
  if (is("n3")) throw std::runtime_error("the fake library broke at n3");
  return FakeCall();
}

inline workload::Workload FakeWorkload(const workload::BenchmarkName& name) {
  return {.name = name, .prepare = [name](const workload::RunSettings& settings) {
            return FakePrepare(name, settings);
          }};
}

// Hardware counters that nobody may read, and some that break when they are read.
inline std::vector<CounterSource> FakeSources() {
  const auto breaks = [](const CountRequest&) -> Counted {
    throw std::runtime_error("the fake counter broke");
  };
  const auto locked = [] { return Reason{"the fake driver keeps its counters to root"}; };
  return {{"cupti", "gpu", Provenance::kMeasured, locked, breaks},
          {"breaking", "gpu", Provenance::kMeasured, {}, breaks}};
}

inline gpu_loader::GpuModule FakeModule() {
  gpu_loader::GpuModule module;
  module.build = kBuildId;
  module.backends = {{.op = "Conv2D", .device = "gpu", .library = "cudnn", .prepare = FakePrepare}};
  module.sources = FakeSources();
  module.libraries = {{"cudnn", [] { return std::string("cuDNN of the fake"); },
                       [](const std::vector<int>&) {}, [](const std::function<void(int)>&) {}}};
  module.devices = {{0, "Fake GPU"}};
  module.describe = [](int) { return FakeGpuMachine(); };
  module.measure = [](const gpu_ceilings::GpuMeasureOptions&) { return FakeGpuWithCeilings(); };
  module.clock = [](int) { return OpenFake(); };
  return module;
}

}  // namespace dlroof::fakes
