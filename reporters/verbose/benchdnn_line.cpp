#include "reporters/verbose/benchdnn_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "reporters/verbose/verbose_line.h"

namespace dlroof::verbose {
namespace {

std::string TypeOf(const Primitive& primitive, std::string_view role) {
  const auto* tensor = primitive.Find(role);
  return tensor == nullptr || tensor->type.empty() ? "f32" : tensor->type;
}

// "any" where the library chose.
std::string TagOf(const Tensor& tensor) {
  const bool blocked = std::ranges::any_of(
      tensor.tag, [](unsigned char c) { return std::isupper(c) != 0 || std::isdigit(c) != 0; });
  return tensor.chosen || blocked || tensor.tag.empty() ? "any" : tensor.tag;
}

std::string LayoutArgument(const Primitive& primitive, std::string_view role,
                           std::string_view option) {
  const auto* tensor = primitive.Find(role);
  const auto tag = tensor == nullptr ? "any" : TagOf(*tensor);
  return tag == "any" ? "" : fmt::format("--{}={} ", option, tag);
}

std::string PostOpsArgument(const Primitive& primitive) {
  std::string list;
  for (const auto post_op : PostOpsOf(primitive.text.attributes))
    list += fmt::format("{}{}", list.empty() ? "" : "+", post_op);
  return list.empty() ? "" : fmt::format("--attr-post-ops={} ", list);
}

// benchdnn has one inference direction, without a bias.
std::string DirArgument(const Primitive& primitive) {
  const bool bias = primitive.HasBias();
  const auto& prop = primitive.text.prop;
  std::string dir;
  if (prop == "forward_inference") dir = bias ? "FWD_B" : "FWD_I";
  if (prop == "forward_training" || prop == "forward") dir = bias ? "FWD_B" : "FWD_D";
  if (prop == "backward_data") dir = "BWD_D";
  if (prop == "backward_weights") dir = bias ? "BWD_WB" : "BWD_W";
  if (prop == "backward") dir = "BWD_DW";
  return dir.empty() ? "" : fmt::format("--dir={} ", dir);
}

std::string TypesArgument(const Primitive& primitive) {
  const auto types = fmt::format("{}:{}:{}", TypeOf(primitive, "src"), TypeOf(primitive, "wei"),
                                 TypeOf(primitive, "dst"));
  return types == "f32:f32:f32" ? "" : fmt::format("--dt={} ", types);
}

// "convolution_direct", benchdnn's default, is left out.
std::string AlgorithmArgument(const Primitive& primitive) {
  const auto algorithm = WordOf(primitive.text.auxiliary, "alg");
  if (algorithm.ends_with("winograd")) return "--alg=wino ";
  return algorithm.ends_with("auto") ? "--alg=auto " : "";
}

std::string FilterLine(const Primitive& primitive, std::string_view driver) {
  return fmt::format("--{} --mode=P {}{}{}{}{}{}{}", driver, DirArgument(primitive),
                     TypesArgument(primitive), LayoutArgument(primitive, "src", "stag"),
                     LayoutArgument(primitive, "dst", "dtag"), AlgorithmArgument(primitive),
                     PostOpsArgument(primitive), primitive.text.problem);
}

std::string ConvLine(const Primitive& primitive) { return FilterLine(primitive, "conv"); }
std::string DeconvLine(const Primitive& primitive) { return FilterLine(primitive, "deconv"); }

std::string IpLine(const Primitive& primitive) {
  return fmt::format("--ip --mode=P {}{}{}{}", DirArgument(primitive), TypesArgument(primitive),
                     PostOpsArgument(primitive), primitive.text.problem);
}

// The problem's third part, the destination's sizes, follows from the others.
std::string MatmulLine(const Primitive& primitive) {
  const auto dims = ReadDimsList(primitive.text.problem);
  if (!dims || dims->size() < 2) return "";
  const auto second = primitive.text.problem.find(':');
  const auto third = primitive.text.problem.find(':', second + 1);
  return fmt::format(
      "--matmul --mode=P {}{}{}{}{}{}{}", TypesArgument(primitive),
      LayoutArgument(primitive, "src", "stag"), LayoutArgument(primitive, "wei", "wtag"),
      LayoutArgument(primitive, "dst", "dtag"),
      primitive.HasBias() ? fmt::format("--bia_dt={} ", TypeOf(primitive, "bia")) : "",
      PostOpsArgument(primitive), primitive.text.problem.substr(0, third));
}

std::string RnnLine(const Primitive& primitive) {
  const auto& text = primitive.text;
  const auto type = TypeOf(primitive, "src_layer");
  const bool plain =
      TypeOf(primitive, "wei_layer") == type && TypeOf(primitive, "dst_layer") == type;
  if (!plain) return "";
  std::string algorithm(WordOf(text.auxiliary, "alg"));
  std::ranges::transform(algorithm, algorithm.begin(),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  std::string line = fmt::format("--rnn --mode=P --prop={} --alg={} ",
                                 primitive.IsBackward()             ? "BWD_DW"
                                 : text.prop == "forward_inference" ? "FWD_I"
                                                                    : "FWD_D",
                                 algorithm);
  const auto direction = WordOf(text.auxiliary, "direction");
  if (direction == "unidirectional_right2left") line += "--direction=right2left ";
  if (direction == "bidirectional_concat") line += "--direction=concat ";
  if (direction == "bidirectional_sum") line += "--direction=sum ";
  if (type != "f32") line += fmt::format("--cfg={} ", type);
  if (primitive.Find("wei_peephole") != nullptr) line += "--with-peephole=true ";
  if (primitive.Find("wei_proj") != nullptr) line += "--with-projection=true ";
  return line + text.problem;
}

std::string ReorderLine(const Primitive& primitive) {
  const auto* source = primitive.Find("src");
  const auto* destination = primitive.Find("dst");
  if (source == nullptr || destination == nullptr || source->tag.empty() ||
      destination->tag.empty())
    return "";
  return fmt::format("--reorder --mode=P --sdt={} --ddt={} --stag={} --dtag={} {}", source->type,
                     destination->type, source->tag, destination->tag, primitive.text.problem);
}

// Kinds whose algorithm, direction and problem benchdnn takes as they are printed.
std::string PlainLine(const Primitive& primitive, std::string_view driver,
                      std::string_view prefix) {
  auto algorithm = WordOf(primitive.text.auxiliary, "alg");
  if (algorithm.starts_with(prefix)) algorithm.remove_prefix(prefix.size());
  const auto axis = WordOf(primitive.text.auxiliary, "axis");
  const auto flags = WordOf(primitive.text.auxiliary, "flags");
  return fmt::format("--{} --mode=P {}{}{}{}{}", driver,
                     primitive.text.prop == "undef" ? "" : DirArgument(primitive),
                     algorithm.empty() ? "" : fmt::format("--alg={} ", algorithm),
                     axis.empty() ? "" : fmt::format("--axis={} ", axis),
                     flags.empty() ? "" : fmt::format("--flags={} ", flags),
                     primitive.text.problem);
}

std::string SoftmaxLine(const Primitive& primitive) {
  auto line = PlainLine(primitive, "softmax", "softmax_");
  const auto at = line.find("--alg=");
  if (at == std::string::npos) return line;
  const auto end = line.find(' ', at);
  const auto word = line.substr(at + 6, end - at - 6);
  const char* upper = word.starts_with("log") ? "LOGSOFTMAX" : "SOFTMAX";
  return line.replace(at + 6, word.size(), upper);
}

struct LineForm {
  std::string_view kind;
  std::string (*line)(const Primitive& primitive);
};
constexpr LineForm kLines[] = {
    {"convolution", ConvLine}, {"deconvolution", DeconvLine}, {"inner_product", IpLine},
    {"matmul", MatmulLine},    {"gemm_api", MatmulLine},      {"rnn", RnnLine},
    {"reorder", ReorderLine},  {"softmax", SoftmaxLine},      {"softmax_v2", SoftmaxLine}};

// Kinds with a PlainLine.
struct PlainForm {
  std::string_view kind, driver, prefix;
};
constexpr PlainForm kPlainLines[] = {
    {"pooling", "pool", "pooling_"},          {"pooling_v2", "pool", "pooling_"},
    {"batch_normalization", "bnorm", ""},     {"layer_normalization", "lnorm", ""},
    {"eltwise", "eltwise", "eltwise_"},       {"binary", "binary", "binary_"},
    {"reduction", "reduction", "reduction_"}, {"resampling", "resampling", "resampling_"}};

}  // namespace

std::string BenchdnnLine(const Primitive& primitive) {
  const auto& kind = primitive.text.kind;
  for (const auto& [plain, driver, prefix] : kPlainLines)
    if (kind == plain) return PlainLine(primitive, driver, prefix);
  const auto* form = std::ranges::find(kLines, kind, &LineForm::kind);
  return form == std::end(kLines) ? "" : form->line(primitive);
}

}  // namespace dlroof::verbose
