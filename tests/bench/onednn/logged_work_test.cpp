#include <gmock/gmock.h>
#include <omp.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <dnnl.hpp>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "bench/onednn/call.h"
#include "bench/suites/benchdnn.h"
#include "bench/suites/suite.h"
#include "bench/workload/library_rules.h"
#include "bench/workload/memory.h"
#include "bench/workload/workload.h"
#include "reporters/logs/primitive.h"
#include "tests/fakes/logged_primitives.h"
#include "tests/fakes/refusal.h"

namespace dlroof::onednn {
namespace {

using dnnl::memory;

// Each operator against oneDNN's own log of its calls: the reader of logs finds the work that the
// operator states, and the benchmark itself.

double SumOf(const std::map<std::string, double>& parts) {
  return std::accumulate(parts.begin(), parts.end(), 0.0,
                         [](double sum, const auto& part) { return sum + part.second; });
}

// Returns the benchmark that the primitive's benchdnn line means, or why there is none.
std::string BenchmarkOf(const logs::Primitive& primitive) {
  const auto line = suites::BenchdnnLine(primitive);
  if (!line) return "no line";
  const auto found = suites::ReadBenchdnn(*line, "line");
  return found.size() == 1 ? found[0].name.value_or(found[0].reason) : *line;
}

// Prepares a benchmark. Returns nothing if the library refuses it on this CPU.
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
  const auto primitives = fakes::LoggedPrimitives(*call);
  ASSERT_FALSE(primitives.empty());
  const auto logged = fakes::WorkOf(primitives);
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
    const auto primitives = fakes::LoggedPrimitives(Prepared(name).value());
    ASSERT_EQ(primitives.size(), 1U) << name;
    EXPECT_EQ(BenchmarkOf(primitives[0]), name);
  }
}

TEST(OnednnMemories, KeepTheirValuesInEveryLayoutBeginAtMultiplesOf2MiBAndOutliveAMove) {
  // 20 channels in blocks of 16: the layout has padding that must not be read back.
  const memory::desc blocked({2, 20, 3, 5}, memory::data_type::f32, memory::format_tag::nChw16c);
  std::vector<float> values(600);
  Tensors tensors;
  std::iota(values.begin(), values.end(), 1.0F);
  EXPECT_EQ(Plain(tensors.Filled(blocked, values)), values);
  for (const std::string type : {"f32", "bf16", "u8", "s8"}) {
    values = workload::SeededValues(21, 1, type, type == "u8" ? 0.0F : -9.0F, 9.0F);
    EXPECT_EQ(Plain(tensors.Filled(PlainDesc({3, 7}, DataType(type)), values)), values) << type;
  }
  Tensors others;
  const auto desc = PlainDesc({2, 2}, memory::data_type::f32);
  EXPECT_THAT(Plain(others.Zeroed(desc)), testing::Each(0.0F));
  EXPECT_THROW(others.Filled(desc, {1, 2, 3}), std::logic_error);
  for (const std::string type : {"f32", "bf16"})
    for (const float value : Plain(others.Poisoned(PlainDesc({2, 3}, DataType(type)))))
      EXPECT_TRUE(std::isnan(value)) << type;
  // This makes the relative position of tensors the same in every process, and as in benchdnn.
  Tensors first;
  const auto plain = PlainDesc({3}, memory::data_type::f32);
  const std::vector<memory> made = {first.Empty(plain), first.Zeroed(plain),
                                    first.Filled(plain, {1, 2, 3})};
  const Tensors second = std::move(first);
  for (const auto& each : made)
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(each.get_data_handle()) % (2 << 20), 0U);
  EXPECT_THAT(Plain(made[2]), testing::ElementsAre(1, 2, 3));
  EXPECT_EQ(Tensors().Empty(memory::desc()).get_data_handle(), nullptr);
}

