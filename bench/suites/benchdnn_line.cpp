#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "bench/suites/benchdnn.h"

namespace dlroof::suites {
namespace {

// Returns the layout's tag, or "any" if the library chose it.
std::string TagOf(const logs::Tensor& tensor) {
  const bool blocked = std::ranges::any_of(
      tensor.tag, [](unsigned char c) { return std::isupper(c) != 0 || std::isdigit(c) != 0; });
  return tensor.Chosen() || blocked || tensor.tag.empty() ? "any" : tensor.tag;
}

// Omits "convolution_direct", benchdnn's default.
std::string AlgorithmArgument(const logs::Primitive& primitive) {
  const auto algorithm = logs::WordOf(primitive.text.auxiliary, "alg");
  if (algorithm.ends_with("winograd")) return "--alg=wino ";
  return algorithm.ends_with("auto") ? "--alg=auto " : "";
}

std::optional<std::string> ReorderLine(const logs::Primitive& primitive) {
  const auto* source = primitive.Find("src");
  const auto* destination = primitive.Find("dst");
  if (source == nullptr || destination == nullptr || source->tag.empty() ||
      destination->tag.empty())
    return std::nullopt;
  return fmt::format("--reorder --mode=P --sdt={} --ddt={} --stag={} --dtag={} {}", source->type,
                     destination->type, source->tag, destination->tag, primitive.text.problem);
}

// Returns the line for primitives whose logged algorithm, direction and problem benchdnn accepts.
std::string PlainLine(const logs::Primitive& primitive, std::string_view driver,
                      std::string_view prefix) {
  auto algorithm = logs::WordOf(primitive.text.auxiliary, "alg");
  if (algorithm.starts_with(prefix)) algorithm.remove_prefix(prefix.size());
  const auto axis = logs::WordOf(primitive.text.auxiliary, "axis");
  const auto flags = logs::WordOf(primitive.text.auxiliary, "flags");
  return fmt::format("--{} --mode=P {}{}{}{}{}", driver,
                     primitive.text.prop == "undef" ? "" : DirArgument(primitive),
                     algorithm.empty() ? "" : fmt::format("--alg={} ", algorithm),
                     axis.empty() ? "" : fmt::format("--axis={} ", axis),
                     flags.empty() ? "" : fmt::format("--flags={} ", flags),
                     primitive.text.problem);
}

// A primitive kind for which PlainLine works.
struct PlainForm {
  std::string_view kind, driver, prefix;
};
constexpr PlainForm kPlainLines[] = {
    {"pooling", "pool", "pooling_"},          {"pooling_v2", "pool", "pooling_"},
    {"batch_normalization", "bnorm", ""},     {"binary", "binary", "binary_"},
    {"reduction", "reduction", "reduction_"}, {"resampling", "resampling", "resampling_"}};

}  // namespace

std::string TypeOf(const logs::Primitive& primitive, std::string_view role) {
  const auto* tensor = primitive.Find(role);
  return tensor == nullptr || tensor->type.empty() ? "f32" : tensor->type;
}

std::string LayoutArgument(const logs::Primitive& primitive, std::string_view role,
                           std::string_view option) {
  const auto* tensor = primitive.Find(role);
  const auto tag = tensor == nullptr ? "any" : TagOf(*tensor);
  return tag == "any" ? "" : fmt::format("--{}={} ", option, tag);
}

std::string PostOpsArgument(const logs::Primitive& primitive) {
  std::string list;
  for (const auto post_op : logs::PostOpsOf(primitive.text.attributes))
    list += fmt::format("{}{}", list.empty() ? "" : "+", post_op);
  return list.empty() ? "" : fmt::format("--attr-post-ops={} ", list);
}

// With bias FWD_B, because benchdnn's inference direction has no bias.
std::string DirArgument(const logs::Primitive& primitive) {
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

std::string TypesArgument(const logs::Primitive& primitive) {
  const auto types = fmt::format("{}:{}:{}", TypeOf(primitive, "src"), TypeOf(primitive, "wei"),
                                 TypeOf(primitive, "dst"));
  return types == "f32:f32:f32" ? "" : fmt::format("--dt={} ", types);
}

std::string SourceRole(const logs::Primitive& primitive) {
  return primitive.Find("src") == nullptr ? "data" : "src";
}

std::string TypePair(const logs::Primitive& primitive) {
  const auto source = TypeOf(primitive, SourceRole(primitive));
  const bool both = primitive.Find("dst") == nullptr;
  return fmt::format("{}:{}", source, both ? source : TypeOf(primitive, "dst"));
}

std::string InAndOutArguments(const logs::Primitive& primitive) {
  const auto source = SourceRole(primitive);
  const auto destination = primitive.Find("dst") == nullptr ? source : "dst";
  std::string text;
  for (const auto& [role, option] : {std::pair(source, "sdt"), std::pair(destination, "ddt")})
    if (const auto type = TypeOf(primitive, role); type != "f32")
      text += fmt::format("--{}={} ", option, type);
  return text + LayoutArgument(primitive, source, "stag") +
         LayoutArgument(primitive, destination, "dtag");
}

std::string FilterLine(const logs::Primitive& primitive, std::string_view driver) {
  return fmt::format("--{} --mode=P {}{}{}{}{}{}{}", driver, DirArgument(primitive),
                     TypesArgument(primitive), LayoutArgument(primitive, "src", "stag"),
                     LayoutArgument(primitive, "dst", "dtag"), AlgorithmArgument(primitive),
                     PostOpsArgument(primitive), primitive.text.problem);
}

namespace {

std::optional<std::string> LineOf(const logs::Primitive& primitive) {
  const auto& kind = primitive.text.kind;
  for (const BenchdnnDriver* driver : BenchdnnDrivers())
    if (std::ranges::count(driver->kinds, kind) > 0) return driver->line(primitive);
  for (const auto& [plain, driver, prefix] : kPlainLines)
    if (kind == plain) return PlainLine(primitive, driver, prefix);
  if (kind == "deconvolution") return FilterLine(primitive, "deconv");
  return kind == "reorder" ? ReorderLine(primitive) : std::nullopt;
}

}  // namespace

std::optional<std::string> BenchdnnLine(const logs::Primitive& primitive) {
  auto line = LineOf(primitive);
  const auto mode = line ? line->find(" --mode=P") : std::string::npos;
  if (mode != std::string::npos && primitive.text.engine == "gpu")
    line->insert(mode, " --engine=gpu");
  return line;
}

}  // namespace dlroof::suites
