#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <vector>

#include "bench/benchdnn/problem.h"
#include "bench/benchdnn/tokens.h"
#include "bench/benchdnn/values.h"
#include "bench/matmul/benchdnn.h"

namespace dlroof {
namespace {

constexpr std::string_view kTypeWords = "undef f32 bf16 f16 s32 s8 u8";

constexpr std::array<BenchdnnOption, 16> kMatmulOptions = {{
    {"dt", "f32:f32:f32", "", ReadDataTypes},
    {"stag", "any", "", ReadLayout},
    {"wtag", "any", "", ReadLayout},
    {"dtag", "any", "", ReadLayout},
    {"encoding", "", "", nullptr},
    {"strides", "", "", nullptr},
    {"runtime_dims_masks", "", "", nullptr},
    {"attr-scales", "", "", ReadScales},
    {"attr-zero-points", "", "", ReadZeroPoints},
    {"attr-post-ops", "", "", ReadPostOps},
    {"attr-scratchpad", "library", "library user"},
    {"ctx-init", "auto", "", ReadThreads},
    {"ctx-exe", "auto", "", ReadThreads},
    {"attr-fpmath", "strict", kBenchdnnFpmath},
    {"bia_dt", "undef", kTypeWords},
    {"bia_mask", "2", "", ReadCount},
}};

constexpr std::array<BenchdnnOption, 13> kIpOptions = {{
    {"dir", "FWD_B", "FWD_B FWD_D FWD_I BWD_D BWD_W BWD_WB BWD_DW"},
    {"dt", "f32:f32:f32", "", ReadDataTypes},
    {"cfg", "",
     "f32 f16 f16f16f32 f32f16f16 f16f32f16 f16f16s8 f16f16u8 u8s8f32 u8s8s32 u8s8s8 u8s8u8 "
     "s8s8f32 s8s8s32 s8s8s8 s8s8u8 s8s8bf16 u8s8bf16 s8s8f16 u8s8f16 bf16bf16f32 bf16bf16bf16 "
     "f32bf16bf16 bf16f32bf16"},
    {"stag", "any", "", ReadLayout},
    {"wtag", "any", "", ReadLayout},
    {"dtag", "any", "", ReadLayout},
    {"attr-scales", "", "", ReadScales},
    {"attr-post-ops", "", "", ReadPostOps},
    {"attr-scratchpad", "library", "library user"},
    {"attr-fpmath", "strict", kBenchdnnFpmath},
    {"ctx-init", "auto", "", ReadThreads},
    {"ctx-exe", "auto", "", ReadThreads},
    {"mb", "0", "", ReadCount},
}};

// Reads "12x128x64" from `at` to a character that is neither digit nor x.
std::vector<int64_t> ReadSizes(std::string_view text, size_t& at) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  std::vector<int64_t> sizes;
  for (;;) {
    int64_t size = 0;
    const auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), size);
    if (error != std::errc() || size < 1 || size > kMost)
      throw BenchdnnRefusal(at, fmt::format("expected a size, an integer from 1 to {}", kMost));
    at = static_cast<size_t>(end - text.data());
    sizes.push_back(size);
    if (at == text.size() || text[at] != 'x') return sizes;
    ++at;
  }
}

// Reads the factors and, where it is there, the result.
std::vector<std::vector<int64_t>> ReadMatrices(std::string_view text, size_t& at) {
  std::vector<std::vector<int64_t>> matrices;
  for (;;) {
    matrices.push_back(ReadSizes(text, at));
    if (at == text.size() || text[at] != ':') break;
    ++at;
  }
  if (matrices.size() < 2)
    throw BenchdnnRefusal(0, "expected MxK:KxN or MxK:KxN:MxN, with batches before each");
  if (matrices[0].size() < 2 || matrices[1].size() != matrices[0].size())
    throw BenchdnnRefusal(0, "both factors have as many dimensions, 2 or more");
  return matrices;
}

}  // namespace

std::span<const BenchdnnOption> MatmulDriverOptions() { return kMatmulOptions; }
std::span<const BenchdnnOption> IpDriverOptions() { return kIpOptions; }

BenchdnnMatmul ReadBenchdnnMatmul(std::string_view text) {
  size_t at = 0;
  const auto matrices = ReadMatrices(text, at);
  BenchdnnMatmul read{.listed = std::string(text.substr(0, at))};
  // benchdnn passes over what follows a size up to the name, and its lists have names without n.
  if (at < text.size() && std::string_view("_n\"").find(text[at]) == std::string_view::npos)
    throw BenchdnnRefusal(at, "expected the name after n, or the end");
  const auto& a = matrices[0];
  const auto& b = matrices[1];
  const size_t last = a.size() - 1;
  read.problem = {last == 2 ? a[0] : 1, a[last - 1], b[last], a[last]};
  if (b[last - 1] != a[last])
    throw BenchdnnRefusal(
        0, fmt::format("the factors do not fit: {} columns, {} rows", a[last], b[last - 1]));
  if (last > 2) read.strange = fmt::format("{}-D matmul", last + 1);
  if (!std::equal(a.begin(), a.end() - 2, b.begin())) read.strange = "broadcast batch";
  auto result = a;
  result[last] = b[last];
  const bool fits = matrices.size() == 2 || (matrices.size() == 3 && matrices[2] == result);
  if (!fits && read.strange.empty()) read.strange = "result of other sizes";
  return read;
}

BenchdnnIp ReadBenchdnnIp(std::string_view text) {
  BenchdnnIp p;
  const std::array<BenchdnnLetter, 6> letters = {{{"mb", &p.samples},
                                                  {"ic", &p.in_channels},
                                                  {"id", &p.depth},
                                                  {"ih", &p.height},
                                                  {"iw", &p.width},
                                                  {"oc", &p.out_channels}}};
  ReadLetters(text, letters);
  RequireLetter(p.in_channels, "ic");
  RequireLetter(p.out_channels, "oc");
  return p;
}

std::string ToText(const BenchdnnIp& p) {
  std::string text = p.samples != 2 ? fmt::format("mb{}", p.samples) : "";
  text += fmt::format("ic{}", p.in_channels);
  if (p.depth != 0) text += fmt::format("id{}", p.depth);
  if (p.height != 0) text += fmt::format("ih{}", p.height);
  if (p.width != 0) text += fmt::format("iw{}", p.width);
  return text + fmt::format("oc{}", p.out_channels);
}

}  // namespace dlroof
