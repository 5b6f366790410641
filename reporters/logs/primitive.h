// Parses primitives of oneDNN's verbose log and computes their work.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "counters/base/error.h"
#include "reporters/logs/verbose_log.h"

namespace dlroof::logs {

// A memory descriptor: "src:f32:a:blocked:aBcd8b::f0", or "src_f32:a:blocked:aBcd8b:f0" before 3.3.
struct Tensor {
  std::string role;        // "src", "diff_dst", "wei_layer"; "data" if the log has no role
  std::string type;        // "f32"; "undef" for a tensor that the call does not have; may be empty
  std::string properties;  // "a": oneDNN chose the layout; "p": padding; "o", "0": offsets
  std::string format;      // "blocked", "sparse"; may be empty
  std::string tag;         // "aBcd8b"; may be empty
  std::string extra;       // strides and flags: ":f0_mask2"; may be empty

  bool Chosen() const { return properties.find('a') != std::string::npos; }
};

// Returns the size of one element [byte] of a known type. "undef" has 0.
std::optional<double> BytesOf(std::string_view type);

struct Primitive {
  PrimitiveText text;
  std::vector<Tensor> tensors;  // in the line's order

  // Returns the first tensor of the role or of its gradient ("diff_src" for "src"), or null if
  // there is none or its type is "undef".
  const Tensor* Find(std::string_view role) const;
  bool HasBias() const { return Find("bia") != nullptr || Find("bias") != nullptr; }
  bool IsBackward() const { return text.prop.starts_with("backward"); }
};

Primitive ReadPrimitive(const PrimitiveText& text);

// The sizes in a problem like "mb8_ic64oc64_ih56oh56kh3sh1dh0ph1": a number after each key.
class LetterSizes {
 public:
  // Reads a problem. Returns nullopt for another form, or for a number above 2^31-1.
  static std::optional<LetterSizes> Read(std::string_view text);

  double Or(std::string_view key, double otherwise) const;
  // Returns the product of the sizes with this first letter and d, h or w: kd, kh and kw for 'k'.
  // Missing sizes are 1.
  double Image(char first) const;
  bool Has(std::string_view key) const { return sizes_.contains(key); }

