#include "ceilings/machine_file/machine_cache.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <tuple>

#include "ceilings/cpu_ceilings/measure.h"
#include "ceilings/machine_file/specified_machine.h"
#include "counters/base/error.h"
#include "counters/base/files.h"
#include "counters/base/json_reader.h"
#include "tests/fakes/ceilings.h"
#include "tests/fakes/refusal.h"

namespace dlroof::machine_file {
namespace {

namespace fs = std::filesystem;
using machine::Machine, machine::CeilingStatus;
using testing::ElementsAre, testing::HasSubstr, testing::StartsWith;

// A directory of its own and a machine that is described but not measured.
class AnyCache : public testing::Test {
 protected:
  Machine Get(const MachineOptions& options) { return CachedOrMeasured(source_, options, log_); }

  const TemporaryFolder folder_;
  const fs::path root_ = folder_ / "";
  std::ostringstream log_;
  MachineSource source_{.described = {.device = "cpu", .name = "Some CPU", .fingerprint = "0123"},
                        .directory = root_ / "cache" / "dlroof"};
};

// Counts the measurements.
class MachineCache : public AnyCache {
 protected:
  MachineCache() {
    source_.threads = {1, 2};
    source_.measure = [this](bool quick, const std::vector<int>& threads) {
      auto machine = Measured(quick, threads);
      measured_.push_back({quick, threads});
      return machine;
    };
  }
  // Ceilings that tell the order of measurements apart: the first have rate 1.
  Machine Measured(bool quick, const std::vector<int>& threads) {
    const auto rate = static_cast<double>(measured_.size() + 1);
    Machine machine = source_.described;
    machine.measured_at = std::to_string(rate);
    for (const int count : threads) {
      machine.by_threads[count].flops["fp32.vector"] = {
          .per_second = rate, .threads = count, .status = CeilingStatus::kValidated};
      machine.by_threads[count].effort = quick ? "quick" : "full";
    }
    return machine;
  }

