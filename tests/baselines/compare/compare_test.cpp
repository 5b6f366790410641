#include "baselines/compare/compare.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "baselines/compare/paired_record.h"
#include "baselines/statistics/shift.h"
#include "counters/base/error.h"
#include "tests/fakes/refusal.h"
#include "tests/fakes/run_files.h"
#include "tests/fakes/small_run.h"

namespace dlroof::compare {
namespace {

using fakes::Measured, fakes::Name, fakes::Options, fakes::RunOf, fakes::SmallMachine,
    fakes::Verdicts;
using statistics::Verdict;
using testing::ElementsAre, testing::HasSubstr;

std::string Refusal(const NamedRun& base, const NamedRun& contender,
                    const CompareOptions& options) {
  return fakes::RefusalOf([&] { Compare(base, contender, options); });
}

TEST(Compare, EveryVerdictInTheOrderOfNewThenWhatIsGone) {
  auto failed = Measured("n6", 2), broken = Measured("n7", 2);
  failed.status = broken.status = record::Status::kFailed;
  failed.reason = "out of memory";
  failed.repetitions.clear();
  const auto base =
      RunOf("b", {Measured("n0", 2), Measured("n1", 2), Measured("n2", 2), Measured("n3", 2),
                  Measured("n4", 2, 3), Measured("n6", 2), broken, Measured("n8", 2)});
  const auto contender =
      RunOf("n", {Measured("n3", 2), Measured("n2", 2.05), Measured("n1", 1.6), Measured("n0", 2.4),
                  Measured("n4", 2), Measured("n5", 2), failed, Measured("n7", 2)});
  const auto result = Compare(base, contender, Options());
  EXPECT_THAT(Verdicts(result), ElementsAre("same", "ambiguous", "faster", "slower", "insufficient",
                                            "new", "failed", "new", "-gone"));
  EXPECT_EQ(result.exit_code, 1);
  const auto& slower = result.rows[3];
  EXPECT_NEAR(slower.judgement->ratio, 1.2, 0.005);
  EXPECT_LT(slower.judgement->ci95.first, 1.2);
  EXPECT_GT(slower.judgement->ci95.second, 1.2);
  // 1 s of roof in 2.0 s, then in 2.4 s.
  EXPECT_NEAR(*slower.before.fraction, 0.5, 1e-4);
  EXPECT_NEAR(*slower.after.fraction, 1 / 2.4, 1e-4);
  EXPECT_FALSE(slower.after.specified_roof);
  auto specified = contender;
  auto& roof = specified.file.machines[0].by_threads.at(2).flops.at("fp32.vector");
  roof.status = machine::CeilingStatus::kSpecified;
  EXPECT_TRUE(Compare(base, specified, Options()).rows[3].after.specified_roof);
  EXPECT_THAT(result.rows[4].reason, HasSubstr("3 of 9 in BASE, 9 of 9 in NEW; at least 4"));
  EXPECT_THAT(result.rows[6].reason, HasSubstr("out of memory"));
  EXPECT_TRUE(result.rows[6].newly_failed);
  EXPECT_THAT(result.rows[7].reason, HasSubstr("in BASE it is failed"));
}

TEST(Compare, WhatNeitherRunSupportsIsNoFailure) {
  auto bf16 = Measured("n1", 2), f16 = Measured("n2", 2);
  bf16.status = f16.status = record::Status::kUnsupported;
  bf16.reason = f16.reason = "no bf16 for avx2";
  const auto result = Compare(RunOf("b", {Measured("n0", 2), bf16, Measured("n2", 2)}),
                              RunOf("n", {Measured("n0", 2), bf16, f16}), Options());
  EXPECT_THAT(Verdicts(result), ElementsAre("same", "unsupported", "failed"));
  EXPECT_FALSE(result.rows[1].newly_failed);
  EXPECT_TRUE(result.rows[2].newly_failed);
  EXPECT_EQ(result.rows[1].reason, "no bf16 for avx2 (in both runs)");
}

TEST(Compare, ExitCodes) {
  const auto code = [](const std::vector<record::Record>& base,
                       const std::vector<record::Record>& contender) {
    return Compare(RunOf("b", base), RunOf("n", contender), Options()).exit_code;
  };
  const auto n0 = Measured("n0", 2), n1 = Measured("n1", 2), n2 = Measured("n2", 2);
  const auto few0 = Measured("n0", 2, 3), few1 = Measured("n1", 2, 3);
  EXPECT_EQ(code({n0}, {n0}), 0);
  EXPECT_EQ(code({n0}, {Measured("n0", 1)}), 0);
  EXPECT_EQ(code({n0}, {Measured("n0", 3)}), 1);
  EXPECT_EQ(code({few0}, {Measured("n0", 3)}), 3);
  EXPECT_EQ(code({few0, few1, n2}, {few0, few1, n2}), 3) << "of three benchmarks two say nothing";
  EXPECT_EQ(code({few0, n1, n2}, {few0, n1, n2}), 0);
  auto broken = n0;
  broken.status = record::Status::kWrong;
  EXPECT_EQ(code({n0}, {broken}), 1);
  EXPECT_EQ(code({broken, n1}, {broken, n1}), 0);
}

TEST(Compare, RefusesOneByOneWhatCannotBeCompared) {
  const auto base = RunOf("base.json", {Measured("n0", 2)});
  const auto changed = [&](const auto& change) {
    auto contender = RunOf("new.json", {Measured("n0", 2)});
    change(contender);
    const auto text = Refusal(base, contender, Options());
    EXPECT_EQ(text.find('\n'), std::string::npos);
    return text;
  };
  EXPECT_EQ(changed([](NamedRun&) {}), "accepted");
  EXPECT_THAT(changed([](NamedRun& run) { run.file.machines[0].fingerprint = "11"; }),
              HasSubstr("base.json and new.json cannot be compared: the machine's fingerprint "
                        "(cpu) differs: 00 (test) and 11 (test); --across-machines"));
  EXPECT_THAT(changed([](NamedRun& run) { run.file.records[0].threads = 1; }),
              HasSubstr("the number of threads of 'Conv2D/cpu/onednn/fwd/f32/n0' differs: '2' and "
                        "'1'"));
  EXPECT_THAT(changed([](NamedRun& run) { run.file.records[0].cache = "warm"; }),
              HasSubstr("the cache state of"));
  EXPECT_THAT(changed([](NamedRun& run) { run.file.records[0].name = "other"; }),
              HasSubstr("have no benchmark in common"));
  EXPECT_THAT(changed([](NamedRun& run) { run.file.records.clear(); }),
              HasSubstr("have no benchmark in common"));
  EXPECT_THAT(changed([](NamedRun& run) { run.file.records.push_back(run.file.records[0]); }),
              HasSubstr("new.json: the name 'Conv2D/cpu/onednn/fwd/f32/n0' occurs twice"));
  EXPECT_THAT(changed([](NamedRun& run) {
                run.file.context.erase("dlroof");
                run.file.machines.clear();
              }),
              HasSubstr("the kind of file differs: 'dlroof run file' and 'plain Google Benchmark"));
  EXPECT_THAT(changed([](NamedRun& run) { run.file.context["dlroof"]["schema"] = 0; }),
              HasSubstr("the schema differs: '2' and '0'"));
  // A convention that one file does not state is no difference.
  EXPECT_EQ(changed([](NamedRun& run) {
              run.file.context["dlroof"]["conventions"]["flops.gru"] = "counted";
            }),
            "accepted");
}

// Times do not depend on how FLOPs are counted; FLOPs and percentages of roofs do.
TEST(Compare, AnotherConventionOfFlopsLeavesTheTimes) {
  auto base = RunOf("b", {Measured("n0", 2)});
  auto contender = RunOf("n", {Measured("n0", 2.4)});
  auto& conventions = contender.file.context["dlroof"]["conventions"];
  // Neither run has calls on a GPU.
  base.file.context["dlroof"]["conventions"]["gpu.l2"] = "cold";
  conventions["gpu.l2"] = "in a graph";
  base.file.context["dlroof"]["conventions"]["flops.conv2d"] = "dense";
  conventions["flops.conv2d"] = "useful";
  for (auto& record : base.file.records) record.op = "Conv2D";
  for (auto& record : contender.file.records) {
    record.op = "Conv2D";
    record.work[Provenance::kModelled].flops["fp32.vector"] = 80;
  }
  auto options = Options();
  const auto result = Compare(base, contender, options);
  ASSERT_EQ(result.rows.size(), 1);
  EXPECT_EQ(result.rows[0].verdict, Verdict::kSlower);
  EXPECT_FALSE(result.rows[0].before.fraction.has_value());
  EXPECT_TRUE(result.rows[0].after.fraction.has_value());
  EXPECT_THAT(result.rows[0].changes, testing::IsEmpty());
  EXPECT_THAT(result.context, ElementsAre("the convention flops.conv2d (FLOPs and percentages of "
                                          "roofs are not compared)"));
  // Another operator's FLOPs are counted alike.
  for (auto* run : {&base, &contender}) run->file.records[0].op = "LSTM";
  EXPECT_EQ(Compare(base, contender, options).rows[0].changes.size(), 1U);
  options.across_machines = true;
  EXPECT_THAT(Refusal(base, contender, options),
              HasSubstr("the convention flops.conv2d differs: 'dense' and 'useful'"));
}

std::string PlainEntries(double milliseconds, const char* unit = "ms") {
  std::string entries;
  for (int i = 0; i < 5; ++i)
    entries += fmt::format(
        R"({}{{"name": "BM_A/8", "run_name": "BM_A/8", "run_type": "iteration", "repetition_index": {},
        "iterations": 10, "real_time": {}, "cpu_time": 1, "time_unit": "{}"}})",
        i == 0 ? "" : ",", i, milliseconds * (1 + 0.002 * i), unit);
  return R"({"context": {"num_cpus": 2}, "benchmarks": [)" + entries + "]}";
}

