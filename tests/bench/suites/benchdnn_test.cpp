#include "bench/suites/benchdnn.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <map>
#include <random>
#include <set>
#include <sstream>
#include <utility>

#include "bench/conv2d/case.h"
#include "bench/conv2d/conv3d.h"
#include "bench/lstm/case.h"
#include "bench/suites/suite.h"
#include "bench/workload/workload.h"
#include "counters/base/files.h"
#include "reporters/logs/primitive.h"
#include "tests/fakes/primitives/logs.h"
#include "tests/test_data.h"

namespace dlroof::suites {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

std::string_view NameOfDriver(std::string_view text) {
  const auto* const driver = DriverOfProblem(text);
  return driver == nullptr ? "none" : driver->name;
}

TEST(DriverOfProblem, IsTheOneWhoseLettersTheTextHas) {
  EXPECT_EQ(NameOfDriver("mb1_g2ic4ih8"), "conv");
  EXPECT_EQ(NameOfDriver("g1mb3ic3"), "conv");
  EXPECT_EQ(NameOfDriver("mb3l2sic4"), "rnn");
  EXPECT_EQ(NameOfDriver("t50mb3"), "rnn");
  EXPECT_EQ(NameOfDriver("12x64:64x8"), "matmul");
  EXPECT_EQ(NameOfDriver("x64"), "none");
  EXPECT_EQ(NameOfDriver("LSTM/cpu/onednn/fwd_inference/f32/t1n1i1h1"), "none");
  EXPECT_EQ(NameOfDriver("googlenet"), "none");
  EXPECT_EQ(NameOfDriver("mb"), "none");
  EXPECT_EQ(NameOfDriver("mb12"), "none");
  EXPECT_EQ(NameOfDriver(""), "none");
}

std::string Words(std::string_view text) {
  std::string words;
  for (const auto& [word, line] : BenchdnnTokens(text)) words += fmt::format("{}@{} ", word, line);
  return words;
}

TEST(BenchdnnTokens, SkipsCommentsAndJoinsWords) {
  EXPECT_EQ(Words("# a b\n  --x=1 c#d\t#e f\n\ng"), "--x=1@2 c#d@2 g@4 ");
  EXPECT_EQ(Words(" \n#"), "");
  EXPECT_EQ(Words("a+ \\\n  b+\\\n# comment\nc d"), "a+b+c@1 d@4 ");
  EXPECT_EQ(Words("\\"), "");
  EXPECT_EQ(Words("a \\"), "a@1 ");
}

// Each benchmark's name, or its reason in brackets.
std::vector<std::string> Read(const std::string& text, const std::string& file = "my.txt") {
  std::vector<std::string> shown;
  for (const auto& found : ReadBenchdnn(text, file))
    shown.push_back(found.name.value_or(fmt::format("[{}]", found.reason)));
  return shown;
}

constexpr const char* kProblem = " mb1ic4ih8oc6kh1";

std::string ConvName(const std::string& direction, const std::string& type,
                     const std::string& options = "") {
  return fmt::format("Conv2D/cpu/onednn/{}/{}/n1c4h8w8k6r1s1{}", direction, type, options);
}

// Newer versions of benchdnn may know these words. Their problems are counted with the reason.
TEST(BenchdnnWords, ThatAreNotKnownAreReasonsOfTheirProblems) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"\n  --foo=1", "unknown option --foo of benchdnn's driver conv"},
      {"--dir=FWD_I sic4", "unknown option --dir of benchdnn's driver rnn"},
      {"--no_driver", "unknown option '--no_driver'"},
      {"-dir=FWD_I", "unknown option '-dir=FWD_I'"},
      {"--batch=shapes", "--batch: name that file itself"},
      {"--dir=FWD_X", "--dir=FWD_X: not supported"},
      {"--dir=FWD_I,", "expected one value"},
      {"--dt=u8:s8", "expected one word, or those of source, weights and"},
      {"--dt=u8:s8:x8", "types u8:s8:x8"},
      {"--cfg=u8", "types u8:u8:u8"},
      {"--stag=anny", "--stag=anny: not supported"},
      {"--attr-post-ops=sum+relu:a", "post-ops sum+relu:a"},
      {"--attr-scales=src:common:0.5+wie:common:2", "of src, wei or dst"},
      {"--attr-scales=src", "expected TENSOR:POLICY"},
      {"--mb=-2", "expected an integer from 0"},
      {"--mb=99999999999", "expected an integer from 0"},
      {"--rnn --flags=X sic8", "--flags=X: not supported"},
      {"ic4ih8oc4kh3\n mb1ic4oc4kx3", "expected one of g mb ic"},
      {"ic4ih8oc4kh3 t4sic4", "expected one of g mb ic"},
  };
  for (const auto& [text, message] : cases) {
    const auto read = ReadBenchdnn(text + "\n" + kProblem, "my.txt");
    const auto is_reason = [&](const auto& found) {
      return found.reason.find(message) != std::string::npos;
    };
    EXPECT_TRUE(std::ranges::any_of(read, is_reason)) << text;
  }
}

