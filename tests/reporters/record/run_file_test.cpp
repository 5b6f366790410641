#include "reporters/record/run_file.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>

#include "counters/base/error.h"
#include "counters/base/json_reader.h"
#include "reporters/record/google_benchmark.h"
#include "reporters/record/large_json.h"
#include "reporters/record/record_json.h"
#include "reporters/roofline/placed_run.h"
#include "tests/fakes/refusal.h"
#include "tests/fakes/run_files.h"

namespace dlroof::record {
namespace {

using testing::ElementsAre, testing::HasSubstr, testing::Field;

RunFile Parsed(const std::string& text) { return fakes::ParsedRun(text, "run.json"); }

std::string Refusal(const std::string& text) {
  return fakes::RefusalOf([&] { Parsed(text); });
}

Record Sample() {
  Record record{.name = "LSTM/cpu/onednn/bwd/bf16/t1n2i3h4"};
  SplitName(record);
  record.algorithm = "ref:any";
  record.isa = "avx512_core";
  record.repro = "--conv mb1";
  record.counting = {{"perf", Provenance::kMeasured, "2 groups | \"\n\xC3\xA9"},
                     {.text = "doubt: x"}};
  record.kernels = {{"gemm<float, 2>", 3, 1e-3, KernelFacts{264, 256, 254, 4096, 2.0}}, {"copy"}};
  record.verified = "all 12 outputs";
  record.threads = 2;
  record.cache = "warm";
  record.seed = 7;
  record.heuristic_over_best = 1.25;
  record.wrong_engines = {{"engine 20", "error 6.78e+03, allowed 1"}, {"engine 1", "NaN"}};
  record.repetitions = {{.seconds = 1.5,
                         .cpu_seconds = 2.5,
                         .main_cpu_seconds = 1.25,
                         .run_delay_seconds = 0.001,
                         .core_share = 0.995,
                         .link_share = 0.75,
                         .clean_calls = 3,
                         .iterations = 4},
                        {.seconds = 1.75, .iterations = 4, .noisy = true}};
  Work& work = record.work[Provenance::kModelled];
  work.flops = {{"fp32.vector", 12}, {"bf16.matrix", 34}};
  work.bytes[Level::kDram] = 56;
  work.launches = 1;
  work.parts = {{"matrix", 34}, {"elementwise", 12}};
  const RegionPass pass{1.25, {33, 1, 0.75, 1.5}, 0.125};
  const InstructionCount counted{1e5, 1e3, 1e10, Provenance::kSimulated, "a test"};
  record.parallel = ParallelTime{.mean = pass,
                                 .passes = {pass, {1.5, {33, 1, 0.5, 1}, {}}},
                                 .threads = 2,
                                 .calls = 40,
                                 .parts = {0.25, 0.5, 2e4, 3e4},
                                 .single_thread_seconds = 1.75,
                                 .smallest_seconds = 0.5,
                                 .near_seconds = 1.5,
                                 .far_seconds = 2.5,
                                 .executed_over_useful = 1.0625,
                                 .instructions = counted,
                                 .source = "a test"};
  record.unwatched_reason = Reason{"no runtime"};  // not beside `parallel` in a real run
  record.prediction = Prediction{1.4, {{Level::kL2, 80}, {Level::kDram, 60}}, "a model"};
  return record;
}

TEST(RecordJson, RoundTrips) {
  const auto json = roofline::ToJson(Sample(), nullptr);
  const Record read = RecordFromJson(json.dump(), "x");
  EXPECT_EQ(roofline::ToJson(read, nullptr), json);
  EXPECT_EQ(read.work, Sample().work);
  EXPECT_EQ(read.direction, "bwd");
  EXPECT_EQ(read.heuristic_over_best, 1.25);
  EXPECT_EQ(read.isa, "avx512_core");
  EXPECT_EQ(read.wrong_engines, Sample().wrong_engines);
  EXPECT_EQ(read.counting, Sample().counting);
  EXPECT_EQ(read.kernels, Sample().kernels);
  EXPECT_EQ(read.parallel, Sample().parallel);
  EXPECT_EQ(read.unwatched_reason, Reason{"no runtime"});
}

TEST(RecordJson, ReportsThePlaceOfWrongTypes) {
  const auto refusal = [](const char* key, const nlohmann::json& value) {
    auto json = roofline::ToJson(Sample(), nullptr);
    json[key] = value;
    return Refusal(nlohmann::json{{"records", {json}}}.dump());
  };
  EXPECT_THAT(refusal("status", "fine"), HasSubstr("ok, unsupported, failed or wrong"));
  EXPECT_THAT(
      refusal("repetitions", {{{"seconds", -1}}}),
      HasSubstr("repetitions[0]: 'seconds': expected seconds of a call from 1e-10 to 100000"));
  EXPECT_THAT(refusal("prediction", {{"seconds", 0}}),
              HasSubstr("prediction: 'seconds': expected seconds of a call from 1e-10 to 100000"));
  EXPECT_THAT(refusal("counting", {5}),
              HasSubstr("records[0]: counting[0]: expected an object, got number"));
  EXPECT_THAT(refusal("counting", {{{"text", "x"}, {"provenance", "guessed"}}}),
              HasSubstr("counting[0]: 'provenance': expected measured, simulated or modelled"));
  EXPECT_THAT(refusal("kernels", {{{"name", "x"}, {"launches", 0}}}),
              HasSubstr("kernels[0]: 'launches': expected a count above 0"));
  EXPECT_THAT(refusal("work", {{"guessed", nlohmann::json::object()}}),
              HasSubstr("'guessed' is not a provenance"));
  EXPECT_THAT(refusal("work", {{"modelled", {{"bytes", {{"l9", 1}}}}}}),
              HasSubstr("'l9' is not a memory level"));
  EXPECT_THAT(refusal("work", {{"modelled", {{"flops", {{"fp32.vector", "many"}}}}}}),
              HasSubstr("expected a number"));
}

TEST(WorkCounters, RoundTripWorkAndLabelRoundTripsTheOtherFactsAndALabelOfAnotherProgramIsText) {
  const auto works = Sample().work;
  auto counters = ToCounters(works);
  counters["real_time"] = 5;
  counters["somebody/else"] = 6;
  counters["modelled/bytes/l9"] = 7;
  EXPECT_EQ(WorkFromCounters(counters), works);
  Record read;
  ReadLabel(ToLabel(Sample()), {nullptr, "x"}, read);
  EXPECT_EQ(LabelFacts(read), LabelFacts(Sample()));
  EXPECT_EQ(LabelFacts(read).size(), 9U);
  EXPECT_EQ(ToLabel({}), "");
  for (const char* label : {"{", "{}", R"({"algorithm": 5})", "; isa", "x | y"}) {
    Record plain;
    ReadLabel(label, {nullptr, "x"}, plain);
    EXPECT_EQ(plain.algorithm, label);
    EXPECT_TRUE(plain.counting.empty());
  }
}

TEST(ReadRunFile, NamesThePlaceOfALabelThatIsWrong) {
  const auto refusal = [](const char* label) {
    const nlohmann::json entry = {
        {"name", "BM_A"}, {"real_time", 1}, {"cpu_time", 1}, {"label", label}};
    return Refusal(nlohmann::json{{"benchmarks", {entry}}}.dump());
  };
  EXPECT_EQ(refusal(R"({"dlroof":{"isa": 5}})"),
            "run.json: BM_A: label: dlroof: 'isa': expected a text, got number");
  EXPECT_THAT(refusal(R"({"dlroof":)"), HasSubstr("run.json: BM_A: label: not JSON: "));
}

// As Google Benchmark 1.7.1 and 1.9 write them, shortened.
constexpr const char* kPlainFile = R"({"context": {"date": "x"}, "benchmarks": [
 {"name": "BM_A/8/real_time", "run_name": "BM_A/8/real_time", "run_type": "iteration", "repetition_index": 0, "iterations": 10, "real_time": 2.5, "cpu_time": 2.4, "time_unit": "us"},
 {"name": "BM_B", "run_name": "BM_B", "run_type": "iteration", "skipped": true, "skip_message": "unsupported: no AMX"},
 {"name": "BM_C", "run_name": "BM_C", "run_type": "iteration", "error_occurred": true, "error_message": "boom"},
 {"name": "BM_A/8/real_time", "run_name": "BM_A/8/real_time", "run_type": "iteration", "repetition_index": 1, "iterations": 10, "real_time": 3.5, "cpu_time": 3.4, "time_unit": "us"},
 {"name": "BM_A/8/real_time_mean", "run_name": "BM_A/8/real_time", "run_type": "aggregate", "real_time": 3.0, "cpu_time": 2.9, "time_unit": "us"}]})";

