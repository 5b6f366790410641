#include "ceilings/cpu_ceilings/working_sets.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <set>
#include <utility>

namespace dlroof::cpu_ceilings {
namespace {

constexpr double kNearerShares = 3;  // L3 working sets are at least this x a thread's L2
// Working sets as parts of a thread's share of a cache. The usually fastest part comes first: in L2
// a small one (a quarter is 6 % faster than a half on Cascade Lake).
using Parts = std::initializer_list<std::pair<double, const char*>>;
constexpr std::pair<double, const char*> kHalf = {1 / 2.0, "half"},
                                         kQuarter = {1 / 4.0, "a quarter"},
                                         kMax = {3 / 4.0, "three quarters"};

const char* Name(Level level) {
  return level == Level::kL1 ? "L1" : level == Level::kL2 ? "L2" : "L3";
}

using Shares = std::map<Level, cpu::CacheShare>;

Shares SharesOf(const cpu::Topology& topology, const std::vector<int>& cpus) {
  Shares shares;
  for (const Level level : {Level::kL1, Level::kL2, Level::kL3})
    if (const auto share = cpu::ShareOf(topology, level, cpus)) shares[level] = *share;
  return shares;
}

std::optional<double> OfThread(const Shares& shares, Level level) {
  const auto found = shares.find(level);
  if (found == shares.end()) return std::nullopt;
  return found->second.bytes / found->second.sharers;
}

std::string ShareText(const cpu::CacheShare& share) {
  if (share.sharers == 1) return SizeText(share.bytes);
  return fmt::format("{} for {} threads", SizeText(share.bytes), share.sharers);
}

void ChooseNear(Level level, Parts parts, const Shares& shares, WorkingSets& result) {
  const auto share = OfThread(shares, level);
  if (!share) {
    result.absent[level] = fmt::format("the system does not report the size of {}", Name(level));
    return;
  }
  const double nearer = level == Level::kL2 ? OfThread(shares, Level::kL1).value_or(0) : 0;
  for (const auto& [part, name] : parts) {
    const double bytes = *share * part;
    if (bytes < kServedBelow * nearer && bytes < *share / 2) continue;
    result.sets[level].push_back(
        {bytes,
         fmt::format("{} per thread, {} of its share of {} ({})", SizeText(bytes), name,
                     Name(level), ShareText(shares.at(level))),
         {}});
  }
}

void ChooseL3(const Shares& shares, WorkingSets& result) {
  const auto l2 = OfThread(shares, Level::kL2);
  const auto l3 = OfThread(shares, Level::kL3);
  if (!l2 || !l3) {
    result.absent[Level::kL3] = "the system does not report the sizes of L2 and L3";
    return;
  }
  if (*l3 < 2 * *l2) {
    result.absent[Level::kL3] = fmt::format(
        "a thread's share of L3 ({}) is less than twice its share of L2 ({}): no working set is in "
        "L3 and not in L2",
        SizeText(*l3), SizeText(*l2));
    return;
  }
  const double least = kNearerShares * *l2;
  std::set<double> seen;
  for (const double wanted : {std::sqrt(*l2 * *l3), *l3 / 2, least}) {
    const double bytes = std::min(0.75 * *l3, std::max(least, wanted));
    if (!seen.insert(bytes).second) continue;
    result.sets[Level::kL3].push_back(
        {bytes,
         fmt::format("{} per thread, between L2 ({}) and L3 ({})", SizeText(bytes),
                     ShareText(shares.at(Level::kL2)), ShareText(shares.at(Level::kL3))),
         {}});
  }
}

// Returns the total size of all caches, summed over levels because an exclusive L3 adds to L2.
double CachedBytes(const Shares& shares) {
  double bytes = 0;
  for (const auto& [level, share] : shares) bytes += share.total_bytes;
  return bytes;
}

void ChooseDram(const Shares& shares, double threads, std::optional<double> available_bytes,
                WorkingSets& result) {
  const double cached = CachedBytes(shares);
  const bool known = cached > 0;
  const double wanted = known ? 4 * cached : kUnknownCacheDramBytes;
  const double total = std::min(wanted, available_bytes ? *available_bytes / 2 : wanted);
  WorkingSet set{total / threads, fmt::format("{} over all threads", SizeText(total)), {}};
  if (known) {
    set.how += fmt::format(", {:.1f} x the caches ({})", total / cached, SizeText(cached));
    if (total < wanted)
      set.reason = Reason{
          fmt::format("memory for only {:.1f} x the caches is available, 4 x are needed: part of "
                      "the traffic may not have reached DRAM",
                      total / cached)};
  } else {
    set.reason = Reason{"no cache size is known: part of the traffic may not have reached DRAM"};
  }
  result.largest_bytes = set.bytes;
  result.sets[Level::kDram] = {set};
}

}  // namespace

std::string SizeText(double bytes) {
  if (bytes < 1024 * 1024) return fmt::format("{:.4g} KiB", bytes / 1024);
  return fmt::format("{:.4g} MiB", bytes / (1024 * 1024));
}

WorkingSets ChooseWorkingSets(const cpu::Topology& topology, const std::vector<int>& cpus,
                              std::optional<double> available_bytes) {
  const auto shares = SharesOf(topology, cpus);
  WorkingSets result;
  ChooseNear(Level::kL1, {kHalf, kQuarter, kMax}, shares, result);
  ChooseNear(Level::kL2, {kQuarter, kHalf, kMax}, shares, result);
  ChooseL3(shares, result);
  ChooseDram(shares, static_cast<double>(std::max<std::size_t>(1, cpus.size())), available_bytes,
             result);
  return result;
}

std::map<Level, double> ThreadShares(const cpu::Topology& topology, const std::vector<int>& cpus) {
  std::map<Level, double> bytes;
  for (const auto& [level, share] : SharesOf(topology, cpus))
    bytes[level] = share.bytes / share.sharers;
  return bytes;
}

std::optional<Reason> NearerCacheReason(const cpu::Topology& topology, const std::vector<int>& cpus,
                                        Level level, double bytes) {
  const auto shares = SharesOf(topology, cpus);
  for (const Level nearer : {Level::kL3, Level::kL2, Level::kL1}) {
    const auto share = nearer < level ? OfThread(shares, nearer) : std::nullopt;
    if (share && bytes < kServedBelow * *share)
      return Reason{fmt::format(
          "a thread's arrays are {} and its share of {} is {}: part of the traffic stayed there",
          SizeText(bytes), Name(nearer), SizeText(*share))};
  }
  return std::nullopt;
}

}  // namespace dlroof::cpu_ceilings
