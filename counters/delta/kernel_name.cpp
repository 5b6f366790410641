#include <algorithm>
#include <cctype>
#include <utility>
#include <vector>

#include "counters/base/keys.h"
#include "counters/delta/prediction.h"

namespace dlroof::delta {
namespace {

bool IsDigit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }
bool IsWord(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.'; }

// Splits at characters for which `belongs` returns false.
template <class Belongs>
std::vector<std::string_view> Words(std::string_view text, const Belongs& belongs) {
  std::vector<std::string_view> words;
  for (size_t at = 0; at < text.size();) {
    size_t end = at;
    while (end < text.size() && belongs(text[end])) ++end;
    if (end > at) words.push_back(text.substr(at, end - at));
    at = std::max(end, at + 1);
  }
  return words;
}

// Reads the sizes in "128x64x32" after `prefix`. If the word ends in "...", omits the last number,
// which may be incomplete. Returns an empty vector for words of another form.
std::vector<int64_t> SizesIn(std::string_view word, std::string_view prefix = "") {
  if (!word.starts_with(prefix)) return {};
  word.remove_prefix(prefix.size());
  std::vector<int64_t> sizes;
  while (!word.empty()) {
    const auto cross = word.find('x');
    const auto number = ParseNumber<int64_t>(word.substr(0, cross));
    if (!number) return word.find('.') == std::string_view::npos ? std::vector<int64_t>() : sizes;
    sizes.push_back(*number);
    if (cross == std::string_view::npos) break;
    word.remove_prefix(cross + 1);
  }
  return sizes;
}

bool IsTile(const std::vector<int64_t>& sizes) {
  const auto fits = [](int64_t size) { return size >= 8 && size <= 512 && size % 8 == 0; };
  return sizes.size() >= 2 && sizes.size() <= 3 && fits(sizes[0]) && fits(sizes[1]);
}

struct Name {
  std::vector<std::string_view> words;

  bool Has(std::string_view word) const { return std::ranges::count(words, word) > 0; }
  bool HasInside(std::string_view text) const {
    return std::ranges::any_of(
        words, [&](auto word) { return word.find(text) != std::string_view::npos; });
  }
  // Returns the sizes of the words that are only sizes ("128x64", at least two numbers), in order.
  std::vector<std::vector<int64_t>> PureSizes() const {
    std::vector<std::vector<int64_t>> all;
    for (const auto word : words)
      if (IsDigit(word.front()))
        if (auto sizes = SizesIn(word); sizes.size() >= 2) all.push_back(std::move(sizes));
    return all;
  }
};

std::optional<int> Architecture(const Name& name) {
  constexpr std::pair<std::string_view, int> kChips[] = {{"maxwell", 50}, {"pascal", 60},
                                                         {"volta", 70},   {"turing", 75},
                                                         {"ampere", 80},  {"hopper", 90}};
  for (size_t i = 0; i < name.words.size(); ++i) {
    const auto word = name.words[i];
    if (word.starts_with("sm"))
      if (const auto number = ParseNumber<int64_t>(word.substr(2)); number >= 50 && number < 200)
        return static_cast<int>(*number);
    if (word.ends_with("cutlass") && i + 1 < name.words.size())
      if (const auto number = ParseNumber<int64_t>(name.words[i + 1]); number >= 50 && number < 200)
        return static_cast<int>(*number);
    for (const auto& [chip, number] : kChips)
      if (word.ends_with(chip)) return number;
  }
  return std::nullopt;
}

bool OnMatrixUnits(const Name& name, std::optional<int> architecture) {
  for (const auto* part : {"tensorop", "884", "1688", "16816", "16832", "hmma", "imma"})
    if (name.HasInside(part)) return true;
  if (name.HasInside("simt") || name.Has("ffma") || name.HasInside("sgemm")) return false;
  if (name.HasInside("nvjet") || architecture.value_or(0) >= 90) return true;
  // "f32f32_f32f32" means products in f32, which no matrix unit computes; "ffma" may be cut off.
  return name.Has("xmma") && architecture.value_or(0) >= 80 &&
         std::ranges::count(name.words, "f32f32") < 2;
}

}  // namespace

std::optional<KernelTiling> ReadKernelName(std::string_view text) {
  const Name name{Words(text, IsWord)};
  for (size_t i = 0; i + 1 < name.words.size(); ++i)
    if (name.words[i] == "split" && name.words[i + 1] == "k") return std::nullopt;
  KernelTiling tiling;
  tiling.architecture = Architecture(name);
  tiling.matrix_units = OnMatrixUnits(name, tiling.architecture);
  tiling.valid_taps_only = name.Has("strided");
  const auto pure = name.PureSizes();
  const auto take = [&](const std::vector<int64_t>& sizes) {
    tiling.m = sizes[0];
    tiling.n = sizes[1];
    if (sizes.size() > 2) tiling.k = sizes[2];
  };
  const auto take_k = [&](const std::vector<int64_t>& sizes) {  // from "k x stages"
    if (sizes.size() == 2) tiling.k = sizes[0];
  };
  const auto take_cluster = [&](const std::vector<int64_t>& sizes) {
    tiling.cluster_m = sizes[0];
    tiling.cluster_n = sizes[1];
  };
  for (const auto word : name.words)
    if (const auto sizes = SizesIn(word, "tilesize"); IsTile(sizes)) take(sizes);
  if (tiling.m > 0) return tiling;
  const auto first = std::ranges::find_if(pure, IsTile);
  if (first == pure.end()) return std::nullopt;
  take(*first);
  const auto left = static_cast<size_t>(pure.end() - first) - 1;
  if (name.HasInside("nvjet")) {
    if (left >= 1) take_k(first[1]);
    if (left >= 2) take_cluster(first[2]);
  } else if (name.HasInside("cutlass3x")) {
    if (left >= 1 && first[1].size() == 3) take_cluster(first[1]);
  } else if (left >= 1 && (name.HasInside("cutlass") || name.Has("stages"))) {
    take_k(first[1]);
  }
  return tiling;
}

std::optional<KernelTiling> FindKernelTiling(std::string_view text) {
  for (const auto name : Words(text, [](char c) { return IsWord(c) || c == '_'; }))
    if (auto tiling = ReadKernelName(name)) return tiling;
  return std::nullopt;
}

std::optional<EngineKnobs> ReadEngine(std::string_view text) {
  const auto engine = text.find("engine ");
  if (engine == std::string_view::npos) return std::nullopt;
  const auto open = text.find('(', engine), close = text.find(')', engine);
  if (open == std::string_view::npos || close == std::string_view::npos || open > close ||
      text.substr(engine, open - engine).find(',') != std::string_view::npos)
    return std::nullopt;
  EngineKnobs knobs;
  const std::pair<std::string_view, std::optional<int64_t> EngineKnobs::*> known[] = {
      {"tile_size", &EngineKnobs::tile_size},  {"tilek", &EngineKnobs::tilek},
      {"idx_mode", &EngineKnobs::idx_mode},    {"split_k", &EngineKnobs::split_k},
      {"tile_cga_m", &EngineKnobs::cluster_m}, {"tile_cga_n", &EngineKnobs::cluster_n}};
  const auto word = [](char c) { return IsWord(c) || c == '_'; };
  const auto words = Words(text.substr(open, close - open), word);
  for (size_t i = 0; i + 1 < words.size(); ++i)
    for (const auto& [key, field] : known)
      if (words[i] == key) knobs.*field = ParseNumber<int64_t>(words[i + 1]);
  const auto rest = Words(text.substr(close), word);
  for (size_t i = 0; i + 1 < rest.size(); ++i)
    if (rest[i] == "workspace") knobs.workspace_bytes = ParseNumber<int64_t>(rest[i + 1]);
  return knobs;
}

std::optional<KernelTiling> TilingOf(const EngineKnobs& knobs) {
  constexpr std::pair<int64_t, int64_t> kRows[] = {{1, 128}, {4, 256}, {5, 64}};  // by tile_size
  if (!knobs.cluster_m || !knobs.cluster_n || (knobs.tilek != 0 && knobs.tilek != 1))
    return std::nullopt;
  for (const auto& [tile_size, m] : kRows)
    if (tile_size == knobs.tile_size)
      return KernelTiling{.m = m,
                          .n = 64,
                          .k = knobs.tilek == 0 ? 32 : 64,
                          .cluster_m = knobs.cluster_m,
                          .cluster_n = knobs.cluster_n,
                          .architecture = 90,
                          .matrix_units = true,
                          .valid_taps_only = knobs.idx_mode == 1};
  return std::nullopt;
}

std::optional<int64_t> SlicesByWorkspace(const EngineKnobs& knobs, const KernelTiling& tiling,
                                         int64_t tiles_m, int64_t tiles_n) {
  if (!knobs.workspace_bytes) return std::nullopt;
  constexpr int64_t kSumBytes = 4;
  const int64_t slots = *knobs.workspace_bytes / (tiling.m * tiling.n * kSumBytes);
  if (slots == 0) return 1;
  const auto in_clusters = [](int64_t tiles, std::optional<int64_t> cluster) {
    const int64_t size = std::max<int64_t>(1, cluster.value_or(1));
    return (tiles + size - 1) / size * size;
  };
  const int64_t tiles =
      in_clusters(tiles_m, tiling.cluster_m) * in_clusters(tiles_n, tiling.cluster_n);
  if (slots % tiles != 0) return std::nullopt;
  return slots / tiles;
}

}  // namespace dlroof::delta