// UseManualTime: the CPU was idle while a GPU, say, computed.
TEST(ReadRunFile, ATimeThatTheProgramMeasuredSaysNothingOfTheCpus) {
  const auto entry = [](const std::string& name) {
    return nlohmann::json{{"name", name}, {"real_time", 1000}, {"cpu_time", 10}, {"iterations", 5}};
  };
  const auto manual =
      Parsed(nlohmann::json{{"benchmarks", {entry("A/manual_time"), entry("B/real_time")}}}.dump());
  ASSERT_EQ(manual.records.size(), 2);
  EXPECT_FALSE(manual.records[0].repetitions[0].main_cpu_seconds);
  EXPECT_DOUBLE_EQ(manual.records[1].repetitions[0].main_cpu_seconds.value(), 10e-9);
}

TEST(ReadRunFile, ReadsTheCompleteEntriesOfATruncatedFileAndRefusesUnreadableOnes) {
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
    EXPECT_THAT(warnings.str(), HasSubstr("cut off; read the")) << length;
  }
  EXPECT_THAT(Refusal(""), HasSubstr("run.json: empty file"));
  EXPECT_THAT(Refusal(" \n\t"), HasSubstr("run.json: empty file"));
  EXPECT_THAT(Refusal("hello"), HasSubstr("not JSON"));
  EXPECT_THAT(Refusal("[]"), HasSubstr("expected an object"));
  EXPECT_THAT(Refusal("{}"), HasSubstr("not a run file"));
  EXPECT_THAT(Refusal(R"({"context": {"dlroof": {"schema": 3}}, "records": []})"),
              HasSubstr("newer dlroof (schema 3, this one reads up to 2)"));
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

