#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

#include "reporters/imports/import.h"
#include "tests/reporters/imports/variants.h"

namespace dlroof::imports {
namespace {

using testing::Contains, testing::ElementsAre, testing::HasSubstr, testing::Not, testing::Pair,
    testing::UnorderedElementsAre;

std::string Event(const std::string& rest) { return "{\"ph\": \"X\", " + rest + "}"; }

std::string Operator(const std::string& rest) { return Event("\"cat\": \"cpu_op\", " + rest); }

std::string TraceOf(const std::vector<std::string>& events) {
  return fmt::format("{{\"traceEvents\": [{}]}}", fmt::join(events, ", "));
}

const record::Record& Named(const Imported& imported, const std::string& name) {
  const auto found = std::ranges::find(imported.records, name, &record::Record::name);
  if (found == imported.records.end()) throw BadInput("no record " + name);
  return *found;
}

double TotalSeconds(const Imported& imported) {
  double sum = 0;
  for (const auto& record : imported.records) sum += record.repetitions.at(0).seconds;
  return sum;
}

TEST(ImportTrace, ABadEventCostsNoOther) {
  for (const char* name : {"faults/inf.json", "faults/escape.json"}) {
    const auto imported = ImportTrace(FileText(name), "t.json");
    ASSERT_EQ(imported.records.size(), 1U) << name;
    EXPECT_NEAR(imported.records[0].repetitions[0].seconds, 88e-6, 1e-12);
    EXPECT_THAT(imported.remarks, Contains(HasSubstr("t.json: 1 events with text or numbers")));
  }
  const std::string good = Event(R"("name": "k", "cat": "kernel", "ts": 9, "dur": 88)");
  for (const char* bad : {R"("name": 5, "cat": "kernel", "ts": 9, "dur": 7)",
                          R"("name": "j", "cat": "kernel", "ts": 9, "dur": -7)",
                          R"("name": "j", "cat": "kernel", "ts": 9, "dur": "7 us")",
                          R"("name": "j", "cat": "kernel", "ts": 9, "dur": 1e300)",
                          R"("name": "j", "cat": ["kernel"], "ts": 9, "dur": 7)",
                          R"("name": "j", "cat": "kernel", "ts": 9, "dur": 7,,)",
                          R"("name": "j", "cat": "kernel", "ts": 9, "dur": 0)"}) {
    const auto imported = ImportTrace(TraceOf({Event(bad), good}), "t.json");
    ASSERT_EQ(imported.records.size(), 1U) << bad;
    EXPECT_EQ(imported.records[0].name, "k");
    EXPECT_THAT(imported.remarks, Contains(HasSubstr("t.json: 1 events"))) << bad;
  }
  // A string without its end costs its event, a bracket too many nothing.
  const auto imported = ImportTrace(R"({"traceEvents": [{"ph": "X", "name": "C:\", "dur": 7},
      {"ph": "X", "name": "j", "cat": "x", "dur": 7,}},
      {"ph": "X", "name": "i", "args": {"a": 1},
      )" + good + R"(,
      {"ph": "X", "name": "5" j", "dur": 7}
      ]})",
                                    "t.json");
  ASSERT_EQ(imported.records.size(), 1U);
  EXPECT_THAT(imported.remarks, Contains(HasSubstr("3 events that cannot be read")));
  EXPECT_THAT(imported.remarks, Not(Contains(HasSubstr("cut off"))));
}

