// FLOPs and compulsory bytes of calls by closed form, from numbers alone. dlroof's operators and
// the reader of logs (primitive_work.h, where the conventions are) both call these, so that a call
// has the same work as a benchmark and in another program's log. Pure.
#pragma once

namespace dlroof::logs {

struct CallWork {
  double matrix = 0, elementwise = 0;  // [flop]
  double bytes = 0;                    // [byte]
};

// A product of a source and weights: convolution, matrix product, inner product, in any direction.
struct ProductCounts {
  double multiply_adds = 0;                         // [1] of filters: UsefulPairs, filter_axis.h
  double source = 0, weights = 0, destination = 0;  // [1] elements
  double bias = 0;                                  // [1] elements; 0: without bias
};
struct ProductElementBytes {
  double source = 0, weights = 0, destination = 0, bias = 0;  // [byte] of an element
};
// Returns 2 FLOPs per multiply-add; 1 per element of the destination for adding a bias, or for
// summing its gradient; and the bytes of the four tensors. Post-ops: WorkOfPostOps
// (primitive_work.h).
CallWork WorkOfProduct(const ProductCounts& counts, const ProductElementBytes& bytes);

// A recurrent layer's elementwise FLOPs for one hidden unit, sample, step, layer and direction.
struct CellFlops {
  double forward = 0, backward = 0;  // [flop]
};
// LSTM. Forward: 4 bias adds, 3 sigmoids and 1 tanh (gates i, f, o and candidate g), c = f*c' + i*g
// (3), tanh(c), and its product with o. Backward: tanh(c) again (1); do (4), dc (5), di, df, dg (4
// each), each with the gate's derivative s*(1-s) or 1-g*g; dc' = dc*f (1); 4 adds to the bias
// gradient.
inline constexpr CellFlops kLstmCell = {13, 27};
// Peepholes, in addition. Forward: a product and an add for each of i, f and o. Backward, products
// and adds: do into dc (2), di and df into dc' (4), 3 peephole gradients (6).
inline constexpr CellFlops kLstmPeephole = {6, 12};

// The calls of one cell in a recurrent layer or a stack of them.
struct RecurrentCounts {
  double weights = 0;  // [1] of all layers and directions, without bias and peepholes
  double samples = 0;  // [1] of all steps: each is multiplied with every weight
  double cells = 0;    // [1] steps x samples x layers x directions
  double hidden = 0;   // [1] units of a cell
  double state = 0;    // [1] channels of its hidden state
  double summed = 0;   // [1] outputs that are sums of two directions
};
// Returns the FLOPs of a forward or backward call; `cell` has those of a unit, for peepholes too.
// Backward each weight has two products (data and weight gradient), the gradient of the layer above
// is added to that of the next step (1 per channel of the state), and no outputs are summed.
CallWork FlopsOfRecurrent(const RecurrentCounts& counts, const CellFlops& cell, bool backward);

}  // namespace dlroof::logs
