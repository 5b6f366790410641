#include "bench/gpu_loader/loader.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <stdexcept>
#include <string_view>
#include <system_error>

#include "ceilings/machine/rate.h"
#include "counters/base/error.h"
#include "counters/base/keys.h"
#include "counters/base/process.h"
#include "counters/base/program.h"
#include "counters/base/version.h"

namespace dlroof::gpu_loader {
namespace {

namespace fs = std::filesystem;

constexpr int kHostThreads = 1;
constexpr const char* kModule = "libdlroof_cuda.so";
constexpr const char* kEntry = "dlroof_cuda_module";

// Returns a function that prints a row over the previous one, or none if stderr is no terminal.
std::function<void(const std::string&)> RowPrinter(std::ostream& log) {
  if (!machine::StderrIsTerminal()) return {};
  return [&log](const std::string& row) { log << "\r\033[K" << row << std::flush; };
}

// Returns whether the driver can be opened. Leaves it open, because CUDA would open it again.
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

void AddIfFolder(const fs::path& folder, std::vector<fs::path>& folders) {
  std::error_code none;
  if (fs::is_directory(folder, none) && std::ranges::find(folders, folder) == folders.end())
    folders.push_back(folder);
}

// Returns a folder's entries in alphabetical order; empty if it cannot be read.
std::vector<fs::path> EntriesOf(const fs::path& folder) {
  std::vector<fs::path> entries;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(folder, none)) entries.push_back(entry.path());
  std::ranges::sort(entries);
  return entries;
}

void AddToolkit(const fs::path& toolkit, std::vector<fs::path>& folders) {
  for (const char* inside : {"lib64", "lib", "targets/x86_64-linux/lib", "extras/CUPTI/lib64"})
    AddIfFolder(toolkit / inside, folders);
}

// Adds the folders site-packages/nvidia/<part>/lib, in which NVIDIA's wheels install libraries.
void AddWheels(const fs::path& site_packages, std::vector<fs::path>& folders) {
  for (const auto& part : EntriesOf(site_packages / "nvidia")) AddIfFolder(part / "lib", folders);
}

// Adds the wheels in the environment's folder, for each of its Python versions.
void AddEnvironment(const fs::path& environment, std::vector<fs::path>& folders) {
  for (const auto& python : EntriesOf(environment / "lib"))
    if (python.filename().string().starts_with("python"))
      AddWheels(python / "site-packages", folders);
}

// Returns the library that dlopen did not find, from its error message; nullopt for other errors.
std::optional<std::string> NotFound(const std::string& error) {
  constexpr std::string_view kText = ": cannot open shared object file";
  const auto at = error.find(kText);
  return at == std::string::npos ? std::nullopt : std::optional(error.substr(0, at));
}

OpenedLibrary Open(const fs::path& file, const std::vector<fs::path>& folders,
                   std::set<std::string>& searched) {
  while (true) {
    if (void* const handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)) return {handle, ""};
    const char* const text = dlerror();
    OpenedLibrary failed{nullptr, text == nullptr ? "" : text};
    const auto missing = NotFound(failed.error);
    if (!missing || !searched.insert(*missing).second) return failed;
    const auto has_it = [&](const fs::path& folder) {
      std::error_code none;
      return fs::exists(folder / *missing, none);
    };
    const auto folder = std::ranges::find_if(folders, has_it);
    if (folder == folders.end()) return failed;
    if (const auto opened = Open(*folder / *missing, folders, searched); opened.handle == nullptr)
      return opened;
  }
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
  choice.number = ParseNumber<int>(number).value_or(-1);
  if (!text.starts_with("gpu") || choice.number < 0)
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
  auto beside = ProgramPath().parent_path() / kModule;
  if (fs::exists(beside, none)) return beside;
  const auto installation = ThisInstallation();
  return installation ? installation->libraries / kModule : beside;
}

std::vector<fs::path> CudaFolders(const fs::path& module_folder,
                                  const cpu::Environment& environment, const fs::path& root) {
  std::vector<fs::path> folders;
  const auto folder = [&](const char* name) { return fs::path(environment(name).value_or("")); };
  for (const char* name : {"CUDA_PATH", "CUDA_HOME"})
    if (!folder(name).empty()) AddToolkit(folder(name), folders);
  if (!folder("VIRTUAL_ENV").empty()) AddEnvironment(folder("VIRTUAL_ENV"), folders);
  AddWheels(module_folder, folders);
  AddEnvironment(module_folder.parent_path().parent_path(), folders);
  if (!folder("HOME").empty()) AddEnvironment(folder("HOME") / ".local", folders);
  AddToolkit(root / "usr/local/cuda", folders);
  return folders;
}

OpenedLibrary OpenWithLibrariesOf(const fs::path& file, const std::vector<fs::path>& folders) {
  std::set<std::string> searched;
  return Open(file, folders, searched);
}

}  // namespace dlroof::gpu_loader
