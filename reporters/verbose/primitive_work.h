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
//
// Closed forms by kind of primitive, and what they share (private to this module).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

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

// A call's work cannot be told: thrown within primitive_work.cpp's reach alone.
struct NoClosedForm {
  std::string reason;
};

struct FormWork {
  double matrix = 0, elementwise = 0;  // [flop]
  double bytes = 0;                    // [byte]
  // [1] elements of the destination, and their bytes each, which post-ops work on
  double destination = 0, destination_bytes = 0;
  std::vector<double> destination_dims;  // empty: not known
  std::string no_bytes;                  // why `bytes` are not all; empty: they are
};

// Returns no work yet, on a destination of these sizes.
FormWork WorkOn(const std::vector<double>& destination_dims);

// [byte] of one element of the role's tensor; 0 where the call has none. Throws NoClosedForm for a
// type that is not known.
double ElementBytes(const Primitive& primitive, std::string_view role);
double TypeBytes(const Tensor& tensor);
// Throws NoClosedForm for a problem of another form.
LetterSizes SizesOf(const Primitive& primitive);
std::vector<std::vector<double>> DimsOf(const Primitive& primitive);

// primitive_work.cpp
FormWork ConvolutionWork(const Primitive& primitive);
FormWork DeconvolutionWork(const Primitive& primitive);
FormWork MatmulWork(const Primitive& primitive);
FormWork InnerProductWork(const Primitive& primitive);
// rnn_work.cpp
FormWork RnnWork(const Primitive& primitive);
// normalization_work.cpp
FormWork BatchNormalizationWork(const Primitive& primitive);
FormWork LayerNormalizationWork(const Primitive& primitive);
FormWork GroupNormalizationWork(const Primitive& primitive);
FormWork LocalNormalizationWork(const Primitive& primitive);
FormWork SoftmaxWork(const Primitive& primitive);
FormWork LogsoftmaxWork(const Primitive& primitive);
// pointwise_work.cpp
FormWork EltwiseWork(const Primitive& primitive);
FormWork PreluWork(const Primitive& primitive);
FormWork BinaryWork(const Primitive& primitive);
FormWork SumWork(const Primitive& primitive);
FormWork ReductionWork(const Primitive& primitive);
FormWork PoolingWork(const Primitive& primitive);
FormWork ResamplingWork(const Primitive& primitive);
FormWork ReorderWork(const Primitive& primitive);
FormWork ConcatWork(const Primitive& primitive);
FormWork ShuffleWork(const Primitive& primitive);

// [flop] of one element of an eltwise: `algorithm` is "eltwise_relu" or "relu". Throws NoClosedForm
// for a formula that is not in the table.
double EltwiseFlops(std::string_view algorithm, double alpha, bool backward);

// Adds what the attributes' post-ops do to the destination.
void AddPostOps(const Primitive& primitive, FormWork& work);

}  // namespace dlroof::verbose