  fs::path File() const { return CachePath(*source_.directory, source_.described); }
  void Write(const fs::path& path, const std::string& text) {
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  // Writes a machine file and asks for it.
  MachineOptions ByFile(const Machine& machine) {
    Write(root_ / "m.json", machine::ToJson(machine).dump());
    return {.file = root_ / "m.json"};
  }
  static double Value(const Machine& machine, int threads) {
    return machine.by_threads.at(threads).flops.at("fp32.vector").per_second;
  }

  std::vector<std::pair<bool, std::vector<int>>> measured_;
};

TEST_F(MachineCache, MeasuresOnceAndReadsBackTheSameAndAgainOnRequest) {
  const auto first = Get({});
  const auto second = Get({});
  EXPECT_EQ(measured_.size(), 1);
  EXPECT_EQ(first, second);
  EXPECT_EQ(std::distance(fs::directory_iterator(*source_.directory), {}), 1);  // no temporary left
  EXPECT_EQ(Value(Get({.remeasure = true}), 1), 2);
  EXPECT_EQ(Value(Get({}), 1), 2);
  EXPECT_EQ(measured_.size(), 2);
}

TEST_F(MachineCache, QuickServesOnlyWhereQuickIsAskedFor) {
  MachineOptions quick{.quick = true};
  Get(quick);
  Get(quick);
  EXPECT_EQ(measured_.size(), 1);
  Get({});
  ASSERT_EQ(measured_.size(), 2);
  EXPECT_FALSE(measured_[1].first);
  Get(quick);  // the full one serves too
  EXPECT_EQ(measured_.size(), 2);
}

TEST_F(MachineCache, ACacheFileThatCannotBeUsedIsOneSentenceAndIsReplaced) {
  auto other = Measured(false, {1, 2});
  other.fingerprint = "9999";
  const auto whole = machine::ToJson(Measured(false, {1, 2})).dump();
  const std::pair<std::string, const char*> bad[] = {
      {"", "is empty"},
      {"{", "not JSON"},
      {whole.substr(0, whole.size() / 2), "not JSON"},
      {"[1, 2]", "expected an object"},
      {"{\"a\": 1e999}", "number overflow"},
      {machine::ToJson(other).dump(), "another machine"}};
  for (const auto& [text, reason] : bad) {
    measured_.clear();
    log_.str("");
    Write(File(), text);
    Get({});
    EXPECT_EQ(measured_.size(), 1) << text;
    fakes::ExpectHas(log_.str(), {reason, File().string()});
    Get({});
    EXPECT_EQ(measured_.size(), 1) << text;
  }
}

TEST_F(MachineCache, GoesOnWithoutADirectory) {
  source_.directory.reset();
  EXPECT_EQ(Value(Get({}), 2), 1);
  EXPECT_THAT(log_.str(), HasSubstr("XDG_CACHE_HOME"));
}

TEST_F(MachineCache, UsesAnExplicitFileAsItIsAndNeverTheCache) {
  auto machine = Measured(true, {1, 2});
  machine.by_threads[1].flops["fp32.vector"].per_second = 77;
  EXPECT_EQ(Value(Get(ByFile(machine)), 1), 77);
  EXPECT_EQ(measured_.size(), 0);
  EXPECT_FALSE(fs::exists(*source_.directory));
  const auto written = Measured(false, {1});
  source_.visit = [](const auto&) -> Machine { throw std::logic_error("visited"); };
  auto options = ByFile(written);
  options.live_check = true;
  EXPECT_EQ(Get(options).by_threads, written.by_threads);
  EXPECT_EQ(measured_.size(), 0);
  EXPECT_THAT(log_.str(), HasSubstr("m.json has no ceilings of 2 threads: results with them have"));
}

TEST_F(MachineCache, RefusesAnExplicitFileOfAnotherMachineOrThatCannotBeReadOrContradicts) {
  auto other = Measured(false, {1, 2});
  other.fingerprint = "9999";
  EXPECT_THROW(Get(ByFile(other)), BadInput);
  other.fingerprint = "0123";
  other.device = "gpu";
  EXPECT_THROW(Get(ByFile(other)), BadInput);
  EXPECT_THROW(Get({.file = root_ / "absent.json"}), BadInput);
  EXPECT_THROW(Get({.file = root_}), BadInput);
  auto options = ByFile(Measured(false, {1, 2}));
  options.remeasure = true;
  EXPECT_THROW(Get(options), BadInput);
}

TEST_F(MachineCache, WritesWholeFilesOrNone) {
  EXPECT_THROW(WriteMachineFile(Measured(false, {1}), root_ / "absent" / "m.json"), BadInput);
  fs::create_directories(root_ / "taken" / "inside");
  EXPECT_THROW(WriteMachineFile(Measured(false, {1}), root_ / "taken"), BadInput);
  EXPECT_EQ(std::distance(fs::directory_iterator(root_), {}), 1);  // no temporary left
}

// Stored: best 100, median between 90 and 95; 3 % are allowed.
SpotCheck Now(double per_second, bool clean = true) {
  SpotCheck check{"fp32.vector.avx2 with 2 threads", {}, per_second, clean, 0.03};
  check.stored.per_second = 100;
  check.stored.ci95 = {90, 95};
  return check;
}

// The tolerance widens both ends of the stored interval: 90 x 0.97 = 87.3. A faster machine refutes
// the roof even when others ran, a slower one counts only with a clean repetition.
TEST(LiveCheck, HoldsTheRateAgainstTheStoredIntervalOrTheStoredPasses) {
  const std::tuple<double, bool, SpotVerdict> rows[] = {
      {100, true, SpotVerdict::kAgrees},   {102.9, true, SpotVerdict::kAgrees},
      {87.4, true, SpotVerdict::kAgrees},  {87.2, true, SpotVerdict::kSlower},
      {103.1, true, SpotVerdict::kFaster}, {103.1, false, SpotVerdict::kFaster},
      {87.2, false, SpotVerdict::kUnknown}};
  for (const auto& [per_second, clean, verdict] : rows)
    EXPECT_EQ(Judge(Now(per_second, clean)), verdict) << per_second << clean;
  fakes::ExpectHas(Sentence(Now(110)), {"fp32.vector.avx2 with 2 threads: now", "too low"});
  EXPECT_THAT(Sentence(Now(50)), HasSubstr("slower"));
  EXPECT_THAT(Sentence(Now(50, false)), HasSubstr("other programs used"));
  // Without an interval. Stored: 100, in another pass of the same measurement 80.
  const auto judged = [](double per_second, std::optional<double> drift) {
    auto check = Now(per_second);
    check.stored.ci95.reset();
    check.stored.validation.drift = drift;
    check.drift = AllowedDrift(check.stored);
    return Judge(check);
  };
  EXPECT_EQ(judged(97.1, std::nullopt), SpotVerdict::kAgrees);
  EXPECT_EQ(judged(80.1, std::nullopt), SpotVerdict::kSlower);
  EXPECT_EQ(judged(80.1, 0.2), SpotVerdict::kAgrees);
  EXPECT_EQ(judged(79.9, 0.2), SpotVerdict::kSlower);
  EXPECT_EQ(judged(103.1, 0.2), SpotVerdict::kFaster);
}

TEST(AllowedDrift, IsTheLargerOfDriftAndSpreadAndAThirdAtMost) {
  machine::Ceiling stored;
  EXPECT_EQ(AllowedDrift(stored), 0);
  stored.validation.spread = 0.1;
  EXPECT_EQ(AllowedDrift(stored), 0.1);
  stored.validation.drift = 0.2;
  EXPECT_EQ(AllowedDrift(stored), 0.2);
  stored.validation.drift = 0.9;
  EXPECT_NEAR(AllowedDrift(stored), 0.333, 0.001);
}

// The cache of a machine whose measurements join.

constexpr const char *kFp32 = "fp32.vector", *kInt8 = "int8.vector";

// A machine of one thread whose rates and validations the tests choose.
class LearningCache : public AnyCache {
 protected:
  LearningCache() {
    source_.described.facts = {{cpu_ceilings::kKernelFact, "6.1"}};
    source_.threads = {1};
    source_.measure = [this](bool, const std::vector<int>& threads) {
      ++full_;
      measured_ = threads;
      return Measured({kFp32, kInt8}, "full", threads);
    };
    source_.measure_roofs = [this](const std::vector<int>&, const std::set<std::string>& pipes) {
      roofs_.push_back(pipes);
      return Measured(pipes, "roofs");
    };
    source_.visit = [this](const RowsByThreads& rows) { return Visited(rows); };
    source_.pipes = {kFp32, kInt8};
  }
  machine::Ceiling Row(double per_second) {
    return fakes::Seen(std::to_string(++visits_), per_second, validated_, 3);
  }

