#include "ceilings/cpu_bytes_probes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace dlroof {
namespace {

constexpr std::size_t kPadFloats = 64;  // 256 byte
constexpr std::size_t kWidestStepFloats = 256;
constexpr double kUnknownCacheDramBytes = 1 << 30;  // when no cache size is known

std::string Size(double bytes) {
  if (bytes < 1024 * 1024) return fmt::format("{:.3g} KiB", bytes / 1024);
  return fmt::format("{:.4g} MiB", bytes / (1024 * 1024));
}

const char* Name(Level level) {
  return level == Level::kL1 ? "L1" : level == Level::kL2 ? "L2" : "L3";
}

struct Shares {
  std::map<Level, CacheShare> of;

  std::optional<double> PerThread(Level level) const {
    const auto found = of.find(level);
    if (found == of.end()) return std::nullopt;
    return found->second.bytes / found->second.sharers;
  }
};

std::string ShareText(const CacheShare& share) {
  if (share.sharers == 1) return Size(share.bytes);
  return fmt::format("{} for {} threads", Size(share.bytes), share.sharers);
}

void ChooseNear(Level level, const Shares& shares, WorkingSets& result) {
  const auto share = shares.PerThread(level);
  if (!share) {
    result.absent[level] = fmt::format("the system does not tell the size of {}", Name(level));
    return;
  }
  const double bytes = *share / 2;
  result.sets[level] = {bytes,
                        fmt::format("{} per thread, half of its share of {} ({})", Size(bytes),
                                    Name(level), ShareText(shares.of.at(level))),
                        {}};
}

void ChooseL3(const Shares& shares, WorkingSets& result) {
  const auto l2 = shares.PerThread(Level::kL2);
  const auto l3 = shares.PerThread(Level::kL3);
  if (!l2 || !l3) {
    result.absent[Level::kL3] = "the system does not tell the sizes of L2 and L3";
    return;
  }
  if (*l3 < 2 * *l2) {
    result.absent[Level::kL3] = fmt::format(
        "a thread's share of L3 ({}) is less than twice its share of L2 ({}): no working set is in "
        "L3 and not in L2",
        Size(*l3), Size(*l2));
    return;
  }
  const double bytes = std::min(0.75 * *l3, std::max(3 * *l2, std::sqrt(*l2 * *l3)));
  result.sets[Level::kL3] = {
      bytes,
      fmt::format("{} per thread, between L2 ({}) and L3 ({})", Size(bytes),
                  ShareText(shares.of.at(Level::kL2)), ShareText(shares.of.at(Level::kL3))),
      {}};
}

// All caches count that a line could stay in: an exclusive L3 adds to L2.
double LastLevelBytes(const Shares& shares) {
  double bytes = 0;
  for (const auto& [level, share] : shares.of) bytes = std::max(bytes, share.total_bytes);
  return bytes;
}

void ChooseDram(const Shares& shares, double threads, std::optional<double> available_bytes,
                WorkingSets& result) {
  const double cached = LastLevelBytes(shares);
  const bool known = cached > 0;
  const double wanted = known ? 4 * cached : kUnknownCacheDramBytes;
  const double total = std::min(wanted, available_bytes ? *available_bytes / 2 : wanted);
  WorkingSet set{total / threads, fmt::format("{} over all threads", Size(total)), {}};
  if (known) {
    set.how += fmt::format(", {:.1f} x the last-level caches ({})", total / cached, Size(cached));
    if (total < wanted)
      set.doubt = fmt::format(
          "memory for only {:.1f} x the last-level caches is available, 4 x are needed: part of "
          "the traffic may not have reached DRAM",
          total / cached);
  } else {
    set.doubt = "no cache size is known: part of the traffic may not have reached DRAM";
  }
  result.sets[Level::kDram] = set;
}

}  // namespace

BytesIsa WidestBytesIsa(const std::set<std::string>& features) {
  for (auto& isa : {BytesAvx512(), BytesAvx2()})
    if (std::all_of(isa.needs.begin(), isa.needs.end(),
                    [&](const std::string& need) { return features.contains(need); }))
      return isa;
  return BytesSse2();
}

std::vector<Mix> MixesFor(const BytesIsa& isa, Level level) {
  std::vector<Mix> mixes = {{"load", 1, isa.load}, {"copy", 2, isa.copy}, {"triad", 3, isa.triad}};
  if (level == Level::kDram) {
    mixes.push_back({"copy with non-temporal stores", 2, isa.streaming_copy});
    mixes.push_back({"triad with non-temporal stores", 3, isa.streaming_triad});
  }
  return mixes;
}

WorkingSets ChooseWorkingSets(const Topology& topology, const std::vector<int>& cpus,
                              std::optional<double> available_bytes) {
  Shares shares;
  for (const Level level : {Level::kL1, Level::kL2, Level::kL3})
    if (const auto share = ShareOf(topology, level, cpus)) shares.of[level] = *share;
  WorkingSets result;
  ChooseNear(Level::kL1, shares, result);
  ChooseNear(Level::kL2, shares, result);
  ChooseL3(shares, result);
  ChooseDram(shares, static_cast<double>(std::max<std::size_t>(1, cpus.size())), available_bytes,
             result);
  return result;
}

std::size_t MemoryBytes(double set_bytes) {
  // Three paddings, and one step of the widest kernel per stream when the set is tiny.
  return static_cast<std::size_t>(std::ceil(set_bytes)) +
         3 * (kPadFloats + kWidestStepFloats) * sizeof(float);
}

void LayArrays(char* memory, double set_bytes, int streams, std::size_t step_floats,
               Workspace& workspace) {
  const double floats = set_bytes / streams / static_cast<double>(sizeof(float));
  const auto steps = static_cast<std::size_t>(floats) / step_floats;
  workspace.floats = std::max<std::size_t>(1, steps) * step_floats;
  workspace.next = 0;
  workspace.arrays.fill(nullptr);
  for (int i = 0; i < streams; ++i)
    workspace.arrays[static_cast<std::size_t>(i)] =
        reinterpret_cast<float*>(memory) +
        static_cast<std::size_t>(i) * (workspace.floats + kPadFloats);
}

}  // namespace dlroof
