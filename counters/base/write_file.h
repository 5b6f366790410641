// Files as this project writes them: whole, or a sentence why not.
#pragma once

#include <filesystem>
#include <string_view>

namespace dlroof {

// A killed program leaves a whole file either way. A loss of power does so only with kNow.
enum class OnDisk { kLater, kNow };

// A plain file, or one that is not there yet: written beside its place and renamed, so that it is
// whole or as it was. Anything else (a pipe, a device, a link, a file that is mounted by itself) is
// written in its place. Throws BadInput: the path, and the system's reason.
void WriteFile(const std::filesystem::path& path, std::string_view text,
               OnDisk when = OnDisk::kLater);

}  // namespace dlroof
