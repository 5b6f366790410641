#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <memory>

#include "counters/base/error.h"
#include "counters/base/files.h"
#include "counters/base/keys.h"
#include "reporters/text/numbers.h"
#include "reporters/text/text.h"

namespace dlroof::text {
namespace {

constexpr int kGzipWindow = 16 + MAX_WBITS;  // makes zlib expect gzip's header and checksum
// [byte] Memory limit for xz (xz -9 needs 65 MiB). zstd has a limit of its own, 128 MiB.
constexpr std::uint64_t kMaxDecoderBytes = std::uint64_t{1} << 28;

using Piece = std::array<char, 1 << 16>;

enum class State { kMore, kEnd, kCutOff, kDamaged };

struct Step {
  State state;
  std::size_t read, written;  // [byte] read of the packed data, written to the piece
};

// Decodes one member of packed data (a packed file may be several in a row). Each call reads from
// `left`, the rest of the data, and writes a piece of text.
using Decoder = std::function<Step(std::string_view left, Piece& piece)>;

Decoder Gzip() {
  const std::shared_ptr<z_stream> stream(new z_stream(), [](z_stream* used) {
    inflateEnd(used);
    delete used;
  });
  const bool ready = inflateInit2(stream.get(), kGzipWindow) == Z_OK;
  return [=](std::string_view left, Piece& piece) -> Step {
    const auto size = std::min<std::size_t>(left.size(), std::numeric_limits<uInt>::max());
    // zlib does not write to its input, but older headers lack the const.
    stream->next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(left.data()));
    stream->avail_in = static_cast<uInt>(size);
    stream->next_out = reinterpret_cast<Bytef*>(piece.data());
    stream->avail_out = static_cast<uInt>(piece.size());
    const int state = ready ? inflate(stream.get(), Z_NO_FLUSH) : Z_MEM_ERROR;
    return {state == Z_OK           ? State::kMore
            : state == Z_STREAM_END ? State::kEnd
            : state == Z_BUF_ERROR  ? State::kCutOff
                                    : State::kDamaged,
            size - stream->avail_in, piece.size() - stream->avail_out};
  };
}

Decoder Xz() {
  const std::shared_ptr<lzma_stream> stream(new lzma_stream(LZMA_STREAM_INIT),
                                            [](lzma_stream* used) {
                                              lzma_end(used);
                                              delete used;
                                            });
  const bool ready = lzma_stream_decoder(stream.get(), kMaxDecoderBytes, 0) == LZMA_OK;
  return [=](std::string_view left, Piece& piece) {
    stream->next_in = reinterpret_cast<const std::uint8_t*>(left.data());
    stream->avail_in = left.size();
    stream->next_out = reinterpret_cast<std::uint8_t*>(piece.data());
    stream->avail_out = piece.size();
    const auto state = ready ? lzma_code(stream.get(), LZMA_RUN) : LZMA_MEM_ERROR;
    const Step step = {state == LZMA_OK           ? State::kMore
                       : state == LZMA_STREAM_END ? State::kEnd
                                                  : State::kDamaged,
                       left.size() - stream->avail_in, piece.size() - stream->avail_out};
    const bool stuck = left.empty() && step.written == 0 && step.state == State::kMore;
    return stuck || state == LZMA_BUF_ERROR ? Step{State::kCutOff, 0, 0} : step;
  };
}

Decoder Zstd() {
  const std::shared_ptr<ZSTD_DStream> stream(ZSTD_createDStream(), ZSTD_freeDStream);
  return [=](std::string_view left, Piece& piece) -> Step {
    ZSTD_inBuffer in = {left.data(), left.size(), 0};
    ZSTD_outBuffer out = {piece.data(), piece.size(), 0};
    const auto state = ZSTD_decompressStream(stream.get(), &out, &in);
    return {ZSTD_isError(state) != 0      ? State::kDamaged
            : state == 0                  ? State::kEnd
            : in.pos == 0 && out.pos == 0 ? State::kCutOff
                                          : State::kMore,
            in.pos, out.pos};
  };
}

struct Packing {
  std::string_view magic, name;
  Decoder (*make)();
};
constexpr Packing kPackings[] = {{"\x1f\x8b", "gzip", Gzip},
                                 {std::string_view("\xFD"
                                                   "7zXZ\0",
                                                   6),
                                  "xz", Xz},
                                 {"\x28\xB5\x2F\xFD", "zstd", Zstd}};

const Packing* PackingOf(std::string_view bytes) {
  return FindIf(kPackings, [&](const auto& packing) { return bytes.starts_with(packing.magic); });
}

}  // namespace

bool IsPacked(std::string_view bytes) { return PackingOf(bytes) != nullptr; }

std::string Unpack(std::string_view packed, const std::string& where, std::size_t most_bytes) {
  std::string text;
  const auto* packing = PackingOf(packed);
  if (packing == nullptr) throw BadInput("{}: expected packed data", where);
  auto left = packed;
  const auto piece = std::make_unique<Piece>();
  do {
    const auto decoder = packing->make();
    for (auto state = State::kMore; state != State::kEnd;) {
      const auto step = decoder(left, *piece);
      state = step.state;
      left.remove_prefix(step.read);
      text.append(piece->data(), step.written);
      if (text.size() > most_bytes)
        throw BadInput("{}: unpacks to more than {} bytes", where, most_bytes);
      if (text.size() > kMaxExpansion * (packed.size() - left.size()) + piece->size())
        throw BadInput("{}: unpacks to more than {} times its size", where, kMaxExpansion);
      if (state == State::kCutOff)
        throw BadInput(
            "{}: the {} data are cut off after {} bytes of text, expected a complete file", where,
            packing->name, text.size());
      if (state == State::kDamaged)
        throw BadInput("{}: damaged {} data after {} bytes of text", where, packing->name,
                       text.size());
    }
  } while (left.starts_with(packing->magic));
  if (!left.empty())
    throw BadInput("{}: {} bytes that are not {} data follow the {} data", where, left.size(),
                   packing->name, packing->name);
  return text;
}

std::string PlainText(std::string bytes, const std::string& where) {
  auto text = WithoutByteOrder(IsPacked(bytes) ? Unpack(bytes, where) : std::move(bytes));
  return text.find('\x1b') == text.npos ? text : WithoutEscapes(text);
}

std::string ReadUnpacked(const std::string& path, std::string_view expected) {
  return PlainText(ReadFile(path, expected), path);
}

}  // namespace dlroof::text
