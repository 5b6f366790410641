#include "bench/conv2d/case.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "bench/workload/library_rules.h"
#include "counters/base/error.h"
#include "counters/delta/prediction.h"

namespace dlroof::conv2d {

Conv3dProblem VolumeOf(const Conv2dProblem& p) {
  return {p.n,
          p.c,
          p.k,
          p.groups,
          {VolumeAxis(),
           {p.h, p.r, p.stride_h, p.dilation_h, p.pad_top, p.pad_bottom},
           {p.w, p.s, p.stride_w, p.dilation_w, p.pad_left, p.pad_right}}};
}

Conv2dProblem ImageOf(const Conv3dProblem& p) {
  const auto& [frame, h, w] = p.axes;
  return {.n = p.n,
          .c = p.c,
          .h = h.size,
          .w = w.size,
          .k = p.k,
          .r = h.filter,
          .s = w.filter,
          .stride_h = h.stride,
          .stride_w = w.stride,
          .pad_top = h.pad_before,
          .pad_bottom = h.pad_after,
          .pad_left = w.pad_before,
          .pad_right = w.pad_after,
          .dilation_h = h.dilation,
          .dilation_w = w.dilation,
          .groups = p.groups};
}

std::string ToText(const Conv2dProblem& p) { return ImageText(VolumeOf(p)); }

Conv2dProblem ParseConv2d(std::string_view text, int column_offset) {
  return ImageOf(ParseImage(text, column_offset));
}

int64_t Flops(const Conv2dProblem& p) { return Flops(VolumeOf(p)); }
int64_t DenseFlops(const Conv2dProblem& p) { return DenseFlops(VolumeOf(p)); }

workload::ProductSizes SizesOf(const Conv2dProblem& p) { return SizesOf(VolumeOf(p), ToText(p)); }

namespace {

// Returns `size` rounded up to a multiple of `lanes`, divided by `size` [1].
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

Conv2dCase ReadConv2dCase(const workload::BenchmarkName& name,
                          const workload::ProductCapabilities& capabilities) {
  auto conv = workload::ReadProductCase<Conv2dCase>(name, capabilities, ParseConv2d);
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
            "another layout (dlroof tune)"}},
          ProductFlopsOf<ParseConv2d>},
     .flop_convention = "2 per multiply-add of a filter tap inside the image, in every direction, "
                        "as benchdnn counts; each bias add, relu and add to the bias gradient 1, "
                        "apart",
     .benchdnn = {&kConvDriver},
     .directions = {"fwd", "bwd_data", "bwd_weights"},
     .templates = "Conv2D/cpu/onednn/fwd/{f32,bf16,int8}/*\n"
                  "Conv2D/cpu/onednn/{bwd_data,bwd_weights}/{f32,bf16}/*\n",
     .with_batch = workload::WithBatch("n", ParseConv2d),
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
// search for e.g. " titan " finds only the whole word.
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
      work.bytes.erase(Level::kL1);  // L1 counters include shared memory
      how = delta::HowModelled(prediction, spec);
    } catch (const BadInput& error) {
      how = fmt::format("the DeLTA-style model does not cover it: {}", error.what());
    }
    return work;
  };
}

}  // namespace dlroof::conv2d
