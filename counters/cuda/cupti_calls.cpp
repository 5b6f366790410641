#include "counters/cuda/cupti_calls.h"

#include <cuda_runtime_api.h>
#include <cupti_profiler_target.h>
#include <cupti_target.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <utility>

#include "counters/base/keys.h"

// --- Functions that need a GPU. Without a driver some of them crash: call DeviceCount() first, and
// the others only if it returns at least 1. ---

namespace dlroof::cuda {
namespace {

// Only one range is counted; the others are a reserve for CUPTI's internal use.
constexpr size_t kRanges = 4;

void CheckRuntime(cudaError_t status, const char* call) {
  if (status == cudaSuccess) return;
  gpu::CudaFailure failure{gpu::CudaLibrary::kRuntime, static_cast<int>(status), call,
                           cudaGetErrorName(status), cudaGetErrorString(status)};
  cudaDriverGetVersion(&failure.driver_version);
  cudaRuntimeGetVersion(&failure.runtime_version);
  throw gpu::CuptiError(std::move(failure));
}

// Returns the current context. Gets the driver's function through the runtime, because a program
// that is linked with libcuda does not start without a driver.
CUcontext CurrentContext() {
  void* address = nullptr;
  auto answer = cudaDriverEntryPointSymbolNotFound;
  constexpr unsigned kVersion = 12000;
  CheckRuntime(cudaGetDriverEntryPointByVersion("cuCtxGetCurrent", &address, kVersion,
                                                cudaEnableDefault, &answer),
               "cudaGetDriverEntryPointByVersion");
  CUcontext context = nullptr;
  const auto get = reinterpret_cast<CUresult (*)(CUcontext*)>(address);
  const auto result = get == nullptr ? CUDA_ERROR_NOT_FOUND : get(&context);
  if (result != CUDA_SUCCESS || context == nullptr)
    throw gpu::CuptiError({gpu::CudaLibrary::kDriver, static_cast<int>(result), "cuCtxGetCurrent",
                           "no current context", ""});
  return context;
}

// Requests device-wide counters (DRAM, PCIe); newer releases of CUPTI omit them otherwise.
template <class Params>
void AskForDeviceCounters(Params& params) {
  if constexpr (requires { params.bAllowDeviceLevelCounters; })
    params.bAllowDeviceLevelCounters = 1;
}

void NoCallback(void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) {}

}  // namespace

int CuptiCalls::DeviceCount() {
  int devices = 0;
  CheckRuntime(cudaGetDeviceCount(&devices), "cudaGetDeviceCount");
  return devices;
}

void CuptiCalls::OpenDevice(int device) {
  CheckRuntime(cudaSetDevice(device), "cudaSetDevice");
  CheckRuntime(cudaFree(nullptr), "cudaFree");
  context_ = CurrentContext();
}

void CuptiCalls::StartProfiler() {
  auto params = DLROOF_CUPTI_PARAMS(CUpti_Profiler_Initialize);
  DLROOF_CUPTI(cuptiProfilerInitialize, params);
}

bool CuptiCalls::Supports(int device) {
  auto params = DLROOF_CUPTI_PARAMS(CUpti_Profiler_DeviceSupported);
  params.cuDevice = device;
  params.api = CUPTI_PROFILER_RANGE_PROFILING;
  DLROOF_CUPTI(cuptiProfilerDeviceSupported, params);
  return params.isSupported != CUPTI_PROFILER_CONFIGURATION_UNSUPPORTED &&
         params.isSupported != CUPTI_PROFILER_CONFIGURATION_DISABLED;
}

std::string CuptiCalls::ChipName(int device) {
  auto params = DLROOF_CUPTI_PARAMS(CUpti_Device_GetChipName);
  params.deviceIndex = static_cast<size_t>(device);
  DLROOF_CUPTI(cuptiDeviceGetChipName, params);
  return params.pChipName;
}

gpu::CuptiImage CuptiCalls::CounterAvailability() {
  auto params = DLROOF_CUPTI_PARAMS(CUpti_Profiler_GetCounterAvailability);
  params.ctx = context_;
  AskForDeviceCounters(params);
  DLROOF_CUPTI(cuptiProfilerGetCounterAvailability, params);
  gpu::CuptiImage image(params.counterAvailabilityImageSize);
  params.pCounterAvailabilityImage = image.data();
  DLROOF_CUPTI(cuptiProfilerGetCounterAvailability, params);
  return image;
}

void CuptiCalls::Subscribe() {
  CheckCupti(cuptiSubscribe(&subscriber_, NoCallback, nullptr), "cuptiSubscribe");
}

void CuptiCalls::Unsubscribe() noexcept {
  cuptiUnsubscribe(subscriber_);
  subscriber_ = nullptr;
}

void CuptiCalls::EnableRanges() {
  auto params = DLROOF_CUPTI_PARAMS(CUpti_RangeProfiler_Enable);
  params.ctx = context_;
  DLROOF_CUPTI(cuptiRangeProfilerEnable, params);
  ranges_ = params.pRangeProfilerObject;
}

gpu::CuptiImage CuptiCalls::CounterImage(const std::vector<std::string>& metrics) {
  auto names = Pointers(metrics);
  auto size = DLROOF_CUPTI_PARAMS(CUpti_RangeProfiler_GetCounterDataSize);
  size.pRangeProfilerObject = ranges_;
  size.pMetricNames = names.data();
  size.numMetrics = names.size();
  size.maxNumOfRanges = kRanges;
  size.maxNumRangeTreeNodes = kRanges;
  DLROOF_CUPTI(cuptiRangeProfilerGetCounterDataSize, size);
  gpu::CuptiImage image(size.counterDataSize);
  auto params = DLROOF_CUPTI_PARAMS(CUpti_RangeProfiler_CounterDataImage_Initialize);
  params.pRangeProfilerObject = ranges_;
  params.pCounterData = image.data();
  params.counterDataSize = image.size();
  DLROOF_CUPTI(cuptiRangeProfilerCounterDataImageInitialize, params);
  return image;
}

void CuptiCalls::SetConfig(const gpu::CuptiImage& config, gpu::CuptiImage& counters) {
  auto params = DLROOF_CUPTI_PARAMS(CUpti_RangeProfiler_SetConfig);
  params.pRangeProfilerObject = ranges_;
  params.pConfig = config.data();
  params.configSize = config.size();
  params.pCounterDataImage = counters.data();
  params.counterDataImageSize = counters.size();
  params.range = CUPTI_UserRange;
  params.replayMode = CUPTI_UserReplay;
  params.maxRangesPerPass = kRanges;
  params.numNestingLevels = 1;
  params.minNestingLevel = 1;
  params.targetNestingLevel = 1;
  DLROOF_CUPTI(cuptiRangeProfilerSetConfig, params);
}

void CuptiCalls::StartPass() {
  auto params = DLROOF_CUPTI_PARAMS(CUpti_RangeProfiler_Start);
  params.pRangeProfilerObject = ranges_;
  DLROOF_CUPTI(cuptiRangeProfilerStart, params);
}

void CuptiCalls::PushRange() {
  auto params = DLROOF_CUPTI_PARAMS(CUpti_RangeProfiler_PushRange);
  params.pRangeProfilerObject = ranges_;
  params.pRangeName = "call";
  DLROOF_CUPTI(cuptiRangeProfilerPushRange, params);
}

void CuptiCalls::PopRange() {
  auto params = DLROOF_CUPTI_PARAMS(CUpti_RangeProfiler_PopRange);
  params.pRangeProfilerObject = ranges_;
  DLROOF_CUPTI(cuptiRangeProfilerPopRange, params);
}

bool CuptiCalls::StopPass() {
  auto params = DLROOF_CUPTI_PARAMS(CUpti_RangeProfiler_Stop);
  params.pRangeProfilerObject = ranges_;
  DLROOF_CUPTI(cuptiRangeProfilerStop, params);
  return params.isAllPassSubmitted != 0;
}

size_t CuptiCalls::DecodeCounters() {
  auto params = DLROOF_CUPTI_PARAMS(CUpti_RangeProfiler_DecodeData);
  params.pRangeProfilerObject = ranges_;
  DLROOF_CUPTI(cuptiRangeProfilerDecodeData, params);
  return params.numOfRangeDropped;
}

size_t CuptiCalls::Ranges(const gpu::CuptiImage& counters) {
  auto params = DLROOF_CUPTI_PARAMS(CUpti_RangeProfiler_GetCounterDataInfo);
  params.pCounterDataImage = counters.data();
  params.counterDataImageSize = counters.size();
  DLROOF_CUPTI(cuptiRangeProfilerGetCounterDataInfo, params);
  return params.numTotalRanges;
}

void CuptiCalls::DisableRanges() noexcept {
  auto params = DLROOF_CUPTI_PARAMS(CUpti_RangeProfiler_Disable);
  params.pRangeProfilerObject = ranges_;
  cuptiRangeProfilerDisable(&params);
  ranges_ = nullptr;
}

// --- Names and times of kernels, from CUPTI's activity records ---

namespace {

constexpr size_t kBufferBytes = size_t{1} << 20;
constexpr size_t kAlignment = 8;

struct Record {
  std::string name;
  uint64_t start = 0, end = 0;  // [ns] integers: seconds as double are rounded to 0.2 us
  KernelFacts facts;
};

KernelFacts FactsOf(const CUpti_ActivityKernel9& kernel) {
  return {int64_t{kernel.gridX} * kernel.gridY * kernel.gridZ,
          kernel.blockX * kernel.blockY * kernel.blockZ, kernel.registersPerThread,
          static_cast<double>(kernel.staticSharedMemory) + kernel.dynamicSharedMemory};
}

// The records of the trace. Global, because CUPTI's callbacks have no user argument; with a mutex,
// because the callbacks run in a thread of CUPTI.
struct Records {
  std::mutex mutex;
  std::vector<Record> kernels;
};
Records& Store() {
  static auto* store = new Records;  // not destroyed, as CUPTI may use it at program exit
  return *store;
}

void CUPTIAPI GiveBuffer(uint8_t** buffer, size_t* size, size_t* most_records) {
  *buffer = static_cast<uint8_t*>(std::aligned_alloc(kAlignment, kBufferBytes));
  *size = *buffer == nullptr ? 0 : kBufferBytes;
  *most_records = 0;  // 0: as many records as fit
}

void CUPTIAPI TakeBuffer(CUcontext, uint32_t, uint8_t* buffer, size_t, size_t valid) {
  auto& store = Store();
  const std::lock_guard lock(store.mutex);
  CUpti_Activity* record = nullptr;
  while (cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS) {
    if (record->kind != CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) continue;
    // CUDA 12.6 and 13 have this version of the record. Newer versions begin with its fields.
    const auto* kernel = reinterpret_cast<const CUpti_ActivityKernel9*>(record);
    store.kernels.push_back({kernel->name != nullptr ? kernel->name : "?", kernel->start,
                             kernel->end, FactsOf(*kernel)});
  }
  std::free(buffer);
}

double Seconds(uint64_t nanoseconds) { return 1e-9 * static_cast<double>(nanoseconds); }

// Returns the kernels ordered by start time. CUPTI returns its buffers in any order.
std::vector<gpu::TracedKernel> InOrder(std::vector<Record> records) {
  std::ranges::sort(records, {}, &Record::start);
  return VectorOf<gpu::TracedKernel>(records, [&](const Record& record) {
    return gpu::TracedKernel{record.name, Seconds(record.end - record.start),
                             Seconds(record.start - records.front().start), record.facts};
  });
}

}  // namespace

void CuptiCalls::StartTrace() {
  // Registers for each trace: CUPTI does not document that callbacks outlive their subscriber.
  CheckCupti(cuptiActivityRegisterCallbacks(GiveBuffer, TakeBuffer),
             "cuptiActivityRegisterCallbacks");
  {
    const std::lock_guard lock(Store().mutex);
    Store().kernels.clear();
  }
  CheckCupti(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), "cuptiActivityEnable");
}

