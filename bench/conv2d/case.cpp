#include "bench/conv2d/case.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

#include "bench/workload/device_elements.h"
#include "counters/base/error.h"

namespace dlroof {
namespace {

struct ElementRow {
  std::string_view name;
  bool source, weights, destination;  // may be the type of
};
constexpr std::array<ElementRow, 6> kElements = {{{"f32", true, true, true},
                                                  {"bf16", true, true, true},
                                                  {"f16", true, true, true},
                                                  {"s32", false, false, true},
                                                  {"u8", true, false, true},
                                                  {"s8", true, true, true}}};

// Types with a name of their own.
const std::array<std::pair<std::string_view, Conv2dTypes>, 7>& NamedTypes() {
  static const std::array<std::pair<std::string_view, Conv2dTypes>, 7> rows = {
      {{"f64", {"f64", "f64", "f64"}},
       {"f32", {"f32", "f32", "f32"}},
       {"tf32", {"f32", "f32", "f32"}},  // what multiplies is narrower than what is stored
       {"bf16", {"bf16", "bf16", "bf16"}},
       {"f16", {"f16", "f16", "f16"}},
       {"int8", {"u8", "s8", "u8"}},
       {"fp8", {"e4m3", "e4m3", "e4m3"}}}};
  return rows;
}

// The element that `text` begins with, taken off; empty when there is none.
std::string TakeElement(std::string_view& text, bool ElementRow::*allowed) {
  for (const auto& row : kElements)
    if (row.*allowed && text.starts_with(row.name)) {
      text.remove_prefix(row.name.size());
      return std::string(row.name);
    }
  return {};
}

struct Field {
  const BenchmarkName& name;
  int part;

