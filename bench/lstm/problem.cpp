#include "bench/lstm/problem.h"

#include <fmt/format.h>

#include <algorithm>

#include "bench/workload/problem_text.h"
#include "counters/base/keys.h"

namespace dlroof::lstm {
namespace {

constexpr KeyRow<LstmDirection> kDirections[] = {
    {LstmDirection::kForwardInference, "fwd_inference"},
    {LstmDirection::kForwardTraining, "fwd_training"},
    {LstmDirection::kBackward, "bwd"}};

// Every tensor size in bytes and every operation count of a problem lies below this product (the
// largest factor in front of t*n*l*passes*h is 16*(input + state) + 4*p + 40 for `bwd`), so it is
// the one that must fit.
void CheckSizes(const LstmProblem& problem) {
  const int64_t widest = std::max(problem.i, OutputWidth(problem)) + StateWidth(problem) + 1;
  workload::CheckedCount({64, widest, problem.t, problem.n, problem.l, Passes(problem), problem.h},
               "the work of this LSTM");
}

double CountOnce(const LstmElements& elements, const LstmElementBytes& bytes) {
  return bytes.source * static_cast<double>(elements.source) +
         bytes.output * static_cast<double>(elements.output) +
         bytes.hidden * static_cast<double>(2 * elements.hidden) +
         bytes.cell * static_cast<double>(2 * elements.cell) +
         bytes.weight * static_cast<double>(elements.weights) +
         bytes.peephole * static_cast<double>(elements.peephole) +
         bytes.bias * static_cast<double>(elements.bias);
}

// Smaller by one step in the order of the contract; the same when nothing is left to halve.
LstmProblem Halved(LstmProblem problem) {
  const auto half = [](int64_t size) { return (size + 1) / 2; };
  if (problem.t > 2) {
    problem.t = half(problem.t);
  } else if (problem.n > 2) {
    problem.n = half(problem.n);
  } else {
    problem.i = half(problem.i);
    problem.h = half(problem.h);
    problem.p = half(problem.p);
  }
  return problem;
}

}  // namespace

std::string ToText(const LstmProblem& problem) {
  std::string text = fmt::format("t{}n{}i{}h{}", problem.t, problem.n, problem.i, problem.h);
  if (problem.l != 1) text += fmt::format("l{}", problem.l);
  if (problem.p != 0) text += fmt::format("p{}", problem.p);
  if (problem.passes == LstmPasses::kConcatenated) text += "bi";
  if (problem.passes == LstmPasses::kSummed) text += "bisum";
  return text;
}

LstmProblem ParseLstmProblem(std::string_view text, int column_offset) {
  workload::TextCursor cursor(text, column_offset);
  LstmProblem problem;
  cursor.Expect("t");
  problem.t = cursor.Integer(1, "time steps");
  cursor.Expect("n");
  problem.n = cursor.Integer(1, "batch size");
  cursor.Expect("i");
  problem.i = cursor.Integer(1, "input channels");
  cursor.Expect("h");
  problem.h = cursor.Integer(1, "hidden units");
  if (cursor.Accept("l")) problem.l = cursor.Integer(2, "layers (1 is left out)");
  if (cursor.Accept("p")) problem.p = cursor.Integer(1, "projection size");
  if (cursor.Accept("bisum"))
    problem.passes = LstmPasses::kSummed;
  else if (cursor.Accept("bi"))
    problem.passes = LstmPasses::kConcatenated;
  if (!cursor.AtEnd()) cursor.Refuse("l, p, bi or bisum (in this order) or the end");
  CheckSizes(problem);
  return problem;
}

std::string_view Key(LstmDirection direction) { return KeyIn(kDirections, direction); }

int64_t Passes(const LstmProblem& problem) {
  return problem.passes == LstmPasses::kForward ? 1 : 2;
}

int64_t StateWidth(const LstmProblem& problem) { return problem.p != 0 ? problem.p : problem.h; }

int64_t OutputWidth(const LstmProblem& problem) {
  return StateWidth(problem) * (problem.passes == LstmPasses::kConcatenated ? 2 : 1);
}

int64_t InputWidth(const LstmProblem& problem, int64_t layer) {
  return layer == 0 ? problem.i : OutputWidth(problem);
}

LstmElements Elements(const LstmProblem& problem) {
  const int64_t cells = problem.l * Passes(problem);
  const int64_t state = StateWidth(problem);
  LstmElements elements{};
  elements.source = problem.t * problem.n * problem.i;
  elements.output = problem.t * problem.n * OutputWidth(problem);
  elements.hidden = cells * problem.n * state;
  elements.cell = cells * problem.n * problem.h;
  const int64_t inputs = problem.i + (problem.l - 1) * OutputWidth(problem);
  elements.weights = Passes(problem) * inputs * kLstmGates * problem.h +
                     cells * (state * kLstmGates * problem.h + problem.h * problem.p);
  elements.bias = cells * kLstmGates * problem.h;
  elements.peephole = problem.peephole ? cells * 3 * problem.h : 0;
  return elements;
}

// The backward pass has the gates of the forward pass, and tanh(c) once more.
LstmFunctions Functions(const LstmProblem& problem, LstmDirection direction) {
  const int64_t units = problem.t * problem.n * problem.l * Passes(problem) * problem.h;
  if (direction == LstmDirection::kBackward) return {0, units};
  return {3 * units, 2 * units};
}

std::vector<LstmProduct> Products(const LstmProblem& problem, LstmDirection direction,
                                  bool merged) {
  const int64_t gates = kLstmGates * problem.h, state = StateWidth(problem);
  const int64_t rows = merged ? problem.t * problem.n : problem.n, steps = merged ? 1 : problem.t;
  std::vector<LstmProduct> products;
  for (int64_t layer = 0; layer < problem.l; ++layer) {
    const int64_t input = InputWidth(problem, layer);
    const std::vector<LstmProduct> forward = {{rows, gates, input, steps},
                                              {problem.n, gates, state, problem.t}};
    const std::vector<LstmProduct> backward = {{rows, input, gates, steps},
                                               {problem.n, state, gates, problem.t},
                                               {input, gates, rows, steps},
                                               {state, gates, rows, steps}};
    for (auto product : direction == LstmDirection::kBackward ? backward : forward) {
      product.count *= Passes(problem);
      products.push_back(product);
    }
    if (problem.p == 0) continue;
    const int64_t count = problem.t * Passes(problem);
    if (direction != LstmDirection::kBackward)
      products.push_back({problem.n, problem.p, problem.h, count});
    else
      for (const auto& product : {LstmProduct{problem.n, problem.h, problem.p, count},
                                  LstmProduct{problem.h, problem.p, problem.n, count}})
        products.push_back(product);
  }
  return products;
}

LstmFlops Flops(const LstmProblem& problem, LstmDirection direction) {
  const bool backward = direction == LstmDirection::kBackward;
  const LstmElements elements = Elements(problem);
  const int64_t samples = problem.t * problem.n;
  const int64_t cells = samples * problem.l * Passes(problem);
  LstmFlops flops{.matrix = 2 * samples * elements.weights};
  if (backward) flops.matrix *= 2;
  const int64_t peephole = problem.peephole ? (backward ? 12 : 6) : 0;
  flops.elementwise = cells * problem.h * ((backward ? 27 : 13) + peephole);
  if (backward) flops.elementwise += cells * StateWidth(problem);
  if (!backward && problem.passes == LstmPasses::kSummed)
    flops.elementwise += samples * problem.l * OutputWidth(problem);
  return flops;
}

double CompulsoryBytes(const LstmProblem& problem, LstmDirection direction,
                       const LstmElementBytes& bytes) {
  const LstmElements elements = Elements(problem);
  const double tensors = CountOnce(elements, bytes);
  if (direction != LstmDirection::kBackward) return tensors;
  const double g = bytes.gradient;
  return tensors + CountOnce(elements, {g, g, g, g, g, g, g, g});
}

double LeastHostBytes(const LstmProblem& problem, LstmDirection direction,
                      const LstmElementBytes& bytes) {
  const double tensors = CompulsoryBytes(problem, direction, bytes) +
                         CompulsoryBytes(problem, direction, {4, 4, 4, 4, 4, 4, 4, 4});
  if (direction == LstmDirection::kForwardInference) return tensors;
  const int64_t gates =
      problem.t * problem.n * problem.l * Passes(problem) * kLstmGates * problem.h;
  return tensors + bytes.hidden * static_cast<double>(gates);
}

Work ModelledWork(const LstmProblem& problem, LstmDirection direction,
                  const LstmElementBytes& bytes, const std::string& matrix_pipe,
                  const std::string& elementwise_pipe, double launches) {
  const LstmFlops flops = Flops(problem, direction);
  const auto matrix = static_cast<double>(flops.matrix);
  const auto elementwise = static_cast<double>(flops.elementwise);
  Work work;
  work.flops[matrix_pipe] += matrix;
  work.flops[elementwise_pipe] += elementwise;
  work.parts = {{"matrix", matrix}, {"elementwise", elementwise}};
  work.bytes[Level::kDram] = CompulsoryBytes(problem, direction, bytes);
  work.launches = launches;
  return work;
}

LstmProblem Twin(const LstmProblem& problem, double most_flops) {
  LstmProblem twin = problem;
  while (static_cast<double>(Flops(twin, LstmDirection::kForwardInference).matrix) > most_flops) {
    const LstmProblem smaller = Halved(twin);
    if (smaller == twin) break;
    twin = smaller;
  }
  return twin;
}

}  // namespace dlroof::lstm
