// Each operator against oneDNN's own log of its calls: the reader of logs finds the work that the
// operator states, and the benchmark itself.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dnnl.hpp>
#include <numeric>

#include "bench/suites/benchdnn.h"
#include "bench/suites/suite.h"
#include "bench/workload/workload.h"
#include "reporters/logs/primitive.h"
#include "reporters/logs/verbose_log.h"

namespace dlroof::onednn {
namespace {

// Returns the primitives that a call executes, as the library logs them.
std::vector<logs::Primitive> LoggedPrimitives(const workload::PreparedCall& call) {
  testing::internal::CaptureStdout();
  dnnl::set_verbose(1);
  call.run();
  dnnl::set_verbose(0);
  std::fflush(stdout);
  const auto log = logs::ReadVerboseLog(testing::internal::GetCapturedStdout());
  std::vector<logs::Primitive> primitives;
  for (const auto& execution : log.executions)
    primitives.push_back(logs::ReadPrimitive(log.primitives[execution.primitive]));
  return primitives;
}

double SumOf(const std::map<std::string, double>& parts) {
  return std::accumulate(parts.begin(), parts.end(), 0.0,
                         [](double sum, const auto& part) { return sum + part.second; });
}

struct LoggedWork {
  double flops = 0, bytes = 0;
};
LoggedWork WorkOf(const std::vector<logs::Primitive>& primitives) {
  LoggedWork sum;
  for (const auto& primitive : primitives) {
    const auto work = logs::WorkOf(primitive);
    EXPECT_FALSE(work.reason) << work.reason->text << ": " << primitive.text.problem;
    sum.flops += work.matrix.value_or(0) + work.elementwise.value_or(0);
    sum.bytes += work.bytes.value_or(0);
  }
  return sum;
}

// Returns the benchmark that the line of benchdnn for the primitive is, or why there is none.
std::string BenchmarkOf(const logs::Primitive& primitive) {
  const auto line = suites::BenchdnnLine(primitive);
  if (!line) return "no line";
  const auto found = suites::ReadBenchdnn(*line, "line");
  return found.size() == 1 ? found[0].name.value_or(found[0].reason) : *line;
}

// Prepares a benchmark. Returns
// nothing if the library refuses it on this CPU.
std::optional<workload::PreparedCall> Prepared(const std::string& name) {
  try {
    return workload::MakeWorkload(name).prepare({.threads = 1});
  } catch (const Unsupported&) {
    return std::nullopt;
  }
}

class EveryOperator : public testing::TestWithParam<const char*> {};

TEST_P(EveryOperator, HasTheWorkThatItsLogHas) {
  const auto call = Prepared(GetParam());
  if (!call) GTEST_SKIP() << GetParam() << " is unsupported on this CPU";
  const auto primitives = LoggedPrimitives(*call);
  ASSERT_FALSE(primitives.empty());
  const auto logged = WorkOf(primitives);
  EXPECT_EQ(logged.flops, SumOf(call->modelled.flops)) << primitives[0].text.problem;
  EXPECT_EQ(logged.bytes, call->modelled.bytes.at(Level::kDram)) << primitives[0].text.tensors;
}

INSTANTIATE_TEST_SUITE_P(
    LoggedWork, EveryOperator,
    testing::Values(
        "Conv2D/cpu/onednn/fwd/f32/n2c16h9w11k32r3s3_s2p1/bias/relu",
        "Conv2D/cpu/onednn/fwd/f32/n2c16h9w11k32r3s3_s2x1p1d2g4",
        "Conv2D/cpu/onednn/fwd/f32/n1c32h12w24k16r3s3_p6:5x24:25d6x24/bias",
        "Conv2D/cpu/onednn/bwd_data/f32/n2c16h9w11k32r3s3_p3d3",
        "Conv2D/cpu/onednn/bwd_weights/f32/n2c16h9w11k32r3s3_s2p4d4",
        "Conv2D/cpu/onednn/fwd/bf16/n2c16h9w11k32r3s3_p1/bias",
        "Conv2D/cpu/onednn/fwd/int8/n2c16h9w11k32r1s1/bias/scales",
        "Conv2D/cpu/onednn/bwd_data/f32/n2c16h9w11k32r3s3_p1",
        "Conv2D/cpu/onednn/bwd_weights/f32/n2c16h9w11k32r3s3_p1/bias",
        "Matmul/cpu/onednn/fwd/f32/b3m20n30k40_tB/bias/relu",
        "Matmul/cpu/onednn/fwd/bf16/m20n30k40", "Matmul/cpu/onednn/fwd/f32/m20n30k40/bias/sum/any",
        "Matmul/cpu/onednn/fwd/f32/m20n30k40/sum/gelu_tanh",
        "Matmul/cpu/onednn/fwd/bf16/m20n30k40/bias/gelu_erf",
        "Matmul/cpu/onednn/fwd/f32/m20n30k40/ip/sum/relu",
        "Matmul/cpu/onednn/fwd/u8s8f32/m20n30k40", "Matmul/cpu/onednn/bwd_weights/f32/m20n30k40",
        "Matmul/cpu/onednn/fwd/f32/m20n30k40/ip/bias/relu",
        "Matmul/cpu/onednn/bwd_data/f32/m20n30k40/ip",
        "Matmul/cpu/onednn/bwd_weights/f32/m20n30k40/ip/bias",
        "LSTM/cpu/onednn/fwd_inference/f32/t3n4i16h16l2",
        "LSTM/cpu/onednn/fwd_inference/f32/t3n4i16h16/peephole",
        "LSTM/cpu/onednn/fwd_inference/f32/t3n4i16h16bisum",
        "LSTM/cpu/onednn/fwd_inference/f32/t3n4i16h16bi",
        "LSTM/cpu/onednn/fwd_training/f32/t3n4i8h16p8", "LSTM/cpu/onednn/bwd/f32/t3n4i16h16",
        "Softmax/cpu/onednn/fwd/f32/m12n40", "Softmax/cpu/onednn/fwd/bf16/m12n40/training",
        "Eltwise/cpu/onednn/fwd/f32/m12n40/gelu_erf", "Eltwise/cpu/onednn/fwd/bf16/m12n40/training",
        "Conv3D/cpu/onednn/fwd/f32/n2c16d5h9w11k32t3r3s3_s2p1/bias",
        "Conv3D/cpu/onednn/fwd/f32/n1c16d5h9w11k32t3r1s3_p2:0x0:0x1:1d1x1x2g2",
        "Conv3D/cpu/onednn/bwd_weights/f32/n2c16d5h9w11k32t3r3s3_s1x2x2p1x1x0/bias",
        "GroupedMatmul/cpu/onednn/fwd/f32/g4m9n16k32_zipf2", "SwiGlu/cpu/onednn/fwd/f32/m12n40",
        "SwiGlu/cpu/onednn/fwd/bf16/m12n40", "LayerNorm/cpu/onednn/fwd/f32/m12n40",
        "LayerNorm/cpu/onednn/fwd/f32/m12n40/training/scale/shift",
        "LayerNorm/cpu/onednn/fwd/bf16/m12n40/scale"));

TEST(LoggedBenchmark, IsTheBenchmarkItself) {
  for (const std::string name :
       {"Conv2D/cpu/onednn/fwd/f32/n2c16h9w11k32r3s3_s2p1/training/bias/relu",
        "Matmul/cpu/onednn/fwd/f32/b3m20n30k40_tB",
        "Matmul/cpu/onednn/fwd/f32/b3m20n30k40/bias/relu",
        "Matmul/cpu/onednn/fwd/f32/m20n30k40/ip/training",
        "Matmul/cpu/onednn/fwd/f32/m20n30k40/bias/sum/gelu_erf",
        "LSTM/cpu/onednn/fwd_inference/f32/t3n4i16h16l2",
        "Softmax/cpu/onednn/fwd/f32/m12n40/training", "Eltwise/cpu/onednn/fwd/f32/m12n40/gelu_tanh",
        "Conv3D/cpu/onednn/fwd/f32/n2c16d5h9w11k32t3r3s3_s2p1/training/bias/relu",
        "LayerNorm/cpu/onednn/fwd/f32/m12n40/scale/shift"}) {
    const auto primitives = LoggedPrimitives(Prepared(name).value());
    ASSERT_EQ(primitives.size(), 1U) << name;
    EXPECT_EQ(BenchmarkOf(primitives[0]), name);
  }
}

}  // namespace
}  // namespace dlroof::onednn