TEST(OnednnErrors, UnimplementedIsUnsupportedAnyOtherStatusAFailure) {
  const auto fail = []() -> int { throw dnnl::error(dnnl_unimplemented, "no such"); };
  EXPECT_THAT(fakes::RefusalOf<Unsupported>([&] { Translated("conv2d fwd f16", fail); }),
              testing::AllOf(testing::HasSubstr("no such"), testing::HasSubstr("conv2d fwd f16"),
                             testing::HasSubstr(EffectiveIsa())));
  const auto lacks = []() -> int { throw dnnl::error(dnnl_out_of_memory, "no memory"); };
  EXPECT_THAT(fakes::RefusalOf<std::runtime_error>([&] {
                fakes::RefusalOf<Unsupported>([&] { Translated("conv2d fwd f32", lacks); });
              }),
              testing::HasSubstr("out_of_memory"));
  EXPECT_THROW(DataType("f64"), Unsupported);
}

TEST(OnednnCreationLog, HasWhatIsCreatedAndGivesStdoutBackToTheUserWhoLogsAllOfIt) {
  const auto logged = [](const std::function<void()>& create) {
    testing::internal::CaptureStdout();
    auto log = CreationLog(create);
    std::printf("after");
    return std::pair(log, testing::internal::GetCapturedStdout());
  };
  const auto create = [] {
    const auto desc = PlainDesc({5, 3}, memory::data_type::f32);
    dnnl::softmax_forward({CpuEngine(), dnnl::prop_kind::forward_inference,
                           dnnl::algorithm::softmax_accurate, desc, desc, 1});
  };
  const auto [log, out] = logged(create);
  EXPECT_THAT(log, testing::HasSubstr(",softmax,"));
  EXPECT_EQ(out, "after");
  EXPECT_THROW(CreationLog([] { throw std::runtime_error("cannot"); }), std::runtime_error);
  EXPECT_EQ(logged([] { std::puts("mine"); }), std::pair(std::string("mine\n"), out));
  setenv("ONEDNN_VERBOSE", "profile_create", 1);  // read when the library was loaded
  EXPECT_EQ(logged([] { std::puts("mine"); }).second, "mine\nafter");
  unsetenv("ONEDNN_VERBOSE");
}

TEST(FunctionCostOnednn, IsProportionalToTheElementsAndLeavesTheThreadsAsTheyWere) {
  const int threads = omp_get_max_threads();
  const auto sigmoids = FunctionCost(1000, 0).value(), tanhs = FunctionCost(0, 1000).value(),
             both = FunctionCost(3000, 2000).value();
  EXPECT_GT(sigmoids.seconds, 0);
  EXPECT_GT(tanhs.seconds, 0);
  EXPECT_DOUBLE_EQ(both.seconds, 3 * sigmoids.seconds + 2 * tanhs.seconds);
  EXPECT_EQ(both.instructions.has_value(), sigmoids.instructions && tanhs.instructions);
  if (both.instructions) {
    EXPECT_DOUBLE_EQ(*both.instructions, 3 * *sigmoids.instructions + 2 * *tanhs.instructions);
  }
  EXPECT_EQ(FunctionCost(0, 0)->seconds, 0);
  EXPECT_EQ(omp_get_max_threads(), threads);
}

class ProductCostOnednn : public testing::TestWithParam<ProductBy> {};

TEST_P(ProductCostOnednn, IsProportionalToTheCountAndLeavesTheThreadsAsTheyWere) {
  const int threads = omp_get_max_threads();
  const auto seconds = [](const std::vector<workload::MatrixProducts>& products) {
    return ProductCost(products, "f32", GetParam())->seconds;
  };
  const double once = seconds({{32, 128, 64, 1}});
  EXPECT_GT(once, 0);
  EXPECT_DOUBLE_EQ(seconds({{32, 128, 64, 7}}), 7 * once);
  EXPECT_DOUBLE_EQ(seconds({{32, 128, 64, 1}, {32, 128, 64, 2}}), 3 * once);
  EXPECT_EQ(seconds({}), 0);
  EXPECT_EQ(omp_get_max_threads(), threads);
}

// A thousand times as many multiply-adds take longer, whatever else runs. 32^3 multiply-adds are
// 2048 vector instructions of 16 lanes; a smaller count would be of another process.
TEST_P(ProductCostOnednn, GrowsWithTheSize) {
  const auto small = ProductCost({{32, 32, 32, 1}}, "f32", GetParam()).value(),
             large = ProductCost({{320, 320, 320, 1}}, "f32", GetParam()).value();
  EXPECT_GT(large.seconds, small.seconds);
  if (!small.instructions) GTEST_SKIP() << "this system counts no instructions";
  EXPECT_GT(*small.instructions, 2000);
  EXPECT_LT(*small.instructions, 1e6);
}

