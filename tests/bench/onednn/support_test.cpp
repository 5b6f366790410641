#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <omp.h>

#include <cmath>
#include <cstdint>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "bench/onednn/call.h"
#include "bench/workload/library_rules.h"
#include "bench/workload/memory.h"
#include "tests/fakes/refusal.h"

namespace dlroof::onednn {
namespace {

using dnnl::memory;

TEST(OnednnMemories, KeepTheirValuesThroughABlockedLayout) {
  const memory::dims dims = {2, 20, 3, 5};
  // 20 channels in blocks of 16: the layout has padding that must not be read back.
  const memory::desc blocked(dims, memory::data_type::f32, memory::format_tag::nChw16c);
  std::vector<float> values(600);
  Tensors tensors;
  std::iota(values.begin(), values.end(), 1.0F);
  EXPECT_EQ(Plain(tensors.Filled(blocked, values)), values);
}

TEST(OnednnMemories, ConvertExactlyToEveryTypeThatHoldsTheValues) {
  const memory::dims dims = {3, 7};
  for (const std::string type : {"f32", "bf16", "u8", "s8"}) {
    Tensors tensors;
    const auto values = workload::SeededValues(21, 1, type, type == "u8" ? 0.0F : -9.0F, 9.0F);
    EXPECT_EQ(Plain(tensors.Filled(PlainDesc(dims, DataType(type)), values)), values) << type;
  }
}

TEST(OnednnMemories, ZeroedIsZeroAndACountThatDiffersIsRefused) {
  Tensors tensors;
  const auto desc = PlainDesc({2, 2}, memory::data_type::f32);
  EXPECT_THAT(Plain(tensors.Zeroed(desc)), testing::Each(0.0F));
  EXPECT_THROW(tensors.Filled(desc, {1, 2, 3}), std::logic_error);
}

TEST(OnednnMemories, PoisonedIsNotANumberInFloatingTypes) {
  Tensors tensors;
  for (const std::string type : {"f32", "bf16"})
    for (const float value : Plain(tensors.Poisoned(PlainDesc({2, 3}, DataType(type)))))
      EXPECT_TRUE(std::isnan(value)) << type;
}

// This makes the relative position of tensors the same in every process, and as in benchdnn.
TEST(OnednnMemories, BeginAtMultiplesOf2MiBAndOutliveAMove) {
  Tensors first;
  const auto desc = PlainDesc({3}, memory::data_type::f32);
  const std::vector<memory> made = {first.Empty(desc), first.Zeroed(desc),
                                    first.Filled(desc, {1, 2, 3})};
  const Tensors second = std::move(first);
  for (const auto& each : made)
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(each.get_data_handle()) % (2 << 20), 0U);
  EXPECT_THAT(Plain(made[2]), testing::ElementsAre(1, 2, 3));
  EXPECT_EQ(Tensors().Empty(memory::desc()).get_data_handle(), nullptr);
}

TEST(OnednnIsa, IsKnownByNameAndVersionIsTheOneWeCompileFor) {
  EXPECT_THAT(EffectiveIsa(), testing::AnyOf(testing::StartsWith("avx"), testing::StartsWith("sse"),
                                             testing::StartsWith("isa_")));
  EXPECT_THAT(Version(), testing::StartsWith("3."));
}

TEST(OnednnErrors, UnimplementedIsUnsupportedWithTheLibrarysMessage) {
  const auto fail = []() -> int { throw dnnl::error(dnnl_unimplemented, "no such"); };
  EXPECT_THAT(fakes::RefusalOf<Unsupported>([&] { Translated("conv2d fwd f16", fail); }),
              testing::AllOf(testing::HasSubstr("no such"), testing::HasSubstr("conv2d fwd f16"),
                             testing::HasSubstr(EffectiveIsa())));
}

TEST(OnednnErrors, AnyOtherStatusIsAFailure) {
  const auto fail = []() -> int { throw dnnl::error(dnnl_out_of_memory, "no memory"); };
  try {
    Translated("conv2d fwd f32", fail);
    FAIL() << "nothing thrown";
  } catch (const Unsupported&) {
    FAIL() << "a failure was taken for unsupported";
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("out_of_memory"));
  }
}

TEST(OnednnTypes, AnUnknownOneIsUnsupported) { EXPECT_THROW(DataType("f64"), Unsupported); }

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
  const auto seconds = [](const std::vector<Product>& products) {
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

TEST(OnednnLibrary, EveryVersionFrom3_2OnCanBeUsed) {
  EXPECT_FALSE(VersionRefusal(VersionOf(3, 2, 0)));
  EXPECT_FALSE(VersionRefusal(VersionOf(3, 14, 1)));
  EXPECT_EQ(VersionRefusal(VersionOf(2, 7, 1)).value().text,
            "oneDNN 2.7.1, expected 3.2 or a newer 3.x");
  EXPECT_TRUE(VersionRefusal(VersionOf(3, 1, 9)));
  EXPECT_TRUE(VersionRefusal(VersionOf(4, 3, 0)));
}

TEST(OnednnLibrary, OpenMpRunsOnAnyNumberOfThreadsAndOthersOnTheirOwnOnly) {
  for (const int threads : {1, 64}) EXPECT_FALSE(ThreadsRefusal(Threading::kOpenMp, threads, 4));
  for (const auto threading : {Threading::kTbb, Threading::kSycl, Threading::kUnknown}) {
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

// dnnl_config.h of every 3.x has these numbers.
TEST(OnednnLibrary, TellsItsThreadingByTheNumberOfItsRuntime) {
  const std::pair<unsigned, std::string_view> names[] = {
      {1, "sequential"}, {2, "OpenMP"}, {4, "TBB"}, {8, "threadpool"}, {512, "SYCL"}};
  for (const auto& [number, name] : names) EXPECT_EQ(NameOf(ThreadingOf(number)), name);
  EXPECT_EQ(NameOf(ThreadingOf(16)), "unknown threading");
}

TEST(OnednnLibrary, TheLoadedFileIsTheOneWhoseVersionIsTold) {
  const auto loaded = workload::LoadedLibraries();
  const auto found = std::find_if(loaded.begin(), loaded.end(),
                                  [](const auto& library) { return library.name == "onednn"; });
  ASSERT_NE(found, loaded.end());
  EXPECT_THAT(found->file, testing::HasSubstr("libdnnl"));
  EXPECT_THAT(Version(), testing::StartsWith(found->facts.version + " (commit "));
  EXPECT_EQ(found->facts.threading, NameOf(LoadedThreading()));
}

}  // namespace
}  // namespace dlroof::onednn