constexpr const char* kWhole = R"({"context": {"date": "x", "dlroof": {"schema": 1}},
 "benchmarks": [{"name": "x", "run_name": "x", "real_time": 1e0, "cpu_time": 1, "z": [null, true]}],
 "records": [{"name": "LSTM/cpu/onednn/bwd/bf16/t1n2i3h4/cold", "status": "ok", "reason": "a\"\\\n\u00e9\ud83d\ude00",
  "threads": 2, "seed": 7, "cache": "cold", "evicted_bytes": 12.5, "heuristic_over_best": 1.25, "algorithm": "brgemm", "verified": "all", "repro": "--x",
  "repetitions": [{"seconds": 1.5e-3, "cpu_seconds": 2, "main_cpu_seconds": 1, "run_delay_seconds": 0, "core_share": 0.5, "iterations": 4, "disturbed": true, "gpu": {"graph_seconds": 1e-3, "throttle": 4, "more": [1]}}, {"seconds": 2}],
  "classic": [{"level": "dram", "roof": -0.5E+2}], "seconds": {"median": 1},
  "counting": ["by hand", "t\u00f6"], "work": {"modelled": {"flops": {"fp32.vector": 896}, "bytes": {"dram": 56}, "parts": {"matrix": 896}, "launches": 1, "more": {}}, "measured": {}},
  "prediction": {"seconds": 0.5, "bytes": {"l1": 8, "dram": 4}, "by": "a model", "more": [2]}},
  {"name": "b"}], "models": [{"a": 1}], "note": "n"})";

