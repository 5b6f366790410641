#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <stdexcept>

#include "counters/base/error.h"
#include "tests/bench/cudnn/described_graphs.h"

namespace dlroof::fakes {
namespace {

int described_capability = 0;  // 0: the machine's GPU

}  // namespace

std::string Planned(const std::function<void(cudnn::GraphCall& call)>& describe,
                    int compute_capability, bool compile) {
  described_capability = compute_capability;
  const auto gpu =
      std::ranges::find(kDescribedGpus, compute_capability, &DescribedGpu::compute_capability);
  try {
    cudnn::GraphCall call;
    describe(call);
    const auto plans = call.Propose(cudnn::DescribedTarget{Json(*gpu), compute_capability});
    if (!compile) return "proposed";
    std::string reasons;
    for (int64_t plan = 0; plan < plans; ++plan) {
      const auto failure = call.Compile(plan);
      if (!failure || failure->text.find("cuLibraryLoadData returned error") != std::string::npos)
        return "compiled";
      reasons += failure->text;
    }
    return reasons;
  } catch (const Unsupported& error) {
    return error.what();
  }
}

std::string WithStub(const std::function<std::string()>& text) {
  int ends[2];
  if (pipe(ends) != 0) throw std::runtime_error("no pipe");
  const pid_t child = fork();
  if (child == 0) {
    std::string written;
    try {
      if (dlopen(DLROOF_CUDA_STUB, RTLD_NOW | RTLD_GLOBAL) == nullptr)
        throw std::runtime_error(dlerror());
      written = text();
    } catch (const std::exception& error) {
      written = error.what();
    }
    const auto count = write(ends[1], written.data(), written.size());
    _exit(count == static_cast<ssize_t>(written.size()) ? 0 : 1);
  }
  close(ends[1]);
  std::string read_text;
  char buffer[4096];
  for (ssize_t count; (count = read(ends[0], buffer, sizeof buffer)) > 0;)
    read_text.append(buffer, static_cast<size_t>(count));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  return status == 0 ? read_text : read_text + fmt::format(" (status {})", status);
}

}  // namespace dlroof::fakes

// cuDNN's frontend 1.18 asks CUDA for the GPU's capability even where a graph states it. The linker
// leads its calls here (tests/CMakeLists.txt).
#define DLROOF_JOINED(prefix, name) prefix##name
#define DLROOF_JOIN(prefix, name) DLROOF_JOINED(prefix, name)  // the name may be a macro
#define DLROOF_REAL(name) DLROOF_JOIN(__real_, name)
#define DLROOF_WRAP(name) DLROOF_JOIN(__wrap_, name)
extern "C" {
cudaError_t DLROOF_REAL(cudaGetDevice)(int* device);
cudaError_t DLROOF_WRAP(cudaGetDevice)(int* device) {
  if (dlroof::fakes::described_capability == 0) return DLROOF_REAL(cudaGetDevice)(device);
  *device = 0;
  return cudaSuccess;
}
cudaError_t DLROOF_REAL(cudaGetDeviceProperties)(cudaDeviceProp* properties, int device);
cudaError_t DLROOF_WRAP(cudaGetDeviceProperties)(cudaDeviceProp* properties, int device) {
  if (dlroof::fakes::described_capability == 0)
    return DLROOF_REAL(cudaGetDeviceProperties)(properties, device);
  *properties = {};
  properties->major = dlroof::fakes::described_capability / 10;
  properties->minor = dlroof::fakes::described_capability % 10;
  return cudaSuccess;
}
}
