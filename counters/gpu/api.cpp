#include "counters/gpu/api.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

namespace dlroof::gpu {
namespace {

struct KnownFailure {
  CudaLibrary library;
  int code;
  const char* fault;
  const char* cure;
};

constexpr const char* kPrivilege =
    "run as root or with CAP_SYS_ADMIN (a container: --cap-add=SYS_ADMIN), or load the driver with "
    "NVreg_RestrictProfilingToAdminUsers=0 (/etc/modprobe.d, then a reboot)";
constexpr const char* kHypervisor =
    "ask the administrator of the hypervisor to enable profiling for this virtual GPU";
constexpr const char* kConfidential =
    "use a virtual machine whose GPU is not in confidential-computing mode";
constexpr const char* kMig =
    "use a GPU instance with all its compute instances, or a GPU without MIG";
constexpr const char* kHost = "use native Linux";
constexpr const char* kBusy =
    "end the other profiler, or pause DCGM with dcgmi profile --pause (and --resume afterwards)";
constexpr const char* kDriver = "install NVIDIA's driver, or start the container with --gpus=all";
constexpr const char* kMemory = "free memory of the GPU, or count a smaller problem";
constexpr const char* kSelf =
    "this process cannot use the GPU any more: start the program again without counters";

constexpr auto kFailures = std::to_array<KnownFailure>({
    {CudaLibrary::kCupti, 2, "CUPTI does not know the device", "update the CUDA module's CUPTI"},
    {CudaLibrary::kCupti, 3, "the GPU's context is gone", kSelf},
    {CudaLibrary::kCupti, 8, "CUPTI has not enough memory", kMemory},
    {CudaLibrary::kCupti, 9, "the GPU reported a hardware error", "see the kernel's log (dmesg)"},
    {CudaLibrary::kCupti, 11, "this CUPTI lacks the range profiler", "use CUPTI 12.6 or newer"},
    {CudaLibrary::kCupti, 12, "CUPTI reached an internal limit", "count fewer quantities"},
    {CudaLibrary::kCupti, 14, "CUPTI is not compatible with the driver", "update the driver"},
    {CudaLibrary::kCupti, 15, "CUPTI could not be started",
     "put libnvperf_host where libcupti is found (LD_LIBRARY_PATH); a sandbox (gVisor) may also "
     "hide the counters"},
    {CudaLibrary::kCupti, 23, "CUPTI is disabled",
     "start the program without CUDA_INJECTION64_PATH"},
    {CudaLibrary::kCupti, 26, "another profiler or monitor (DCGM) is using the counters", kBusy},
    {CudaLibrary::kCupti, 27, "CUPTI does not support this on this device",
     "use a GPU of compute capability 7.5 or newer"},
    {CudaLibrary::kCupti, 31, "CUPTI cannot profile under MPS", "stop the MPS daemon"},
    {CudaLibrary::kCupti, 33, "CUPTI does not support this virtual GPU", kHypervisor},
    {CudaLibrary::kCupti, 35, "the driver restricts hardware counters to administrators",
     kPrivilege},
    {CudaLibrary::kCupti, 36, "an older profiling interface of CUPTI is in use in this process",
     "run without the tool that uses it"},
    {CudaLibrary::kCupti, 38, "CUPTI refuses the legacy profiler",
     "update the CUDA module's CUPTI"},
    {CudaLibrary::kCupti, 39, "another tool is attached to this process",
     "run without nsys, ncu, cuda-gdb, compute-sanitizer or another CUPTI client"},
    {CudaLibrary::kCupti, 40, "profiling is not enabled for this virtual GPU", kHypervisor},
    {CudaLibrary::kCupti, 41, "confidential computing hides the counters", kConfidential},
    {CudaLibrary::kCupti, 42, "mining processors (CMP) have no counters", "use another GPU"},
    {CudaLibrary::kCupti, 43, "this MIG instance has no counters", kMig},
    {CudaLibrary::kCupti, 44, "GPUs in SLI mode have no counters", "switch SLI off"},
    {CudaLibrary::kCupti, 45, "the Windows subsystem for Linux has no counters", kHost},
    {CudaLibrary::kCupti, 46, "this CUPTI does not know the chip",
     "update the CUDA module's CUPTI"},
    {CudaLibrary::kCupti, 999, "CUPTI cannot reach the GPU", kDriver},
    {CudaLibrary::kRuntime, 2, "the GPU has not enough memory", kMemory},
    {CudaLibrary::kRuntime, 34, "only a stub of NVIDIA's driver was found", kDriver},
    {CudaLibrary::kRuntime, 35, "there is no NVIDIA driver", kDriver},
    {CudaLibrary::kRuntime, 46, "the GPU is used exclusively by another process",
     "wait for it, or set the default compute mode (nvidia-smi -c)"},
    {CudaLibrary::kRuntime, 100, "there is no GPU", "see nvidia-smi"},
    {CudaLibrary::kRuntime, 700, "a kernel made an illegal memory access", kSelf},
    {CudaLibrary::kRuntime, 719, "a kernel failed", kSelf},
    {CudaLibrary::kDriver, 201, "the GPU's context is gone", kSelf},
});

std::string LibraryName(CudaLibrary library) {
  constexpr std::array<const char*, 3> kNames = {"CUPTI", "the CUDA runtime", "the CUDA driver"};
  return kNames.at(static_cast<size_t>(library));
}

// Returns whether the driver is too old. The runtime returns the same code if there is no driver.
bool DriverTooOld(const CudaFailure& failure) {
  return failure.library == CudaLibrary::kRuntime && failure.code == 35 &&
         failure.driver_version > 0;
}

}  // namespace

std::string FailureSentence(const CudaFailure& failure) {
  if (DriverTooOld(failure))
    return fmt::format(
        "the driver supports CUDA {} and this program needs CUDA {} ({} from {}): update the "
        "driver",
        gpu::CudaVersionText(failure.driver_version), gpu::CudaVersionText(failure.runtime_version),
        failure.name, failure.call);
  const auto known = std::ranges::find_if(kFailures, [&](const auto& row) {
    return row.library == failure.library && row.code == failure.code;
  });
  if (known == kFailures.end())
    return fmt::format("{} refused {}: {} ({}), {}", LibraryName(failure.library), failure.call,
                       failure.name, failure.code,
                       failure.words.empty() ? "without an explanation" : failure.words);
  const auto tool = failure.tool.empty() ? "" : fmt::format(", named '{}'", failure.tool);
  return fmt::format("{}{} ({} from {}): {}", known->fault, tool, failure.name, failure.call,
                     known->cure);
}

CuptiError::CuptiError(CudaFailure failure)
    : std::runtime_error(FailureSentence(failure)), failure_(std::move(failure)) {}

namespace {

nlohmann::json WorkJson(const Work& work) {
  nlohmann::json json = nlohmann::json::object();
  for (const auto& [pipe, flops] : work.flops) json["flops"][pipe] = flops;
  for (const auto& [level, bytes] : work.bytes) json["bytes"][std::string(Key(level))] = bytes;
  if (work.launches) json["launches"] = *work.launches;
  return json;
}

}  // namespace

nlohmann::json ToJson(const CuptiRecording& recording) {
  nlohmann::json json = {
      {"chip", recording.chip}, {"origin", recording.origin}, {"calls", nlohmann::json::array()}};
  if (!recording.failed.empty()) json["failed"] = recording.failed;
  for (const auto& call : recording.calls) {
    nlohmann::json row = {{"name", call.name},
                          {"pipes", call.pipes},
                          {"values", call.values},
                          {"kernels", nlohmann::json::array()}};
    for (const auto& kernel : call.kernels) {
      row["kernels"].push_back({{"name", kernel.name}, {"seconds", kernel.seconds}});
      if (kernel.start_seconds) row["kernels"].back()["start"] = *kernel.start_seconds;
    }
    if (call.expected) row["expected"] = WorkJson(*call.expected);
    if (call.passes) row["passes"] = *call.passes;
    json["calls"].push_back(std::move(row));
  }
  return json;
}

}  // namespace dlroof::gpu