// A convolution, batch normalization, ReLU, LSTM and linear layer of PyTorch, once each.
TEST(ImportTrace, ReadsAProfileOfPyTorch) {
  const auto text = FileText("import_kineto.json");
  ASSERT_TRUE(LooksLikeTrace(text));
  const auto imported = ImportTrace(text, "t.json");
  EXPECT_THAT(imported.remarks, Contains(HasSubstr("58 events")));
  const auto& conv = Named(imported, "aten::mkldnn_convolution 2x64x56x56 64x64x3x3 64");
  const auto& work = conv.work.at(Provenance::kModelled);
  // Of 56 x 3 pairs of a row and a tap 166 are inside the image, of columns too.
  EXPECT_EQ(work.flops.at("fp32.vector"), 2.0 * 2 * 64 * 64 * 166 * 166);
  EXPECT_EQ(work.bytes.at(Level::kDram), 4.0 * (2 * 2 * 64 * 56 * 56 + 64 * 64 * 9));
  EXPECT_EQ(work.launches, 1);
  // 9687.298 us minus the four operators within it.
  EXPECT_NEAR(conv.repetitions[0].seconds, (9687.298 - 10.119 - 18.214 - 10.81 - 8.475) * 1e-6,
              1e-9);
  const auto& product = Named(imported, "aten::addmm 64 32x64 64x64").work;
  EXPECT_EQ(product.at(Provenance::kModelled).flops.at("fp32.vector"), 2.0 * 32 * 64 * 64);
  EXPECT_TRUE(
      Named(imported, "aten::clamp_min 2x64x56x56").work.at(Provenance::kModelled).flops.empty());
  // conv2d, add_, batch_norm and so on follow each other.
  EXPECT_NEAR(TotalSeconds(imported),
              (9742.601 + 35.356 + 23681.121 + 6885.349 + 27 + 4.378 + 567.108 + 4663.222) * 1e-6,
              2e-8);
}

TEST(ImportTrace, TheTimeOfACallExcludesTheCallsWithinItAndOfAGpuHasItsKernels) {
  auto imported = ImportTrace(
      TraceOf({Operator(R"("name": "b", "ts": 2, "dur": 3, "tid": 1)"),
               Operator(R"("name": "a", "ts": 0, "dur": 10, "tid": 1)"),
               Operator(R"("name": "b", "ts": 6, "dur": 2, "tid": 1)"),
               Operator(R"("name": "c", "ts": 3, "dur": 1, "tid": 1)"),
               Operator(R"("name": "b", "ts": "0", "dur": 9, "tid": "other")"),
               Event(R"("name": "step", "cat": "user_annotation", "ts": 0, "dur": 99)")}),
      "t.json");
  EXPECT_NEAR(Named(imported, "a").repetitions[0].seconds, 5e-6, 1e-15);
  EXPECT_NEAR(Named(imported, "b").repetitions[0].seconds, (2 + 2 + 9) * 1e-6, 1e-15);
  EXPECT_NEAR(Named(imported, "c").repetitions[0].seconds, 1e-6, 1e-15);
  EXPECT_EQ(Named(imported, "b").work.at(Provenance::kModelled).launches, 3);
  EXPECT_EQ(imported.records.front().name, "b") << "the most time first";
  EXPECT_THAT(imported.remarks, Contains(HasSubstr("1 events of the category user_annotation")));
  imported = ImportTrace(
      TraceOf({Event(R"("name": "aten::mm", "cat": "cpu_op", "ts": 0, "dur": 10)"),
               Event(R"("name": "sgemm", "cat": "kernel", "ts": 5, "dur": 40, "tid": 7)"),
               Event(R"("name": "Memcpy", "cat": "gpu_memcpy", "ts": 50, "dur": 4, "tid": 7)")}),
      "t.json");
  ASSERT_EQ(imported.records.size(), 2U);
  EXPECT_EQ(imported.records[0].name, "sgemm");
  EXPECT_THAT(imported.remarks, Contains(HasSubstr("1 operators of the host, 1e-05 s")));
}

// Names of the records and their times [us], the longest first.
std::vector<std::pair<std::string, double>> Times(const Imported& imported) {
  std::vector<std::pair<std::string, double>> times;
  for (const auto& record : imported.records)
    times.emplace_back(record.name, std::round(record.repetitions.at(0).seconds * 1e9) / 1e3);
  return times;
}

