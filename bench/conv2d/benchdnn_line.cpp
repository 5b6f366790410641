#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "bench/conv2d/benchdnn.h"

namespace dlroof {
namespace {

// Options of ours whose arguments depend on nothing else.
constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kArguments = {
    {{"nchw", "--stag=abx --dtag=abx"},
     {"nhwc", "--stag=axb --dtag=axb"},
     {"auto", "--alg=auto"},
     {"winograd", "--alg=wino"},
     {"fpmath-bf16", "--attr-fpmath=bf16"},
     {"fpmath-f16", "--attr-fpmath=f16"},
     {"fpmath-tf32", "--attr-fpmath=tf32"},
     {"fpmath-any", "--attr-fpmath=any"}}};

// "FWD_I"; empty where there is none.
std::string_view Dir(Conv2dDirection direction, bool training, bool bias) {
  switch (direction) {
    case Conv2dDirection::kForward:
      if (bias) return training ? "FWD_B" : "";
      return training ? "FWD_D" : "FWD_I";
    case Conv2dDirection::kBackwardData:
      return training || bias ? "" : "BWD_D";
    case Conv2dDirection::kBackwardWeights:
      if (training) return "";
      return bias ? "BWD_WB" : "BWD_W";
  }
  return "";
}

// Any value but 1 will do: calls get it as data.
std::string_view Scales(std::string_view type) {
  if (type == "int8" || type == "u8s8s8" || type == "s8s8s8" || type == "s8s8u8")
    return "--attr-scales=src:common:0.5+wei:per_oc:0.5+dst:common:0.5";
  if (type.substr(0, 4) == "u8s8" || type.substr(0, 4) == "s8s8")
    return "--attr-scales=src:common:0.5+wei:per_oc:0.5";
  return "";
}

std::string ProblemText(const Conv2dProblem& p) {
  std::string text = p.groups != 1 ? fmt::format("g{}", p.groups) : "";
  text += fmt::format("mb{}ic{}ih{}iw{}oc{}oh{}ow{}kh{}kw{}", p.n, p.c, p.h, p.w, p.k,
                      OutputHeight(p), OutputWidth(p), p.r, p.s);
  if (p.stride_h != 1 || p.stride_w != 1) text += fmt::format("sh{}sw{}", p.stride_h, p.stride_w);
  text += fmt::format("ph{}pw{}", p.pad_top, p.pad_left);
  if (p.dilation_h != 1 || p.dilation_w != 1)
    text += fmt::format("dh{}dw{}", p.dilation_h - 1, p.dilation_w - 1);
  return text;
}

}  // namespace

std::string ConvBenchdnn(const Conv2dProblem& problem, Conv2dDirection direction,
                         std::string_view type, const std::vector<std::string>& options) {
  const auto has = [&](std::string_view option) {
    return std::find(options.begin(), options.end(), option) != options.end();
  };
  const auto dir = Dir(direction, has("training"), has("bias"));
  const auto types = ConvDataTypes(type);
  if (dir.empty() || types.empty()) return "";
  std::string line = fmt::format("--conv --mode=P --dir={} ", dir);
  if (type == "bf16" || type == "f16")
    line += fmt::format("--dt={} ", type);
  else if (type != "f32")
    line += fmt::format("--dt={} ", types);
  for (const auto& option : options) {
    const auto row = std::find_if(kArguments.begin(), kArguments.end(),
                                  [&](const auto& one) { return one.first == option; });
    std::string_view arguments = row != kArguments.end() ? row->second : "";
    if (option == "training" || option == "bias") continue;
    const bool forward = direction == Conv2dDirection::kForward;
    if (option == "relu" && forward) arguments = "--attr-post-ops=relu";
    if (option == "scales" && forward) arguments = Scales(type);
    if (arguments.empty()) return "";
    line += fmt::format("{} ", arguments);
  }
  return line + ProblemText(problem);
}

}  // namespace dlroof
