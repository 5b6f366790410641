// Needs a function that no library has.
extern "C" int dlroof_function_of_no_library();

namespace dlroof::fakes {
struct GpuModule;
}

extern "C" const dlroof::fakes::GpuModule* dlroof_cuda_module() {
  return dlroof_function_of_no_library() == 0 ? nullptr : nullptr;
}
