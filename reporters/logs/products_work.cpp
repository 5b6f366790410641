// Closed forms of convolution, matrix product, inner product, recurrent layers, and of ukernels.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "counters/base/work.h"
#include "reporters/logs/primitive.h"

namespace dlroof::logs {
namespace {

constexpr const char* kOfBlock =
    "a block of a larger operation, whose data other blocks share in the caches";

// Returns the number of the bias's elements, or 0 for a call that does not use a bias.
double BiasElements(const Primitive& primitive, double channels) {
  return primitive.HasBias() && primitive.text.prop != "backward_data" ? channels : 0;
}

// Adds the work of a product to `work`, whose destination must be set.
void AddProduct(const Primitive& primitive, ProductCounts counts, FormWork& work) {
  const auto bytes_of = [&](const char* usual, const char* other) {
    return ElementBytes(primitive, primitive.Find(usual) != nullptr ? usual : other);
  };
  counts.destination = work.destination;
  work.destination_bytes = bytes_of("dst", "dst_c");
  const auto product = WorkOfProduct(counts, {bytes_of("src", "src_a"), bytes_of("wei", "src_b"),
                                              work.destination_bytes, bytes_of("bia", "bias")});
  work.matrix = product.matrix;
  work.elementwise = product.elementwise;
  work.bytes = product.bytes;
}

std::vector<double> ImageDims(const LetterSizes& sizes, double channels) {
  std::vector<double> dims = {sizes.Or("mb", 1), channels};
  for (const char* key : {"od", "oh", "ow"})
    if (sizes.Has(key)) dims.push_back(sizes.Or(key, 1));
  return dims;
}

// Returns an axis for each dimension of an image. The filter is applied at each point of one image,
// `applied`, and reads or writes the other, `reached`; each is 'i' (source) or 'o' (destination).
std::vector<FilterAxis> AxesOf(const LetterSizes& sizes, char reached, char applied) {
  std::vector<FilterAxis> axes;
  for (const char side : {'d', 'h', 'w'}) {
    const auto size = [&](char first, double otherwise) {
      return static_cast<int64_t>(sizes.Or(std::string{first, side}, otherwise));
    };
    axes.push_back({.source = size(reached, 1),
                    .outputs = size(applied, 1),
                    .taps = size('k', 1),
                    .stride = size('s', 1),
                    .dilation = size('d', 0) + 1,  // oneDNN's 0 means adjacent taps
                    .pad_begin = size('p', 0)});
    if (axes.back().stride < 1) throw NoClosedForm{"the problem has impossible sizes"};
  }
  return axes;
}

FormWork FilterWork(const Primitive& primitive, const LetterSizes& sizes,
                    const std::vector<FilterAxis>& axes) {
  const double groups = sizes.Or("g", 1);
  if (!sizes.Has("ic") || !sizes.Has("oc") || groups < 1)
    throw NoClosedForm{"the problem lacks ic or oc"};
  const double samples = sizes.Or("mb", 1);
  const double in = sizes.Or("ic", 1);
  const double out = sizes.Or("oc", 1);
  auto work = WorkOn(ImageDims(sizes, out));
  work.destination = samples * out * sizes.Image('o');
  AddProduct(primitive,
             {.multiply_adds = samples * in * out / groups * UsefulPairs(axes),
              .source = samples * in * sizes.Image('i'),
              .weights = in * out / groups * sizes.Image('k'),
              .bias = BiasElements(primitive, out)},
             work);
  return work;
}

// Returns the sizes of source and weights in a problem of oneDNN 1.x, "b4m16n192k256".
std::vector<std::vector<double>> MatricesOf(const LetterSizes& sizes) {
  for (const char* key : {"m", "n", "k"})
    if (!sizes.Has(key)) throw NoClosedForm{"the problem lacks m, n or k"};
  const double m = sizes.Or("m", 1), n = sizes.Or("n", 1), k = sizes.Or("k", 1);
  if (!sizes.Has("b")) return {{m, k}, {k, n}};
  return {{sizes.Or("b", 1), m, k}, {sizes.Or("b", 1), k, n}};
}

// Returns the number of the bias's elements, from its mask ("f0_mask3") or else `without_mask`.
double MatmulBias(const Primitive& primitive, double without_mask, const FormWork& work) {
  constexpr std::string_view kMask = "_mask";
  const auto* bias = primitive.Find(primitive.Find("bia") != nullptr ? "bia" : "bias");
  const auto at = bias == nullptr ? std::string::npos : bias->extra.find(kMask);
  if (at == std::string::npos) return BiasElements(primitive, without_mask);
  const auto elements = MaskedElements(work, bias->extra.substr(at + kMask.size()));
  if (!elements) throw NoClosedForm{"the bias's mask is not a number"};
  return BiasElements(primitive, *elements);
}

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

CallWork WorkOfProduct(const ProductCounts& counts, const ProductElementBytes& bytes) {
  return {.matrix = 2 * counts.multiply_adds,
          .elementwise = counts.bias > 0 ? counts.destination : 0,
          .bytes = counts.source * bytes.source + counts.weights * bytes.weights +
                   counts.destination * bytes.destination + counts.bias * bytes.bias};
}

FormWork ConvolutionWork(const Primitive& primitive) {
  const auto sizes = SizesOf(primitive);
  return FilterWork(primitive, sizes, AxesOf(sizes, 'i', 'o'));
}

// Work of a deconvolution, which applies the filter at every point of the source.
FormWork DeconvolutionWork(const Primitive& primitive) {
  const auto sizes = SizesOf(primitive);
  return FilterWork(primitive, sizes, AxesOf(sizes, 'o', 'i'));
}

// Problems are like "16x256:256x192" or "4x16x256:1x256x192", in some versions with the
// destination's sizes as a third part. oneDNN 1.x prints "b4m16n192k256".
FormWork MatmulWork(const Primitive& primitive) {
  const auto letters = LetterSizes::Read(primitive.text.problem);
  auto dims = letters ? MatricesOf(*letters) : DimsOf(primitive);
  if (dims.size() < 2 || dims[0].size() < 2 || dims[0].size() != dims[1].size())
    throw NoClosedForm{"the problem is not a pair of matrices"};
  const auto &a = dims[0], &b = dims[1];
  const double inner = a.back(), columns = b.back();
  if (b[b.size() - 2] != inner) throw NoClosedForm{"the matrices do not fit together"};
  auto destination = a;
  for (std::size_t i = 0; i + 2 < a.size(); ++i) destination[i] = std::max(a[i], b[i]);
  destination.back() = columns;
  auto work = WorkOn(destination);
  AddProduct(primitive,
             {.multiply_adds = work.destination * inner,
              .source = ProductOf(a),
              .weights = ProductOf(b),
              .bias = MatmulBias(primitive, letters ? work.destination : columns, work)},
             work);
  return work;
}

// Work of a ukernel brgemm. "bs:4 beta:1" with "32x64:64x48" is C = beta * C + sum of 4 products.
FormWork BlockProductWork(const Primitive& primitive) {
  auto work = MatmulWork(primitive);
  const auto products = NumberFromZero(WordOf(primitive.text.auxiliary, "bs")).value_or(1);
  const auto beta = WordOf(primitive.text.auxiliary, "beta");
  work.matrix *= products;
  if (!beta.empty() && beta != "0") work.elementwise += (beta == "1" ? 1 : 2) * work.destination;
  work.missing_bytes = Reason{kOfBlock};
  return work;
}

// Work of a ukernel transform, which packs a block of a matrix.
FormWork BlockTransformWork(const Primitive& primitive) {
  const auto dims = DimsOf(primitive);
  FormWork work = WorkOn(dims.front());
  work.missing_bytes = Reason{kOfBlock};
  return work;
}

FormWork InnerProductWork(const Primitive& primitive) {
  const auto sizes = SizesOf(primitive);
  if (!sizes.Has("ic") || !sizes.Has("oc")) throw NoClosedForm{"the problem lacks ic or oc"};
  const double samples = sizes.Or("mb", 1);
  const double inner = sizes.Or("ic", 1) * sizes.Image('i');
  const double out = sizes.Or("oc", 1);
  auto work = WorkOn({samples, out});
  AddProduct(primitive,
             {.multiply_adds = work.destination * inner,
              .source = samples * inner,
              .weights = inner * out,
              .bias = BiasElements(primitive, out)},
             work);
  return work;
}

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
