#include <cxxabi.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <memory>

#include "baselines/programs/gpu_timeline.h"
#include "counters/base/keys.h"
#include "reporters/text/kernel_name.h"

namespace dlroof::programs {
namespace {

constexpr KeyRow<KernelKind> kKinds[] = {
    {KernelKind::kProduct, "product"},       {KernelKind::kElementwise, "elementwise"},
    {KernelKind::kLayout, "layout"},         {KernelKind::kReduction, "reduction"},
    {KernelKind::kCollective, "collective"}, {KernelKind::kOther, "other"}};

struct WordRow {
  KernelKind kind;
  std::string_view word;  // in lower case
};
// The first row whose word is in the name decides. PyTorch copies and converts by elementwise
// kernels whose functor has "copy" in its name.
constexpr WordRow kWords[] = {
    {KernelKind::kCollective, "nccl"},
    {KernelKind::kLayout, "nchwtonhwc"},
    {KernelKind::kLayout, "nhwctonchw"},
    {KernelKind::kLayout, "tensortransform"},
    {KernelKind::kLayout, "transpose"},
    {KernelKind::kLayout, "permute"},
    {KernelKind::kLayout, "copy_kernel"},
    {KernelKind::kLayout, "copykernel"},
    {KernelKind::kLayout, "catarray"},
    {KernelKind::kLayout, "im2col"},
    {KernelKind::kLayout, "col2im"},
    {KernelKind::kLayout, "convert"},
    {KernelKind::kProduct, "gemm"},
    {KernelKind::kProduct, "nvjet"},
    {KernelKind::kProduct, "cutlass"},
    {KernelKind::kProduct, "fprop"},
    {KernelKind::kProduct, "dgrad"},
    {KernelKind::kProduct, "wgrad"},
    {KernelKind::kProduct, "conv"},
    {KernelKind::kProduct, "winograd"},
    {KernelKind::kProduct, "scudnn"},
    {KernelKind::kProduct, "gemv"},
    {KernelKind::kProduct, "flash"},
    {KernelKind::kProduct, "fmha"},
    {KernelKind::kProduct, "attention"},
    {KernelKind::kReduction, "reduce"},
    {KernelKind::kReduction, "softmax"},
    {KernelKind::kReduction, "norm"},
    {KernelKind::kReduction, "bn_"},
    {KernelKind::kReduction, "pool"},
    {KernelKind::kReduction, "triton_red"},
    {KernelKind::kReduction, "triton_per"},
    {KernelKind::kElementwise, "elementwise"},
    {KernelKind::kElementwise, "elemwise"},
    {KernelKind::kElementwise, "pointwise"},
    {KernelKind::kElementwise, "triton_poi"},
    {KernelKind::kElementwise, "multi_tensor_apply"},
    {KernelKind::kElementwise, "dropout"},
    {KernelKind::kElementwise, "op_tensor_kernel"},
    {KernelKind::kElementwise, "scaletensor"},
    {KernelKind::kElementwise, "addtensor"},
};

std::string Lower(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

bool Has(const std::string& text, std::string_view word) {
  return text.find(word) != std::string::npos;
}

}  // namespace

std::string_view Key(KernelKind kind) { return KeyIn(kKinds, kind); }
std::optional<KernelKind> KernelKindFromKey(std::string_view key) { return ValueIn(kKinds, key); }

KernelKind KernelKindOf(std::string_view name) {
  const auto lower = Lower(name);
  for (const auto& [kind, word] : kWords)
    if (Has(lower, word)) return kind;
  return KernelKind::kOther;
}

bool IsFp32Product(std::string_view name) {
  const auto lower = Lower(name);
  if (KernelKindOf(name) != KernelKind::kProduct) return false;
  // Tensor cores: HMMA's tf32 kernels of cuBLAS are "s1688gemm" and the like.
  for (const auto* other : {"tf32", "s1688", "s16816", "s884", "bf16", "f16", "fp16", "half"})
    if (Has(lower, other)) return false;
  return std::ranges::any_of(
      std::array{"sgemm", "scudnn", "f32f32_f32f32", "simt", "ffma", "gemm_f32", "winograd"},
      [&](std::string_view word) { return Has(lower, word); });
}

std::string DemangledKernel(const std::string& mangled) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(
      abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status), std::free);
  return status == 0 && text ? std::string(text.get()) : mangled;
}

std::string SizeText(const gpu_trace::Size3& size) {
  if (size[2] > 1) return fmt::format("{}x{}x{}", size[0], size[1], size[2]);
  return size[1] > 1 ? fmt::format("{}x{}", size[0], size[1]) : fmt::format("{}", size[0]);
}

}  // namespace dlroof::programs
