// Names and times of kernels, from CUPTI's activity records.
#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <utility>

#include "counters/cuda/cupti_calls.h"

namespace dlroof {
namespace {

constexpr size_t kBufferBytes = size_t{1} << 20;
constexpr size_t kAlignment = 8;

// CUPTI hands records to functions without an argument of ours, and from a thread of its own.
struct Record {
  std::string name;
  uint64_t start = 0,
           end = 0;  // [ns] since an epoch that a double of seconds would round to 0.2 us
  KernelFacts facts;
};

KernelFacts FactsOf(const CUpti_ActivityKernel9& kernel) {
  return {int64_t{kernel.gridX} * kernel.gridY * kernel.gridZ,
          kernel.blockX * kernel.blockY * kernel.blockZ, kernel.registersPerThread,
          static_cast<double>(kernel.staticSharedMemory) + kernel.dynamicSharedMemory};
}

struct Records {
  std::mutex mutex;
  std::vector<Record> kernels;
};
Records& Store() {
  static auto* store = new Records;  // outlives whatever CUPTI still does when the program ends
  return *store;
}

void CUPTIAPI GiveBuffer(uint8_t** buffer, size_t* size, size_t* most_records) {
  *buffer = static_cast<uint8_t*>(std::aligned_alloc(kAlignment, kBufferBytes));
  *size = *buffer == nullptr ? 0 : kBufferBytes;
  *most_records = 0;  // as many as fit
}

void CUPTIAPI TakeBuffer(CUcontext, uint32_t, uint8_t* buffer, size_t, size_t valid) {
  auto& store = Store();
  const std::lock_guard lock(store.mutex);
  CUpti_Activity* record = nullptr;
  while (cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS) {
    if (record->kind != CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) continue;
    // Newer records begin with the fields of this one, which CUDA 12.6 and 13 both declare.
    const auto* kernel = reinterpret_cast<const CUpti_ActivityKernel9*>(record);
    store.kernels.push_back({kernel->name != nullptr ? kernel->name : "?", kernel->start,
                             kernel->end, FactsOf(*kernel)});
  }
  std::free(buffer);
}

double Seconds(uint64_t nanoseconds) { return 1e-9 * static_cast<double>(nanoseconds); }

// Buffers come back in any order.
std::vector<TracedKernel> InOrder(std::vector<Record> records) {
  std::ranges::sort(records, {}, &Record::start);
  std::vector<TracedKernel> kernels;
  kernels.reserve(records.size());
  for (const auto& record : records)
    kernels.push_back({record.name, Seconds(record.end - record.start),
                       Seconds(record.start - records.front().start), record.facts});
  return kernels;
}

}  // namespace

void CuptiCalls::StartTrace() {
  // Each time: no document says that callbacks outlive their subscriber.
  CheckCupti(cuptiActivityRegisterCallbacks(GiveBuffer, TakeBuffer),
             "cuptiActivityRegisterCallbacks");
  {
    const std::lock_guard lock(Store().mutex);
    Store().kernels.clear();
  }
  CheckCupti(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), "cuptiActivityEnable");
}

std::vector<TracedKernel> CuptiCalls::StopTrace() {
  const auto flushed = cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  const auto disabled = cuptiActivityDisable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  CheckCupti(flushed, "cuptiActivityFlushAll");
  CheckCupti(disabled, "cuptiActivityDisable");
  const std::lock_guard lock(Store().mutex);
  return InOrder(std::exchange(Store().kernels, {}));
}

}  // namespace dlroof
