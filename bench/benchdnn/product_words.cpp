#include "bench/benchdnn/product_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "reporters/verbose/verbose_line.h"

namespace dlroof::benchdnn {
namespace {

constexpr std::array<BenchdnnDirection, 6> kDirections = {
    {{"FWD_I", ProductDirection::kForward, false, false},
     {"FWD_D", ProductDirection::kForward, true, false},
     {"FWD_B", ProductDirection::kForward, true, true},
     {"BWD_D", ProductDirection::kBackwardData, false, false},
     {"BWD_W", ProductDirection::kBackwardWeights, false, false},
     {"BWD_WB", ProductDirection::kBackwardWeights, false, true}}};

// Returns source, weights and destination of "u8:s8:u8".
products::ProductTypes SplitTypes(std::string_view data_types) {
  const auto types = verbose::SplitText(data_types, ':');
  return {std::string(types.at(0)), std::string(types.at(1)), std::string(types.at(2))};
}

// Returns the words of the option `scales`, as benchdnn's readers spell them.
std::string_view OurScales(const products::ProductTypes& types) {
  if (!products::IsInt8(types)) return "";
  return products::IsByte(types.destination) ? "src:common+wei:per_oc+dst:common" : "src:common+wei:per_oc";
}

}  // namespace

const BenchdnnDirection* FindDirection(const BenchdnnChoice& choice) {
  const auto* const row = std::ranges::find(kDirections, choice["dir"], &BenchdnnDirection::dir);
  return row == kDirections.end() ? nullptr : row;
}

std::string_view DirOf(const products::ProductCase& one) {
  for (const auto& row : kDirections)
    if (row.direction == one.direction && row.training == one.training && row.bias == one.bias)
      return row.dir;
  return "";
}

products::ProductTypes TypesOf(const BenchdnnChoice& choice) {
  std::string_view rest = choice["cfg"];
  if (rest.empty()) return SplitTypes(choice["dt"]);
  rest = rest.substr(0, rest.find('_'));  // f32_wino
  std::vector<std::string> types;
  while (!rest.empty()) {
    const size_t letters = rest.starts_with("bf") ? 2 : 1;
    const size_t end = std::min(rest.find_first_not_of("0123456789", letters), rest.size());
    types.emplace_back(rest.substr(0, end));
    rest.remove_prefix(end);
  }
  types.resize(3, types[0]);
  return {types[0], types[1], types[2]};
}

std::string DataTypesOf(const products::ProductTypes& types) {
  return fmt::format("{}:{}:{}", types.source, types.weights, types.destination);
}

std::string TypesArgument(const products::ProductTypes& types) {
  if (types.source != types.weights || types.weights != types.destination)
    return fmt::format("--dt={} ", DataTypesOf(types));
  return types.source == "f32" ? "" : fmt::format("--dt={} ", types.source);
}

std::string ScalesArgument(const products::ProductTypes& types) {
  return fmt::format("--attr-scales=src:common:0.5+wei:per_oc:0.5{} ",
                     products::IsByte(types.destination) ? "+dst:common:0.5" : "");
}

std::string AttributeReason(const BenchdnnChoice& choice, const products::ProductTypes& types, bool forward) {
  const auto post_ops = choice["attr-post-ops"];
  if (post_ops == "relu:slope") return "post-op relu with a slope";
  if (!post_ops.empty() && post_ops != "relu") return fmt::format("post-ops {}", post_ops);
  if (!post_ops.empty() && !forward) return "post-op backward";
  if (!choice["attr-zero-points"].empty()) return "zero points";
  const auto scales = choice["attr-scales"];
  if (!scales.empty() && !forward) return "scales backward";
  if (!scales.empty() && scales != OurScales(types)) return fmt::format("scales {}", scales);
  return CommonReason(choice);
}

std::vector<std::string> ProductOptionsOf(const BenchdnnChoice& choice, bool training, bool bias) {
  std::vector<std::string> options;
  if (training) options.emplace_back("training");
  if (bias) options.emplace_back("bias");
  if (choice["attr-post-ops"] == "relu") options.emplace_back("relu");
  if (!choice["attr-scales"].empty()) options.emplace_back("scales");
  return options;
}

void AddFpmathOption(const BenchdnnChoice& choice, std::vector<std::string>& options) {
  if (choice["attr-fpmath"] != "strict")
    options.push_back(fmt::format("fpmath-{}", choice["attr-fpmath"]));
}

}  // namespace dlroof::benchdnn