TEST(ReadRunFile, IgnoresMembersThatItDoesNotKnowAndRefusesSyntaxErrorsAnywhere) {
  const auto run = Parsed(kWhole);
  ASSERT_EQ(run.records.size(), 2U);
  const Record& record = run.records[0];
  EXPECT_EQ(record.reason, "a\"\\\n\xC3\xA9\xF0\x9F\x98\x80");
  EXPECT_EQ(record.evicted_bytes, 12.5);
  ASSERT_TRUE(record.repetitions.at(0).gpu);
  EXPECT_EQ(record.repetitions[0].gpu->throttle, 4);
  EXPECT_EQ(record.work.at(Provenance::kModelled).bytes.at(Level::kDram), 56);
  EXPECT_EQ(record.counting.size(), 2U);
  ASSERT_TRUE(record.prediction);
  EXPECT_EQ(record.prediction->bytes.at(Level::kL1), 8);
  for (const char* text :
       {R"({"records": [{"name": "a", "repetitions": [{"seconds": NaN}]}]})",
        R"({"records": [{"name": "a", "repetitions": [{"seconds": 01}]}]})",
        R"({"records": [{"name": "a"}]} x)", R"({"records": [{"name": "a"}]} {})",
        R"({"records": [{"name": "a"},]})", R"({"records": [{"name": "a", "x": 1e999}]})",
        R"({"records": [{"name": "a", "x": [1}]]})",
        R"({"records": [{"name": "a"}], "x": [1.2.3]})", R"({"records": [], "x": {"y": truex}})",
        R"({"records": [], "x": nul})", R"({"records": [], "context": {"x": 1.}})",
        R"({"records": [], "machines": [+1]})", R"({"records": [{"name": "a", "x": "\ud800"}]})",
        R"({"records": [], "benchmarks": [-]})", "{\"records\": [{\"name\": \"\xFF\"}]}",
        "{\"records\": [{\"name\": \"\n\"}]}"}) {
    EXPECT_FALSE(nlohmann::json::accept(text)) << text;
    EXPECT_THAT(Refusal(text), HasSubstr("run.json: not JSON: ")) << text;
  }
  EXPECT_THAT(Refusal("{\n \"records\": [{\"name\": 1.2.3}]}"), HasSubstr("line 2, column"));
}

TEST(ReadRunFile, ReportsThePlaceOfWrongTypesAndTakesMembersInAnyOrder) {
  EXPECT_EQ(Refusal(R"({"records": 5})"), "run.json: 'records': expected an array, got number");
  EXPECT_EQ(Refusal(R"({"records": [], "machines": {}})"),
            "run.json: 'machines': expected an array, got object");
  EXPECT_EQ(Refusal(R"({"records": [], "context": null})"),
            "run.json: 'context': expected an object, got null");
  EXPECT_EQ(Refusal(R"({"records": [{"name": "a"}, "b"]})"),
            "run.json: records[1]: expected an object, got string");
  EXPECT_EQ(Refusal(R"({"records": [{}]})"),
            "run.json: records[0]: 'name': expected a text, got nothing");
  EXPECT_EQ(
      Refusal(
          R"({"records": [{"name": "a", "repetitions": [{"seconds": 1, "gpu": {"throttle": "x"}}]}]})"),
      "run.json: records[0]: repetitions[0]: gpu: 'throttle': expected a number, got string");
  EXPECT_THAT(Refusal(R"({"records": [{}], "context": {"dlroof": {"schema": 99}}})"),
              HasSubstr("newer dlroof"));
  const auto run = Parsed(
      R"({"records": [{"name": "a"}], "records": [{"name": "b", "name": "c"}], "benchmarks": [{}]})");
  ASSERT_EQ(run.records.size(), 1U);
  EXPECT_EQ(run.records[0].name, "c");
  EXPECT_EQ(Parsed("\xEF\xBB\xBF{\"records\": [{\"name\": \"a\"}]}").records.size(), 1U);
}

