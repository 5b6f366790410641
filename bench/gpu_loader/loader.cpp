#include "bench/gpu_loader/loader.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <stdexcept>
#include <system_error>

#include "bench/gpu_loader/cuda_folders.h"
#include "ceilings/machine/rate.h"
#include "counters/base/error.h"
#include "counters/base/installation.h"
#include "counters/base/process.h"
#include "counters/base/version.h"

namespace dlroof::gpu_loader {
namespace {

namespace fs = std::filesystem;

constexpr int kHostThreads = 1;
constexpr const char* kModule = "libdlroof_cuda.so";
constexpr const char* kEntry = "dlroof_cuda_module";

// Returns a function that prints a row over the previous one; an empty one without a terminal.
std::function<void(const std::string&)> RowPrinter(std::ostream& log) {
  if (!machine::StderrIsTerminal()) return {};
  return [&log](const std::string& row) { log << "\r\033[K" << row << std::flush; };
}

// Leaves the library open, because CUDA would open it again.
bool HasDriver(const std::string& driver) {
  return dlopen(driver.c_str(), RTLD_LAZY | RTLD_LOCAL) != nullptr;
}

using Entry = const GpuModule* (*)();

OpenedModule CallEntry(void* library, const fs::path& file) {
  const auto entry = reinterpret_cast<Entry>(dlsym(library, kEntry));
  const auto refused = [](const std::string& text) { return OpenedModule{nullptr, Reason{text}}; };
  if (entry == nullptr)
    return refused(fmt::format("{} is not a module of dlroof: build it again", file.string()));
  try {
    const GpuModule* module = entry();
    if (module == nullptr || module->build != kBuildId)
      return refused(fmt::format("{} and this program come from different builds: build both again",
                                 file.string()));
    return {module, std::nullopt};
  } catch (const std::exception& error) {
    return refused(fmt::format("the CUDA module cannot be initialized: {}", error.what()));
  }
}

std::string Listed(const std::vector<GpuDevice>& devices) {
  std::string text;
  for (const auto& device : devices)
    text += fmt::format("{}gpu{} ({})", text.empty() ? "" : ", ", device.number, device.name);
  return text;
}

}  // namespace

std::optional<machine::Machine> CachedOrMeasuredGpu(const GpuAccess& access,
                                                    const machine_file::MachineOptions& options,
                                                    std::ostream& log) {
  if (access.reason) throw std::invalid_argument(access.reason->text);
  if (!access.module->measure) {
    log << "The CUDA module of this build cannot measure ceilings: GPU results have no roofs.\n";
    return std::nullopt;
  }
  machine_file::MachineSource source{.described = access.module->describe(access.device.number),
                                     .threads = {kHostThreads},
                                     .directory = CacheDirectory()};
  source.measure = [&](bool quick, const std::vector<int>&) {
    auto machine = access.module->measure(
        {access.device.number, quick, options.thorough, RowPrinter(log), StoppedByInterrupt});
    if (machine::StderrIsTerminal()) log << "\r\033[K" << std::flush;
    machine.by_threads[kHostThreads].effort = quick ? "quick" : "full";
    return machine;
  };
  return machine_file::CachedOrMeasured(source, options, log);
}

DeviceChoice ParseDevice(const std::string& text, const std::string& flag) {
  if (text == "auto") return {};
  if (text == "cpu") return {.gpu = false};
  DeviceChoice choice{.cpu = false, .gpu_requested = true};
  if (text == "gpu") return choice;
  const std::string_view number = std::string_view(text).substr(std::min<size_t>(3, text.size()));
  const auto [end, error] =
      std::from_chars(number.data(), number.data() + number.size(), choice.number);
  if (!text.starts_with("gpu") || error != std::errc() || end != number.data() + number.size() ||
      choice.number < 0)
    throw BadInput("{}={}: expected auto, cpu, gpu, or gpu with a number (gpu1)", flag, text);
  return choice;
}

OpenedModule OpenGpuModule(const fs::path& file) {
  std::error_code none;
  if (!fs::exists(file, none))
    return {nullptr, Reason{fmt::format("this build has no CUDA module ({}): build it where a CUDA "
                                        "toolkit is installed (ci/run.sh --gpu installs one)",
                                        file.filename().string())}};
  const auto [library, error] = OpenWithLibrariesOf(file, CudaFolders(file.parent_path()));
  if (library == nullptr)
    return {nullptr,
            Reason{fmt::format("the CUDA module cannot be opened ({}): build it here, or install "
                               "the libraries that it needs (bench/install.md says how)",
                               error)}};
  return CallEntry(library, file);
}

GpuAccess AccessGpu(const DeviceChoice& choice, const std::string& flag, const fs::path& file,
                    const std::string& driver) {
  if (!choice.gpu) return {nullptr, {}, Reason{"only the CPU was requested (" + flag + "=cpu)"}};
  std::error_code none;
  if (fs::exists(file, none) && !HasDriver(driver))
    return {nullptr,
            {},
            Reason{"there is no NVIDIA driver (" + driver +
                   " was not found): install it, or start the container with --gpus all"}};
  const auto [module, reason] = OpenGpuModule(file);
  if (module == nullptr) return {nullptr, {}, reason};
  if (module->no_device_reason) return {module, {}, module->no_device_reason};
  if (!choice.gpu_requested && !module->devices.empty())
    return {module, module->devices.front(), std::nullopt};
  for (const auto& device : module->devices)
    if (device.number == choice.number) return {module, device, std::nullopt};
  throw BadInput("{}=gpu{}: there is no such GPU; this machine has {}", flag, choice.number,
                 Listed(module->devices));
}

void RegisterGpu(const GpuAccess& access) {
  const bool usable = !access.reason;
  if (usable) {
    for (const auto& backend : access.module->backends) workload::RegisterBackend(backend);
    for (const auto& source : access.module->sources) RegisterCounterSource(source);
  }
  if (access.module != nullptr)
    for (const auto& library : access.module->libraries) workload::RegisterLibrary(library);
  const auto& reason = usable ? access.module->no_backends_reason : access.reason;
  if (reason) workload::SetMissingReason("gpu", *reason);
}

fs::path GpuModuleFile() {
  std::error_code none;
  const auto beside = ProgramPath().parent_path() / kModule;
  if (fs::exists(beside, none)) return beside;
  const auto installation = ThisInstallation();
  return installation ? installation->libraries / kModule : beside;
}

}  // namespace dlroof::gpu_loader
