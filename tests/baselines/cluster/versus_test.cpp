#include "baselines/cluster/versus.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "counters/base/keys.h"
#include "tests/fakes/refusal.h"
#include "tests/fakes/small_run.h"

namespace dlroof::cluster {
namespace {

using testing::AllOf, testing::Contains, testing::ElementsAre, testing::HasSubstr, testing::IsEmpty,
    testing::Not, testing::StartsWith;

Prices PricesOf(const std::string& kinds) {
  return ParsePrices(fmt::format(R"({{"currency": "USD", "kinds": [{}]}})", kinds), "p.json");
}

std::string Refusal(const std::string& text) {
  return fakes::RefusalOf([&] { ParsePrices(text, "p.json"); });
}

TEST(ParsePrices, ReadsAKindsRentDevicesAndWattsAndNamesTheFaultsPlace) {
  const std::string rent = R"("match": {"name": "EPYC"}, "per_node_hour": 1.2)";
  const auto all = PricesOf("{" + rent + R"(, "devices": 8, "watts": 700})");
  EXPECT_EQ(all.currency, "USD");
  EXPECT_DOUBLE_EQ(all.kinds.at(0).per_node_hour, 1.2);
  EXPECT_EQ(all.kinds[0].devices, 8);
  EXPECT_EQ(all.kinds[0].watts, 700);
  EXPECT_FALSE(PricesOf("{" + rent + "}").kinds.at(0).watts);
  EXPECT_THAT(Refusal(R"({"kinds": [{}]})"), StartsWith("p.json: 'currency': expected a text"));
  EXPECT_THAT(Refusal(R"({"currency": "USD", "kinds": []})"),
              StartsWith("p.json: 'kinds': expected an array with at least one object"));
  EXPECT_EQ(Refusal("{\"currency\": \"\", \"kinds\": [{" + rent + "}]}"),
            "p.json: 'currency' is empty");
  const std::string match = R"({"match": {"name": "b"}, )";
  for (const auto& [kind, fault] : std::vector<std::pair<std::string, std::string>>{
           {match + R"("per_node_hour": -1})",
            "'per_node_hour': expected a number from 1e-06 to 1e+09, got -1"},
           {match + R"("per_hour": 1})", "unknown key 'per_hour'"},
           {match + R"("per_node_hour": 1e18})", "expected a number from 1e-06 to 1e+09"},
           {match + R"("per_node_hour": 2, "watts": 1e-300})",
            "'watts': expected a number from 0.001 to 1e+09"},
           {match + R"("per_node_hour": 5, "devices": 1.5})", "'devices': expected a whole number"},
           {R"({"match": {"name": "b"}})",
            "'per_node_hour': expected a number from 1e-06 to 1e+09, got nothing"},
           {R"({"match": {}, "per_node_hour": 1})", "expected 'name' or 'fingerprint'"}})
    EXPECT_THAT(Refusal("{\"currency\": \"EUR\", \"kinds\": [\n{\"match\": {\"name\": \"a\"}, "
                        "\"per_node_hour\": 1},\n" +
                        kind + "]}"),
                AllOf(StartsWith("p.json: kinds[1]: "), HasSubstr(fault)))
        << kind;
  EXPECT_THAT(Refusal(R"({"currency": "EUR", "kinds": [7]})"), HasSubstr("expected an object"));
}

TEST(ModelsIn, ALayerThatOccursLessThanOnceIsNone) {
  VersusCluster cluster;
  cluster.run.file.context = {{"dlroof", {{"suites", {{{"name", "m"}, {"layers", nullptr}}}}}}};
  auto& layers = cluster.run.file.context["dlroof"]["suites"][0]["layers"];
  layers = {{{"name", fakes::Name("n1")}, {"count", -1}}, {{"name", fakes::Name("n2")}}};
  const auto models = ModelsIn(cluster, cluster, {});
  ASSERT_EQ(models.at(0).layers.size(), 1U);
  EXPECT_EQ(models[0].layers[0].problem, "n2");
}

TEST(PriceOf, TakesTheFirstKindThatMatchesInEverything) {
  const auto prices = PricesOf(
      R"({"match": {"name": "EPYC", "fingerprint": "01"}, "per_node_hour": 1},
         {"match": {"name": "EPYC"}, "per_node_hour": 2})");
  const auto price = [&](const std::string& name, const std::string& fingerprint) {
    const auto* kind = PriceOf(prices, {.name = name, .fingerprint = fingerprint});
    return kind == nullptr ? 0 : kind->per_node_hour;
  };
  EXPECT_EQ(price("AMD EPYC 9", "01"), 1);
  EXPECT_EQ(price("AMD EPYC 9", "02"), 2);
  EXPECT_EQ(price("Xeon", "01"), 0);
}

// A record of the name whose clean repetitions all take `seconds`; 9 of them have an interval.
record::Record Of(const std::string& name, double seconds, int repetitions = 9,
                  const std::optional<energy::Energy>& energy = std::nullopt) {
  auto record = fakes::Measured("n1", 1);
  record.name = name;
  record.options.clear();
  record::SplitName(record);
  record.repetitions.assign(repetitions, {.seconds = seconds, .iterations = 3});
  record.energy = energy;
  return record;
}

VersusCluster ClusterOf(const std::string& where, const std::vector<record::Record>& records,
                        const std::string& machine = "test") {
  auto run = fakes::RunOf(where, records);
  run.file.machines[0].name = machine;
  auto gpu = run.file.machines[0];
  gpu.device = "gpu";
  run.file.machines.push_back(gpu);
  return {.where = where, .run = roofline::PlaceRun(std::move(run.file))};
}

const std::string kCpu = "Conv2D/cpu/onednn/", kGpu = "Conv2D/gpu/cudnn/";
const std::string kOnCpu = kCpu + "fwd/f32/n1", kOnGpu = kGpu + "fwd/f32/n1";

// A cluster of CPUs, or of GPUs: names without kCpu or kGpu, and times [s].
using Times = std::vector<std::pair<std::string, double>>;
VersusCluster ClusterOf(const std::string& where, const std::string& device, const Times& times) {
  return ClusterOf(where, VectorOf<record::Record>(times, [&](const auto& row) {
                     return Of(device + row.first, row.second);
                   }));
}
VersusCluster Cpus(const Times& times) { return ClusterOf("cpu", kCpu, times); }
VersusCluster Gpus(const Times& times) { return ClusterOf("gpu", kGpu, times); }

const VersusOptions kLayouts = {
    .is_implementation_option = [](std::string_view option) { return option == "nchw"; }};

TEST(MakeVersus, PairsTheSameOperatorOfOtherDevicesAndLibraries) {
  const auto cpu = Cpus({{"fwd/f32/n1", 6}, {"fwd/bf16/n1", 3}});
  const auto gpu = Gpus({{"fwd/f32/n1", 2}, {"bwd_data/f32/n1", 2}});
  const auto versus = MakeVersus(cpu, gpu, {});
  ASSERT_EQ(versus.rows.size(), 1);
  const auto& row = versus.rows[0];
  EXPECT_EQ(row.key, "Conv2D/fwd/f32/n1");
  EXPECT_EQ(row.nodes_of_a.value, 3);  // 6 s on A, 2 s on B
  EXPECT_TRUE(row.nodes_of_a.ci95);
  EXPECT_THAT(row.differences, ElementsAre("library: onednn | cudnn",
                                           "times: calls back to back | kind of time unknown"));
  EXPECT_THAT(versus.only_a, ElementsAre(testing::Pair("bf16", 1)));
  EXPECT_THAT(versus.only_b, ElementsAre(testing::Pair("f32", 1)));
  // 100 flop in 6 s under 100 flop/s.
  EXPECT_NEAR(row.a.share->value, 1.0 / 6, 1e-8);
  EXPECT_FALSE(row.a.share->at_most);
  EXPECT_EQ(row.a.bound, "compute");
}

TEST(MakeVersus, ASidesFastestCheckedRecordOfAnyLibraryAndLayoutAndOfF32AndTf32IsCompared) {
  const auto cpu = Cpus({{"fwd/f32/n1", 6}});
  auto unchecked = Of("Conv2D/gpu/tf/fwd/f32/n1", 1);
  unchecked.verified.clear();
  auto nchw = Of("Conv2D/gpu/cudnn/fwd/f32/n1/nchw", 2), nhwc = Of(kOnGpu, 4);
  nchw.verified = nhwc.verified = "all outputs";
  const auto gpu = ClusterOf("gpu", {unchecked, nhwc, nchw});
  const auto versus = MakeVersus(cpu, gpu, kLayouts);
  ASSERT_EQ(versus.rows.size(), 1);
  EXPECT_EQ(versus.rows[0].key, "Conv2D/fwd/f32/n1");
  EXPECT_EQ(versus.rows[0].b.seconds.value, 2);
  // Frameworks multiply f32 on a GPU's tensor cores as tf32; f32 is faster where no engine has
  // tf32.
  const auto of_tf32 =
      MakeVersus(Cpus({{"fwd/f32/n1", 6}, {"fwd/f32/n2", 6}}),
                 Gpus({{"fwd/f32/n1", 2}, {"fwd/tf32/n1", 1}, {"fwd/f32/n2", 2}}), {});
  ASSERT_EQ(of_tf32.rows.size(), 2);
  EXPECT_EQ(of_tf32.rows[0].key, "Conv2D/fwd/f32|tf32/n1");
  EXPECT_EQ(of_tf32.rows[0].nodes_of_a.value, 6);
  EXPECT_EQ(of_tf32.rows[1].key, "Conv2D/fwd/f32/n2");
  EXPECT_THAT(of_tf32.only_b, IsEmpty());
}

TEST(MakeVersus, DifferencesAreListedInTheRow) {
  auto a = Of(kOnCpu, 6), b = Of(kOnGpu, 2);
  a.algorithm = "direct";
  b.algorithm = "winograd";
  b.cache.reset();
  b.work[Provenance::kMeasured].flops["fp32.vector"] = 44;
  const auto row = MakeVersus(ClusterOf("a", {a}), ClusterOf("b", {b}), {}).rows.at(0);
  EXPECT_THAT(row.differences, ElementsAre("library: onednn | cudnn", "cache: cold | unknown",
                                           "times: calls back to back | kind of time unknown",
                                           "FLOPs, by more than 1 %: modelled | measured"));
  EXPECT_EQ(row.flops, 100);  // the problem's own
  EXPECT_EQ(row.b.counted_flops, 44);
  // What one library chose is a difference only beside the same library.
  const auto same = MakeVersus(ClusterOf("a", {a}), ClusterOf("b", {a}), {}).rows.at(0);
  EXPECT_THAT(same.differences, Not(Contains(StartsWith("algorithm"))));
  auto other = a;
  other.algorithm = "winograd";
  const auto chosen = MakeVersus(ClusterOf("a", {a}), ClusterOf("b", {other}), {}).rows.at(0);
  EXPECT_THAT(chosen.differences, Contains("algorithm: direct | winograd"));
}

// --- Models ---

// A first layer without a data gradient, and a second that occurs three times.
Model TwoLayers() {
  return ModelOf({"net",
                  {{kCpu + "fwd/f32/n1", 1},
                   {kCpu + "bwd_weights/f32/n1", 1},
                   {kCpu + "fwd/f32/n2", 3},
                   {kCpu + "bwd_data/f32/n2", 3},
                   {kCpu + "bwd_weights/f32/n2", 3}}},
                 kLayouts.is_implementation_option);
}

TEST(MakeVersusModels, TrainingIsForwardAndBothGradientsWhichMayBeOneCall) {
  const Times second = {{"fwd/f32/n2", 4}, {"bwd_data/f32/n2", 5}, {"bwd_weights/f32/n2", 6}};
  auto both = second;
  both.insert(both.end(), {{"fwd/f32/n1", 1}, {"bwd_weights/f32/n1", 2}});
  const auto rows = MakeVersusModels(Cpus(both), Cpus(both), {TwoLayers()}, kLayouts);
  ASSERT_EQ(rows.size(), 2);
  EXPECT_EQ(rows[0].pass, "inference");
  EXPECT_EQ(rows[0].a->value, 1 + 3 * 4);
  EXPECT_EQ(rows[1].pass, "training");
  EXPECT_EQ(rows[1].a->value, 1 + 2 + 3 * (4 + 5 + 6));
  EXPECT_EQ(rows[1].layers, 4);
  EXPECT_EQ(rows[1].in_both, 4);
  EXPECT_EQ(rows[1].nodes_of_a->value, 1);
  EXPECT_TRUE(rows[1].nodes_of_a->ci95);
  const auto gpu =
      Gpus({{"fwd/f32/n2", 1}, {"bwd/f32/n2", 2}, {"fwd/f32/n1", 1}, {"bwd/f32/n1", 2}});
  const auto joined = MakeVersusModels(Cpus(second), gpu, {TwoLayers()}, kLayouts);
  ASSERT_EQ(joined.size(), 2);
  EXPECT_EQ(joined[1].b->value, 3 * (1 + 2));
  EXPECT_EQ(joined[1].nodes_of_a->value, 5);
  // The first layer has only the gradient of its weights, and B's call computes both.
  EXPECT_EQ(joined[1].in_b, 3);
}

TEST(MakeVersusModels, CoverageIsReportedTimesAreOfSharedLayersAndAFallbackIsInNoSum) {
  const auto cpu = Cpus({{"fwd/f32/n1", 1}, {"fwd/f32/n2", 4}});
  auto rows = MakeVersusModels(cpu, Gpus({{"fwd/f32/n2", 2}}), {TwoLayers()}, kLayouts);
  ASSERT_EQ(rows.size(), 1);
  EXPECT_EQ(rows[0].layers, 4);
  EXPECT_EQ(rows[0].in_a, 4);
  EXPECT_EQ(rows[0].in_both, 3);
  EXPECT_EQ(rows[0].a->value, 12);
  EXPECT_THAT(rows[0].missing, ElementsAre("n1"));
  // n2 runs at 100 flop in 60 s under 100 flop/s.
  const auto slow = Gpus({{"fwd/f32/n1", 1}, {"fwd/f32/n2", 60}});
  rows = MakeVersusModels(cpu, slow, {TwoLayers()}, kLayouts);
  ASSERT_EQ(rows.size(), 1);
  EXPECT_EQ(rows[0].in_both, 1);
  EXPECT_EQ(rows[0].b->value, 1);
  EXPECT_THAT(rows[0].missing, ElementsAre("n2"));
}

// --- Energy ---

energy::Energy Counted(double joules, double others = 0) {
  return {.joules = joules,
          .ci95 = {{0.9 * joules, 1.1 * joules}},
          .domains = {{"package-0", joules}},
          .seconds = 1,
          .window_seconds = 1,
          .calls = 3,
          .others_cpus = others,
          .from = "powercap",
          .covers = "packages"};
}

using MaybeEnergy = std::optional<energy::Energy>;

// A call takes 6 s and, if set, this energy.
VersusCluster Epyc(const MaybeEnergy& energy) {
  return ClusterOf("Epyc", {Of(kOnCpu, 6, 9, energy)}, "Epyc");
}
// ... 2 s.
VersusCluster H200(const MaybeEnergy& energy) {
  return ClusterOf("H200", {Of(kOnGpu, 2, 9, energy)}, "H200");
}

// B's call takes 150 J, A's four times as much.
TEST(VersusEnergy, IsARatioWhereBothAreMeasuredAndOtherProgramsLeaveTheirMark) {
  const auto row_of = [](const MaybeEnergy& of_a, const MaybeEnergy& of_b) {
    return MakeVersus(Epyc(of_a), H200(of_b), {}).rows.at(0);
  };
  const auto ratio = row_of(Counted(600), Counted(150)).energy_ratio.value();
  EXPECT_EQ(ratio.value, 4);
  const double distance = std::hypot(std::log(600 / 540.0), std::log(165 / 150.0));
  EXPECT_NEAR(ratio.ci95->first, 4 * std::exp(-distance), 1e-9);
  EXPECT_FALSE(ratio.noisy);
  const auto of_a = row_of(Counted(600), {});
  EXPECT_EQ(of_a.a.energy->value, 600);
  EXPECT_FALSE(of_a.b.energy || of_a.energy_ratio);
  EXPECT_TRUE(row_of(Counted(600, 0.7), Counted(150)).energy_ratio->noisy);
}

TEST(RatioOf, DistancesAddAsSquaresInLogarithms) {
  // x from 8 / e^0.3 to 8 e^0.3, y from 2 / e^0.4 to 2 e^0.4: 4 / e^0.5 to 4 e^0.5.
  const auto about = [](double middle, double distance) {
    return Quantity{middle, {{middle * std::exp(-distance), middle * std::exp(distance)}}};
  };
  const auto ratio = RatioOf(about(8, 0.3), about(2, 0.4));
  EXPECT_EQ(ratio.value, 4);
  ASSERT_TRUE(ratio.ci95);
  EXPECT_NEAR(ratio.ci95->first, 4 * std::exp(-0.5), 1e-12);
  EXPECT_NEAR(ratio.ci95->second, 4 * std::exp(0.5), 1e-12);
  EXPECT_FALSE(RatioOf({8}, about(2, 0.4)).ci95);
  EXPECT_FALSE(RatioOf(about(8, 0.3), {2}).ci95);
}

TEST(QuantitySum, AddsDistancesAsSquaresAndHasAnIntervalOnlyIfAllHave) {
  QuantitySum sum;
  EXPECT_FALSE(sum.Total());
  sum.Add({10, {{7, 13}}}, 2);
  sum.Add({20, {{16, 24}}}, 1);
  EXPECT_EQ(sum.Total()->value, 40);
  // Distances 2 x 3 and 4: the root of 52.
  EXPECT_NEAR(sum.Total()->ci95->first, 40 - std::sqrt(52.0), 1e-12);
  EXPECT_NEAR(sum.Total()->ci95->second, 40 + std::sqrt(52.0), 1e-12);
  EXPECT_FALSE(sum.Total()->noisy);
  sum.Add({1, {}, true}, 1);
  EXPECT_FALSE(sum.Total()->ci95);
  EXPECT_TRUE(sum.Total()->noisy);
}

TEST(VersusModels, AddEnergiesOfLayersInBothIfEveryLayerHasOne) {
  const auto a = Epyc(Counted(600)), b = H200(Counted(150));
  const auto model = ModelOf({"net", {{kOnCpu, 3}}}, {});
  const auto rows = MakeVersusModels(a, b, {model}, {});
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].energy_a->value, 1800);
  EXPECT_EQ(rows[0].energy_b->value, 450);
  EXPECT_EQ(rows[0].energy_ratio->value, 4);
  const auto n2 = kCpu + "fwd/f32/n2";
  const auto part = ClusterOf("Epyc", {Of(kOnCpu, 6, 9, Counted(600)), Of(n2, 6)}, "Epyc");
  const auto two = ModelOf({"net", {{kOnCpu, 1}, {n2, 1}}}, {});
  EXPECT_FALSE(MakeVersusModels(part, part, {two}, {}).at(0).energy_a);
}