  [[noreturn]] void Refuse(std::string_view why) const {
    throw BadInput({.column = ColumnOfPart(name, part)}, std::string(why));
  }
};

// Where `option` stands in the name.
Field OptionField(const BenchmarkName& name, std::string_view option) {
  const auto at = std::find(name.options.begin(), name.options.end(), option);
  return {name, 6 + static_cast<int>(at - name.options.begin())};
}

Conv2dTypes ReadTypes(const BenchmarkName& name, const Conv2dOffer& offer) {
  const bool listed =
      std::find(offer.types.begin(), offer.types.end(), name.type) != offer.types.end();
  try {
    auto types = Conv2dTypesFromKey(name.type);
    const bool named = std::any_of(NamedTypes().begin(), NamedTypes().end(),
                                   [&](auto& row) { return row.first == name.type; });
    if (listed || (offer.mixes && !named)) return types;
  } catch (const BadInput&) {
    // Said below, with what there is.
  }
  Field{name, 4}.Refuse(fmt::format("expected a type ({}{}), got '{}'",
                                    fmt::join(offer.types, ", "),
                                    offer.mixes ? ", or a mix such as u8s8f32" : "", name.type));
}

// Throws BadInput for an option that the direction or the type excludes.
void CheckVariant(const BenchmarkName& name, const Conv2dCase& conv) {
  const bool forward = conv.direction == Conv2dDirection::kForward;
  const auto refuse = [&](std::string_view option, std::string_view why) {
    OptionField(name, option).Refuse(fmt::format("'{}' {}", option, why));
  };
  if (conv.training && !forward)
    refuse("training", "is a kind of fwd: backward passes always train");
  if (conv.relu && !forward) refuse("relu", "is fused into fwd alone");
  if (conv.bias && conv.direction == Conv2dDirection::kBackwardData)
    refuse("bias", "belongs to fwd and bwd_weights: the data gradient does not read it");
  if (conv.scales && !IsInt8(conv.types)) refuse("scales", "belongs to integer types");
}

}  // namespace

Conv2dTypes Conv2dTypesFromKey(std::string_view type) {
  for (const auto& [key, types] : NamedTypes())
    if (key == type) return types;
  std::string_view rest = type;
  Conv2dTypes types{TakeElement(rest, &ElementRow::source), TakeElement(rest, &ElementRow::weights),
                    TakeElement(rest, &ElementRow::destination)};
  if (!rest.empty() || types.destination.empty() || types.weights.empty() || types.source.empty())
    throw BadInput(fmt::format("'{}' is not a type", type));
  for (const auto& [key, named] : NamedTypes())
    if (named == types) throw BadInput(fmt::format("the type {} is written {}", type, key));
  return types;
}

bool IsInt8(const Conv2dTypes& types) {
  return types.weights == "s8" && (types.source == "u8" || types.source == "s8");
}

std::string_view ResultType(const Conv2dCase& conv) {
  if (conv.direction == Conv2dDirection::kForward) return conv.types.destination;
  if (conv.direction == Conv2dDirection::kBackwardData) return conv.types.source;
  return conv.types.weights;
}

std::string_view BiasType(const Conv2dTypes& types) {
  return types.weights == "s8" ? "f32" : std::string_view(types.weights);
}

std::string_view ComputeType(const Conv2dTypes& types) {
  if (IsInt8(types)) return "int8";
  if (types.weights == "e4m3") return "fp8";
  for (const std::string_view narrow : {"f16", "bf16", "f32"})
    for (const auto* element : {&types.source, &types.weights, &types.destination})
      if (*element == narrow) return narrow;
  return "f64";
}

const OptionRows& Conv2dOptions() {
  static const OptionRows rows = {{"training"},
                                  {"bias"},
                                  {"relu"},
                                  {"scales"},
                                  {"nchw", "nhwc"},
                                  {"auto", "winograd"},
                                  {"fpmath-bf16", "fpmath-f16", "fpmath-tf32", "fpmath-any"}};
  return rows;
}

Conv2dCase ReadConv2dCase(const BenchmarkName& name, const Conv2dOffer& offer) {
  Conv2dCase conv;
  const auto direction = Conv2dDirectionFromKey(name.direction);
  if (!direction)
    Field{name, 3}.Refuse(
        fmt::format("expected a direction (fwd, bwd_data, bwd_weights), got '{}'", name.direction));
  conv.direction = *direction;
  conv.type = name.type;
  conv.types = ReadTypes(name, offer);
  conv.problem = ParseConv2d(name.problem, ColumnOfPart(name, 5) - 1);
  CheckOptions(name, offer.options);
  conv.training = HasOption(name, "training");
  conv.bias = HasOption(name, "bias");
  conv.relu = HasOption(name, "relu");
  conv.scales = HasOption(name, "scales");
  if (HasOption(name, "nchw")) conv.layout = Conv2dLayout::kNchw;
  if (HasOption(name, "nhwc")) conv.layout = Conv2dLayout::kNhwc;
  if (HasOption(name, "auto")) conv.algorithm = Conv2dAlgorithm::kAuto;
  if (HasOption(name, "winograd")) conv.algorithm = Conv2dAlgorithm::kWinograd;
  constexpr std::string_view kFpmath = "fpmath-";
  for (const auto& option : name.options)
    if (option.starts_with(kFpmath)) conv.fpmath = option.substr(kFpmath.size());
  CheckVariant(name, conv);
  return conv;
}

Conv2dCase ReadOnednnConv2dCase(const BenchmarkName& name) {
  return ReadConv2dCase(name, {{"f32", "bf16", "f16", "int8"}, true, Conv2dOptions()});
}

int64_t ElementwiseFlops(const Conv2dCase& conv) {
  return DestinationCount(conv.problem) * (static_cast<int64_t>(conv.bias) + conv.relu);
}

Work Conv2dWork(const Conv2dCase& conv, const std::string& pipe) {
  const auto& p = conv.problem;
  const auto dense = static_cast<double>(DenseFlops(p));
  const auto elementwise = static_cast<double>(ElementwiseFlops(conv));
  Work work;
  work.flops[pipe] = dense;
  work.parts["matrix"] = dense;
  if (elementwise > 0) {
    work.flops[conv.type == "f64" ? pipe : "fp32.vector"] += elementwise;
    work.parts["elementwise"] = elementwise;
  }
  work.bytes[Level::kDram] =
      static_cast<double>(SourceCount(p) * ElementBytes(conv.types.source) +
                          WeightsCount(p) * ElementBytes(conv.types.weights) +
                          DestinationCount(p) * ElementBytes(conv.types.destination) +
                          (conv.bias ? p.k * ElementBytes(BiasType(conv.types)) : 0));
  work.launches = 1;
  return work;
}

}  // namespace dlroof
