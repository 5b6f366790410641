#include "reporters/verbose/primitive.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

#include "reporters/verbose/verbose_log.h"

namespace dlroof::verbose {
namespace {

constexpr double kMostSize = 2147483647;
constexpr std::array<std::pair<std::string_view, double>, 21> kTypes = {
    {{"f8_e5m2", 1}, {"f8_e4m3", 1}, {"f4_e2m1", 0.5}, {"f4_e3m0", 0.5}, {"e8m0", 1},
     {"boolean", 1}, {"bf16", 2},    {"undef", 0},     {"bin", 0.125},   {"f32", 4},
     {"f64", 8},     {"f16", 2},     {"tf32", 4},      {"s64", 8},       {"s32", 4},
     {"u64", 8},     {"u32", 4},     {"s8", 1},        {"u8", 1},        {"s4", 0.5},
     {"u4", 0.5}}};

std::string_view At(const std::vector<std::string_view>& parts, std::size_t i) {
  return i < parts.size() ? parts[i] : std::string_view();
}

// Splits "wei_layer_f32" into role and type. The type is empty if the word does not end with one.
std::pair<std::string_view, std::string_view> RoleAndType(std::string_view word) {
  for (const auto& [type, bytes] : kTypes)
    if (word.size() > type.size() + 1 && word.ends_with(type) &&
        word[word.size() - type.size() - 1] == '_')
      return {word.substr(0, word.size() - type.size() - 1), type};
  return {word, {}};
}

Tensor ReadTensor(std::string_view text) {
  const auto parts = SplitText(text, ':');
  // "f32::blocked:aBcd8b" has no role; "src_f32:a:blocked:aBcd8b" has role and type in one word.
  if (IsTensorType(parts[0]))
    return {"data", std::string(parts[0]), At(parts, 1).find('a') != std::string_view::npos,
            std::string(At(parts, 3))};
  const bool apart = IsTensorType(At(parts, 1));
  const auto [role, type] = apart ? std::pair(parts[0], parts[1]) : RoleAndType(parts[0]);
  const std::size_t next = apart ? 2 : 1;
  return {std::string(role), std::string(type), At(parts, next).find('a') != std::string_view::npos,
          std::string(At(parts, next + 2))};
}

std::optional<double> TakeSize(std::string_view& text) {
  double size = 0;
  std::size_t digits = 0;
  while (digits < text.size() && text[digits] >= '0' && text[digits] <= '9')
    size = size * 10 + (text[digits++] - '0');
  if (digits == 0 || !(size <= kMostSize)) return std::nullopt;
  text.remove_prefix(digits);
  return size;
}

std::string TypeOf(const Primitive& primitive, std::string_view role) {
  const auto* tensor = primitive.Find(role);
  return tensor == nullptr || tensor->type.empty() ? "f32" : tensor->type;
}

// Returns "any" for a layout that the library chose.
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

// benchdnn's inference direction has no bias.
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

std::optional<std::string> ConvLine(const Primitive& primitive) {
  return FilterLine(primitive, "conv");
}
std::optional<std::string> DeconvLine(const Primitive& primitive) {
  return FilterLine(primitive, "deconv");
}

std::optional<std::string> IpLine(const Primitive& primitive) {
  return fmt::format("--ip --mode=P {}{}{}{}", DirArgument(primitive), TypesArgument(primitive),
                     PostOpsArgument(primitive), primitive.text.problem);
}

// Leaves out the third part of the problem, the destination's sizes, which follow from the others.
std::optional<std::string> MatmulLine(const Primitive& primitive) {
  const auto dims = ReadDimsList(primitive.text.problem);
  if (!dims || dims->size() < 2) return std::nullopt;
  const auto second = primitive.text.problem.find(':');
  const auto third = primitive.text.problem.find(':', second + 1);
  return fmt::format(
      "--matmul --mode=P {}{}{}{}{}{}{}", TypesArgument(primitive),
      LayoutArgument(primitive, "src", "stag"), LayoutArgument(primitive, "wei", "wtag"),
      LayoutArgument(primitive, "dst", "dtag"),
      primitive.HasBias() ? fmt::format("--bia_dt={} ", TypeOf(primitive, "bia")) : "",
      PostOpsArgument(primitive), primitive.text.problem.substr(0, third));
}

std::optional<std::string> RnnLine(const Primitive& primitive) {
  const auto& text = primitive.text;
  const auto type = TypeOf(primitive, "src_layer");
  const bool plain =
      TypeOf(primitive, "wei_layer") == type && TypeOf(primitive, "dst_layer") == type;
  if (!plain) return std::nullopt;
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

std::optional<std::string> ReorderLine(const Primitive& primitive) {
  const auto* source = primitive.Find("src");
  const auto* destination = primitive.Find("dst");
  if (source == nullptr || destination == nullptr || source->tag.empty() ||
      destination->tag.empty())
    return std::nullopt;
  return fmt::format("--reorder --mode=P --sdt={} --ddt={} --stag={} --dtag={} {}", source->type,
                     destination->type, source->tag, destination->tag, primitive.text.problem);
}

// Returns the line of a kind whose algorithm, direction and problem benchdnn accepts as printed.
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

std::optional<std::string> SoftmaxLine(const Primitive& primitive) {
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
  std::optional<std::string> (*line)(const Primitive& primitive);
};
constexpr LineForm kLines[] = {
    {"convolution", ConvLine}, {"deconvolution", DeconvLine}, {"inner_product", IpLine},
    {"matmul", MatmulLine},    {"gemm_api", MatmulLine},      {"rnn", RnnLine},
    {"reorder", ReorderLine},  {"softmax", SoftmaxLine},      {"softmax_v2", SoftmaxLine}};

// A kind of primitive for which PlainLine works.
struct PlainForm {
  std::string_view kind, driver, prefix;
};
constexpr PlainForm kPlainLines[] = {
    {"pooling", "pool", "pooling_"},          {"pooling_v2", "pool", "pooling_"},
    {"batch_normalization", "bnorm", ""},     {"layer_normalization", "lnorm", ""},
    {"eltwise", "eltwise", "eltwise_"},       {"binary", "binary", "binary_"},
    {"reduction", "reduction", "reduction_"}, {"resampling", "resampling", "resampling_"}};

}  // namespace

std::vector<Tensor> ReadTensors(std::string_view text) {
  std::vector<Tensor> tensors;
  for (const auto word : SplitText(text, ' '))
    if (!word.empty()) tensors.push_back(ReadTensor(word));
  return tensors;
}

bool IsTensorType(std::string_view type) { return BytesOf(type).has_value(); }

std::optional<double> BytesOf(std::string_view type) {
  const auto* row = std::ranges::find(kTypes, type, &std::pair<std::string_view, double>::first);
  if (row == kTypes.end()) return std::nullopt;
  return row->second;
}

const Tensor* Primitive::Find(std::string_view role) const {
  for (const auto& tensor : tensors) {
    std::string_view own = tensor.role;
    if (own.starts_with("diff_")) own.remove_prefix(5);
    if ((tensor.role == role || own == role) && tensor.type != "undef") return &tensor;
  }
  return nullptr;
}

Primitive ReadPrimitive(const PrimitiveText& text) { return {text, ReadTensors(text.tensors)}; }

std::optional<LetterSizes> LetterSizes::Read(std::string_view text) {
  LetterSizes found;
  while (!text.empty()) {
    if (text[0] == '_') {
      text.remove_prefix(1);
      continue;
    }
    std::size_t letters = 0;
    while (letters < text.size() && text[letters] >= 'a' && text[letters] <= 'z') ++letters;
    const auto key = text.substr(0, letters);
    text.remove_prefix(letters);
    const auto size = letters == 0 ? std::nullopt : TakeSize(text);
    if (!size) return std::nullopt;
    found.sizes_.insert_or_assign(std::string(key), *size);
  }
  if (found.sizes_.empty()) return std::nullopt;
  return found;
}

double LetterSizes::Or(std::string_view key, double otherwise) const {
  const auto found = sizes_.find(key);
  return found == sizes_.end() ? otherwise : found->second;
}

double LetterSizes::Image(char first) const {
  double product = 1;
  for (const char axis : {'d', 'h', 'w'}) {
    const char key[] = {first, axis};
    product *= Or(std::string_view(key, 2), 1);
  }
  return product;
}

std::optional<std::vector<double>> ReadDims(std::string_view text) {
  std::vector<double> dims;
  for (auto part : SplitText(text, 'x')) {
    const auto size = TakeSize(part);
    if (!size || !part.empty()) return std::nullopt;
    dims.push_back(*size);
  }
  return dims;
}

std::optional<std::vector<std::vector<double>>> ReadDimsList(std::string_view text) {
  std::vector<std::vector<double>> list;
  for (const auto part : SplitText(text, ':')) {
    auto dims = ReadDims(part);
    if (!dims) return std::nullopt;
    list.push_back(std::move(*dims));
  }
  return list;
}

double ProductOf(const std::vector<double>& dims) {
  double product = 1;
  for (const double size : dims) product *= size;
  return product;
}

std::string_view WordOf(std::string_view text, std::string_view key) {
  for (const auto word : SplitText(text, ' '))
    if (word.size() > key.size() && word.starts_with(key) && word[key.size()] == ':')
      return word.substr(key.size() + 1);
  return {};
}

std::vector<std::string_view> PostOpsOf(std::string_view attributes) {
  std::vector<std::string_view> found;
  for (auto word : SplitText(attributes, ' ')) {
    for (const std::string_view key : {"attr-post-ops:", "attr-post_ops:", "post_ops:"}) {
      if (!word.starts_with(key)) continue;
      word.remove_prefix(key.size());
      std::size_t begin = 0;
      for (std::size_t i = 0; i <= word.size(); ++i) {
        const bool exponent = i > 1 && i < word.size() && word[i] == '+' && word[i - 1] == 'e' &&
                              std::isdigit(static_cast<unsigned char>(word[i - 2])) != 0;
        const bool ends =
            i == word.size() || word[i] == ';' || word[i] == '\'' || (word[i] == '+' && !exponent);
        if (!ends) continue;
        if (i > begin) found.push_back(word.substr(begin, i - begin));
        begin = i + 1;
      }
      break;
    }
  }
  return found;
}

namespace {

std::optional<std::string> LineOf(const Primitive& primitive) {
  const auto& kind = primitive.text.kind;
  for (const auto& [plain, driver, prefix] : kPlainLines)
    if (kind == plain) return PlainLine(primitive, driver, prefix);
  const auto* form = std::ranges::find(kLines, kind, &LineForm::kind);
  return form == std::end(kLines) ? std::nullopt : form->line(primitive);
}

}  // namespace

std::optional<std::string> BenchdnnLine(const Primitive& primitive) {
  auto line = LineOf(primitive);
  const auto mode = line ? line->find(" --mode=P") : std::string::npos;
  if (mode != std::string::npos && primitive.text.engine == "gpu")
    line->insert(mode, " --engine=gpu");
  return line;
}

}  // namespace dlroof::verbose
