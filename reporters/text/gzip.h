// Files that may be packed by gzip (RFC 1952).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace dlroof::text {

// [byte] A file of a few MB may unpack to more than the memory.
inline constexpr std::size_t kMostUnpacked = std::size_t{4} << 30;

bool IsGzip(std::string_view bytes);

// Returns the text of all members of packed bytes. Throws BadInput, which names `where`: they are
// cut off, damaged, followed by something else, or unpack to more than `most_bytes`.
std::string Unpack(std::string_view packed, const std::string& where,
                   std::size_t most_bytes = kMostUnpacked);

// Returns all bytes of a file, unpacked where it is packed by its first bytes, whatever its name
// is. Throws BadInput as ReadFile and Unpack.
std::string ReadUnpacked(const std::string& path, std::string_view expected);

}  // namespace dlroof::text
