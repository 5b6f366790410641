// Reader of files that may be packed by gzip (RFC 1952), xz or zstd (RFC 8878).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace dlroof::text {

// Limits of the unpacked text: size [byte], and size / packed size [1]. A file of a few MB may
// expand to more than the memory.
inline constexpr std::size_t kMaxUnpacked = std::size_t{1} << 30, kMaxExpansion = 1000;

// Returns whether the text begins with the magic bytes of a packed file.
bool IsPacked(std::string_view bytes);

// Returns the text of all members of packed data. Throws BadInput, whose message begins with
// `where`, if the data are cut off, damaged, followed by other bytes, or expand to more than
// `most_bytes` or kMaxExpansion times their size.
std::string Unpack(std::string_view packed, const std::string& where,
                   std::size_t most_bytes = kMaxUnpacked);

// Returns the text in UTF-8 without a byte order mark (WithoutByteOrder), unpacked if it is packed,
// without colours, and without the prefixes that a container's log has before each line.
std::string PlainText(std::string bytes, const std::string& where);

// Returns the plain text of a file, whatever its name. Throws BadInput like ReadFile and Unpack.
std::string ReadUnpacked(const std::string& path, std::string_view expected);

}  // namespace dlroof::text
