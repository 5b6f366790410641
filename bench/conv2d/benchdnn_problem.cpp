#include <fmt/format.h>

#include <array>

#include "bench/benchdnn/problem.h"
#include "bench/benchdnn/tokens.h"
#include "bench/benchdnn/values.h"
#include "bench/conv2d/benchdnn.h"

namespace dlroof {
namespace {

constexpr std::array<BenchdnnOption, 15> kOptions = {{
    {"dir", "FWD_B", "FWD_B FWD_D FWD_I BWD_D BWD_W BWD_WB BWD_DW"},
    {"dt", "f32:f32:f32", "", ReadDataTypes},
    {"cfg", "", kConvConfigurations},
    {"stag", "any", "", ReadLayout},
    {"wtag", "any", "", ReadLayout},
    {"dtag", "any", "", ReadLayout},
    {"alg", "direct", "direct wino auto convolution_direct convolution_wino convolution_auto"},
    {"attr-scales", "", "", ReadScales},
    {"attr-zero-points", "", "", ReadZeroPoints},
    {"attr-post-ops", "", "", ReadPostOps},
    {"attr-scratchpad", "library", "library user"},
    {"attr-fpmath", "strict", kBenchdnnFpmath},
    {"ctx-init", "auto", "", ReadThreads},
    {"ctx-exe", "auto", "", ReadThreads},
    {"mb", "0", "", ReadCount},
}};

int64_t FilterExtent(const BenchdnnAxis& axis) {
  return (axis.filter - 1) * (axis.dilation + 1) + 1;
}

// Returns true if the text has a letter of this direction.
bool IsGiven(const BenchdnnAxis& axis) {
  BenchdnnAxis nothing;
  if (axis.padding == 0) nothing.padding = 0;
  return axis != nothing;
}

void Deduce(BenchdnnAxis& axis, char letter) {
  if (!IsGiven(axis)) return;
  RequireLetter(axis.input, fmt::format("i{}", letter));
  RequireLetter(axis.filter, fmt::format("k{}", letter));
  if (axis.output != 0) {
    if (axis.padding < 0)
      axis.padding = ((axis.output - 1) * axis.stride - axis.input + FilterExtent(axis)) / 2;
    return;
  }
  if (axis.padding < 0) axis.padding = 0;
  axis.output = (axis.input - FilterExtent(axis) + 2 * axis.padding) / axis.stride + 1;
  if (axis.output <= 0)
    throw BenchdnnRefusal(0, fmt::format("this problem's filter does not fit into i{0}: o{0} would "
                                         "be {1}",
                                         letter, axis.output));
}

// Gives the directions that the text leaves out those that it has.
void Complete(BenchdnnConv& problem) {
  const bool has_d = problem.d.output != 0;
  const bool has_h = problem.h.output != 0;
  const bool has_w = problem.w.output != 0;
  if (!has_d && !has_h && !has_w)
    throw BenchdnnRefusal(0, "this problem has no image: expected ih and kh, or id or iw");
  if (has_d && has_h != has_w)
    throw BenchdnnRefusal(0, "a problem with id has both ih and iw, or none of them");
  problem.dimensions = has_d ? 3 : has_h ? 2 : 1;
  if (has_d && !has_h) problem.h = problem.w = problem.d;
  if (!has_d && has_h && !has_w) problem.w = problem.h;
  constexpr BenchdnnAxis kFlat{1, 1, 1, 1, 0, 0};
  if (!has_d) problem.d = kFlat;
  if (!has_d && !has_h) problem.h = kFlat;
}

struct ShownAxes {
  bool d, h, w;
};

ShownAxes Shown(const BenchdnnConv& problem) {
  if (problem.dimensions == 1) return {false, false, true};
  const bool square = problem.h == problem.w;
  if (problem.dimensions == 2) return {false, true, !square};
  const bool cubic = square && problem.d == problem.h;
  return {true, !cubic, !cubic};
}

}  // namespace

std::span<const BenchdnnOption> ConvOptions() { return kOptions; }

int64_t FarPadding(const BenchdnnAxis& axis) {
  return (axis.output - 1) * axis.stride - axis.input + FilterExtent(axis) - axis.padding;
}

BenchdnnConv ReadBenchdnnConv(std::string_view text) {
  BenchdnnConv p;
  int64_t groups = -1;
  const std::array<BenchdnnLetter, 22> letters = {
      {{"g", &groups},        {"mb", &p.images},    {"ic", &p.in_channels}, {"oc", &p.out_channels},
       {"id", &p.d.input},    {"ih", &p.h.input},   {"iw", &p.w.input},     {"od", &p.d.output},
       {"oh", &p.h.output},   {"ow", &p.w.output},  {"kd", &p.d.filter},    {"kh", &p.h.filter},
       {"kw", &p.w.filter},   {"sd", &p.d.stride},  {"sh", &p.h.stride},    {"sw", &p.w.stride},
       {"pd", &p.d.padding},  {"ph", &p.h.padding}, {"pw", &p.w.padding},   {"dd", &p.d.dilation},
       {"dh", &p.h.dilation}, {"dw", &p.w.dilation}}};
  ReadLetters(text, letters);
  p.has_groups = groups >= 0;
  if (p.has_groups) p.groups = groups;
  RequireLetter(p.groups, "g");
  RequireLetter(p.in_channels, "ic");
  RequireLetter(p.out_channels, "oc");
  RequireLetter(p.d.stride, "sd");
  RequireLetter(p.h.stride, "sh");
  RequireLetter(p.w.stride, "sw");
  Deduce(p.d, 'd');
  Deduce(p.h, 'h');
  Deduce(p.w, 'w');
  Complete(p);
  return p;
}

std::string ToText(const BenchdnnConv& p) {
  const ShownAxes shown = Shown(p);
  const auto axes = [&](char letter, int64_t BenchdnnAxis::*member) {
    std::string text;
    if (shown.d) text += fmt::format("{}d{}", letter, p.d.*member);
    if (shown.h) text += fmt::format("{}h{}", letter, p.h.*member);
    if (shown.w) text += fmt::format("{}w{}", letter, p.w.*member);
    return text;
  };
  std::string text;
  if (p.has_groups) text += fmt::format("g{}", p.groups);
  if (p.images != 2) text += fmt::format("mb{}", p.images);
  text +=
      fmt::format("ic{}{}oc{}{}{}", p.in_channels, axes('i', &BenchdnnAxis::input), p.out_channels,
                  axes('o', &BenchdnnAxis::output), axes('k', &BenchdnnAxis::filter));
  if (p.d.stride != 1 || p.h.stride != 1 || p.w.stride != 1)
    text += axes('s', &BenchdnnAxis::stride);
  text += axes('p', &BenchdnnAxis::padding);
  if (p.d.dilation != 0 || p.h.dilation != 0 || p.w.dilation != 0)
    text += axes('d', &BenchdnnAxis::dilation);
  return text;
}

}  // namespace dlroof