TEST(ReadRunFile, PrefersTheBenchmarksOfATruncatedFileAndRefusesMoreThanFitsIntoMemory) {
  std::ostringstream warnings;
  const auto run = ParseRunFile({kWhole, strstr(kWhole, R"({"name": "b")")}, "x", warnings);
  ASSERT_EQ(run.records.size(), 1U);
  EXPECT_EQ(run.records[0].name, "x");
  std::string many;
  for (int i = 0; i <= 350'000; ++i)
    many += fmt::format(R"({{"name":"{}","real_time":1,"cpu_time":1}},)", i);
  EXPECT_THAT(Refusal(R"({"benchmarks":[)" + many), HasSubstr("[350000]: so many entries"));
  EXPECT_THAT(Refusal(R"({"records":[)" + many), HasSubstr("[225000]: so many entries"));
  const auto path = testing::TempDir() + "large_run.json";
  std::ofstream(path) << "{ ";
  std::filesystem::resize_file(path, std::size_t{681} << 20);
  EXPECT_THAT(fakes::RefusalOf([&] { ReadRunFile(path, warnings); }),
              HasSubstr("681 MiB of JSON, more than the limit of 680 MiB"));
  std::filesystem::remove(path);
}

TEST(ReadRunFile, AcceptsOnlyWhatAnotherParserAccepts) {
  std::mt19937 random(5);
  const std::string whole = kWhole;
  const std::string letters = "{}[]\":,0123456789.eE+-\\untrflas \x80\xC3\n";
  int accepted = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string mutant = whole;
    for (unsigned edits = 0; edits <= random() % 2; ++edits) {
      const auto at = random() % mutant.size();
      const auto kind = random() % 3;
      if (kind == 0) mutant[at] = letters[random() % letters.size()];
      if (kind == 1) mutant.erase(at, 1 + random() % 3);
      if (kind == 2) mutant.insert(at, 1, letters[random() % letters.size()]);
    }
    std::ostringstream warnings;
    const auto refusal = fakes::RefusalOf([&] { ParseRunFile(mutant, "run.json", warnings); });
    if (refusal != "accepted" || !warnings.str().empty()) continue;
    ++accepted;
    // Bytes that are not UTF-8 are accepted in Google Benchmark's entries.
    ASSERT_TRUE(nlohmann::json::accept(RepairedJson(mutant).value_or(mutant))) << mutant;
  }
  EXPECT_GT(accepted, 1000);
}

TEST(EachJsonElement, VisitsCompleteObjectsOfTopLevelArrays) {
  const auto elements = [](const std::string& text) {
    std::istringstream in(text);
    std::string all;
    const auto skeleton =
        EachJsonElement(in, [&](std::string_view key, std::size_t index, std::string_view element) {
          all += fmt::format("{}[{}]={} ", key, index, element);
        });
    return fmt::format("{}| {}{}", all, skeleton.text, skeleton.cut ? " cut" : "");
  };
  EXPECT_EQ(elements(R"({"a": [{"b": "}]\""}, 5, {}], "c": {"d": [{}]}, "e": [[{}]]})"),
            R"(a[0]={"b": "}]\""} a[1]={} | {"a": [{}, 5, {}], "c": {"d": [{}]}, "e": [[{}]]})");
  EXPECT_EQ(elements(R"({"\u0061": [{}]})"), R"(a[0]={} | {"\u0061": [{}]})");
  EXPECT_EQ(elements(R"({"a": [{"b": "}]"}, {"c")"), R"(a[0]={"b": "}]"} | {"a": [{}]} cut)");
  EXPECT_EQ(elements(R"({"a": [{"b)"), "|  cut");
  // Elements without their end are alone.
  EXPECT_EQ(elements(R"({"a": [{"b": 1, {"c": {"d": 2}, {"e": [{"f": 3}]}]})"),
            R"(a[0]={"b": 1 a[1]={"c": {"d": 2} a[2]={"e": [{"f": 3}]} | {"a": [{}, {}, {}]})");
  EXPECT_EQ(elements("]}"), "| ]}");
}