  Machine Measured(const std::set<std::string>& pipes, const std::string& effort,
                   const std::vector<int>& threads = {1}) {
    auto machine = source_.described;
    machine.measured_at = std::to_string(++visits_);
    for (const int count : threads) {
      auto& set = machine.by_threads[count];
      for (const auto& pipe : pipes) set.flops[pipe + ".avx2"] = Row(rate_);
      set.mixes["dram.load.avx2"] = Row(rate_ / 10);
      set.effort = effort;
      for (auto& [row, ceiling] : set.flops) ceiling.threads = count;
    }
    cpu_ceilings::AddRoofs(machine, std::nullopt);
    return machine;
  }

  Machine Visited(const RowsByThreads& rows) {
    visited_.push_back(rows);
    auto machine = source_.described;
    for (const auto& row : rows.at(1)) {
      auto& set = machine.by_threads[1];
      (row.starts_with("dram") ? set.mixes : set.flops)[row] =
          Row(row.starts_with("dram") ? rate_ / 10 : rate_);
    }
    return machine;
  }

  MachineOptions Needing(const std::set<std::string>& pipes, bool live_check = false) {
    return {.live_check = live_check, .needs = pipes};
  }
  static const machine::Ceiling& Roof(const Machine& machine, const char* pipe = kFp32,
                                      int threads = 1) {
    return machine.by_threads.at(threads).flops.at(pipe);
  }

