
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "reporters/text/text.h"

namespace dlroof::text {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Names as Nsight Compute 2025.3, CUPTI 13.0 and PyTorch 2.11 printed them on an H200.
constexpr const char* kCopyOfPyTorch =
    "void vectorized_elementwise_kernel<8, float16_copy_kernel_cuda(TensorIteratorBase "
    "&)::[lambda(float) (instance 1)], array<char *, 2>>(int, T2, T3)";
constexpr const char* kRandomOfPyTorch =
    "void at::<unnamed>::distribution_elementwise_grid_stride_kernel<float, 4, void "
    "templates::normal_and_transform<c10::Half, float, at::CUDAGeneratorImpl *, void "
    "templates::normal_kernel<at::CUDAGeneratorImpl *>(const at::TensorBase &, double, double, "
    "T1)::[lambda() (instance 1)]::operator ()() const::[lambda() (instance 3)]::operator ()() "
    "const::[lambda(float) (instance 1)]>(at::TensorIterat";
constexpr const char* kConvolutionOfCudnn =
    "sm90_xmma_fprop_implicit_gemm_f16f16_f16f32_f32_nhwckrsc_nhwc_tilesize128x64x32_"
    "warpgroupsize1x1x1_g1_execute_segment_k_off_kernel__5x_cudnn";

TEST(RepairedKernelName, RestoresTheBracketsOfAnonymousNamespaces) {
  EXPECT_EQ(RepairedKernelName("void unnamed>::Chain<unnamed>::Fp32>(T1::Type *, T1::Type, int)"),
            "void <unnamed>::Chain<<unnamed>::Fp32>(T1::Type *, T1::Type, int)");
  EXPECT_EQ(RepairedKernelName("unnamed>::Copy(const float4 *)"),
            "<unnamed>::Copy(const float4 *)");
  for (const char* whole :
       {"void <unnamed>::Chain<<unnamed>::Fp32>(T1::Type *)", "dlroof::<unnamed>::Hold(int *)",
        "a<b, <unnamed>::C>", "a<renamed>::b", "plain", ""})
    EXPECT_EQ(RepairedKernelName(whole), whole);
}

TEST(ShortKernelName, HasNeitherReturnTypeNorParameters) {
  EXPECT_EQ(ShortKernelName("void unnamed>::Chain<unnamed>::Fp32>(T1::Type *, T1::Type, int)"),
            "<unnamed>::Chain<<unnamed>::Fp32>");
  EXPECT_EQ(ShortKernelName("dlroof::cuda::(anonymous namespace)::Hold(int const volatile*, int*)"),
            "dlroof::cuda::<unnamed>::Hold");
  EXPECT_EQ(ShortKernelName("void unnamed>::Tiles<0>(unsigned int *, int)"), "<unnamed>::Tiles<0>");
  EXPECT_EQ(ShortKernelName("unsigned long a::f(int)"), "a::f");
  EXPECT_EQ(ShortKernelName("wgrad [64, 128]"), "wgrad [64, 128]");
  EXPECT_EQ(ShortKernelName("void a::f<int>(int) [64x2, 128, 1 of 2]"),
            "a::f<int> [64x2, 128, 1 of 2]");
}

TEST(ShortKernelName, ShortensTemplateArgumentsBeforeItsOwnName) {
  EXPECT_EQ(ShortKernelName(kCopyOfPyTorch),
            "vectorized_elementwise_kernel<8, float16_cop…kernel_cuda, …>");
  EXPECT_EQ(ShortKernelName("void at::vectorized_elementwise_kernel<4, at::FillFunctor<float>, "
                            "std::array<char *, 1>>(int, T2, T3)"),
            "vectorized_elementwise_kernel<4, FillFunctor<…>, array<…>>");
  EXPECT_EQ(ShortKernelName("elemWiseRNNcell<__half, __half, float, (cudnnRNNMode_t)2, "
                            "(cudnnRNNBiasMode_t)2>"),
            "elemWiseRNNcell<__half, __half, float, 2, 2>");
  EXPECT_EQ(ShortKernelName("void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<"
                            "cute::tuple<int, int>, cutlass::gemm::Mma<4> > >(int)"),
            "device_kernel<GemmUniversal<tuple<int, int>, Mma<4>>>");
  EXPECT_EQ(ShortKernelName("void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<"
                            "cute::tuple<int, int, int, int>, cutlass::gemm::CollectiveMma<4> > "
                            ">(int)"),
            "device_kernel<GemmUniversal<…>>");
}

TEST(ShortKernelName, ShortensLongWordsInTheMiddle) {
  EXPECT_EQ(ShortKernelName(kConvolutionOfCudnn),
            "sm90_xmma_fprop_implicit_gemm…28x64x32_warpgroupsize1x1x1_g1");
  EXPECT_EQ(ShortKernelName("nvjet_sm90_hsh_64x16_64x16_4x2_h_bz_TNT"),
            "nvjet_sm90_hsh_64x16_64x16_4x2_h_bz_TNT");
}

// CUPTI's names are cut after 80 characters.
TEST(ShortKernelName, ReadsNamesThatWereCutOff) {
  EXPECT_EQ(ShortKernelName("cask_plugin__5x_cudnn::xmma__5x_cudnn::init_device_workspace_kernel<"
                            "xmma__5x_..."),
            "init_device_workspace_kernel<xmma__5x_...>");
  EXPECT_LE(TextWidth(ShortKernelName(kRandomOfPyTorch)), 60);
  EXPECT_THAT(ShortKernelName(kRandomOfPyTorch),
              HasSubstr("distribution_elementwise_grid_stride_kernel<float, 4"));
}

TEST(ShortKernelName, NeverExceedsTheWidthAndNeverCutsUnnamed) {
  for (const std::string name :
       {kCopyOfPyTorch, kRandomOfPyTorch, kConvolutionOfCudnn, "operator<", "x->y(int)", "a)>(b",
        "void unnamed>::Chain<unnamed>::Fp32>(T1::Type *)", "Memcpy HtoD (Pageable -> Device)", ""})
    for (int width = 9; width < 130; ++width) {
      const auto text = ShortKernelName(name, width);
      EXPECT_LE(TextWidth(text), width) << name;
      for (auto at = text.find("unnamed"); at != std::string::npos;
           at = text.find("unnamed", at + 1))
        EXPECT_EQ(text.substr(at == 0 ? 0 : at - 1, 9), "<unnamed>") << text;
    }
}

TEST(ShortKernelNames, KeepsDifferentKernelsApart) {
  const std::vector<std::string> names = {"void f(int)", "void g(int)", "void f(float)",
                                          "void f(int)"};
  EXPECT_THAT(ShortKernelNames(names), ElementsAre("f", "g", "f #2", "f"));
}

TEST(KernelFunction, IsTheQualifiedName) {
  EXPECT_EQ(KernelFunction("void a::(anonymous namespace)::Copy<b::C, 2>(float *)"),
            "a::<unnamed>::Copy");
  EXPECT_EQ(KernelFunction("unnamed>::Copy(const float4 *)"), "<unnamed>::Copy");
}

}  // namespace
}  // namespace dlroof::text
