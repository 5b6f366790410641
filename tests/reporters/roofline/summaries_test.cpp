#include <gmock/gmock.h>

#include "reporters/document/tables.h"
#include "reporters/record/record_json.h"
#include "reporters/record/run_file.h"
#include "reporters/roofline/placed_run.h"
#include "tests/fakes/refusal.h"
#include "tests/fakes/run_files.h"
#include "tests/fakes/small_run.h"

namespace dlroof::roofline {
namespace {

using nlohmann::json;
using testing::HasSubstr;

// 100 flop/s and 10 byte/s; bf16 has a roof that is not validated.
machine::Machine NetworkMachine() {
  auto machine = fakes::SmallMachine();
  machine.by_threads[2].flops["bf16.matrix"] = {
      .per_second = 1000, .how = "fake", .reasons = {"noise"}};
  return machine;
}

std::string Name(const std::string& rest) { return "Conv2D/cpu/onednn/" + rest; }

record::Record Layer(const std::string& rest, double seconds, double flops, double bytes,
                     const std::string& pipe = "fp32.vector") {
  record::Record record{.name = Name(rest)};
  record::SplitName(record);
  record.threads = 2;
  record.cache = "cold";
  record.repetitions = {{.seconds = seconds}};
  Work& work = record.work[Provenance::kModelled];
  work.flops[pipe] = flops;
  work.bytes[Level::kDram] = bytes;
  return record;
}

json Suite(const std::string& name, const std::vector<std::pair<std::string, int>>& layers) {
  json suite = {{"name", name}, {"layers", json::array()}};
  for (const auto& [rest, count] : layers)
    suite["layers"].push_back({{"name", Name(rest)}, {"count", count}});
  return suite;
}

record::RunFile FileOf(const std::vector<json>& suites,
                       const std::vector<record::Record>& records) {
  record::RunFile file;
  file.context["dlroof"] = {{"schema", record::kSchema}, {"suites", suites}};
  file.machines = {NetworkMachine()};
  file.records = records;
  return file;
}

std::string Shown(const record::RunFile& file) {
  return fakes::Written({{document::ModelsTable(SummarizeModels(file))}});
}

// The network of the tests: a once, b three times, c twice.
json Net() { return Suite("net", {{"fwd/f32/a", 1}, {"fwd/f32/b", 3}, {"fwd/f32/c", 2}}); }

TEST(SummarizeModels, SumsEachLayerTimesItsOccurrences) {
  // Roof times: a max(200/100, 10/10) = 2 s; b max(100/100, 30/10) = 3 s; c max(400/100, 10/10) =
  // 4 s.
  const auto file = FileOf({Net()}, {Layer("fwd/f32/a", 4, 200, 10), Layer("fwd/f32/b", 5, 100, 30),
                                     Layer("fwd/f32/c", 8, 400, 10)});
  const auto models = SummarizeModels(file);
  ASSERT_EQ(models.size(), 1U);
  const auto& net = models[0];
  EXPECT_EQ(net.suite, "net");
  EXPECT_EQ(net.parts.op + "/" + net.parts.direction + "/" + net.parts.type, "Conv2D/fwd/f32");
  EXPECT_EQ(net.layers_measured, 3);
  EXPECT_EQ(net.layers_total, 3);
  EXPECT_EQ(net.calls_measured, 6);
  EXPECT_EQ(net.calls_total, 6);
  EXPECT_FALSE(net.noisy);
  EXPECT_DOUBLE_EQ(net.seconds.value(), 4 + 3 * 5 + 2 * 8);       // 35 s
  EXPECT_DOUBLE_EQ(net.flops.value(), 200 + 3 * 100 + 2 * 400);   // 1300 flop
  EXPECT_DOUBLE_EQ(net.flops_per_second.value(), 1300.0 / 35);    //
  EXPECT_EQ(net.layers_placed, 3);                                //
  EXPECT_DOUBLE_EQ(net.roof_seconds.value(), 2 + 3 * 3 + 2 * 4);  // 19 s
  EXPECT_DOUBLE_EQ(net.roof_fraction.value(), 19.0 / 35);         // not the mean of the shares
  // Above the roof: a 1 x 2 s, b 3 x 2 s, c 2 x 4 s.
  ASSERT_EQ(net.fix_first.size(), 3U);
  EXPECT_EQ(net.fix_first[0].record, 2U);
  EXPECT_DOUBLE_EQ(net.fix_first[0].above_roof_seconds, 8);
  EXPECT_DOUBLE_EQ(net.fix_first[0].seconds, 16);
  EXPECT_DOUBLE_EQ(ToJson(net, file)["fix_first"][0]["share"], 16.0 / 35);
  EXPECT_EQ(net.fix_first[1].record, 1U);
  EXPECT_DOUBLE_EQ(net.fix_first[1].above_roof_seconds, 6);
  EXPECT_EQ(net.fix_first[1].count, 3);
  EXPECT_EQ(net.fix_first[2].record, 0U);
}

TEST(SummarizeModels, LeavesOutLayersWithoutATimeAndHasNoSumsWithoutAnyTime) {
  auto noisy = Layer("fwd/f32/b", 5, 100, 30);
  noisy.repetitions = {{.seconds = 5, .noisy = true}};
  auto unsupported = Layer("fwd/f32/c", 1, 1, 1);
  unsupported.status = record::Status::kUnsupported;
  unsupported.repetitions.clear();
  auto file = FileOf({Net()}, {Layer("fwd/f32/a", 4, 200, 10), noisy, unsupported});
  auto models = SummarizeModels(file);
  ASSERT_EQ(models.size(), 1U);
  EXPECT_EQ(models[0].calls_measured, 4);
  EXPECT_EQ(models[0].calls_total, 6);
  EXPECT_DOUBLE_EQ(models[0].seconds.value(), 4 + 3 * 5);
  const auto text = ToJson(models[0], file);
  EXPECT_EQ(text["layers"], json({{"measured", 2}, {"total", 3}}));
  EXPECT_EQ(text["disturbed"], true);
  auto failed = Layer("fwd/f32/a", 1, 1, 1);
  failed.status = record::Status::kFailed;
  file = FileOf({Net()}, {failed});
  models = SummarizeModels(file);
  ASSERT_EQ(models.size(), 1U);
  EXPECT_EQ(models[0].layers_measured, 0);
  EXPECT_EQ(ToJson(models[0], file).size(), 8U)
      << "suite, five parts of the name, layers, calls: " << ToJson(models[0], file);
}

TEST(SummarizeModels, HasAModelPerDirectionTypeAndOptionThatWasRun) {
  const auto suite = Suite("net", {{"fwd/f32/a", 1},
                                   {"fwd/bf16/a", 1},
                                   {"fwd/f32/a/relu", 1},
                                   {"bwd_data/f32/a", 1},
                                   {"fwd/f32/b", 2}});
  const auto models = SummarizeModels(
      FileOf({suite}, {Layer("fwd/f32/a/relu", 1, 1, 1), Layer("fwd/f32/a", 1, 1, 1),
                       Layer("bwd_data/f32/a", 1, 1, 1)}));
  ASSERT_EQ(models.size(), 3U) << "bf16 has no record";
  EXPECT_EQ(models[0].parts.options.size(), 0U);
  EXPECT_EQ(models[0].layers_total, 2);
  EXPECT_EQ(models[1].parts.options, std::vector<std::string>{"relu"});
  EXPECT_EQ(models[1].layers_total, 1);
  EXPECT_EQ(models[2].parts.direction, "bwd_data");
}

// Roofs: a 2 x 1 s, a limit; b 1 s.
TEST(SummarizeModels, AreALimitIfARoofIsNotValidatedAndHaveNoFlopsIfSomeAreUnknown) {
  auto suite = Suite("net", {{"fwd/bf16/a", 2}, {"fwd/bf16/b", 1}});
  auto file = FileOf({suite}, {Layer("fwd/bf16/a", 3, 1000, 5, "bf16.matrix"),
                               Layer("fwd/bf16/b", 4, 100, 10)});  // fp32.vector: roof 1 s
  EXPECT_THAT(Shown(file), HasSubstr("<= 30.0 %\n"));
  auto models = SummarizeModels(file);
  ASSERT_EQ(models.size(), 1U);
  EXPECT_DOUBLE_EQ(models[0].seconds.value(), 10);
  const auto written = ToJson(models[0], file);
  EXPECT_EQ(written["roof"],
            json({{"layers", 2}, {"seconds_at_most", 3.0}, {"fraction_at_most", 0.3}}));
  EXPECT_DOUBLE_EQ(written["fix_first"][0]["above_roof_seconds_at_least"], 4);
  EXPECT_DOUBLE_EQ(written["fix_first"][1]["above_roof_seconds"], 3);
  suite = Suite("net", {{"fwd/int8/a", 2}, {"fwd/int8/b", 1}});
  file = FileOf({suite}, {Layer("fwd/int8/a", 3, 1000, 10, "int8.matrix"),
                          Layer("fwd/int8/b", 4, 100, 10)});  // fp32.vector: roof 1 s
  EXPECT_THAT(Shown(file), HasSubstr("25.0 % (1 layer)\n"));
  models = SummarizeModels(file);
  ASSERT_EQ(models.size(), 1U);
  EXPECT_DOUBLE_EQ(models[0].seconds.value(), 10);
  EXPECT_EQ(models[0].layers_placed, 1);
  EXPECT_FALSE(models[0].roof_at_most);
  EXPECT_DOUBLE_EQ(models[0].roof_seconds.value(), 1);
  EXPECT_DOUBLE_EQ(models[0].roof_fraction.value(), 0.25) << "of b's 4 s, not of all 10";
  ASSERT_EQ(models[0].fix_first.size(), 1U);
  EXPECT_DOUBLE_EQ(models[0].fix_first[0].seconds, 4);
  auto unknown = Layer("fwd/f32/b", 5, 100, 30);
  unknown.work.clear();
  const auto without = SummarizeModels(FileOf({Net()}, {Layer("fwd/f32/a", 4, 200, 10), unknown}));
  EXPECT_DOUBLE_EQ(without.at(0).seconds.value(), 4 + 3 * 5);
  EXPECT_FALSE(without.at(0).flops.has_value());
  EXPECT_FALSE(ToJson(without[0], file).contains("flops_per_second"));
}

TEST(SummarizeModels, ListsTheThreeLayersWithTheMostTimeAboveTheirRoofAndAcceptsAnyContext) {
  const auto suite = Suite(
      "net",
      {{"fwd/f32/a", 1}, {"fwd/f32/b", 1}, {"fwd/f32/c", 1}, {"fwd/f32/d", 1}, {"fwd/f32/e", 9}});
  const auto models =
      SummarizeModels(FileOf({suite}, {Layer("fwd/f32/a", 2, 100, 1), Layer("fwd/f32/b", 4, 100, 1),
                                       Layer("fwd/f32/c", 3, 100, 1), Layer("fwd/f32/d", 5, 100, 1),
                                       Layer("fwd/f32/e", 1, 100, 1)}));  // e is on its roof
  const auto record = [](std::size_t index) { return testing::Field(&Opportunity::record, index); };
  EXPECT_THAT(models.at(0).fix_first, testing::ElementsAre(record(3), record(1), record(2)));
  for (const char* context :
       {"null", "[]", R"({"dlroof": 1})", R"({"dlroof": {"suites": {}}})",
        R"({"dlroof": {"suites": [1, {"layers": 2}, {"layers": [3, {"name": 4}]}]}})",
        R"({"dlroof": {"suites": [{"name": "x", "layers": [{"name": "a", "count": -1}]}]}})"}) {
    record::RunFile file;
    file.context = json::parse(context);
    record::Record record{.name = "a"};
    file.records = {record};
    EXPECT_TRUE(SummarizeModels(file).empty()) << context;
  }
}

TEST(RunFileJson, HasModelsIfACountedSuiteWasRun) {
  auto file = FileOf({Net()}, {Layer("fwd/f32/a", 4, 200, 10)});
  const auto whole = ToJson(file);
  EXPECT_EQ(whole["models"], json::array({ToJson(SummarizeModels(file).at(0), file)}));
  EXPECT_EQ(ToJson(fakes::ParsedRun(whole.dump()))["models"], whole["models"]);
  file.context = json::object();
  EXPECT_FALSE(ToJson(file).contains("models"));
}

// Above the roof: b 3 x (5 - 3) s, a 1 x (4 - 2) s; d, in no model, 6 - 1 s; c is at its roof.
TEST(WriteOpportunities, ListsTheMostTimeAboveTheRoofFirst) {
  const auto run =
      PlaceRun(FileOf({Net()}, {Layer("fwd/f32/a", 4, 200, 10), Layer("fwd/f32/b", 5, 100, 30),
                                Layer("fwd/f32/c", 4, 400, 10), Layer("fwd/f32/d", 6, 100, 10)}));
  const auto found = Opportunities(run);
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0].record, 1);
  EXPECT_EQ(found[0].count, 3);
  EXPECT_DOUBLE_EQ(found[0].seconds, 15);
  EXPECT_NEAR(found[0].above_roof_seconds, 6, 1e-6);
  EXPECT_EQ(found[1].record, 3);
  EXPECT_EQ(found[1].count, 1);
  EXPECT_NEAR(found[2].above_roof_seconds, 2, 1e-6);
  EXPECT_EQ(Opportunities(run, 1).size(), 1U);
  EXPECT_THAT(fakes::Written({{document::OpportunitiesList(run)}}),
              HasSubstr("fwd/f32/b x3: 6.00 s of 15.0 s, bound by DRAM, 1.67x its"));
}