TEST(Compare, PlainGoogleBenchmarkFilesByTheirTimesOfWhichZeroIsNone) {
  const NamedRun base{"b", fakes::ParsedRun(PlainEntries(2))},
      contender{"n", fakes::ParsedRun(PlainEntries(2.4))};
  const auto result = Compare(base, contender, Options());
  ASSERT_EQ(result.rows.size(), 1);
  EXPECT_EQ(result.rows[0].verdict, Verdict::kSlower);
  EXPECT_FALSE(result.rows[0].before.fraction.has_value());
  NamedRun other = contender;
  other.file.context["num_cpus"] = 64;
  EXPECT_THAT(Refusal(base, other, Options()), HasSubstr("the machine's num_cpus differs: '2' and "
                                                         "'64'"));
  const NamedRun unit{"u", fakes::ParsedRun(PlainEntries(2000, "us"))};
  EXPECT_EQ(Compare(base, unit, Options()).rows.at(0).verdict, Verdict::kSame);
  const NamedRun zero{"z", fakes::ParsedRun(PlainEntries(0))};
  const auto row = Compare(base, zero, Options()).rows.at(0);
  EXPECT_EQ(row.verdict, Verdict::kInsufficient);
  EXPECT_THAT(row.reason, HasSubstr("0 of 0 in NEW"));
}