TEST(BenchdnnWords, AKnownValueOfTheSameOptionRuns) {
  EXPECT_THAT(Read("--dir=FWD_I --dt=f8_e9m9 mb1ic4ih8oc6kh1 --dt=f32 mb1ic4ih8oc6kh1"),
              ElementsAre("[types f8_e9m9:f8_e9m9:f8_e9m9]", ConvName("fwd", "f32")));
  EXPECT_THAT(
      Read("--dir=FWD_I --new=1 mb1ic4ih8oc6kh1 --reset --dir=FWD_I mb1ic4ih8oc6kh1"),
      ElementsAre("[unknown option --new of benchdnn's driver conv]", ConvName("fwd", "f32")));
  EXPECT_THAT(Read("--conv --pool 16x1000 --conv --dir=FWD_I mb1ic4ih8oc6kh1"),
              ElementsAre("[unknown option '--pool']", ConvName("fwd", "f32")));
}

TEST(LooksLikeBenchdnn, TellsBenchdnnsFilesFromListsOfNames) {
  for (const auto* text : {"# c\n\n --dir=FWD_I\n", "mb1ic4ih8oc6kh1n\"a/b\"", "l1t2sic4", "-v5",
                           "./benchdnn --conv", "/opt/x/benchdnn --rnn", "g32ic32", "--batch=x"})
    EXPECT_TRUE(LooksLikeBenchdnn(text)) << text;
  for (const auto* text : {"", "# c\n\n", "Conv2D/cpu/onednn/fwd/f32/n1c1h1w1k1r1s1",
                           "{Conv2D,x}/y", "LSTM/cpu/onednn/{a,b}", "hello", "/benchdnn/x"})
    EXPECT_FALSE(LooksLikeBenchdnn(text)) << text;
}

std::string SmallList() { return ReadFile(fakes::TestData("benchdnn_small.txt"), "a list"); }

TEST(BenchdnnSmallList, IsReadWhole) {
  const auto text = SmallList();
  ASSERT_TRUE(LooksLikeBenchdnn(text));
  std::map<std::string, int> reasons;
  int names = 0;
  for (const auto& found : ReadBenchdnn(text, "small")) {
    EXPECT_EQ(found.name.has_value(), found.reason.empty()) << found.text;
    if (!found.name) {
      ++reasons[found.reason];
      continue;
    }
    ++names;
    const auto name =
        workload::ParseBenchmarkName(*found.name);  // canonical: what is parsed is what is printed
    EXPECT_EQ(workload::ToText(name), found.name);
    if (name.op == "Conv2D")
      EXPECT_EQ(conv2d::ToText(conv2d::ParseConv2d(name.problem)), name.problem);
    else if (name.op == "Conv3D")
      EXPECT_EQ(conv2d::ToText(conv2d::ParseConv3d(name.problem)), name.problem);
    else
      EXPECT_EQ(lstm::ToText(lstm::ParseLstmProblem(name.problem)), name.problem);
  }
  EXPECT_EQ(reasons["1-D convolution"], 1);
  EXPECT_EQ(reasons["types f64:f64:f64"], 1);
  EXPECT_EQ(reasons["--alg=VANILLA_GRU: not supported"], 1);
  EXPECT_EQ(reasons["--wtag=xba: not supported"], 1);
  EXPECT_EQ(reasons["--direction=right2left: not supported"], 2);
  EXPECT_EQ(reasons["--engine=gpu:0: not supported"], 1);
  EXPECT_GT(names, 50);
}

TEST(BenchdnnSmallList, MutatedLinesAreCountedWithTheirReasons) {
  std::vector<std::string> lines;
  std::istringstream text(SmallList());
  for (std::string line; std::getline(text, line);)
    if (!line.empty() && line[0] != '#') lines.push_back(line);
  std::mt19937 random(11);
  int reasons = 0;
  for (int i = 0; i < 10000; ++i) {
    auto line = lines[random() % lines.size()];
    for (unsigned change = 0; change <= random() % 3; ++change) {
      const size_t at = random() % line.size();
      if (random() % 3 == 0) line.erase(at, 1 + random() % 3);
      if (random() % 3 == 0) line.insert(at, lines[random() % lines.size()].substr(0, 5));
      if (line.empty()) line.push_back('x');
      line[random() % line.size()] = random() % 2 == 0 ? ",:=+-_0149nmicokhsgx\\\n"[random() % 22]
                                                       : static_cast<char>(random());
    }
    if (line.find("--batch") != std::string::npos) continue;
    const auto words = (random() % 2 == 0 ? "--conv " : "--rnn ") + line + kProblem;
    for (const auto& found : ReadBenchdnn(words, "small")) reasons += found.name ? 0 : 1;
  }
  EXPECT_GT(reasons, 1000);
}