record::Record Kernel(const std::string& name, double seconds, std::map<std::string, double> flops,
                      std::optional<double> launches) {
  record::Record record{.name = name, .repetitions = {{.seconds = seconds}}};
  record.work[Provenance::kMeasured] = {.flops = std::move(flops), .launches = launches};
  return record;
}

// The published phases of DeepCAM test the sums (v100_published_test.cpp).
TEST(CountZeroFlopKernels, HaveNoLaunchesIfThoseOfOneKernelAreUnknownAndIgnoreUnknownFlops) {
  const auto unknown =
      CountZeroFlopKernels({Kernel("a", 1, {{"fp32.vector", 0}}, std::nullopt),
                            Kernel("b", 1, {{"fp32.vector", 1}}, 2), Kernel("c", 9, {}, 1)});
  ASSERT_EQ(unknown.size(), 1U);
  for (const char* key : {"launches", "zero_flop_launch_share", "set"})
    EXPECT_FALSE(ToJson(unknown[0]).contains(key)) << key;
  EXPECT_EQ(ToJson(unknown[0])["zero_flop_time_share"], 0.5);
}

record::Record Best(const std::string& problem, std::optional<double> ratio,
                    record::Status status = record::Status::kOk) {
  record::Record record{.name = "Conv2D/gpu/cudnn/fwd/f16/" + problem + "/best"};
  record::SplitName(record);
  record.status = status;
  record.heuristic_over_best = ratio;
  return record;
}

