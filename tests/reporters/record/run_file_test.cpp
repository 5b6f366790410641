#include "reporters/record/run_file.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <random>
#include <sstream>

#include "counters/base/error.h"
#include "reporters/record/cut_json.h"
#include "reporters/record/record_from_json.h"
#include "reporters/record/work_counters.h"
#include "reporters/roofline/placed_json.h"
#include "tests/fakes/refusal.h"

namespace dlroof {
namespace {

using testing::HasSubstr;

RunFile Parsed(const std::string& text) {
  std::ostringstream warnings;
  return ParseRunFile(text, "run.json", warnings);
}

std::string Refusal(const std::string& text) {
  return RefusalOf([&] { Parsed(text); });
}

Record Sample() {
  Record record;
  record.name = "LSTM/cpu/onednn/bwd/bf16/t1n2i3h4";
  SplitName(record);
  record.algorithm = "ref:any; isa avx512_core";
  record.verified = "all 12 outputs";
  record.threads = 2;
  record.cache = "warm";
  record.seed = 7;
  record.heuristic_over_best = 1.25;
  record.repetitions = {{.seconds = 1.5,
                         .cpu_seconds = 2.5,
                         .main_cpu_seconds = 1.25,
                         .run_delay_seconds = 0.001,
                         .core_share = 0.995,
                         .iterations = 4},
                        {.seconds = 1.75, .iterations = 4, .disturbed = true}};
  Work& work = record.work[Provenance::kModelled];
  work.flops = {{"fp32.vector", 12}, {"bf16.matrix", 34}};
  work.bytes[Level::kDram] = 56;
  work.launches = 1;
  work.parts = {{"matrix", 34}, {"elementwise", 12}};
  record.prediction = {1.4, {{Level::kL2, 80}, {Level::kDram, 60}}, "a model"};
  return record;
}

TEST(RecordJson, ReadsBackWhatItWrites) {
  const auto json = ToJson(Sample(), nullptr);
  const Record read = RecordFromJson(JsonReader(json, "x"));
  EXPECT_EQ(ToJson(read, nullptr), json);
  EXPECT_EQ(read.work, Sample().work);
  EXPECT_EQ(read.direction, "bwd");
  EXPECT_EQ(read.heuristic_over_best, 1.25);
}

TEST(RecordJson, WrongTypesNameTheirPlace) {
  const auto refusal = [](const char* key, const nlohmann::json& value) {
    auto json = ToJson(Sample(), nullptr);
    json[key] = value;
    return Refusal(nlohmann::json{{"records", {json}}}.dump());
  };
  EXPECT_THAT(refusal("name", 5),
              HasSubstr("run.json: records[0]: 'name': expected a text, got number"));
  EXPECT_THAT(refusal("status", "fine"), HasSubstr("ok, unsupported, failed or wrong"));
  EXPECT_THAT(refusal("repetitions", {{{"seconds", -1}}}),
              HasSubstr("repetitions[0]: 'seconds': expected a positive time"));
  EXPECT_THAT(refusal("prediction", {{"seconds", 0}}),
              HasSubstr("prediction: 'seconds': expected a positive time"));
  EXPECT_THAT(refusal("work", {{"guessed", nlohmann::json::object()}}),
              HasSubstr("'guessed' is not a provenance"));
  EXPECT_THAT(refusal("work", {{"modelled", {{"bytes", {{"l9", 1}}}}}}),
              HasSubstr("'l9' is not a memory level"));
  EXPECT_THAT(refusal("work", {{"modelled", {{"flops", {{"fp32.vector", "many"}}}}}}),
              HasSubstr("expected a number"));
}

TEST(WorkCounters, CarryWorkThroughFlatCountersUnchanged) {
  const auto works = Sample().work;
  auto counters = ToCounters(Provenance::kModelled, works.at(Provenance::kModelled));
  counters["real_time"] = 5;
  counters["somebody/else"] = 6;
  counters["modelled/bytes/l9"] = 7;
  EXPECT_EQ(WorkFromCounters(counters), works);
}

TEST(WorkCounters, LabelKeepsAlgorithmAndVerificationApart) {
  Record record;
  ReadLabel(ToLabel("brgemm", "avx512_core", "all 12 outputs, error 1 of 2", "--conv mb1"), record);
  EXPECT_EQ(record.algorithm, "brgemm; isa avx512_core");
  EXPECT_EQ(record.verified, "all 12 outputs, error 1 of 2");
  EXPECT_EQ(record.repro, "--conv mb1");
}

TEST(WorkCounters, LabelCarriesHowTheWorkWasCounted) {
  Record record;
  const std::vector<std::string> said = {"measured: perf; 2 groups", "model: doubt"};
  ReadLabel(ToLabel("brgemm", "", "all", "--conv mb1", said), record);
  EXPECT_EQ(record.counting, said);
  EXPECT_EQ(record.verified, "all");
  EXPECT_EQ(record.repro, "--conv mb1");
  Record without;
  ReadLabel(ToLabel("brgemm", "", "all", ""), without);
  EXPECT_TRUE(without.counting.empty());
}

TEST(BareName, DropsOnlyWhatGoogleBenchmarkAppends) {
  EXPECT_EQ(BareName("Conv2D/cpu/onednn/fwd/f32/n1/real_time"), "Conv2D/cpu/onednn/fwd/f32/n1");
  EXPECT_EQ(BareName("A/b/repeats:3/process_time/real_time"), "A/b");
  EXPECT_EQ(BareName("A/1024"), "A/1024");
}

// As Google Benchmark 1.7.1 and 1.9 write them, shortened.
constexpr const char* kPlainFile = R"({"context": {"date": "x"}, "benchmarks": [
 {"name": "BM_A/8/real_time", "run_name": "BM_A/8/real_time", "run_type": "iteration", "repetition_index": 0, "iterations": 10, "real_time": 2.5, "cpu_time": 2.4, "time_unit": "us"},
 {"name": "BM_B", "run_name": "BM_B", "run_type": "iteration", "skipped": true, "skip_message": "unsupported: no AMX"},
 {"name": "BM_C", "run_name": "BM_C", "run_type": "iteration", "error_occurred": true, "error_message": "boom"},
 {"name": "BM_A/8/real_time", "run_name": "BM_A/8/real_time", "run_type": "iteration", "repetition_index": 1, "iterations": 10, "real_time": 3.5, "cpu_time": 3.4, "time_unit": "us"},
 {"name": "BM_A/8/real_time_mean", "run_name": "BM_A/8/real_time", "run_type": "aggregate", "real_time": 3.0, "cpu_time": 2.9, "time_unit": "us"}]})";

