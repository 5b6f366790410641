// FLOPs and compulsory bytes of one call of a primitive, by closed form. Pure.
//
// FLOPs, as the ops of this program count their own:
//   matrix: 2 per multiply-add of the dense product. Taps on padding count. Every direction of a
//     convolution, deconvolution, matrix product and inner product has the same; a recurrent
//     layer's backward call has the forward call's twice (data gradient, weight gradient).
//   elementwise: each addition, subtraction, multiplication, division, comparison, maximum and each
//     function (exp, log, tanh, sigmoid, erf, sqrt, power, rounding) counts 1. A bias adds 1 per
//     element of the destination; its gradient adds 1 per element of the destination's gradient.
//     Quantization scales and zero points of products do not count; those of a reorder do.
// Bytes: every tensor of the call once, whole, without padding of blocked layouts: read or written.
//   What a post-op reads beside (the destination of a sum, the operand of a binary) counts too.
//   Workspace and scratchpad are the library's own: they do not count.
#pragma once

#include <optional>
#include <string>

#include "reporters/verbose/primitive.h"

namespace dlroof::verbose {

struct PrimitiveWork {
  std::optional<double> matrix;       // [flop]; absent: not known
  std::optional<double> elementwise;  // [flop]; absent together with `matrix`
  std::optional<double> bytes;        // [byte] with DRAM; absent: not known
  std::string reason;                 // why something is absent
};

// Never throws for any text.
PrimitiveWork WorkOf(const Primitive& primitive);

// Returns true where the primitive only moves data: its FLOPs are known to be 0.
bool HasNoFlops(const PrimitiveWork& work);

// Returns the type that decides the pipe of the matrix part: "f64", "f32", "f16", "bf16" or "int8";
// empty: not known.
std::string ComputeTypeOf(const Primitive& primitive);

}  // namespace dlroof::verbose