TEST(MakeVersus, NamesACallWithFewerThreadsThanItsNodeHasCpus) {
  auto a = ClusterOf("cpu", {Of(kOnCpu, 6)}, "EPYC");
  const auto b = ClusterOf("gpu", {Of(kOnGpu, 2)}, "V100");
  a.run.file.records[0].threads = 1;
  a.run.file.machines[0].facts["allowed_cpus"] = "2";
  const std::string difference = "a node counts as: 1 of 2 CPUs | a whole node";
  EXPECT_THAT(MakeVersus(a, b, {}).rows.at(0).differences, Contains(difference));
  a.run.file.records[0].threads = 2;
  EXPECT_THAT(MakeVersus(a, b, {}).rows.at(0).differences, Not(Contains(difference)));
}

TEST(VersusModels, TakeTheFastestTypeOfEachCallButTrainInNoIntegers) {
  const auto weights = kCpu + "bwd_weights/f32/n1";
  const auto a = ClusterOf("a", {Of(kOnCpu, 6), Of(kCpu + "fwd/int8/n1", 1), Of(weights, 3)}, "a");
  const auto model = ModelOf({"net", {{kOnCpu, 1}, {weights, 1}}}, {});
  const auto rows = MakeVersusModels(a, a, {model}, {.best_type = true});
  ASSERT_EQ(rows.size(), 2);
  EXPECT_EQ(std::tuple(rows[0].type, rows[0].a->value), std::tuple("best", 1.0));
  EXPECT_EQ(std::tuple(rows[1].pass, rows[1].a->value), std::tuple("training", 9.0));
}