// benchdnn's own lists, which are not part of dlroof.
TEST(BenchdnnInputs, AreReadWhole) {
  const char* folder = std::getenv("DLROOF_BENCHDNN_INPUTS");
  if (folder == nullptr)
    GTEST_SKIP() << "DLROOF_BENCHDNN_INPUTS does not name benchdnn's folder inputs";
  size_t files = 0, benchmarks = 0, names = 0;
  for (const auto* driver : BenchdnnDrivers())
    for (const auto& entry : fs::directory_iterator(fs::path(folder) / driver->name)) {
      ++files;
      const auto command = fmt::format("--{} {}", driver->name, ReadFile(entry.path(), "lines"));
      const auto read = ReadBenchdnn(command, entry.path().string());
      benchmarks += read.size();
      for (const auto& found : read) names += found.name ? 1 : 0;
    }
  std::cout << fmt::format("{} files, {} problems, {} are benchmarks of dlroof\n", files,
                           benchmarks, names);
  EXPECT_GT(names, 0);
}

using logs::PrimitiveText;
using logs::ReadPrimitive;

PrimitiveText Conv(const std::string& prop, const std::string& bias) {
  return {.kind = "convolution",
          .prop = prop,
          .tensors = "src:f32::blocked:acdb::f0 wei:f32:a:blocked:Acdb16a::f0 bia:" + bias +
                     "::blocked:a::f0 dst:f32::blocked:acdb::f0",
          .attributes = "attr-scratchpad:user attr-post-ops:eltwise_relu",
          .auxiliary = "alg:convolution_direct",
          .problem = "mb8_ic64oc64_ih56oh56kh1sh1dh0ph0_iw56ow56kw1sw1dw0pw0"};
}

TEST(BenchdnnLine, ALineForEachDirection) {
  EXPECT_EQ(BenchdnnLine(ReadPrimitive(Conv("forward_inference", "undef"))),
            "--conv --mode=P --dir=FWD_I --stag=acdb --dtag=acdb --attr-post-ops=eltwise_relu "
            "mb8_ic64oc64_ih56oh56kh1sh1dh0ph0_iw56ow56kw1sw1dw0pw0");
  EXPECT_THAT(BenchdnnLine(ReadPrimitive(Conv("forward_training", "f32"))).value(),
              testing::HasSubstr("--dir=FWD_B "));
  EXPECT_THAT(BenchdnnLine(ReadPrimitive(Conv("backward_weights", "f32"))).value(),
              testing::HasSubstr("--dir=BWD_WB "));
  EXPECT_THAT(BenchdnnLine(ReadPrimitive(Conv("backward_data", "undef"))).value(),
              testing::HasSubstr("--dir=BWD_D "));
}

TEST(BenchdnnLine, OtherDrivers) {
  EXPECT_EQ(BenchdnnLine(ReadPrimitive({.kind = "reorder",
                                        .tensors = "src:f32::blocked:abcd::f0 "
                                                   "dst:bf16::blocked:aBcd8b::f0",
                                        .problem = "8x64x56x56"})),
            "--reorder --mode=P --sdt=f32 --ddt=bf16 --stag=abcd --dtag=aBcd8b 8x64x56x56");
  EXPECT_EQ(
      BenchdnnLine(ReadPrimitive(
          {.kind = "gemm_api",
           .tensors = "src:f32::blocked:ab::f0 wei:f32::blocked:ab::f0 dst:f32::blocked:ab::f0",
           .problem = "16x256:256x192"})),
      "--matmul --mode=P --stag=ab --wtag=ab --dtag=ab 16x256:256x192");
  EXPECT_FALSE(BenchdnnLine(ReadPrimitive({.kind = "zero_pad"})));
}

// The calls of a real program that dlroof has as benchmarks.
TEST(BenchdnnLine, BertsCallsAreBenchmarks) {
  std::set<std::string> found;
  for (const auto& text : fakes::FromLog("pt_bert_graph_inf.onednn.log").primitives) {
    const auto line = BenchdnnLine(ReadPrimitive(text));
    if (!line) continue;
    try {
      for (const auto& problem : ReadBenchdnn(*line, "line"))
        if (problem.name) found.insert(*problem.name);
    } catch (const BadInput&) {
      continue;  // a driver that dlroof lacks
    }
  }
  EXPECT_THAT(found,
              testing::IsSupersetOf({"LayerNorm/cpu/onednn/fwd/f32/m512n768/scale/shift",
                                     "Matmul/cpu/onednn/fwd/f32/m128n64k128",
                                     "Matmul/cpu/onednn/fwd/f32/m512n768k768/bias/any",
                                     "Matmul/cpu/onednn/fwd/f32/m512n768k768/bias/sum/any",
                                     "Matmul/cpu/onednn/fwd/f32/m512n768k3072/bias/sum/any",
                                     "Matmul/cpu/onednn/fwd/f32/m512n3072k768/bias/gelu_erf/any",
                                     "Softmax/cpu/onednn/fwd/f32/m128n128"}));
}

}  // namespace
}  // namespace dlroof::suites
