// CUPTI without a GPU: keeps to its protocol, fails where it is told to, and knows what was left
// open.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "counters/gpu/api.h"

namespace dlroof::fakes {

class FakeCupti : public gpu::CuptiApi {
 public:
  struct Failure {
    std::string call;  // function of CuptiApi
    int code = 999;
    int times = 1 << 20;  // from its first call on
    gpu::CudaLibrary library = gpu::CudaLibrary::kCupti;
  };
  std::vector<Failure> failures;
  int devices = 1, passes = 3, rounds_wanted = 0;  // 0: as many rounds as passes
  std::string chip = "GH100";
  bool supported = true;
  std::map<std::string, double> values;  // 0 for the others
  std::map<std::string, int> refused;    // metrics that this device does not give
  std::string refused_late;              // and one that it refuses when it is to be counted
  std::vector<gpu::TracedKernel> kernels = {{"kernel", 1e-6}};
  bool stale = false;  // the runtime keeps an error of a call before
  size_t dropped = 0, ranges = 1;
  std::map<std::string, int> calls;  // by function
  std::vector<std::string> counted;  // metrics, of every configuration

  // Open handles: none may be left when a count is over, however it ended.
  std::string Left() const {
    std::string left;
    for (const auto& [what, open] : open_)
      if (open) left += what + " ";
    return left;
  }

  std::string Version() override { return "130001"; }
  void OpenHost(const std::string&, const gpu::CuptiImage&) override { Begin("OpenHost", "host"); }
  bool AddMetrics(const std::vector<std::string>& metrics) override {
    Step("AddMetrics");
    metrics_ = metrics;
    for (const auto& metric : metrics)
      if (refused.count(metric) != 0) return false;
    return true;
  }
  gpu::CuptiImage Config() override { return Step("Config", gpu::CuptiImage(8)); }
  int Passes(const gpu::CuptiImage&) override { return Step("Passes", passes); }
  std::vector<double> Values(const gpu::CuptiImage&,
                             const std::vector<std::string>& metrics) override {
    Step("Values");
    std::vector<double> found;
    for (const auto& metric : metrics) {
      counted.push_back(metric);
      found.push_back(values.count(metric) != 0 ? values.at(metric) : 0);
    }
    return found;
  }
  void CloseHost() noexcept override { Close("host"); }

  int DeviceCount() override { return Step("DeviceCount", devices); }
  void OpenDevice(int) override { Step("OpenDevice"); }
  void StartProfiler() override { Step("StartProfiler"); }
  bool Supports(int) override { return Step("Supports", supported); }
  std::string ChipName(int) override { return Step("ChipName", chip); }
  gpu::CuptiImage CounterAvailability() override {
    return Step("CounterAvailability", gpu::CuptiImage(8));
  }
  void Subscribe() override { Begin("Subscribe", "subscriber"); }
  void Unsubscribe() noexcept override { Close("subscriber"); }
  void EnableRanges() override {
    Step("EnableRanges");
    Open("ranges");
    rounds_ = 0;
  }
  gpu::CuptiImage CounterImage(const std::vector<std::string>&) override {
    return Step("CounterImage", gpu::CuptiImage(8));
  }
  void SetConfig(const gpu::CuptiImage&, gpu::CuptiImage&) override {
    Step("SetConfig");
    for (const auto& metric : metrics_)
      if (metric == refused_late)
        throw gpu::CuptiError(
            {gpu::CudaLibrary::kCupti, 7, "SetConfig", "CODE", "not on this machine", ""});
    EXPECT_TRUE(open_["ranges"]);
  }
  void StartPass() override {
    Step("StartPass");
    EXPECT_TRUE(open_["ranges"] && open_["subscriber"] && !open_["trace"]);
    Open("pass");
  }
  void PushRange() override { Begin("PushRange", "range"); }
  void PopRange() override {
    Step("PopRange");
    Close("range");
  }
  bool StopPass() override {
    Close("pass");
    Close("range");  // CUPTI drops a range that was not popped with its pass
    Step("StopPass");
    return ++rounds_ >= (rounds_wanted > 0 ? rounds_wanted : passes);
  }
  size_t DecodeCounters() override { return Step("DecodeCounters", dropped); }
  size_t Ranges(const gpu::CuptiImage&) override { return Step("Ranges", ranges); }
  void DisableRanges() noexcept override {
    Close("ranges");
    Close("pass");
    Close("range");
  }
  void StartTrace() override {
    Step("StartTrace");
    EXPECT_FALSE(open_["ranges"]);
    Open("trace");
  }
  std::vector<gpu::TracedKernel> StopTrace() override {
    Close("trace");
    Step("StopTrace");
    return kernels;
  }
  void ForgetErrors() noexcept override { stale = false; }
  void Synchronize() override {
    Step("Synchronize");
    if (stale)
      throw gpu::CuptiError(
          {gpu::CudaLibrary::kRuntime, 1, "a kernel's launch", "cudaErrorX", "stale", ""});
  }

 private:
  void Step(const std::string& call) {
    ++calls[call];
    for (auto& failure : failures)
      if (failure.call == call && failure.times-- > 0)
        throw gpu::CuptiError({failure.library, failure.code, call, "CODE", "words", ""});
  }
  template <class Value>
  Value Step(const std::string& call, const Value& value) {
    Step(call);
    return value;
  }
  void Open(const std::string& what) {
    EXPECT_FALSE(open_[what]) << what << " twice";
    open_[what] = true;
  }
  void Begin(const std::string& call, const std::string& what) {
    Step(call);
    Open(what);
  }
  void Close(const std::string& what) { open_[what] = false; }

  std::map<std::string, bool> open_;
  std::vector<std::string> metrics_;
  int rounds_ = 0;
};

}  // namespace dlroof::fakes