// Commits differ in every comparison; another compiler may be the cause.
TEST(Compare, ACommitIsNoCause) {
  NamedRun base{"b", fakes::ParsedRun(PlainEntries(2))},
      contender{"n", fakes::ParsedRun(PlainEntries(2.4))};
  base.file.context["commit"] = "a", contender.file.context["commit"] = "b";
  EXPECT_TRUE(Compare(base, contender, Options()).rows.at(0).changes.empty());
  base.file.context["CXX"] = "gcc", contender.file.context["CXX"] = "clang";
  const auto changes = Compare(base, contender, Options()).rows.at(0).changes;
  ASSERT_EQ(changes.size(), 1);
  EXPECT_EQ(changes[0].text, "differs between the runs: CXX: gcc -> clang");
}

// Statistics of 20 repetitions with a deviation of 0.4 %.
NamedRun Aggregates(const char* where, double milliseconds) {
  const auto entry = [&](const char* statistic, double time) {
    return fmt::format(
        R"({{"name": "BM_A_{0}", "run_name": "BM_A", "run_type": "aggregate", "aggregate_name": "{0}",
        "repetitions": 20, "iterations": 20, "real_time": {1}, "cpu_time": 1, "time_unit": "ms"}})",
        statistic, time);
  };
  return {where, fakes::ParsedRun(R"({"benchmarks": [)" + entry("mean", milliseconds) + "," +
                                  entry("median", milliseconds) + "," +
                                  entry("stddev", 0.004 * milliseconds) + "]}")};
}

TEST(Compare, AggregatesByTheirDeviation) {
  const auto base = Aggregates("b", 2);
  const auto verdict = [&](const NamedRun& contender) {
    return Compare(base, contender, Options()).rows.at(0).verdict;
  };
  EXPECT_EQ(verdict(Aggregates("n", 2.4)), Verdict::kSlower);
  EXPECT_EQ(verdict(Aggregates("n", 2.001)), Verdict::kSame);
  auto without = Aggregates("n", 2.4);
  auto aggregate = *without.file.records[0].repetitions[0].aggregate;
  aggregate.deviation.reset();
  without.file.records[0].repetitions[0].aggregate = aggregate;
  const auto row = Compare(base, without, Options()).rows.at(0);
  EXPECT_EQ(row.verdict, Verdict::kInsufficient);
  EXPECT_THAT(row.reason, HasSubstr("NEW has only the median of the repetitions"));
}