INSTANTIATE_TEST_SUITE_P(, ProductCostOnednn,
                         testing::Values(ProductBy::kMatmul, ProductBy::kGemm));

dnnl_version_t VersionOf(int major, int minor, int patch) {
  return {.major = major, .minor = minor, .patch = patch};
}

TEST(OnednnLibrary, EveryVersionFrom3_2OnCanBeUsedOnTheThreadsOfItsRuntime) {
  EXPECT_FALSE(VersionRefusal(VersionOf(3, 2, 0)));
  EXPECT_FALSE(VersionRefusal(VersionOf(3, 14, 1)));
  EXPECT_TRUE(VersionRefusal(VersionOf(4, 3, 0)));
  // dnnl_config.h of every 3.x has these numbers.
  const std::pair<unsigned, std::string_view> names[] = {
      {1, "sequential"}, {2, "OpenMP"}, {4, "TBB"}, {8, "threadpool"}, {512, "SYCL"}};
  for (const auto& [number, name] : names) EXPECT_EQ(NameOf(Threading{number}), name);
  EXPECT_EQ(NameOf(Threading{16}), "unknown threading");
  for (const int threads : {1, 64}) EXPECT_FALSE(ThreadsRefusal(Threading::kOpenMp, threads, 4));
  for (const auto threading : {Threading::kTbb, Threading::kSycl, Threading{16}}) {
    EXPECT_FALSE(ThreadsRefusal(threading, 4, 4));
    EXPECT_THAT(ThreadsRefusal(threading, 1, 4).value().text,
                testing::HasSubstr("it runs on 4 threads here, and the number cannot be set to 1"));
  }
  for (const auto threading : {Threading::kSequential, Threading::kThreadpool}) {
    EXPECT_FALSE(ThreadsRefusal(threading, 1, 4));
    EXPECT_THAT(ThreadsRefusal(threading, 4, 4).value().text,
                testing::HasSubstr("it runs on 1 thread here"));
  }
}

// The second verification of a call, with other inputs in the same memory.
TEST(NewInputs, AreComputedAsTheFirstOnesAndAStoredResultDiffers) {
  for (const std::string name :
       {"Conv2D/cpu/onednn/fwd/f32/n1c8h9w9k8r3s3_p1/bias/relu",
        "Conv2D/cpu/onednn/bwd_weights/f32/n2c8h9w9k8r3s3_p1",
        "Conv3D/cpu/onednn/fwd/f32/n1c4d5h6w7k8t3r3s3_p1", "Matmul/cpu/onednn/fwd/f32/m5n7k9/sum",
        "Matmul/cpu/onednn/fwd/int8/m5n7k9", "GroupedMatmul/cpu/onednn/fwd/f32/g3m8n5k7",
        "Attention/cpu/onednn/fwd/f32/b2h4q5k5d8_kv2tl",
        "Attention/cpu/onednn/fwd/f32/b2h4q5k5d8_tl/graph", "Softmax/cpu/onednn/fwd/f32/m5n7",
        "LayerNorm/cpu/onednn/bwd/f32/m5n7/scale/shift", "SwiGlu/cpu/onednn/fwd/f32/m5n7",
        "LSTM/cpu/onednn/fwd_inference/f32/t3n2i5h4l2", "LSTM/cpu/onednn/bwd/f32/t3n2i5h4l2"}) {
    auto call = workload::MakeWorkload(name).prepare({.seed = 3});
    const auto contents = [&] {
      std::string all;
      for (const auto& region : call.memory)
        all.append(static_cast<const char*>(region.begin), region.bytes);
      return all;
    };
    EXPECT_TRUE(call.verify().ok) << name;
    call.new_inputs(1234567);
    const auto changed = contents();
    const auto found = call.verify();
    EXPECT_TRUE(found.ok) << name << ' ' << found.max_error;
    EXPECT_NE(contents(), changed) << name;  // the outputs were written anew
  }
}

}  // namespace
}  // namespace dlroof::onednn
