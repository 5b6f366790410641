#include "reporters/logs/verbose_log.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <map>

#include "counters/base/files.h"
#include "reporters/logs/primitive.h"
#include "tests/fakes/primitives/logs.h"
#include "tests/fakes/primitives/problems.h"
#include "tests/test_data.h"

namespace dlroof::logs {
namespace {

using fakes::Made, fakes::kFiltered, fakes::kInOut;
using testing::ElementsAre, testing::IsEmpty, testing::Pair;

std::map<std::string, int> KindsOf(const VerboseLog& log) {
  std::map<std::string, int> kinds;
  for (const auto& execution : log.executions) ++kinds[log.primitives[execution.primitive].kind];
  return kinds;
}

constexpr const char* kTemplate =
    "onednn_verbose,v1,primitive,info,template:timestamp,operation,engine,primitive,implementation,"
    "prop_kind,memory_descriptors,attributes,auxiliary,problem_desc,exec_time\n";
constexpr const char* kReorder =
    "onednn_verbose,v1,1000.5,primitive,exec,cpu,reorder,jit:uni,undef,src:f32::blocked:ab::f0 "
    "dst:f32::blocked:ba::f0,attr-scratchpad:user,,8x64,0.25\n";

// The expected numbers were counted with grep and wc.
TEST(VerboseLog, EveryExecutionOfRealLogsIsRead) {
  const std::tuple<const char*, const char*, std::map<std::string, int>> rows[] = {
      {"debian_torch113_conv_v2.6.3.log", "v2.6.3", {{"reorder", 3}, {"convolution", 1}}},
      {"tf212_conv_opts0.log", "v2.7.3", {{"gemm_api", 33}}},
      {"tf212_conv_opts1.log", "v2.7.3", {{"reorder", 1}, {"convolution", 1}}},
      {"pt_bert_inf.onednn.log", "v3.13.3", {{"eltwise", 48}}},
      {"pt_lstm_inf.onednn.log", "v3.13.3", {{"reorder", 8}, {"rnn", 4}}},
      {"pt_lstm_trn.onednn.log", "v3.13.3", {{"reorder", 28}, {"rnn", 8}}},
      {"pt_r50_inf.onednn.log", "v3.13.3", {{"reorder", 344}, {"convolution", 116}}},
      {"tf_r50_inf_dnn.onednn.log",
       "v3.7.3",
       {{"reorder", 125},
        {"convolution", 124},
        {"pooling", 3},
        {"inner_product", 2},
        {"softmax", 2}}}};
  for (const auto& [name, version, kinds] : rows) {
    const auto log = fakes::FromLog(name);
    EXPECT_EQ(KindsOf(log), kinds) << name;
    EXPECT_EQ(log.version, version) << name;
    EXPECT_EQ(log.isa_words, "Intel AVX2") << name;
    EXPECT_EQ(log.lines.used, log.lines.executed) << name;
    EXPECT_THAT(log.lines.refused, IsEmpty()) << name;
    for (const auto& primitive : log.primitives)
      EXPECT_FALSE(WorkOf(ReadPrimitive(primitive)).reason) << name << primitive.problem;
  }
}

TEST(VerboseLog, FactsCreationsAndTheTemplateOfTheFieldsAreRead) {
  auto log = fakes::FromLog("tf_r50_inf_dnn.onednn.log");
  EXPECT_EQ(log.runtime, "threadpool");
  EXPECT_EQ(log.threads, 2);
  ASSERT_EQ(log.marks.size(), 4);
  EXPECT_TRUE(log.marks[0].begin);
  EXPECT_EQ(log.marks[0].before, 38);
  EXPECT_DOUBLE_EQ(log.marks[0].seconds, 1795369597.754633301);
  log = fakes::FromLog("debian_torch113_conv_v2.6.3.log");
  ASSERT_EQ(log.creations.size(), 4);
  EXPECT_FALSE(log.creations[0].hit);
  EXPECT_DOUBLE_EQ(log.creations[0].seconds, 0.592041e-3);
  EXPECT_EQ(log.creations[3].before, 3);
  const auto hits = ReadVerboseLog(
      "onednn_verbose,v1,1.5,primitive,create:cache_hit,cpu,reorder,jit:uni,undef,a,b,c,8x64,0."
      "5\n");
  ASSERT_EQ(hits.creations.size(), 1);
  EXPECT_TRUE(hits.creations[0].hit);
  const auto ordered = fakes::FromLog("tf212_conv_opts0.log");
  EXPECT_FALSE(ordered.executions.at(0).start_seconds);
  EXPECT_EQ(ordered.primitives.at(0).problem, "96x288:288x16");
  EXPECT_EQ(ordered.primitives.at(0).auxiliary, "");
  const auto coloured = ReadVerboseLog(
      "onednn_verbose,v1,primitive,info,template:operation,engine,primitive,colour,problem_desc,"
      "prop_kind,exec_time\n"
      "onednn_verbose,v1,primitive,exec,cpu,reorder,green,8x64,undef,0.5\n");
  ASSERT_EQ(coloured.primitives.size(), 1);
  EXPECT_EQ(coloured.primitives[0].problem, "8x64");
  EXPECT_EQ(coloured.primitives[0].prop, "undef");
  EXPECT_THAT(coloured.primitives[0].others, ElementsAre(Pair("colour", "green")));
}

TEST(VerboseLog, CutAndMixedLinesAreCountedWithTheirReasons) {
  const std::string whole = kReorder;
  const std::string line = whole.substr(0, whole.size() - 1);
  const auto log = ReadVerboseLog(kTemplate + line.substr(0, 70) + "\n" +  // fewer fields
                                  line + "Epoch 2\n" +                     // text behind the time
                                  line.substr(0, 40) + whole +             // two lines in one
                                  line + ",jit:uni,undef,0.5\n" +          // the rest of another
                                  "onednn_verbose,v1,ukernel,check,cpu,brgemm,0.5\n");
  EXPECT_EQ(log.executions.size(), 1);
  EXPECT_EQ(log.lines.used, 1);
  EXPECT_EQ(log.lines.executed, 5);
  std::map<std::string, std::int64_t> refused;
  for (const auto& lines : log.lines.refused) refused[lines.reason] = lines.count;
  EXPECT_THAT(refused,
              ElementsAre(Pair("another line of oneDNN begins before its end", 1),
                          Pair("fewer fields than the template has", 1),
                          Pair("more fields than the template has: mixed with other output", 1),
                          Pair("neither the execution nor the creation of a primitive", 1),
                          Pair("no time at its end: cut, or mixed with other output", 1)));
  EXPECT_EQ(log.lines.refused.front().first_line, 2);
}

TEST(VerboseLog, WrappedColouredAndStoredLinesAreRead) {
  const auto read = [](const std::string& name) {
    return ReadVerboseLog(dlroof::ReadFile(fakes::TestData("faults/" + name), "a log"));
  };
  for (const char* name : {"wrapped.log", "spaces.log", "ansi.log", "docker.log"}) {
    const auto log = read(name);
    ASSERT_GE(log.executions.size(), 1U) << name;
    EXPECT_NEAR(log.executions.back().seconds, 127.159e-3, 1e-9) << name;
    EXPECT_EQ(log.lines.executed, log.lines.used) << name;
  }
  const auto number = read("number.log");
  ASSERT_EQ(number.executions.size(), 3U);
  EXPECT_NEAR(number.executions[1].seconds, 127.159e-3, 1e-9);
  EXPECT_NEAR(number.executions[2].seconds, 0.5e-3, 1e-9);
  // A number that the program prints after the longest line is its own.
  const auto own = ReadVerboseLog(kTemplate + std::string(kReorder) + "7.159\n");
  EXPECT_EQ(own.executions.at(0).seconds, 0.25e-3);
}

TEST(VerboseLog, ATimeOfZeroIsNoneAndOlderMarkersAndLogsWithoutTemplate) {
  const auto log =
      ReadVerboseLog(dlroof::ReadFile(fakes::TestData("faults/some.log"), "a log of a GPU"));
  ASSERT_EQ(log.executions.size(), 1U);
  EXPECT_EQ(log.executions[0].seconds, 1e-3);
  ASSERT_EQ(log.lines.refused.size(), 1U);
  EXPECT_EQ(log.lines.refused[0].count, 9);
  EXPECT_THAT(log.lines.refused[0].reason, testing::HasSubstr("its queue has no profiling"));
  const std::string line = kReorder;
  const auto with = [&](const char* time) {
    return ReadVerboseLog(kTemplate + line.substr(0, line.rfind(',') + 1) + time + "\n")
        .lines.refused.at(0)
        .reason;
  };
  EXPECT_EQ(with("-0.5"), "a negative time");
  EXPECT_EQ(with("nan"), "a time that is no number of ms");
  EXPECT_EQ(with("1e-30"), log.lines.refused[0].reason);
  const auto older = ReadVerboseLog(
      "dnnl_verbose,exec,cpu,matmul,gemm:jit,undef,src_f32::blocked:ab:f0 wei_f32::blocked:ab:f0 "
      "dst_f32::blocked:ab:f0,,,16x256:256x192,0.5\n");
  ASSERT_EQ(older.primitives.size(), 1);
  EXPECT_EQ(older.primitives[0].kind, "matmul");
}

// A line of a partition that takes `milliseconds`.
std::string Partition(const std::string& milliseconds) {
  return "onednn_verbose,v1,graph,exec,cpu,100002,sdp,matmul_qk;softmax,,in0_f16:0:strided,fpm:"
         "strict,larger_partition_kernel_t,dnnl_backend," +
         milliseconds + "\n";
}

TEST(VerboseLog, PartitionsAreExecutionsAndNestedCreationsHaveNoTimeOfTheirOwn) {
  auto log = fakes::FromLog("xpu_graph.log");
  ASSERT_EQ(log.executions.size(), 3);
  EXPECT_DOUBLE_EQ(log.executions[1].seconds, 7.7777e-3);
  const auto& partition = log.primitives[log.executions[1].primitive];
  EXPECT_EQ(partition.kind, "partition");
  EXPECT_EQ(partition.engine, "gpu");
  EXPECT_EQ(partition.implementation, "sdp_primitive_v1_kernel_t");
  EXPECT_EQ(partition.problem, "matmul_qk;scale_mul;softmax;matmul_v");
  EXPECT_EQ(log.lines.graph, 0);
  EXPECT_EQ(log.lines.used, 3);
  // Two reorders of 0.25 ms are within a partition of 0.6 ms, one is not within one of 9 ms.
  const auto both = ReadVerboseLog(std::string(kReorder) + kReorder + Partition("0.6"));
  EXPECT_EQ(both.executions.size(), 2);
  EXPECT_EQ(both.lines.graph, 1);
  EXPECT_EQ(ReadVerboseLog(kReorder + Partition("9")).executions.size(), 2);
  auto newer = Partition("9");  // oneDNN 3.13
  newer.insert(newer.find("larger"), "scratchpad:64,");
  EXPECT_EQ(ReadVerboseLog(newer).executions.size(), 1);
  // Three executions of 2.98804, 2.1521 and 3 ms, and a creation of 0.573975 ms.
  log = fakes::FromLog("decimal_comma.log");
  ASSERT_EQ(log.executions.size(), 3);
  EXPECT_DOUBLE_EQ(log.executions[0].seconds, 2.98804e-3);
  EXPECT_DOUBLE_EQ(log.executions[1].seconds, 2.1521e-3);
  EXPECT_DOUBLE_EQ(log.executions[2].seconds, 3e-3);
  ASSERT_EQ(log.creations.size(), 1);
  EXPECT_DOUBLE_EQ(log.creations[0].seconds, 0.573975e-3);
  EXPECT_THAT(log.lines.refused, IsEmpty());
  EXPECT_EQ(log.primitives.size(), 1);
  const auto stamped = ReadVerboseLog(
      "onednn_verbose,v1,1000,5,primitive,exec,cpu,reorder,jit:uni,undef,a,,,8x64,2,5e-05\n");
  ASSERT_EQ(stamped.executions.size(), 1);
  EXPECT_DOUBLE_EQ(stamped.executions[0].seconds, 2.5e-8);
  EXPECT_DOUBLE_EQ(stamped.executions[0].start_seconds.value(), 1.0005);
  const std::string fields = ",cpu,softmax,jit:uni,undef,src:f32::blocked:a::f0,,alg:x,512";
  const auto nested =
      ReadVerboseLog("onednn_verbose,v1,primitive,create:start" + fields +
                     "\nonednn_verbose,v1,primitive,create_nested:cache_miss" + fields +
                     ",40\nonednn_verbose,v1,primitive,create:cache_miss" + fields +
                     ",50.1\nonednn_verbose,v1,primitive,create:cache_miss" + fields + "\n");
  ASSERT_EQ(nested.creations.size(), 1);
  EXPECT_DOUBLE_EQ(nested.creations[0].seconds, 50.1e-3);
  EXPECT_EQ(nested.lines.created, 3);
  ASSERT_EQ(nested.lines.refused.size(), 1) << "512 is the problem, not a time";
}

// With a floating-point source the products are of its type, whatever the weights' type is.
TEST(ComputeType, IsThatOfTheSource) {
  const auto type = [](const std::string& tensors) {
    return ComputeTypeOf(ReadPrimitive(PrimitiveText{.kind = "matmul", .tensors = tensors}));
  };
  EXPECT_EQ(type("src:f32::blocked:ab::f0 wei:s8::blocked:ab::f0 dst:f32::blocked:ab::f0"), "f32");
  EXPECT_EQ(type("src:bf16::blocked:ab::f0 wei:s4::blocked:ab::f0 dst:bf16::blocked:ab::f0"),
            "bf16");
  EXPECT_EQ(type("src:u8::blocked:ab::f0 wei:s8::blocked:ab::f0 dst:f32::blocked:ab::f0"), "int8");
  EXPECT_FALSE(type("src:f8_e5m2::blocked:ab::f0 wei:s8::blocked:ab::f0"));
}

TEST(IsaOf, TheWordsNameTheInstructionSet) {
  const std::string narrow = "Intel AVX-512 with float16, Intel DL Boost and bfloat16 support";
  const std::string amx = " and Intel AMX with bfloat16 and 8-bit integer support",
                    amx_f16 = " and Intel AMX with bfloat16, float16 and 8-bit integer support";
  const std::pair<std::string, const char*> rows[] = {
      {"Intel AVX2", "avx2"},
      {"Intel AVX2 with Intel DL Boost", "avx2_vnni"},
      {"Intel AVX-512 with AVX512BW, AVX512VL, and AVX512DQ extensions", "avx512_core"},
      {"Intel AVX-512 with Intel DL Boost", "avx512_core_vnni"},
      {"Intel AVX-512 with Intel DL Boost and bfloat16 support", "avx512_core_bf16"},
      {narrow, "avx512_core_fp16"},
      {narrow + amx, "avx512_core_amx"},
      {narrow + amx_f16, "avx512_core_amx_fp16"},
      {"Intel AVX 10.1", "avx512_core_fp16"},
      {"Intel AVX10.2", "avx512_core_fp16"},
      {"Intel AVX10.1" + amx, "avx512_core_amx"},
      {"Intel AVX10.1" + amx_f16, "avx512_core_amx_fp16"}};
  for (const auto& [words, isa] : rows) EXPECT_EQ(IsaOf(words), isa) << words;
  EXPECT_FALSE(IsaOf("Generic"));
}

// Two threads of PyTorch 2.15 call blocks of 32x64:64x48; the second and third add to the result.
TEST(ReadVerboseLog, UkernelsAreExecutions) {
  const auto log = fakes::FromLog("pt_ukernel.log");
  EXPECT_EQ(log.lines.executed, 6);
  EXPECT_EQ(log.lines.used, 6);
  EXPECT_TRUE(log.lines.refused.empty());
  ASSERT_EQ(log.primitives.size(), 2);
  EXPECT_TRUE(IsUkernel(log.primitives[0]));
  const auto first = WorkOf(ReadPrimitive(log.primitives[0]));
  const auto adding = WorkOf(ReadPrimitive(log.primitives[1]));
  EXPECT_EQ(first.matrix, 2.0 * 32 * 64 * 48);
  EXPECT_EQ(first.elementwise, 0);
  EXPECT_EQ(adding.matrix, first.matrix);
  EXPECT_EQ(adding.elementwise, 32 * 48);
  EXPECT_FALSE(first.bytes) << "other blocks share its data in the caches";
  EXPECT_TRUE(first.reason);
}

TEST(WorkOf, ABatchOfBlocksIsASumOfProducts) {
  PrimitiveText text{.engine = "cpu",
                     .kind = "brgemm",
                     .tensors =
                         "src:bf16::blocked:ab::f0 wei:bf16::blocked:ab::f0 "
                         "dst:f32::blocked:ab::f0",
                     .auxiliary = "bs:4 beta:1",
                     .problem = "32x64:64x48"};
  EXPECT_EQ(WorkOf(ReadPrimitive(text)).matrix, 4 * 2.0 * 32 * 64 * 48);
  text.kind = "transform";
  text.problem = "64x48";
  EXPECT_TRUE(HasNoFlops(WorkOf(ReadPrimitive(text))));
}

// Process 30 is a worker of 20, and executes the same primitive and one of its own.
TEST(ReadVerboseLog, OtherProcessesAreApart) {
  const auto call = [](const char* problem) {
    return fmt::format("onednn_verbose,v1,primitive,exec,cpu,eltwise,jit:avx2,undef,,,,{},1\n",
                       problem);
  };
  const auto log = ReadVerboseLog("DLROOF_PROCESS,30,25,20\n" + call("8x8") + call("4x4") +
                                  "DLROOF_PROCESS,20\n" + call("8x8") + "DLROOF_PROCESS,30\n" +
                                  call("4x4") + call("4x4"));
  ASSERT_EQ(log.processes.size(), 2);
  EXPECT_EQ(log.processes[log.main_process].id, 20);
  ASSERT_EQ(log.executions.size(), 5);
  EXPECT_EQ(log.executions[2].process, log.main_process);
  EXPECT_NE(log.executions[0].primitive, log.executions[2].primitive);
  EXPECT_EQ(log.executions[1].primitive, log.executions[3].primitive);
}

// The tensors of a product.
std::string Filtered(bool bias) {
  return fmt::format(fmt::runtime(kFiltered), bias ? "f32" : "undef");
}

TEST(ReadPrimitive, BothFormsOfADescriptorSayTheSame) {
  for (const char* text : {"src_f32:a:blocked:aBcd8b:f0", "src:f32:a:blocked:aBcd8b::f0"}) {
    const auto tensors = ReadPrimitive({.tensors = text}).tensors;
    ASSERT_EQ(tensors.size(), 1) << text;
    EXPECT_EQ(tensors[0].role, "src");
    EXPECT_EQ(tensors[0].type, "f32");
    EXPECT_TRUE(tensors[0].Chosen());
    EXPECT_EQ(tensors[0].tag, "aBcd8b");
  }
}

TEST(PostOpsOf, BothSeparatorsAndExponents) {
  EXPECT_THAT(PostOpsOf("attr-scratchpad:user attr-post-ops:sum+eltwise_relu:1e+02:0+sum"),
              ElementsAre("sum", "eltwise_relu:1e+02:0", "sum"));
  EXPECT_THAT(PostOpsOf("attr-post-ops:'sum;eltwise_tanh;'"), ElementsAre("sum", "eltwise_tanh"));
  EXPECT_THAT(PostOpsOf("attr-scratchpad:user"), IsEmpty());
}

// Worked by hand: 4 byte an element.
TEST(PrimitiveWork, BytesAreEachTensorOnceAndAnUnknownWordMakesThemUnknown) {
  const auto bytes = [](const Primitive& primitive) { return WorkOf(primitive).bytes.value(); };
  EXPECT_EQ(bytes(Made("reorder", "undef", "src:f32::blocked:ab::f0 dst:bf16::blocked:ba::f0", "",
                       "8x64")),
            8 * 64 * (4 + 2));
  EXPECT_EQ(bytes(Made("convolution", "forward_training", Filtered(true), "",
                       "mb2_ic3oc4_ih5oh5kh3sh1dh0ph1_iw5ow5kw3sw1dw0pw1")),
            4 * (2 * 3 * 25 + 3 * 4 * 9 + 4 + 2 * 4 * 25));
  // The sum reads the destination; the binary reads an operand with one number per channel.
  EXPECT_EQ(bytes(Made("convolution", "forward_inference", Filtered(false), "",
                       "mb2_ic3oc4_ih5oh5kh3sh1dh0ph1_iw5ow5kw3sw1dw0pw1",
                       "attr-post-ops:sum+binary_mul:f32:2")),
            4 * (2 * 3 * 25 + 3 * 4 * 9 + 2 * (2 * 4 * 25) + 4));
  EXPECT_EQ(bytes(Made("eltwise", "forward_training", "data:f32::blocked:ab::f0",
                       "alg:eltwise_relu alpha:0 beta:0", "4x5")),
            4 * 2 * 20);
  EXPECT_EQ(
      bytes(Made("eltwise", "backward_data", "data:f32::blocked:ab::f0 diff:f32::blocked:ab::f0",
                 "alg:eltwise_relu alpha:0 beta:0", "4x5")),
      4 * 3 * 20);
  // The data twice; mean, variance, scale and shift of 3 channels.
  EXPECT_EQ(bytes(Made("batch_normalization", "forward_training", "data:f32::blocked:abcd::f0",
                       "flags:CH", "mb2ic3_ih5_iw5")),
            4 * (2 * 2 * 3 * 25 + 4 * 3));
  EXPECT_EQ(bytes(Made("concat", "undef",
                       "src:f32::blocked:ab::f0 src:f32::blocked:ab::f0 dst:f32::blocked:ab::f0",
                       "axis:1", "8x32:8x16 8x48")),
            4 * 2 * 8 * 48);
  // A word in a line that no version of oneDNN prints may change the work (UnknownWords).
  const std::string tensors = "src:f32:a:blocked:ab::f0 wei:s8::blocked:BA16a64b4a::f8:zpm2 ";
  const auto work = [](const std::string& all) {
    return WorkOf(Made("matmul", "undef", all, "", "16x256:256x192", "attr-scales:wei:2:f32"));
  };
  const std::string dst = "dst:f32:po:blocked:ab:768x1:f0";
  EXPECT_TRUE(work(tensors + dst).bytes);
  for (const char* bias : {"bia:f32::blocked:ab::f0_mask9 ", "bia:f32::blocked:ab::f0_maskx ",
                           "wei:f32::blocked:ab::f0_mask1 ", "src:f32::sparse:csr:f0 "}) {
    const auto one = work(tensors + bias + dst);
    EXPECT_FALSE(one.matrix && one.bytes) << bias;
    EXPECT_TRUE(one.reason.has_value());
  }
}

// 4096 x 64 times 64 x 4096 floats: 1 MiB each and 64 MiB; a bias of the sizes that its mask
// selects.
TEST(PrimitiveWork, TheMaskOfABiasSelectsItsSizesAndProductsOfOneDnn1HaveLetters) {
  const auto bytes = [](const std::string& mask) {
    return *WorkOf(Made("matmul", "undef",
                        "src:f32::blocked:ab::f0 wei:f32::blocked:ab::f0 bia:f32::blocked:ab::f0" +
                            mask + " dst:f32::blocked:ab::f0",
                        "", "4096x64:64x4096"))
                .bytes;
  };
  const double others = 2 * 1048576 + 67108864;
  EXPECT_EQ(bytes("_mask3"), others + 67108864);
  EXPECT_EQ(bytes("_mask2"), others + 4096 * 4);
  EXPECT_EQ(bytes("_mask1"), others + 4096 * 4);
  EXPECT_EQ(bytes("_mask0"), others + 4);
  const auto product = WorkOf(Made("matmul", "undef",
                                   "src_f32::blocked:ab:f0 wei_f32::blocked:ab:f0 "
                                   "bia_f32::blocked:ab:f0 dst_f32::blocked:ab:f0",
                                   "", "m50n50k50"));
  EXPECT_EQ(*product.matrix + *product.elementwise, 2 * 50 * 50 * 50 + 2500);
  EXPECT_EQ(*product.bytes, 4 * 50 * 50 * 4);
  EXPECT_EQ(*WorkOf(Made("matmul", "undef",
                         "src_f32::blocked:abc:f0 wei_f32::blocked:abc:f0 dst_f32::blocked:abc:f0",
                         "", "b6m200n200k16"))
                 .matrix,
            7.68e6);
}

TEST(PrimitiveWork, UnknownWorkHasAReason) {
  const auto reason = [](const Primitive& primitive) {
    const auto work = WorkOf(primitive);
    EXPECT_FALSE(work.matrix);
    return work.reason.value().text;
  };
  EXPECT_EQ(reason(Made("zero_pad", "undef", kInOut, "", "2x3")),
            "no closed form of the kind 'zero_pad'");
  EXPECT_EQ(reason(Made("group_normalization", "forward_training", kInOut, "", "mb2ic3")),
            "the problem lacks g or ic");
  EXPECT_EQ(reason(Made("matmul", "undef", kInOut, "", "*x16:16x8")),
            "sizes are known only at run time");
  EXPECT_EQ(reason(Made("convolution", "forward", kInOut, "", "nonsense")),
            "the problem has another form than letters with sizes");
  EXPECT_EQ(reason(Made("reduction", "undef", kInOut, "alg:reduction_sum", "2x3:20x3")),
            "the problem has impossible sizes");
  const auto unsized =
      WorkOf(Made("reorder", "undef", kInOut, "", "8x64", "attr-post-ops:binary_add:f32"));
  EXPECT_EQ(*unsized.elementwise, 8 * 64);
  EXPECT_FALSE(unsized.bytes);
  EXPECT_EQ(unsized.reason.value().text, "the operand of a post-op has no printed size");
}

}  // namespace
}  // namespace dlroof::logs
