#include "bench/workload/workload.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <limits>
#include <set>
#include <sstream>
#include <stdexcept>

#include "bench/workload/library_rules.h"
#include "bench/workload/operator_parts.h"
#include "bench/workload/products.h"
#include "counters/base/error.h"
#include "reporters/record/run_file.h"
#include "reporters/roofline/placed_run.h"
#include "tests/fakes/refusal.h"

namespace dlroof::workload {
namespace {

using testing::HasSubstr, testing::ElementsAre;

constexpr const char* kName = "Conv2D/cpu/reference/fwd/f64/n1c1h8w8k1r3s3";  // 43 characters

std::string Refusal(const std::string& name) { return fakes::RefusalOf(MakeWorkload, name); }

TEST(MakeWorkload, ReadsTheOptionsThatEveryBackendHasAndOneBenchmarkHasOneName) {
  const auto plain = MakeWorkload(kName);
  EXPECT_FALSE(plain.threads);
  EXPECT_EQ(plain.cache, CacheState::kWarm);
  const auto both = MakeWorkload(std::string(kName) + "/bias/threads2/cold");
  EXPECT_EQ(both.threads, 2);
  EXPECT_EQ(both.cache, CacheState::kCold);
  EXPECT_EQ(ToText(both.name), std::string(kName) + "/bias/threads2/cold");
  EXPECT_EQ(MakeWorkload(std::string(kName) + "/cold-weights").cache, CacheState::kColdWeights);
  const std::string name = kName;
  EXPECT_THAT(
      Refusal(name + "/cold/threads2"),
      HasSubstr("column 45: 'cold' stands at the end of a name: threadsN, then cold[-weights]"));
  EXPECT_THAT(Refusal(name + "/bias/threads2/relu"), HasSubstr("column 50: 'threads2' stands at"));
  EXPECT_THAT(Refusal(name + "/threads2/threads2"), HasSubstr("column 45: "));
  EXPECT_THAT(Refusal(name + "/cold/cold"), HasSubstr("column 45: "));
  EXPECT_THAT(Refusal(name + "/relu/bias"),
              HasSubstr("column 50: 'bias' cannot come after 'relu'"));
  EXPECT_THAT(Refusal(name + "/nhwc"), HasSubstr("has no option 'nhwc' (bias relu)"));
  for (const std::string bad :
       {"/threads0", "/threads02", "/threads5000", "/threads", "/threads2x"})
    EXPECT_THAT(Refusal(name + bad), HasSubstr("column ")) << bad;
}

TEST(RegisterBackend, ALibraryCompletesTheBackendThatItsOpRegistered) {
  constexpr const char* kBenchmark = "Made/cpu/up/fwd/f32/n1/threads2";
  const auto read = [](const BenchmarkName& name) {
    if (name.problem != "n1") throw BadInput("column 21: no such problem");
    return Workload{.repro = "made up"};
  };
  RegisterBackend({"Made", "cpu", "up", read, "a future library"});
  EXPECT_EQ(fakes::RefusalOf<Unsupported>([&] { MakeWorkload(kBenchmark).prepare({}); }),
            "this build of dlroof was made without a future library");
  EXPECT_THAT(Refusal("Made/cpu/up/fwd/f32/n2"), HasSubstr("no such problem"));

  const auto prepare = [](const BenchmarkName& name, const RunSettings&) {
    return PreparedCall{.algorithm = ToText(name)};
  };
  RegisterBackend({.op = "Made", .device = "cpu", .library = "up", .prepare = prepare});
  const auto workload = MakeWorkload(kBenchmark);
  EXPECT_EQ(workload.prepare({}).algorithm, "Made/cpu/up/fwd/f32/n1");
  EXPECT_EQ(workload.repro, "made up");
  EXPECT_EQ(workload.threads, 2);
  EXPECT_THAT(Refusal("Made/cpu/up/fwd/f32/n2"), HasSubstr("no such problem"));
}

std::string NameRefusal(const std::string& text) {
  return fakes::RefusalOf(ParseBenchmarkName, text);
}

TEST(BenchmarkName, TextAndPartsAreInverseAndRefusalsNameTheColumn) {
  for (const std::string text : {"Conv2D/cpu/onednn/fwd/f32/n16c64h112w112k64r3s3_s2p1",
                                 "LSTM/gpu/cudnn/fwd_training/bf16/t16n16i32h64/cold/nhwc"})
    EXPECT_EQ(ToText(ParseBenchmarkName(text)), text);
  const auto name = ParseBenchmarkName("LSTM/cpu/onednn/bwd/f32/t1n1i1h1/cold");
  EXPECT_EQ(name.direction, "bwd");
  EXPECT_THAT(name.options, ElementsAre("cold"));
  EXPECT_THAT(NameRefusal("LSTM/cpu/onednn"), HasSubstr("column 16"));
  EXPECT_THAT(NameRefusal("LSTM//onednn/bwd/f32/t1"), HasSubstr("column 6"));
  EXPECT_THAT(NameRefusal("LSTM/cpu/onednn/bwd/f32/"), HasSubstr("column 25"));
  EXPECT_THAT(NameRefusal("LSTM/c pu/onednn/bwd/f32/t1"), HasSubstr("column 7"));
}

constexpr const char* kConv = "Conv2D/cpu/onednn/fwd/f32/n16c8h12w12k16r3s3_p1";
constexpr const char* kLstm = "LSTM/cpu/onednn/fwd_inference/f32/t16n16i32h32";

TEST(WithSize, IsTheNameOfTheOtherProblemAndRefusesWhatCannotBeAndSizeOfIsTheNamesOwnValue) {
  EXPECT_EQ(WithSize(kConv, "batch", 4), "Conv2D/cpu/onednn/fwd/f32/n4c8h12w12k16r3s3_p1");
  EXPECT_EQ(WithSize(kConv, "image", 24), "Conv2D/cpu/onednn/fwd/f32/n16c8h24w24k16r3s3_p1");
  EXPECT_EQ(WithSize(kConv, "stride", 2), "Conv2D/cpu/onednn/fwd/f32/n16c8h12w12k16r3s3_s2p1");
  EXPECT_EQ(WithSize(kLstm, "layers", 2), "LSTM/cpu/onednn/fwd_inference/f32/t16n16i32h32l2");
  EXPECT_EQ(WithSize(std::string(kLstm) + "l2", "layers", 1), kLstm);
  EXPECT_EQ(WithSize(std::string(kLstm) + "/threads1/cold", "hidden", 64),
            "LSTM/cpu/onednn/fwd_inference/f32/t16n16i32h64/threads1/cold");
  EXPECT_THAT(fakes::RefusalOf(WithSize, kConv, "kernel", 99),
              HasSubstr("kernel 99: Conv2D/cpu/onednn/fwd/f32/n16c8h12w12k16r99s99_p1: "));
  EXPECT_THAT(fakes::RefusalOf(WithSize, "Conv2D/cpu/onednn/fwd/f32/n16q", "batch", 4),
              HasSubstr("column"));
  EXPECT_THAT(fakes::RefusalOf(WithSize, "Sort/cpu/a/fwd/f32/n16", "batch", 4),
              HasSubstr("no benchmark Sort"));
  EXPECT_EQ(SizeOf(kConv, "batch"), 16);
  EXPECT_EQ(SizeOf(kLstm, "layers"), 1) << "left out";
  EXPECT_THAT(fakes::RefusalOf(SizeOf, kConv, "layers"), HasSubstr("no such parameter"));
}

// Reads a run file with one record of this name and work. Returns the warnings.
std::string WarningsOf(const std::string& name, const Work& work) {
  const record::RunFile run{.records = {{.name = name, .work = {{Provenance::kModelled, work}}}}};
  std::ostringstream warnings;
  record::ParseRunFile(roofline::ToJson(run).dump(), "run.json", warnings);
  return warnings.str();
}

TEST(FlopsOfName, OfEveryOperatorAreThoseThatFilesMayState) {
  const char* const names[] = {"Attention/cpu/reference/fwd/f64/b2h4q5k7d3_kv2w3tl",
                               "Conv2D/cpu/reference/bwd_data/f64/n1c2h6w5k4r3s3_p1",
                               "Conv3D/cpu/onednn/fwd/f32/n1c2d3h4w5k4t3r3s3/bias",
                               "Eltwise/cpu/reference/fwd/f64/m3n4/gelu_tanh",
                               "GroupedMatmul/cpu/reference/fwd/f64/g2m4n3k5",
                               "LSTM/cpu/reference/fwd_training/f64/t2n3i4h5l2p3bi",
                               "LayerNorm/cpu/reference/fwd/f64/m3n4/scale/shift",
                               "Matmul/cpu/reference/bwd_weights/f64/b2m3n4k5",
                               "RmsNorm/cpu/reference/fwd/f64/m3n4/scale",
                               "Softmax/cpu/reference/fwd/f64/m3n4",
                               "SwiGlu/cpu/reference/fwd/f64/m3n4"};
  std::set<std::string> ops;
  for (const std::string name : names) {
    ops.insert(name.substr(0, name.find('/')));
    const Work work = MakeWorkload(name).prepare({}).modelled;
    EXPECT_EQ(WarningsOf(name, work), "");
    for (const double factor : {100.0, 1.5, 0.01, 0.0}) {
      Work wrong = work, without_parts = work;
      for (auto& [pipe, flops] : wrong.flops) flops *= factor;
      EXPECT_THAT(WarningsOf(name, wrong), HasSubstr("times those of its name: left out"))
          << name << " x " << factor;
      for (auto& [part, flops] : wrong.parts) flops *= factor;
      EXPECT_THAT(WarningsOf(name, wrong), HasSubstr("times those of its name: left out"))
          << name << " x " << factor;
      if (factor == 1.5) continue;
      without_parts.flops = wrong.flops;
      without_parts.parts.clear();
      EXPECT_THAT(WarningsOf(name, without_parts), HasSubstr("times those of its name: left out"));
    }
  }
  for (const auto* op : AllOps()) EXPECT_TRUE(ops.contains(op->name)) << op->name;
}

std::string Refusal(const std::string& name, const std::string& file) {
  return fakes::RefusalOf(UseLibraryFile, name, file, "--flag");
}

TEST(PreloadValue, ThisProgramsChoiceFollowsTheUsersAndAPathThatWouldBeSplitIsRefused) {
  EXPECT_EQ(PreloadValue(nullptr, {"/a/libdnnl.so.3"}), "/a/libdnnl.so.3");
  EXPECT_EQ(PreloadValue("", {"/a/libdnnl.so.3"}), "/a/libdnnl.so.3");
  EXPECT_EQ(PreloadValue("/b/libjemalloc.so", {"/a/libiomp5.so", "/a/libdnnl.so.3"}),
            "/b/libjemalloc.so:/a/libiomp5.so:/a/libdnnl.so.3");
  EXPECT_THROW(PreloadValue(nullptr, {"/my libraries/libdnnl.so.3"}), BadInput);
  EXPECT_THROW(PreloadValue(nullptr, {"/a:b/libdnnl.so.3"}), BadInput);
}

TEST(UseLibraryFile, RefusesAFileThatDoesNotExistAndALibraryThatTheBuildLacks) {
  RegisterChoosableLibrary({.name = "of_this_test",
                            .title = "the C library's mathematics",
                            .function = "of_this_test_version",
                            .facts = [](void*) { return LibraryFacts(); },
                            .refusal = [](void*) { return std::nullopt; },
                            .shared_function = ""});
  EXPECT_EQ(Refusal("of_this_test", "/no/such/libdnnl.so.3"),
            "--flag: /no/such/libdnnl.so.3: No such file or directory");
  // A program is no shared library.
  EXPECT_THAT(Refusal("of_this_test", "/proc/self/exe"), HasSubstr("cannot be loaded"));
  EXPECT_THAT(Refusal("no_such_library", "/proc/self/exe"),
              HasSubstr("this build of dlroof was made without no_such_library"));
}

TEST(IsRefusal, IsWhatCudnnCannotDoAndNoBrokenInstallation) {
  const auto refused = [](int status) {
    return std::pair(IsRefusal(status, Stage::kDescribe), IsRefusal(status, Stage::kExecute));
  };
  for (const int cannot : {3000, 3002, 3007, 3010})
    EXPECT_EQ(refused(cannot), std::pair(true, true)) << cannot;
  for (const int bad_parameter : {2000, 2008})
    EXPECT_EQ(refused(bad_parameter), std::pair(true, false)) << bad_parameter;
  // A missing driver, runtime, NVRTC or part of cuDNN, a compiler that fails, a GPU that fails.
  for (const int broken : {1001, 1002, 1008, 3005, 3006, 3008, 3009, 4000, 4001, 5000, 5001})
    EXPECT_EQ(refused(broken), std::pair(false, false)) << broken;
}

TEST(CudnnMismatch, MinorVersionsAreCompatibleMajorVersionsAreNot) {
  EXPECT_FALSE(CudnnMismatch(90800, 9));
  EXPECT_FALSE(CudnnMismatch(92299, 9));
  EXPECT_EQ(CudnnMismatch(100000, 9).value().text,
            "cuDNN 10.0.0 was found, but this build needs 9: put the folder of cuDNN 9 first in "
            "LD_LIBRARY_PATH");
  EXPECT_THAT(CudnnMismatch(8907, 9).value().text, HasSubstr("cuDNN 8.9.7 was found"));
}

bool Accepted(std::string_view type, const char* value) {
  return fakes::RefusalOf<Unsupported>(RequireTf32, type, value) == "accepted";
}

TEST(RequireTf32, RefusesWhatTheVariableWouldMakeAnotherType) {
  for (const char* value : {static_cast<const char*>(nullptr), ""})
    for (const char* type : {"tf32", "f32", "f16"}) EXPECT_TRUE(Accepted(type, value)) << type;
  for (const auto& [type, value, accepted] : {std::tuple("tf32", "0", false),
                                              {"f32", "0", true},
                                              {"tf32", "1", true},
                                              {"f32", "1", false},
                                              {"f16", "0", true},
                                              {"f16", "1", true}})
    EXPECT_EQ(Accepted(type, value), accepted) << type << value;
}

TEST(VectorLanes, AreThoseOfTheIsaThatTheImplementationNames) {
  EXPECT_EQ(VectorLanes("brgconv:avx2", "avx512_core"), 8);
  EXPECT_EQ(VectorLanes("brgconv:avx10_1_512", ""), 16);
  EXPECT_EQ(VectorLanes("jit:sse41", "avx2"), 4);
  EXPECT_EQ(VectorLanes("brgemm", "avx512_core_vnni"), 16);
}

struct PipeRow {
  const char *type, *implementation, *effective_isa, *pipe;
};
constexpr PipeRow kPipes[] = {
    {"bf16", "brgconv:avx512_core_amx_bf16", "avx512_core_amx", "bf16.matrix"},
    {"bf16", "brgconv:avx512_core_bf16", "avx512_core_amx", "bf16.vector"},
    // avx512_core has no bf16 instruction, so bf16 is emulated whatever the implementation's name.
    {"bf16", "jit_bf16:avx512_core", "avx512_core_amx", "fp32.vector"},
    {"int8", "brgconv:avx512_core_amx_int8", "avx512_core_amx", "int8.matrix"},
    {"int8", "jit_int8:avx512_core_vnni", "avx512_core_amx", "int8.vector"},
    {"s8s8f32", "brgconv:avx512_core_amx", "avx512_core_amx", "int8.matrix"},
    {"f32", "brgconv:avx512_core", "avx512_core_amx", "fp32.vector"},
    // The names of oneDNN 3.13.
    {"bf16", "brgconv:avx10_1_512_amx", "avx512_core_amx", "bf16.matrix"},
    {"bf16", "jit:avx10_1_512", "avx512_core_fp16", "bf16.vector"},
    {"f16", "brgconv:avx10_1_512_amx_fp16", "avx512_core_amx", "fp16.matrix"},
    {"f16", "brgconv:avx10_2_amx_2", "avx512_core_amx", "fp16.matrix"},
    // The effective ISA decides where the name has none.
    {"bf16", "brgemm", "avx512_core_amx", "bf16.matrix"},
    {"bf16", "brgemm", "avx512_core_bf16", "bf16.vector"},
    {"bf16", "gemm:jit", "avx512_core_fp16", "bf16.vector"},
    {"bf16", "ref", "avx2", "fp32.vector"},
    {"f64", "plain loops", "", "fp64.vector"},
    // Plain loops use no matrix unit.
    {"bf16", "ref:any", "avx512_core_amx", "fp32.vector"},
    {"int8", "ref_int8:any", "avx512_core_amx", "int8.vector"},
    // f16 is widened unless AMX has it: tiles of bf16 and int8 do not multiply f16.
    {"f16", "brgconv:avx512_core_fp16", "avx512_core_fp16", "fp32.vector"},
    {"f16", "brgconv:avx512_core_amx_fp16", "avx512_core_amx_fp16", "fp16.matrix"},
    {"f16", "brgemm", "avx512_core_amx", "fp32.vector"}};

TEST(MatrixPipe, FollowsTypeImplementationAndIsa) {
  for (const auto& [type, implementation, effective_isa, pipe] : kPipes)
    EXPECT_EQ(MatrixPipe(type, implementation, effective_isa), pipe)
        << type << ' ' << implementation << ' ' << effective_isa;
  EXPECT_THROW(MatrixPipe("f12", "jit:avx2", "avx2"), std::logic_error);
}

TEST(NamedMatrixPipe, IsAbsentWhereOnlyTheAllowedIsaWouldDecide) {
  EXPECT_EQ(NamedMatrixPipe("bf16", "brgemm:avx512_core_amx"), "bf16.matrix");
  EXPECT_EQ(NamedMatrixPipe("int8", "ref_int8:any"), "int8.vector");
  for (const char* type : {"bf16", "f16", "int8"})
    for (const char* implementation : {"brgemm", "ref", "gemm:jit", ""})
      EXPECT_FALSE(NamedMatrixPipe(type, implementation)) << type << " by " << implementation;
  EXPECT_EQ(NamedMatrixPipe("f64", ""), "fp64.vector");
}

TEST(ProductTypes, HaveOneSpellingEachAsTheyAreReadAndDetermineTheResultsTypeAndTheComputeType) {
  EXPECT_EQ(ProductTypesFromKey("int8"), (ProductTypes{"u8", "s8", "u8"}));
  EXPECT_EQ(ProductTypesFromKey("bf16bf16f32"), (ProductTypes{"bf16", "bf16", "f32"}));
  EXPECT_EQ(ProductTypesFromKey("fp8"), (ProductTypes{"e4m3", "e4m3", "e4m3"}));
  EXPECT_EQ(ProductTypesFromKey("s8s8s32"), (ProductTypes{"s8", "s8", "s32"}));
  for (const std::string_view bad :
       {"u8s8u8", "f32f32f32", "bf16bf16bf16", "u8u8u8", "s32s8u8", "f32f32", "f32f32f32f32",
        "f64f32f32", "", "int4", "e4m3e4m3f32"})
    EXPECT_THROW(ProductTypesFromKey(bad), BadInput) << bad;
  for (const std::string_view key : {"f32", "f64", "int8", "fp8", "bf16bf16f32", "s8s8s32"})
    EXPECT_EQ(KeyOf(ProductTypesFromKey(key)), key);
  EXPECT_FALSE(KeyOf({"s32", "s32", "s32"}));
  EXPECT_FALSE(KeyOf({"u8", "u8", "u8"}));
  ProductCase product{.types = {"f32", "bf16", "f16"}};
  EXPECT_EQ(ResultType(product), "f16");
  product.direction = ProductDirection::kBackwardData;
  EXPECT_EQ(ResultType(product), "f32");
  product.direction = ProductDirection::kBackwardWeights;
  EXPECT_EQ(ResultType(product), "bf16");
  EXPECT_EQ(ComputeType({"f32", "bf16", "bf16"}), "bf16");
  EXPECT_EQ(ComputeType({"f16", "f16", "f32"}), "f16");
  EXPECT_EQ(ComputeType({"u8", "s8", "f32"}), "int8");
  EXPECT_EQ(ComputeType({"f32", "f32", "s8"}), "f32");
  EXPECT_EQ(ComputeType({"e4m3", "e4m3", "e4m3"}), "fp8");
  EXPECT_EQ(BiasType({"u8", "s8", "u8"}), "f32");
  EXPECT_EQ(BiasType({"bf16", "bf16", "f32"}), "bf16");
}

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kMax = std::numeric_limits<double>::max();

// Rows of `size` ones with an allowed error of 0.1.
OutputReference Ones(int64_t units, int64_t size, double flops) {
  return {.units = units,
          .size = size,
          .flops = flops,
          .error = [](int64_t, std::span<const double> output) {
            double worst = 0;
            for (const double value : output) worst = std::max(worst, ErrorInUnits(value, 1, 0.1));
            return worst;
          }};
}

TEST(CheckOutput, ComparesASmallOutputAndSamplesALargeOneAndFindsWhatIsNotFinite) {
  const auto reference = Ones(30, 4, 50e6);
  std::vector<float> output(120, 1);
  const auto right = CheckOutput(reference, output, 1);
  EXPECT_TRUE(right.ok);
  EXPECT_EQ(right.how, "all 120 outputs");
  for (const size_t at : {0, 59, 119}) {
    auto wrong = output;
    wrong[at] = 1.3F;
    const auto found = CheckOutput(reference, wrong, 1);
    EXPECT_FALSE(found.ok) << at;
    EXPECT_NEAR(found.max_error, 3, 1e-5) << at;
  }
  output[7] = 1.0625F;
  EXPECT_NEAR(CheckOutput(reference, output, 1).max_error, 0.625, 1e-6);
  EXPECT_TRUE(CheckOutput(reference, output, 1).ok);
  // 5 kFLOP a row: 120e6 / 5e3 is above the most rows of a sample, 512.
  const auto large = Ones(20000, 4, 1e8);
  const std::vector<double> ones(80000, 1);
  const auto sampled = CheckOutput(large, ones, 1);
  EXPECT_TRUE(sampled.ok);
  EXPECT_THAT(sampled.how, HasSubstr(" sampled outputs of 80000"));
  EXPECT_LE(std::stoi(sampled.how), 4 * 512);
  EXPECT_GE(std::stoi(sampled.how), 4 * 480) << "few rows are drawn twice";
  for (const size_t at : {size_t{0}, ones.size() - 1}) {
    auto wrong = ones;
    wrong[at] = 2;
    EXPECT_FALSE(CheckOutput(large, wrong, 1).ok) << at;
  }
  auto dear = Ones(1000, 1, 1e9);  // 1 MFLOP a unit: 120 of them
  const std::vector<double> expensive(1000, 1);
  EXPECT_LE(std::stoi(CheckOutput(dear, expensive, 1).how), 120);
  dear.unit_flops = 1e9;
  EXPECT_LE(std::stoi(CheckOutput(dear, expensive, 1).how), 64);
  dear.sample = [](int64_t count, uint64_t) { return std::vector<int64_t>{count}; };
  EXPECT_EQ(CheckOutput(dear, expensive, 1).how, "1 sampled outputs of 1000");
  auto first_only = Ones(1000, 1, 1e9);
  first_only.sample = [](int64_t, uint64_t) { return std::vector<int64_t>{0}; };
  std::vector<double> infinite(1000, 1);
  infinite[500] = kNaN;
  const auto found = CheckOutput(first_only, infinite, 1);
  EXPECT_FALSE(found.ok);
  EXPECT_EQ(found.max_error, 0);
  EXPECT_THAT(found.how, HasSubstr("1 of 1000 are not finite"));
  EXPECT_THROW(CheckOutput(Ones(3, 4, 1), std::vector<float>(11), 1), std::logic_error);
}

TEST(ErrorInUnits, IsLargestForWhatIsNoNumber) {
  EXPECT_EQ(ErrorInUnits(3, 1, 4), 0.5);
  EXPECT_EQ(ErrorInUnits(1, 1, 0), 0);
  EXPECT_EQ(ErrorInUnits(2, 1, 0), kMax);
  EXPECT_EQ(ErrorInUnits(kNaN, 1, 4), kMax);
  EXPECT_EQ(ErrorInUnits(std::numeric_limits<double>::infinity(), 1, 4), kMax);
  EXPECT_EQ(RoundingOf("bf16").value().result, 0x1p-8);
  EXPECT_EQ(RoundingOf("f16").value().least, 0x1p-25);
  EXPECT_FALSE(RoundingOf("s8"));
}

}  // namespace
}  // namespace dlroof::workload
