// SHA-256 (FIPS 180-4) by nettle.
#pragma once

#include <string>
#include <string_view>

namespace dlroof::cluster_run {

// Returns 64 hexadecimal digits, as sha256sum prints them.
std::string Sha256(std::string_view bytes);

}  // namespace dlroof::cluster_run
