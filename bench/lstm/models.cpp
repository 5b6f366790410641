#include "bench/lstm/models.h"

#include <fmt/format.h>

#include "bench/library_rules/onednn_blocking.h"

namespace dlroof::lstm {
namespace {

enum Dimension { kT, kN, kUnits, kInputs };

constexpr int64_t kColumns = 2;  // vectors of hidden units in a block

caches::NestAxis Axis(int dimension, double size) { return {{{dimension, 1}}, size}; }

struct Product {
  int64_t steps, samples, inputs;
  double panel;  // [1] inputs that a kernel sums over at a time
};

// Returns the loop nest that multiplies `steps` times `samples` rows by weights of `inputs` rows,
// in panels of `panel` rows. Gates are stored separately, so a panel contains hidden units of one
// gate.
caches::ReuseNest ProductNest(const LstmProblem& p, const Product& product,
                              const LstmElementBytes& bytes,
                              const library_rules::VectorUnit& unit) {
  const auto t = static_cast<double>(product.steps), n = static_cast<double>(product.samples);
  const auto inputs = static_cast<double>(product.inputs);
  const double units = static_cast<double>(kLstmGates * p.h);
  const auto block = static_cast<double>(kColumns * unit.lanes);
  const auto rows = static_cast<double>(library_rules::RowBlock(unit, kColumns, product.samples));
  caches::ReuseNest nest{.sizes = {t, n, units, inputs}};
  nest.loops = {
      {kT, 1}, {kUnits, block}, {kInputs, product.panel}, {kN, rows}, {kInputs, 64 / bytes.hidden}};
  nest.tensors = {
      {"weights", bytes.weight, {Axis(kUnits, units), Axis(kInputs, inputs)}},
      {"inputs and states", bytes.hidden, {Axis(kT, t), Axis(kN, n), Axis(kInputs, inputs)}},
      // The library's scratch memory has 4 byte per element, and four times as many elements as the
      // states and outputs.
      {"gates", 4, {Axis(kN, n), Axis(kUnits, units)}},
      {"cell states", bytes.cell / kLstmGates, {Axis(kN, n), Axis(kUnits, units)}}};
  // If outputs and states have the same type, an output is the next step's state.
  if (bytes.output != bytes.hidden)
    nest.tensors.push_back(
        {"outputs", bytes.output / kLstmGates, {Axis(kT, t), Axis(kN, n), Axis(kUnits, units)}});
  return nest;
}

// Returns the loop nests of one pass of one layer.
std::vector<caches::ReuseNest> LayerNests(const LstmProblem& p, int64_t input,
                                          const LstmElementBytes& bytes,
                                          const library_rules::VectorUnit& unit) {
  const int64_t state = StateWidth(p), both = input + state;
  const auto wide = [](int64_t inputs) { return static_cast<double>(inputs); };
  const bool merged = p.n == 1 && p.t > 1 && p.l == 1 && !p.peephole;
  if (!merged)
    return {ProductNest(p, {p.t, p.n, both, input == state ? wide(both) : wide(both) / 2}, bytes,
                        unit)};
  return {ProductNest(p, {1, p.t, input, wide(input)}, bytes, unit),
          ProductNest(p, {p.t, 1, state, wide(state)}, bytes, unit)};
}

double CoreBytes(const caches::ReuseNest& nest, const LstmElementBytes& bytes,
                 const library_rules::VectorUnit& unit) {
  const double products =
      nest.sizes[kT] * nest.sizes[kN] * nest.sizes[kUnits] * nest.sizes[kInputs];
  const double gates = nest.sizes[kT] * nest.sizes[kN] * nest.sizes[kUnits] * 4;
  const auto samples = static_cast<int64_t>(nest.sizes[kN]);
  const auto rows = static_cast<double>(library_rules::RowBlock(unit, kColumns, samples));
  const auto columns = static_cast<double>(kColumns * unit.lanes);
  // The first GEMM writes the gates, the second reads and writes them, the functions read them.
  return products * (bytes.hidden / columns + bytes.weight / rows) + 4 * gates;
}

}  // namespace

caches::LevelModel LstmLevels(const LstmProblem& problem, LstmDirection direction,
                              const LstmElementBytes& bytes, std::string_view implementation,
                              std::string_view isa) {
  caches::LevelModel model;
  model.reason = library_rules::TilesReason(implementation);
  if (model.reason) return model;
  if (direction == LstmDirection::kBackward || !implementation.starts_with("brgemm") ||
      problem.p != 0) {
    model.reason = Reason{fmt::format("the loops of {} by {}{} are not modelled", Key(direction),
                                      implementation, problem.p != 0 ? " with a projection" : "")};
    return model;
  }
  const library_rules::VectorUnit unit = library_rules::VectorUnitOf(implementation, isa);
  for (int64_t layer = 0; layer < problem.l; ++layer)
    for (int64_t pass = 0; pass < Passes(problem); ++pass)
      for (caches::ReuseNest& nest : LayerNests(problem, InputWidth(problem, layer), bytes, unit)) {
        model.core_bytes += CoreBytes(nest, bytes, unit);
        model.nests.push_back(std::move(nest));
      }
  model.how = fmt::format(
      "weights read every time step, by {} hidden units of a gate, {} samples in registers",
      kColumns * unit.lanes, library_rules::RowBlock(unit, kColumns, problem.n));
  return model;
}

}  // namespace dlroof::lstm
