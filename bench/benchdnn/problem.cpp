#include "bench/benchdnn/problem.h"

#include <fmt/format.h>

#include <array>
#include <limits>
#include <span>
#include <utility>

#include "bench/benchdnn/tokens.h"

namespace dlroof {
namespace {

struct Letter {
  std::string_view key;
  int64_t* value;
};

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

int64_t ReadNumber(std::string_view text, size_t& at, std::string_view key) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  const size_t begin = at;
  int64_t value = 0;
  while (at < text.size() && IsDigit(text[at]) && value <= kMost)
    value = value * 10 + (text[at++] - '0');
  if (at == begin || value > kMost)
    throw BenchdnnRefusal(
        begin, fmt::format("expected the value of '{}', an integer from 0 to {}", key, kMost));
  return value;
}

// Reads letters and their values up to the end or to "n", which begins the problem's name. A letter
// that comes twice has its last value.
void ReadLetters(std::string_view text, std::span<const Letter> letters) {
  for (size_t at = 0; at < text.size() && text[at] != 'n';) {
    if (at > 0 && text[at] == '_') {
      ++at;
      continue;
    }
    const Letter* found = nullptr;
    for (const Letter& letter : letters)
      if (letter.key[0] == text[at] && text.substr(at, letter.key.size()) == letter.key)
        found = &letter;
    if (found == nullptr) {
      std::string keys;
      for (const Letter& letter : letters) keys += fmt::format("{} ", letter.key);
      throw BenchdnnRefusal(at, fmt::format("expected one of {}or the name after n, got '{}'", keys,
                                            ShownText(text.substr(at, 16))));
    }
    at += found->key.size();
    *found->value = ReadNumber(text, at, found->key);
  }
}

void Require(int64_t value, std::string_view key) {
  if (value <= 0)
    throw BenchdnnRefusal(0, fmt::format("this problem lacks {} (or has it as 0)", key));
}

int64_t FilterExtent(const BenchdnnAxis& axis) {
  return (axis.filter - 1) * (axis.dilation + 1) + 1;
}

// Whether the text says anything about this direction.
bool IsGiven(const BenchdnnAxis& axis) {
  BenchdnnAxis nothing;
  if (axis.padding == 0) nothing.padding = 0;
  return axis != nothing;
}

void Deduce(BenchdnnAxis& axis, char letter) {
  if (!IsGiven(axis)) return;
  Require(axis.input, fmt::format("i{}", letter));
  Require(axis.filter, fmt::format("k{}", letter));
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

std::string_view Key(BenchdnnDriver driver) {
  return driver == BenchdnnDriver::kConv ? "conv" : "rnn";
}

std::optional<BenchdnnDriver> DriverOfProblem(std::string_view text) {
  constexpr auto kConv = BenchdnnDriver::kConv;
  constexpr auto kRnn = BenchdnnDriver::kRnn;
  static constexpr std::array<std::pair<std::string_view, BenchdnnDriver>, 27> kKeys = {
      {{"g", kConv},  {"ic", kConv}, {"id", kConv}, {"ih", kConv}, {"iw", kConv}, {"oc", kConv},
       {"od", kConv}, {"oh", kConv}, {"ow", kConv}, {"kd", kConv}, {"kh", kConv}, {"kw", kConv},
       {"sd", kConv}, {"sh", kConv}, {"sw", kConv}, {"pd", kConv}, {"ph", kConv}, {"pw", kConv},
       {"dd", kConv}, {"dh", kConv}, {"dw", kConv}, {"l", kRnn},   {"t", kRnn},   {"sic", kRnn},
       {"slc", kRnn}, {"dhc", kRnn}, {"dic", kRnn}}};
  // "mb" is a letter of both.
  if (text.substr(0, 2) == "mb") {
    const auto next = text.find_first_not_of("0123456789_", 2);
    if (next == 2 || next == std::string_view::npos) return std::nullopt;
    text.remove_prefix(next);
  }
  for (const auto& [key, driver] : kKeys)
    if (text.size() > key.size() && text.substr(0, key.size()) == key && IsDigit(text[key.size()]))
      return driver;
  return std::nullopt;
}

int64_t FarPadding(const BenchdnnAxis& axis) {
  return (axis.output - 1) * axis.stride - axis.input + FilterExtent(axis) - axis.padding;
}

BenchdnnConv ReadBenchdnnConv(std::string_view text) {
  BenchdnnConv p;
  int64_t groups = -1;
  const std::array<Letter, 22> letters = {
      {{"g", &groups},        {"mb", &p.images},    {"ic", &p.in_channels}, {"oc", &p.out_channels},
       {"id", &p.d.input},    {"ih", &p.h.input},   {"iw", &p.w.input},     {"od", &p.d.output},
       {"oh", &p.h.output},   {"ow", &p.w.output},  {"kd", &p.d.filter},    {"kh", &p.h.filter},
       {"kw", &p.w.filter},   {"sd", &p.d.stride},  {"sh", &p.h.stride},    {"sw", &p.w.stride},
       {"pd", &p.d.padding},  {"ph", &p.h.padding}, {"pw", &p.w.padding},   {"dd", &p.d.dilation},
       {"dh", &p.h.dilation}, {"dw", &p.w.dilation}}};
  ReadLetters(text, letters);
  p.has_groups = groups >= 0;
  if (p.has_groups) p.groups = groups;
  Require(p.groups, "g");
  Require(p.in_channels, "ic");
  Require(p.out_channels, "oc");
  Require(p.d.stride, "sd");
  Require(p.h.stride, "sh");
  Require(p.w.stride, "sw");
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

BenchdnnRnn ReadBenchdnnRnn(std::string_view text) {
  BenchdnnRnn p;
  const std::array<Letter, 7> letters = {{{"l", &p.layers},
                                          {"t", &p.steps},
                                          {"mb", &p.samples},
                                          {"sic", &p.state},
                                          {"slc", &p.input},
                                          {"dhc", &p.hidden},
                                          {"dic", &p.output}}};
  ReadLetters(text, letters);
  Require(p.state, "sic");
  if (p.input == 0) p.input = p.state;
  if (p.hidden == 0) p.hidden = p.state;
  if (p.output == 0) p.output = p.hidden;
  return p;
}

std::string ToText(const BenchdnnRnn& p) {
  return fmt::format("l{}t{}mb{}sic{}slc{}dhc{}dic{}", p.layers, p.steps, p.samples, p.state,
                     p.input, p.hidden, p.output);
}

}  // namespace dlroof
