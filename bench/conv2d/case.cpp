#include "bench/conv2d/case.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "bench/workload/library_rules.h"
#include "counters/base/error.h"
#include "counters/delta/prediction.h"

namespace dlroof::conv2d {
namespace {

int64_t PaddedHeight(const Conv2dProblem& p) { return p.h + p.pad_top + p.pad_bottom; }
int64_t PaddedWidth(const Conv2dProblem& p) { return p.w + p.pad_left + p.pad_right; }

// Returns the number of image rows or columns that a filter of `taps` taps spans.
int64_t Extent(int64_t taps, int64_t dilation) { return (taps - 1) * dilation + 1; }

std::string Pair(char letter, int64_t height, int64_t width) {
  if (height == width) return fmt::format("{}{}", letter, height);
  return fmt::format("{}{}x{}", letter, height, width);
}

std::string PaddingText(const Conv2dProblem& p) {
  if (p.pad_top == p.pad_bottom && p.pad_left == p.pad_right)
    return Pair('p', p.pad_top, p.pad_left);
  return fmt::format("p{}:{}x{}:{}", p.pad_top, p.pad_bottom, p.pad_left, p.pad_right);
}

// Parses the values after the letter in the problem's text: "2" or "2x1".
void ReadPair(workload::TextCursor& cursor, int64_t& height, int64_t& width,
              std::string_view what) {
  height = cursor.Integer(1, what);
  width = cursor.Accept("x") ? cursor.Integer(1, what) : height;
}

// Parses the values after the letter in the problem's text: "1", "1x0" or "0:1x0:1".
void ReadPadding(workload::TextCursor& cursor, Conv2dProblem& p) {
  p.pad_top = p.pad_bottom = p.pad_left = p.pad_right = cursor.Integer(0, "padding");
  if (cursor.Accept(":")) {
    p.pad_bottom = cursor.Integer(0, "bottom padding");
    cursor.Expect("x");
    p.pad_left = cursor.Integer(0, "left padding");
    cursor.Expect(":");
    p.pad_right = cursor.Integer(0, "right padding");
  } else if (cursor.Accept("x")) {
    p.pad_left = p.pad_right = cursor.Integer(0, "horizontal padding");
  }
}

// Parses a problem in any spelling; the caller compares with the canonical one.
Conv2dProblem ReadLetters(workload::TextCursor& cursor) {
  Conv2dProblem p;
  cursor.Sizes(
      {{"n", p.n}, {"c", p.c}, {"h", p.h}, {"w", p.w}, {"k", p.k}, {"r", p.r}, {"s", p.s}});
  if (cursor.AtEnd()) return p;
  cursor.Expect("_");
  bool any = false;
  if (cursor.Accept("s")) any = true, ReadPair(cursor, p.stride_h, p.stride_w, "a stride");
  if (cursor.Accept("p")) any = true, ReadPadding(cursor, p);
  if (cursor.Accept("d")) any = true, ReadPair(cursor, p.dilation_h, p.dilation_w, "a dilation");
  if (cursor.Accept("g")) any = true, p.groups = cursor.Integer(1, "a number of groups");
  if (!cursor.AtEnd() || !any)
    cursor.Refuse(any ? "the end, or a later letter in the order s p d g" : "one of s p d g");
  return p;
}

void CheckFits(int64_t taps, int64_t dilation, int64_t padded, std::string_view what) {
  if (Extent(taps, dilation) > padded)
    throw BadInput("the filter spans {} {} but the padded image has {}", Extent(taps, dilation),
                   what, padded);
}

// Throws BadInput (without a column) for an invalid shape.
void CheckShape(const Conv2dProblem& p) {
  CheckFits(p.r, p.dilation_h, PaddedHeight(p), "rows");
  CheckFits(p.s, p.dilation_w, PaddedWidth(p), "columns");
  if (p.c % p.groups != 0)
    throw BadInput("{} channels do not divide into {} groups", p.c, p.groups);
  if (p.k % p.groups != 0) throw BadInput("{} filters do not divide into {} groups", p.k, p.groups);
  // Size of the widest type, so that no type overflows.
  constexpr int64_t kBytes = 8;
  workload::CheckedCount({kBytes, p.n, p.c, PaddedHeight(p), PaddedWidth(p)},
                         "the source's size in byte");
  const auto weights =
      workload::CheckedCount({kBytes, p.k, p.c / p.groups, p.r, p.s}, "the weights' size in byte");
  const auto destination =
      workload::CheckedCount({kBytes, p.n, p.k, delta::OutputRows(p), delta::OutputColumns(p)},
                             "the destination's size in byte");
  int64_t total = workload::CheckedCount({kBytes, p.n, p.c, p.h, p.w}, "the source's size in byte");
  if (__builtin_add_overflow(total, weights, &total) ||
      __builtin_add_overflow(total, destination, &total))
    throw BadInput("the tensors' size in byte overflows 64 bits");
  workload::CheckedCount(
      {2, p.n, p.k, delta::OutputRows(p), delta::OutputColumns(p), p.c / p.groups, p.r, p.s},
      "the number of FLOPs");
}

}  // namespace

void RequireCanonical(std::string_view canonical, std::string_view text, int column_offset) {
  if (canonical == text) return;
  const auto* const differs =
      std::mismatch(canonical.begin(), canonical.end(), text.begin(), text.end()).second;
  throw BadInput({.column = column_offset + static_cast<int>(differs - text.begin()) + 1},
                 "write this problem as {} (without defaults and repeated values)", canonical);
}

int64_t SourceCount(const Conv2dProblem& p) { return p.n * p.c * p.h * p.w; }
int64_t WeightsCount(const Conv2dProblem& p) { return p.k * (p.c / p.groups) * p.r * p.s; }
int64_t DestinationCount(const Conv2dProblem& p) {
  return p.n * p.k * delta::OutputRows(p) * delta::OutputColumns(p);
}

std::string ToText(const Conv2dProblem& p) {
  std::string options;
  if (p.stride_h != 1 || p.stride_w != 1) options += Pair('s', p.stride_h, p.stride_w);
  if (p.pad_top != 0 || p.pad_bottom != 0 || p.pad_left != 0 || p.pad_right != 0)
    options += PaddingText(p);
  if (p.dilation_h != 1 || p.dilation_w != 1) options += Pair('d', p.dilation_h, p.dilation_w);
  if (p.groups != 1) options += fmt::format("g{}", p.groups);
  return fmt::format("n{}c{}h{}w{}k{}r{}s{}{}{}", p.n, p.c, p.h, p.w, p.k, p.r, p.s,
                     options.empty() ? "" : "_", options);
}

Conv2dProblem ParseConv2d(std::string_view text, int column_offset) {
  workload::TextCursor cursor(text, column_offset);
  const auto problem = ReadLetters(cursor);
  RequireCanonical(ToText(problem), text, column_offset);
  try {
    CheckShape(problem);
  } catch (const BadInput& error) {
    throw BadInput({.column = column_offset + 1}, error.text);
  }
  return problem;
}

int64_t Flops(const Conv2dProblem& p) { return 2 * delta::MultiplyAdds(p); }

int64_t DenseFlops(const Conv2dProblem& p) { return 2 * delta::DenseMultiplyAdds(p); }

int64_t TapsPerOutput(const Conv2dProblem& p, ProductDirection direction) {
  if (direction == ProductDirection::kForward) return (p.c / p.groups) * p.r * p.s;
  if (direction == ProductDirection::kBackwardWeights)
    return p.n * delta::OutputRows(p) * delta::OutputColumns(p);
  // Without dilation at most one of every stride_h taps reads a given source row.
  const bool dense = p.dilation_h == 1 && p.dilation_w == 1;
  const int64_t rows = dense ? (p.r + p.stride_h - 1) / p.stride_h : p.r;
  const int64_t columns = dense ? (p.s + p.stride_w - 1) / p.stride_w : p.s;
  return (p.k / p.groups) * rows * columns;
}

namespace {

// Returns `size` rounded up to whole vectors, divided by `size` [1].
double Padding(int64_t size, int64_t lanes) {
  const int64_t padded = (size + lanes - 1) / lanes * lanes;
  return static_cast<double>(padded) / static_cast<double>(size);
}

}  // namespace

std::optional<double> ExecutedOverUseful(const Conv2dCase& conv, std::string_view implementation,
                                         std::string_view isa) {
  const bool jit = implementation.starts_with("jit");
  const bool tiles = implementation.find("amx") != std::string_view::npos;
  if (tiles || (!jit && !implementation.starts_with("br"))) return std::nullopt;
  const auto& problem = conv.problem;
  const int64_t lanes = workload::VectorLanes(implementation, isa);
  const int64_t filters = problem.k / problem.groups, channels = problem.c / problem.groups;
  if (problem.groups > 1 && filters == 1 && channels == 1) return Padding(problem.groups, lanes);
  const bool of_data = conv.direction == ProductDirection::kBackwardData;
  const int64_t made = of_data ? channels : filters, summed = of_data ? filters : channels;
  const bool pads_sum = jit && summed >= lanes;
  return Padding(made, lanes) * (pads_sum ? Padding(summed, lanes) : 1);
}

void CheckVariant(const workload::BenchmarkName& name, const workload::ProductCase& conv) {
  if (conv.direction != ProductDirection::kForward)
    workload::RefuseOption(name, "training", "applies to fwd: backward passes always train");
  if (conv.direction == ProductDirection::kBackwardData)
    workload::RefuseOption(name, "bias",
                           "belongs to fwd and bwd_weights: the data gradient does not read it");
}

workload::ProductSizes SizesOf(const Conv2dCase& conv) {
  const auto& p = conv.problem;
  return {ToText(p),
          SourceCount(p),
          WeightsCount(p),
          DestinationCount(p),
          p.k,
          TapsPerOutput(p, ProductDirection::kForward),
          Flops(p)};
}

Conv2dCase ReadConv2dCase(const workload::BenchmarkName& name,
                          const workload::ProductCapabilities& capabilities) {
  Conv2dCase conv;
  workload::ReadProductCase(
      name, capabilities, [&](int column) { conv.problem = ParseConv2d(name.problem, column); },
      conv);
  if (workload::HasOption(name, "nchw")) conv.layout = Conv2dLayout::kNchw;
  if (workload::HasOption(name, "nhwc")) conv.layout = Conv2dLayout::kNhwc;
  if (workload::HasOption(name, "auto")) conv.algorithm = Conv2dAlgorithm::kAuto;
  if (workload::HasOption(name, "winograd")) conv.algorithm = Conv2dAlgorithm::kWinograd;
  CheckVariant(name, conv);
  return conv;
}

Conv2dCase ReadOnednnConv2dCase(const workload::BenchmarkName& name) {
  return ReadConv2dCase(name, {{"f32", "bf16", "f16", "int8"},
                               true,
                               {{"training"},
                                {"bias"},
                                {"relu"},
                                {"scales"},
                                {"nchw", "nhwc"},
                                {"auto", "winograd"},
                                workload::FpmathOptions()}});
}

namespace {

[[maybe_unused]] const bool op_registered = workload::RegisterOp(
    {.name = "Conv2D",
     .words =
         {"convolution",
          {{"batch", "n"},
           {"filters", "k"},
           {"channels", "c"},
           {"image", "h", "w _p"},
           {"kernel", "r", "s _p"},
           {"stride", "_s", "_p"},
           {"groups", "_g"}},
          {{"gpu", "_p", ":", "padded", "its padding differs at the two ends",
            "add the padding by a copy first, as frameworks do; untried: option padded, best or "
            "another layout (dlroof explain --try)"}},
          ProductFlopsOf<ParseConv2d>},
     .flop_convention = "2 per multiply-add of a filter tap inside the image, in every direction, "
                        "as benchdnn counts; each bias add, relu and add to the bias gradient 1, "
                        "apart",
     .benchdnn = {&kConvDriver},
     .directions = {"fwd", "bwd_data", "bwd_weights"},
     .templates = "Conv2D/cpu/onednn/fwd/{f32,bf16,int8}/*\n"
                  "Conv2D/cpu/onednn/{bwd_data,bwd_weights}/{f32,bf16}/*\n",
     .with_batch = WithBatch<ParseConv2d>,
     .variants = {{"layout", {"nchw", "nhwc"}, "source and destination in this layout"},
                  {"algorithm",
                   {"auto", "winograd", "best"},
                   "fewer multiplications, or a better fit"},
                  {"padding", {"padded"}, "no engine has to handle the padding"}},
     .gpu_traffic = DeltaModel});

workload::Workload Read(const workload::BenchmarkName& name) {
  return {.repro = ConvBenchdnn(ReadOnednnConv2dCase(name))};
}

[[maybe_unused]] const bool on_onednn =
    workload::RegisterBackend({"Conv2D", "cpu", "onednn", Read, "oneDNN 3.2 or newer"});

bool Has(const std::vector<std::string>& options, std::string_view option) {
  return std::ranges::count(options, option) > 0;
}

// Returns the name in small letters with a blank before, between and after its words, so that a
// search for " titan " finds the whole word only.
std::string Words(const std::string& name) {
  std::string words(1, ' ');
  for (const char c : name)
    words += std::isalnum(static_cast<unsigned char>(c)) != 0
                 ? static_cast<char>(std::tolower(static_cast<unsigned char>(c)))
                 : ' ';
  return words + ' ';
}

}  // namespace

delta::TensorLayout GpuLayout(const std::string& library, const std::vector<std::string>& options) {
  const bool channels_last = library == "cudnn" ? !Has(options, "nchw") : Has(options, "nhwc");
  return channels_last ? delta::TensorLayout::kNhwc : delta::TensorLayout::kNchw;
}

std::optional<std::string> BuiltInGpuOf(const std::string& name) {
  const auto words = Words(name);
  for (const auto& gpu : delta::BuiltInGpus())
    if (words.find(Words(std::string(gpu.name))) != std::string::npos) return std::string(gpu.name);
  return std::nullopt;
}

std::function<Work(std::string& how)> DeltaModel(const workload::BenchmarkName& name,
                                                 const std::string& algorithm,
                                                 const std::string& gpu) {
  const auto known = BuiltInGpuOf(gpu);
  const auto direction = ProductDirectionFromKey(name.direction);
  if (!known || !direction || workload::HasOption(name, "padded")) return {};
  delta::ConvQuestion question{.type = name.type, .kernel = algorithm, .known_kernel_only = true};
  return [question, known = *known, problem = name.problem, way = *direction,
          layout = GpuLayout(name.library, name.options)](std::string& how) {
    delta::ConvQuestion layer_question = question;
    Work work;
    try {
      layer_question.layer = {ParseConv2d(problem), way, layout, 4};
      const auto spec = delta::FindGpu(known);
      const auto prediction = delta::PredictConv(layer_question, spec);
      work.bytes = delta::KnownBytes(prediction);
      work.bytes.erase(Level::kL1);  // measured L1 bytes include shared memory's
      how = delta::HowModelled(prediction, spec);
    } catch (const BadInput& error) {
      how = fmt::format("the DeLTA-style model does not cover it: {}", error.what());
    }
    return work;
  };
}

}  // namespace dlroof::conv2d