  bool validated_ = true;
  double rate_ = 100;
  int visits_ = 0;
  std::vector<std::set<std::string>> roofs_;  // pipes of each call of measure_roofs
  std::vector<RowsByThreads> visited_;
  int full_ = 0;               // calls of measure
  std::vector<int> measured_;  // thread counts of the last one
};

TEST_F(LearningCache, MeasuresThePipesThatARunNeedsAndLaterOnlyWhatIsMissing) {
  Get(Needing({kFp32, "bf16.matrix"}));  // this machine has no bf16
  EXPECT_THAT(roofs_, ElementsAre(std::set<std::string>{kFp32}));
  Get(Needing({kFp32}));
  EXPECT_EQ(roofs_.size(), 1);
  const auto both = Get(Needing({kInt8}));
  EXPECT_EQ(roofs_.size(), 2);
  EXPECT_EQ(Roof(both, kFp32).per_second, 100);
  EXPECT_EQ(Roof(both, kInt8).per_second, 100);
  EXPECT_EQ(full_, 0);
}

TEST_F(LearningCache, AllRowsAreMeasuredWhereAllAreAskedFor) {
  Get(Needing({kFp32}));
  EXPECT_EQ(Get({}).by_threads.at(1).effort, "full");
  EXPECT_EQ(full_, 1);
  Get(Needing({kInt8}));
  Get({});
  EXPECT_EQ(full_, 1);
  EXPECT_EQ(roofs_.size(), 1);
}

TEST_F(LearningCache, VisitsThatAgreeValidateARoof) {
  validated_ = false;
  EXPECT_FALSE(Roof(Get({})).IsValidated());
  const auto machine = Get(Needing({kFp32}, true));  // the live check is the second visit
  EXPECT_TRUE(Roof(machine).IsValidated());
  EXPECT_TRUE(machine.by_threads.at(1).bytes.at(Level::kDram).IsValidated());
  EXPECT_FALSE(Roof(machine, kInt8).IsValidated()) << "the run does not need it";
  EXPECT_TRUE(Roof(Get({})).IsValidated()) << "the cache has it";
}

TEST_F(LearningCache, ALiveCheckVisitsTheFastestFp32RowLoadsAndWhatIsNotValidated) {
  Get({});
  Get(Needing({kInt8}, true));
  EXPECT_THAT(visited_, ElementsAre(RowsByThreads{{1, {"fp32.vector.avx2", "dram.load.avx2"}}}));
  EXPECT_EQ(log_.str().find("now"), std::string::npos) << log_.str();
}

TEST(RowsToVisit, HaveTheFastestCopyWhichTheRoofNeedNotBeAndAreNoneOfAnUnknownMachine) {
  Machine machine{.device = "cpu"};
  auto& set = machine.by_threads[1];
  for (const auto& [key, rate] :
       {std::pair("dram.copy.avx2", 50.0), {"dram.copy-nt.avx2", 60.0}, {"dram.update.avx2", 70.0}})
    set.mixes[key] = {.per_second = rate};
  set.mixes["dram.update.avx2"].status = CeilingStatus::kValidated;
  set.bytes[Level::kDram] = set.mixes["dram.update.avx2"];
  set.bytes[Level::kDram].mix = "update.avx2";
  EXPECT_THAT(RowsToVisit(machine, {1}, {}),
              ElementsAre(RowsByThreads::value_type{1, {"dram.copy-nt.avx2"}}));
  EXPECT_TRUE(RowsToVisit({}, {1, 2}, {kFp32}).empty());
}

TEST_F(LearningCache, ASlowerMachineIsToldAndNothingIsMeasuredAgain) {
  Get({});
  rate_ = 70;
  const auto machine = Get(Needing({kFp32}, true));
  EXPECT_THAT(log_.str(), HasSubstr("slower: the machine is slower than when it was measured"));
  EXPECT_EQ(Roof(machine).per_second, 100);
  EXPECT_EQ(full_, 1);
  EXPECT_TRUE(roofs_.empty());
  EXPECT_THAT(machine.facts.at("live_check"), HasSubstr("slower"));
  EXPECT_FALSE(Get({}).facts.contains("live_check"));
}

TEST_F(LearningCache, OnAFasterMachineEveryRoofThatTheRunNeedsIsVisitedAgain) {
  Get({});
  rate_ = 120;
  const auto machine = Get(Needing({kInt8}, true));
  EXPECT_THAT(visited_, ElementsAre(RowsByThreads{{1, {"fp32.vector.avx2", "dram.load.avx2"}}},
                                    RowsByThreads{{1, {"int8.vector.avx2", "dram.load.avx2"}}}));
  for (const char* pipe : {kFp32, kInt8}) {
    EXPECT_EQ(Roof(machine, pipe).per_second, 120);
    EXPECT_TRUE(Roof(machine, pipe).IsValidated());
  }
  EXPECT_TRUE(roofs_.empty());
  EXPECT_EQ(full_, 1);
}

TEST_F(LearningCache, AnotherKernelOrMicrocodeBeginsAnew) {
  Get({});
  rate_ = 80;
  source_.described.facts[cpu_ceilings::kKernelFact] = "6.2";
  EXPECT_EQ(Roof(Get({})).per_second, 80);
  EXPECT_THAT(log_.str(), HasSubstr("have changed"));
}

TEST_F(LearningCache, MeasuresAndAddsOnlyTheThreadCountThatIsMissing) {
  source_.threads = {1, 2};
  Get({});
  source_.threads = {1, 3};
  rate_ = 110;
  const auto machine = Get({});
  EXPECT_THAT(measured_, ElementsAre(3));
  EXPECT_EQ(Roof(machine, kFp32, 1).per_second, 100);
  EXPECT_EQ(Roof(machine, kFp32, 2).per_second, 100);
  EXPECT_EQ(Roof(machine, kFp32, 3).per_second, 110);
  EXPECT_EQ(Get({}), machine);
  EXPECT_EQ(full_, 2);
}

TEST_F(LearningCache, KeepsTheLastIssueRateSoThatAWrongOneDoesNotStay) {
  const auto rate_after = [&](std::optional<double> rate) {
    source_.described.issue_rate = rate;
    source_.threads.push_back(source_.threads.back() + 1);
    return Get({}).issue_rate;
  };
  EXPECT_EQ(rate_after(4), 4);
  EXPECT_EQ(rate_after(6.83), 6.83);
  EXPECT_EQ(rate_after(3.94), 3.94);
  EXPECT_EQ(rate_after(std::nullopt), 3.94);
}

// One thread: 100; two, measured later: 240, which is 120 each.
TEST_F(LearningCache, SetsOfDifferentMeasurementsAreHeldAgainstEachOther) {
  EXPECT_TRUE(Roof(Get({})).IsValidated());
  source_.threads = {1, 2};
  rate_ = 240;
  const auto two = Get({});
  for (const char* key : {"fp32.vector", "fp32.vector.avx2"}) {
    EXPECT_FALSE(Roof(two, key).IsValidated()) << key;
    EXPECT_THAT(Roof(two, key).ReasonText(), HasSubstr("2 threads reached"));
  }
  EXPECT_THAT(NotValidatedWarning(two).value(), HasSubstr("ceilings are not validated"));
  EXPECT_EQ(Get({}), two) << "the cache has the reason too";
  source_.threads = {4};  // 72 each: 72 % of one alone
  rate_ = 288;
  EXPECT_DOUBLE_EQ(Roof(Get({}), kFp32, 4).validation.scaling.value(), 0.72);
}

Machine Read(const std::string& text) {
  return SpecifiedMachine(HandwrittenJson(text, "m.json"), "m.json");
}

TEST(SpecifiedMachine, HasTheRatesOfTheFileAndNothingElse) {
  const auto machine =
      Read(R"({"name": "H200", "flops": {"fp32.vector": 6.7e13}, "bytes": {"dram": 4.8e12}})");
  EXPECT_EQ(machine.name, "H200");
  EXPECT_EQ(machine.device, "gpu");
  EXPECT_EQ(machine.measured_at, "");
  machine::CeilingSet expected;
  expected.flops["fp32.vector"] = fakes::Specified(6.7e13);
  expected.bytes[Level::kDram] = fakes::Specified(4.8e12);
  EXPECT_EQ(machine.by_threads, (std::map<int, machine::CeilingSet>{{1, expected}}));
  EXPECT_TRUE(IsSpecified(machine));
}

TEST(SpecifiedMachine, ACpuHasThreadsAndRatesWithSourcesAndAnotherRateIsAnotherMachine) {
  const auto machine = Read(
      R"({"name": "a", "device": "cpu", "threads": 16, "source": "data sheet", "flops": {
          "fp32.vector": {"per_second": 1e12}, "fp64.vector": {"per_second": 5e11, "source": "b"}},
          "cache_bytes": {"l3": 33554432}, "launch_seconds": 1e-6})");
  const auto& set = machine.by_threads.at(16);
  EXPECT_EQ(set.flops.at("fp32.vector").how, "data sheet");
  EXPECT_EQ(set.flops.at("fp64.vector").how, "b");
  EXPECT_EQ(set.flops.at("fp64.vector").threads, 16);
  EXPECT_EQ(set.launch_seconds, 1e-6);
  EXPECT_EQ(machine.cache_bytes.at(Level::kL3), 33554432);
  for (const auto name : KnownGpuNames()) {
    const auto known = KnownGpu(name).value();
    auto again = Read(SpecifiedToJson(known).dump(2));
    EXPECT_THAT(again.fingerprint, StartsWith("given-"));
    again.fingerprint = known.fingerprint;
    again.by_threads.at(1).costs_how = known.by_threads.at(1).costs_how;
    EXPECT_EQ(again, known) << name;
    EXPECT_EQ(machine::MachineFromJson(machine::ToJson(known), "m"), known)
        << "as a run file has it";
  }
  const auto fingerprint = [](const char* rate) {
    return Read(fmt::format(R"({{"name": "a", "bytes": {{"dram": {}}}}})", rate)).fingerprint;
  };
  EXPECT_EQ(fingerprint("4.8e12"), fingerprint("4800000000000"));
  EXPECT_NE(fingerprint("4.8e12"), fingerprint("4.7e12"));
}

TEST(KnownGpu, RatesAreTheDataSheets) {
  const auto set = KnownGpu("h100").value().by_threads.at(1);
  // 132 SMs x 2048 multiply-adds x 2 FLOPs x 1.83 GHz.
  EXPECT_DOUBLE_EQ(set.flops.at("fp16.matrix").per_second, 132 * 2048 * 2 * 1.83e9);
  EXPECT_DOUBLE_EQ(set.bytes.at(Level::kDram).per_second, 3.352e12);
  EXPECT_DOUBLE_EQ(set.bytes.at(Level::kL1).per_second, 132 * 128 * 1.83e9);
  EXPECT_THAT(set.flops.at("fp16.matrix").how, StartsWith("NVIDIA H100"));
  EXPECT_FALSE(KnownGpu("h1000").has_value());
  // P100's f16 runs on the plain units, at twice the rate of f32.
  EXPECT_TRUE(KnownGpu("p100").value().by_threads.at(1).flops.contains("fp16.vector"));
}

TEST(SpecifiedMachine, RefusesWithPlaceAndWhatWasExpected) {
  const std::pair<const char*, const char*> rows[] = {
      {"{\n  \"name\": \"a\",\n  \"flops\": {\"fp32\": 1e12}}",
       "m.json: flops: unknown pipe 'fp32', expected TYPE.UNIT of the types fp64, fp32, tf32, "
       "fp16, "
       "bf16, int8, fp8, fp4, int32 and the units vector and matrix"},
      {R"({"name": "a", "bytes": {"hbm": 1e12}})",
       "m.json: bytes: unknown memory level 'hbm', expected l1, l2, l3, dram or host"},
      {R"({"name": "a", "bytes": {"dram": 4.8}})",
       "m.json: bytes: 'dram': expected a number from 1e+06 to 1e+18 byte/s (4.8 TB/s is 4.8e12), "
       "got 4.8"},
      {R"({"name": "a", "flops": {"fp32.vector": "67 TFLOP/s"}})",
       "m.json: flops: 'fp32.vector': expected a number from 1e+06 to 1e+18 FLOP/s (67 TFLOP/s is "
       "6.7e13), got string"},
      {R"({"name": "a", "flops": {"fp32.vector": {"per_second": 1e12, "unit": "FLOP/s"}}})",
       "m.json: flops: fp32.vector: unknown key 'unit', expected per_second, source"},
      {"{\"name\": \"a\", \"bytes\": {\"dram\": 1e12,\n \"dram\": 2e12}}",
       "m.json: 'dram' is repeated; expected each key once"},
      {R"({"flops": {"fp32.vector": 1e12}})", "m.json: 'name': expected a text, got nothing"},
      {R"({"name": "a"})", "m.json: expected at least one rate in \"flops\" or \"bytes\""},
      {R"({"name": "a", "gflops": {}})",
       "m.json: unknown key 'gflops', expected name, device, threads, source, flops, bytes, "
       "cache_bytes, launch_seconds, help"},
      {R"({"name": "a", "device": "tpu", "bytes": {"dram": 1e12}})",
       "m.json: 'device': expected gpu or cpu, got string"},
      {R"({"name": "a", "device": "cpu", "bytes": {"dram": 1e12}})",
       "m.json: 'threads': expected a number from 1 to 65536, got nothing"},
      {R"({"name": "a", "bytes": {"dram": 1e12}, "launch_seconds": 4.2})",
       "m.json: 'launch_seconds': expected a number from 1e-09 to 1 seconds (4.2 us is 4.2e-6), "
       "got "
       "4.2"},
      {R"({"name": "a", "bytes": [1e12]})", "m.json: 'bytes': expected an object, got array"}};
  EXPECT_THAT(fakes::RefusalOf([] { Read("{\"name\": \"a\",\n\"bytes\": {\"dram\": NaN}}"); }),
              StartsWith("m.json: not JSON: at line 2, column "));
  for (const auto& row : rows) EXPECT_EQ(fakes::RefusalOf([&] { Read(row.first); }), row.second);
}

// A folder of its own, in which a test runs.
class NamedMachine : public testing::Test {
 protected:
  NamedMachine() { fs::current_path(folder_ / ""); }
  ~NamedMachine() override { fs::current_path(before_); }

