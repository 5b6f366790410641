#include <algorithm>
#include <cctype>
#include <vector>

#include "bench/conv2d/case.h"
#include "counters/base/error.h"
#include "counters/delta/gpu_spec.h"
#include "counters/delta/prediction.h"

namespace dlroof::conv2d {
namespace {

bool Has(const std::vector<std::string>& options, std::string_view option) {
  return std::ranges::count(options, option) > 0;
}

// Returns " nvidia titan xp " for "NVIDIA TITAN Xp", for finding whole words.
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