TEST(ImportTrace, OfPyTorch2021HasCallsThatAreNestedByTheirNumbers) {
  // PyTorch up to 1.11 writes callees before callers, with times in whole microseconds.
  const auto imported = FromFile("import_kineto_2021.json");
  ASSERT_EQ(imported.records.size(), 2U);
  EXPECT_THAT(Times(imported),
              UnorderedElementsAre(Pair("volta_sgemm_128x32_nt", 3), Pair(HasSubstr("Add"), 3)));
  EXPECT_THAT(imported.remarks, Contains(HasSubstr("9 operators of the host")));
  const auto call = [](const char* name, int id) {
    return Operator(fmt::format(
        R"("name": "{}", "ts": 5, "dur": 8, "tid": 1, "pid": 1, "args": {{"External id": {}}})",
        name, id));
  };
  const auto nested = ImportTrace(TraceOf({call("mm", 12), call("matmul", 11)}), "t.json");
  EXPECT_THAT(Times(nested), ElementsAre(Pair("mm", 8)));
}

TEST(ImportTrace, WhatIsLeftOutOrAssumedIsARemarkAndRefusesWithThePlace) {
  const auto a = Event(R"("name": "a", "cat": "kernel", "ts": 5, "dur": 8, "tid": 1)");
  const auto later = Event(R"("name": "a", "cat": "kernel", "ts": 15, "dur": 8, "tid": 1)");
  const auto other = Event(R"("name": "b", "ts": 1, "dur": 1, "pid": 1, "tid": 1)");
  const auto cut = TraceOf({a, "{}"});
  const std::pair<std::string, const char*> rows[] = {
      {TraceOf({a, R"({"ph": "X", "cat": "kernel", "name": "b", "ts": 1})"}),
       "1 events without a begin or a dura"},
      {TraceOf({a, R"({"ph": "B", "name": "c", "ts": 1})"}), "phases B and E"},
      {TraceOf({a, Event(R"("name": "b", "cat": "kernel", "ts": 7, "dur": 8, "tid": 1)")}),
       "1 events of a stream begin before"},
      {TraceOf({a, later, a}), "1 events that are there twice are left out"},
      {TraceOf({Operator(R"("name": "a", "ts": 0, "dur": 1, "pid": 1)")}),
       "1 events without a process or thread"},
      {TraceOf({other, a}), "1 events without a category are left out"},
      {TraceOf({a, "7"}), "1 events that are no objects"},
      {cut.substr(0, cut.size() - 2), "the file is cut off"}};
  for (const auto& [text, remark] : rows) {
    const auto imported = ImportTrace(text, "t.json");
    EXPECT_THAT(imported.remarks, Contains(HasSubstr(remark)));
  }
  EXPECT_THAT(Times(ImportTrace(rows[3].first, "t.json")), ElementsAre(Pair("a", 16)));
  const auto refusal = [](const std::string& text) {
    return fakes::RefusalOf([&] { ImportTrace(text, "t.json"); });
  };
  EXPECT_THAT(refusal(TraceOf({})), HasSubstr("t.json: 'traceEvents': no complete event"));
  EXPECT_THAT(refusal(TraceOf({Operator(R"("name": "a", "ts": 0, "dur": -1)")})),
              HasSubstr("t.json: traceEvents[0]: 'dur': expected microseconds"));
  EXPECT_THAT(refusal(TraceOf({Operator(R"("name": "a", "ts": "now", "dur": 1)")})),
              HasSubstr("traceEvents[0]: 'ts'"));
  EXPECT_THAT(refusal(TraceOf({Operator(R"("ts": 0, "dur": 1)")})), HasSubstr("'name'"));
  EXPECT_THAT(refusal(TraceOf({Operator(R"("name": "a", "ts": 0, "dur": 0)")})),
              HasSubstr("1 with a duration of 0"));
}

