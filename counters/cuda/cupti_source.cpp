#include "counters/cuda/cupti_source.h"

#include <chrono>
#include <cstdlib>

#include "counters/cuda/cupti_calls.h"
#include "counters/cuda/cupti_known_calls.h"

namespace dlroof {
namespace {

double SteadySeconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

std::shared_ptr<CuptiCounter> OpenCuptiCounter(int device) {
  return std::make_shared<CuptiCounter>(
      CuptiParts{std::make_unique<CuptiCalls>(), CuptiKnownCalls, SteadySeconds}, device);
}

std::vector<CounterSource> CuptiSources(int device) {
  const char* path = std::getenv("CUPTI_VALUES_FILE");
  return {CuptiSourceOf(OpenCuptiCounter(device), path != nullptr ? path : "")};
}

}  // namespace dlroof