TEST(ParseRunFile, DeepJsonIsRefused) {
  const auto nested = [](std::size_t levels) {
    return std::string(levels, '[') + std::string(levels, ']');
  };
  const char* const kRefusal = "run.json: its JSON has more than 200 levels of brackets";
  EXPECT_EQ(Refusal(R"({"records": [{"a": )" + nested(300000) + "}]}"), kRefusal);
  EXPECT_EQ(fakes::RefusalOf([&] { ParsedJson(nested(201), "run.json"); }), kRefusal);
  EXPECT_EQ(fakes::RefusalOf([&] { ParsedJson(nested(200), "x"); }), "accepted");
  EXPECT_EQ(ParsedJson("[\"" + std::string(300, '[') + "\\\"[\"]", "x").size(), 1U);
}

TEST(EachJsonElement, VisitsElementsLargerThanItsWindow) {
  std::string text = R"({"key": [)";
  std::size_t bytes = 0, count = 0;
  for (std::size_t size = 1; size < 5'000'000; size = size * 3 / 2 + 1, ++count) {
    text += fmt::format(R"({}{{"x": "{}"}})", count == 0 ? "" : ", ", std::string(size, '{'));
    bytes += size + 9;
  }
  std::istringstream in(text + "]}");
  EachJsonElement(in, [&](std::string_view key, std::size_t, std::string_view element) {
    EXPECT_EQ(key, "key");
    bytes -= element.size();
    --count;
  });
  EXPECT_EQ(bytes, 0U);
  EXPECT_EQ(count, 0U);
}

RunFile FileOf(const std::string& fingerprint, int threads, const std::string& name) {
  RunFile file;
  file.machines.push_back(
      {.device = "cpu", .name = "machine " + fingerprint, .fingerprint = fingerprint});
  file.machines.front().by_threads[threads].flops["fp32.vector"] = {.per_second = 1e9};
  file.records.push_back({.name = name, .threads = threads});
  return file;
}

TEST(JoinedRun, HasTheRecordsAndCeilingsOfAllFilesTheFasterOfTwoOfOneNameAndRefusesAnotherMachine) {
  const auto whole = JoinedRun(
      {{"a", FileOf("x", 1, "X")}, {"b", FileOf("x", 2, "X")}, {"c", FileOf("x", 2, "X")}});
  ASSERT_EQ(whole.records.size(), 2u) << "the record on two threads is in two files";
  EXPECT_EQ(whole.records[1].threads, 2);
  ASSERT_EQ(whole.machines.size(), 1u);
  EXPECT_EQ(whole.machines[0].by_threads.size(), 2u);
  EXPECT_EQ(
      fakes::RefusalOf([] {
        JoinedRun({{"a", FileOf("x", 1, "X")}, {"b", FileOf("y", 2, "X")}});
      }),
      "b: its ceilings are of another machine (machine y; those of the other files: machine x)");
  auto slow = FileOf("x", 1, "X"), fast = slow;
  slow.records[0].repetitions.assign(4, {.seconds = 2});
  fast.records[0].repetitions.assign(4, {.seconds = 1});
  for (const auto& joined :
       {JoinedRun({{"a", slow}, {"b", fast}}), JoinedRun({{"b", fast}, {"a", slow}})})
    EXPECT_EQ(joined.records.at(0).repetitions.at(0).seconds, 1);
}

TEST(JoinedRun, HasTheCeilingsOfTheNewerFile) {
  auto older = FileOf("x", 1, "X"), newer = older;
  older.context["date"] = "2026-11-22T10:00:00+00:00";
  newer.context["date"] = "2026-11-23T09:00:00+00:00";
  newer.machines[0].by_threads[1].flops["fp32.vector"].per_second = 2e9;
  for (const auto& whole :
       {JoinedRun({{"a", older}, {"b", newer}}), JoinedRun({{"b", newer}, {"a", older}})})
    EXPECT_EQ(whole.machines.at(0).by_threads.at(1).flops.at("fp32.vector").per_second, 2e9);
}

