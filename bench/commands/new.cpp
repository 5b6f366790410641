// dlroof new: writes a folder with an example benchmark, which the user changes.
#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string_view>

#include "bench/commands/commands.h"
#include "counters/base/error.h"
#include "counters/base/files.h"
#include "counters/base/version.h"

namespace dlroof::commands {

const std::vector<EmbeddedFile>& ProjectFiles();  // project/*, embedded

namespace {

namespace fs = std::filesystem;

// Names reserved by CMake for targets, or used by dlroof's package.
constexpr std::array<std::string_view, 12> kReserved = {
    "all",  "clean",   "depend",  "dlroof",         "edit_cache", "help",
    "test", "install", "package", "package_source", "preinstall", "rebuild_cache"};

// Returns the name of project, target and file: the folder's. Throws BadInput if CMake rejects it.
std::string ProjectName(const fs::path& folder) {
  const auto name = folder.filename().string();
  const bool valid = !name.empty() && std::isalpha(static_cast<unsigned char>(name.front())) &&
                     std::ranges::all_of(name, [](unsigned char c) {
                       return c < 0x80 && (std::isalnum(c) || c == '_' || c == '-');
                     });
  if (!valid)
    throw BadInput(
        "new: '{}': expected a name of letters, digits, '_' and '-' that begins with a letter, "
        "such as mybench",
        name);
  if (std::ranges::count(kReserved, name) > 0)
    throw BadInput("new: '{}': this name is reserved by CMake or dlroof; expected another", name);
  return name;
}

// Replaces "@NAME@" by the project's name and "@VERSION@" by this dlroof's version ("major.minor"),
// the oldest that the project accepts.
std::string Filled(std::string_view text, const std::string& name) {
  std::string_view version = kVersion;
  version = version.substr(0, version.find('.', version.find('.') + 1));
  std::string filled(text);
  const std::pair<std::string_view, std::string_view> values[] = {{"@NAME@", name},
                                                                  {"@VERSION@", version}};
  for (const auto& [key, value] : values)
    for (auto at = filled.find(key); at != filled.npos; at = filled.find(key, at + value.size()))
      filled.replace(at, key.size(), value);
  return filled;
}

int WriteProject(const std::string& path) {
  auto folder = fs::path(path).lexically_normal();
  if (!folder.has_filename()) folder = folder.parent_path();  // "mybench/"
  const auto name = ProjectName(folder);
  if (fs::exists(fs::symlink_status(folder)))
    throw BadInput("new: {}: exists already; expected the name of a new folder", folder.string());
  CreateFolder(folder);
  for (const auto& [file, template_name] :
       {std::pair<std::string, const char*>{"CMakeLists.txt", "CMakeLists"},
        {name + ".cpp", "benchmark"},
        {"README.md", "README"}}) {
    WriteFile(folder / file, Filled(TextOf(ProjectFiles(), template_name), name));
    std::cout << "wrote " << (folder / file).string() << '\n';
  }
  std::cout << "next: cmake -S " << folder.string() << " -B " << (folder / "build").string()
            << " && cmake --build " << (folder / "build").string() << " && "
            << (folder / "build" / name).string() << '\n'
            << std::flush;
  return 0;
}

Command MakeNew() {
  auto folder = std::make_shared<std::string>();
  return {
      .name = "new",
      .about = "write a folder with a first benchmark of your own, to be built with CMake",
      .options = {Ruled("NAME", {.required = true}, folder.get(),
                        "name of the new folder and of its benchmark program, such as mybench")},
      .run = [folder] { return WriteProject(*folder); }};
}

[[maybe_unused]] const bool new_registered = RegisterCommand(MakeNew);

}  // namespace
}  // namespace dlroof::commands