TEST(Compare, RepetitionsThatWereMostlyNoisyAreInsufficient) {
  const auto run = [](int noisy) {
    NamedRun made{"x", fakes::ParsedRun(PlainEntries(2))};
    auto& repetitions = made.file.records[0].repetitions;
    repetitions.resize(12, repetitions[0]);
    for (int i = 0; i < noisy; ++i) repetitions[static_cast<std::size_t>(i)].noisy = true;
    return made;
  };
  EXPECT_NE(Compare(run(0), run(6), Options()).rows[0].verdict, Verdict::kInsufficient);
  for (const auto& result :
       {Compare(run(0), run(7), Options()), Compare(run(7), run(0), Options())})
    EXPECT_EQ(result.rows[0].verdict, Verdict::kInsufficient);
  EXPECT_THAT(Compare(run(0), run(7), Options()).rows[0].reason,
              HasSubstr("12 of 12 in BASE, 5 of 12 in NEW; at least 4, and half of all"));
}

TEST(Compare, RenamedBenchmarksAreMappedAndTypesStayApart) {
  const auto base = RunOf("b", {Measured("n20", 2), Measured("n1", 2)});
  const auto contender = RunOf("n", {Measured("n21", 2.4), Measured("n1", 2)});
  auto options = Options();
  options.names = {{Name("n20"), Name("n21")}};
  const auto result = Compare(base, contender, options);
  EXPECT_THAT(Verdicts(result), ElementsAre("slower", "same"));
  EXPECT_EQ(result.rows[0].base->name, Name("n20"));
  options.names = {{Name("n20"), Name("n9")}};
  EXPECT_THAT(Refusal(base, contender, options), HasSubstr("n: has no benchmark"));
  auto typed = contender;
  typed.file.records[0].name = "Conv2D/cpu/onednn/fwd/int8/n20";
  record::SplitName(typed.file.records[0]);
  options.names = {{Name("n20"), typed.file.records[0].name}};
  EXPECT_THAT(Refusal(base, typed, options), HasSubstr("the type of"));
}

TEST(Compare, AcrossMachinesPercentOfRoofIsJudged) {
  const auto base = RunOf("b", {Measured("n0", 2), Measured("n1", 2)});
  // Twice as fast a machine: n0 keeps its 50 % of the roof, n1 falls from 50 to 40 %.
  auto contender = RunOf("n", {Measured("n0", 1), Measured("n1", 1.25)});
  contender.file.machines = {SmallMachine("2021-01-01T00:00:00Z", 2)};
  contender.file.machines[0].fingerprint = "11";
  auto options = Options();
  options.across_machines = true;
  const auto result = Compare(base, contender, options);
  EXPECT_THAT(Verdicts(result), ElementsAre("same", "slower"));
  EXPECT_NEAR(result.rows[1].judgement->ratio, 1.25, 0.005);
  contender.file.machines[0].by_threads[2].flops["fp32.vector"].status =
      machine::CeilingStatus::kNotValidated;
  const auto not_validated = Compare(base, contender, options);
  EXPECT_EQ(not_validated.exit_code, 3);
  EXPECT_THAT(not_validated.rows[0].reason, HasSubstr("no percent of a validated roof in NEW"));
  EXPECT_FALSE(not_validated.rows[0].after.fraction);
  EXPECT_NEAR(not_validated.rows[0].after.fraction_at_most.value(), 0.5, 1e-4);
}

TEST(Compare, RoofsOfEachRunTakeTheMachineOut) {
  const auto base = RunOf("b", {Measured("n0", 2)});
  auto contender = RunOf("n", {Measured("n0", 2.4)});
  contender.file.machines = {SmallMachine("2021-01-01T00:00:00Z", 1 / 1.2)};
  const auto result = Compare(base, contender, Options());
  EXPECT_EQ(result.rows[0].verdict, Verdict::kAmbiguous);
  EXPECT_NEAR(result.rows[0].judgement->ratio, 1, 0.01);
  EXPECT_NEAR(result.rows[0].judgement->removed, 1.2, 0.01);
  EXPECT_EQ(result.exit_code, 3);
  // Ceilings of one measurement, used by both runs, are no evidence.
  contender.file.machines = base.file.machines;
  EXPECT_EQ(Compare(base, contender, Options()).rows[0].verdict, Verdict::kSlower);
}

