#include "counters/gpu/counter.h"

#include <gmock/gmock.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "counters/gpu/session.h"
#include "tests/fakes/refusal.h"

namespace dlroof::gpu {
namespace {

using testing::Contains, testing::HasSubstr, testing::Not;

constexpr const char* kFfma = "sm__sass_thread_inst_executed_op_ffma_pred_on.sum";
constexpr const char* kDram = "dram__bytes.sum";

// CUPTI without a GPU: keeps to its protocol, fails where it is told to, and knows what was left
// open.
class FakeCupti : public CuptiApi {
 public:
  struct Failure {
    std::string call;  // function of CuptiApi
    int code = 999;
    int times = 1 << 20;  // from its first call on
    CudaLibrary library = CudaLibrary::kCupti;
  };
  std::vector<Failure> failures;
  int devices = 1, passes = 3, rounds_wanted = 0;  // 0: as many rounds as passes
  std::string chip = "GH100";
  bool supported = true;
  std::map<std::string, double> values;  // 0 for the others
  std::map<std::string, int> refused;    // metrics that this device does not give
  std::string refused_late;              // and one that it refuses when it is to be counted
  std::vector<TracedKernel> kernels = {{"kernel", 1e-6}};
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

  void OpenHost(const std::string&, const CuptiImage&) override { Begin("OpenHost", "host"); }
  bool AddMetrics(const std::vector<std::string>& metrics) override {
    Step("AddMetrics");
    metrics_ = metrics;
    for (const auto& metric : metrics)
      if (refused.count(metric) != 0) return false;
    return true;
  }
  CuptiImage Config() override { return Step("Config", CuptiImage(8)); }
  int Passes(const CuptiImage&) override { return Step("Passes", passes); }
  std::vector<double> Values(const CuptiImage&, const std::vector<std::string>& metrics) override {
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
  CuptiImage CounterAvailability() override { return Step("CounterAvailability", CuptiImage(8)); }
  void Subscribe() override { Begin("Subscribe", "subscriber"); }
  void Unsubscribe() noexcept override { Close("subscriber"); }
  void EnableRanges() override {
    Step("EnableRanges");
    Open("ranges");
    rounds_ = 0;
  }
  CuptiImage CounterImage(const std::vector<std::string>&) override {
    return Step("CounterImage", CuptiImage(8));
  }
  void SetConfig(const CuptiImage&, CuptiImage&) override {
    Step("SetConfig");
    for (const auto& metric : metrics_)
      if (metric == refused_late)
        throw CuptiError({CudaLibrary::kCupti, 7, "SetConfig", "CODE", "not on this machine"});
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
  size_t Ranges(const CuptiImage&) override { return Step("Ranges", ranges); }
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
  std::vector<TracedKernel> StopTrace() override {
    Close("trace");
    Step("StopTrace");
    return kernels;
  }
  void ForgetErrors() noexcept override { stale = false; }
  void Synchronize() override {
    Step("Synchronize");
    if (stale)
      throw CuptiError({CudaLibrary::kRuntime, 1, "a kernel's launch", "cudaErrorX", "stale"});
  }

 private:
  void Step(const std::string& call) {
    ++calls[call];
    for (auto& failure : failures)
      if (failure.call == call && failure.times-- > 0)
        throw CuptiError({failure.library, failure.code, call, "CODE", "words"});
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

// A counter on a fake CUPTI and one known call (100 FFMA of 32 lanes, 4096 byte of DRAM) that it
// counts correctly.
struct Bench {
  FakeCupti* cupti = nullptr;
  std::shared_ptr<CuptiCounter> counter;
  int runs = 0, known_runs = 0;

  Bench() {
    auto api = std::make_unique<FakeCupti>();
    cupti = api.get();
    cupti->values = {{kFfma, 3200}, {kDram, 4096}};
    KnownCall known{"known", {"fp32.vector"}, {}, [this] { ++known_runs; }};
    known.work.flops["fp32.vector"] = 6400;
    known.work.bytes[Level::kDram] = 4096;
    known.work.launches = 1;
    counter = std::make_shared<CuptiCounter>(
        CuptiParts{std::move(api), [known](const CuptiChip&) { return std::vector{known}; }});
  }
  CountRequest Request(const std::string& name = "call") {
    CountRequest request{.name = name};
    request.run = [this] { ++runs; };
    request.pipes = {"bf16.matrix", "fp32.vector"};
    return request;
  }
  Counted Count(const CountRequest& request) { return counter->Count(request, {}); }
  std::string Failure(const CountRequest& request) {
    return fakes::RefusalOf<std::exception>([&] { Count(request); });
  }
};

TEST(CuptiCounter, CallIsRunOncePerPassAndForTimeAndKernelsAlsoAsASource) {
  Bench bench;
  const auto counted = bench.Count(bench.Request());
  EXPECT_EQ(bench.runs, 1 + 3 + 1);  // plain, passes, traced
  EXPECT_EQ(counted.work.flops.at("fp32.vector"), 6400);
  EXPECT_EQ(counted.work.bytes.at(Level::kDram), 4096);
  EXPECT_EQ(counted.work.launches, 1);
  EXPECT_THAT(counted.how, HasSubstr("CUPTI range profiler on GH100, 3 passes, caches"));
  EXPECT_THAT(counted.kernels, testing::ElementsAre(LaunchedKernel{"kernel", 1, 1e-6}));
  EXPECT_EQ(bench.cupti->Left(), "");
  Bench managed;
  const auto source = CuptiSourceOf(managed.counter);
  EXPECT_EQ(source.name, "cupti");
  EXPECT_EQ(source.device, "gpu");
  EXPECT_EQ(source.provenance, Provenance::kMeasured);
  EXPECT_EQ(source.unavailable(), std::nullopt);
  source.count(managed.Request());
  EXPECT_EQ(managed.runs, bench.runs);
  EXPECT_THAT(managed.cupti->counted, Not(Contains("pcie__read_bytes.sum")));
}

// The flush of a cold call is neither counted nor timed.
TEST(CuptiCounter, WhatMakesACallReadyComesBeforeEachRunOfAsManyPassesAsAreWanted) {
  Bench bench;
  auto request = bench.Request();
  int readied = 0;
  request.ready = [&] {
    fakes::ExpectLacks(bench.cupti->Left(), {"pass", "trace"});
    EXPECT_EQ(readied++, bench.runs);
  };
  bench.Count(request);
  EXPECT_EQ(readied, bench.runs);
  Bench wanting;
  wanting.cupti->rounds_wanted = 5;
  wanting.Count(wanting.Request());
  EXPECT_EQ(wanting.runs, 1 + 5 + 1);
  wanting.cupti->rounds_wanted = 1000;
  EXPECT_THAT(wanting.Failure(wanting.Request("endless")), HasSubstr("was not done after 11"));
  EXPECT_EQ(wanting.cupti->Left(), "");
}

TEST(CuptiCounter, SameRequestIsCountedOnceAndOneUserAtATime) {
  Bench bench;
  bench.Count(bench.Request());
  const int runs = bench.runs, known_runs = bench.known_runs;
  bench.Count(bench.Request());
  EXPECT_EQ(bench.runs, runs);
  auto other = bench.Request();
  other.pipes = {"fp32.vector"};
  bench.Count(other);
  EXPECT_EQ(bench.runs, 2 * runs);
  EXPECT_EQ(bench.known_runs, known_runs) << "one self-test per device";
  Bench nested;
  auto request = nested.Request();
  std::string inner;
  request.run = [&] { inner = nested.Failure(nested.Request("inner")); };
  nested.Count(request);
  EXPECT_EQ(inner, "this program is already counting another call on the GPU");
  EXPECT_EQ(nested.Failure(nested.Request("inner")), "accepted");
}

// Each step fails once or permanently. The failure is one sentence, CUPTI is released, and the next
// count works as soon as CUPTI does.
TEST(CuptiCounter, NoFailureOfAStepLeavesAnythingOpenOrStopsTheNextCount) {
  for (const char* step :
       {"Subscribe", "OpenHost", "AddMetrics", "Config", "Passes", "EnableRanges", "CounterImage",
        "SetConfig", "StartPass", "PushRange", "PopRange", "StopPass", "DecodeCounters", "Ranges",
        "Values", "Synchronize"}) {
    Bench bench;
    ASSERT_EQ(bench.counter->UnavailableReason(), std::nullopt);
    bench.cupti->failures = {{step, 26}};
    const auto said = bench.Failure(bench.Request());
    EXPECT_THAT(said, HasSubstr("another profiler or monitor (DCGM) is using the counters"))
        << step;
    EXPECT_THAT(said, Not(HasSubstr("\n"))) << step;
    EXPECT_EQ(bench.cupti->Left(), "") << step;
    bench.cupti->failures.clear();
    EXPECT_EQ(bench.Count(bench.Request()).work.flops.at("fp32.vector"), 6400) << step;
    EXPECT_EQ(bench.cupti->Left(), "") << step;
  }
}

TEST(CuptiCounter, WithoutATraceTheCountStaysAndTheSelfTestStillJudgesTheCounters) {
  for (const char* step : {"StartTrace", "StopTrace"})
    for (const bool tested_before : {true, false}) {
      SCOPED_TRACE(step);
      Bench bench;
      if (tested_before) bench.counter->SelfTest();
      bench.cupti->failures = {{step, 39}};
      const auto& judged = bench.counter->SelfTest();
      EXPECT_EQ(judged.at("fp32.vector").grade, CounterGrade::kValidated);
      EXPECT_EQ(judged.at("dram").grade, CounterGrade::kValidated);
      EXPECT_EQ(judged.contains("launches"), tested_before);
      const auto counted = bench.Count(bench.Request());
      EXPECT_EQ(counted.work.flops.at("fp32.vector"), 6400);
      EXPECT_FALSE(counted.work.launches) << "not 0";
      EXPECT_THAT(counted.caveats,
                  Contains(HasSubstr("the kernels were not traced: another tool is attached")));
      EXPECT_EQ(
          testing::Matches(Contains(HasSubstr("self-test of the counters is incomplete: known: its "
                                              "kernels were not traced")))(counted.caveats),
          !tested_before);
      EXPECT_EQ(bench.cupti->Left(), "");
    }
}

// Two launches of 264 blocks of one warpgroup with all registers on 132 SMs, and one of half of
// them.
TEST(CuptiCounter, KernelsKeepWhatTheirLaunchesAskForAndWaitingBlocksNoInstructions) {
  const KernelFacts whole = {264, 256, 254, 0, {}}, half = {132, 256, 254, 0, {}};
  const auto kernels = LaunchedKernels(
      {{"k", 1e-6, {}, half}, {"k", 2e-6, {}, whole}, {"k", 3e-6, {}, whole}, {"other", 1e-7}},
      GpuIdentity{.major = 9, .sms = 132, .shared_bytes_per_sm = 228 << 10});
  ASSERT_EQ(kernels.size(), 3U);
  EXPECT_EQ(kernels[0].launches, 2);
  EXPECT_DOUBLE_EQ(*kernels[0].seconds, 5e-6);
  EXPECT_EQ(kernels[0].facts->waves, 2);
  EXPECT_EQ(kernels[1].facts->waves, 1);
  EXPECT_FALSE(kernels[2].facts);
  Bench bench;
  auto request = bench.Request();
  request.blocks_wait = true;
  const auto source = CuptiSourceOf(bench.counter);
  const auto counted = source.count(request);
  EXPECT_FALSE(counted.work.flops.contains("fp32.vector"));
  EXPECT_EQ(counted.work.bytes.at(Level::kDram), 4096);
  EXPECT_THAT(counted.how, HasSubstr("sass"));
}

// The fp16 counters are asked, and no others; "everything" asks for all types and PCIe.
TEST(CuptiCounter, TheTypeOfTheCallDecidesWhatIsAsked) {
  const auto tensor = [](const Bench& bench) {
    std::set<std::string> metrics;
    for (const auto& metric : bench.cupti->counted)
      if (metric.find("ops_path_tensor") != std::string::npos && metric.ends_with(".sum"))
        metrics.insert(metric);
    return metrics;
  };
  Bench bench;
  bench.counter->SelfTest();
  bench.cupti->counted.clear();
  auto request = bench.Request();
  request.type = "f16";
  request.pipes = {"fp32.vector"};
  const auto source = CuptiSourceOf(bench.counter);
  source.count(request);
  EXPECT_THAT(tensor(bench), testing::ElementsAre("sm__ops_path_tensor_src_fp16.sum"));
  EXPECT_THAT(bench.cupti->counted, Not(Contains("pcie__read_bytes.sum")));
  request.everything = true;
  source.count(request);
  EXPECT_EQ(tensor(bench).size(), 6U);
  EXPECT_THAT(bench.cupti->counted, Contains("pcie__read_bytes.sum"));
  EXPECT_TRUE(source.counts_everything);
}

// 12 instructions of the family of f16 and no others: int8 and fp64 did no work, of bf16 nothing is
// known.
TEST(CuptiCounter, PipesThatAreNotAskedAreKnownZeroOnlyWithAProof) {
  Bench bench;
  bench.cupti->values["sm__inst_executed_pipe_tensor_op_hmma.sum"] = 12;
  bench.cupti->values["sm__ops_path_tensor_src_fp16.sum"] = 49152;
  auto request = bench.Request();
  request.type = "f16";
  request.pipes = {"fp16.matrix"};
  const auto counted = bench.Count(request);
  EXPECT_EQ(counted.work.flops.at("fp16.matrix"), 49152);
  EXPECT_EQ(counted.work.flops.at("int8.matrix"), 0);
  EXPECT_EQ(counted.work.flops.at("fp64.matrix"), 0);
  EXPECT_FALSE(counted.work.flops.contains("bf16.matrix"));
  EXPECT_THAT(counted.how, HasSubstr("; FLOPs not asked: tf32.matrix, bf16.matrix, fp8.matrix "
                                     "(--dlroof_counters=cupti:all)"));
}

TEST(CuptiCounter, ACallThatThrowsIsItsOwnSentenceAndAnErrorBeforeIsNotThisOnes) {
  for (const int good : {0, 1, 2, 4}) {  // before it is counted, in the first pass, later, traced
    Bench bench;
    auto request = bench.Request();
    request.run = [&] {
      if (++bench.runs > good) throw std::runtime_error("the kernel broke");
    };
    EXPECT_EQ(bench.Failure(request), "the kernel broke");
    EXPECT_EQ(bench.cupti->Left(), "") << good;
    EXPECT_NE(bench.Count(bench.Request("next")).how, "");
  }
  Bench bench;
  bench.counter->SelfTest();
  bench.cupti->stale = true;
  EXPECT_EQ(bench.Count(bench.Request()).work.flops.at("fp32.vector"), 6400);
  Bench dropping;
  dropping.counter->SelfTest();
  dropping.cupti->dropped = 1;
  EXPECT_EQ(dropping.Failure(dropping.Request()), "CUPTI dropped 1 ranges");
  dropping.cupti->dropped = 0;
  dropping.cupti->ranges = 3;
  EXPECT_EQ(dropping.Failure(dropping.Request()), "CUPTI has 3 ranges for one call, expected 1");
}

TEST(CuptiCounter, EachWayThatItCannotCountIsOneSentenceWithACureAskedOnce) {
  for (const auto& [step, code, library, said] :
       {std::tuple("DeviceCount", 35, CudaLibrary::kRuntime, "no NVIDIA driver"),
        {"DeviceCount", 100, CudaLibrary::kRuntime, "no GPU"},
        {"OpenDevice", 46, CudaLibrary::kRuntime, "exclusive mode"},
        {"StartProfiler", 23, CudaLibrary::kCupti, "CUDA_INJECTION64_PATH"},
        {"Supports", 15, CudaLibrary::kCupti, "libnvperf_host"},
        {"ChipName", 27, CudaLibrary::kCupti, "does not support"},
        {"Subscribe", 39, CudaLibrary::kCupti, "another tool"},
        {"CounterAvailability", 35, CudaLibrary::kCupti, "administrators"},
        {"EnableRanges", 26, CudaLibrary::kCupti, "dcgmi profile --pause"},
        {"EnableRanges", 43, CudaLibrary::kCupti, "MIG"}}) {
    Bench bench;
    bench.cupti->failures = {{step, code, 1, library}};
    const auto reason = bench.counter->UnavailableReason().value();
    EXPECT_THAT(reason.text, HasSubstr(said));
    EXPECT_EQ(bench.counter->UnavailableReason(), reason);
    EXPECT_EQ(bench.Failure(bench.Request()), reason.text);
    EXPECT_EQ(bench.cupti->calls["DeviceCount"], 1);
    EXPECT_EQ(bench.cupti->Left(), "") << step;
    EXPECT_EQ(bench.runs, 0);
  }
}

TEST(CuptiCounter, WithoutADeviceNothingIsCalledAndOneThatCannotBeProfiledSaysWhy) {
  Bench bench;
  bench.cupti->devices = 0;
  EXPECT_THAT(bench.counter->UnavailableReason().value().text, HasSubstr("there is no GPU"));
  EXPECT_EQ(bench.cupti->calls.size(), 1U) << "CUPTI crashes without a driver";
  Bench unknown, secret;
  unknown.cupti->chip = "GV100";
  EXPECT_THAT(unknown.counter->UnavailableReason().value().text,
              HasSubstr("the chip GV100 is not in the table"));
  secret.cupti->supported = false;
  EXPECT_THAT(secret.counter->UnavailableReason().value().text,
              HasSubstr("confidential computing"));
}

// 4096 byte copied, 4700 counted: 15 % more than the 5 % allowed.
TEST(CuptiCounter, CounterThatFailsItsTestIsNotUsedAndOneWithoutAKnownKernelIsAReason) {
  Bench bench;
  bench.cupti->values[kDram] = 4700;
  const auto counted = bench.Count(bench.Request());
  EXPECT_EQ(counted.work.bytes.count(Level::kDram), 0U);
  EXPECT_EQ(counted.work.flops.at("fp32.vector"), 6400);
  EXPECT_THAT(counted.caveats,
              Contains(HasSubstr("dram was dropped: its counter failed on a kernel "
                                 "of known work (known: counted 1.147")));
  EXPECT_EQ(bench.counter->SelfTest().at("dram").grade, CounterGrade::kFailed);
  EXPECT_EQ(bench.counter->SelfTest().at("fp32.vector").grade, CounterGrade::kValidated);
  Bench unproved;
  unproved.cupti->values["sm__ops_path_tensor_src_bf16_dst_fp32.sum"] = 1e9;
  const auto kept = unproved.Count(unproved.Request());
  EXPECT_EQ(kept.work.flops.at("bf16.matrix"), 1e9);
  EXPECT_THAT(kept.caveats,
              Contains(HasSubstr("not tested on a kernel of known work: bf16.matrix")));
}

TEST(CuptiCounter, SelfTestThatCannotRunIsAReasonAndTriedAgainAndPartOfADividedGpuCountsWhatItHas) {
  auto api = std::make_unique<FakeCupti>();
  int tries = 0;
  CuptiCounter counter({std::move(api), [&](const CuptiChip&) -> std::vector<KnownCall> {
                          ++tries;
                          throw std::runtime_error("1 GiB of GPU memory: out of memory");
                        }});
  CountRequest request{.run = [] {}};
  for (const char* name : {"one", "two"}) {
    request.name = name;
    EXPECT_THAT(
        counter.Count(request, {}).caveats,
        Contains(HasSubstr("self-test of the counters is incomplete: 1 GiB of GPU memory")));
  }
  EXPECT_EQ(tries, 2);
  Bench bench;
  bench.cupti->refused = {{kDram, 1}};
  const auto counted = bench.Count(bench.Request());
  EXPECT_EQ(counted.work.bytes.count(Level::kDram), 0U);
  EXPECT_EQ(counted.work.flops.at("fp32.vector"), 6400);
  EXPECT_THAT(counted.how, HasSubstr("not counted: dram (this device refuses it"));
}

TEST(CuptiCounter, WhatADeviceRefusesWhenItIsToBeCountedIsLeftOut) {
  for (const char* metric : {"pcie__read_bytes.sum", "lts__t_bytes.sum"}) {
    Bench bench;
    bench.cupti->refused_late = metric;
    const auto counted = bench.counter->Count(bench.Request(), {64, true, true});
    EXPECT_EQ(counted.work.flops.at("fp32.vector"), 6400);
    EXPECT_EQ(counted.work.bytes.at(Level::kDram), 4096);
    EXPECT_THAT(counted.caveats,
                Contains(testing::AllOf(HasSubstr("counted without"), HasSubstr(metric),
                                        HasSubstr("not on this machine"))));
    EXPECT_THAT(counted.caveats, Not(Contains(HasSubstr("no valid value"))));
    EXPECT_EQ(bench.cupti->Left(), "");
  }
  Bench bench;
  bench.cupti->refused_late = kDram;
  EXPECT_THAT(bench.Failure(bench.Request()), HasSubstr("not on this machine"));
}

}  // namespace
}  // namespace dlroof::gpu
