// The half of CUPTI that works without a GPU: names to configurations, values out of images.

#include "counters/cuda/cupti_calls.h"

namespace dlroof::cuda {

void CheckCupti(CUptiResult result, const char* call) {
  if (result == CUPTI_SUCCESS) return;
  const char *name = nullptr, *words = nullptr;
  cuptiGetResultString(result, &name);
  cuptiGetErrorMessage(result, &words);
  throw cupti::CuptiError({cupti::CudaLibrary::kCupti, static_cast<int>(result), call,
                    name != nullptr ? name : "an unknown code", words != nullptr ? words : "", ""});
}

std::vector<const char*> Pointers(const std::vector<std::string>& texts) {
  std::vector<const char*> pointers;
  pointers.reserve(texts.size());
  for (const auto& text : texts) pointers.push_back(text.c_str());
  return pointers;
}

std::string CuptiCalls::Version() {
  uint32_t version = 0;
  DLROOF_CUPTI(cuptiGetVersion, version);
  return std::to_string(version);
}

void CuptiCalls::OpenHost(const std::string& chip, const cupti::CuptiImage& availability) {
  auto params = DLROOF_CUPTI_PARAMS(CUpti_Profiler_Host_Initialize);
  params.profilerType = CUPTI_PROFILER_TYPE_RANGE_PROFILER;
  params.pChipName = chip.c_str();
  params.pCounterAvailabilityImage = availability.empty() ? nullptr : availability.data();
  DLROOF_CUPTI(cuptiProfilerHostInitialize, params);
  host_ = params.pHostObject;
}

bool CuptiCalls::AddMetrics(const std::vector<std::string>& metrics) {
  auto names = Pointers(metrics);
  auto params = DLROOF_CUPTI_PARAMS(CUpti_Profiler_Host_ConfigAddMetrics);
  params.pHostObject = host_;
  params.ppMetricNames = names.data();
  params.numMetrics = names.size();
  const auto result = cuptiProfilerHostConfigAddMetrics(&params);
  // An unknown name comes back as an invalid parameter, names that cannot go together as not
  // supported.
  for (const auto refusal :
       {CUPTI_ERROR_INVALID_PARAMETER, CUPTI_ERROR_INVALID_METRIC_NAME, CUPTI_ERROR_NOT_SUPPORTED})
    if (result == refusal) return false;
  CheckCupti(result, "cuptiProfilerHostConfigAddMetrics");
  return true;
}

cupti::CuptiImage CuptiCalls::Config() {
  auto size = DLROOF_CUPTI_PARAMS(CUpti_Profiler_Host_GetConfigImageSize);
  size.pHostObject = host_;
  DLROOF_CUPTI(cuptiProfilerHostGetConfigImageSize, size);
  cupti::CuptiImage image(size.configImageSize);
  auto params = DLROOF_CUPTI_PARAMS(CUpti_Profiler_Host_GetConfigImage);
  params.pHostObject = host_;
  params.pConfigImage = image.data();
  params.configImageSize = image.size();
  DLROOF_CUPTI(cuptiProfilerHostGetConfigImage, params);
  return image;
}

int CuptiCalls::Passes(const cupti::CuptiImage& config) {
  auto image = config;
  auto params = DLROOF_CUPTI_PARAMS(CUpti_Profiler_Host_GetNumOfPasses);
  params.pConfigImage = image.data();
  params.configImageSize = image.size();
  DLROOF_CUPTI(cuptiProfilerHostGetNumOfPasses, params);
  return static_cast<int>(params.numOfPasses);
}

std::vector<double> CuptiCalls::Values(const cupti::CuptiImage& counters,
                                       const std::vector<std::string>& metrics) {
  auto names = Pointers(metrics);
  std::vector<double> values(metrics.size());
  auto params = DLROOF_CUPTI_PARAMS(CUpti_Profiler_Host_EvaluateToGpuValues);
  params.pHostObject = host_;
  params.pCounterDataImage = counters.data();
  params.counterDataImageSize = counters.size();
  params.rangeIndex = 0;
  params.ppMetricNames = names.data();
  params.numMetrics = names.size();
  params.pMetricValues = values.data();
  DLROOF_CUPTI(cuptiProfilerHostEvaluateToGpuValues, params);
  return values;
}

void CuptiCalls::CloseHost() noexcept {
  auto params = DLROOF_CUPTI_PARAMS(CUpti_Profiler_Host_Deinitialize);
  params.pHostObject = host_;
  cuptiProfilerHostDeinitialize(&params);
  host_ = nullptr;
}

}  // namespace dlroof::cuda