 private:
  std::map<std::string, double, std::less<>> sizes_;
};

// Returns the sizes in "8x64x56x56", or nullopt for other texts, e.g. "*" (known only at run time).
std::optional<std::vector<double>> ReadDims(std::string_view text);
// Returns the sizes of each part of "16x256:256x192", or nullopt if a part has another form.
std::optional<std::vector<std::vector<double>>> ReadDimsList(std::string_view text);
double ProductOf(const std::vector<double>& dims);

// Returns the first word of the log's line that is not in unknown_word.cpp's lists, with its kind
// (e.g. "the format 'sparse' of a tensor"), or nullopt. The work of such a call is unknown.
std::optional<std::string> UnknownWord(const Primitive& primitive);

// Returns the value of a key ("1" of "axis" in "alg:softmax_accurate axis:1"), or "" without it.
std::string_view WordOf(std::string_view text, std::string_view key);

// Returns the post-ops in a primitive's attributes in their order, e.g. "eltwise_relu:0:1", "sum".
std::vector<std::string_view> PostOpsOf(std::string_view attributes);

// FLOPs and compulsory bytes of one call of a primitive, by closed form. Pure.
//
// FLOPs, counted as dlroof's operators count them:
//   matrix: 2 per multiply-add; in a convolution or deconvolution only filter taps inside the image
//     (counters/base/work.h). All directions of a convolution, deconvolution, matrix product
//     or inner product have the same number; the backward call of a recurrent layer has twice the
//     number of the forward call (data and weight gradient).
//   elementwise: each addition, subtraction, multiplication, division, comparison, maximum and each
//     function (exp, log, tanh, sigmoid, erf, sqrt, power, rounding) counts 1. A bias adds 1 per
//     element of the destination; its gradient adds 1 per element of the destination's gradient.
//     Quantization scales and zero points count 0 in matrix operations, but 1 in a reorder.
// Bytes: every tensor of the call is read or written once, completely, without the padding of
//   blocked layouts. Additional operands of post-ops (the destination of a sum, the operand of a
//   binary) count too. The library's workspace and scratchpad do not count.

// The work of calls from their sizes. dlroof's operators and the reader of logs both use these
// functions, so that a call has the same work in a benchmark and in another program's log.
struct CallWork {
  double matrix = 0, elementwise = 0;  // [flop]
  double bytes = 0;                    // [byte]
};

// A product of a source and weights: convolution, matrix product, inner product, in any direction.
struct ProductCounts {
  double multiply_adds = 0;                         // [1] of a filter: from UsefulPairs (work.h)
  double source = 0, weights = 0, destination = 0;  // [1] elements
  double bias = 0;                                  // [1] elements; 0: without bias
};
struct ProductElementBytes {
  double source = 0, weights = 0, destination = 0, bias = 0;  // [byte] of an element
};
// Returns 2 FLOPs per multiply-add, 1 FLOP per destination element for adding a bias (or summing
// its gradient), and the bytes of the four tensors. Post-ops are not included (WorkOfPostOps).
CallWork WorkOfProduct(const ProductCounts& counts, const ProductElementBytes& bytes);

// A recurrent layer's elementwise FLOPs for one hidden unit, sample, step, layer and direction.
struct CellFlops {
  double forward = 0, backward = 0;  // [flop]
};
// LSTM. Forward: 4 bias adds, 3 sigmoids and 1 tanh (gates i, f, o and candidate g), c = f*c' + i*g
// (3), tanh(c), and its product with o. Backward: tanh(c) again (1); do (4), dc (5), di, df, dg (4
// each), with the derivative s*(1-s) or 1-g*g; dc' = dc*f (1); 4 adds to the bias gradient.
inline constexpr CellFlops kLstmCell = {13, 27};
// Additional FLOPs of peepholes. Forward: a product and an add for each of i, f and o. Backward,
// products and adds: do into dc (2), di and df into dc' (4), 3 peephole gradients (6).
inline constexpr CellFlops kLstmPeephole = {6, 12};

// The sizes of a recurrent layer or a stack of layers.
struct RecurrentCounts {
  double weights = 0;  // [1] of all layers and directions, without bias and peepholes
  double samples = 0;  // [1] steps x samples: each is multiplied with every weight
  double cells = 0;    // [1] steps x samples x layers x directions
  double hidden = 0;   // [1] units of a cell
  double state = 0;    // [1] channels of its hidden state
  double summed = 0;   // [1] outputs that are sums of two directions
};
// Returns the FLOPs of a forward or backward call. `cell`: FLOPs of a unit, with peepholes.
// Backward, each weight has two products (data and weight gradient), the gradient of the layer
// above is added to that of the next step (1 per channel of the state), and no outputs are summed.
CallWork FlopsOfRecurrent(const RecurrentCounts& counts, const CellFlops& cell, bool backward);

struct PrimitiveWork {
  std::optional<double> matrix;       // [flop]
  std::optional<double> elementwise;  // [flop] set if `matrix` is
  std::optional<double> bytes;        // [byte] between DRAM and the caches
  std::optional<Reason> reason;       // why a member is not set
};

// Returns the work of a primitive, and the reason why a part of it is unknown. Never throws.
PrimitiveWork WorkOf(const Primitive& primitive);

// Returns true if the primitive only moves data: its FLOPs are known to be 0.
bool HasNoFlops(const PrimitiveWork& work);

// Returns the data type that selects the pipe of `matrix`: "f64", "f32", "f16", "bf16" or "int8".
// It is the source's type: oneDNN converts narrower weights to floating point before it multiplies
// ("MatMul tutorial: weights decompression"). Returns nullopt for other or unprinted types.
std::optional<std::string> ComputeTypeOf(const Primitive& primitive);

// Returns the work that post-ops of a log ("sum", "eltwise_gelu_erf") add to a call with a
// destination of `elements` elements, of `element_bytes` [byte] each. Throws NoClosedForm for
// unknown post-ops and for binary ones, whose operand has sizes of its own.
CallWork WorkOfPostOps(const std::vector<std::string>& post_ops, double elements,
                       double element_bytes);

// The rest of this file is private to the module: closed forms by kind of primitive.

// Thrown if a closed form does not apply to a call. WorkOf catches it.
struct NoClosedForm {
  std::string reason;
};

struct FormWork {
  double matrix = 0, elementwise = 0;  // [flop]
  double bytes = 0;                    // [byte]
  // The destination tensor, to which post-ops are applied.
  double destination = 0;                // [1] elements
  double destination_bytes = 0;          // [byte] per element
  std::vector<double> destination_dims;  // its sizes; empty if not known
  std::optional<Reason> missing_bytes;   // set if `bytes` lacks a tensor
};

// Returns a FormWork of 0 FLOPs and 0 bytes whose destination has these sizes.
FormWork WorkOn(const std::vector<double>& destination_dims);

// Returns the product of the destination's sizes whose bits are set in `mask` ("3": the first two),
// or nullopt if the mask is not a number or the sizes are not known.
std::optional<double> MaskedElements(const FormWork& work, std::string_view mask);

// Returns the size of one element of the role's tensor [byte], or 0 if the call has no such tensor.
// Throws NoClosedForm for an unknown type.
double ElementBytes(const Primitive& primitive, std::string_view role);
double TypeBytes(const Tensor& tensor);
// Return the sizes of a problem "mb8_ic64oc64..." and "16x256:256x192", or throw NoClosedForm.
LetterSizes SizesOf(const Primitive& primitive);
std::vector<std::vector<double>> DimsOf(const Primitive& primitive);

FormWork ConvolutionWork(const Primitive& primitive);
FormWork DeconvolutionWork(const Primitive& primitive);
FormWork MatmulWork(const Primitive& primitive);
FormWork BlockProductWork(const Primitive& primitive);
FormWork BlockTransformWork(const Primitive& primitive);
FormWork InnerProductWork(const Primitive& primitive);
FormWork RnnWork(const Primitive& primitive);
// normalization_work.cpp
FormWork BatchNormalizationWork(const Primitive& primitive);
FormWork LayerNormalizationWork(const Primitive& primitive);
FormWork GroupNormalizationWork(const Primitive& primitive);
FormWork SoftmaxWork(const Primitive& primitive);
FormWork LogsoftmaxWork(const Primitive& primitive);
// pointwise_work.cpp
FormWork EltwiseWork(const Primitive& primitive);
FormWork BinaryWork(const Primitive& primitive);
FormWork SumWork(const Primitive& primitive);
FormWork ReductionWork(const Primitive& primitive);
FormWork PoolingWork(const Primitive& primitive);
FormWork ReorderWork(const Primitive& primitive);
FormWork ConcatWork(const Primitive& primitive);

// Returns the FLOPs of one element of an eltwise; `algorithm` is "eltwise_relu" or "relu". Throws
// NoClosedForm for an algorithm that is not in the table.
double EltwiseFlops(std::string_view algorithm, double alpha, bool backward);

// Adds the FLOPs and bytes of the primitive's post-ops on its destination.
void AddPostOps(const Primitive& primitive, FormWork& work);

}  // namespace dlroof::logs
