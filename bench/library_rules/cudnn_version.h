// cuDNN's numbers of its versions, and the variable that changes what it computes. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace dlroof::cudnn {

// 91900 -> "9.19.0".
std::string VersionText(std::size_t version);

// Why a program built for one major version cannot use the cuDNN that was found, with the cure;
// empty: it can, for minor versions of one major version serve each other's programs (checked with
// 9.12 to 9.22).
std::string WhyNotThisVersion(std::size_t found, int built_for_major);

// NVIDIA's libraries read it: "0" turns TF32 off in all of them, whatever a program asks for.
inline constexpr const char* kTf32Override = "NVIDIA_TF32_OVERRIDE";
// Throws Unsupported for the type "tf32" where the variable (its value, null where it is not set)
// would make it f32, and for "f32" where it is set to something else, which may make it tf32.
void RequireTf32(std::string_view type, const char* override_value);

}  // namespace dlroof::cudnn
