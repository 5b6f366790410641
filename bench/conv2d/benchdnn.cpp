#include "bench/suites/benchdnn.h"

#include <fmt/format.h>

#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "bench/conv2d/case.h"
#include "bench/conv2d/conv3d.h"
#include "bench/workload/workload.h"
#include "counters/base/error.h"

namespace dlroof::conv2d {
namespace {

// Values of benchdnn's --cfg: types of source, weights and destination, or one type for all.
constexpr std::string_view kConfigurations =
    "f32 f32_wino f16 f64 bf16bf16bf16 u8s8f32 u8s8f16 u8s8bf16 u8s8s32 u8s8s8 u8s8u8 s8s8f32 "
    "s8s8f16 s8s8bf16 s8s8s32 s8s8s8 s8s8u8 bf16bf16f32 bf16bf16f16 bf16bf16s8 bf16bf16u8 "
    "f32bf16bf16 bf16f32bf16 f32f32s8 f32f32u8 f16f16f32 f16f16s8 f16f16u8 f32f16f16 f16f32f16";

constexpr suites::BenchdnnOption kOptions[] = {
    {"dir", "FWD_B", suites::kBenchdnnDirections},
    {"dt", "f32:f32:f32", suites::kBenchdnnAny, suites::ReadThree},
    {"cfg", "", suites::kBenchdnnAny, suites::ReadTypes},
    {"stag", "any", "nchw nhwc", suites::ReadLayout},
    {"wtag", "any", ""},
    {"dtag", "any", "nchw nhwc", suites::ReadLayout},
    {"alg", "direct", "wino auto convolution_direct convolution_wino convolution_auto"},
    {"attr-scales", "", suites::kBenchdnnAny, suites::ReadScales},
    {"attr-zero-points", "", ""},
    {"attr-post-ops", "", suites::kBenchdnnAny, suites::ReadPostOps},
    {"attr-fpmath", "strict", suites::kBenchdnnFpmath},
    {"mb", "0", suites::kBenchdnnAny, suites::ReadCount},
};

// Sizes along one dimension of the image; the defaults if the descriptor omits the dimension.
struct BenchdnnAxis {
  int64_t input = 0, output = 0, filter = 0;
  int64_t stride = 1;
  int64_t padding = -1;  // before the first element; -1: not in the descriptor
  int64_t dilation = 0;  // gaps between taps (0: dense), as in benchdnn