TEST(ReadRunFile, TakesPlainGoogleBenchmarkFilesWithTimesOnly) {
  const auto run = Parsed(kPlainFile);
  ASSERT_EQ(run.records.size(), 3);
  EXPECT_EQ(run.records[0].name, "BM_A/8");
  ASSERT_EQ(run.records[0].repetitions.size(), 2);
  EXPECT_DOUBLE_EQ(run.records[0].repetitions[1].seconds, 3.5e-6);
  EXPECT_TRUE(run.records[0].work.empty());
  EXPECT_EQ(run.records[1].status, Status::kUnsupported);
  EXPECT_EQ(run.records[1].reason, "no AMX");
  EXPECT_EQ(run.records[2].status, Status::kFailed);
  EXPECT_EQ(run.records[2].reason, "boom");
}

TEST(ReadRunFile, EveryCutKeepsTheCompleteEntriesOrSaysThatThereIsNone) {
  const std::string whole = kPlainFile;
  const size_t first_end = whole.find("\"us\"}") + 5;
  for (size_t length = 0; length < whole.size(); ++length) {
    std::ostringstream warnings;
    const auto cut = whole.substr(0, length);
    if (length < first_end) {
      EXPECT_NE(Refusal(cut), "accepted") << length;
      continue;
    }
    const auto run = ParseRunFile(cut, "run.json", warnings);
    EXPECT_GE(run.records.size(), 1) << length;
    EXPECT_THAT(warnings.str(), HasSubstr("cut off; kept the")) << length;
  }
}

TEST(ReadRunFile, RefusesWhatItCannotReadInOneSentence) {
  EXPECT_THAT(Refusal(""), HasSubstr("run.json: empty file"));
  EXPECT_THAT(Refusal(" \n\t"), HasSubstr("run.json: empty file"));
  EXPECT_THAT(Refusal("hello"), HasSubstr("not JSON"));
  EXPECT_THAT(Refusal("[]"), HasSubstr("expected an object"));
  EXPECT_THAT(Refusal("{}"), HasSubstr("not a run file"));
  EXPECT_THAT(Refusal(R"({"context": {"dlroof": {"schema": 2}}, "records": []})"),
              HasSubstr("newer dlroof"));
  EXPECT_THAT(Refusal(R"({"records": [{"name": "a", }]})"), HasSubstr("not JSON"));
  EXPECT_THAT(
      Refusal(
          R"({"benchmarks": [{"name": "a", "real_time": 1, "cpu_time": 1, "time_unit": "h"}]})"),
      HasSubstr("benchmarks[0]: 'time_unit'"));
  EXPECT_THAT(Refusal(R"({"benchmarks": [{"name": "a", "real_time": 1, "cpu_time": -1}]})"),
              HasSubstr("benchmarks[0]: 'cpu_time'"));
  std::ostringstream warnings;
  EXPECT_THROW(ReadRunFile("/nonexistent/run.json", warnings), BadInput);
  EXPECT_THROW(ReadRunFile("/", warnings), BadInput);
}

TEST(ReadRunFile, MutatedFilesAreReadOrRefusedNeverWorse) {
  Record record = Sample();
  const std::string whole = nlohmann::json{{"context", {{"dlroof", {{"schema", 1}}}}},
                                           {"records", {ToJson(record, nullptr)}}}
                                .dump();
  std::mt19937 random(3);
  int accepted = 0;
  for (int i = 0; i < 5000; ++i) {
    std::string mutant = whole;
    for (int edits = 0; edits < 3; ++edits)
      mutant[random() % mutant.size()] = static_cast<char>(random() % 256);
    accepted += Refusal(mutant) == "accepted" ? 1 : 0;
  }
  EXPECT_GT(accepted, 0);
  EXPECT_LT(accepted, 5000);
}

TEST(MendCutJson, LeavesWholeTextAlone) {
  EXPECT_EQ(MendCutJson(kPlainFile), std::nullopt);
  EXPECT_EQ(MendCutJson(R"({"a": [{"b": "}]"}, {"c")"), R"({"a": [{"b": "}]"}]})");
  EXPECT_EQ(MendCutJson(R"({"a": [{"b)"), std::nullopt);
}

}  // namespace
}  // namespace dlroof
