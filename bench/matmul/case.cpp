#include "bench/matmul/case.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

#include "counters/base/error.h"

namespace dlroof {
namespace {

struct ElementRow {
  std::string_view name;
  int64_t bytes;
  bool source, weights, destination;  // may be the type of
};
constexpr std::array<ElementRow, 7> kElements = {{{"f64", 8, false, false, false},
                                                  {"f32", 4, true, true, true},
                                                  {"bf16", 2, true, true, true},
                                                  {"f16", 2, true, true, true},
                                                  {"s32", 4, false, false, true},
                                                  {"u8", 1, true, false, true},
                                                  {"s8", 1, true, true, true}}};

// Types with a name of their own.
const std::array<std::pair<std::string_view, MatmulTypes>, 6>& NamedTypes() {
  static const std::array<std::pair<std::string_view, MatmulTypes>, 6> rows = {
      {{"f64", {"f64", "f64", "f64"}},
       {"f32", {"f32", "f32", "f32"}},
       {"tf32", {"f32", "f32", "f32"}},  // what multiplies is narrower than what is stored
       {"bf16", {"bf16", "bf16", "bf16"}},
       {"f16", {"f16", "f16", "f16"}},
       {"int8", {"u8", "s8", "u8"}}}};
  return rows;
}

// Takes the element that `text` begins with; empty: there is none.
std::string TakeElement(std::string_view& text, bool ElementRow::*allowed) {
  for (const auto& row : kElements)
    if (row.*allowed && text.starts_with(row.name)) {
      text.remove_prefix(row.name.size());
      return std::string(row.name);
    }
  return {};
}

[[noreturn]] void Refuse(const BenchmarkName& name, int part, std::string_view why) {
  throw BadInput(fmt::format("column {}: {}", ColumnOfPart(name, part), why));
}

MatmulTypes ReadTypes(const BenchmarkName& name, const MatmulOffer& offer) {
  const bool listed =
      std::find(offer.types.begin(), offer.types.end(), name.type) != offer.types.end();
  try {
    auto types = MatmulTypesFromKey(name.type);
    const bool named = std::any_of(NamedTypes().begin(), NamedTypes().end(),
                                   [&](auto& row) { return row.first == name.type; });
    if (listed || (offer.mixes && !named)) return types;
  } catch (const BadInput&) {
    // The refusal below lists what there is.
  }
  Refuse(name, 4,
         fmt::format("expected a type ({}{}), got '{}'", fmt::join(offer.types, ", "),
                     offer.mixes ? ", or a mix such as u8s8f32" : "", name.type));
}

// Throws BadInput for an option that the direction, the type or the problem cannot have.
void CheckVariant(const BenchmarkName& name, const MatmulCase& matmul) {
  const auto refuse_if = [&](bool wrong, std::string_view option, std::string_view why) {
    if (!wrong || !HasOption(name, option)) return;
    const auto at = std::find(name.options.begin(), name.options.end(), option);
    Refuse(name, 6 + static_cast<int>(at - name.options.begin()),
           fmt::format("'{}' {}", option, why));
  };
  const auto& p = matmul.problem;
  const bool forward = matmul.direction == MatmulDirection::kForward;
  const bool gradient = matmul.ip && matmul.direction == MatmulDirection::kBackwardWeights;
  const bool transposed = p.transposed_a || p.transposed_b;
  refuse_if(p.b > 1 || transposed, "ip", "multiplies one pair of matrices: no batch, no tA or tB");
  refuse_if(!matmul.ip || !forward, "training", "is a kind of fwd of ip");
  refuse_if(!forward && !gradient, "bias", "belongs to fwd, and to bwd_weights of ip");
  refuse_if(!forward, "relu", "is fused into fwd alone");
  refuse_if(!IsInt8(matmul.types), "scales", "belongs to integer types");
  refuse_if(matmul.ip, "any", "is what ip has anyway");
  refuse_if(!forward || transposed, "any", "belongs to fwd without tA and tB");
}

}  // namespace

MatmulTypes MatmulTypesFromKey(std::string_view type) {
  for (const auto& [key, types] : NamedTypes())
    if (key == type) return types;
  std::string_view rest = type;
  MatmulTypes types{TakeElement(rest, &ElementRow::source), TakeElement(rest, &ElementRow::weights),
                    TakeElement(rest, &ElementRow::destination)};
  if (!rest.empty() || types.destination.empty() || types.weights.empty() || types.source.empty())
    throw BadInput(fmt::format("'{}' is not a type", type));
  for (const auto& [key, named] : NamedTypes())
    if (named == types) throw BadInput(fmt::format("the type {} is written {}", type, key));
  return types;
}

std::string KeyOf(const MatmulTypes& types) {
  for (const auto& [key, named] : NamedTypes())
    if (named == types) return std::string(key);
  auto key = types.source + types.weights + types.destination;
  try {
    return MatmulTypesFromKey(key) == types ? key : "";
  } catch (const BadInput&) {
    return "";
  }
}

bool IsInt8(const MatmulTypes& types) {
  return types.weights == "s8" && (types.source == "u8" || types.source == "s8");
}

MatmulProduct ProductOf(const MatmulCase& matmul) {
  auto problem = matmul.problem;
  if (matmul.ip) problem.transposed_b = true;
  return ProductOf(problem, matmul.direction);
}

std::string_view TypeOf(const MatmulTypes& types, Matrix matrix) {
  if (matrix == Matrix::kA) return types.source;
  return matrix == Matrix::kB ? types.weights : types.destination;
}

std::string_view BiasType(const MatmulTypes& types) {
  return types.weights == "s8" ? "f32" : std::string_view(types.weights);
}

std::string_view ComputeType(const MatmulTypes& types) {
  if (IsInt8(types)) return "int8";
  for (const std::string_view narrow : {"f16", "bf16", "f32"})
    for (const auto* element : {&types.source, &types.weights, &types.destination})
      if (*element == narrow) return narrow;
  return "f64";
}

const OptionRows& MatmulOptions() {
  static const OptionRows rows = {{"ip"},
                                  {"training"},
                                  {"bias"},
                                  {"relu"},
                                  {"scales"},
                                  {"any"},
                                  {"fpmath-bf16", "fpmath-f16", "fpmath-tf32", "fpmath-any"}};
  return rows;
}

MatmulCase ReadMatmulCase(const BenchmarkName& name, const MatmulOffer& offer) {
  MatmulCase matmul;
  const auto direction = MatmulDirectionFromKey(name.direction);
  if (!direction)
    Refuse(
        name, 3,
        fmt::format("expected a direction (fwd, bwd_data, bwd_weights), got '{}'", name.direction));
  matmul.direction = *direction;
  matmul.type = name.type;
  matmul.types = ReadTypes(name, offer);
  matmul.problem = ParseMatmul(name.problem, ColumnOfPart(name, 5) - 1);
  CheckOptions(name, offer.options);
  matmul.ip = HasOption(name, "ip");
  matmul.training = HasOption(name, "training");
  matmul.bias = HasOption(name, "bias");
  matmul.relu = HasOption(name, "relu");
  matmul.scales = HasOption(name, "scales");
  matmul.any = HasOption(name, "any");
  constexpr std::string_view kFpmath = "fpmath-";
  for (const auto& option : name.options)
    if (option.starts_with(kFpmath)) matmul.fpmath = option.substr(kFpmath.size());
  CheckVariant(name, matmul);
  return matmul;
}

MatmulCase ReadOnednnMatmulCase(const BenchmarkName& name) {
  return ReadMatmulCase(name, {{"f32", "bf16", "f16", "int8"}, true, MatmulOptions()});
}

int64_t ElementwiseFlops(const MatmulCase& matmul) {
  return CountC(matmul.problem) * (static_cast<int64_t>(matmul.bias) + matmul.relu);
}

int64_t MatmulElementBytes(std::string_view type) {
  const auto* const row = std::find_if(kElements.begin(), kElements.end(),
                                       [&](const ElementRow& e) { return e.name == type; });
  if (row == kElements.end()) throw std::logic_error(fmt::format("no element type {}", type));
  return row->bytes;
}

Work MatmulWork(const MatmulCase& matmul, const std::string& pipe) {
  const auto& p = matmul.problem;
  const auto dense = static_cast<double>(DenseFlops(p));
  const auto elementwise = static_cast<double>(ElementwiseFlops(matmul));
  Work work;
  work.flops[pipe] = dense;
  work.parts["matrix"] = dense;
  if (elementwise > 0) {
    work.flops[matmul.type == "f64" ? pipe : "fp32.vector"] += elementwise;
    work.parts["elementwise"] = elementwise;
  }
  work.bytes[Level::kDram] =
      static_cast<double>(CountA(p) * MatmulElementBytes(matmul.types.source) +
                          CountB(p) * MatmulElementBytes(matmul.types.weights) +
                          CountC(p) * MatmulElementBytes(matmul.types.destination) +
                          (matmul.bias ? p.n * MatmulElementBytes(BiasType(matmul.types)) : 0));
  work.launches = 1;
  return work;
}

}  // namespace dlroof
