// Cannot make its table.
#include <stdexcept>

namespace dlroof::fakes {
struct GpuModule;
}

extern "C" const dlroof::fakes::GpuModule* dlroof_cuda_module() {
  throw std::runtime_error("the fake fell over");
}
