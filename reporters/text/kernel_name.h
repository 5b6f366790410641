// Names of GPU kernels as tools print them: demangled C++ with templates and parameters, or the
// long words of libraries ("sm90_xmma_fprop_implicit_gemm_...").
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dlroof::text {

// Width [columns] of kernel names in tables and legends.
inline constexpr int kKernelNameWidth = 60;

// Restores the "<" that Nsight Compute's simplification of names drops before "unnamed>::", its
// spelling of an anonymous namespace: "void unnamed>::Chain<unnamed>::Fp32>(int)" ->
// "void <unnamed>::Chain<<unnamed>::Fp32>(int)".
std::string RepairedKernelName(std::string_view name);

// Returns the kernel's qualified name without return type, template arguments and parameters:
// "void a::<unnamed>::Copy<float>(float *)" -> "a::<unnamed>::Copy". Anonymous namespaces are
// spelled "<unnamed>".
std::string KernelFunction(std::string_view name);

// Returns the name in at most `width` columns (at least 1), without return type and parameters. If
// necessary, also drops, in this order, namespaces of template arguments, the kernel's own
// namespaces, nested and trailing template arguments (replaced by "…"), and last the middle. Keeps
// sizes after the name, " [128, 256]", which do not count for `width`.
std::string ShortKernelName(std::string_view name, int width = kKernelNameWidth);

// Returns the short names of `names` in the same order. Different names stay different: from the
// second one with the same short name on, it ends in " #2", " #3", ...
std::vector<std::string> ShortKernelNames(const std::vector<std::string>& names,
                                          int width = kKernelNameWidth);

}  // namespace dlroof::text