std::string Heuristics(const std::vector<record::Record>& records) {
  return fakes::Written({{document::HeuristicSentences(records)}});
}

TEST(SummarizeHeuristics, SaysHowMuchTheHeuristicLosesIfAllAlgorithmsWereTimed) {
  EXPECT_EQ(Heuristics({Best("a", 1), Best("b", 2.456), Best("c", 1.02)}),
            "the heuristic of cudnn loses 2.46x on one of 3 (Conv2D/gpu/cudnn/fwd/f16/b/best), "
            "1.02x in the median\n");
  EXPECT_EQ(Heuristics({Best("a", 1.2), Best("b", 2.456), Best("c", 1.02), Best("d", 1)}),
            "the heuristic of cudnn loses more than 1.1x on 2 of 4, 2.46x at most "
            "(Conv2D/gpu/cudnn/fwd/f16/b/best), 1.11x in the median\n");
  EXPECT_EQ(Heuristics({Best("a", 1), Best("b", 1.04)}),
            "the heuristic of cudnn loses at most 1.04x on 2 "
            "(Conv2D/gpu/cudnn/fwd/f16/b/best), 1.02x in the median\n");
  EXPECT_EQ(Heuristics({Best("a", std::nullopt), Best("b", 2, record::Status::kFailed)}), "");
}

