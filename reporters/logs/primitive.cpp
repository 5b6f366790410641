#include "reporters/logs/primitive.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "counters/base/numbers.h"

namespace dlroof::logs {
namespace {

constexpr double kMaxSize = 2147483647;
constexpr std::array<std::pair<std::string_view, double>, 21> kTypes = {
    {{"f8_e5m2", 1}, {"f8_e4m3", 1}, {"f4_e2m1", 0.5}, {"f4_e3m0", 0.5}, {"e8m0", 1},
     {"boolean", 1}, {"bf16", 2},    {"undef", 0},     {"bin", 0.125},   {"f32", 4},
     {"f64", 8},     {"f16", 2},     {"tf32", 4},      {"s64", 8},       {"s32", 4},
     {"u64", 8},     {"u32", 4},     {"s8", 1},        {"u8", 1},        {"s4", 0.5},
     {"u4", 0.5}}};

std::string_view At(const std::vector<std::string_view>& parts, std::size_t i) {
  return i < parts.size() ? parts[i] : std::string_view();
}

// Splits "wei_layer_f32" into role and type. The type is empty if the word does not end in a type.
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
  const bool bare = BytesOf(parts[0]).has_value(), apart = !bare && BytesOf(At(parts, 1));
  const auto [role, type] = bare    ? std::pair(std::string_view("data"), parts[0])
                            : apart ? std::pair(parts[0], parts[1])
                                    : RoleAndType(parts[0]);
  const std::size_t next = apart ? 2 : 1;
  Tensor tensor{.role = std::string(role),
                .type = std::string(type),
                .properties = std::string(At(parts, next)),
                .format = std::string(At(parts, next + 1)),
                .tag = std::string(At(parts, next + 2))};
  for (std::size_t i = next + 3; i < parts.size(); ++i)
    tensor.extra += fmt::format(":{}", parts[i]);
  return tensor;
}

std::optional<double> TakeSize(std::string_view& text) {
  double size = 0;
  std::size_t digits = 0;
  while (digits < text.size() && text[digits] >= '0' && text[digits] <= '9')
    size = size * 10 + (text[digits++] - '0');
  if (digits == 0 || !(size <= kMaxSize)) return std::nullopt;
  text.remove_prefix(digits);
  return size;
}

struct Form {
  std::string_view kind;
  FormWork (*work)(const Primitive& primitive);
};
constexpr Form kForms[] = {{"convolution", ConvolutionWork},
                           {"deconvolution", DeconvolutionWork},
                           {"matmul", MatmulWork},
                           {"gemm_api", MatmulWork},
                           {"gemm", MatmulWork},
                           {"brgemm", BlockProductWork},
                           {"transform", BlockTransformWork},
                           {"inner_product", InnerProductWork},
                           {"rnn", RnnWork},
                           {"batch_normalization", BatchNormalizationWork},
                           {"layer_normalization", LayerNormalizationWork},
                           {"layer_normalization_v2", LayerNormalizationWork},
                           {"group_normalization", GroupNormalizationWork},
                           {"softmax", SoftmaxWork},
                           {"softmax_v2", SoftmaxWork},
                           {"logsoftmax", LogsoftmaxWork},
                           {"eltwise", EltwiseWork},
                           {"binary", BinaryWork},
                           {"sum", SumWork},
                           {"reduction", ReductionWork},
                           {"pooling", PoolingWork},
                           {"pooling_v2", PoolingWork},
                           {"reorder", ReorderWork},
                           {"concat", ConcatWork}};

}  // namespace

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

Primitive ReadPrimitive(const PrimitiveText& text) {
  Primitive primitive{.text = text};
  for (const auto word : SplitText(text.tensors, ' '))
    if (!word.empty()) primitive.tensors.push_back(ReadTensor(word));
  return primitive;
}

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

FormWork WorkOn(const std::vector<double>& destination_dims) {
  return {.destination = ProductOf(destination_dims), .destination_dims = destination_dims};
}

double ElementBytes(const Primitive& primitive, std::string_view role) {
  const auto* tensor = primitive.Find(role);
  return tensor == nullptr ? 0 : TypeBytes(*tensor);
}

double TypeBytes(const Tensor& tensor) {
  const auto bytes = BytesOf(tensor.type);
  if (!bytes) throw NoClosedForm{fmt::format("no type of '{}' is printed", tensor.role)};
  return *bytes;
}

LetterSizes SizesOf(const Primitive& primitive) {
  auto sizes = LetterSizes::Read(primitive.text.problem);
  if (!sizes) throw NoClosedForm{"the problem has another form than letters with sizes"};
  return *std::move(sizes);
}

std::vector<std::vector<double>> DimsOf(const Primitive& primitive) {
  if (primitive.text.problem.find('*') != std::string::npos)
    throw NoClosedForm{"sizes are known only at run time"};
  auto dims = ReadDimsList(primitive.text.problem);
  if (!dims) throw NoClosedForm{"the problem has another form than sizes with x between them"};
  return *std::move(dims);
}

PrimitiveWork WorkOf(const Primitive& primitive) {
  PrimitiveWork found;
  const auto* form = std::ranges::find(kForms, primitive.text.kind, &Form::kind);
  if (form == std::end(kForms)) {
    found.reason = Reason{fmt::format("no closed form of the kind '{}'", primitive.text.kind)};
    return found;
  }
  try {
    if (const auto word = UnknownWord(primitive))
      throw NoClosedForm{
          fmt::format("{} may change the work in a way that the log does not tell", *word)};
    FormWork work = form->work(primitive);
    AddPostOps(primitive, work);
    for (const double count : {work.matrix, work.elementwise, work.bytes})
      if (!RangeOf("flops").Contains(count)) throw NoClosedForm{"the problem has impossible sizes"};
    found.matrix = work.matrix;
    found.elementwise = work.elementwise;
    found.reason = work.missing_bytes;
    const bool typed = std::ranges::any_of(primitive.tensors, [](const Tensor& tensor) {
      return !tensor.type.empty() && tensor.type != "undef";
    });
    if (!typed && !found.reason) found.reason = Reason{"the log has no types of tensors"};
    if (!found.reason) found.bytes = work.bytes;
  } catch (const NoClosedForm& error) {
    found.reason = Reason{error.reason};
  }
  return found;
}

bool HasNoFlops(const PrimitiveWork& work) {
  return work.matrix && *work.matrix == 0 && *work.elementwise == 0;
}

std::optional<std::string> ComputeTypeOf(const Primitive& primitive) {
  for (const std::string_view role :
       {"src", "src_layer", "src_a", "data", "wei", "wei_layer", "src_b"}) {
    const auto* tensor = primitive.Find(role);
    if (tensor == nullptr) continue;
    const std::string_view type = tensor->type;
    if (type == "s8" || type == "u8" || type == "s4" || type == "u4") return "int8";
    if (type == "f32" || type == "f64" || type == "bf16" || type == "f16") return std::string(type);
    if (!type.empty()) return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace dlroof::logs