// --- Which time of a call ---

record::Record Gpu(const char* timed, const record::GpuSample& sample) {
  record::Record record{.name = "LSTM/gpu/cudnn/fwd/f32/t1n1i1h1", .timed = timed};
  record::SplitName(record);
  for (int i = 0; i < 6; ++i)
    record.repetitions.push_back(
        {.seconds = 2e-6, .iterations = 1, .gpu = std::make_shared<record::GpuSample>(sample)});
  return record;
}

TEST(UseTimes, LatencyIsThatOfACallWithItsLaunchAndThroughputThatOfCallsBackToBack) {
  record::RunFile run;
  run.records = {Gpu(record::timed::kDevice, {.call_seconds = 9e-6}),
                 Gpu(record::timed::kGraph, {.call_seconds = 9e-6, .graph_calls = 50})};
  UseTimes(CallTime::kThroughput, run);
  for (const auto& record : run.records)
    EXPECT_EQ(record::TimeOf(record.repetitions)->median, 2e-6);
  UseTimes(CallTime::kLatency, run);
  for (const auto& record : run.records) {
    EXPECT_EQ(record::TimeOf(record.repetitions)->median, 9e-6);
    EXPECT_EQ(record.timed, record::timed::kCall);
    EXPECT_TRUE(IsTimed(CallTime::kLatency, record));
  }
  record::RunFile single;
  single.records = {Gpu(record::timed::kCall, {.throughput_seconds = 1e-6}),
                    Gpu(record::timed::kCall, {})};
  UseTimes(CallTime::kThroughput, single);
  EXPECT_EQ(single.records[0].repetitions[0].seconds, 1e-6);
  EXPECT_EQ(TimedText(single.records[0]), "calls back to back");
  EXPECT_EQ(single.records[1].repetitions[0].seconds, 2e-6);  // it has no other time
  EXPECT_FALSE(IsTimed(CallTime::kThroughput, single.records[1]));
}

}  // namespace
}  // namespace dlroof::cluster
