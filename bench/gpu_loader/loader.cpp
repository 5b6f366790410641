#include "bench/gpu_loader/loader.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <stdexcept>
#include <system_error>

#include "ceilings/machine/rate.h"
#include "counters/base/error.h"
#include "counters/base/process.h"
#include "counters/base/version.h"

namespace dlroof::gpu_loader {
namespace {

constexpr int kHostThreads = 1;

// One line that is written over on a terminal, nothing elsewhere: how many rows there will be is
// the module's business.
std::function<void(const std::string&)> RowPrinter(std::ostream& log) {
  if (!machine::StderrIsTerminal()) return {};
  return [&log](const std::string& row) { log << "\r\033[K" << row << std::flush; };
}

}  // namespace

std::optional<machine::Machine> CachedOrMeasuredGpu(const GpuAccess& access,
                                                    const machine_file::MachineOptions& options,
                                                    std::ostream& log) {
  if (!access.why_not.empty()) throw std::invalid_argument(access.why_not);
  if (!access.module->measure) {
    log << "The CUDA module of this build measures no ceilings: GPU results have no roofs.\n";
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

namespace {

namespace fs = std::filesystem;

constexpr const char* kModule = "libdlroof_cuda.so";
constexpr const char* kEntry = "dlroof_cuda_module";

bool Contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// The library's name at the start of dlopen's words: "libcudnn.so.9: cannot open ...".
std::string LibraryIn(const std::string& said) { return said.substr(0, said.find(':')); }

std::string MissingLibrary(const std::string& library) {
  const std::array<std::pair<std::string_view, std::string_view>, 4> owners = {
      {{"libcudnn", "cuDNN 9"},
       {"libcublas", "the CUDA toolkit"},
       {"libcupti", "the CUDA toolkit"},
       {"libnvperf", "the CUDA toolkit (CUPTI)"}}};
  std::string_view owner = "this system";
  for (const auto& [prefix, name] : owners)
    if (library.starts_with(prefix)) owner = name;
  return fmt::format(
      "the CUDA module needs {} of {}, which was not found: put its folder into LD_LIBRARY_PATH, "
      "or install it (ci/run.sh --gpu does)",
      library, owner);
}

// It stays open: CUDA would open it again.
bool HasDriver(const std::string& driver) {
  return dlopen(driver.c_str(), RTLD_LAZY | RTLD_LOCAL) != nullptr;
}

using Entry = const GpuModule* (*)();

OpenedModule Asked(void* library, const fs::path& file) {
  const auto entry = reinterpret_cast<Entry>(dlsym(library, kEntry));
  if (entry == nullptr)
    return {nullptr, fmt::format("{} is no module of dlroof: build again", file.string())};
  try {
    const GpuModule* module = entry();
    if (module == nullptr || module->build != kBuildId)
      return {nullptr,
              fmt::format("{} is of another build than this program: build both", file.string())};
    return {module, ""};
  } catch (const std::exception& error) {
    return {nullptr, fmt::format("the CUDA module cannot begin: {}", error.what())};
  }
}

std::string Listed(const std::vector<GpuDevice>& devices) {
  std::string text;
  for (const auto& device : devices)
    text += fmt::format("{}gpu{} ({})", text.empty() ? "" : ", ", device.number, device.name);
  return text;
}

}  // namespace

DeviceChoice ParseDevice(const std::string& text, const std::string& flag) {
  if (text == "auto") return {};
  if (text == "cpu") return {.gpu = false};
  DeviceChoice choice{.cpu = false, .gpu_asked = true};
  if (text == "gpu") return choice;
  const std::string_view number = std::string_view(text).substr(std::min<size_t>(3, text.size()));
  const auto [end, error] =
      std::from_chars(number.data(), number.data() + number.size(), choice.number);
  if (!text.starts_with("gpu") || error != std::errc() || end != number.data() + number.size() ||
      choice.number < 0)
    throw BadInput("{}={}: expected auto, cpu, gpu, or gpu with a number (gpu1)", flag, text);
  return choice;
}

std::string SentenceForDlopen(const std::string& said, const fs::path& file) {
  if (Contains(said, "cannot open shared object file")) return MissingLibrary(LibraryIn(said));
  if (Contains(said, "version `GLIBC"))
    return fmt::format("{} was built on a newer system than this: build it here ({})",
                       file.string(), said);
  if (Contains(said, "undefined symbol"))
    return fmt::format(
        "the CUDA module does not fit the libraries that were found: build it again, or put those "
        "it was built with first in LD_LIBRARY_PATH ({})",
        said);
  if (Contains(said, "file too short") || Contains(said, "invalid ELF header") ||
      Contains(said, "wrong ELF class"))
    return fmt::format("{} is damaged: build again ({})", file.string(), said);
  return fmt::format("the CUDA module cannot be opened: {}", said);
}

OpenedModule OpenGpuModule(const fs::path& file) {
  std::error_code none;
  if (!fs::exists(file, none))
    return {nullptr, fmt::format("this build has no CUDA module ({}): build where a CUDA toolkit "
                                 "is found (ci/run.sh --gpu installs one)",
                                 file.filename().string())};
  void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* const said = dlerror();
    return {nullptr, SentenceForDlopen(said == nullptr ? "" : said, file)};
  }
  return Asked(library, file);
}

GpuAccess AccessGpu(const DeviceChoice& choice, const std::string& flag, const fs::path& file,
                    const std::string& driver) {
  if (!choice.gpu) return {nullptr, {}, "only the CPU was asked for (" + flag + "=cpu)"};
  std::error_code none;
  if (fs::exists(file, none) && !HasDriver(driver))
    return {nullptr,
            {},
            "no NVIDIA driver here (" + driver +
                " was not found): install it, or start the container with --gpus all"};
  const auto [module, why_not] = OpenGpuModule(file);
  if (module == nullptr) return {nullptr, {}, why_not};
  if (!module->why_no_device.empty()) return {module, {}, module->why_no_device};
  if (!choice.gpu_asked && !module->devices.empty()) return {module, module->devices.front(), ""};
  for (const auto& device : module->devices)
    if (device.number == choice.number) return {module, device, ""};
  throw BadInput("{}=gpu{}: there is no such GPU; there are {}", flag, choice.number,
                 Listed(module->devices));
}

void RegisterGpu(const GpuAccess& access) {
  const bool usable = access.why_not.empty();
  if (usable) {
    for (const auto& cell : access.module->cells) workload::RegisterBackend(cell);
    for (const auto& source : access.module->sources) RegisterCounterSource(source);
  }
  if (access.module != nullptr)
    for (const auto& library : access.module->libraries) workload::RegisterLibrary(library);
  const auto& why = usable ? access.module->why_no_cells : access.why_not;
  if (!why.empty()) workload::ExplainMissing("gpu", why);
}

fs::path ModuleBesideProgram() {
  std::error_code none;
  return fs::read_symlink("/proc/self/exe", none).parent_path() / kModule;
}

}  // namespace dlroof::gpu_loader
