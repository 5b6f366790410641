// Closed forms of elementwise operations, reductions, pooling and moves of data, and of post-ops.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "reporters/logs/primitive.h"
#include "reporters/logs/verbose_log.h"

namespace dlroof::logs {
namespace {

// FLOPs per element; nullopt: not known. In the formulas s is the source, d the destination, g its
// gradient, a and b are alpha and beta, c and e constants.
struct EltwiseForm {
  std::string_view name;
  std::optional<double> forward, backward;
};
constexpr std::nullopt_t kNone = std::nullopt;
constexpr std::array<EltwiseForm, 29> kEltwise = {{
    {"relu", 1, 2},                      // max(s, 0); backward: s > 0, times g
    {"relu_use_dst_for_bwd", 1, 2},      //
    {"tanh", 1, 4},                      // backward: d = tanh(s); g * (1 - d*d)
    {"tanh_use_dst_for_bwd", 1, 3},      //
    {"logistic", 1, 4},                  // backward: d = logistic(s); g * d * (1 - d)
    {"logistic_use_dst_for_bwd", 1, 3},  //
    {"exp", 1, 2},                       // backward: exp(s) * g
    {"exp_use_dst_for_bwd", 1, 1},       //
    {"sqrt", 1, 3},                      // backward: g / (2 * sqrt(s))
    {"sqrt_use_dst_for_bwd", 1, 2},      //
    {"elu", 4, kNone},                   // s > 0 ? s : a * (exp(s) - 1)
    {"elu_use_dst_for_bwd", 4, kNone},   //
    {"square", 1, 2},                    // backward: 2 * s * g
    {"abs", 1, 2},                       // backward: s > 0, times g
    {"linear", 2, 1},                    // a * s + b; backward: a * g
    {"clip", 2, 3},                      // min(max(s, a), b); backward: s > a, s <= b, times g
    {"clip_v2", 2, 3},                   //
    {"clip_v2_use_dst_for_bwd", 2, 3},   //
    {"soft_relu", 5, kNone},             // log(1 + exp(a * s)) / a
    {"logsigmoid", 5, kNone},            // 0 - log(1 + exp(0 - s))
    {"log", 1, 1},                       // backward: g / s
    {"pow", 2, kNone},                   // a * power(s, b)
    {"round", 1, kNone},                 //
    {"gelu_tanh", 9, kNone},             // 0.5 * s * (1 + tanh(c * s * (1 + e * s * s)))
    {"gelu_erf", 5, 11},                 // 0.5 * s * (1 + erf(c * s))
    {"swish", 3, 7},                     // s * logistic(a * s)
    {"mish", 5, kNone},                  // s * tanh(log(1 + exp(s)))
    {"hardswish", 5, kNone},             // s * max(0, min(1, a * s + b))
    {"hardsigmoid", 4, kNone},           // max(0, min(1, a * s + b))
}};

double NumberOr(std::string_view text, double otherwise) {
  const bool negative = text.starts_with('-');
  const auto number = NumberFromZero(negative ? text.substr(1) : text);
  if (!number) return otherwise;
  return negative ? -*number : *number;
}

// Returns source's plus destination's bytes per element. A log may print one tensor for both.
double InAndOut(const Primitive& primitive) {
  const auto* source = primitive.Find("src");
  const auto* destination = primitive.Find("dst");
  const auto* both = primitive.Find("data");
  if (source == nullptr) source = both;
  if (destination == nullptr) destination = source;
  if (source == nullptr) source = destination;
  if (source == nullptr) throw NoClosedForm{"no type of the data is printed"};
  return TypeBytes(*source) + TypeBytes(*destination);
}

// Returns the sources, at least one. Throws NoClosedForm if there is none.
std::vector<const Tensor*> SourcesOf(const Primitive& primitive) {
  std::vector<const Tensor*> sources;
  for (const auto& tensor : primitive.tensors)
    if (tensor.role.starts_with("src")) sources.push_back(&tensor);
  if (sources.empty()) throw NoClosedForm{"no source is printed"};
  return sources;
}

// Returns the work of reading all source images and writing all destination images, without FLOPs.
FormWork ImageWork(const Primitive& primitive, const LetterSizes& sizes) {
  if (!sizes.Has("ic")) throw NoClosedForm{"the problem lacks ic"};
  const double planes = sizes.Or("mb", 1) * sizes.Or("ic", 1);
  FormWork work;
  work.destination = planes * sizes.Image('o');
  work.destination_bytes = ElementBytes(primitive, "dst");
  work.bytes = planes * sizes.Image('i') * ElementBytes(primitive, "src") +
               work.destination * work.destination_bytes;
  return work;
}

// Returns the sizes of the destination to which the sources are broadcast.
std::vector<double> Broadcast(const std::vector<std::vector<double>>& sources) {
  std::vector<double> dims = sources.front();
  for (const auto& source : sources)
    for (std::size_t i = 0; i < std::min(dims.size(), source.size()); ++i)
      dims[i] = std::max(dims[i], source[i]);
  return dims;
}

// Throws NoClosedForm for an unknown binary algorithm. The known ones have 1 FLOP per element.
void CheckBinary(std::string_view algorithm) {
  constexpr std::string_view kKnown[] = {"add", "mul", "max", "min", "div", "sub",   "ge",
                                         "gt",  "le",  "lt",  "eq",  "ne",  "select"};
  if (algorithm.starts_with("binary_")) algorithm.remove_prefix(7);
  if (!algorithm.empty() && std::ranges::find(kKnown, algorithm) == std::end(kKnown))
    throw NoClosedForm{fmt::format("no closed form of the binary '{}'", algorithm)};
}

void AddOperand(std::string_view type, std::string_view mask, FormWork& work) {
  const auto elements = MaskedElements(work, mask);
  const auto bytes = BytesOf(type);
  if (elements && bytes)
    work.bytes += *elements * *bytes;
  else
    work.missing_bytes = Reason{"the operand of a post-op has no printed size"};
}

void AddPostOp(std::string_view text, FormWork& work) {
  const auto words = SplitText(text, ':');
  const auto word = [&](std::size_t i) { return i < words.size() ? words[i] : std::string_view(); };
  const auto name = words[0];
  if (name == "sum") {
    work.elementwise += work.destination * (NumberOr(word(1), 1) == 1 ? 1 : 2);
    work.bytes += work.destination * work.destination_bytes;
  } else if (name.starts_with("eltwise_")) {
    work.elementwise += work.destination * EltwiseFlops(name, NumberOr(word(1), 0), false);
    if (NumberOr(word(3), 1) != 1) work.elementwise += work.destination;
  } else if (name.starts_with("binary_")) {
    CheckBinary(name);
    work.elementwise += work.destination;
    AddOperand(word(1), word(2), work);
  } else {
    throw NoClosedForm{fmt::format("no closed form of the post-op '{}'", name)};
  }
}

// Returns the number of scales and zero points [1]. A reorder applies each to every element.
double Quantizations(std::string_view attributes) {
  double count = 0;
  for (const auto word : SplitText(attributes, ' '))
    for (const std::string_view key :
         {"attr-scales:", "attr-zero-points:", "attr-oscale:", "attr-zero_points:"})
      if (word.starts_with(key)) count += 1 + static_cast<double>(std::ranges::count(word, '+'));
  return count;
}

}  // namespace

std::optional<double> MaskedElements(const FormWork& work, std::string_view mask) {
  const auto bits = NumberFromZero(mask);
  if (!bits || *bits != std::floor(*bits) || work.destination_dims.empty() ||
      *bits >= std::exp2(work.destination_dims.size()))
    return std::nullopt;
  double elements = 1;
  for (std::size_t i = 0; i < work.destination_dims.size(); ++i)
    if ((static_cast<std::uint64_t>(*bits) >> i & 1) != 0) elements *= work.destination_dims[i];
  return elements;
}

double EltwiseFlops(std::string_view algorithm, double alpha, bool backward) {
  if (algorithm.starts_with("eltwise_")) algorithm.remove_prefix(8);
  const auto* form = std::ranges::find(kEltwise, algorithm, &EltwiseForm::name);
  const auto flops = form == kEltwise.end() ? std::nullopt
                     : backward             ? form->backward
                                            : form->forward;
  if (!flops) throw NoClosedForm{fmt::format("no formula of the eltwise '{}'", algorithm)};
  // Counts the multiplication of values below 0 by a leaky relu.
  const bool leaky = algorithm.starts_with("relu") && alpha != 0 && !backward;
  return *flops + (leaky ? 1 : 0);
}

FormWork EltwiseWork(const Primitive& primitive) {
  const auto dims = DimsOf(primitive).front();
  auto work = WorkOn(dims);
  const double both = InAndOut(primitive);
  work.destination_bytes = both / 2;
  const auto& auxiliary = primitive.text.auxiliary;
  work.elementwise = work.destination * EltwiseFlops(WordOf(auxiliary, "alg"),
                                                     NumberOr(WordOf(auxiliary, "alpha"), 0),
                                                     primitive.IsBackward());
  // Backward reads the data and the destination's gradient, and writes the source's gradient.
  work.bytes = work.destination * (primitive.IsBackward() ? both * 1.5 : both);
  return work;
}

FormWork BinaryWork(const Primitive& primitive) {
  const auto dims = DimsOf(primitive);
  CheckBinary(WordOf(primitive.text.auxiliary, "alg"));
  auto work = WorkOn(Broadcast(dims));
  work.destination_bytes = ElementBytes(primitive, "dst");
  work.elementwise = work.destination;
  work.bytes = work.destination * work.destination_bytes;
  // If two sources have the same sizes, the log prints them once.
  for (std::size_t source = 0; const auto* tensor : SourcesOf(primitive))
    work.bytes += TypeBytes(*tensor) * ProductOf(dims[std::min(source++, dims.size() - 1)]);
  return work;
}

FormWork SumWork(const Primitive& primitive) {
  const auto dims = DimsOf(primitive);
  auto work = WorkOn(dims.front());
  work.destination_bytes = ElementBytes(primitive, "dst");
  const auto sources = SourcesOf(primitive);
  work.bytes = work.destination * work.destination_bytes;
  for (const auto* tensor : sources) work.bytes += work.destination * TypeBytes(*tensor);
  // Ignores the sum's scales, which the log does not print.
  work.elementwise = work.destination * static_cast<double>(sources.size() - 1);
  return work;
}

// FLOPs of reductions: sum, max, min and mul have an operation per element except the first; mean
// also has a division; norms also have a power (or |s|) per element, an epsilon and a root.
FormWork ReductionWork(const Primitive& primitive) {
  const auto dims = DimsOf(primitive);
  if (dims.size() < 2) throw NoClosedForm{"the problem lacks the destination's sizes"};
  const double in = ProductOf(dims[0]);
  auto work = WorkOn(dims[1]);
  work.destination_bytes = ElementBytes(primitive, "dst");
  const auto algorithm = WordOf(primitive.text.auxiliary, "alg");
  work.elementwise = in - work.destination;
  if (algorithm == "reduction_mean") work.elementwise += work.destination;
  if (algorithm.starts_with("reduction_norm_lp")) {
    work.elementwise += in + work.destination;
    if (algorithm.find("power_p") == std::string_view::npos) work.elementwise += work.destination;
  }
  work.bytes = in * ElementBytes(primitive, "src") + work.destination * work.destination_bytes;
  return work;
}

// FLOPs of pooling with K taps: a maximum has K - 1 comparisons, an average K - 1 additions and a
// division. Backward: the gradient of a maximum is added at its position; the gradient of an
// average is divided and added at K positions.
FormWork PoolingWork(const Primitive& primitive) {
  const auto sizes = SizesOf(primitive);
  const double taps = sizes.Image('k');
  auto work = ImageWork(primitive, sizes);
  const bool maximum = WordOf(primitive.text.auxiliary, "alg") == "pooling_max";
  const double forward = maximum ? taps - 1 : taps;
  const double backward = maximum ? 1 : taps + 1;
  work.elementwise = work.destination * (primitive.IsBackward() ? backward : forward);
  return work;
}

CallWork WorkOfPostOps(const std::vector<std::string>& post_ops, double elements,
                       double element_bytes) {
  FormWork work{.destination = elements, .destination_bytes = element_bytes};
  for (const auto& text : post_ops) AddPostOp(text, work);
  if (work.missing_bytes) throw NoClosedForm{work.missing_bytes->text};
  return {.elementwise = work.elementwise, .bytes = work.bytes};
}

void AddPostOps(const Primitive& primitive, FormWork& work) {
  for (const auto text : PostOpsOf(primitive.text.attributes)) AddPostOp(text, work);
}

FormWork ReorderWork(const Primitive& primitive) {
  const auto dims = DimsOf(primitive).front();
  const auto* source = primitive.Find("src");
  const auto* destination = primitive.Find("dst");
  if (source == nullptr || destination == nullptr)
    throw NoClosedForm{"no types of source and destination are printed"};
  auto work = WorkOn(dims);
  work.destination_bytes = TypeBytes(*destination);
  work.elementwise = work.destination * Quantizations(primitive.text.attributes);
  work.bytes = work.destination * (TypeBytes(*source) + work.destination_bytes);
  return work;
}

// A problem such as "8x32x56x56:8x32x56x56 8x64x56x56" has the sources' sizes and, in some versions
// of oneDNN, the destination's sizes after a blank.
FormWork ConcatWork(const Primitive& primitive) {
  const std::string_view problem = primitive.text.problem;
  const auto dims = ReadDimsList(problem.substr(0, problem.find(' ')));
  if (!dims) throw NoClosedForm{"the problem has another form than sizes with x between them"};
  const auto sources = SourcesOf(primitive);
  if (sources.size() > dims->size()) throw NoClosedForm{"the problem lacks a source's sizes"};
  FormWork work;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    work.destination += ProductOf((*dims)[i]);
    work.bytes += ProductOf((*dims)[i]) * TypeBytes(*sources[i]);
  }
  work.destination_bytes = ElementBytes(primitive, "dst");
  work.bytes += work.destination * work.destination_bytes;
  return work;
}

}  // namespace dlroof::logs