  bool operator==(const BenchdnnAxis&) const = default;
};

struct BenchdnnConv {
  int64_t groups = 1, images = 2, in_channels = 0, out_channels = 0;
  int dimensions = 2;  // number of image dimensions: 1 (w), 2 (h, w) or 3 (d, h, w)
  // d, h, w; Complete() sets all sizes of an absent dimension to 1
  std::array<BenchdnnAxis, 3> axes = {};
};

int64_t FilterExtent(const BenchdnnAxis& axis) {
  return (axis.filter - 1) * (axis.dilation + 1) + 1;
}

// Returns the smallest padding after the last element with which the axis has axis.output outputs.
// It is negative if the filter never reads the last elements of the image.
int64_t FarPadding(const BenchdnnAxis& axis) {
  return (axis.output - 1) * axis.stride - axis.input + FilterExtent(axis) - axis.padding;
}

bool IsSpecified(const BenchdnnAxis& axis) {
  BenchdnnAxis nothing;
  if (axis.padding == 0) nothing.padding = 0;
  return axis != nothing;
}

void Deduce(BenchdnnAxis& axis, char letter) {
  if (!IsSpecified(axis)) return;
  suites::RequireLetter(axis.input, fmt::format("i{}", letter));
  suites::RequireLetter(axis.filter, fmt::format("k{}", letter));
  if (axis.output != 0) {
    if (axis.padding < 0)
      axis.padding = ((axis.output - 1) * axis.stride - axis.input + FilterExtent(axis)) / 2;
    return;
  }
  if (axis.padding < 0) axis.padding = 0;
  axis.output = (axis.input - FilterExtent(axis) + 2 * axis.padding) / axis.stride + 1;
  if (axis.output <= 0)
    throw BadInput("the filter of this problem does not fit into i{0}: o{0} would be {1}", letter,
                   axis.output);
}

// Sets dimensions that the descriptor omits: w as h, both as d; those that the image lacks to 1.
void Complete(BenchdnnConv& problem) {
  auto& [d, h, w] = problem.axes;
  const bool has_d = d.output != 0, has_h = h.output != 0, has_w = w.output != 0;
  if (!has_d && !has_h && !has_w)
    throw BadInput("this problem has no image: expected ih and kh, iw and kw, or id and kd");
  if (has_d && has_h != has_w)
    throw BadInput("a problem with id has both ih and iw, or none of them");
  problem.dimensions = has_d ? 3 : has_h ? 2 : 1;
  if (has_d && !has_h) h = w = d;
  if (!has_d && has_h && !has_w) w = h;
  constexpr BenchdnnAxis kFlat{1, 1, 1, 1, 0, 0};
  if (!has_d) d = kFlat;
  if (!has_d && !has_h) h = kFlat;
}

// Returns dlroof's name of the types, or nullopt if benchdnn lacks these types on the CPU.
std::optional<std::string> ConvType(const workload::ProductTypes& types) {
  auto key = workload::KeyOf(types);
  if (key == "f64") return std::nullopt;
  if (key == types.source) return key;
  const auto spelled = fmt::format(" {}{}{} ", types.source, types.weights, types.destination);
  const auto known = fmt::format(" {} ", kConfigurations);
  return known.find(spelled) == std::string::npos ? std::nullopt : key;
}

// Returns a padding after the image with which it has axis.output outputs: the same as before the
// image if possible, otherwise the smallest. Returns nullopt if only a negative padding would do.
std::optional<int64_t> FarPaddingName(const BenchdnnAxis& axis) {
  const int64_t least = FarPadding(axis);
  const int64_t too_much = least + axis.stride;  // this much padding adds one output
  if (least <= axis.padding && axis.padding < too_much) return axis.padding;
  if (least >= 0) return least;
  if (too_much > 0) return 0;
  return std::nullopt;
}

std::optional<Reason> ShapeReason(const BenchdnnConv& problem,
                                  const suites::BenchdnnChoice& choice) {
  if (problem.dimensions == 1) return Reason{"1-D convolution"};
  if (problem.images == 0 && choice.Count("mb") == 0) return Reason{"no images"};
  for (const auto& axis : problem.axes) {
    if (axis.padding < 0) return Reason{"negative padding"};
    if (!FarPaddingName(axis)) return Reason{"output smaller than natural"};
  }
  return std::nullopt;
}

std::optional<Reason> CallReason(const BenchdnnConv& problem,
                                 const suites::BenchdnnChoice& choice) {
  if (problem.dimensions == 3 && (choice["stag"] != "any" || choice["alg"] != "direct"))
    return Reason{"layout or algorithm of a 3-D convolution"};
  const auto types = suites::TypesOf(choice);
  if (!ConvType(types)) return Reason{"types " + suites::DataTypesOf(types)};
  if (choice["stag"] != choice["dtag"]) return Reason{"layouts of source and destination differ"};
  constexpr std::string_view kPostOps[] = {"relu"};
  const auto direction = suites::DirectionOf(choice).direction;
  return suites::AttributeReason(choice, types, direction == ProductDirection::kForward, kPostOps);
}

Conv3dProblem OurProblem(const BenchdnnConv& problem, const suites::BenchdnnChoice& choice) {
  Conv3dProblem p;
  const int64_t images = choice.Count("mb");
  p.n = images != 0 ? images : problem.images;
  p.c = problem.in_channels;
  p.k = problem.out_channels;
  p.groups = problem.groups;
  for (size_t i = 0; i < p.axes.size(); ++i) {
    const auto& axis = problem.axes.at(i);
    p.axes.at(i) = {axis.input,        axis.filter,  axis.stride,
                    axis.dilation + 1, axis.padding, FarPaddingName(axis).value_or(0)};
  }
  return p;
}

std::vector<std::string> OurOptions(const suites::BenchdnnChoice& choice,
                                    const suites::BenchdnnDirection& direction) {
  auto options = suites::ProductOptionsOf(choice, direction.training, direction.bias);
  const auto add = [&](bool specified, std::string_view option) {
    if (specified) options.emplace_back(option);
  };
  add(choice["stag"] != "any", choice["stag"]);
  add(choice["alg"].find("auto") != std::string_view::npos, "auto");
  add(choice["alg"].find("wino") != std::string_view::npos, "winograd");
  suites::AddFpmathOption(choice, options);
  return options;
}

std::array<suites::BenchdnnLetter, 22> LettersOf(BenchdnnConv& p) {
  auto& [d, h, w] = p.axes;
  return {{{"g", &p.groups},    {"mb", &p.images},  {"ic", &p.in_channels}, {"oc", &p.out_channels},
           {"id", &d.input},    {"ih", &h.input},   {"iw", &w.input},       {"od", &d.output},
           {"oh", &h.output},   {"ow", &w.output},  {"kd", &d.filter},      {"kh", &h.filter},
           {"kw", &w.filter},   {"sd", &d.stride},  {"sh", &h.stride},      {"sw", &w.stride},
           {"pd", &d.padding},  {"ph", &h.padding}, {"pw", &w.padding},     {"dd", &d.dilation},
           {"dh", &h.dilation}, {"dw", &w.dilation}}};
}

// Parses a problem. Defaults: 2 images, 1 group, stride 1, no dilation, w as h, both as d. A
// missing output size is computed from the padding (default 0), a missing padding from the output
// size. Throws BadInput for an unknown key, a number above 2^31-1, a missing size, or no output.
BenchdnnConv ReadBenchdnnConv(std::string_view text) {
  BenchdnnConv p;
  auto& [d, h, w] = p.axes;
  suites::ReadLetters(text, LettersOf(p));
  suites::RequireLetter(p.groups, "g");
  suites::RequireLetter(p.in_channels, "ic");
  suites::RequireLetter(p.out_channels, "oc");
  for (const auto& [axis, letter] : {std::pair(&d, 'd'), {&h, 'h'}, {&w, 'w'}}) {
    suites::RequireLetter(axis->stride, fmt::format("s{}", letter));
    Deduce(*axis, letter);
  }
  Complete(p);
  return p;
}

// Returns dlroof's name of benchdnn's problem, or the reason why dlroof has no such benchmark.
// FWD_I becomes fwd, FWD_D fwd/.../training, FWD_B fwd/.../training/bias, BWD_D bwd_data, BWD_W
// bwd_weights, BWD_WB bwd_weights/.../bias. The option `scales` stands for scales of the source
// (common), the weights (per_oc) and an 8-bit destination (common).
suites::BenchdnnName ConvName(std::string_view text, const suites::BenchdnnChoice& choice) {
  const auto problem = ReadBenchdnnConv(text);
  for (const auto reason_of : {ShapeReason, CallReason})
    if (auto reason = reason_of(problem, choice)) return *reason;
  const suites::BenchdnnDirection& direction = suites::DirectionOf(choice);
  const auto ours = OurProblem(problem, choice);
  const bool is_volume = problem.dimensions == 3;
  return workload::ToText(workload::BenchmarkName{
      is_volume ? "Conv3D" : "Conv2D", "cpu", "onednn", std::string(Key(direction.direction)),
      ConvType(suites::TypesOf(choice)).value(), is_volume ? ToText(ours) : ImageText(ours),
      OurOptions(choice, direction)});
}

// Returns whether the text begins like a conv problem.
bool BeginsProblem(std::string_view text) {
  BenchdnnConv p;
  return suites::BeginsWithLetter(text, LettersOf(p));
}

std::string ProblemText(const Conv2dProblem& p) {
  std::string text = p.groups != 1 ? fmt::format("g{}", p.groups) : "";
  text += fmt::format("mb{}ic{}ih{}iw{}oc{}oh{}ow{}kh{}kw{}", p.n, p.c, p.h, p.w, p.k,
                      delta::OutputRows(p), delta::OutputColumns(p), p.r, p.s);
  if (p.stride_h != 1 || p.stride_w != 1) text += fmt::format("sh{}sw{}", p.stride_h, p.stride_w);
  text += fmt::format("ph{}pw{}", p.pad_top, p.pad_left);
  if (p.dilation_h != 1 || p.dilation_w != 1)
    text += fmt::format("dh{}dw{}", p.dilation_h - 1, p.dilation_w - 1);
  return text;
}

std::string ProblemText(const Conv3dProblem& p) {
  std::string text = p.groups != 1 ? fmt::format("g{}", p.groups) : "";
  text += fmt::format("mb{}ic{}oc{}", p.n, p.c, p.k);
  for (size_t i = 0; i < p.axes.size(); ++i) {
    const char letter = "dhw"[i];
    const auto& axis = p.axes.at(i);
    text += fmt::format("i{0}{1}o{0}{2}k{0}{3}p{0}{4}", letter, axis.size, Outputs(axis),
                        axis.filter, axis.pad_before);
    if (axis.stride != 1) text += fmt::format("s{}{}", letter, axis.stride);
    if (axis.dilation != 1) text += fmt::format("d{}{}", letter, axis.dilation - 1);
  }
  return text;
}

template <class Case>
suites::BenchdnnWork WorkOfCase(const Case& conv) {
  return {workload::ProductWork(conv, "fp32.vector").bytes,
          std::string(workload::ComputeType(conv.types))};
}

suites::BenchdnnWork WorkOf(const workload::BenchmarkName& name) {
  return name.op == "Conv3D" ? WorkOfCase(ReadOnednnConv3dCase(name))
                             : WorkOfCase(ReadOnednnConv2dCase(name));
}

// Returns benchdnn's arguments up to the layout, or nullopt if benchdnn has no such call.
std::optional<std::string> CallText(const workload::ProductCase& conv) {
  const bool forward = conv.direction == ProductDirection::kForward;
  const auto dir = suites::DirOf(conv);
  if (!dir || ConvType(conv.types) != conv.type) return std::nullopt;
  if (!forward && (conv.eltwise || conv.scales)) return std::nullopt;
  std::string line =
      fmt::format("--conv --mode=P --dir={} ", *dir) + suites::TypesArgument(conv.types);
  line += suites::PostOpsArgument(conv);
  if (conv.scales) line += suites::ScalesArgument(conv.types);
  return line;
}

std::string FpmathText(const workload::ProductCase& conv) {
  return conv.fpmath ? fmt::format("--attr-fpmath={} ", *conv.fpmath) : "";
}

// Primitive kinds in oneDNN's log, which writes these problems in benchdnn's syntax.
constexpr std::string_view kKinds[] = {"convolution"};

std::optional<std::string> LineOf(const logs::Primitive& primitive) {
  return suites::FilterLine(primitive, "conv");
}

}  // namespace

std::optional<std::string> ConvBenchdnn(const Conv2dCase& conv) {
  auto line = CallText(conv);
  if (!line) return std::nullopt;
  if (conv.layout == Conv2dLayout::kNchw) *line += "--stag=abx --dtag=abx ";
  if (conv.layout == Conv2dLayout::kNhwc) *line += "--stag=axb --dtag=axb ";
  if (conv.algorithm == Conv2dAlgorithm::kAuto) *line += "--alg=auto ";
  if (conv.algorithm == Conv2dAlgorithm::kWinograd) *line += "--alg=wino ";
  return *line + FpmathText(conv) + ProblemText(conv.problem);
}

std::optional<std::string> ConvBenchdnn(const Conv3dCase& conv) {
  auto line = CallText(conv);
  if (!line) return std::nullopt;
  return *line + FpmathText(conv) + ProblemText(conv.problem);
}

const suites::BenchdnnDriver kConvDriver = {"conv", kOptions, BeginsProblem, ConvName,
                                            WorkOf, kKinds,   LineOf};

}  // namespace dlroof::conv2d
