#include "counters/cuda/cupti_source.h"

#include <cstdlib>

#include "counters/cpu/clocks.h"
#include "counters/cuda/cupti_calls.h"
#include "counters/cuda/device.h"

namespace dlroof {

std::shared_ptr<CuptiCounter> OpenCuptiCounter(int device) {
  return std::make_shared<CuptiCounter>(
      CuptiParts{std::make_unique<CuptiCalls>(), CuptiKnownCalls, WallSeconds,
                 [](int number) {
                   const auto gpu = ReadGpuIdentity(number);
                   return GpuRoom{10 * gpu.major + gpu.minor, gpu.sms, gpu.shared_bytes_per_sm};
                 }},
      device);
}

std::vector<CounterSource> CuptiSources(int device) {
  const char* path = std::getenv("CUPTI_VALUES_FILE");
  return {CuptiSourceOf(OpenCuptiCounter(device), path != nullptr ? path : "")};
}

}  // namespace dlroof
