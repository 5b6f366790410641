#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/benchdnn/problem.h"
#include "bench/conv2d/benchdnn.h"
#include "bench/conv2d/case.h"
#include "bench/workload/benchmark_name.h"
#include "counters/base/error.h"

namespace dlroof {
namespace {

// Types that dlroof names otherwise than source, weights and destination one after the other.
constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kNamedTypes = {
    {{"f32:f32:f32", "f32"},
     {"bf16:bf16:bf16", "bf16"},
     {"f16:f16:f16", "f16"},
     {"u8:s8:u8", "int8"}}};

// Mixes that benchdnn has a configuration for.
constexpr std::array<std::string_view, 24> kMixedTypes = {
    "u8:s8:s8",      "u8:s8:s32",     "u8:s8:f32",     "u8:s8:f16",    "u8:s8:bf16",
    "s8:s8:s8",      "s8:s8:u8",      "s8:s8:s32",     "s8:s8:f32",    "s8:s8:f16",
    "s8:s8:bf16",    "bf16:bf16:f32", "bf16:bf16:f16", "bf16:bf16:s8", "bf16:bf16:u8",
    "bf16:f32:bf16", "f32:bf16:bf16", "f32:f32:s8",    "f32:f32:u8",   "f16:f16:f32",
    "f16:f16:s8",    "f16:f16:u8",    "f32:f16:f16",   "f16:f32:f16"};

std::string Joined(std::string_view data_types) {
  std::string joined(data_types);
  std::erase(joined, ':');
  return joined;
}

// benchdnn's older spelling "u8s8u8", or one type.
std::string TypesOfConfiguration(std::string_view configuration) {
  if (configuration == "f32_wino") configuration = "f32";
  for (const auto& [types, name] : kNamedTypes)
    if (configuration == name || configuration == Joined(types)) return std::string(types);
  for (const auto types : kMixedTypes)
    if (configuration == Joined(types)) return std::string(types);
  return fmt::format("{0}:{0}:{0}", configuration);
}

std::string DataTypes(const BenchdnnChoice& choice) {
  return choice.IsDefault("cfg") ? std::string(choice["dt"]) : TypesOfConfiguration(choice["cfg"]);
}

struct Direction {
  std::string_view dir;
  Conv2dDirection direction;
  bool training, bias;
};
constexpr std::array<Direction, 6> kDirections = {
    {{"FWD_I", Conv2dDirection::kForward, false, false},
     {"FWD_D", Conv2dDirection::kForward, true, false},
     {"FWD_B", Conv2dDirection::kForward, true, true},
     {"BWD_D", Conv2dDirection::kBackwardData, false, false},
     {"BWD_W", Conv2dDirection::kBackwardWeights, false, false},
     {"BWD_WB", Conv2dDirection::kBackwardWeights, false, true}}};

const Direction* FindDirection(const BenchdnnChoice& choice) {
  const auto row = std::find_if(kDirections.begin(), kDirections.end(),
                                [&](const auto& one) { return one.dir == choice["dir"]; });
  return row == kDirections.end() ? nullptr : &*row;
}

bool IsByte(std::string_view type) { return type == "u8" || type == "s8"; }

// "src:common+wei:per_oc" and, for a destination of 8 bits, "+dst:common".
std::string OurScales(std::string_view data_types) {
  const auto first = data_types.find(':');
  const auto last = data_types.rfind(':');
  if (!IsByte(data_types.substr(0, first)) ||
      !IsByte(data_types.substr(first + 1, last - first - 1)))
    return "";
  const bool to_byte = IsByte(data_types.substr(last + 1));
  return to_byte ? "src:common+wei:per_oc+dst:common" : "src:common+wei:per_oc";
}

// Padding behind the image: as before it where that gives the output, else the least that does.
std::optional<int64_t> FarPaddingName(const BenchdnnAxis& axis) {
  const int64_t least = FarPadding(axis);
  const int64_t too_much = least + axis.stride;  // gives one output more
  if (least <= axis.padding && axis.padding < too_much) return axis.padding;
  if (least >= 0) return least;
  if (too_much > 0) return 0;
  return std::nullopt;
}

std::string ShapeReason(const BenchdnnConv& problem, const BenchdnnChoice& choice) {
  if (problem.dimensions == 3) return "3-D convolution";
  if (problem.dimensions == 1) return "1-D convolution";
  if (problem.images == 0 && choice.Count("mb") == 0) return "no images";
  if (problem.h.padding < 0 || problem.w.padding < 0) return "negative padding";
  if (!FarPaddingName(problem.h) || !FarPaddingName(problem.w))
    return "output smaller than natural";
  return "";
}

std::string TypeReason(const BenchdnnConv& /*problem*/, const BenchdnnChoice& choice) {
  const auto types = DataTypes(choice);
  if (!ConvType(types).empty()) return "";
  return types == "f64:f64:f64" ? "type f64" : "types " + types;
}

std::string DirectionReason(const BenchdnnConv& /*problem*/, const BenchdnnChoice& choice) {
  if (FindDirection(choice) != nullptr) return "";
  return fmt::format("direction {}", choice["dir"]);
}

std::string LayoutReason(const BenchdnnConv& /*problem*/, const BenchdnnChoice& choice) {
  if (choice["wtag"] != "any") return fmt::format("weights layout {}", choice["wtag"]);
  for (const auto tag : {choice["stag"], choice["dtag"]})
    if (tag != "any" && tag != "nhwc" && tag != "nchw") return fmt::format("layout {}", tag);
  return choice["stag"] == choice["dtag"] ? "" : "layouts of source and destination differ";
}

std::string AttributeReason(const BenchdnnConv& /*problem*/, const BenchdnnChoice& choice) {
  const auto post_ops = choice["attr-post-ops"];
  if (post_ops == "relu:slope") return "post-op relu with a slope";
  if (!post_ops.empty() && post_ops != "relu") return fmt::format("post-ops {}", post_ops);
  const Direction* direction = FindDirection(choice);
  const bool forward = direction != nullptr && direction->direction == Conv2dDirection::kForward;
  if (!post_ops.empty() && !forward) return "post-op backward";
  if (!choice["attr-zero-points"].empty()) return "zero points";
  const auto scales = choice["attr-scales"];
  if (scales.empty()) return "";
  if (!forward) return "scales backward";
  return scales == OurScales(DataTypes(choice)) ? "" : fmt::format("scales {}", scales);
}

std::string OtherReason(const BenchdnnConv& /*problem*/, const BenchdnnChoice& choice) {
  return CommonReason(choice);
}

Conv2dProblem OurProblem(const BenchdnnConv& problem, const BenchdnnChoice& choice) {
  Conv2dProblem p;
  const int64_t images = choice.Count("mb");
  p.n = images != 0 ? images : problem.images;
  p.c = problem.in_channels;
  p.k = problem.out_channels;
  p.h = problem.h.input;
  p.w = problem.w.input;
  p.r = problem.h.filter;
  p.s = problem.w.filter;
  p.stride_h = problem.h.stride;
  p.stride_w = problem.w.stride;
  p.pad_top = problem.h.padding;
  p.pad_left = problem.w.padding;
  p.pad_bottom = FarPaddingName(problem.h).value_or(0);
  p.pad_right = FarPaddingName(problem.w).value_or(0);
  p.dilation_h = problem.h.dilation + 1;
  p.dilation_w = problem.w.dilation + 1;
  p.groups = problem.groups;
  return p;
}

// In the order in which a name has them.
std::vector<std::string> OurOptions(const BenchdnnChoice& choice, const Direction& direction) {
  std::vector<std::string> options;
  const auto add = [&](bool given, std::string_view option) {
    if (given) options.emplace_back(option);
  };
  add(direction.training, "training");
  add(direction.bias, "bias");
  add(choice["attr-post-ops"] == "relu", "relu");
  add(!choice["attr-scales"].empty(), "scales");
  add(choice["stag"] != "any", choice["stag"]);
  add(choice["alg"].find("auto") != std::string_view::npos, "auto");
  add(choice["alg"].find("wino") != std::string_view::npos, "winograd");
  add(choice["attr-fpmath"] != "strict", fmt::format("fpmath-{}", choice["attr-fpmath"]));
  return options;
}

}  // namespace

std::string ConvType(std::string_view data_types) {
  for (const auto& [types, name] : kNamedTypes)
    if (types == data_types) return std::string(name);
  const bool known =
      std::find(kMixedTypes.begin(), kMixedTypes.end(), data_types) != kMixedTypes.end();
  return known ? Joined(data_types) : "";
}

std::string ConvDataTypes(std::string_view type) {
  auto types = TypesOfConfiguration(type);
  return ConvType(types) == type ? types : "";
}

BenchdnnName ConvName(const BenchdnnConv& problem, const BenchdnnChoice& choice) {
  static constexpr std::array kReasons = {ShapeReason,  TypeReason,      DirectionReason,
                                          LayoutReason, AttributeReason, OtherReason};
  for (const auto reason_of : kReasons)
    if (auto reason = reason_of(problem, choice); !reason.empty()) return {"", reason};
  const Direction& direction = *FindDirection(choice);
  auto text = ToText(OurProblem(problem, choice));
  try {
    ParseConv2d(text);
  } catch (const BadInput&) {  // groups that do not divide the channels, more than 64 bits
    return {"", "impossible shape"};
  }
  return {ToText(BenchmarkName{"Conv2D", "cpu", "onednn", std::string(Key(direction.direction)),
                               ConvType(DataTypes(choice)), std::move(text),
                               OurOptions(choice, direction)}),
          ""};
}

namespace {

// "mb" belongs to other drivers too.
bool BeginsProblem(std::string_view text) {
  static constexpr std::array<std::string_view, 21> kKeys = {
      "g",  "ic", "id", "ih", "iw", "oc", "od", "oh", "ow", "kd", "kh",
      "kw", "sd", "sh", "sw", "pd", "ph", "pw", "dd", "dh", "dw"};
  return BeginsWithLetter(text, kKeys);
}

BenchdnnProblem Read(const std::string& text) {
  const auto problem = ReadBenchdnnConv(text);
  return {ToText(problem), [problem](const auto& choice) { return ConvName(problem, choice); }};
}

BenchdnnWork WorkOf(const BenchmarkName& name) {
  const auto conv =
      ReadConv2dCase(name, {{"f64", "f32", "bf16", "f16", "int8"}, true, Conv2dOptions()});
  return {Conv2dWork(conv, "fp32.vector").bytes, std::string(ComputeType(conv.types))};
}

}  // namespace

const BenchdnnDriver kConvDriver = {"conv", ConvOptions(), true, BeginsProblem, Read, WorkOf};

}  // namespace dlroof
