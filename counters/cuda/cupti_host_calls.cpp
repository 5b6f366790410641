// The half of CUPTI that works without a GPU: names to configurations, values out of images.

#include "counters/cuda/cupti_calls.h"

namespace dlroof {

void CheckCupti(CUptiResult result, const char* call) {
  if (result == CUPTI_SUCCESS) return;
  const char *name = nullptr, *words = nullptr;
  cuptiGetResultString(result, &name);
  cuptiGetErrorMessage(result, &words);
  throw CuptiError({CudaLibrary::kCupti, static_cast<int>(result), call,
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
  CheckCupti(cuptiGetVersion(&version), "cuptiGetVersion");
  return std::to_string(version);
}

void CuptiCalls::OpenHost(const std::string& chip, const CuptiImage& availability) {
  CUpti_Profiler_Host_Initialize_Params params = {};
  params.structSize = CUpti_Profiler_Host_Initialize_Params_STRUCT_SIZE;
  params.profilerType = CUPTI_PROFILER_TYPE_RANGE_PROFILER;
  params.pChipName = chip.c_str();
  params.pCounterAvailabilityImage = availability.empty() ? nullptr : availability.data();
  CheckCupti(cuptiProfilerHostInitialize(&params), "cuptiProfilerHostInitialize");
  host_ = params.pHostObject;
}

bool CuptiCalls::AddMetrics(const std::vector<std::string>& metrics) {
  auto names = Pointers(metrics);
  CUpti_Profiler_Host_ConfigAddMetrics_Params params = {};
  params.structSize = CUpti_Profiler_Host_ConfigAddMetrics_Params_STRUCT_SIZE;
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

CuptiImage CuptiCalls::Config() {
  CUpti_Profiler_Host_GetConfigImageSize_Params size = {};
  size.structSize = CUpti_Profiler_Host_GetConfigImageSize_Params_STRUCT_SIZE;
  size.pHostObject = host_;
  CheckCupti(cuptiProfilerHostGetConfigImageSize(&size), "cuptiProfilerHostGetConfigImageSize");
  CuptiImage image(size.configImageSize);
  CUpti_Profiler_Host_GetConfigImage_Params params = {};
  params.structSize = CUpti_Profiler_Host_GetConfigImage_Params_STRUCT_SIZE;
  params.pHostObject = host_;
  params.pConfigImage = image.data();
  params.configImageSize = image.size();
  CheckCupti(cuptiProfilerHostGetConfigImage(&params), "cuptiProfilerHostGetConfigImage");
  return image;
}

int CuptiCalls::Passes(const CuptiImage& config) {
  auto image = config;
  CUpti_Profiler_Host_GetNumOfPasses_Params params = {};
  params.structSize = CUpti_Profiler_Host_GetNumOfPasses_Params_STRUCT_SIZE;
  params.pConfigImage = image.data();
  params.configImageSize = image.size();
  CheckCupti(cuptiProfilerHostGetNumOfPasses(&params), "cuptiProfilerHostGetNumOfPasses");
  return static_cast<int>(params.numOfPasses);
}

std::vector<double> CuptiCalls::Values(const CuptiImage& counters,
                                       const std::vector<std::string>& metrics) {
  auto names = Pointers(metrics);
  std::vector<double> values(metrics.size());
  CUpti_Profiler_Host_EvaluateToGpuValues_Params params = {};
  params.structSize = CUpti_Profiler_Host_EvaluateToGpuValues_Params_STRUCT_SIZE;
  params.pHostObject = host_;
  params.pCounterDataImage = counters.data();
  params.counterDataImageSize = counters.size();
  params.rangeIndex = 0;
  params.ppMetricNames = names.data();
  params.numMetrics = names.size();
  params.pMetricValues = values.data();
  CheckCupti(cuptiProfilerHostEvaluateToGpuValues(&params), "cuptiProfilerHostEvaluateToGpuValues");
  return values;
}

void CuptiCalls::CloseHost() noexcept {
  CUpti_Profiler_Host_Deinitialize_Params params = {};
  params.structSize = CUpti_Profiler_Host_Deinitialize_Params_STRUCT_SIZE;
  params.pHostObject = host_;
  cuptiProfilerHostDeinitialize(&params);
  host_ = nullptr;
}

}  // namespace dlroof
