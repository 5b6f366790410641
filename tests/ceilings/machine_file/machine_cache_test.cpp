#include "ceilings/machine_file/machine_cache.h"

#include <gmock/gmock.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <tuple>

#include "ceilings/cpu_ceilings/measure.h"
#include "ceilings/machine/machine.h"
#include "counters/base/error.h"
#include "counters/base/files.h"

namespace dlroof::machine_file {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre, testing::HasSubstr, testing::Not;

// A directory of its own, a machine described but not measured, and a count of measurements.
class MachineCache : public testing::Test {
 protected:
  // Ceilings that tell the order of measurements apart: the first have rate 1.
  machine::Machine Measured(bool quick, const std::vector<int>& threads) {
    const auto rate = static_cast<double>(measured_.size() + 1);
    machine::Machine machine = source_.described;
    machine.measured_at = std::to_string(rate);
    for (const int count : threads) {
      machine.by_threads[count].flops["fp32.vector"] = {
          .per_second = rate,
          .threads = count,
          .status = validated_ ? machine::CeilingStatus::kValidated
                               : machine::CeilingStatus::kNotValidated};
      machine.by_threads[count].effort = quick ? "quick" : "full";
    }
    return machine;
  }

  machine::Machine Get(const MachineOptions& options) {
    return CachedOrMeasured(source_, options, log_);
  }
  fs::path File() const { return CachePath(*source_.directory, source_.described); }
  void Write(const fs::path& path, const std::string& text) {
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  // Writes a machine file and asks for it.
  MachineOptions ByFile(const machine::Machine& machine) {
    Write(root_ / "m.json", machine::ToJson(machine).dump());
    return {.file = root_ / "m.json"};
  }
  static double Value(const machine::Machine& machine, int threads) {
    return machine.by_threads.at(threads).flops.at("fp32.vector").per_second;
  }

  const TemporaryFolder folder_;
  const fs::path root_ = folder_ / "";
  bool validated_ = true;
  std::ostringstream log_;
  std::vector<std::pair<bool, std::vector<int>>> measured_;
  MachineSource source_{.described = {.device = "cpu", .name = "Some CPU", .fingerprint = "0123"},
                        .threads = {1, 2},
                        .directory = root_ / "cache" / "dlroof",
                        .measure = [this](bool quick, const std::vector<int>& threads) {
                          auto machine = Measured(quick, threads);
                          measured_.push_back({quick, threads});
                          return machine;
                        }};
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

// 3 of 2 threads now, which is 1.5 each; 0.5 of one in the file.
TEST_F(MachineCache, AFilesSetsAreNotValidatedIfALargerTeamIsFasterPerThread) {
  auto machine = Measured(false, {1});
  machine.by_threads[1].flops["fp32.vector"].per_second = 1.25;
  measured_.resize(2);  // the next rate is 3
  const auto both = Get(ByFile(machine));
  EXPECT_FALSE(both.by_threads.at(1).flops.at("fp32.vector").IsValidated());
  EXPECT_EQ(Value(both, 1), 1.25);
  EXPECT_TRUE(both.by_threads.at(2).flops.at("fp32.vector").IsValidated());
}

TEST_F(MachineCache, ALiveCheckOnlyCaveatsTheCeilingsOfAFile) {
  auto machine = Measured(false, {1, 2});
  machine.by_threads[2].flops["fp32.vector.avx2"] = machine.by_threads[2].flops["fp32.vector"];
  WriteMachineFile(machine, root_ / "m.json");
  source_.visit = [&](const RowsByThreads& rows) {
    EXPECT_EQ(rows, (RowsByThreads{{2, {"fp32.vector.avx2"}}}));
    auto now = machine;
    now.by_threads[2].flops["fp32.vector.avx2"].per_second *= 1.2;
    return now;
  };
  const auto used = Get({.live_check = true, .file = root_ / "m.json"});
  EXPECT_TRUE(measured_.empty());
  EXPECT_EQ(used.by_threads, machine.by_threads);
  EXPECT_THAT(used.facts.at("live_check"), HasSubstr("faster"));
  EXPECT_THAT(log_.str(), HasSubstr("are used nevertheless"));
}

TEST_F(MachineCache, ACacheFileThatCannotBeUsedIsOneSentenceAndIsReplaced) {
  auto other = Measured(false, {1, 2});
  other.fingerprint = "9999";
  const auto whole = machine::ToJson(Measured(false, {1, 2})).dump();
  const std::pair<std::string, const char*> bad[] = {
      {"", "is empty"},
      {"{", "is not JSON"},
      {whole.substr(0, whole.size() / 2), "is not JSON"},
      {"[1, 2]", "expected an object"},
      {"{\"a\": 1e999}", "out of the range of double"},
      {machine::ToJson(other).dump(), "another machine"}};
  for (const auto& [text, reason] : bad) {
    measured_.clear();
    log_.str("");
    Write(File(), text);
    Get({});
    EXPECT_EQ(measured_.size(), 1) << text;
    EXPECT_THAT(log_.str(), HasSubstr(reason));
    EXPECT_THAT(log_.str(), HasSubstr(File().string()));
    Get({});
    EXPECT_EQ(measured_.size(), 1) << text;
  }
}

TEST_F(MachineCache, GoesOnWithoutADirectoryThatCanBeWritten) {
  Write(root_ / "cache", "a file where the directory should be");
  EXPECT_EQ(Value(Get({}), 2), 1);
  EXPECT_THAT(log_.str(), HasSubstr("not cached for the next run"));
  source_.directory.reset();
  log_.str("");
  Get({});
  EXPECT_THAT(log_.str(), HasSubstr("XDG_CACHE_HOME"));
}

TEST_F(MachineCache, KeepsTheReasonAndCountsIt) {
  EXPECT_FALSE(NotValidatedWarning(Get({})));
  validated_ = false;
  for (const bool again : {true, false})
    EXPECT_THAT(NotValidatedWarning(Get({.remeasure = again})).value(),
                HasSubstr("2 of 2 ceilings are not validated"));
  EXPECT_THAT(log_.str(), Not(HasSubstr("not validated"))) << "a run says what it takes away";
}

TEST_F(MachineCache, UsesAnExplicitFileAndNeverTheCache) {
  auto machine = Measured(true, {1, 2});
  machine.by_threads[1].flops["fp32.vector"].per_second = 77;
  EXPECT_EQ(Value(Get(ByFile(machine)), 1), 77);
  EXPECT_EQ(measured_.size(), 0);
  EXPECT_FALSE(fs::exists(*source_.directory));
}

TEST_F(MachineCache, MeasuresWhatAnExplicitFileLacksAndLeavesTheFileAlone) {
  const auto written = Measured(false, {1});
  EXPECT_EQ(Get(ByFile(written)).by_threads.size(), 2);
  EXPECT_EQ(measured_.size(), 1);
  std::ifstream file(root_ / "m.json");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), machine::ToJson(written).dump());
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

}  // namespace
namespace {

// Stored: best 100, median between 90 and 95; 3 % are allowed.
SpotCheck Now(double per_second, bool clean = true) {
  SpotCheck check{"fp32.vector.avx2 with 2 threads", {}, per_second, clean, 0.03};
  check.stored.per_second = 100;
  check.stored.ci95 = {90, 95};
  return check;
}

// The tolerance widens both ends of the stored interval: 90 x 0.97 = 87.3. A faster machine refutes
// the roof even when others ran, a slower one counts only with a clean repetition.
TEST(LiveCheck, HoldsTheRateAgainstTheStoredIntervalAndSaysBoth) {
  const std::tuple<double, bool, SpotVerdict> rows[] = {
      {100, true, SpotVerdict::kAgrees},   {102.9, true, SpotVerdict::kAgrees},
      {87.4, true, SpotVerdict::kAgrees},  {87.2, true, SpotVerdict::kSlower},
      {103.1, true, SpotVerdict::kFaster}, {103.1, false, SpotVerdict::kFaster},
      {87.2, false, SpotVerdict::kUnknown}};
  for (const auto& [per_second, clean, verdict] : rows)
    EXPECT_EQ(Judge(Now(per_second, clean)), verdict) << per_second << clean;
  EXPECT_THAT(Sentence(Now(110)), HasSubstr("fp32.vector.avx2 with 2 threads: now"));
  EXPECT_THAT(Sentence(Now(110)), HasSubstr("too low"));
  EXPECT_THAT(Sentence(Now(50)), HasSubstr("slower"));
  EXPECT_THAT(Sentence(Now(50, false)), HasSubstr("other programs used"));
}

// Without an interval. Stored: 100, in another pass of the same measurement 80.
TEST(LiveCheck, MayBeAsSlowAsTheStoredPassesWereAndNoFaster) {
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
class LearningCache : public testing::Test {
 protected:
  machine::Ceiling Row(double per_second) {
    machine::Ceiling row{.per_second = per_second, .how = "h"};
    if (validated_)
      row.status = machine::CeilingStatus::kValidated;
    else
      row.reasons = {"other programs ran"};
    row.visits = {{.at = std::to_string(++visits_),
                   .per_second = per_second,
                   .clean = 3,
                   .validated = validated_}};
    return row;
  }

  machine::Machine Measured(const std::set<std::string>& pipes, const std::string& effort,
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

  machine::Machine Visited(const RowsByThreads& rows) {
    visited_.push_back(rows);
    auto machine = source_.described;
    for (const auto& row : rows.at(1)) {
      auto& set = machine.by_threads[1];
      (row.starts_with("dram") ? set.mixes : set.flops)[row] =
          Row(row.starts_with("dram") ? rate_ / 10 : rate_);
    }
    return machine;
  }

  machine::Machine Get(const MachineOptions& options) {
    return CachedOrMeasured(source_, options, log_);
  }
  MachineOptions Needing(const std::set<std::string>& pipes, bool live_check = false) {
    return {.live_check = live_check, .needs = pipes};
  }
  static const machine::Ceiling& Roof(const machine::Machine& machine, const char* pipe = kFp32,
                                      int threads = 1) {
    return machine.by_threads.at(threads).flops.at(pipe);
  }

  const TemporaryFolder folder_;
  double rate_ = 100;
  bool validated_ = true;
  int visits_ = 0;
  std::ostringstream log_;
  std::vector<std::set<std::string>> roofs_;  // pipes of each call of measure_roofs
  std::vector<RowsByThreads> visited_;
  int full_ = 0;               // calls of measure
  std::vector<int> measured_;  // thread counts of the last one
  MachineSource source_{.described = {.device = "cpu",
                                      .name = "Some CPU",
                                      .fingerprint = "0123",
                                      .facts = {{cpu_ceilings::kKernelFact, "6.1"}}},
                        .threads = {1},
                        .directory = folder_ / "cache",
                        .measure =
                            [this](bool, const std::vector<int>& threads) {
                              ++full_;
                              measured_ = threads;
                              return Measured({kFp32, kInt8}, "full", threads);
                            },
                        .measure_roofs =
                            [this](const std::vector<int>&, const std::set<std::string>& pipes) {
                              roofs_.push_back(pipes);
                              return Measured(pipes, "roofs");
                            },
                        .visit = [this](const RowsByThreads& rows) { return Visited(rows); },
                        .pipes = {kFp32, kInt8}};
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

TEST_F(LearningCache, ABusyVisitNeverReplacesAValidatedRoof) {
  Get({});
  validated_ = false;
  for (const double rate : {60.0, 101.0, 130.0}) {
    rate_ = rate;
    const auto machine = Get({.remeasure = true});
    EXPECT_EQ(Roof(machine).per_second, 100) << rate;
    EXPECT_TRUE(Roof(machine).IsValidated()) << rate;
  }
  EXPECT_EQ(Roof(Get({})).visits.size(), 4);
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
  machine::Machine machine{.device = "cpu"};
  auto& set = machine.by_threads[1];
  for (const auto& [key, rate] :
       {std::pair("dram.copy.avx2", 50.0), {"dram.copy-nt.avx2", 60.0}, {"dram.update.avx2", 70.0}})
    set.mixes[key] = {.per_second = rate};
  set.mixes["dram.update.avx2"].status = machine::CeilingStatus::kValidated;
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

}  // namespace
}  // namespace dlroof::machine_file
