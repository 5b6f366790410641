// The problem of a program's primitive, by which two programs' primitives are matched. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "reporters/verbose/primitive.h"

namespace dlroof::programs {

// Parts of two primitives that have to agree. Each step asks for fewer than the one before.
enum class Agreement {
  kExact,    // kind, direction, sizes, algorithm, data types
  kSizes,    // the types may differ
  kOutputs,  // the padding may be outside of one of them: other input sizes and padding
};
inline constexpr Agreement kAgreements[] = {Agreement::kExact, Agreement::kSizes,
                                            Agreement::kOutputs};

// "forward" of forward_training and forward_inference; "" of undef; else the prop_kind.
std::string DirectionOf(std::string_view prop);
// "f32" where all tensors but the bias have this type, else "u8:s8:f32" in the tensors' order.
std::string TypesOf(const verbose::Primitive& primitive);
// The sizes as both generations of oneDNN's lines write them: without a single group, and without a
// product's third pair of sizes.
std::string ProblemOf(const verbose::Primitive& primitive);

// Equal keys: the same problem by this agreement.
std::string ProblemKey(const verbose::Primitive& primitive, Agreement agreement);

// Sentences of what differs between one problem's primitives of two programs, "layout of src: abcd
// | aBcd8b", A's first.
std::vector<std::string> DifferencesOf(const std::vector<verbose::Primitive>& a,
                                       const std::vector<verbose::Primitive>& b);

}  // namespace dlroof::programs