// Blocks of five windows in a machine whose speed drifts by 30 %; NEW takes `ratio` as long, give
// or take 0.4 % from block to block.
NamedRun Interleaved(const std::string& where, double ratio, const std::string& id) {
  record::Record record = Measured("n1", 1);
  record.repetitions.clear();
  for (int block = 0; block < 14; ++block)
    for (int window = 0; window < 5; ++window) {
      const double speed = 1 + 0.1 * ((5 * block + 3 * window) % 4);
      const double own = where == "new" ? ratio * (1 + 0.002 * (block % 5 - 2)) : 1;
      record.repetitions.push_back({.seconds = speed * own, .iterations = 1, .block = block});
    }
  NamedRun run = RunOf(where, {record});
  run.file.context["dlroof"]["interleaved"] = {{"id", id}, {"min_effect", 0.02}};
  return run;
}

TEST(Compare, BlocksOfOneInterleavedRunAreJudgedAsPairsAndThoseOfTwoRunsNot) {
  const auto base = Interleaved("base", 1, "a");
  const auto slower = Compare(base, Interleaved("new", 1.05, "a"), {});
  EXPECT_EQ(slower.rows.at(0).verdict, Verdict::kSlower);
  EXPECT_NEAR(slower.rows[0].judgement->ratio, 1.05, 0.001);
  EXPECT_EQ(slower.judged.min_effect, 0.02);
  EXPECT_EQ(slower.judged.run_noise, 0);
  EXPECT_EQ(slower.exit_code, 1);
  EXPECT_EQ(Compare(base, Interleaved("new", 1.0, "a"), {}).rows.at(0).verdict, Verdict::kSame);
  const auto width = [](const auto& comparison) {
    const auto [low, high] = comparison.rows.at(0).judgement->ci95;
    return high - low;
  };
  const auto apart = Compare(base, Interleaved("new", 1.05, "b"), {});
  EXPECT_GT(width(apart), 5 * width(slower));  // the drift of 30 % is in it
  EXPECT_GT(apart.judged.run_noise, 0);
}

TEST(Compare, BlocksMayBeNoisyButNotTooFew) {
  const auto base = Interleaved("base", 1, "a");
  auto contender = Interleaved("new", 1.05, "a");
  auto& repetitions = contender.file.records[0].repetitions;
  for (auto& repetition : repetitions) repetition.noisy = true;
  const auto slower = Compare(base, contender, {});
  EXPECT_EQ(slower.rows.at(0).verdict, Verdict::kSlower);
  // BASE: the median; 18 of the 70 windows take 1 s, 18 take 1.1 s. NEW, all noisy: the fastest
  // window, 1 s * 1.05 * 0.996 in block 0; not exp(log ratio).
  EXPECT_NEAR(slower.rows[0].before.seconds.value(), 1.1, 1e-9);
  EXPECT_NEAR(slower.rows[0].after.seconds.value(), 1.05 * 0.996, 1e-9);
  std::erase_if(repetitions, [](const auto& repetition) {
    return *repetition.block >= statistics::kMinBlocks - 1;
  });
  const auto result = Compare(base, contender, {});
  EXPECT_EQ(result.rows.at(0).verdict, Verdict::kInsufficient);
  EXPECT_THAT(result.rows[0].reason, HasSubstr("blocks: 7; at least 8"));
  EXPECT_EQ(result.exit_code, 3);
}

TEST(Compare, ABusyMachinesBlocksAreSlowerOnlyIfTheirCpuTimeIs) {
  const auto run = [](const std::string& where, double ratio, double cpu_ratio, bool noisy) {
    auto run = Interleaved(where, ratio, "a");
    run.file.records[0].threads = 1;
    for (auto& repetition : run.file.records[0].repetitions) {
      repetition.noisy = noisy;
      repetition.main_cpu_seconds = cpu_ratio * repetition.seconds / ratio / 2;  // waits half
    }
    return run;
  };
  const auto verdict = [&](double cpu_ratio, bool noisy) {
    return Compare(run("base", 1, 1, noisy), run("new", 1.05, cpu_ratio, noisy), {}).rows.at(0);
  };
  EXPECT_EQ(verdict(1.05, true).verdict, Verdict::kSlower);
  EXPECT_EQ(verdict(1, false).verdict, Verdict::kSlower);  // quiet: the benchmark itself waits
  const auto open = verdict(1, true);
  EXPECT_EQ(open.verdict, Verdict::kAmbiguous);
  EXPECT_THAT(open.reason, HasSubstr("% in CPU time: it waits"));
  EXPECT_TRUE(open.judgement->is_suspect);
}

}  // namespace
}  // namespace dlroof::compare
