#include "bench/profile/profile.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <csignal>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "bench/conv2d/case.h"
#include "bench/lstm/case.h"
#include "bench/profile/verbose_run.h"
#include "counters/base/files.h"
#include "reporters/roofline/placed_run.h"
#include "tests/fakes/primitives/logs.h"

namespace dlroof::profile {
namespace {

using testing::HasSubstr, testing::ElementsAre, testing::Contains;

// 2 threads: 200 GFLOP/s and 20 GB/s, as given.
machine::Machine Roofs() {
  machine::Machine machine{.device = "cpu", .name = "roofs", .fingerprint = "roofs"};
  for (const int threads : {1, 2}) {
    auto& set = machine.by_threads[threads];
    set.flops["fp32.vector"] = {.per_second = 100e9 * threads,
                                .threads = threads,
                                .status = machine::CeilingStatus::kSpecified};
    set.bytes[Level::kDram] = {.per_second = 10e9 * threads,
                               .threads = threads,
                               .status = machine::CeilingStatus::kSpecified};
  }
  return machine;
}

record::RunFile Imported(const std::string& name) {
  std::ostringstream warnings;
  auto run = ProgramRun(ReadFile(fakes::LogPath(name), "a log"), name, {}, Roofs(), warnings);
  EXPECT_EQ(warnings.str(), "");
  return run;
}

const record::Record& Find(const record::RunFile& run, const std::string& name) {
  const auto found = std::ranges::find(run.records, name, &record::Record::name);
  if (found == run.records.end()) throw std::runtime_error("no record " + name);
  return *found;
}

TEST(ProgramRun, TimesOfTheRecordsAddUpToTheLogAndAConvolutionHasOurNameItsFlopsAndBenchdnnsLine) {
  for (const char* name : {"pt_r50_inf.onednn.log", "pt_r50_inf_freeze.onednn.log",
                           "pt_lstm_trn.onednn.log", "tf_r50_inf_dnn.onednn.log"}) {
    const auto run = Imported(name);
    double seconds = 0, calls = 0;
    for (const auto& record : run.records)
      for (const auto& repetition : record.repetitions) {
        seconds += repetition.seconds * repetition.iterations;
        calls += repetition.iterations;
      }
    const auto summary = programs::ProgramOf(run.context).value();
    double of_primitives = 0;
    for (const auto& primitive : summary.primitives) of_primitives += primitive.seconds;
    EXPECT_NEAR(of_primitives, summary.seconds, 1e-9 * summary.seconds) << name;
    EXPECT_NEAR(seconds, summary.seconds, 1e-3 * summary.seconds) << name;
    EXPECT_EQ(calls, static_cast<double>(summary.lines.executed)) << name;
  }
  const auto run = Imported("pt_r50_inf.onednn.log");
  const auto& record = Find(run, "Conv2D/cpu/onednn/fwd/f32/n8c256h14w14k256r3s3_p1/training");
  EXPECT_EQ(record.work.at(Provenance::kModelled).flops.at("fp32.vector"),
            static_cast<double>(conv2d::Flops(conv2d::ParseConv2d("n8c256h14w14k256r3s3_p1"))));
  EXPECT_EQ(std::tuple(record.threads, record.isa, record.algorithm),
            std::tuple(2, "avx2", "jit:avx2"));
  EXPECT_EQ(record.repro,
            "--conv --mode=P --dir=FWD_D mb8_ic256oc256_ih14oh14kh3sh1dh0ph1_iw14ow14kw3sw1dw0pw1");
}

TEST(ProgramRun, AnLstmHasTheWorkOfOurOwnAndWhatHasNoBenchmarkKeepsOneDnnsWords) {
  auto run = Imported("pt_lstm_trn.onednn.log");
  const lstm::LstmProblem problem{.t = 64, .n = 16, .i = 256, .h = 512};
  const auto f32 = lstm::UniformLstmType("f32");
  for (const auto& [name, direction] :
       {std::pair("LSTM/cpu/onednn/fwd_training/f32/t64n16i256h512",
                  lstm::LstmDirection::kForwardTraining),
        std::pair("LSTM/cpu/onednn/bwd/f32/t64n16i256h512", lstm::LstmDirection::kBackward)}) {
    const auto& work = Find(run, name).work.at(Provenance::kModelled);
    EXPECT_EQ(work, lstm::ModelledWork(problem, direction, f32, "fp32.vector", "fp32.vector", 1))
        << name;
  }
  run = Imported("pt_r50_inf.onednn.log");
  const auto& record = Find(run, "reorder/cpu/onednn/undef/f32:f32/8x256x56x56/aBcd8b:abcd");
  const auto& work = record.work.at(Provenance::kModelled);
  EXPECT_EQ(work.flops.at("fp32.vector"), 0);
  EXPECT_EQ(work.bytes.at(Level::kDram), 8.0 * 256 * 56 * 56 * 8);
  EXPECT_EQ(record.repro,
            "--reorder --mode=P --sdt=f32 --ddt=f32 --stag=aBcd8b --dtag=abcd 8x256x56x56");
}

TEST(ProgramRun, EveryRecordHasANameOfItsOwnAndAPlaceUnderTheRoofsAndTheCensusTellsReordersApart) {
  for (const char* name : {"pt_r50_inf_cl.onednn.log", "tf_r50_inf_dnn.onednn.log"}) {
    const auto placed = roofline::PlaceRun(Imported(name));
    std::vector<std::string> names;
    for (std::size_t i = 0; i < placed.places.size(); ++i) {
      names.push_back(placed.file.records[i].name);
      const auto flops = TotalFlops(placed.file.records[i].work.at(Provenance::kModelled));
      ASSERT_TRUE(flops) << names.back();
      EXPECT_EQ(placed.places[i].placement.time.has_value(), *flops > 0) << names.back();
    }
    std::ranges::sort(names);
    EXPECT_TRUE(std::ranges::adjacent_find(names) == names.end()) << name;
  }
  // 1358 ms in all, of which 279 ms in reorders, by the log.
  const auto summary = programs::ProgramOf(Imported("pt_r50_inf.onednn.log").context).value();
  double moves_data = 0;
  for (const auto& primitive : summary.primitives)
    if (primitive.moves_data) moves_data += primitive.seconds;
  EXPECT_NEAR(moves_data, 0.279, 0.001);
  EXPECT_NEAR(summary.seconds, 1.358, 0.001);
}

struct Heard {
  ForegroundEnd end;
  std::string bytes;
};

Heard Listen(const std::string& script, ForegroundRequest request = {}) {
  Heard heard;
  request.command = {"sh", "-c", script};
  request.take = [&](std::string_view bytes) { return heard.bytes += bytes, true; };
  heard.end = RunInForeground(request);
  return heard;
}

TEST(RunInForeground, PassesAllBytesAndLateOnesAndSaysWhatLeftItOpen) {
  // More than any pipe holds.
  EXPECT_EQ(Listen("head -c 3000000 /dev/zero").bytes.size(), 3000000U);
  auto heard = Listen("sleep 100 & echo $!", {.rest_seconds = 0.1});
  EXPECT_TRUE(heard.end.left_open);
  kill(std::stoi(heard.bytes), SIGKILL);
  heard = Listen("{ sleep 0.5; echo late; } &");
  EXPECT_EQ(heard.bytes, "late\n");
  EXPECT_FALSE(heard.end.left_open);
}

constexpr const char* kLines[] = {
    "onednn_verbose,v1,info,oneDNN v3.7.3 (commit N/A)\n",
    "onednn_verbose,info,oneDNN v2.7.3 (commit N/A)\n",
    "onednn_verbose,v1,1795369563814.305908,primitive,exec,cpu,gemm_api,,undef,src_f32::blocked:ab:"
    "f0,,,216x147:147x16,36.4011\n",
    "onednn_verbose,exec,cpu,reorder,jit:blk,undef,src_f32::blocked:abcd:f0,attr-scratchpad:user "
    ",,8x64x56x56,5.20605\n",
    "dnnl_verbose,create:cache_miss,cpu,reorder,jit:uni,undef,,,64x64x3x3,0.109863\n",
    "onednn_verbose,1795373324964.981934,exec,cpu,convolution,jit:avx2,,,mb8_ic64,0.5\n"};

// The program's own output: parts of markers, carriage returns, colours, zeros, no last newline.
constexpr const char* kOwn[] = {"epoch 1: 40 %\r",
                                "\x1b[32mdone\x1b[0m\n",
                                "onednn_verbose is set\n",
                                "onednn_verbose,",
                                "dnnl_verbos",
                                "the lemon, o",
                                "dnn",
                                "loss,0.5\n",
                                "\xff\xfe\x80",
                                "\n",
                                "_verbose,info,",
                                "images/s: 12.5\n",
                                "dnnl_verbose,x"};

struct Mixture {
  std::string all, own, log;
  std::size_t lines = 0, executed = 0, versions = 0;
};

// Lines are whole, as one write of oneDNN is; they begin wherever the program's output is.
Mixture DrawMixture(std::mt19937& engine) {
  const auto below = [&](std::size_t count) { return engine() % count; };
  Mixture mixture;
  for (std::size_t left = below(30); left > 0; --left)
    if (below(2) == 0) {
      const auto kind = below(std::size(kLines));
      mixture.all += kLines[kind];
      mixture.log += kLines[kind];
      mixture.lines += 1;
      mixture.executed += kind > 1 && kind != 4 ? 1 : 0;
      mixture.versions += kind < 2 ? 1 : 0;
    } else {
      // Two of the program's texts shall not make a line of oneDNN together.
      std::string text = kOwn[below(std::size(kOwn))];
      if (!mixture.own.empty() && mixture.own.back() != '\n' && !text.empty()) text = "|" + text;
      mixture.all += text;
      mixture.own += text;
    }
  return mixture;
}

TEST(LogSeparator, OwnOutputIsTheSameBytesForAnyMixtureAndAnyPieces) {
  std::mt19937 engine(22);
  int with_both = 0;
  for (int round = 0; round < 5000; ++round) {
    const auto mixture = DrawMixture(engine);
    LogSeparator separator;
    std::string own, log;
    const std::size_t most = 1 + engine() % 40;
    for (std::size_t at = 0; at < mixture.all.size();) {
      const auto size = std::min(1 + engine() % most, mixture.all.size() - at);
      const auto part = separator.Add(std::string_view(mixture.all).substr(at, size));
      own += part.own;
      log += part.log;
      at += size;
      ASSERT_TRUE(mixture.own.starts_with(own));
    }
    const auto rest = separator.End();
    ASSERT_EQ(own + rest.own, mixture.own) << mixture.all;
    ASSERT_EQ(log + rest.log, mixture.log) << mixture.all;
    ASSERT_EQ(separator.lines(), mixture.lines);
    ASSERT_EQ(separator.executed(), mixture.executed);
    ASSERT_EQ(separator.versions(), mixture.versions);
    ASSERT_EQ(separator.cut_lines(), 0U);
    with_both += !mixture.own.empty() && !mixture.log.empty() ? 1 : 0;
  }
  EXPECT_GT(with_both, 3000);
}

// A line that never ends is passed on as it comes, so that no byte is looked at again and again.
TEST(LogSeparator, ALineWithoutAnEndIsPassedOnAtOnce) {
  LogSeparator separator;
  const std::string piece(1 << 16, 'x');
  std::size_t given = 0, passed = 0;
  for (int i = 0; i < 1000; ++i) {
    given += piece.size();
    passed += separator.Add(piece).own.size();
    ASSERT_LE(given - passed, 64U);
  }
  passed += separator.End().own.size();
  EXPECT_EQ(passed, given);
}

// All bytes given at once, the parts and how many lines there are, and are cut.
struct Separation {
  std::string all, own, log;
  std::size_t lines, cut;
};

TEST(LogSeparator, LinesThatAreCutOrMarkedFindTheirPlaceAndPromptsAreReleased) {
  const std::string sum = "onednn_verbose,exec,cpu,sum,1.5\n", mark = "DLROOF_MARK,begin,1,5.5\n";
  const Separation separations[] = {
      // Its program is killed.
      {"step 1\nonednn_verbose,v1,primitive,exec,cpu,conv", "step 1\n",
       "onednn_verbose,v1,primitive,exec,cpu,conv\n", 0, 1},
      // Another one cuts it.
      {"aonednn_verbose,exec,cpu,re" + sum + "images/s: 7, wait\n", "aimages/s: 7, wait\n",
       "onednn_verbose,exec,cpu,re\n" + sum, 1, 1},
      // Step marks stay the program's and are copied in their order.
      {"x DLROOF_MARK,begin\n" + mark.substr(0, 9) + sum + mark.substr(9) + sum + "y\n",
       "x DLROOF_MARK,begin\n" + mark + "y\n", sum + mark + sum, 2, 0}};
  for (const auto& [all, own, log, lines, cut] : separations) {
    SCOPED_TRACE(all);
    LogSeparator separator;
    const auto begin = separator.Add(all), rest = separator.End();
    EXPECT_EQ(begin.own + rest.own, own);
    EXPECT_EQ(begin.log + rest.log, log);
    EXPECT_EQ(separator.lines(), lines);
    EXPECT_EQ(separator.cut_lines(), cut);
  }
  LogSeparator separator;
  EXPECT_EQ(separator.Add("Continue? yes or no").own, "Continue? yes or n");
  EXPECT_EQ(separator.Release().own, "o");
  EXPECT_EQ(separator.Add("\n").own, "\n");
  // Half of a line of oneDNN is no prompt.
  EXPECT_EQ(separator.Add("onednn_verbose,exec,cpu").own, "");
  EXPECT_EQ(separator.Release().own, "");
  EXPECT_EQ(separator.Add(",sum,1.5\n").log, "onednn_verbose,exec,cpu,sum,1.5\n");
}

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

// Reads a folder with these files.
TorchTrace TraceOf(const std::map<std::string, std::string>& files) {
  const TemporaryFolder folder;
  for (const auto& [name, text] : files) WriteFile(folder / name, text);
  return ReadTorchTrace(folder / "");
}

TEST(ReadTorchTrace, TakesTheLastWindowThatIsNotShort) {
  const auto read = TraceOf({{"7-1.json", TraceText(9)},
                             {"7-2.json", TraceText(8)},
                             {"7-10.json", TraceText(2)},
                             {"8-1.json", TraceText(3)}});
  EXPECT_EQ(read.trace.value().calls.size(), 8U);
  EXPECT_DOUBLE_EQ(read.trace->calls.at(1).begin, 2 + 10e-6);
  EXPECT_DOUBLE_EQ(read.trace->begin, 2);
  EXPECT_THAT(read.remarks, ElementsAre(HasSubstr("2 processes have traces")));
}

TEST(ReadTorchTrace, CallsOfModulesDecideWhichWindowIsShortAndABrokenOneIsARemark) {
  const auto with_modules = [](int operators, int modules) {
    auto text = TraceText(operators);
    for (int i = 0; i < modules; ++i)
      text.insert(text.find('[') + 1,
                  R"({"ph":"X","cat":"user_annotation","name":"dlroof: Net","pid":1,"tid":1,)"
                  R"("ts":0,"dur":5},)");
    return text;
  };
  const auto read = TraceOf({{"7-1.json", with_modules(50, 1)},  // compiles the model
                             {"7-2.json", with_modules(3, 9)},
                             {"7-3.json", with_modules(1, 2)}});
  EXPECT_EQ(read.trace.value().calls.size(), 12U);
  auto text = TraceText(5);
  text.replace(text.find("\"dur\":5"), 7, "\"dur\":9e15");
  const auto endless = TraceOf({{"7-1.json", text}}).trace.value();
  ASSERT_EQ(endless.calls.size(), 5U);
  EXPECT_NEAR(endless.end, 2 + 45e-6, 1e-9);
  for (const auto& call : endless.calls) EXPECT_LE(call.end, 2 + 46e-6);
  const auto remarked = TraceOf({{"7-1.json", TraceText(9)},
                                 {"7-2.json", TraceText(9).replace(2, 11, "traceOthers")},
                                 {"7.txt", "the program has its own profiler\n"}});
  EXPECT_TRUE(remarked.trace);
  EXPECT_THAT(remarked.remarks, Contains("--torch: process 7: the program has its own profiler"));
  EXPECT_EQ(remarked.remarks.size(), 2U);
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
