#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "bench/profile/profile.h"
#include "counters/base/files.h"

namespace dlroof::profile {
namespace {

using testing::HasSubstr;

// A trace with `count` calls of a product.
std::string TraceText(int count) {
  std::string events;
  for (int i = 0; i < count; ++i)
    events +=
        std::string(i > 0 ? "," : "") +
        R"({"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":)" +
        std::to_string(10 * i) +
        R"(,"dur":5,"args":{"Input Dims":[[2,3],[3,4]],"Input type":["c10::BFloat16","c10::BFloat16"]}})";
  return R"({"traceEvents":[)" + events + R"(],"baseTimeNanoseconds":2000000000})";
}

TEST(ReadTorchTrace, TakesTheLastWindowThatIsNotShort) {
  const TemporaryFolder folder;
  WriteFile(folder / "7-1.json", TraceText(9));
  WriteFile(folder / "7-2.json", TraceText(8));
  WriteFile(folder / "7-10.json", TraceText(2));
  WriteFile(folder / "8-1.json", TraceText(3));
  const auto read = ReadTorchTrace(folder / "");
  ASSERT_TRUE(read.trace);
  EXPECT_EQ(read.trace->calls.size(), 8U);
  EXPECT_DOUBLE_EQ(read.trace->calls[1].begin, 2 + 10e-6);
  EXPECT_DOUBLE_EQ(read.trace->begin, 2);
  EXPECT_THAT(read.remarks, testing::ElementsAre(HasSubstr("2 processes have traces")));
}

TEST(ReadTorchTrace, CallsOfModulesDecideWhichWindowIsShort) {
  const TemporaryFolder folder;
  const auto with_modules = [](int operators, int modules) {
    auto text = TraceText(operators);
    for (int i = 0; i < modules; ++i)
      text.insert(text.find('[') + 1,
                  R"({"ph":"X","cat":"user_annotation","name":"dlroof: Net","pid":1,"tid":1,)"
                  R"("ts":0,"dur":5},)");
    return text;
  };
  WriteFile(folder / "7-1.json", with_modules(50, 1));  // compiles the model
  WriteFile(folder / "7-2.json", with_modules(3, 9));
  WriteFile(folder / "7-3.json", with_modules(1, 2));
  const auto read = ReadTorchTrace(folder / "");
  ASSERT_TRUE(read.trace);
  EXPECT_EQ(read.trace->calls.size(), 12U);
}

TEST(ReadTorchTrace, ACallWithoutAnEndEndsWithTheWindow) {
  const TemporaryFolder folder;
  auto text = TraceText(5);
  text.replace(text.find("\"dur\":5"), 7, "\"dur\":9e15");
  WriteFile(folder / "7-1.json", text);
  const auto read = ReadTorchTrace(folder / "");
  ASSERT_TRUE(read.trace);
  ASSERT_EQ(read.trace->calls.size(), 5U);
  EXPECT_NEAR(read.trace->end, 2 + 45e-6, 1e-9);
  for (const auto& call : read.trace->calls) EXPECT_LE(call.end, 2 + 46e-6);
}

TEST(ReadTorchTrace, ABrokenWindowIsARemark) {
  const TemporaryFolder folder;
  WriteFile(folder / "7-1.json", TraceText(9));
  WriteFile(folder / "7-2.json", TraceText(9).replace(2, 11, "traceOthers"));
  WriteFile(folder / "7.txt", "the program has its own profiler\n");
  const auto read = ReadTorchTrace(folder / "");
  ASSERT_TRUE(read.trace);
  EXPECT_THAT(read.remarks,
              testing::Contains("--torch: process 7: the program has its own profiler"));
  EXPECT_EQ(read.remarks.size(), 2U);
}

TEST(OperatorRecords, HaveTheWorkOfTheirType) {
  imports::Trace trace;
  trace.ops = {
      {.name = "aten::mm", .sizes = {{2, 3}, {3, 4}}, .types = {"c10::BFloat16", "c10::BFloat16"}},
      {.name = "aten::native_layer_norm", .sizes = {{2, 3}}, .types = {"float"}}};
  const std::vector<programs::OperatorTime> operators = {{0, 3, {1, 2}}, {1, 1, {1}}};
  const auto pipe = [&](const std::string& isa) {
    const auto records = OperatorRecords(trace, operators, isa, 2);
    const auto& flops = records.at(0).work.at(Provenance::kModelled).flops;
    return flops.empty() ? "" : flops.begin()->first;
  };
  EXPECT_EQ(pipe("avx2"), "fp32.vector");
  EXPECT_EQ(pipe("avx512_core_amx"), "bf16.matrix");
  EXPECT_EQ(pipe(""), "");
  const auto records = OperatorRecords(trace, operators, "avx2", 2);
  EXPECT_EQ(records[0].repetitions.size(), 2U);
  EXPECT_EQ(records[0].work.at(Provenance::kModelled).flops.at("fp32.vector"), 48);
  // 6 + 12 + 8 elements of 2 bytes.
  EXPECT_EQ(records[0].work.at(Provenance::kModelled).bytes.at(Level::kDram), 52);
  EXPECT_TRUE(records[1].work.at(Provenance::kModelled).flops.empty());
  EXPECT_FALSE(records[1].counting.empty());
}

}  // namespace
}  // namespace dlroof::profile
