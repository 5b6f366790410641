// Where dlroof keeps what takes long to find out: ceilings, simulated counts.
#pragma once

#include <filesystem>
#include <optional>

namespace dlroof {

// $XDG_CACHE_HOME/dlroof, else $HOME/.cache/dlroof; absent when neither is an absolute path.
std::optional<std::filesystem::path> CacheDirectory();

}  // namespace dlroof