TEST(SideBySide, LabelsTheRecordsOfEachFile) {
  auto a = FileOf("x", 2, "Conv2D/cpu/onednn/fwd/f32/n1"), b = a, c = FileOf("x", 2, "BM_x");
  for (auto* file : {&a, &b, &c}) SplitName(file->records.front());
  a.context["dlroof"]["program"] = "its own";
  const auto whole = SideBySide({{"1/run.json", a}, {"2/run.json", b}, {"my run.json", c}});
  ASSERT_EQ(whole.records.size(), 3u);
  EXPECT_EQ(whole.records[0].name, "Conv2D/cpu/onednn@run/fwd/f32/n1");
  EXPECT_EQ(whole.records[1].name, "Conv2D/cpu/onednn@run.2/fwd/f32/n1");
  EXPECT_EQ(whole.records[2].name, "BM_x@my-run");
  EXPECT_EQ(LabelOf(whole.records[1]), "run.2");
  EXPECT_EQ(LabelOf(whole.records[2]), "my-run");
  EXPECT_EQ(LabelOf(c.records.front()), std::nullopt);
  auto split = whole.records[1];
  SplitName(split);
  EXPECT_EQ(split.library, whole.records[1].library) << "also in a file that is read again";
  EXPECT_EQ(whole.context["dlroof"],
            (nlohmann::json{{"files", {"1/run.json", "2/run.json", "my run.json"}}}));
}

TEST(Schema1, SentencesBecomeNotesAndKernelsAndLabelsMembers) {
  Record record;
  AddSentence("modelled: blocks of 64: 6 of 56", record);
  AddSentence("perf: the kernel sees no PMU", record);
  AddSentence(
      "measured: CUPTI on GV100, 2 passes; 7 kernel launches: 3 x gemm<float, 2>, 3d_copy, "
      "2 more; 40 % of DRAM's bytes are written",
      record);
  EXPECT_THAT(record.counting,
              ElementsAre(CountingNote{"", Provenance::kModelled, "blocks of 64: 6 of 56"},
                          CountingNote{"", {}, "perf: the kernel sees no PMU"},
                          Field(&CountingNote::provenance, Provenance::kMeasured)));
  EXPECT_THAT(record.kernels,
              ElementsAre(LaunchedKernel{"gemm<float, 2>", 3}, LaunchedKernel{"3d_copy"}));
  Record labelled;
  ReadSentences(
      "brgemm; isa avx2; verified: all 12; counted: modelled: a | perf: b; repro: --conv mb1",
      labelled);
  EXPECT_EQ(labelled.algorithm, "brgemm");
  EXPECT_EQ(labelled.isa, "avx2");
  EXPECT_EQ(labelled.verified, "all 12");
  EXPECT_THAT(labelled.counting, ElementsAre(CountingNote{"", Provenance::kModelled, "a"},
                                             CountingNote{"", {}, "perf: b"}));
  EXPECT_EQ(labelled.repro, "--conv mb1");
}

TEST(Schema1, AFileMayHaveRecordsOfBothSchemas) {
  const auto run = Parsed(
      R"({"context": {"dlroof": {"schema": 1}}, "records": [
          {"name": "a", "algorithm": "brgemm; isa avx2", "counting": ["modelled: x"]},
          {"name": "b", "algorithm": "brgemm", "isa": "avx2", "counting": [{"text": "x", "provenance": "modelled"}]}]})");
  EXPECT_EQ(run.context["dlroof"]["schema"], kSchema);
  for (const auto& record : run.records) {
    EXPECT_EQ(AlgorithmText(record), "brgemm; isa avx2");
    EXPECT_EQ(record.algorithm, "brgemm");
    EXPECT_THAT(record.counting, ElementsAre(CountingNote{"", Provenance::kModelled, "x"}));
  }
}

}  // namespace
}  // namespace dlroof::record
