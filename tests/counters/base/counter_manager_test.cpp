#include "counters/base/counter_manager.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>

#include "counters/base/work.h"

namespace dlroof {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

CounterSource Source(const std::string& name, Provenance from, Work work) {
  return {name, "cpu", from, {}, [work, name](const CountRequest&) {
            return Counted{.work = work, .how = "how " + name + " does it"};
          }};
}

std::vector<CounterSource> Ladder() {
  return {Source("model", Provenance::kModelled, {.bytes = {{Level::kL2, 30}, {Level::kL3, 3}}}),
          Source("simulate", Provenance::kSimulated, {.bytes = {{Level::kL2, 20}}}),
          Source("perf", Provenance::kMeasured,
                 {.flops = {{"fp32.vector", 7}}, .bytes = {{Level::kL2, 10}}})};
}

CountRequest OnPipes(std::vector<std::string> pipes) {
  return CountRequest{.pipes = std::move(pipes)};
}

TEST(CounterChoices, AreTheSourcesOnceEachBetweenAutoAndOff) {
  EXPECT_THAT(
      CounterChoices({{"perf", "cpu"}, {"model", "cpu"}, {"model", "gpu"}, {"cupti", "gpu"}}),
      testing::ElementsAre("auto", "cupti", "model", "perf", "off"));
}

TEST(CounterChoices, OfferEverythingWhereASourceCounts) {
  CounterSource source{"cupti", "gpu"};
  source.counts_everything = true;
  EXPECT_THAT(CounterChoices({source, {"model", "gpu"}}),
              testing::ElementsAre("auto", "cupti", "cupti:all", "model", "off"));
  EXPECT_EQ(SourceName("cupti:all"), "cupti");
  EXPECT_EQ(SourceName("cupti"), "cupti");
}

TEST(CountCall, EverythingIsRequestedOnlyByName) {
  std::vector<bool> asked;
  const CounterSource source{
      "cupti", "gpu", Provenance::kMeasured, {}, [&](const CountRequest& request) {
        asked.push_back(request.everything);
        return Counted{};
      }};
  for (const auto* choice : {"auto", "cupti", "cupti:all"}) CountCall(choice, "gpu", {}, {source});
  EXPECT_THAT(asked, ElementsAre(false, false, true));
  EXPECT_TRUE(UnavailableReason("perf:all", "gpu", {source}));
  EXPECT_FALSE(UnavailableReason("cupti:all", "gpu", {source}));
}

TEST(RegisterCounterSource, ReplacesOneThatCannotCount) {
  const auto counts_on = [](const char* device) {
    for (const auto& source : AllCounterSources())
      if (source.name == "late" && source.device == device) return source.count != nullptr;
    return false;
  };
  const auto count = [](const CountRequest&) { return Counted(); };
  RegisterCounterSource({"late", "gpu"});
  RegisterCounterSource({"late", "cpu", Provenance::kModelled, {}, count});
  EXPECT_FALSE(counts_on("gpu"));
  RegisterCounterSource({"late", "gpu", Provenance::kModelled, {}, count});
  EXPECT_TRUE(counts_on("gpu"));
  RegisterCounterSource({"late", "cpu"});
  EXPECT_TRUE(counts_on("cpu"));
}

TEST(CountCall, AutoAsksHardwareAndModelButNotTheSlowSimulation) {
  const auto counting = CountCall("auto", "cpu", OnPipes({"fp32.vector"}), Ladder());
  ASSERT_EQ(counting.work.size(), 2);
  EXPECT_EQ(counting.work.at(Provenance::kMeasured).flops.at("fp32.vector"), 7);
  EXPECT_EQ(counting.work.at(Provenance::kModelled).bytes.at(Level::kL3), 3);
  EXPECT_THAT(counting.notes,
              ElementsAre(CountingNote{"perf", Provenance::kMeasured, "how perf does it"},
                          CountingNote{"model", Provenance::kModelled, "how model does it"}));
}

TEST(CountCall, EachChoiceAsksItsSource) {
  const auto request = OnPipes({"fp32.vector"});
  EXPECT_THAT(CountCall("off", "cpu", request, Ladder()).work, IsEmpty());
  EXPECT_EQ(CountCall("model", "cpu", request, Ladder()).work.size(), 1);
  const auto simulated = CountCall("simulate", "cpu", request, Ladder());
  EXPECT_EQ(simulated.work.at(Provenance::kSimulated).bytes.at(Level::kL2), 20);
  EXPECT_EQ(simulated.work.count(Provenance::kMeasured), 0);
  EXPECT_THAT(CountCall("auto", "gpu", request, Ladder()).work, IsEmpty());
}

TEST(CountCall, ASourceThatFailsCostsASentence) {
  auto sources = Ladder();
  sources[2].count = [](const CountRequest&) -> Counted { throw std::runtime_error("no luck"); };
  const auto counting = CountCall("auto", "cpu", {}, sources);
  EXPECT_THAT(counting.notes, Contains(CountingNote{"perf", {}, "failed: no luck"}));
  EXPECT_EQ(counting.work.at(Provenance::kModelled).bytes.at(Level::kL2), 30);
}

TEST(CountCall, UnavailableIsSaidOnlyOfTheSourceThatWasNamed) {
  auto sources = Ladder();
  sources[2].unavailable = [] { return Reason{"the kernel sees no PMU"}; };
  EXPECT_THAT(CountCall("auto", "cpu", {}, sources).notes,
              ElementsAre(CountingNote{"model", Provenance::kModelled, "how model does it"}));
  EXPECT_THAT(CountCall("perf", "cpu", {}, sources).notes,
              Contains(CountingNote{"perf", {}, "the kernel sees no PMU"}));
  EXPECT_EQ(UnavailableReason("perf", "cpu", sources), Reason{"the kernel sees no PMU"});
  EXPECT_EQ(UnavailableReason("auto", "cpu", sources), std::nullopt);
  EXPECT_THAT(UnavailableReason("cupti", "cpu", sources).value().text, HasSubstr("cupti"));
}

TEST(UnavailableSources, AreThoseThatTheChoiceMeansAndCannotCount) {
  auto sources = Ladder();
  const auto reasons = [&](const char* choice, const char* device = "cpu") {
    return UnavailableSources(choice, device, sources);
  };
  EXPECT_THAT(reasons("auto"), IsEmpty());
  sources[2].unavailable = [] { return Reason{"the kernel sees no PMU"}; };
  sources[1].unavailable = [] { return Reason{"no valgrind"}; };
  EXPECT_THAT(reasons("auto"),
              ElementsAre(testing::Pair("perf", Reason{"the kernel sees no PMU"})));
  EXPECT_THAT(reasons("simulate"), ElementsAre(testing::Pair("simulate", Reason{"no valgrind"})));
  for (const auto choice : {"off", "model", "cupti"})
    EXPECT_THAT(reasons(choice), IsEmpty()) << choice;
  EXPECT_THAT(reasons("auto", "gpu"), IsEmpty());
  sources[2].unavailable = [] { return std::optional<Reason>(); };
  EXPECT_THAT(reasons("auto"), IsEmpty());
}

TEST(CountCall, KernelsAreThoseOfTheBestSourceThatKnowsThem) {
  auto sources = Ladder();
  for (const int i : {0, 2})
    sources[i].count = [name = sources[i].name](const CountRequest&) {
      return Counted{.kernels = {{name + "_kernel", 2}}};
    };
  EXPECT_THAT(CountCall("auto", "cpu", {}, sources).kernels,
              ElementsAre(LaunchedKernel{"perf_kernel", 2}));
}

TEST(CountCall, PartOfTheFlopsIsNotTakenForAll) {
  const auto counting = CountCall("perf", "cpu", OnPipes({"int8.vector", "fp32.vector"}), Ladder());
  EXPECT_THAT(counting.work.at(Provenance::kMeasured).flops, IsEmpty());
  EXPECT_EQ(counting.work.at(Provenance::kMeasured).bytes.at(Level::kL2), 10);
  EXPECT_THAT(counting.notes,
              Contains(testing::Field(&CountingNote::text, HasSubstr("cannot count int8.vector"))));
}

TEST(CountCall, WhatIsNoCountIsDropped) {
  auto sources = Ladder();
  sources[0] = Source("model", Provenance::kModelled,
                      {.bytes = {{Level::kL1, NAN}, {Level::kL2, -1}, {Level::kL3, 0}}});
  const auto counting = CountCall("model", "cpu", {}, sources);
  EXPECT_THAT(counting.work.at(Provenance::kModelled).bytes,
              ElementsAre(testing::Pair(Level::kL3, 0)));
}

TEST(WorkKeys, EveryLevelAndProvenanceSurvivesItsText) {
  for (const Level level : AllLevels()) EXPECT_EQ(LevelFromKey(Key(level)), level);
  for (const Provenance from : AllProvenances()) EXPECT_EQ(ProvenanceFromKey(Key(from)), from);
  EXPECT_EQ(LevelFromKey("l4"), std::nullopt);
  EXPECT_EQ(ProvenanceFromKey("guessed"), std::nullopt);
}

TEST(WorkKeys, APipeIsATypeAndAUnitAndPerhapsAFinerRow) {
  EXPECT_TRUE(IsPipeKey("fp32.vector"));
  EXPECT_TRUE(IsPipeKey("int8.matrix"));
  EXPECT_TRUE(IsPipeKey("fp32.vector.avx2"));
  EXPECT_TRUE(IsPipeKey("int32.vector"));
  for (const char* bad :
       {"", "fp32", "fp32.", ".vector", "fp31.vector", "fp32.scalar", "fp32.vector."})
    EXPECT_FALSE(IsPipeKey(bad)) << bad;
}

TEST(TotalFlops, IsUnknownWithoutPipesAndZeroWithAnIdleOne) {
  EXPECT_EQ(TotalFlops({}), std::nullopt);
  Work none;
  none.flops["fp32.vector"] = 0;
  EXPECT_EQ(TotalFlops(none), 0);
  EXPECT_EQ(TotalFlops({.flops = {{"bf16.matrix", 30}, {"fp32.vector", 12}}}), 42);
}

}  // namespace
}  // namespace dlroof