TEST(CountOfOp, OfGradientsOfAConvolutionIsOneForEachThatIsWanted) {
  TraceOp op{.name = "aten::_slow_conv2d_backward",
             .sizes = {{2, 8, 5, 5}, {2, 3, 7, 7}, {8, 3, 3, 3}, {}, {}, {}, {}},
             .types = {"float", "float", "float"},
             .values = {"", "", "", "[3, 3]", "[1, 1]", "[0, 0]", "[True, True, False]"}};
  const double forward = 2. * (2 * 8 * 5 * 5) * (3 * 3 * 3);
  const double gradient = 2 * 8 * 25, source = 2 * 3 * 49, weights = 8 * 27;
  auto work = CountOfOp(op).value();
  EXPECT_EQ(work.matrix, 2 * forward);
  EXPECT_EQ(work.bytes, 4 * (gradient + 2 * source + 2 * weights));
  op.values[6] = "[False, True, True]";  // of the image none is wanted
  work = CountOfOp(op).value();
  EXPECT_EQ(work.matrix, forward);
  EXPECT_EQ(work.bytes, 4 * (gradient + source + weights));
  // The padding is not useful: of 7 x 3 pairs of a row and a tap 19 are inside.
  auto padded = op;
  padded.sizes[0] = {2, 8, 7, 7};
  padded.values[5] = "[1, 1]";
  EXPECT_EQ(CountOfOp(padded)->matrix, 2. * (2 * 8) * 3 * 19 * 19);
  padded.values[5] = "[2, 2]";
  EXPECT_FALSE(CountOfOp(padded)) << "9 x 9 results, not 7 x 7";
  op.values[6] = "";
  EXPECT_FALSE(CountOfOp(op));
  op.values.pop_back();
  EXPECT_FALSE(CountOfOp(op));
  op.values.push_back("[True, True, False]");
  op.sizes[1] = {2, 4, 7, 7};
  EXPECT_FALSE(CountOfOp(op));
}

TEST(CountOfOp, AWrapperHasNoneOfItsOwnAndItIsUnknownIfSizesDoNotFit) {
  TraceOp op{.name = "aten::thnn_conv2d",
             .sizes = {{2, 3, 7, 7}, {8, 3, 3, 3}, {}, {}, {}, {}},
             .types = {"float", "float"},
             .values = {"", "", "[3, 3]", "", "[1, 1]", "[0, 0]"}};
  EXPECT_FALSE(CountOfOp(op));
  op.name = "aten::_slow_conv2d_forward";  // which it calls
  EXPECT_DOUBLE_EQ(*CountOfOp(op)->matrix, 2. * (2 * 8 * 25) * 27);
  // Two groups of two channels at rate 2: of 5 x 3 pairs of a row and a tap 11 are inside.
  op = {.name = "aten::mkldnn_convolution",
        .sizes = {{1, 4, 5, 5}, {4, 2, 3, 3}},
        .types = {"float", "float"},
        .values = {"", "", "", "[2, 2]", "[1, 1]", "[2, 2]", "2"}};
  EXPECT_EQ(CountOfOp(op)->matrix, 2. * (4 * 2) * 11 * 11);
  op = {.name = "aten::_addmm_activation",
        .sizes = {{4}, {2, 3}, {3, 4}},
        .types = {"float", "float", "float"}};
  EXPECT_DOUBLE_EQ(*CountOfOp(op)->matrix, 48);
  op = {.name = "aten::bmm", .sizes = {{2, 3, 4}, {2, 4, 5}}, .types = {"double", "double"}};
  EXPECT_EQ(CountOfOp(op)->matrix, 2.0 * 2 * 3 * 4 * 5);
  EXPECT_EQ(CountOfOp(op)->bytes, 8.0 * (24 + 40 + 30));
  op.sizes[1] = {2, 5, 5};
  EXPECT_FALSE(CountOfOp(op));
  op.sizes[1] = {2, 4, 0};
  EXPECT_FALSE(CountOfOp(op));
  op.sizes.clear();
  EXPECT_FALSE(CountOfOp(op));
}