  const fs::path before_ = fs::current_path();
  const TemporaryFolder folder_;
};

TEST_F(NamedMachine, IsAKnownGpuWhereThereIsNoFileOfItsName) {
  EXPECT_EQ(ReadMachineFile("v100").name, "NVIDIA Tesla V100-SXM2 (GV100)");
  std::ofstream("v100") << R"({"name": "mine", "bytes": {"dram": 1e12}})";
  EXPECT_EQ(ReadMachineFile("v100").name, "mine");
  WriteMachineFile(ReadMachineFile("v100"), "again");
  EXPECT_EQ(ReadMachineFile("again"), ReadMachineFile("v100"));
}

TEST_F(NamedMachine, SpecifiedRoofsAreUsedAsTheyAreWithoutMeasuring) {
  std::ofstream("m.json")
      << R"({"name": "mine", "device": "cpu", "threads": 2, "bytes": {"dram": 1e11}})";
  MachineSource source{.described = {.device = "cpu", .fingerprint = "0123"}, .threads = {1, 2}};
  source.measure = [](bool, const std::vector<int>&) -> Machine {
    throw std::logic_error("asked");
  };
  const MachineOptions options{.live_check = true, .file = "m.json"};
  std::ostringstream log;
  const auto machine = CachedOrMeasured(source, options, log);
  EXPECT_EQ(machine.by_threads.size(), 1U) << "none is measured for 1 thread";
  EXPECT_EQ(log.str(), "m.json: the roofs of mine are specified, not measured here.\n");
  source.described.device = "gpu";
  EXPECT_EQ(fakes::RefusalOf([&] { CachedOrMeasured(source, options, log); }),
            "m.json: \"device\" is \"cpu\"; expected \"gpu\"");
}

}  // namespace
}  // namespace dlroof::machine_file
