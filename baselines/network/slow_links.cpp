#include "baselines/network/slow_links.h"

#include <fmt/format.h>

#include <algorithm>

#include "baselines/network/network_fit.h"
#include "counters/base/order_statistics.h"
#include "reporters/text/units.h"

namespace dlroof::cluster {
namespace {

double MedianRate(const BestRates& best) {
  std::vector<double> known;
  for (const auto& rate : best)
    if (rate) known.push_back(*rate);
  return Median(known);
}

void AddSlowNodes(const BestRates& best, bool sends, std::vector<SlowLink>& slow) {
  const double median = MedianRate(best);
  for (std::size_t rank = 0; rank < best.size(); ++rank) {
    if (!best[rank] || *best[rank] >= kSlowLink * median) continue;
    SlowLink node{.bytes_per_second = *best[rank], .ratio = *best[rank] / median};
    (sends ? node.from : node.to) = rank;
    slow.push_back(node);
  }
}

std::string SlowText(const MeasuredNetwork& measured, const SlowLink& slow) {
  const auto name = [&](const std::optional<std::size_t>& rank) { return measured.ranks[*rank]; };
  const auto rate = text::WithPrefix(slow.bytes_per_second, "B/s");
  if (slow.from && slow.to)
    return fmt::format("slow link: {} to {}, {}, {:.0f} % of what its nodes reach with others",
                       name(slow.from), name(slow.to), rate, 100 * slow.ratio);
  return fmt::format("slow node: {} {} at most {}, {:.0f} % of the median node's",
                     name(slow.from ? slow.from : slow.to), slow.from ? "sends" : "receives", rate,
                     100 * slow.ratio);
}

}  // namespace

std::optional<double> RateOf(const PairTimes& pair) {
  if (pair.points.empty()) return std::nullopt;
  return pair.points.back().bytes / pair.points.back().seconds;
}

BestRates BestOf(const MeasuredNetwork& measured, std::size_t PairTimes::*end) {
  BestRates best(measured.ranks.size());
  for (const auto& pair : measured.pairs)
    if (const auto rate = RateOf(pair))
      best[pair.*end] = std::max(best[pair.*end].value_or(0), *rate);
  return best;
}

std::vector<SlowLink> SlowLinks(const MeasuredNetwork& measured) {
  std::vector<SlowLink> slow;
  if (measured.ranks.size() < kLeastLinkRanks || measured.pairs.empty()) return slow;
  const auto sends = BestOf(measured, &PairTimes::from),
             receives = BestOf(measured, &PairTimes::to);
  AddSlowNodes(sends, true, slow);
  AddSlowNodes(receives, false, slow);
  for (const auto& pair : measured.pairs) {
    const auto rate = RateOf(pair);
    if (!rate) continue;
    const double expected = std::min(*sends[pair.from], *receives[pair.to]);
    if (*rate < kSlowLink * expected) slow.push_back({pair.from, pair.to, *rate, *rate / expected});
  }
  std::ranges::stable_sort(slow, {}, &SlowLink::ratio);
  return slow;
}

std::vector<std::string> NetworkNotes(const MeasuredNetwork& measured) {
  std::vector<std::string> notes = {fmt::format(
      "{} ranks, {} directions of pairs, {}{}", measured.ranks.size(), measured.pairs.size(),
      measured.mpi, measured.pairs_at_once ? "; pairs sent at the same time" : "")};
  const auto fit = FitNetwork(measured);
  if (!fit) {
    notes.emplace_back("too few sizes for a fit");
  } else {
    notes.push_back(NetworkText({.name = "", .pieces = fit->network.pieces}) +
                    (fit->proof.doubt.empty() ? "" : " (not proved: " + fit->proof.doubt + ")"));
    if (const auto ratio = fit->network.allreduce_over_model)
      notes.push_back(
          fmt::format("allreduce of {} on {} nodes: {:.2f} times the fastest closed form",
                      text::WithPrefix(measured.allreduce.back().points.back().bytes, "B"),
                      measured.allreduce.back().nodes, *ratio));
  }
  const auto slow = SlowLinks(measured);
  for (const auto& one : slow) notes.push_back(SlowText(measured, one));
  if (measured.ranks.size() < kLeastLinkRanks)
    notes.push_back(
        fmt::format("with fewer than {} nodes nobody can say which link is slow", kLeastLinkRanks));
  else if (slow.empty())
    notes.push_back(
        fmt::format("no node and no link is below {:.0f} % of the others", 100 * kSlowLink));
  return notes;
}

}  // namespace dlroof::cluster
