#include "bench/cluster/sha256.h"

#include <fmt/format.h>
#include <nettle/sha2.h>

#include <array>

namespace dlroof::cluster_run {

std::string Sha256(std::string_view bytes) {
  sha256_ctx context;
  sha256_init(&context);
  sha256_update(&context, bytes.size(), reinterpret_cast<const uint8_t*>(bytes.data()));
  std::array<uint8_t, SHA256_DIGEST_SIZE> digest{};
  sha256_digest(&context, digest.size(), digest.data());
  std::string text;
  for (const auto byte : digest) text += fmt::format("{:02x}", byte);
  return text;
}

}  // namespace dlroof::cluster_run
