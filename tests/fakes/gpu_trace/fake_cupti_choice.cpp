// The functions of a newer libcupti, which choose the functions of CUDA whose calls are recorded.
#include <cupti.h>

#include "tests/fakes/gpu_trace/fake_cupti.h"

extern "C" {

CUptiResult cuptiActivityEnableRuntimeApi(CUpti_CallbackId function, std::uint8_t enable) {
  FakeTraceCall(function, enable != 0);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnableDriverApi(CUpti_CallbackId, std::uint8_t) { return CUPTI_SUCCESS; }
}
