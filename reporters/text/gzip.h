// Reader of files that may be compressed by gzip (RFC 1952).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace dlroof::text {

// Limits for uncompressed text [byte, times the file's bytes]: a file of a few MB may expand to
// more than the memory.
inline constexpr std::size_t kMaxUnpacked = std::size_t{1} << 30, kMaxExpansion = 1000;

bool IsGzip(std::string_view bytes);

// Returns the text of all members of gzip data. Throws BadInput, whose message begins with `where`,
// if the data are cut off, damaged, followed by other bytes, or expand to more than `most_bytes` or
// kMaxExpansion times their size.
std::string Unpack(std::string_view packed, const std::string& where,
                   std::size_t most_bytes = kMaxUnpacked);

// Returns the text of a file in UTF-8 without a byte order mark (WithoutByteOrder), uncompressed if
// the file begins with gzip's magic bytes, whatever its name. Throws BadInput like ReadFile and
// Unpack.
std::string ReadUnpacked(const std::string& path, std::string_view expected);

}  // namespace dlroof::text
