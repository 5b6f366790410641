// Recurrent layers: vanilla RNN, LSTM, GRU, GRU with a linear transformation before its reset, and
// both of these with attention.
#include <algorithm>

#include "reporters/verbose/work_forms.h"

namespace dlroof::verbose {
namespace {

// Elementwise operations per hidden unit, sample, step, layer and direction. h' is the state
// before, x and s the products of the weights with the input and with h'.
//   vanilla_rnn  h = act(x + s + b): bias 1, function 1.
//     backward: gradient of the function 3 (dh*(1 - h*h)), bias 1.
//   vanilla_lstm as bench/lstm/problem.h counts it.
//   vanilla_gru  u, r = sigmoid(x + s + b); o = tanh(x + U(r*h') + b); h = u*h' + (1 - u)*o:
//     biases 3, functions 3, r*h' 1, the new state 4.
//     backward: do = dh*(1 - u)*(1 - o*o) 5; du = dh*(h' - o)*u*(1 - u) 5; dh' = dh*u 1; with g the
//     gradient of r*h': dr = g*h'*r*(1 - r) 4, dh' += g*r 2; r*h' again 1; biases 3.
//   lbr_gru  o = tanh(x + r*(s + b') + b): biases 2, functions 2, o 5, the new state 4.
//     backward: do 5, du 5, dh' = dh*u 1, dr = do*(s + b')*r*(1 - r) 4, gradient of s 1, biases 4.
//   vanilla_augru, lbr_augru  the same with u' = (1 - a)*u for u in the new state: 1, and once per
//     sample 1 - a.
//     backward: u' again 1; du = dh*(h' - o)*u'*(1 - u), as many as without attention; da = the sum
//     of -dh*(h' - o)*u over the units: product 1, additions and the sign 1; once per sample 1 - a.
// Each backward adds the gradient from above to that of the next step: 1 per channel of the state.
struct CellKind {
  std::string_view name;
  double gates, biases;
  double forward, backward;  // [flop]
  double attention = 0;      // [flop] per sample, step, layer and direction
};
constexpr CellKind kCells[] = {{"vanilla_rnn", 1, 1, 2, 4},        {"vanilla_lstm", 4, 4, 13, 27},
                               {"vanilla_gru", 3, 3, 11, 21},      {"lbr_gru", 3, 4, 13, 20},
                               {"vanilla_augru", 3, 3, 12, 24, 1}, {"lbr_augru", 3, 4, 14, 23, 1}};

struct RnnSizes {
  double layers, steps, samples, input, state, hidden, output;
  double directions;
  bool summed, concatenated;
  bool projected;
};

RnnSizes Read(const Primitive& primitive) {
  const auto letters = SizesOf(primitive);
  if (!letters.Has("sic")) throw NoClosedForm{"the problem lacks sic"};
  RnnSizes sizes{.layers = letters.Or("l", 1),
                 .steps = letters.Or("t", 1),
                 .samples = letters.Or("mb", 1),
                 .state = letters.Or("sic", 1)};
  sizes.input = letters.Or("slc", sizes.state);
  sizes.hidden = letters.Or("dhc", sizes.state);
  sizes.output = letters.Or("dic", letters.Or("dlc", sizes.hidden));
  const auto direction = WordOf(primitive.text.auxiliary, "direction");
  sizes.summed = direction == "bidirectional_sum";
  sizes.concatenated = direction == "bidirectional_concat";
  sizes.directions = sizes.summed || sizes.concatenated ? 2 : 1;
  if (sizes.concatenated && !letters.Has("dic") && letters.Has("dlc")) sizes.output /= 2;
  sizes.projected = sizes.output != sizes.hidden;
  return sizes;
}

const CellKind& CellOf(const Primitive& primitive) {
  const auto name = WordOf(primitive.text.auxiliary, "alg");
  const auto* cell = std::ranges::find(kCells, name, &CellKind::name);
  if (cell == std::end(kCells)) throw NoClosedForm{"no closed form of this recurrent cell"};
  return *cell;
}

// [1] elements of all layers and directions.
struct RnnElements {
  double layer_weights, state_weights, projection;
};

RnnElements ElementsOf(const RnnSizes& sizes, const CellKind& cell) {
  const double gates = cell.gates * sizes.hidden;
  const double inputs = sizes.input + (sizes.layers - 1) * sizes.output;
  return {sizes.directions * gates * inputs, sizes.directions * sizes.layers * gates * sizes.state,
          sizes.projected ? sizes.directions * sizes.layers * sizes.hidden * sizes.output : 0};
}

// [byte] of the tensors, or of their gradients with `prefix` "diff_". A cell state is not printed:
// it goes with the hidden state.
double TensorBytes(const Primitive& primitive, const RnnSizes& sizes, const CellKind& cell,
                   const std::string& prefix) {
  const auto elements = ElementsOf(sizes, cell);
  const double places = sizes.layers * sizes.directions;
  const auto of = [&](const char* role, double count) {
    return count * ElementBytes(primitive, prefix + role);
  };
  double bytes =
      of("src_layer", sizes.steps * sizes.samples * sizes.input) +
      of("src_iter", places * sizes.samples * sizes.state) +
      of("wei_layer", elements.layer_weights) + of("wei_iter", elements.state_weights) +
      of("wei_proj", elements.projection) + of("wei_peephole", places * 3 * sizes.hidden) +
      of("bias", places * cell.biases * sizes.hidden) +
      of("dst_layer", sizes.steps * sizes.samples * sizes.output * (sizes.concatenated ? 2 : 1)) +
      of("dst_iter", places * sizes.samples * sizes.output);
  // The attention is not printed: a number per sample and step, of the source's type.
  if (cell.attention > 0) bytes += of("src_layer", sizes.steps * sizes.samples);
  if (cell.name != "vanilla_lstm") return bytes;
  constexpr double kCellBytes = 4;
  for (const char* state : {"src_iter", "dst_iter"})
    if (primitive.Find(prefix + state) != nullptr)
      bytes += places * sizes.samples * sizes.hidden * kCellBytes;
  return bytes;
}

}  // namespace

FormWork RnnWork(const Primitive& primitive) {
  const auto sizes = Read(primitive);
  const auto& cell = CellOf(primitive);
  const auto elements = ElementsOf(sizes, cell);
  const double samples = sizes.steps * sizes.samples;
  const double cells = samples * sizes.layers * sizes.directions;
  const bool backward = primitive.IsBackward();
  FormWork work;
  work.matrix = 2 * samples *
                (elements.layer_weights + elements.state_weights + elements.projection) *
                (backward ? 2 : 1);
  const double peephole = primitive.Find("wei_peephole") == nullptr ? 0 : backward ? 12 : 6;
  work.elementwise = cells * sizes.hidden * ((backward ? cell.backward : cell.forward) + peephole);
  work.elementwise += cells * cell.attention;
  if (backward) work.elementwise += cells * sizes.output;
  if (sizes.summed && !backward) work.elementwise += samples * sizes.output;
  work.bytes = TensorBytes(primitive, sizes, cell, "");
  if (backward) work.bytes += TensorBytes(primitive, sizes, cell, "diff_");
  return work;
}

}  // namespace dlroof::verbose
