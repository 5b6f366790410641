// A stack of LSTM layers as a problem: its text, its shapes, and what one call of it does.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "counters/work.h"

namespace dlroof::lstm {

inline constexpr int64_t kLstmGates = 4;  // input, forget, candidate and output gate of a cell

// Order in which a layer walks the time steps. With both passes each layer's output is their
// concatenation ("bi", forward pass first; the next layer reads all of it, as in cuDNN and PyTorch)
// or their sum ("bisum").
enum class LstmPasses { kForward, kConcatenated, kSummed };

// Direction of a call, the fourth part of a benchmark's name. Training keeps what `bwd` needs;
// `bwd` makes the data and the weight gradients of one training step.
enum class LstmDirection { kForwardInference, kForwardTraining, kBackward };

struct LstmProblem {
  int64_t t = 1;  // time steps
  int64_t n = 1;  // samples in the batch
  int64_t i = 1;  // channels of the input
  int64_t h = 1;  // hidden units: width of the cell state and of each gate
  int64_t l = 1;  // layers
  int64_t p = 0;  // width to which the hidden state is projected; 0: no projection
  LstmPasses passes = LstmPasses::kForward;
  // Gates see the cell state too, each unit its own: i and f the one before, o the new one. An
  // option of the name, not of the problem's text.
  bool peephole = false;

  bool operator==(const LstmProblem&) const = default;
};

// "t16n16i32h64", then "l2", "p32", "bi" or "bisum", each only where it is not the default.
std::string ToText(const LstmProblem& problem);

// The inverse of ToText. Throws BadInput with the column (from 1 plus `column_offset`) of the first
// bad character, or with the reason when sizes and operation counts would leave 64 bits.
LstmProblem ParseLstmProblem(std::string_view text, int column_offset = 0);

std::string_view Key(LstmDirection direction);

int64_t Passes(const LstmProblem& problem);       // 1 or 2
int64_t StateWidth(const LstmProblem& problem);   // channels of the hidden state: p, or h without
int64_t OutputWidth(const LstmProblem& problem);  // channels of a layer's output
int64_t InputWidth(const LstmProblem& problem, int64_t layer);  // channels that `layer` reads

// [1] elements of each tensor of a call, all layers and passes together.
struct LstmElements {
  int64_t source, output;  // t x n x i, t x n x OutputWidth
  int64_t hidden, cell;    // one set of states: l x passes x n x StateWidth, l x passes x n x h
  int64_t weights, bias;   // weights: of the layer input, of the hidden state, of the projection
  int64_t peephole;        // l x passes x 3 x h (gates i, f, o), or none
};
LstmElements Elements(const LstmProblem& problem);

// [flop] of one call. matrix: products of weights with inputs and states, 2 per multiply-add,
// 2*n*4h*(input + state) per layer, pass and step, and 2*n*h*p for a projection; `bwd` has each
// twice (data gradient, weight gradient).
//
// elementwise: each add, subtraction, multiplication, sigmoid and tanh counts 1. Per layer, pass,
// step and sample:
//   forward, 13 per hidden unit: 4 bias adds, 3 sigmoids and 1 tanh (gates i, f, o and candidate
//     g), c = f*c' + i*g (3), tanh(c), times o; "bisum" adds its two outputs: 1 per output channel
//     of each layer. "peephole" has 6 more per hidden unit: a product and an add for i, f and o.
//   bwd, 27 per hidden unit and 1 per state channel: gradient from above plus gradient from the
//     next step (1 per state channel); tanh(c) again (1); do (4), dc (5), di, df, dg (4 each), each
//     with the gate's own derivative s*(1-s) or 1-g*g; dc' = dc*f (1); 4 adds to the bias gradient.
//     "peephole" has 12 more per hidden unit, products with their adds: do into dc (2), di and df
//     into dc' (4), 3 peephole gradients (6). The forward call that keeps the gates is not part of
//     `bwd`.
struct LstmFlops {
  int64_t matrix, elementwise;

  bool operator==(const LstmFlops&) const = default;
};
LstmFlops Flops(const LstmProblem& problem, LstmDirection direction);

// Elements to which one call applies a function.
struct LstmFunctions {
  int64_t sigmoids = 0, tanhs = 0;
};
LstmFunctions Functions(const LstmProblem& problem, LstmDirection direction);

// `count` products of an m x k by a k x n matrix.
struct LstmProduct {
  int64_t m, n, k, count;

  bool operator==(const LstmProduct&) const = default;
};
// The products of one call. With `merged` those of a layer's inputs, which do not wait for each
// other, are one product of all steps, as are weight gradients; else each step has its own.
std::vector<LstmProduct> Products(const LstmProblem& problem, LstmDirection direction, bool merged);

// [byte] per element, as the call at hand stores each kind of tensor.
struct LstmElementBytes {
  double source, hidden, output;  // hidden: states
  double weight;
  double peephole;
  double bias;
  double cell;      // cell states
  double gradient;  // every gradient
};

// [byte] compulsory traffic with DRAM: every tensor of the call once, whole. Forward: source,
// weights (peephole too), bias, output, hidden and cell states in and out. `bwd`: all of these
// (read), and a gradient of each (those of output and final states read, the others written). A
// library's workspace and what it hands from layer to layer are its own, not tensors of the
// problem: not counted.
double CompulsoryBytes(const LstmProblem& problem, LstmDirection direction,
                       const LstmElementBytes& bytes);

// [byte] of memory below which a call cannot be prepared: its tensors, each once more as plain f32,
// and the gates where they are kept for the backward pass.
double LeastHostBytes(const LstmProblem& problem, LstmDirection direction,
                      const LstmElementBytes& bytes);

// One call's Work when the matrix part runs on `matrix_pipe` and the elementwise part on
// `elementwise_pipe`.
Work ModelledWork(const LstmProblem& problem, LstmDirection direction,
                  const LstmElementBytes& bytes, const std::string& matrix_pipe,
                  const std::string& elementwise_pipe, double launches);

// The problem itself when its forward matrix part is at most `most_flops`, else the same stack made
// smaller until it is: steps are halved down to 2, then samples down to 2, then channels. Layers,
// passes and whether there is a projection stay, so the smallest may still exceed `most_flops`.
LstmProblem Twin(const LstmProblem& problem, double most_flops);

}  // namespace dlroof::lstm