TEST(RecordJson, WritesTheClocksDigitsAndReadsTheSameValuesBack) {
  record::Record record = fakes::Measured("n1", 1.0 / 3, 7);
  record.repetitions[0].run_delay_seconds = 1.4618000000000964e-05;
  const machine::Machine machine = fakes::SmallMachine();
  const auto written = ToJson(record, &machine);
  EXPECT_EQ(written["repetitions"][0]["run_delay_seconds"].dump(), "1.4618e-05");
  EXPECT_EQ(written["repetitions"][0]["iterations"].dump(), "3");
  EXPECT_FALSE(written["repetitions"][6].contains("disturbed"));
  EXPECT_EQ(written["repetitions"][7]["disturbed"], true);
  const record::Record again = record::RecordFromJson(written.dump(), "x");
  EXPECT_FALSE(again.repetitions[6].noisy);
  EXPECT_EQ(ToJson(again, &machine).dump(), written.dump());
}

record::RunFile RunWithMixes() {
  record::RunFile run = fakes::RunOf("x", {fakes::Measured("n1", 1.0 / 3)}).file;
  machine::CeilingSet& set = run.machines[0].by_threads[2];
  set.flops["fp32.vector"].per_second = 1e11 / 3;
  for (auto* ceiling : {&set.bytes[Level::kDram], &set.mixes["dram.copy"]}) {
    *ceiling = {
        .per_second = 2e10 / 3, .how = "copy", .status = machine::CeilingStatus::kValidated};
    ceiling->validation.doubling = 2.0 / 3;
  }
  return run;
}

