#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "counters/gpu/api.h"

namespace dlroof::gpu {
namespace {

// Values of cudaError_t, stable since CUDA 10.1.
enum CudaError {
  kStubLibrary = 34,
  kInsufficientDriver = 35,
  kDevicesUnavailable = 46,
  kNoDevice = 100,
  kSystemNotReady = 802,
  kSystemDriverMismatch = 803,
  kCompatNotSupported = 804,
};

struct Cure {
  int error;
  std::string_view sentence;
};
constexpr std::array<Cure, 6> kCures = {{
    {kStubLibrary,
     "the libcuda.so.1 that was found is the toolkit's stub, not the driver's: remove the folder "
     "'stubs' from LD_LIBRARY_PATH"},
    {kNoDevice,
     "the NVIDIA driver sees no GPU: nvidia-smi should list one; CUDA_VISIBLE_DEVICES may hide it, "
     "and a container needs --gpus all"},
    {kDevicesUnavailable,
     "other processes use every GPU in exclusive mode: wait for them, or see who they are with "
     "nvidia-smi"},
    {kSystemNotReady,
     "the GPUs are not ready: machines with NVSwitch need the service nvidia-fabricmanager to run"},
    {kSystemDriverMismatch,
     "the driver's kernel module and its libraries have different versions: reboot, or give the "
     "container the host's libraries"},
    {kCompatNotSupported,
     "the CUDA compatibility libraries do not support this GPU: remove them from LD_LIBRARY_PATH, "
     "or update the driver"},
}};

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

bool IsUsable(const SeenGpu& gpu, const CudaState& state) {
  return gpu.major > state.least_major ||
         (gpu.major == state.least_major && gpu.minor >= state.least_minor);
}

std::optional<Reason> NoDeviceReason(const CudaState& state) {
  if (state.error == kInsufficientDriver) return Reason{OldDriver(state)};
  for (const auto& cure : kCures)
    if (cure.error == state.error) return Reason{std::string(cure.sentence)};
  if (state.error != 0)
    return Reason{fmt::format("CUDA cannot be used: {} ({}): see the kernel's log (dmesg)",
                              state.error_text, state.error_name)};
  if (state.gpus.empty()) return NoDeviceReason({.error = kNoDevice});
  if (std::ranges::any_of(state.gpus, [&](const SeenGpu& gpu) { return IsUsable(gpu, state); }))
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

// The address of a function, as a pointer of any type.
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

  // Returns the value that the NVML function returns for the device, multiplied by `unit`.
  template <class Value, class Function, class... Which>
  std::optional<double> Ask(double unit, Function function, Which... which) const {
    Value value = 0;
    if (function == nullptr || function(device, which..., &value) != 0) return std::nullopt;
    return unit * static_cast<double>(value);
  }

  // Returns the instantaneous power if the driver reports it, otherwise nvmlDeviceGetPowerUsage's,
  // which from Ampere on is the mean over 1 s.
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

}  // namespace dlroof::gpu