std::vector<gpu::TracedKernel> CuptiCalls::StopTrace() {
  const auto flushed = cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  const auto disabled = cuptiActivityDisable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  CheckCupti(flushed, "cuptiActivityFlushAll");
  CheckCupti(disabled, "cuptiActivityDisable");
  const std::lock_guard lock(Store().mutex);
  return InOrder(std::exchange(Store().kernels, {}));
}

void CuptiCalls::ForgetErrors() noexcept { cudaGetLastError(); }

void CuptiCalls::Synchronize() {
  CheckRuntime(cudaGetLastError(), "a kernel's launch");
  CheckRuntime(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
}

// --- Functions that need no GPU: metrics to configurations, counter images to values ---

void CheckCupti(CUptiResult result, const char* call) {
  if (result == CUPTI_SUCCESS) return;
  const char *name = nullptr, *words = nullptr;
  cuptiGetResultString(result, &name);
  cuptiGetErrorMessage(result, &words);
  throw gpu::CuptiError({gpu::CudaLibrary::kCupti, static_cast<int>(result), call,
                         name != nullptr ? name : "an unknown code",
                         words != nullptr ? words : ""});
}

std::vector<const char*> Pointers(const std::vector<std::string>& texts) {
  return VectorOf<const char*>(texts, [](const auto& text) { return text.c_str(); });
}

void CuptiCalls::OpenHost(const std::string& chip, const gpu::CuptiImage& availability) {
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
  // CUPTI returns these codes for an unknown name or for names that cannot be counted together.
  for (const auto refusal :
       {CUPTI_ERROR_INVALID_PARAMETER, CUPTI_ERROR_INVALID_METRIC_NAME, CUPTI_ERROR_NOT_SUPPORTED})
    if (result == refusal) return false;
  CheckCupti(result, "cuptiProfilerHostConfigAddMetrics");
  return true;
}

gpu::CuptiImage CuptiCalls::Config() {
  auto size = DLROOF_CUPTI_PARAMS(CUpti_Profiler_Host_GetConfigImageSize);
  size.pHostObject = host_;
  DLROOF_CUPTI(cuptiProfilerHostGetConfigImageSize, size);
  gpu::CuptiImage image(size.configImageSize);
  auto params = DLROOF_CUPTI_PARAMS(CUpti_Profiler_Host_GetConfigImage);
  params.pHostObject = host_;
  params.pConfigImage = image.data();
  params.configImageSize = image.size();
  DLROOF_CUPTI(cuptiProfilerHostGetConfigImage, params);
  return image;
}

int CuptiCalls::Passes(const gpu::CuptiImage& config) {
  auto image = config;
  auto params = DLROOF_CUPTI_PARAMS(CUpti_Profiler_Host_GetNumOfPasses);
  params.pConfigImage = image.data();
  params.configImageSize = image.size();
  DLROOF_CUPTI(cuptiProfilerHostGetNumOfPasses, params);
  return static_cast<int>(params.numOfPasses);
}

std::vector<double> CuptiCalls::Values(const gpu::CuptiImage& counters,
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
