#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <tuple>

#include "ceilings/machine/machine.h"

namespace dlroof::machine {
namespace {

Ceiling Of(double per_second, bool validated) {
  return {.per_second = per_second,
          .status = validated ? CeilingStatus::kValidated : CeilingStatus::kNotValidated};
}

std::string Chosen(const std::map<std::string, Ceiling>& ceilings) {
  std::vector<const CeilingRow*> rows;
  for (const auto& row : ceilings) rows.push_back(&row);
  const auto* chosen = ChooseRoof(rows);
  return chosen == nullptr ? "none" : chosen->first;
}

// A core that multiplies and adds beside each other reaches the same with and without FMA: a
// validated row within the noise of an not validated one is the roof. One far above the others
// stays it.
TEST(ChooseRoof, IsTheHighestOrAValidatedRowWithinTheNoise) {
  EXPECT_EQ(Chosen({{"a", Of(2, true)}, {"b", Of(3, true)}, {"c", Of(1, true)}}), "b");
  EXPECT_EQ(Chosen({{"fma", Of(97, true)}, {"nofma", Of(100, false)}, {"old", Of(50, true)}}),
            "fma");
  EXPECT_EQ(Chosen({{"fma", Of(96, true)}, {"nofma", Of(100, false)}}), "nofma");
  EXPECT_EQ(Chosen({{"fma", Of(99, false)}, {"nofma", Of(100, false)}}), "nofma");
  EXPECT_EQ(Chosen({}), "none");
}

}  // namespace
namespace {

Machine With(const std::map<int, double>& rates) {
  Machine machine;
  for (const auto& [threads, rate] : rates)
    machine.by_threads[threads].flops["fp32.vector"] = {
        .per_second = rate, .threads = threads, .status = CeilingStatus::kValidated};
  return machine;
}

TEST(CompareThreadCounts, RefutesAThreadThatWasSlowerAloneThanInATeam) {
  Machine machine = With({{1, 432e9}, {2, 1217e9}});  // 608.5 each
  CompareThreadCounts(machine);
  EXPECT_FALSE(machine.by_threads[1].flops["fp32.vector"].IsValidated());
  EXPECT_THAT(machine.by_threads[1].flops["fp32.vector"].ReasonText(),
              testing::HasSubstr("608.5 G/s per thread, this team only 432 G/s"));
  EXPECT_TRUE(machine.by_threads[2].flops["fp32.vector"].IsValidated());
}

TEST(CompareThreadCounts, SaysTheSameReasonOnceAndKeepsOthersAndAcceptsScalingUpToNoiseAndBelow) {
  Machine machine = With({{1, 432e9}, {2, 1217e9}});
  auto& one = machine.by_threads[1].flops["fp32.vector"];
  one.reasons = {"its own reason"};
  CompareThreadCounts(machine);
  const auto said = one.ReasonText();
  EXPECT_THAT(said, testing::StartsWith("its own reason; 2 threads reached 608.5 G/s per thread"));
  CompareThreadCounts(machine);
  EXPECT_EQ(one.ReasonText(), said);
  for (const double two : {203.0, 200.0, 120.0}) {  // 1.5 % above linear, linear, shared bandwidth
    machine = With({{1, 100}, {2, two}});
    CompareThreadCounts(machine);
    EXPECT_TRUE(machine.by_threads[1].flops["fp32.vector"].IsValidated()) << two;
  }
}

// 2 threads at 190 of 100 each: 0.95; 4 at 320: 0.8 and still validated.
TEST(AddScaling, HoldsEachTeamAgainstOneThread) {
  Machine machine = With({{1, 100}, {2, 190}, {4, 320}});
  machine.by_threads[4].flops["fp64.vector.avx2"].per_second = 1;  // not measured alone
  AddScaling(machine, std::nullopt);
  const auto at = [&](int threads) { return machine.by_threads[threads].flops["fp32.vector"]; };
  EXPECT_EQ(at(1).validation.scaling, std::nullopt);
  EXPECT_EQ(at(2).validation.scaling, 0.95);
  EXPECT_EQ(at(4).validation.scaling, 0.8);
  EXPECT_TRUE(at(4).IsValidated());
  machine.by_threads[1].flops["fp32.vector"].per_second = 80;
  AddScaling(machine, std::nullopt);
  EXPECT_EQ(at(4).validation.scaling, 1);
  EXPECT_EQ(machine.by_threads[4].flops["fp64.vector.avx2"].validation.scaling, std::nullopt);
}

// Two threads at 160 of 100 each: 0.8 of what one has, which a clock of 0.8 explains, or that there
// is one core for both.
TEST(AddScaling, RefutesATeamWhoseCoresAreNotItsOwn) {
  const auto scaled = [](int cores, std::optional<double> clock_of_two) {
    Machine machine = With({{1, 100}, {2, 160}});
    auto& two = machine.by_threads[2].flops["fp32.vector"];
    machine.by_threads[1].flops["fp32.vector"].clock_hz = 4e9;
    two.clock_hz = clock_of_two;
    AddScaling(machine, cores);
    AddScaling(machine, cores);  // says nothing twice
    return two;
  };
  EXPECT_FALSE(scaled(2, 4e9).IsValidated());
  EXPECT_EQ(
      scaled(2, 4e9).ReasonText(),
      "at the same clock each of its threads is slower than a single thread: other programs used "
      "their cores, or two threads share a core");
  EXPECT_FALSE(scaled(2, std::nullopt).IsValidated());
  EXPECT_TRUE(scaled(2, 3.2e9).IsValidated());
  EXPECT_TRUE(scaled(1, 4e9).IsValidated());
}

// 10 and 18 of two threads: 0.9; 5 and 7: 0.7. L3 and DRAM are shared, their rates say nothing of
// one thread.
TEST(AddScaling, OfMemoryIsThatOfThePrivateLevels) {
  Machine machine;
  const auto put = [&](int threads, Level level, const std::string& mix, double rate) {
    const Ceiling ceiling = {
        .per_second = rate, .threads = threads, .how = "h", .status = CeilingStatus::kValidated};
    machine.by_threads[threads].bytes[level] = ceiling;
    machine.by_threads[threads].mixes[mix] = ceiling;
  };
  for (const int threads : {1, 2}) {
    put(threads, Level::kL1, "l1.load.avx2", threads == 1 ? 10 : 18);
    put(threads, Level::kL2, "l2.copy.avx2", threads == 1 ? 5 : 7);
    put(threads, Level::kL3, "l3.load.avx2", 2);
    put(threads, Level::kDram, "dram.load.avx2", 1);
  }
  machine.by_threads[2].bytes[Level::kHost] = {.per_second = 1};
  AddScaling(machine, std::nullopt);
  AddScaling(machine, std::nullopt);  // says nothing twice
  auto& two = machine.by_threads[2];
  EXPECT_DOUBLE_EQ(two.bytes[Level::kL1].validation.scaling.value(), 0.9);
  EXPECT_DOUBLE_EQ(two.mixes["l1.load.avx2"].validation.scaling.value(), 0.9);
  EXPECT_DOUBLE_EQ(two.bytes[Level::kL2].validation.scaling.value(), 0.7);
  EXPECT_DOUBLE_EQ(two.mixes["l2.copy.avx2"].validation.scaling.value(), 0.7);
  EXPECT_TRUE(two.bytes[Level::kL2].IsValidated());
  for (const Level level : {Level::kL3, Level::kDram, Level::kHost})
    EXPECT_EQ(two.bytes[level].validation.scaling, std::nullopt) << Key(level);
  EXPECT_EQ(two.mixes["l3.load.avx2"].validation.scaling, std::nullopt);
  EXPECT_EQ(two.mixes["dram.load.avx2"].validation.scaling, std::nullopt);
  EXPECT_EQ(machine.by_threads[1].bytes[Level::kL1].validation.scaling, std::nullopt);
}

}  // namespace
namespace {

using Features = std::set<std::string>;

TEST(IsaOfRow, IsThePartWithoutItsVariant) {
  EXPECT_EQ(IsaOfRow("fp32.vector.avx512"), "avx512");
  EXPECT_EQ(IsaOfRow("fp32.vector.avx512_nofma"), "avx512");
  EXPECT_EQ(IsaOfRow("fp64.vector.sse2_scalar"), "sse2");
  EXPECT_EQ(IsaOfRow("fp64.vector.fma_scalar"), "fma");
  EXPECT_EQ(IsaOfRow("int8.vector.avx512_vnni_ymm"), "avx512_vnni");
  EXPECT_EQ(IsaOfRow("int8.vector.avx_vnni"), "avx_vnni");
  EXPECT_EQ(IsaOfRow("bf16.matrix.amx_l1"), "amx");
  EXPECT_EQ(IsaOfRow("fp32.vector"), "");
  EXPECT_EQ(IsaOfRow("fp32.vector.neon"), "");
  EXPECT_EQ(IsaOfRow(""), "");
}

TEST(FeaturesOfRow, DependOnTypeAndVariant) {
  EXPECT_EQ(FeaturesOfRow("fp32.vector.avx2"), (Features{"avx2", "fma"}));
  EXPECT_EQ(FeaturesOfRow("int32.vector.avx2"), (Features{"avx2"}));
  EXPECT_EQ(FeaturesOfRow("int8.vector.avx512"), (Features{"avx512f", "avx512bw"}));
  EXPECT_EQ(FeaturesOfRow("fp64.vector.avx512_nofma"), (Features{"avx512f"}));
  EXPECT_EQ(FeaturesOfRow("bf16.vector.avx512_bf16_ymm"),
            (Features{"avx512f", "avx512vl", "avx512_bf16"}));
  EXPECT_EQ(FeaturesOfRow("fp16.matrix.amx_l1"), (Features{"amx_tile", "amx_fp16"}));
  EXPECT_EQ(FeaturesOfRow("fp32.vector.portable"), Features());
}

// A run held to AVX2 is judged by the AVX2 row, one held to AVX by multiply and add.
TEST(RowAllowed, FollowsTheOrderOfOneDnnsIsas) {
  const std::tuple<const char*, const char*, const char*> rows[] = {
      // row, an ISA that does not have it, and one that has it
      {"fp32.vector.sse2", nullptr, "sse41"},
      {"fp32.vector.avx", "sse41", "avx"},
      {"fp32.vector.fma_scalar", "avx", "avx2"},
      {"fp32.vector.avx2", "avx", "avx2"},
      {"fp32.vector.avx512", "avx2_vnni", "avx512_core"},
      {"int8.vector.avx_vnni", "avx2", "avx2_vnni_2"},
      {"int8.vector.avx512", "avx2", "avx512_core"},
      {"int8.vector.avx512_vnni_ymm", "avx512_core", "avx512_core_vnni"},
      {"bf16.vector.avx512_bf16", "avx512_core_vnni", "avx512_core_bf16"},
      {"fp16.vector.avx512_fp16_nofma", "avx512_core_bf16", "avx512_core_fp16"},
      {"int8.matrix.amx_l1", "avx512_core_fp16", "avx512_core_amx"},
      {"fp16.matrix.amx", "avx512_core_amx", "avx512_core_amx_fp16"},
      {"bf16.matrix.amx", "avx10_1_512", "avx10_1_512_amx"},
      // What is not known excludes nothing.
      {"fp32.vector.avx512", nullptr, "isa_0x3fef"},
      {"fp32.vector.avx512", nullptr, ""},
      {"fp32.vector", nullptr, "sse41"},
      {"fp32.vector.neon", nullptr, "sse41"},
      {"fp32.vector.portable", nullptr, "sse41"}};
  for (const auto& [row, without, with] : rows) {
    EXPECT_TRUE(RowAllowed(row, with)) << row;
    if (without != nullptr) {
      EXPECT_FALSE(RowAllowed(row, without)) << row;
    }
  }
}

constexpr double kTolerance = 0.03;

// A measurement with this rate at 3 GHz, of which `clean` repetitions were clean.
Ceiling Seen(double per_second, bool validated, int clean = 5, double clock_hz = 3e9) {
  static int minute = 0;
  Ceiling ceiling{.per_second = per_second, .how = "h", .clock_hz = clock_hz};
  if (validated)
    ceiling.status = CeilingStatus::kValidated;
  else
    ceiling.reasons = {"other programs ran"};
  ceiling.visits = {{.at = std::to_string(++minute),
                     .per_second = per_second,
                     .clean = clean,
                     .clock_hz = clock_hz,
                     .validated = validated}};
  return ceiling;
}

Ceiling Of(const std::vector<Ceiling>& visits) {
  Ceiling learned = visits.front();
  for (std::size_t i = 1; i < visits.size(); ++i) learned = Learned(learned, visits[i], kTolerance);
  return learned;
}

TEST(Learned, KeepsAValidatedRateFromALowerOrNotValidatedOne) {
  for (const auto& later : {Seen(80, false), Seen(80, true), Seen(102, false), Seen(120, false)}) {
    const auto learned = Of({Seen(100, true), later});
    EXPECT_TRUE(learned.IsValidated()) << later.per_second;
    EXPECT_EQ(learned.per_second, 100) << later.per_second;
    EXPECT_EQ(learned.visits.size(), 2);
  }
}

TEST(Learned, TakesAFasterRateThatIsValidatedOrSeenTwice) {
  EXPECT_EQ(Of({Seen(100, true), Seen(120, true)}).per_second, 120);
  const auto learned = Of({Seen(100, true), Seen(120, false), Seen(119, false)});
  EXPECT_EQ(learned.per_second, 120);
  EXPECT_TRUE(learned.IsValidated());
}

TEST(Learned, ValidatesWhatTwoVisitsAgreeOnAndCountsNoVisitWithoutACleanRepetitionOrAtALowerClock) {
  EXPECT_FALSE(Of({Seen(100, false), Seen(90, false)}).IsValidated());
  const auto learned = Of({Seen(100, false), Seen(90, false), Seen(98, false)});
  EXPECT_TRUE(learned.IsValidated());
  EXPECT_EQ(learned.per_second, 100);
  EXPECT_EQ(learned.ReasonText(), "");
  const auto agreement = AgreementOf(learned, kTolerance);
  EXPECT_EQ(agreement.agreeing, 2);
  EXPECT_EQ(agreement.visits, 3);
  EXPECT_FALSE(Of({Seen(100, false), Seen(99, false, 0)}).IsValidated());
  EXPECT_FALSE(Of({Seen(100, false), Seen(99, false, 5, 2e9)}).IsValidated());
  EXPECT_TRUE(Of({Seen(100, false), Seen(99, false, 5, 2.9e9)}).IsValidated());
}

TEST(Learned, CountsNoVisitWhoseOperationsPerCycleAreNotAllowed) {
  auto held = Seen(70, false);
  for (const double per_cycle : {44.8, 62.0}) {
    held.visits[0].per_cycle = per_cycle;
    held.visits[0].per_cycle_expected = 64;
    auto again = held;
    again.visits[0].at = "later";
    EXPECT_EQ(Of({held, again}).IsValidated(), per_cycle > 60);
  }
}

TEST(Learned, KeepsTheFastestVisitsOfManyAndNoneTwiceOrOfAnotherKernel) {
  const auto seen = Seen(100, false);
  const auto learned = Of({seen, seen});
  EXPECT_FALSE(learned.IsValidated());
  EXPECT_EQ(learned, seen);
  auto wrong = Seen(900, false);
  AddUnboundedReason(wrong, "the result is wrong");
  EXPECT_EQ(Of({Seen(100, true), wrong}).per_second, 100);
  EXPECT_EQ(Of({wrong, Seen(100, false)}).per_second, 100);
  std::vector<Ceiling> visits;
  for (int i = 1; i <= 20; ++i) visits.push_back(Seen(i, false));
  const auto of_many = Of(visits);
  EXPECT_EQ(of_many.visits.size(), 8);
  EXPECT_EQ(of_many.visits.front().per_second, 13);
}

Ceiling At(const char* at, double per_second, bool validated = true) {
  auto seen = Seen(per_second, validated);
  seen.visits[0].at = at;
  return seen;
}

TEST(LearnedShared, ASharedLevelIsALimitUntilVisitsThatAreApartAgreeOrOneIsHigher) {
  const auto first = LearnedShared(nullptr, At("2026-11-28T10:00:00Z", 58.5));
  EXPECT_FALSE(first.IsValidated());
  EXPECT_EQ(first.ReasonText(), "lower bound until a second visit, a minute or more later, agrees");
  EXPECT_FALSE(LearnedShared(&first, At("2026-11-28T10:00:05Z", 58)).IsValidated());
  EXPECT_TRUE(LearnedShared(&first, At("2026-11-28T10:02:00Z", 58)).IsValidated());
  const auto lower = LearnedShared(nullptr, At("2026-11-28T10:00:00Z", 58.5));
  const auto low = LearnedShared(&lower, At("2026-11-28T10:02:00Z", 58));
  ASSERT_TRUE(low.IsValidated());
  const auto higher = LearnedShared(&low, At("2026-11-28T10:20:00Z", 118, false));
  EXPECT_EQ(higher.per_second, 118);
  EXPECT_FALSE(higher.IsValidated());
  const auto again = LearnedShared(&higher, At("2026-11-28T10:30:00Z", 115));
  EXPECT_EQ(again.per_second, 118);
  EXPECT_TRUE(again.IsValidated());
  EXPECT_EQ(LearnedShared(&again, At("2026-11-28T10:40:00Z", 60)).per_second, 118);
}

// A host with a neighbour that halves the bandwidth of 100 for 1 to 10 s on average, 10 to 60 % of
// the time. A visit of 3 s finds the fastest of 10 repetitions, each within 2 %; visits are 1 to 30
// minutes apart. The first visit alone is wrong in a fifth of them.
TEST(LearnedShared, IsWithin5PercentOfTheTruthIn95PercentOf200Histories) {
  std::mt19937_64 random(2026);
  const auto uniform = [&](double low, double high) {
    return std::uniform_real_distribution(low, high)(random);
  };
  int validated = 0, right = 0, right_alone = 0;
  for (int history = 0; history < 200; ++history) {
    const double share = uniform(0.1, 0.6), busy = uniform(1, 10);
    const double quiet = busy * (1 - share) / share;
    Ceiling learned;
    const int visits = std::uniform_int_distribution(2, 8)(random);
    double now = 0;
    for (int visit = 0; visit < visits; ++visit) {
      bool is_busy = uniform(0, 1) < share;  // minutes later nothing is left of the state before
      double until = -std::log(uniform(1e-9, 1)) * (is_busy ? busy : quiet), best = 0;
      for (double at = 0; at < 3; at += 0.3) {
        while (until < at) {
          is_busy = !is_busy;
          until -= std::log(uniform(1e-9, 1)) * (is_busy ? busy : quiet);
        }
        best = std::max(best, (is_busy ? 50 : 100) * uniform(0.98, 1));
      }
      now += uniform(60, 1800);
      const int minutes = static_cast<int>(now / 60), seconds = static_cast<int>(now) % 60;
      const auto seen = At(
          fmt::format("2026-11-28T{:02}:{:02}:{:02}Z", minutes / 60, minutes % 60, seconds).c_str(),
          best);
      if (visit == 0) right_alone += best >= 95 ? 1 : 0;
      learned = LearnedShared(visit == 0 ? nullptr : &learned, seen);
    }
    if (!learned.IsValidated()) continue;
    ++validated;
    right += std::abs(learned.per_second / 100 - 1) <= 0.05 ? 1 : 0;
  }
  EXPECT_GE(validated, 170);
  EXPECT_GE(right, 0.95 * validated) << right_alone << " of 200 by the first visit alone";
  EXPECT_LT(right_alone, 190);
}

TEST(Learned, OfSetsJoinsRowsAndKeepsTheLowerCosts) {
  CeilingSet stored{.flops = {{"fp32.vector.avx2", Seen(100, true)}},
                    .launch_seconds = 2e-6,
                    .overheads = {{"fork-join", 5e-7}},
                    .effort = "full",
                    .absent = {{"dram.load.avx2", "why"}}};
  const CeilingSet now{
      .flops = {{"fp32.vector.avx2", Seen(50, false)}, {"int8.vector.avx2", Seen(200, true)}},
      .mixes = {{"dram.load.avx2", Seen(10, true)}},
      .launch_seconds = 3e-6,
      .overheads = {{"fork-join", 4e-7}},
      .effort = "roofs"};
  const auto set = Learned(stored, now);
  EXPECT_EQ(set.flops.at("fp32.vector.avx2").per_second, 100);
  EXPECT_EQ(set.flops.at("int8.vector.avx2").per_second, 200);
  EXPECT_EQ(set.launch_seconds, 2e-6);
  EXPECT_EQ(set.overheads.at("fork-join"), 4e-7);
  EXPECT_EQ(set.effort, "full");
  EXPECT_TRUE(set.absent.empty());
}

}  // namespace
}  // namespace dlroof::machine
