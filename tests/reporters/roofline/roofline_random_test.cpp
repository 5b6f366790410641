// Properties that hold for every work on every machine, on random ones.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "reporters/roofline/roofline.h"
#include "tests/fakes/small_roofline.h"

namespace dlroof::roofline {
namespace {

// Random works on several pipes and levels of a random machine.
struct RandomCase {
  machine::Machine machine = fakes::SmallMachine();
  record::Record record = fakes::Measured(1, 1, 1);
};

RandomCase MakeRandomCase(std::mt19937_64& random) {
  std::uniform_real_distribution<double> exponent(-3, 6);
  const auto any = [&] { return std::pow(10, exponent(random)); };
  RandomCase made;
  machine::CeilingSet& all = made.machine.by_threads[2];
  for (auto& [pipe, ceiling] : all.flops) ceiling.per_second = any();
  for (auto& [level, ceiling] : all.bytes) ceiling.per_second = any();
  all.launch_seconds = any();
  made.record = fakes::Measured(any(), any(), any());
  Work& work = made.record.work[Provenance::kModelled];
  work.flops["bf16.matrix"] = any();
  work.bytes[Level::kL2] = any();
  work.launches = any();
  return made;
}

TEST(PlaceTime, IsTheTimePointOfPlace) {
  std::mt19937_64 random(12);
  for (int i = 0; i < 500; ++i) {
    auto [machine, record] = MakeRandomCase(random);
    machine.by_threads[2].bytes[Level::kDram].status =
        i % 3 != 0 ? machine::CeilingStatus::kValidated : machine::CeilingStatus::kNotValidated;
    if (i % 5 == 0) record.work[Provenance::kModelled].flops.clear();
    for (const PlaceView& view : {PlaceView{}, PlaceView{{Level::kDram}, true}}) {
      const auto all = Place(record, &machine, view).time;
      const auto time = PlaceTime(record, record.repetitions[0].seconds, machine, view);
      ASSERT_EQ(time.has_value(), all.has_value());
      if (!all) continue;
      EXPECT_EQ(time->seconds, all->seconds);
      EXPECT_EQ(time->compute_seconds, all->compute_seconds);
      EXPECT_EQ(time->memory_seconds, all->memory_seconds);
      EXPECT_EQ(time->times_over_roof, all->times_over_roof);
      EXPECT_EQ(time->times_over_roof_at_least, all->times_over_roof_at_least);
      EXPECT_EQ(time->bound, all->bound);
    }
  }
}

template <class Visit>
void EachCeiling(machine::Machine& machine, const Visit& visit) {
  for (auto& [pipe, ceiling] : machine.by_threads[2].flops) visit(ceiling);
  for (auto& [level, ceiling] : machine.by_threads[2].bytes) visit(ceiling);
}

// Returns the times over the roof if the true rate of every ceiling that is not validated were
// `factor` times the measured one.
double TrueTimesOverRoof(const record::Record& record, double seconds, machine::Machine machine,
                         double factor) {
  EachCeiling(machine, [&](machine::Ceiling& ceiling) {
    if (!ceiling.IsValidated()) ceiling.per_second *= factor;
    ceiling.status = machine::CeilingStatus::kValidated;
  });
  return PlaceTime(record, seconds, machine)->times_over_roof.value();
}

// The distance to the roof is exact if it is the same for all true rates, from the measured ones
// on, of the ceilings that are not validated. If not, no true rate makes it smaller.
TEST(PlaceTime, HasAnExactDistanceIfNoTrueRateOfACeilingWouldChangeIt) {
  std::mt19937_64 random(14);
  int certain = 0, uncertain = 0;
  for (int i = 0; i < 2000; ++i) {
    auto [machine, record] = MakeRandomCase(random);
    bool any = false;
    EachCeiling(machine, [&](machine::Ceiling& ceiling) {
      ceiling.status = random() % 3 != 0 ? machine::CeilingStatus::kValidated
                                         : machine::CeilingStatus::kNotValidated;
      any = any || !ceiling.IsValidated();
    });
    constexpr double kLong = 1e15;  // [s] no level is refuted
    const auto placed = PlaceTime(record, kLong, machine).value();
    const double pipes =
        placed.pipe_seconds.at("fp32.vector") / placed.pipe_seconds.at("bf16.matrix");
    if (std::abs(std::log10(pipes)) > 12) continue;  // the sum rounds one of them away
    const double times_over_roof = TrueTimesOverRoof(record, kLong, machine, 1);
    const bool same = TrueTimesOverRoof(record, kLong, machine, 1e12) == times_over_roof;
    EXPECT_EQ(placed.times_over_roof.has_value(), same) << i;
    EXPECT_EQ(placed.times_over_roof_at_least.has_value(), !same) << i;
    EXPECT_EQ(LeastTimesOverRoof(placed), times_over_roof);
    for (const double factor : {1.1, 2.0, 1e12})
      EXPECT_GE(TrueTimesOverRoof(record, kLong, machine, factor), *LeastTimesOverRoof(placed));
    certain += same && any ? 1 : 0;
    uncertain += same ? 0 : 1;
  }
  EXPECT_GT(certain, 200);
  EXPECT_GT(uncertain, 200);
}

TEST(PlaceTime, NeedsCeilingsOfTheRecordsThreads) {
  record::Record record = fakes::Measured(1, 1, 1);
  EXPECT_TRUE(PlaceTime(record, 1, fakes::SmallMachine()).has_value());
  record.threads = 3;
  EXPECT_FALSE(PlaceTime(record, 1, fakes::SmallMachine()).has_value());
}

TEST(PlaceInTime, SatisfiesItsIdentitiesOnRandomWorks) {
  std::mt19937_64 random(11);
  for (int i = 0; i < 2000; ++i) {
    const auto [machine, record] = MakeRandomCase(random);
    const double flops = TotalFlops(record.work.at(Provenance::kModelled)).value();
    for (const PlaceView& view : {PlaceView{}, PlaceView{{Level::kDram}, true}}) {
      const auto placed = Place(record, &machine, view);
      const auto& time = placed.time.value();
      double roof = time.compute_seconds;
      for (const auto& [level, seconds] : time.memory_seconds) roof = std::max(roof, seconds);
      // The classic and the time-based view of a level agree.
      for (const auto& point : placed.classic) {
        const double level_seconds = record.work.at(Provenance::kModelled).bytes.at(point.level) /
                                     machine.by_threads.at(2).bytes.at(point.level).per_second;
        const double level_roof = std::max(time.compute_seconds, level_seconds);
        // A level binds only if the call had time for its bytes.
        EXPECT_EQ(time.above_roof.contains(point.level), level_seconds > 1.02 * time.seconds);
        EXPECT_EQ(time.memory_seconds.contains(point.level), level_seconds <= 1.02 * time.seconds);
        EXPECT_NEAR(flops / point.roof / level_roof, 1, 1e-12);
        EXPECT_NEAR(point.fraction.value() * time.seconds / level_roof, 1, 1e-12);
      }
      // The times over the roof scale the largest roof time to the run time.
      EXPECT_NEAR(*time.times_over_roof * roof / time.seconds, 1, 1e-12);
      const bool in_box = roof < *time.overhead_seconds;
      EXPECT_EQ(time.bound == Bound::kOverhead, in_box);
      if (!in_box) {
        EXPECT_EQ(time.bound == Bound::kCompute, roof == time.compute_seconds);
        EXPECT_EQ(time.bound_level.has_value(), time.bound == Bound::kMemory);
      }
      if (time.bound_level) {
        EXPECT_EQ(time.memory_seconds.at(*time.bound_level), roof);
      }
      double pipes = 0;
      for (const auto& [pipe, seconds] : time.pipe_seconds) pipes += seconds;
      if (!view.tensor_balance) {
        EXPECT_NEAR(pipes / time.compute_seconds, 1, 1e-12);
      }
    }
  }
}

void DoubleEveryCeiling(machine::Machine& machine) {
  machine::CeilingSet& all = machine.by_threads[2];
  for (auto& [pipe, ceiling] : all.flops) ceiling.per_second *= 2;
  for (auto& [level, ceiling] : all.bytes) ceiling.per_second *= 2;
  *all.launch_seconds /= 2;
}

TEST(PlaceInTime, OnRandomWorksDoublingEveryCeilingHalvesEveryRoofTime) {
  std::mt19937_64 random(12);
  int same_levels = 0;
  for (int i = 0; i < 500; ++i) {
    auto [machine, record] = MakeRandomCase(random);
    const auto before = Place(record, &machine).time.value();
    DoubleEveryCeiling(machine);
    const auto after = Place(record, &machine).time.value();
    EXPECT_DOUBLE_EQ(after.compute_seconds * 2, before.compute_seconds);
    EXPECT_DOUBLE_EQ(*after.overhead_seconds * 2, *before.overhead_seconds);
    for (const auto& [level, seconds] : before.memory_seconds)
      EXPECT_DOUBLE_EQ(after.memory_seconds.at(level) * 2, seconds);
    // Faster roofs may admit bytes that were refuted before.
    if (after.memory_seconds.size() == before.memory_seconds.size()) {
      ++same_levels;
      EXPECT_EQ(after.bound, before.bound) << "the machine's shape is the same";
      EXPECT_NEAR(*after.times_over_roof / *before.times_over_roof, 2, 1e-12);
    }
    // In half the time it is as before.
    for (record::Repetition& repetition : record.repetitions) repetition.seconds /= 2;
    const auto half = Place(record, &machine).time.value();
    EXPECT_EQ(half.memory_seconds.size(), before.memory_seconds.size());
    EXPECT_EQ(half.bound, before.bound);
    EXPECT_EQ(half.bound_level, before.bound_level);
    EXPECT_NEAR(*half.times_over_roof / *before.times_over_roof, 1, 1e-12);
  }
  EXPECT_GT(same_levels, 400);
}

}  // namespace
}  // namespace dlroof::roofline
