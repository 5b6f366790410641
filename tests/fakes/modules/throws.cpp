// Cannot make its table.
#include <stdexcept>

namespace dlroof {
struct GpuModule;
}

extern "C" const dlroof::GpuModule* dlroof_cuda_module() {
  throw std::runtime_error("the fake fell over");
}
