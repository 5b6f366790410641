#include "ceilings/cpu_ceilings/curves.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <set>
#include <utility>

#include "counters/base/keys.h"

namespace dlroof::cpu_ceilings {
namespace {

constexpr double kMinBytes = 4096;  // [byte] smallest working set of a sweep
constexpr int kPerOctave = 4;
constexpr double kStepFalls = 0.03, kEdgeFalls = 0.12;  // [1] min loss of rate in a step, an edge
constexpr std::size_t kLevelPoints = 4;                 // min points of a cache level's plateau
constexpr double kPartOfFall = 0.25;  // [1] part of a fall, in logarithms, where the cache ends
constexpr double kAgreeFactor = 2, kNearFactor = 4;  // [1] max ratio of edge to reported size
constexpr double kSlowerBeyond = 0.1;                // [1] min loss of rate of arrays above an edge

// Returns the logarithms of the rates, each raised to the highest rate of any larger working set.
std::vector<double> Envelope(const std::vector<machine::SweepPoint>& curve) {
  auto rates =
      VectorOf<double>(curve, [](const auto& point) { return std::log(point.per_second); });
  for (std::size_t i = rates.size(); i-- > 1;) rates[i - 1] = std::max(rates[i - 1], rates[i]);
  return rates;
}

// Consecutive steps in which the rate falls, from point `first` to point `last`.
struct Fall {
  std::size_t first, last;
};

double Drop(const std::vector<double>& rates, std::size_t i) { return rates[i] - rates[i + 1]; }

std::vector<Fall> Falls(const std::vector<double>& rates) {
  const double least = -std::log(1 - kStepFalls);
  std::vector<Fall> falls;
  for (std::size_t i = 0; i + 1 < rates.size(); ++i) {
    if (Drop(rates, i) < least) continue;
    if (!falls.empty() && i - falls.back().last + 1 < kLevelPoints)
      falls.back().last = i + 1;
    else
      falls.push_back({i, i + 1});
  }
  return falls;
}

CapacityEdge EdgeOf(const std::vector<machine::SweepPoint>& curve, const std::vector<double>& rates,
                    const Fall& fall) {
  const double wanted = rates[fall.first] - kPartOfFall * (rates[fall.first] - rates[fall.last]);
  std::size_t i = fall.first;
  while (rates[i + 1] > wanted) ++i;
  const double part = (rates[i] - wanted) / Drop(rates, i);
  const double ratio = curve[i + 1].bytes / curve[i].bytes;
  return {curve[i].bytes * std::pow(ratio, part), std::exp(rates[fall.first]),
          std::exp(rates[fall.last])};
}

double Ratio(double left, double right) { return std::max(left / right, right / left); }

bool Agree(const CapacityEdge& edge, double reported) {
  return Ratio(edge.bytes, reported) <= kAgreeFactor;
}

// Returns the edge nearest to the level's reported size. Returns null if their ratio exceeds
// kNearFactor or if the edge is nearer to the reported size of another level.
const CapacityEdge* NearestEdge(const std::vector<CapacityEdge>& edges,
                                const std::map<Level, double>& reported, Level level) {
  const double size = reported.at(level);
  const auto nearest = std::ranges::min_element(edges, [&](const auto& left, const auto& right) {
    return Ratio(left.bytes, size) < Ratio(right.bytes, size);
  });
  if (nearest == edges.end() || Ratio(nearest->bytes, size) > kNearFactor) return nullptr;
  for (const auto& [other, other_size] : reported)
    if (Ratio(nearest->bytes, other_size) < Ratio(nearest->bytes, size)) return nullptr;
  return &*nearest;
}

// Returns the last edge if it may end the usable part of the farthest cache (MatchEdges), or null.
const CapacityEdge* EdgeOfPart(const std::vector<CapacityEdge>& edges,
                               const std::map<Level, double>& reported,
                               const std::map<Level, CapacityEdge>& found) {
  if (edges.empty() || reported.empty() || found.contains(reported.rbegin()->first)) return nullptr;
  const auto& last = edges.back();
  if (last.bytes > reported.rbegin()->second) return nullptr;
  if (reported.size() > 1 && last.bytes <= std::next(reported.rbegin())->second) return nullptr;
  for (const auto& [level, edge] : found)
    if (edge.bytes >= last.bytes) return nullptr;
  return &last;
}

constexpr std::ptrdiff_t kRows = 8;
constexpr double kAllowed = 1.03;

// Returns the point that exceeds roof(point) most, or null if none exceeds it by more than 3 %.
template <class Roof>
const machine::RidgePoint* FurthestAbove(const std::vector<machine::RidgePoint>& ridge,
                                         const Roof& roof) {
  const auto above = [&](const auto& point) { return point.flops_per_second / roof(point); };
  const auto furthest = std::ranges::max_element(ridge, {}, above);
  return furthest != ridge.end() && above(*furthest) > kAllowed ? &*furthest : nullptr;
}

void JudgeBandwidth(Level level, const std::vector<machine::RidgePoint>& ridge,
                    machine::Ceiling& bandwidth) {
  const auto* point = FurthestAbove(ridge, [&](const machine::RidgePoint& each) {
    return each.intensity * bandwidth.per_second;
  });
  if (point == nullptr) return;
  machine::AddReason(
      bandwidth,
      fmt::format(
          "loads with {:.3g} flop/byte moved {:.4g} GB/s at {}, more than this roof of {:.4g} "
          "GB/s: the roof is too low",
          point->intensity, point->flops_per_second / point->intensity / 1e9, Key(level),
          bandwidth.per_second / 1e9));
}

void JudgeCompute(Level level, const std::vector<machine::RidgePoint>& ridge,
                  std::map<std::string, machine::Ceiling>& flops) {
  const auto plain = flops.find(kRidgePipe);
  if (plain == flops.end()) return;
  const double roof = plain->second.per_second;
  const auto* point = FurthestAbove(ridge, [&](const machine::RidgePoint&) { return roof; });
  if (point == nullptr) return;
  const auto reason = fmt::format(
      "multiply-adds with {:.3g} flop/byte at {} reached {:.4g} GFLOP/s, more than this roof of "
      "{:.4g} GFLOP/s: the roof is too low",
      point->intensity, Key(level), point->flops_per_second / 1e9, roof / 1e9);
  for (auto& [key, ceiling] : flops)
    if (key.starts_with(kRidgePipe) && ceiling.per_second == roof)
      machine::AddReason(ceiling, reason);
}

constexpr double kNearerShares = 3;  // [1] min L3 working set / a thread's share of L2
// Working sets as parts of a thread's share of a cache. The part that is usually the fastest comes
// first: in L2 a quarter (6 % faster than a half on Cascade Lake).
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
  const auto* const share = FindValue(shares, level);
  return share == nullptr ? std::nullopt : std::optional(share->bytes / share->sharers);
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

void ChooseDram(const Shares& shares, double threads, std::optional<double> available_bytes,
                WorkingSets& result) {
  double cached = 0;  // [byte] sum of the levels, because an exclusive L3 adds to L2
  for (const auto& [level, share] : shares) cached += share.total_bytes;
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

std::vector<double> SweepSizes(double largest_bytes) {
  std::vector<double> sizes;
  for (int i = 0;; ++i) {
    // Rounds to whole KiB, so that the arrays are multiples of the kernels' steps.
    const double bytes = kMinBytes * std::exp2(static_cast<double>(i) / kPerOctave);
    const double whole = std::round(bytes / 1024) * 1024;
    if (whole > largest_bytes) return sizes;
    sizes.push_back(whole);
  }
}

std::vector<CapacityEdge> FindCapacityEdges(const std::vector<machine::SweepPoint>& curve) {
  const auto rates = Envelope(curve);
  std::vector<CapacityEdge> edges;
  for (auto fall : Falls(rates)) {
    if (rates.size() < kLevelPoints) continue;
    fall.last = std::min(fall.last, rates.size() - kLevelPoints);
    if (fall.first < fall.last && rates[fall.first] - rates[fall.last] >= -std::log(1 - kEdgeFalls))
      edges.push_back(EdgeOf(curve, rates, fall));
  }
  return edges;
}

std::map<Level, CapacityEdge> MatchEdges(const std::vector<CapacityEdge>& edges,
                                         const std::map<Level, double>& reported) {
  std::map<Level, CapacityEdge> found;
  for (const auto& [level, size] : reported)
    if (const auto* edge = NearestEdge(edges, reported, level)) found[level] = *edge;
  if (const auto* edge = EdgeOfPart(edges, reported, found))
    found[reported.rbegin()->first] = *edge;
  return found;
}

machine::SweepFinding CompareEdge(const LevelEdges& edges, Level level) {
  const double reported = edges.reported.at(level);
  const auto* const edge = FindValue(edges.found, level);
  if (edge == nullptr)
    return {fmt::format("the curve does not fall near {}, the size that hwloc says: they disagree",
                        SizeText(reported)),
            true};
  const auto& [bytes, before, after] = *edge;
  const bool agree = Agree(*edge, reported);
  return {fmt::format("the curve falls at {}, from {:.3g} to {:.3g} GB/s; hwloc says {}: they {}",
                      SizeText(bytes), before / 1e9, after / 1e9, SizeText(reported),
                      agree ? "agree" : "disagree"),
          !agree};
}

std::optional<Reason> EdgeReason(const LevelEdges& edges, Level level, double bytes,
                                 double per_second) {
  for (const auto& [of, edge] : edges.found) {
    const double reported = edges.reported.at(of);
    if (of > level || Agree(edge, reported)) continue;
    const auto sizes =
        fmt::format("hwloc says that {} has {} per thread, but loads get slower at {}", Key(of),
                    SizeText(reported), SizeText(edge.bytes));
    if (of == level && bytes > edge.bytes && per_second < (1 - kSlowerBeyond) * edge.before)
      return Reason{fmt::format("{}: arrays of {} are beyond it", sizes, SizeText(bytes))};
    if (of < level && edge.bytes > reported && bytes < kServedBelow * edge.bytes)
      return Reason{fmt::format("{}: part of the traffic of arrays of {} stayed in {}", sizes,
                                SizeText(bytes), Key(of))};
  }
  return std::nullopt;
}

std::vector<cpu_kernels::RidgeRow> RidgeRowsAround(std::span<const cpu_kernels::RidgeRow> rows,
                                                   double knee) {
  const auto above = std::ranges::find_if(
      rows, [&](const cpu_kernels::RidgeRow& row) { return row.Intensity() >= knee; });
  const auto count = std::min(kRows, std::ssize(rows));
  const auto first =
      std::clamp<std::ptrdiff_t>(above - rows.begin() - kRows / 2, 0, std::ssize(rows) - count);
  const auto chosen =
      rows.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count));
  return {chosen.begin(), chosen.end()};
}

void CompareRidges(machine::CeilingSet& set) {
  for (const auto& [level, ridge] : set.ridges) {
    if (auto* const roof = FindValue(set.bytes, level)) JudgeBandwidth(level, ridge, *roof);
    JudgeCompute(level, ridge, set.flops);
  }
}

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
