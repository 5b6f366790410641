// One GPU with hardware counters, read by the project's own CUPTI source from a range profiler that
// is made up: it replays a call in two passes, in each of which it counts all kernels that
// libcuda_fake.so was told of. The GPU takes 50 W.
#include <dlfcn.h>

#include <array>
#include <chrono>
#include <limits>

#include "counters/gpu/counter.h"
#include "tests/fakes/modules/module.h"

namespace {

using Launched = std::array<double, 4>;  // as in libcuda_fake.cpp

double Seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Launched LaunchedSoFar() {
  void* const driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  const auto* const all = driver == nullptr
                              ? nullptr
                              : static_cast<const double*>(dlsym(driver, "dlroof_fake_launched"));
  if (all == nullptr) throw std::runtime_error("libcuda_fake.so is not loaded");
  return {all[0], all[1], all[2], all[3]};
}

Launched operator-(const Launched& end, const Launched& begin) {
  return {end[0] - begin[0], end[1] - begin[1], end[2] - begin[2], end[3] - begin[3]};
}

class RangeProfiler : public dlroof::gpu::CuptiApi {
 public:
  void OpenHost(const std::string&, const dlroof::gpu::CuptiImage&) override {}
  bool AddMetrics(const std::vector<std::string>&) override { return true; }
  dlroof::gpu::CuptiImage Config() override { return dlroof::gpu::CuptiImage(8); }
  int Passes(const dlroof::gpu::CuptiImage&) override { return kPasses; }
  std::vector<double> Values(const dlroof::gpu::CuptiImage&,
                             const std::vector<std::string>& metrics) override {
    std::vector<double> values;
    for (const auto& metric : metrics) values.push_back(Value(metric));
    return values;
  }
  void CloseHost() noexcept override {}

  int DeviceCount() override { return 1; }
  void OpenDevice(int) override {}
  void StartProfiler() override {}
  bool Supports(int) override { return true; }
  std::string ChipName(int) override { return "GH100"; }
  dlroof::gpu::CuptiImage CounterAvailability() override { return dlroof::gpu::CuptiImage(8); }
  void Subscribe() override {}
  void Unsubscribe() noexcept override {}
  void EnableRanges() override { passes_.clear(); }
  dlroof::gpu::CuptiImage CounterImage(const std::vector<std::string>&) override {
    return dlroof::gpu::CuptiImage(8);
  }
  void SetConfig(const dlroof::gpu::CuptiImage&, dlroof::gpu::CuptiImage&) override {}
  void StartPass() override {}
  void PushRange() override { begin_ = LaunchedSoFar(); }
  void PopRange() override { passes_.push_back(LaunchedSoFar() - begin_); }
  bool StopPass() override { return passes_.size() >= kPasses; }
  size_t DecodeCounters() override { return 0; }
  size_t Ranges(const dlroof::gpu::CuptiImage&) override { return 1; }
  void DisableRanges() noexcept override {}
  void StartTrace() override { begin_ = LaunchedSoFar(); }
  std::vector<dlroof::gpu::TracedKernel> StopTrace() override {
    const auto launches = (LaunchedSoFar() - begin_)[0];
    return std::vector<dlroof::gpu::TracedKernel>(static_cast<size_t>(launches),
                                                  {"fake_kernel", 1e-6, {}, {}});
  }
  void ForgetErrors() noexcept override {}
  void Synchronize() override {}

 private:
  static constexpr int kPasses = 2;

  // Not a number if the passes did not run the same kernels.
  double Value(const std::string& metric) const {
    if (passes_.empty() || passes_.front() != passes_.back())
      return std::numeric_limits<double>::quiet_NaN();
    const auto& counted = passes_.back();
    if (metric == "sm__sass_thread_inst_executed_op_ffma_pred_on.sum") return counted[1];
    if (metric == "sm__sass_thread_inst_executed_op_fadd_pred_on.sum") return counted[2];
    if (metric == "dram__bytes.sum" || metric == "dram__bytes_read.sum") return counted[3];
    return 0;
  }

  Launched begin_ = {};
  std::vector<Launched> passes_;
};

}  // namespace

void Change(dlroof::gpu_loader::GpuModule& module) {
  dlroof::gpu::CuptiParts parts{
      .api = std::make_unique<RangeProfiler>(),
      .known_calls = [](const auto&) { return std::vector<dlroof::gpu::KnownCall>{}; }};
  module.sources = {
      dlroof::gpu::CuptiSourceOf(std::make_shared<dlroof::gpu::CuptiCounter>(std::move(parts)))};
  module.clock = [](int) {
    auto clock = dlroof::fakes::OpenFake();
    clock->energy_joules = [] { return std::optional<double>(50 * Seconds()); };
    return clock;
  };
}
