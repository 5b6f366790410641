// Reads and writes whole files. A failure is one sentence with the path and the system's reason.
#pragma once

#include <filesystem>
#include <limits>
#include <string>
#include <string_view>

namespace dlroof {

// After the kill of a program its files are whole either way; after a loss of power only with kNow.
enum class OnDisk { kLater, kNow };

// Writes a plain or new file beside its place and renames it, so that it is whole or unchanged.
// Writes anything else (a pipe, a device, a link, a file that is mounted by itself) in its place.
// Throws BadInput.
void WriteFile(const std::filesystem::path& path, std::string_view text,
               OnDisk when = OnDisk::kLater);

// Returns all bytes of a file, a pipe or a device. Throws BadInput, which names `expected` ("a run
// file"): the path is a directory, cannot be read, or has more than `most_bytes`.
std::string ReadFile(const std::filesystem::path& path, std::string_view expected,
                     std::uintmax_t most_bytes = std::numeric_limits<std::uintmax_t>::max());

// Returns all bytes of a file that may be missing; empty: it cannot be read.
std::string ReadFileIfAny(const std::filesystem::path& path);

}  // namespace dlroof