TEST(ToStoredJson, KeepsTheValidationOfRoofsNotOfAccessMixesAndTheTimePointAsItsDistance) {
  const auto stored = ToStoredJson(RunWithMixes());
  const auto& set = stored["machines"][0]["by_threads"]["2"];
  EXPECT_EQ(set["bytes"]["dram"]["proof"]["doubling"].dump(), "0.666667");
  EXPECT_EQ(set["mixes"]["dram.copy"]["per_second"].dump(), "6666670000");
  EXPECT_EQ(set["mixes"]["dram.copy"]["proved"], true);
  EXPECT_FALSE(set["mixes"]["dram.copy"].contains("proof"));
  const auto again = fakes::ParsedRun(stored.dump());
  EXPECT_EQ(ToStoredJson(again).dump(), stored.dump());
  // The rate of 1e11/3 flop/s is written as 33333300000: 100 flop take 3.00000e-9 s.
  const auto& time = stored["records"][0]["time"];
  EXPECT_FALSE(time.contains("point"));
  EXPECT_EQ(time["compute_seconds"].dump(), "3e-09");
  EXPECT_EQ(time["gap"].dump(), "111111000");
  EXPECT_NEAR(ToJson(again)["records"][0]["time"]["point"]["compute_seconds"].get<double>(),
              1.0 / 3, 1e-6);
}

// 100 flop take 0.7 s, and 2/3 s in one repetition. With 3 iterations ten decimals resolve 1 ns.
TEST(ToStoredJson, KeepsAllDigitsOfWallTimesAndOmitsWhatTheReaderDerives) {
  record::RunFile run = fakes::RunOf("x", {fakes::Measured("n1", 0.7)}).file;
  auto& repetition = run.records[0].repetitions[0];
  repetition.seconds = 2.0 / 3;
  repetition.cpu_seconds = 4.0 / 3;
  repetition.main_cpu_seconds = 2.0 / 3;
  repetition.run_delay_seconds = 1.4618e-5;
  run.records[0].repetitions[1].run_delay_seconds = 0;
  const auto stored = ToStoredJson(run)["records"][0];
  EXPECT_EQ(stored["repetitions"][0].dump(),
            R"({"cpu_seconds":1.33333,"iterations":3,"main_cpu_seconds":0.666667,)"
            R"("run_delay_seconds":1.46e-05,"seconds":0.6666666667})");
  EXPECT_EQ(stored["repetitions"][1]["run_delay_seconds"].dump(), "0");
  EXPECT_EQ(stored["seconds"]["median"].dump(), "0.7");
  EXPECT_EQ(stored["classic"][0]["flops_per_second"].dump(), "142.857");
  EXPECT_EQ(stored["work"]["modelled"].dump(),
            R"({"bytes":{"dram":1},"flops":{"fp32.vector":100},"launches":1})");
  record::RunFile derived = RunWithMixes();
  derived.machines[0].by_threads[2].flops["fp32.vector"].status =
      machine::CeilingStatus::kNotValidated;  // limits the time point
  const auto short_form = ToStoredJson(derived);
  const auto& record = short_form["records"][0];
  const auto& machine = short_form["machines"][0];
  EXPECT_FALSE(record["classic"][0].contains("flops_per_second_ci95"));
  for (const char* key : {"limited_by", "remarks", "advice"})
    EXPECT_FALSE(record.contains(key)) << key;
  for (const char* key : {"flops", "bytes", "launch_seconds"})
    EXPECT_FALSE(machine.contains(key)) << key;
  const auto again = ToJson(fakes::ParsedRun(short_form.dump()));
  EXPECT_TRUE(again["records"][0]["classic"][0].contains("flops_per_second_ci95"));
  ASSERT_TRUE(again["records"][0].contains("limited_by"));
  EXPECT_EQ(again["records"][0]["limited_by"].size(), 1U);
  EXPECT_EQ(again["machines"][0]["flops"], machine["by_threads"]["2"]["flops"]);
}

}  // namespace
}  // namespace dlroof::roofline