TEST(CountOfOp, OfAttentionIsTwoProductsOfThePairsAndOfOthersByTypeOrElement) {
  TraceOp op{.name = "aten::_scaled_dot_product_flash_attention_for_cpu",
             .sizes = {{2, 3, 5, 4}, {2, 3, 5, 4}, {2, 3, 5, 4}, {}, {}},
             .types = {"c10::BFloat16", "c10::BFloat16", "c10::BFloat16", "Scalar", "Scalar"},
             .values = {"", "", "", "0.", "False"}};
  // 6 heads, 25 pairs of positions, 4 multiply-adds each for the scores and for the values.
  const auto count = CountOfOp(op);
  ASSERT_TRUE(count);
  EXPECT_DOUBLE_EQ(*count->matrix, 6 * 25 * (4 + 4) * 2);
  EXPECT_EQ(count->type, "bf16");
  EXPECT_DOUBLE_EQ(count->bytes, 4 * (2 * 3 * 5 * 4) * 2);
  // The number of the causal input differs between versions.
  op.values = {"", "", "", "0.", "True"};
  EXPECT_DOUBLE_EQ(*CountOfOp(op)->matrix, 6 * 15 * (4 + 4) * 2);
  op.sizes[1][2] = 7;
  EXPECT_FALSE(CountOfOp(op));
  const TraceOp product{.name = "aten::addmm",
                        .sizes = {{4}, {2, 3}, {3, 4}},
                        .types = {"c10::Half", "c10::Half", "c10::Half"}};
  EXPECT_DOUBLE_EQ(*CountOfOp(product)->matrix, 48);
  const TraceOp sum{.name = "aten::add", .sizes = {{8, 4}, {4}}, .types = {"float", "float"}};
  EXPECT_DOUBLE_EQ(*CountOfOp(sum)->elementwise, 32);
  EXPECT_DOUBLE_EQ(CountOfOp(sum)->bytes, 4 * (32 + 4 + 32));
  const TraceOp copy{.name = "aten::copy_", .sizes = {{8}, {8}}, .types = {"float", "double"}};
  EXPECT_TRUE(CountOfOp(copy)->moves_data);
  EXPECT_DOUBLE_EQ(CountOfOp(copy)->bytes, 8 * (4 + 8));
  EXPECT_FALSE(CountOfOp({.name = "aten::addmm", .sizes = {{4}}, .types = {"Scalar"}}));
  EXPECT_FALSE(CountOfOp({.name = "aten::sort", .sizes = {{4}}, .types = {"float"}}));
}

TEST(ReadTrace, KeepsCallsAndSpansOnRequest) {
  const std::string text = R"({"traceEvents":[
    {"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":2,"ts":20,"dur":5},
    {"ph":"X","cat":"user_annotation","name":"dlroof: Net","pid":1,"tid":2,"ts":10,"dur":30},
    {"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":3,"ts":21,"dur":1}],
    "baseTimeNanoseconds": 1000000000})";
  EXPECT_TRUE(ReadTrace(text, "t.json").calls.empty());
  const auto trace = ReadTrace(text, "t.json", true);
  ASSERT_EQ(trace.calls.size(), 3U);
  EXPECT_EQ(trace.calls[0].span, "dlroof: Net");
  EXPECT_FALSE(trace.calls[0].op);
  EXPECT_DOUBLE_EQ(trace.calls[0].begin, 1 + 10e-6);
  EXPECT_DOUBLE_EQ(trace.calls[0].end, 1 + 40e-6);
  EXPECT_EQ(trace.calls[1].op, 0U);
  EXPECT_EQ(trace.calls[1].thread, trace.calls[0].thread);
  EXPECT_NE(trace.calls[2].thread, trace.calls[0].thread);
  EXPECT_DOUBLE_EQ(trace.end, 1 + 25e-6);
}

}  // namespace
}  // namespace dlroof::imports
