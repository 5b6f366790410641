#include "bench/workload/library_rules.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <utility>

namespace dlroof::workload {
namespace {

// cuDNN 9's status divided by 1000 is its kind, such as BAD_PARAM.
constexpr int kKind = 1000, kBadParam = 2, kNotSupported = 3;
// Statuses of a bad installation: INCOMPATIBLE_CUDA_DRIVER, INCOMPATIBLE_CUDART,
// RUNTIME_PREREQUISITE_MISSING (such as NVRTC), SUBLIBRARY_UNAVAILABLE.
constexpr std::array<int, 4> kInstallation = {3005, 3006, 3008, 3009};

// Version numbers are major * 10000 + minor * 100 since cuDNN 9, major * 1000 + minor * 100 before.
std::size_t Major(std::size_t version) { return version / (version < 10000 ? 1000 : 10000); }
std::size_t Minor(std::size_t version) { return version / 100 % (version < 10000 ? 10 : 100); }

bool Has(std::string_view text, std::string_view word) {
  return text.find(word) != std::string_view::npos;
}

// Returns the ISA at the end of an implementation's name, after the last colon. "any" (plain C++)
// counts as an ISA without a matrix unit and without dot-product instructions.
std::optional<std::string_view> IsaIn(std::string_view implementation) {
  const auto colon = implementation.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto isa = implementation.substr(colon + 1);
  for (const std::string_view begin : {"avx", "sse", "any"})
    if (isa.starts_with(begin)) return isa;
  return std::nullopt;
}

// "avx512_core_bf16" and every later AVX-512 ISA have vdpbf16ps.
bool HasBf16Dot(std::string_view isa) {
  return Has(isa, "avx512_core_bf16") || Has(isa, "avx512_core_fp16") || Has(isa, "avx10");
}

// Environment variable that tells the new process image the chosen file, so that it fails, instead
// of starting itself again and again, if the dynamic linker loaded another file.
constexpr const char* kChosen = "DLROOF_CHOSEN_LIBRARY";

std::vector<ChoosableLibrary>& Registry() {
  static std::vector<ChoosableLibrary> registry;
  return registry;
}

// Returns the canonical path of the file that contains the code, or nullopt if it is unknown.
std::optional<std::string> FileOf(const void* code) {
  Dl_info found{};
  if (code == nullptr || dladdr(code, &found) == 0 || found.dli_fname == nullptr)
    return std::nullopt;
  std::error_code error;
  const auto path = std::filesystem::canonical(found.dli_fname, error);
  return error ? std::optional<std::string>(found.dli_fname) : path.string();
}

bool IsSameFile(const std::string& a, const std::string& b) {
  std::error_code error;
  return std::filesystem::equivalent(a, b, error) && !error;
}

void* OwnFunction(const std::string& function) { return dlsym(RTLD_DEFAULT, function.c_str()); }

// Throws BadInput if the function is not in `file` or the library cannot be used.
void CheckLibrary(const ChoosableLibrary& library, const std::string& file, void* function) {
  const auto owner = FileOf(function);
  if (!owner || !IsSameFile(*owner, file))
    throw BadInput("{}: not a library of {}: it does not define {}", file, library.title,
                   library.function);
  if (const auto reason = library.refusal(function)) throw BadInput("{}: {}", file, reason->text);
}

// Returns the files to load before all others: the chosen library and, before it, the file in which
// it finds `shared_function`, if this program would find that function in another file.
std::vector<std::string> FilesToLoad(const ChoosableLibrary& library, const std::string& file) {
  // Loads the library to inspect it, beside the one that this program calls.
  const std::unique_ptr<void, int (*)(void*)> opened(dlopen(file.c_str(), RTLD_LAZY | RTLD_LOCAL),
                                                     dlclose);
  if (opened == nullptr) throw BadInput("{}: cannot be loaded: {}", file, dlerror());
  // Finds a function in the library and in the libraries that it needs.
  const auto find = [&](const std::string& function) {
    return dlsym(opened.get(), function.c_str());
  };
  CheckLibrary(library, file, find(library.function));
  std::vector<std::string> files;
  if (!library.shared_function.empty()) {
    const auto needed = FileOf(find(library.shared_function));
    const auto own = FileOf(OwnFunction(library.shared_function));
    if (needed && own && !IsSameFile(*needed, *own)) files.push_back(*needed);
  }
  files.push_back(file);
  return files;
}

[[noreturn]] void Replace() {
  std::ifstream in("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> args;
  for (std::string arg; std::getline(in, arg, '\0');) args.push_back(arg);
  std::vector<char*> pointers;
  for (auto& arg : args) pointers.push_back(arg.data());
  pointers.push_back(nullptr);
  execv("/proc/self/exe", pointers.data());
  throw std::runtime_error(
      fmt::format("cannot start this program again: {}", std::strerror(errno)));
}

}  // namespace

bool IsRefusal(int status, Stage stage) {
  if (std::ranges::count(kInstallation, status) > 0) return false;
  const int kind = status / kKind;
  return kind == kNotSupported || (kind == kBadParam && stage == Stage::kDescribe);
}

void Throw(const Failure& failure) {
  if (failure.broken) throw std::runtime_error(failure.text);
  throw Unsupported(failure.text);
}

void ThrowFirst(const std::vector<Failure>& failures) {
  if (failures.empty()) throw std::logic_error("nothing failed");
  const auto broken = std::ranges::find(failures, true, &Failure::broken);
  Throw(broken != failures.end() ? *broken : failures.front());
}

std::string VersionText(std::size_t version) {
  return fmt::format("{}.{}.{}", Major(version), Minor(version), version % 100);
}

std::optional<Reason> CudnnMismatch(std::size_t found, int built_for_major) {
  if (Major(found) == static_cast<std::size_t>(built_for_major)) return std::nullopt;
  return Reason{fmt::format(
      "cuDNN {} was found, but this build needs {}: put the folder of cuDNN {} first in "
      "LD_LIBRARY_PATH",
      VersionText(found), built_for_major, built_for_major)};
}

void RequireTf32(std::string_view type, const char* override_value) {
  if (override_value == nullptr || *override_value == 0) return;
  const std::string_view value = override_value;
  if (type == "tf32" && value == "0")
    throw Unsupported("{}=0 turns tf32 off in cuDNN: unset it", kTf32Override);
  if (type == "f32" && value != "0")
    throw Unsupported("{}={} may turn f32 into tf32 in cuDNN: unset it", kTf32Override, value);
}

std::int64_t VectorLanes(std::string_view implementation, std::string_view isa) {
  const auto text = Has(implementation, ":") ? implementation : isa;
  if (Has(text, "avx512") || Has(text, "avx10")) return 16;
  return Has(text, "avx") ? 8 : 4;
}

std::string MatrixPipe(std::string_view type, std::string_view implementation,
                       std::string_view effective_isa) {
  const auto isa = IsaIn(implementation).value_or(effective_isa);
  const bool amx = Has(isa, "amx");
  if (type == "f64") return "fp64.vector";
  if (type == "f32") return "fp32.vector";
  if (type == "bf16") return amx ? "bf16.matrix" : HasBf16Dot(isa) ? "bf16.vector" : "fp32.vector";
  if (type == "f16")
    return Has(isa, "amx_fp16") || Has(isa, "amx_2") ? "fp16.matrix" : "fp32.vector";
  if (type == "int8" || type.starts_with("u8") || type.starts_with("s8"))
    return amx ? "int8.matrix" : "int8.vector";
  throw std::logic_error(fmt::format("no pipe for type {}", type));
}

std::optional<std::string> NamedMatrixPipe(std::string_view type, std::string_view implementation) {
  const bool isa_decides = type != "f64" && type != "f32";
  if (isa_decides && !IsaIn(implementation)) return std::nullopt;
  return MatrixPipe(type, implementation, "");
}

bool RegisterChoosableLibrary(ChoosableLibrary library) {
  Registry().push_back(std::move(library));
  return true;
}

std::vector<LoadedLibrary> LoadedLibraries() {
  std::vector<LoadedLibrary> loaded;
  for (const auto& library : Registry()) {
    void* const function = OwnFunction(library.function);
    if (const auto file = FileOf(function))
      loaded.push_back({library.name, *file, library.facts(function)});
  }
  return loaded;
}

std::string PreloadValue(const char* before, const std::vector<std::string>& files) {
  std::string value = before == nullptr ? "" : before;
  for (const auto& file : files) {
    if (file.find_first_of(" :") != std::string::npos)
      throw BadInput(
          "{}: the dynamic linker's LD_PRELOAD cannot express a path with a space or a colon: link "
          "the file to another place",
          file);
    value += (value.empty() ? "" : ":") + file;
  }
  return value;
}

void UseLibraryFile(const std::string& name, const std::string& file, const std::string& flag) {
  const auto found = std::ranges::find(Registry(), name, &ChoosableLibrary::name);
  if (found == Registry().end())
    throw BadInput("{}: this build of dlroof was made without {}", flag, name);
  std::error_code error;
  const auto path = std::filesystem::canonical(file, error).string();
  if (error) throw BadInput("{}: {}: {}", flag, file, error.message());
  if (const char* chosen = std::getenv(kChosen); chosen != nullptr && path == chosen) {
    void* const own = OwnFunction(found->function);
    const auto loaded = FileOf(own);
    if (loaded && IsSameFile(*loaded, path)) return CheckLibrary(*found, path, own);
    throw BadInput("{}: {}: the dynamic linker loaded {} instead (is LD_PRELOAD set?)", flag, path,
                   loaded.value_or("no such library"));
  }
  const auto preload = PreloadValue(std::getenv("LD_PRELOAD"), FilesToLoad(*found, path));
  setenv("LD_PRELOAD", preload.c_str(), 1);
  setenv(kChosen, path.c_str(), 1);
  Replace();
}

}  // namespace dlroof::workload
