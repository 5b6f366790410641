#include "bench/workload/library_file.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>

namespace dlroof::workload {
namespace {

// Set in the new process image to the chosen file, so that a choice that has no effect is an error
// instead of an endless loop.
constexpr const char* kChosen = "DLROOF_CHOSEN_LIBRARY";

std::vector<ChoosableLibrary>& Registry() {
  static std::vector<ChoosableLibrary> registry;
  return registry;
}

// Returns the canonical path of the file that contains the code, or nothing if it is unknown.
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

// A library loaded to look at it, apart from the one that this program calls.
class OpenedLibrary {
 public:
  explicit OpenedLibrary(const std::string& file)
      : handle_(dlopen(file.c_str(), RTLD_LAZY | RTLD_LOCAL)) {
    if (handle_ == nullptr) throw BadInput("{}: cannot be loaded: {}", file, dlerror());
  }
  ~OpenedLibrary() { dlclose(handle_); }
  OpenedLibrary(const OpenedLibrary&) = delete;
  OpenedLibrary& operator=(const OpenedLibrary&) = delete;

  // Finds a function in the library and in the libraries that it needs.
  void* Find(const std::string& function) const { return dlsym(handle_, function.c_str()); }

 private:
  void* handle_;
};

void* OwnFunction(const std::string& function) { return dlsym(RTLD_DEFAULT, function.c_str()); }

// Throws BadInput if the function is not in `file` or the library cannot be used.
void CheckLibrary(const ChoosableLibrary& library, const std::string& file, void* function) {
  const auto owner = FileOf(function);
  if (!owner || !IsSameFile(*owner, file))
    throw BadInput("{}: not a library of {}: it does not define {}", file, library.title,
                   library.function);
  if (const auto reason = library.refusal(function)) throw BadInput("{}: {}", file, reason->text);
}

// Returns the files to load before all others: the chosen library, after the file of the function
// that it shares with this program if this program would find that function in another file.
std::vector<std::string> FilesToLoad(const ChoosableLibrary& library, const std::string& file) {
  const OpenedLibrary opened(file);
  CheckLibrary(library, file, opened.Find(library.function));
  std::vector<std::string> files;
  if (!library.shared_function.empty()) {
    const auto needed = FileOf(opened.Find(library.shared_function));
    const auto own = FileOf(OwnFunction(library.shared_function));
    if (needed && own && !IsSameFile(*needed, *own)) files.push_back(*needed);
  }
  files.push_back(file);
  return files;
}

// Starts this program again in this process, with its command line.
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
