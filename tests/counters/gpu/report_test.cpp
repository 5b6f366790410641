#include <gmock/gmock.h>

#include <filesystem>
#include <limits>
#include <set>

#include "bench/conv2d/cudnn_case.h"
#include "bench/lstm/cudnn_case.h"
#include "counters/gpu/api.h"
#include "counters/gpu/counter.h"
#include "counters/gpu/session.h"
#include "tests/fakes/cupti_recording.h"
#include "tests/test_data.h"

namespace dlroof::gpu {
namespace {

using testing::Contains, testing::HasSubstr, testing::IsEmpty;

const std::string kSass = "sm__sass_thread_inst_executed_op_";
using Values = std::map<std::string, double>;

// [flop] of one call of a benchmark on cuDNN.
double DenseFlops(const std::string& name) {
  const auto parsed = workload::ParseBenchmarkName(name);
  if (parsed.op == "Conv2D")
    return static_cast<double>(
        conv2d::DenseFlops(conv2d::ReadCudnnConv2dCase(parsed).conv.problem));
  const auto request = lstm::ReadCudnnLstmCase(parsed);
  const auto work =
      lstm::ModelledWork(request.problem, request.direction, lstm::UniformLstmType("f32"),
                         lstm::RnnPipe(request.type), "fp32.vector", 1);
  double flops = 0;
  for (const auto& [pipe, count] : work.flops) flops += count;
  return flops;
}

// Returns the chip's metrics that have a value.
std::vector<CuptiMetric> MetricsWith(const std::string& chip, const Values& values) {
  const auto& table = BuiltInCuptiTable();
  std::vector<CuptiMetric> metrics;
  for (const auto& set : table.sets)
    for (const auto* metric : MetricsOf(table, set, *FindChip(table, chip)))
      if (values.count(metric->name) != 0) metrics.push_back(*metric);
  return metrics;
}

CuptiCounts Decode(const Values& values, const std::vector<std::string>& pipes = {},
                   const std::string& chip = "GH100") {
  return DecodeCounters(MetricsWith(chip, values), values, pipes);
}

Values Sass(const std::string& letter, double adds, double muls, double fmas) {
  return {{kSass + letter + "add_pred_on.sum", adds},
          {kSass + letter + "mul_pred_on.sum", muls},
          {kSass + letter + "fma_pred_on.sum", fmas}};
}

// 3 + 5 + 2 * 7 = 22, and twice that for halves, which are two wide.
TEST(DecodeCounters, FlopsAreAddsMulsAndTwiceTheFmasAndBlackwellsPairedSinglePrecisionIsIn) {
  EXPECT_EQ(Decode(Sass("d", 3, 5, 7)).work.flops, (Values{{"fp64.vector", 22}}));
  EXPECT_EQ(Decode(Sass("f", 3, 5, 7)).work.flops, (Values{{"fp32.vector", 22}}));
  EXPECT_EQ(Decode(Sass("h", 3, 5, 7), {"fp16.vector"}).work.flops, (Values{{"fp16.vector", 44}}));
  // The pairs of GB100: 22 + 2 * 1 + 2 * 10 + 4 * 100 = 444; on GH100 they do not exist.
  auto values = Sass("f", 3, 5, 7);
  values[kSass + "fadd2_pred_on.sum"] = 1;
  values[kSass + "fmul2_pred_on.sum"] = 10;
  values[kSass + "ffma2_pred_on.sum"] = 100;
  EXPECT_EQ(Decode(values, {}, "GB100").work.flops, (Values{{"fp32.vector", 444}}));
  EXPECT_EQ(Decode(values, {}, "GH100").work.flops, (Values{{"fp32.vector", 22}}));
}

TEST(DecodeCounters, HalfInstructionsAreOfTheCallsTypeAndTensorOperationsCountOnceEach) {
  const auto half = [](const std::vector<std::string>& pipes) {
    return Decode(Sass("h", 1, 0, 0), pipes);
  };
  EXPECT_EQ(half({"bf16.matrix", "fp32.vector"}).work.flops, (Values{{"bf16.vector", 2}}));
  EXPECT_THAT(half({"bf16.matrix"}).caveats, IsEmpty());
  for (const auto& pipes : {std::vector<std::string>{}, {"fp16.matrix", "bf16.matrix"}}) {
    EXPECT_EQ(half(pipes).work.flops, (Values{{"fp16.vector", 2}}));
    EXPECT_THAT(half(pipes).caveats, Contains(HasSubstr("one counter counts")));
  }
  // 7 constants loaded by 4 FLOPs each beside 2 * 14001 and beside 2 * 13985: 28 of 28030 FLOPs are
  // 0.0999 % and no work, 28 of 27998 are 0.1 %.
  auto values = Sass("h", 0, 0, 7);
  values[kSass + "ffma_pred_on.sum"] = 14001;
  const auto counts = Decode(values, {"fp32.vector"});
  EXPECT_EQ(counts.work.flops, (Values{{"fp32.vector", 28002}, {"fp16.vector", 0}}));
  EXPECT_THAT(counts.caveats, IsEmpty());
  EXPECT_EQ(Decode(values, {"fp16.vector"}).work.flops.at("fp16.vector"), 28);
  EXPECT_EQ(Decode(values, {"bf16.vector"}).work.flops.at("bf16.vector"), 28);
  values[kSass + "ffma_pred_on.sum"] = 13985;
  EXPECT_EQ(Decode(values, {"fp32.vector"}).work.flops.at("fp16.vector"), 28);
  const std::string path = "sm__ops_path_tensor_src_";
  EXPECT_EQ(Decode({{path + "bf16_dst_fp32.sum", 100}, {path + "int8.sum", 7}}).work.flops,
            (Values{{"bf16.matrix", 100}, {"int8.matrix", 7}}));
  // Two sums' types on Ampere, one name on Hopper.
  EXPECT_EQ(Decode({{path + "fp16_dst_fp16.sum", 1}, {path + "fp16_dst_fp32.sum", 10}}, {}, "GA100")
                .work.flops,
            (Values{{"fp16.matrix", 11}}));
  EXPECT_EQ(Decode({{path + "fp16.sum", 10}}).work.flops, (Values{{"fp16.matrix", 10}}));
}

// 1000 byte of tags and 3 wavefronts of 128 byte; 10 sectors of 32 byte.
TEST(DecodeCounters, BytesByLevelOfWhichL1NeedsSharedMemoryAndPcieIsTheHosts) {
  const Values values = {{"l1tex__t_bytes.sum", 1000},
                         {"l1tex__data_pipe_lsu_wavefronts_mem_shared.sum", 3},
                         {"lts__t_sectors_srcunit_tex.sum", 10},
                         {"lts__t_bytes.sum", 400},
                         {"dram__bytes.sum", 77},
                         {"lts__t_sectors_aperture_sysmem.sum", 2}};
  const auto counts = Decode(values);
  EXPECT_EQ(counts.work.bytes,
            (std::map<Level, double>{
                {Level::kL1, 1384}, {Level::kL2, 320}, {Level::kDram, 77}, {Level::kHost, 64}}));
  EXPECT_EQ(counts.details.at("shared"), 384);
  EXPECT_EQ(counts.details.at("l2.slices"), 400);
  EXPECT_TRUE(counts.work.flops.empty()) << "not counted is not zero";
  EXPECT_TRUE(Decode({{"l1tex__t_bytes.sum", 1000}}).work.bytes.empty());
  const auto of_host = Decode({{"lts__t_sectors_aperture_sysmem.sum", 2},
                               {"pcie__read_bytes.sum", 500},
                               {"pcie__write_bytes.sum", 11}});
  EXPECT_EQ(of_host.work.bytes.at(Level::kHost), 511);
  EXPECT_THAT(of_host.caveats, Contains(HasSubstr("of other processes")));
}

TEST(DecodeCounters, ABrokenValueIsUnknownAndOddDramAndTensorInstructionsAreReasons) {
  for (const double broken : {std::nan(""), -1.0, std::numeric_limits<double>::infinity()}) {
    auto values = Sass("f", 3, broken, 7);
    values["dram__bytes.sum"] = 5;
    const auto counts = Decode(values);
    EXPECT_TRUE(counts.work.flops.empty());
    EXPECT_EQ(counts.work.bytes.at(Level::kDram), 5);
    EXPECT_THAT(counts.caveats, Contains(HasSubstr("op_fmul_pred_on.sum has no valid value")));
  }
  const auto metrics = MetricsWith("GH100", {{"dram__bytes.sum", 1}});
  EXPECT_THAT(DecodeCounters(metrics, {}, {}).caveats, Contains(HasSubstr("dram is unknown")));
  Values values = {
      {"dram__bytes.sum", 100}, {"dram__bytes_read.sum", 60}, {"dram__bytes_write.sum", 39}};
  EXPECT_THAT(Decode(values).caveats, IsEmpty());
  values["dram__bytes_write.sum"] = 30;
  EXPECT_THAT(Decode(values).caveats, Contains(HasSubstr("add up to 90 byte")));
  const std::string tf32 = "sm__ops_path_tensor_src_tf32_dst_fp32.sum";
  Values instructions = {{tf32, 0}, {"sm__inst_executed_pipe_tensor.sum", 12}};
  EXPECT_THAT(Decode(instructions).caveats,
              Contains(HasSubstr("12 instructions, but none of a counted type")));
  instructions[tf32] = 1;
  EXPECT_THAT(Decode(instructions).caveats, IsEmpty());
  // 12 warps of 32 threads that load a constant by a half-precision multiply-add each.
  Values constants = {{"sm__ops_path_tensor_src_tf32_dst_fp32.sum", 0},
                      {"sm__inst_executed_pipe_tensor.sum", 12},
                      {kSass + "hfma_pred_on.sum", 12 * 32},
                      {kSass + "ffma_pred_on.sum", 1e6}};
  EXPECT_THAT(Decode(constants, {"fp32.vector"}).caveats, IsEmpty());
  constants["sm__inst_executed_pipe_tensor.sum"] = 13;
  EXPECT_THAT(Decode(constants, {"fp32.vector"}).caveats, Contains(HasSubstr("13 instructions")));
}

// Every tests/data/cupti_*.json by its name: recordings of a GPU, and published values.
std::map<std::string, fakes::CuptiRecording> Recordings() {
  std::map<std::string, fakes::CuptiRecording> recordings;
  for (const auto& entry : std::filesystem::directory_iterator(fakes::TestData(""))) {
    const auto name = entry.path().filename().string();
    if (name.rfind("cupti_", 0) != 0) continue;
    recordings[name] = fakes::ReadRecording(entry.path());
  }
  return recordings;
}

void ExpectKnown(const fakes::CuptiRecording& recording, const fakes::RecordedCall& call,
                 JudgedCounters& judged) {
  auto work = Decode(call.values, call.pipes, recording.chip).work;
  if (!call.kernels.empty()) work.launches = static_cast<double>(call.kernels.size());
  JudgeCounters({call.name, call.pipes, *call.expected, {}}, work, judged);
  for (const auto& [pipe, flops] : call.expected->flops)
    EXPECT_EQ(work.flops.count(pipe), 1U) << call.name << ": " << pipe;
  for (const auto& [level, bytes] : call.expected->bytes)
    EXPECT_EQ(work.bytes.count(level), 1U) << call.name << ": " << Key(level);
}

// A layer: its name says how many FLOPs it has. Winograd executes a quarter of them at the least,
// tiles of small layers a multiple; more is a wrong weight or a wrong counter.
void ExpectLikely(const fakes::CuptiRecording& recording, const fakes::RecordedCall& call) {
  const auto counts = Decode(call.values, call.pipes, recording.chip);
  for (const auto& reason : counts.caveats)
    EXPECT_THAT(reason, testing::Not(HasSubstr("no valid value"))) << call.name;
  const auto known = [&](const std::string& quantity) {
    return std::ranges::count(recording.failed, quantity) == 0;
  };
  double counted = 0;
  for (const auto& pipe : call.pipes) {
    EXPECT_EQ(counts.work.flops.count(pipe), 1U) << call.name << ": " << pipe;
    if (!known(pipe)) return;
    counted += counts.work.flops.at(pipe);
  }
  const double dense = DenseFlops(call.name);
  EXPECT_GT(counted, dense / 5) << call.name;
  EXPECT_LT(counted, dense * 64) << call.name;
  for (const auto level : {Level::kL2, Level::kDram})
    EXPECT_EQ(counts.work.bytes.count(level), 1U) << call.name << ": " << Key(level);
}

// Exactly the counters that failed on the hardware fail here.
TEST(RecordedCounters, DecodeToWhatIsKnownOfEachCall) {
  int calls = 0, layers = 0;
  for (const auto& [name, recording] : Recordings()) {
    SCOPED_TRACE(name);
    JudgedCounters judged;
    for (const auto& call : recording.calls) {
      ++(call.expected ? calls : layers);
      if (call.expected)
        ExpectKnown(recording, call, judged);
      else
        ExpectLikely(recording, call);
    }
    std::vector<std::string> failed;
    for (const auto& [quantity, row] : judged)
      if (row.grade != CounterGrade::kValidated) {
        failed.push_back(quantity);
        EXPECT_THAT(recording.failed, Contains(quantity)) << row.evidence;
      }
    EXPECT_THAT(failed, testing::UnorderedElementsAreArray(recording.failed));
  }
  EXPECT_GE(calls, 3);
  EXPECT_GE(layers, 2);
}

// In every call of f32, tf32, f16 and bf16 that an H200 counted with all types, the type's own
// pipes did all the work: the metrics that its plan leaves out were 0, and the plan has the same
// FLOPs.
TEST(RecordedCounters, TheTypeOfACallNamesEveryPipeThatWorkedOnAnH200) {
  const auto recording = Recordings().at("cupti_h200_layers.json");
  const auto& table = BuiltInCuptiTable();
  std::set<std::string> types;
  for (const auto& call : recording.calls) {
    SCOPED_TRACE(call.name);
    const auto type = workload::ParseBenchmarkName(call.name).type;
    types.insert(type);
    const auto everything = Decode(call.values, call.pipes).work.flops;
    EXPECT_EQ(std::ranges::count_if(everything,
                                    [](const auto& row) { return row.first.ends_with(".matrix"); }),
              6);
    auto asked = call.values;
    const auto counted = TensorTypesOf(table, type, call.pipes);
    for (const auto& set : table.sets)
      if (!set.free && !set.type.empty() && std::ranges::count(counted, set.type) == 0)
        for (const auto* metric : MetricsOf(table, set, *FindChip(table, recording.chip)))
          asked.erase(metric->name);
    const auto planned = Decode(asked, call.pipes).work.flops;
    for (const auto& [pipe, flops] : everything)
      EXPECT_EQ(planned.contains(pipe) ? planned.at(pipe) : 0, flops) << pipe;
    EXPECT_EQ(planned.size(), everything.size() - 5);
  }
  EXPECT_THAT(types, testing::ElementsAre("bf16", "f16", "f32", "tf32"));
}

// HMMA counts HFMA2.MMA too. If those are not counted apart, only 0 HMMA prove an idle bf16 pipe.
TEST(CheckUnreadPipes, KnowsZeroFromInstructionsOnly) {
  const auto check = [](std::map<std::string, double> instructions, const char* asked) {
    CuptiCounts counts;
    counts.work.flops = {{asked, 5}, {"fp32.vector", 1}};
    counts.instructions = std::move(instructions);
    std::vector<std::string> unread = {"fp64.matrix", "int8.matrix", "bf16.matrix"};
    std::erase(unread, asked);
    auto unknown = CheckUnreadPipes(unread, counts);
    return std::pair(unknown, counts);
  };
  using testing::ElementsAre;
  const auto nothing = check({}, "fp16.matrix");
  EXPECT_THAT(nothing.first, ElementsAre("fp64.matrix", "int8.matrix", "bf16.matrix"));
  EXPECT_EQ(nothing.second.work.flops.size(), 2U);

  const auto integers = check({{"tensor.imma", 0}, {"tensor.hmma", 9}}, "fp16.matrix");
  EXPECT_THAT(integers.first, ElementsAre("fp64.matrix", "bf16.matrix"));
  EXPECT_EQ(integers.second.work.flops.at("int8.matrix"), 0);
  EXPECT_FALSE(integers.second.work.flops.contains("bf16.matrix"));

  // An integer call: 3 - 3 of the floating-point instructions are left.
  const auto moves = check({{"tensor.hmma", 3}, {"tensor.hfma2", 3}}, "int8.matrix");
  EXPECT_EQ(moves.second.work.flops.at("bf16.matrix"), 0);
  const auto maybe = check({{"tensor.hmma", 3}}, "int8.matrix");
  EXPECT_THAT(maybe.first, ElementsAre("fp64.matrix", "bf16.matrix"));
  EXPECT_EQ(maybe.second.work.flops.size(), 2U);
  const auto worked = check({{"tensor.hmma", 10}, {"tensor.hfma2", 3}}, "int8.matrix");
  EXPECT_THAT(worked.first, ElementsAre("fp64.matrix", "bf16.matrix"));
  EXPECT_TRUE(worked.second.work.flops.empty());
  EXPECT_THAT(worked.second.caveats,
              ElementsAre(HasSubstr("tensor cores executed 7 floating-point instructions")));
}

// The f32 LSTM of an H200: 18688 instructions on tensor cores, all of them HFMA2.MMA, though its
// 590080 threads' HFMA2 fill only 18440 warps.
TEST(DecodeCounters, VectorInstructionsOnTensorCoresAreCountedWhereTheyCanBe) {
  Values values = {{"sm__ops_path_tensor_src_tf32_dst_fp32.sum", 0},
                   {kSass + "hfma_pred_on.sum", 590080},
                   {"sm__inst_executed_pipe_tensor.sum", 18688}};
  EXPECT_THAT(Decode(values).caveats, Contains(HasSubstr("tensor cores executed 1.869e+04 inst")));
  values["sm__inst_executed_pipe_tensor_op_hmma_type_hfma2.sum"] = 18688;
  EXPECT_THAT(Decode(values).caveats, testing::Not(Contains(HasSubstr("tensor cores executed"))));
}

// [1] The counts of each quantity over the known work, in the order of the recording's calls.
std::map<std::string, std::vector<double>> CountedOverKnown(
    const fakes::CuptiRecording& recording) {
  std::map<std::string, std::vector<double>> ratios;
  for (const auto& call : recording.calls) {
    if (!call.expected) continue;
    const auto work = Decode(call.values, call.pipes, recording.chip).work;
    for (const auto& [pipe, flops] : call.expected->flops)
      ratios[pipe].push_back(work.flops.at(pipe) / flops);
    for (const auto& [level, bytes] : call.expected->bytes)
      ratios[std::string(Key(level))].push_back(work.bytes.at(level) / bytes);
    if (call.expected->launches)
      ratios["launches"].push_back(static_cast<double>(call.kernels.size()) /
                                   *call.expected->launches);
  }
  return ratios;
}

// Each quantity on its own kernel within 0.2 %. L1 also in shared memory, whose first loads and
// last stores miss the 0.2 %: 0.6 %.
TEST(RecordedCounters, AnH200CountsKnownWorkAndConvolutionsAsTheModelDoes) {
  const auto recordings = Recordings();
  const auto ratios = CountedOverKnown(recordings.at("cupti_h200.json"));
  EXPECT_EQ(ratios.size(), 13U);
  for (const auto& [quantity, of_calls] : ratios) {
    EXPECT_NEAR(of_calls.front(), 1, 0.002) << quantity;
    for (const double ratio : of_calls) EXPECT_NEAR(ratio, 1, 0.006) << quantity;
  }
  // A convolution pads nothing forward; its gradient of the weights in f16 and its f32 gradient of
  // the source of stride 2 compute more than their useful work.
  const auto& recording = recordings.at("cupti_h200.json");
  const auto over_dense = [&](const std::string& begin, const std::string& pipe) {
    for (const auto& call : recording.calls)
      if (call.name.starts_with(begin))
        return Decode(call.values, call.pipes, recording.chip).work.flops.at(pipe) /
               DenseFlops(call.name);
    return 0.0;
  };
  EXPECT_DOUBLE_EQ(over_dense("Conv2D/gpu/cudnn/fwd/f16/", "fp16.matrix"), 1);
  EXPECT_DOUBLE_EQ(over_dense("Conv2D/gpu/cudnn/fwd/tf32/", "tf32.matrix"), 1);
  EXPECT_NEAR(over_dense("Conv2D/gpu/cudnn/bwd_weights/f16/", "fp16.matrix"), 1.111, 0.001);
  EXPECT_NEAR(over_dense("Conv2D/gpu/cudnn/bwd_data/f32/", "fp32.vector"), 4.007, 0.001);
  const auto kernels = LaunchedKernels(recording.calls.front().kernels, std::nullopt);
  ASSERT_EQ(kernels.size(), 1U);
  EXPECT_THAT(kernels.front().name, HasSubstr("Chain"));
}

}  // namespace
}  // namespace dlroof::gpu
