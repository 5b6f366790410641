#include "counters/gpu/api.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "counters/base/keys.h"
#include "counters/gpu/session.h"

namespace dlroof::gpu {
namespace {

// Failures with a cure that the library's own message does not name.
struct KnownFailure {
  CudaLibrary library;
  int code;  // of cudaError_t: stable since CUDA 10.1
  const char* fault;
  const char* cure;
};
constexpr int kInsufficientDriver = 35, kNoDevice = 100;  // cudaError_t

constexpr const char* kHypervisor =
    "ask the administrator of the hypervisor to enable profiling for this virtual GPU";
constexpr const char* kDriver = "install NVIDIA's driver, or start the container with --gpus=all";

constexpr auto kFailures = std::to_array<KnownFailure>({
    {CudaLibrary::kCupti, 11, "this CUPTI lacks the range profiler", "use CUPTI 12.6 or newer"},
    {CudaLibrary::kCupti, 15, "CUPTI could not be started",
     "put libnvperf_host where libcupti is found (LD_LIBRARY_PATH); a sandbox (gVisor) may also "
     "hide the counters"},
    {CudaLibrary::kCupti, 23, "CUPTI is disabled",
     "start the program without CUDA_INJECTION64_PATH"},
    {CudaLibrary::kCupti, 26, "another profiler or monitor (DCGM) is using the counters",
     kBusyCure},
    {CudaLibrary::kCupti, 27, "CUPTI does not support this on this device",
     "use a GPU of compute capability 7.5 or newer"},
    {CudaLibrary::kCupti, 31, "CUPTI cannot profile under MPS", "stop the MPS daemon"},
    {CudaLibrary::kCupti, 33, "CUPTI does not support this virtual GPU", kHypervisor},
    {CudaLibrary::kCupti, 35, "the driver restricts hardware counters to administrators",
     kPrivilegeCure},
    {CudaLibrary::kCupti, 36, "an older profiling interface of CUPTI is in use in this process",
     "run without the tool that uses it"},
    {CudaLibrary::kCupti, 39, "another tool is attached to this process",
     "run without nsys, ncu, cuda-gdb, compute-sanitizer or another CUPTI client"},
    {CudaLibrary::kCupti, 40, "profiling is not enabled for this virtual GPU", kHypervisor},
    {CudaLibrary::kCupti, 41, "confidential computing hides the counters",
     "use a virtual machine whose GPU is not in confidential-computing mode"},
    {CudaLibrary::kCupti, 43, "this MIG instance has no counters",
     "use a GPU instance with all its compute instances, or a GPU without MIG"},
    {CudaLibrary::kCupti, 46, "this CUPTI does not know the chip",
     "update the CUDA module's CUPTI"},
    {CudaLibrary::kRuntime, 34,
     "the libcuda.so.1 that was found is the toolkit's stub, not the driver's",
     "remove the folder 'stubs' from LD_LIBRARY_PATH"},
    {CudaLibrary::kRuntime, kInsufficientDriver, "there is no NVIDIA driver", kDriver},
    {CudaLibrary::kRuntime, 46, "other processes use every GPU in exclusive mode",
     "wait for them, or see who they are with nvidia-smi"},
    {CudaLibrary::kRuntime, kNoDevice, "the NVIDIA driver sees no GPU",
     "nvidia-smi should list one; CUDA_VISIBLE_DEVICES may hide it, and a container needs --gpus "
     "all"},
    {CudaLibrary::kRuntime, 802, "the GPUs are not ready",
     "machines with NVSwitch need the service nvidia-fabricmanager to run"},
    {CudaLibrary::kRuntime, 803,
     "the driver's kernel module and its libraries have different versions",
     "reboot, or give the container the host's libraries"},
    {CudaLibrary::kRuntime, 804, "the CUDA compatibility libraries do not support this GPU",
     "remove them from LD_LIBRARY_PATH, or update the driver"},
});

const KnownFailure* FindFailure(CudaLibrary library, int code) {
  return FindIf(kFailures, [&](const KnownFailure& row) {
    return row.library == library && row.code == code;
  });
}

std::string OldDriver(const CudaState& state) {
  if (state.driver_version == 0)
    return "no NVIDIA driver is loaded (libcuda.so.1 was not found): install it, or start the "
           "container with --gpus all";
  const int major = state.runtime_version / 1000;
  const auto least = major >= 13 ? "580" : "525";
  return fmt::format(
      "the NVIDIA driver is too old: it supports CUDA {} and this build needs CUDA {}: update it "
      "to {} or newer",
      CudaVersionText(state.driver_version), CudaVersionText(state.runtime_version), least);
}

}  // namespace

std::string CudaVersionText(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

bool IsUsable(const GpuIdentity& gpu, const CudaState& state) {
  return std::pair(gpu.major, gpu.minor) >= std::pair(state.least_major, state.least_minor);
}

std::optional<Reason> NoDeviceReason(const CudaState& state) {
  if (state.error == kInsufficientDriver) return Reason{OldDriver(state)};
  if (const auto* known = FindFailure(CudaLibrary::kRuntime, state.error))
    return Reason{fmt::format("{}: {}", known->fault, known->cure)};
  if (state.error != 0)
    return Reason{fmt::format("CUDA cannot be used: {} ({}): see the kernel's log (dmesg)",
                              state.error_text, state.error_name)};
  if (state.gpus.empty()) return NoDeviceReason({.error = kNoDevice});
  if (std::ranges::any_of(state.gpus, [&](const auto& gpu) { return IsUsable(gpu, state); }))
    return std::nullopt;
  const auto& first = state.gpus.front();
  return Reason{fmt::format(
      "{} has compute capability {}.{}, but this build has kernels only for {}.{} and newer",
      first.name, first.major, first.minor, state.least_major, state.least_minor)};
}

std::map<std::string, std::string> Facts(const GpuIdentity& identity) {
  constexpr double kGibibyte = 1073741824;
  return {{"gpu.name", identity.name},
          {"gpu.compute_capability", fmt::format("{}.{}", identity.major, identity.minor)},
          {"gpu.sms", fmt::format("{}", identity.sms)},
          {"gpu.memory", fmt::format("{:.0f} GiB", identity.memory_bytes / kGibibyte)},
          {"gpu.l2_bytes", fmt::format("{:.0f}", identity.l2_bytes)},
          {"gpu.shared_bytes_per_sm", fmt::format("{:.0f}", identity.shared_bytes_per_sm)},
          {"gpu.memory_bus_bits", fmt::format("{}", identity.memory_bus_bits)},
          {"gpu.ecc", identity.ecc ? "on" : "off"},
          {"gpu.integrated", identity.integrated ? "yes" : "no"}};
}

namespace {

// The parts of nvml.h that this file uses. NVIDIA keeps this ABI stable.
using Device = struct nvmlDevice_st*;
constexpr unsigned kSmClock = 1, kMemoryClock = 2;
constexpr unsigned kCoreSensor = 0;
constexpr unsigned kPowerNow = 186;  // NVML_FI_DEV_POWER_INSTANT, [mW]
constexpr int kUnsigned = 1;         // NVML_VALUE_TYPE_UNSIGNED_INT
struct FieldValue {                  // nvmlFieldValue_t
  unsigned field, scope;
  long long timestamp, latency;
  int type, status;
  union {
    unsigned whole;
    double widest;
  } value;
};

// The address of a function; converts to a pointer to any function type.
struct Symbol {
  void* address;
  template <class Function>
  operator Function*() const {  // NOLINT(google-explicit-constructor): takes the member's type
    return reinterpret_cast<Function*>(address);
  }
};

}  // namespace

// The NVML library and its functions. A function is null if the driver lacks it.
struct Nvml::Session {
  void* library = nullptr;
  int (*init)() = Find("nvmlInit_v2");
  int (*shutdown)() = Find("nvmlShutdown");
  int (*by_pci)(const char*, Device*) = Find("nvmlDeviceGetHandleByPciBusId_v2");
  int (*driver_version)(char*, unsigned) = Find("nvmlSystemGetDriverVersion");
  int (*clock)(Device, unsigned, unsigned*) = Find("nvmlDeviceGetClockInfo");
  int (*power)(Device, unsigned*) = Find("nvmlDeviceGetPowerUsage");
  int (*fields)(Device, int, FieldValue*) = Find("nvmlDeviceGetFieldValues");
  int (*temperature)(Device, unsigned, unsigned*) = Find("nvmlDeviceGetTemperature");
  // Drivers before 535 have the function under the second name.
  int (*reasons)(Device, unsigned long long*) = Find("nvmlDeviceGetCurrentClocksEventReasons",
                                                     "nvmlDeviceGetCurrentClocksThrottleReasons");
  int (*energy)(Device, unsigned long long*) = Find("nvmlDeviceGetTotalEnergyConsumption");
  Device device = nullptr;
  bool begun = init != nullptr && by_pci != nullptr && init() == 0;

  explicit Session(const std::string& path)
      : library(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {}
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session() {
    if (begun && shutdown != nullptr) shutdown();
    if (library != nullptr) dlclose(library);
  }

  Symbol Find(const char* name, const char* older_name = nullptr) const {
    if (library == nullptr) return {nullptr};
    void* found = dlsym(library, name);
    return {found == nullptr && older_name != nullptr ? dlsym(library, older_name) : found};
  }

  // Returns the value that the NVML function stores, multiplied by `unit`, or nullopt if it fails.
  template <class Value, class Function, class... Which>
  std::optional<double> Ask(double unit, Function function, Which... which) const {
    Value value = 0;
    if (function == nullptr || function(device, which..., &value) != 0) return std::nullopt;
    return unit * static_cast<double>(value);
  }

  // Returns the instantaneous power or, if the driver does not report it, the result of
  // nvmlDeviceGetPowerUsage, which from Ampere on is the mean over 1 s.
  std::optional<double> PowerWatts() const {
    FieldValue now = {};
    now.field = kPowerNow;
    if (fields != nullptr && fields(device, 1, &now) == 0 && now.status == 0 &&
        now.type == kUnsigned)
      return 1e-3 * now.value.whole;
    return Ask<unsigned>(1e-3, power);
  }
};

Nvml Nvml::Open(const std::string& library, const std::string& pci_bus_id) {
  Nvml nvml;
  const auto session = std::make_shared<Session>(library);
  if (session->begun && session->by_pci(pci_bus_id.c_str(), &session->device) == 0)
    nvml.session_ = session;
  return nvml;
}

GpuHealth Nvml::Health() const {
  GpuHealth health;
  if (!session_) return health;
  health.sm_clock_hz = session_->Ask<unsigned>(1e6, session_->clock, kSmClock);
  health.memory_clock_hz = session_->Ask<unsigned>(1e6, session_->clock, kMemoryClock);
  health.power_watts = session_->PowerWatts();
  health.temperature_celsius = session_->Ask<unsigned>(1, session_->temperature, kCoreSensor);
  unsigned long long bits = 0;
  if (session_->reasons != nullptr && session_->reasons(session_->device, &bits) == 0)
    health.throttle = bits;
  return health;
}

std::optional<double> Nvml::EnergyJoules() const {
  return session_ ? session_->Ask<unsigned long long>(1e-3, session_->energy) : std::nullopt;
}

std::optional<std::string> Nvml::DriverVersion() const {
  std::array<char, 96> text{};
  if (!session_ || session_->driver_version == nullptr ||
      session_->driver_version(text.data(), static_cast<unsigned>(text.size()) - 1) != 0)
    return std::nullopt;
  return text.data();
}

std::vector<std::string> ThrottleReasons(std::uint64_t bits) {
  constexpr std::array<std::string_view, 9> kNames = {"idle",
                                                      "clocks_setting",
                                                      "sw_power_cap",
                                                      "hw_slowdown",
                                                      "sync_boost",
                                                      "sw_thermal_slowdown",
                                                      "hw_thermal_slowdown",
                                                      "hw_power_brake",
                                                      "display_clocks_setting"};
  std::vector<std::string> reasons;
  for (unsigned bit = 0; bit < 64; ++bit)
    if ((bits >> bit & 1) != 0)
      reasons.push_back(bit < kNames.size() ? std::string(kNames.at(bit))
                                            : fmt::format("bit {}", bit));
  return reasons;
}

namespace {

std::string LibraryName(CudaLibrary library) {
  constexpr std::array<const char*, 3> kNames = {"CUPTI", "the CUDA runtime", "the CUDA driver"};
  return kNames.at(static_cast<size_t>(library));
}

}  // namespace

std::string FailureSentence(const CudaFailure& failure) {
  // The runtime returns the code of an old driver also if there is none.
  if (failure.library == CudaLibrary::kRuntime && failure.code == kInsufficientDriver &&
      failure.driver_version > 0)
    return fmt::format(
        "the driver supports CUDA {} and this program needs CUDA {} ({} from {}): update the "
        "driver",
        CudaVersionText(failure.driver_version), CudaVersionText(failure.runtime_version),
        failure.name, failure.call);
  const auto* known = FindFailure(failure.library, failure.code);
  if (known == nullptr)
    return fmt::format("{} refused {}: {} ({}), {}", LibraryName(failure.library), failure.call,
                       failure.name, failure.code,
                       failure.words.empty() ? "without an explanation" : failure.words);
  return fmt::format("{} ({} from {}): {}", known->fault, failure.name, failure.call, known->cure);
}

CuptiError::CuptiError(CudaFailure cause)
    : std::runtime_error(FailureSentence(cause)), failure(std::move(cause)) {}

}  // namespace dlroof::gpu
