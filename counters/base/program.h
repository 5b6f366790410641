// Exit codes and error messages of all programs, and the folders that were installed with them.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dlroof {

// Calls `run` and returns its exit code. If `run` throws, writes `name` and the message to standard
// error and returns: after an interrupt InterruptCode(); for BadInput and refusals by the system
// (memory, files) 2; for any other exception, which is a bug, 70. Returns 2 if the output could not
// be written completely: the disk is full, or standard output is closed (">&-"). First opens
// /dev/null in place of closed standard streams, so that no other file gets their numbers.
int RunProgram(const char* name, const std::function<int()>& run);

// Returns the candidate with the smallest edit distance to `name` (the first of several), where a
// swap of adjacent characters is one edit. Returns nullopt if the distance is more than a third of
// the longer name's length, rounded up.
std::optional<std::string> NearestName(std::string_view name,
                                       const std::vector<std::string>& candidates);

// Returns the error message for an unknown name of a `kind` such as "command":
// "unknown command 'reprot'; did you mean 'report'? dlroof --help lists all".
std::string UnknownName(std::string_view kind, std::string_view name,
                        const std::optional<std::string>& nearest, std::string_view program);

// The folders of an installation or of a build folder. They are found relative to a program's own
// path, so that an installation can be moved and no program contains a path of the build machine.
struct Installation {
  std::filesystem::path programs;   // dlroof, dlroof_bench
  std::filesystem::path libraries;  // libdlroof_cuda.so, if the build has one
  std::filesystem::path data;       // baselines/<machine>/*.json: stored runs
};

// Returns the path of this program with symbolic links resolved, or "" if /proc does not tell it.
std::filesystem::path ProgramPath();

// Returns the installation that a program belongs to. `program` is an absolute path with symbolic
// links resolved. A program P/bin/x is installed if P/share/dlroof exists; its libraries are in
// P/lib/dlroof. A program B/x is in a build folder if B/share/dlroof exists; its libraries are in
// B. Returns nullopt for any other program.
std::optional<Installation> InstallationOf(const std::filesystem::path& program);

// Returns this program's installation. If it has none, because it is a benchmark program of a user
// that is linked with dlroof's library, returns the installation of the `dlroof` in PATH.
std::optional<Installation> ThisInstallation();

// Returns the folder of the data: the environment variable DLROOF_DATA if it is set and not empty,
// otherwise the data of this program's installation, if it has one. The folder may not exist.
std::optional<std::filesystem::path> DataFolder();

}  // namespace dlroof
