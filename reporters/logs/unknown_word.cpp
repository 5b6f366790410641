// Lists of the words in logs of oneDNN 1.0 to 3.14 (src/common/verbose.cpp), except words of calls
// whose work the log does not determine, e.g. the format "sparse": non-zeros are not printed.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "reporters/logs/primitive.h"
#include "reporters/logs/verbose_log.h"

namespace dlroof::logs {
namespace {

// Words separated by blanks. A list that begins with a blank also contains the empty word.
constexpr std::string_view kDirections =
    " undef forward forward_training forward_inference backward backward_data backward_weights "
    "backward_bias";
constexpr std::string_view kFormats =
    " undef any blocked wino rnn_packed opaque cublaslt_blocked zen_packed";
constexpr std::string_view kRoles =
    "src wei bia bias dst data diff stats scale shift ws src_layer src_iter src_iter_c wei_layer "
    "wei_iter wei_proj dst_layer dst_iter dst_iter_c src_fused wei_fused bia_fused wei_peephole "
    "src_a src_b dst_c dst_d msk";
constexpr std::string_view kAttributes =
    " attr-scratchpad attr-fpmath attr-acc-mode attr-acc attr-rounding-mode attr-deterministic "
    "attr-scales attr-zero-points attr-zero_points attr-oscale attr-post-ops attr-post_ops "
    "attr-rnn_data_qparams rnn_data_qparams oscale scales zero_points post_ops scratchpad_mode lda "
    "ldb";
constexpr std::string_view kAttributeValues =
    " user library strict relaxed any true false sum stochastic environment host_scalar common";
constexpr std::string_view kExtras =  // compensations; a number follows each
    "s8m zpm sa zid zih ziw zod zoh zow zpd zph zpw zdd zdh zdw zs";
// Keys of PrimitiveText::others: fields in the header line of a log ("...template:") without a
// member of PrimitiveText, and kProcessField, which the log's reader adds.
constexpr std::string_view kOtherFields = "process component backend";

// The keys of a problem's sizes.
constexpr std::string_view kSizes =
    "g mb ic oc id ih iw od oh ow kd kh kw sd sh sw dd dh dw pd ph pw l t sic slc dhc dlc dic m n "
    "k b";

// Keys of the auxiliary field whose values are numbers; other keys, each with its known values.
constexpr std::string_view kNumberKeys = "alpha beta axis group p eps runtime_dims_masks bs num";
constexpr std::pair<std::string_view, std::string_view> kAuxiliary[] = {
    {"", " "},
    {"alg",
     "convolution_direct convolution_auto convolution_winograd deconvolution_direct "
     "deconvolution_winograd softmax_accurate softmax_accurate_inf_as_zero softmax_log "
     "reduction_max reduction_min reduction_sum reduction_mul reduction_mean reduction_norm_lp_max "
     "reduction_norm_lp_sum reduction_norm_lp_power_p_max reduction_norm_lp_power_p_sum "
     "pooling_max pooling_avg pooling_avg_include_padding pooling_avg_exclude_padding vanilla_rnn "
     "vanilla_lstm vanilla_gru lbr_gru"},
    {"direction",
     "unidirectional unidirectional_left2right unidirectional_right2left bidirectional_concat "
     "bidirectional_sum"},
    {"activation", "undef eltwise_relu eltwise_tanh eltwise_logistic"}};

constexpr std::string_view kDigits = "0123456789";

bool IsIn(std::string_view list, std::string_view word) {
  return std::ranges::count(SplitText(list, ' '), word) > 0;
}

bool Has(std::string_view text, char c) { return text.find(c) != text.npos; }

// Returns whether the text is empty or has only numbers, sizes ("32x1") and "*" (of run time).
bool AreNumbers(std::string_view text) {
  const bool some = text.find_first_of("0123456789*") != text.npos;
  return (some && text.find_first_not_of("0123456789.e+-x*:,") == text.npos) ||
         IsIn(" inf -inf nan -nan", text);
}

// Returns whether a word names a tensor or an argument: "wei", "diff_src_layer", "src_1", "msk0".
bool IsRole(std::string_view role) {
  if (role.starts_with("diff_")) role.remove_prefix(5);
  return IsIn(kRoles, role) ||
         IsIn(kRoles, role.substr(0, role.find_last_not_of("0123456789_") + 1));
}

// Returns whether a tag is of a blocked layout: a letter from 'a' on for each dimension ("aBcd"),
// and for each block a number before its letter ("16a4b").
bool IsTag(std::string_view tag) {
  if (IsIn(" any undef col32_2r_4r4", tag)) return true;
  std::string sizes;
  for (bool block = false; const char c : tag) {
    const auto letter = static_cast<char>(c | 0x20);
    if (Has(kDigits, c))
      block = true;
    else if (!std::exchange(block, false))
      sizes += letter;
    else if (!Has(sizes, letter))
      return false;
  }
  std::ranges::sort(sizes);
  return !sizes.empty() && std::string_view("abcdefghijkl").starts_with(sizes) &&
         !Has(kDigits, tag.back());
}

// Returns whether a part of a tensor's description is empty, strides ("4096x1"), or flags of
// compensations and of a bias: "f0", "f0_mask3", "s8m3", "zpm1", "sa0.5".
bool IsExtra(std::string_view part, bool bias) {
  constexpr double kFlags = 64;  // above the sum of all flags
  const auto key = part.substr(0, std::min(part.find_first_of("-0123456789", 2), part.size()));
  if (IsIn(kExtras, key)) return key.size() < part.size() && AreNumbers(part.substr(key.size()));
  if (!part.starts_with('f')) return part.find_first_not_of("0123456789x*") == part.npos;
  part.remove_prefix(1);
  const auto flags = part.substr(0, part.find_first_not_of(kDigits));
  part.remove_prefix(flags.size());
  if (bias && part.starts_with("_mask"))
    part = part.substr(std::min(part.find_first_not_of(kDigits, 5), part.size()));
  return part.empty() && NumberFromZero(flags).value_or(kFlags) < kFlags;
}

// Returns a word with its kind: "the attribute 'attr-x'".
std::string Named(const char* kind, std::string_view word) {
  return fmt::format("{} '{}'", kind, word);
}

using Found = std::optional<std::string>;

Found OfTensor(const Tensor& tensor) {
  if (tensor.type.empty()) return fmt::format("the tensor '{}' without a type", tensor.role);
  if (!IsRole(tensor.role)) return Named("the tensor", tensor.role);
  if (tensor.properties.find_first_not_of("apo0") != std::string::npos)
    return Named("the property of a tensor", tensor.properties);
  if (!IsIn(kFormats, tensor.format))
    return fmt::format("the format '{}' of a tensor", tensor.format);
  if (!IsTag(tensor.tag)) return Named("the layout", tensor.tag);
  for (const auto part : SplitText(tensor.extra, ':'))
    if (!IsExtra(part, tensor.role.starts_with("bia")))
      return fmt::format("'{}' of a tensor", part);
  return std::nullopt;
}

// Returns the first unknown part of an attribute. Closed forms check the names of post-ops.
Found OfAttribute(std::string_view word) {
  const auto key = word.substr(0, word.find(':'));
  if (!IsIn(kAttributes, key)) return Named("the attribute", key);
  for (auto rest = word.substr(key.size()); !rest.empty();) {
    rest.remove_prefix(1);
    const auto value = rest.substr(0, rest.find_first_of(":+;'"));
    rest.remove_prefix(value.size());
    if (!AreNumbers(value) && !BytesOf(value) && !IsRole(value) && !IsIn(kAttributeValues, value) &&
        !value.starts_with("eltwise_") && !value.starts_with("binary_") &&
        !(key.ends_with("ops") && IsTag(value)))
      return fmt::format("'{}' of the attribute '{}'", value, key);
  }
  return std::nullopt;
}

Found OfAuxiliary(std::string_view word, std::string_view kind) {
  const auto key = word.substr(0, word.find(':'));
  const auto value = word.substr(std::min(key.size() + 1, word.size()));
  if (key == "flags") {
    const bool known = value.find_first_not_of(kind == "rnn" ? "O" : "GCHSRA") == value.npos;
    return known ? Found() : Named("the flags", value);
  }
  const auto* const row =
      std::ranges::find(kAuxiliary, key, &std::pair<std::string_view, std::string_view>::first);
  const bool number = IsIn(kNumberKeys, key);
  if (row == std::end(kAuxiliary) && !number) return Named("the word", key);
  const bool by_form = key == "alg" && (kind == "eltwise" || kind == "binary");
  const bool known = number ? AreNumbers(value) : IsIn(row->second, value);
  return known || by_form ? Found() : Named("the value", word);
}

// Returns the first unknown key in a problem's sizes.
Found OfProblem(std::string_view problem) {
  while (!problem.empty()) {
    problem.remove_prefix(std::min(problem.find_first_not_of("0123456789_"), problem.size()));
    const auto key = problem.substr(0, problem.find_first_of("0123456789_"));
    problem.remove_prefix(key.size());
    if (!key.empty() && !IsIn(kSizes, key)) return Named("the size", key);
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> UnknownWord(const Primitive& primitive) {
  const auto& text = primitive.text;
  if (!IsIn(kDirections, text.prop)) return Named("the direction", text.prop);
  for (const auto& [field, value] : text.others)
    if (!IsIn(kOtherFields, field)) return Named("the field", field);
  for (const auto& tensor : primitive.tensors)
    if (auto word = OfTensor(tensor)) return word;
  for (const auto word : SplitText(text.attributes, ' '))
    if (auto unknown = OfAttribute(word)) return unknown;
  for (const auto word : SplitText(text.auxiliary, ' '))
    if (auto unknown = OfAuxiliary(word, text.kind)) return unknown;
  return LetterSizes::Read(text.problem) ? OfProblem(text.problem) : std::nullopt;
}

}  // namespace dlroof::logs
