#include <fmt/format.h>

#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/benchdnn/problem.h"
#include "bench/benchdnn/product_words.h"
#include "bench/conv2d/benchdnn.h"
#include "bench/conv2d/case.h"
#include "bench/workload/benchmark_name.h"
#include "counters/base/error.h"

namespace dlroof {
namespace {

// Returns our name of types that benchdnn has a configuration for.
std::string ConvType(const ProductTypes& types) {
  auto key = KeyOf(types);
  if (key == types.source) return key == "f64" ? "" : key;  // none on the CPU
  const auto spelled = fmt::format(" {}{}{} ", types.source, types.weights, types.destination);
  const auto known = fmt::format(" {} ", kConvConfigurations);
  return known.find(spelled) == std::string::npos ? "" : key;
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
  const auto types = TypesOf(choice);
  if (!ConvType(types).empty()) return "";
  return types == ProductTypes{"f64", "f64", "f64"} ? "type f64" : "types " + DataTypesOf(types);
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

std::string OtherReason(const BenchdnnConv& /*problem*/, const BenchdnnChoice& choice) {
  const bool forward = FindDirection(choice)->direction == ProductDirection::kForward;
  return AttributeReason(choice, TypesOf(choice), forward);
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
std::vector<std::string> OurOptions(const BenchdnnChoice& choice,
                                    const BenchdnnDirection& direction) {
  auto options = ProductOptionsOf(choice, direction.training, direction.bias);
  const auto add = [&](bool given, std::string_view option) {
    if (given) options.emplace_back(option);
  };
  add(choice["stag"] != "any", choice["stag"]);
  add(choice["alg"].find("auto") != std::string_view::npos, "auto");
  add(choice["alg"].find("wino") != std::string_view::npos, "winograd");
  AddFpmathOption(choice, options);
  return options;
}

}  // namespace

BenchdnnName ConvName(const BenchdnnConv& problem, const BenchdnnChoice& choice) {
  static constexpr std::array kReasons = {ShapeReason, TypeReason, DirectionReason, LayoutReason,
                                          OtherReason};
  for (const auto reason_of : kReasons)
    if (auto reason = reason_of(problem, choice); !reason.empty()) return {"", reason};
  const BenchdnnDirection& direction = *FindDirection(choice);
  auto text = ToText(OurProblem(problem, choice));
  try {
    ParseConv2d(text);
  } catch (const BadInput&) {  // groups that do not divide the channels, more than 64 bits
    return {"", "impossible shape"};
  }
  return {ToText(BenchmarkName{"Conv2D", "cpu", "onednn", std::string(Key(direction.direction)),
                               ConvType(TypesOf(choice)), std::move(text),
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

std::string ProblemText(const Conv2dProblem& p) {
  std::string text = p.groups != 1 ? fmt::format("g{}", p.groups) : "";
  text += fmt::format("mb{}ic{}ih{}iw{}oc{}oh{}ow{}kh{}kw{}", p.n, p.c, p.h, p.w, p.k,
                      OutputRows(p), OutputColumns(p), p.r, p.s);
  if (p.stride_h != 1 || p.stride_w != 1) text += fmt::format("sh{}sw{}", p.stride_h, p.stride_w);
  text += fmt::format("ph{}pw{}", p.pad_top, p.pad_left);
  if (p.dilation_h != 1 || p.dilation_w != 1)
    text += fmt::format("dh{}dw{}", p.dilation_h - 1, p.dilation_w - 1);
  return text;
}

BenchdnnWork WorkOf(const BenchmarkName& name) {
  const auto conv =
      ReadConv2dCase(name, {{"f64", "f32", "bf16", "f16", "int8"}, true, Conv2dOptions()});
  return {ProductWork(conv, "fp32.vector").bytes, std::string(ComputeType(conv.types))};
}

}  // namespace

std::string ConvBenchdnn(const Conv2dCase& conv) {
  const bool forward = conv.direction == ProductDirection::kForward;
  const auto dir = DirOf(conv);
  if (dir.empty() || ConvType(conv.types) != conv.type) return "";
  if (!forward && (conv.relu || conv.scales)) return "";
  std::string line = fmt::format("--conv --mode=P --dir={} ", dir) + TypesArgument(conv.types);
  if (conv.relu) line += "--attr-post-ops=relu ";
  if (conv.scales) line += ScalesArgument(conv.types);
  if (conv.layout == Conv2dLayout::kNchw) line += "--stag=abx --dtag=abx ";
  if (conv.layout == Conv2dLayout::kNhwc) line += "--stag=axb --dtag=axb ";
  if (conv.algorithm == Conv2dAlgorithm::kAuto) line += "--alg=auto ";
  if (conv.algorithm == Conv2dAlgorithm::kWinograd) line += "--alg=wino ";
  if (!conv.fpmath.empty()) line += fmt::format("--attr-fpmath={} ", conv.fpmath);
  return line + ProblemText(conv.problem);
}

const BenchdnnDriver kConvDriver = {"conv", ConvOptions(), true, BeginsProblem, Read, WorkOf};

}  // namespace dlroof
