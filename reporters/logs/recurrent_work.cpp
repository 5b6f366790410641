// Closed forms of recurrent layers.
#include <fmt/format.h>

#include <algorithm>

#include "reporters/logs/primitive.h"

namespace dlroof::logs {
namespace {

// A kind of recurrent cell: vanilla RNN, LSTM, GRU, or linear-before-reset GRU.
//
// FLOPs of elementwise operations per hidden unit, sample, step, layer and direction. h' is the
// previous state; x and s are the products of the weights with the input and with h'.
//   vanilla_rnn  h = act(x + s + b): bias 1, function 1.
//     backward: gradient of the function 3 (dh*(1 - h*h)), bias 1.
//   vanilla_lstm kLstmCell.
//   vanilla_gru  u, r = sigmoid(x + s + b); o = tanh(x + U(r*h') + b); h = u*h' + (1 - u)*o:
//     biases 3, functions 3, r*h' 1, the new state 4.
//     backward: do = dh*(1 - u)*(1 - o*o) 5; du = dh*(h' - o)*u*(1 - u) 5; dh' = dh*u 1; with g the
//     gradient of r*h': dr = g*h'*r*(1 - r) 4, dh' += g*r 2; r*h' again 1; biases 3.
//   lbr_gru  o = tanh(x + r*(s + b') + b): biases 2, functions 2, o 5, the new state 4.
//     backward: do 5, du 5, dh' = dh*u 1, dr = do*(s + b')*r*(1 - r) 4, gradient of s 1, biases 4.
// Backward also adds two gradients of the state, from the layer above and from the next time step:
// 1 per channel.
struct CellKind {
  std::string_view name;
  double gates, biases;
  CellFlops flops;
};
constexpr CellKind kCells[] = {{"vanilla_rnn", 1, 1, {2, 4}},
                               {"vanilla_lstm", 4, 4, kLstmCell},
                               {"vanilla_gru", 3, 3, {11, 21}},
                               {"lbr_gru", 3, 4, {13, 20}}};

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
  if (cell == std::end(kCells))
    throw NoClosedForm{fmt::format("no closed form of the recurrent cell '{}'", name)};
  return *cell;
}

// [1] Numbers of weights of all layers and directions.
struct RnnElements {
  double layer_weights, state_weights, projection;
};

RnnElements ElementsOf(const RnnSizes& sizes, const CellKind& cell) {
  const double gates = cell.gates * sizes.hidden;
  const double inputs = sizes.input + (sizes.layers - 1) * sizes.output;
  return {sizes.directions * gates * inputs, sizes.directions * sizes.layers * gates * sizes.state,
          sizes.projected ? sizes.directions * sizes.layers * sizes.hidden * sizes.output : 0};
}

// Returns the bytes of the tensors or, with `prefix` "diff_", of their gradients. Includes an
// LSTM's cell state, which the log does not print: it exists if the hidden state does.
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
  if (cell.name != "vanilla_lstm") return bytes;
  constexpr double kCellBytes = 4;
  for (const char* state : {"src_iter", "dst_iter"})
    if (primitive.Find(prefix + state) != nullptr)
      bytes += places * sizes.samples * sizes.hidden * kCellBytes;
  return bytes;
}

}  // namespace

CallWork FlopsOfRecurrent(const RecurrentCounts& counts, const CellFlops& cell, bool backward) {
  const double products = backward ? 2 : 1;
  return {.matrix = 2 * products * counts.samples * counts.weights,
          .elementwise = counts.cells * counts.hidden * (backward ? cell.backward : cell.forward) +
                         (backward ? counts.cells * counts.state : counts.summed)};
}

FormWork RnnWork(const Primitive& primitive) {
  const auto sizes = Read(primitive);
  const auto& cell = CellOf(primitive);
  const auto elements = ElementsOf(sizes, cell);
  const double samples = sizes.steps * sizes.samples;
  const double cells = samples * sizes.layers * sizes.directions;
  const bool backward = primitive.IsBackward();
  auto flops = cell.flops;
  if (primitive.Find("wei_peephole") != nullptr) {
    flops.forward += kLstmPeephole.forward;
    flops.backward += kLstmPeephole.backward;
  }
  const auto call = FlopsOfRecurrent(
      {.weights = elements.layer_weights + elements.state_weights + elements.projection,
       .samples = samples,
       .cells = cells,
       .hidden = sizes.hidden,
       .state = sizes.output,
       .summed = sizes.summed ? samples * sizes.output : 0},
      flops, backward);
  FormWork work{.matrix = call.matrix,
                .elementwise = call.elementwise,
                .bytes = TensorBytes(primitive, sizes, cell, "")};
  if (backward) work.bytes += TensorBytes(primitive, sizes, cell, "diff_");
  return work;
}

}  // namespace dlroof::logs
