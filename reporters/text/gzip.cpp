#include "reporters/text/gzip.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <limits>

#include "counters/base/error.h"
#include "counters/base/files.h"
#include "reporters/text/numbers.h"

namespace dlroof::text {
namespace {

constexpr std::size_t kPiece = 1 << 16;      // [byte] output buffer of one call of zlib
constexpr int kGzipWindow = 16 + MAX_WBITS;  // tells zlib to expect gzip's header and checksum

// zlib's state and the input that it has not read yet.
class Inflater {
 public:
  Inflater(std::string_view packed, std::string where)
      : left_(packed), bytes_(packed.size()), where_(std::move(where)) {
    if (inflateInit2(&stream_, kGzipWindow) != Z_OK)
      throw BadInput("{}: zlib cannot be initialised", where_);
  }
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  // Appends the uncompressed text of the next gzip member.
  void Member(std::string& text, std::size_t most_bytes) {
    inflateReset(&stream_);
    for (int state = Z_OK; state != Z_STREAM_END;) {
      state = Step(text);
      if (text.size() > most_bytes)
        throw BadInput("{}: unpacks to more than {} bytes", where_, most_bytes);
      if (text.size() > kMaxExpansion * (bytes_ - left_.size()) + kPiece)
        throw BadInput("{}: unpacks to more than {} times its size", where_, kMaxExpansion);
      if (state == Z_BUF_ERROR)
        throw BadInput(
            "{}: the gzip data are cut off after {} bytes of text, expected a complete file",
            where_, text.size());
      if (state != Z_OK && state != Z_STREAM_END)
        throw BadInput("{}: damaged gzip data after {} bytes of text{}{}", where_, text.size(),
                       stream_.msg == nullptr ? "" : ": ",
                       stream_.msg == nullptr ? "" : stream_.msg);
    }
  }

  std::string_view left() const { return left_; }

 private:
  int Step(std::string& text) {
    const auto size = std::min<std::size_t>(left_.size(), std::numeric_limits<uInt>::max());
    // zlib does not write to its input; older headers lack the const.
    stream_.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(left_.data()));
    stream_.avail_in = static_cast<uInt>(size);
    stream_.next_out = reinterpret_cast<Bytef*>(piece_.data());
    stream_.avail_out = static_cast<uInt>(piece_.size());
    const int state = inflate(&stream_, Z_NO_FLUSH);
    text.append(piece_.data(), piece_.size() - stream_.avail_out);
    left_.remove_prefix(size - stream_.avail_in);
    return state;
  }

  z_stream stream_ = {};
  std::string_view left_;
  std::size_t bytes_;  // of all members
  std::string where_;
  std::array<char, kPiece> piece_ = {};
};

}  // namespace

bool IsGzip(std::string_view bytes) { return bytes.starts_with("\x1f\x8b"); }

std::string Unpack(std::string_view packed, const std::string& where, std::size_t most_bytes) {
  std::string text;
  Inflater inflater(packed, where);
  do {
    inflater.Member(text, most_bytes);
  } while (IsGzip(inflater.left()));
  if (!inflater.left().empty())
    throw BadInput("{}: {} bytes that are not gzip data follow the gzip data", where,
                   inflater.left().size());
  return text;
}

std::string ReadUnpacked(const std::string& path, std::string_view expected) {
  auto bytes = ReadFile(path, expected);
  return WithoutByteOrder(IsGzip(bytes) ? Unpack(bytes, path) : std::move(bytes));
}

}  // namespace dlroof::text
