#include "baselines/programs/gpu_counting.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <tuple>

#include "reporters/text/kernel_name.h"

namespace dlroof::programs {
namespace {

constexpr std::size_t kMostPattern = 100'000;  // [byte]; Linux allows 131072 for an argument

const std::string& MangledOf(const GpuKernelUse& use) {
  return use.mangled.empty() ? use.name : use.mangled;
}

// A piece of the launches whose names match.
struct Piece {
  std::size_t skip = 0, count = 0;  // [1] matching launches before it, and in it
};

// Returns the shortest piece that has a launch of each wanted kernel, from `begin` on.
std::optional<Piece> ShortestPiece(const OrderedLaunches& launches, std::size_t begin,
                                   const std::vector<bool>& matches,
                                   const std::vector<bool>& wanted) {
  std::vector<std::uint32_t> matching;  // from `begin` on
  std::size_t before = 0;
  // Two steps contain every piece that a periodic stream can have.
  const std::size_t end =
      std::min(launches.kernels.size(), begin + 2 * (launches.steady_end - begin));
  for (std::size_t i = 0; i < end; ++i) {
    if (!matches[launches.kernels[i]]) continue;
    if (i < begin)
      ++before;
    else
      matching.push_back(launches.kernels[i]);
  }
  const auto different = static_cast<std::size_t>(std::ranges::count(wanted, true));
  std::vector<std::size_t> inside(wanted.size());
  std::size_t have = 0, left = 0;
  std::optional<Piece> best;
  for (std::size_t right = 0; right < matching.size(); ++right) {
    if (wanted[matching[right]] && inside[matching[right]]++ == 0) ++have;
    for (; have == different; ++left) {
      if (!best || right + 1 - left < best->count) best = Piece{before + left, right + 1 - left};
      if (wanted[matching[left]] && --inside[matching[left]] == 0) --have;
    }
  }
  return best;
}

// The kernels [0, number) of the timeline that are in a step.
struct Tried {
  std::vector<std::string> names;
  std::vector<bool> matches, wanted;
  std::optional<Piece> piece;
};

Tried TryKernels(const GpuTimeline& timeline, const OrderedLaunches& launches, std::size_t number) {
  Tried tried;
  std::set<std::string_view> names;
  tried.wanted.resize(timeline.kernels.size());
  tried.matches.resize(timeline.kernels.size());
  std::vector<bool> in_step(timeline.kernels.size());
  for (std::size_t i = launches.steady_begin; i < launches.steady_end; ++i)
    in_step[launches.kernels[i]] = true;
  for (std::size_t i = 0; i < number; ++i) {
    if (!in_step[i]) continue;
    tried.wanted[i] = true;
    if (names.insert(MangledOf(timeline.kernels[i])).second)
      tried.names.push_back(MangledOf(timeline.kernels[i]));
  }
  for (std::size_t i = 0; i < timeline.kernels.size(); ++i)
    tried.matches[i] = names.contains(MangledOf(timeline.kernels[i]));
  if (!tried.names.empty())
    tried.piece = ShortestPiece(launches, launches.steady_begin, tried.matches, tried.wanted);
  return tried;
}

}  // namespace

std::string ExactNames(const std::vector<std::string>& names) {
  std::string pattern;
  for (const auto& name : names) {
    pattern += pattern.empty() ? "^(" : "|";
    for (const char c : name) {
      if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_') pattern += '\\';
      pattern += c;
    }
  }
  return pattern.empty() ? pattern : pattern + ")$";
}

LaunchSelection SelectLaunches(const GpuTimeline& timeline, const OrderedLaunches& launches,
                               std::size_t most_launches) {
  LaunchSelection selection;
  // More kernels never need fewer launches, so the largest number that fits is found by halving.
  std::size_t fits = 0, least_too_many = timeline.kernels.size() + 1;
  Tried best;
  while (fits + 1 < least_too_many) {
    const auto number = fits + (least_too_many - fits) / 2;
    auto tried = TryKernels(timeline, launches, number);
    const bool ok = (!tried.piece || tried.piece->count <= most_launches) &&
                    ExactNames(tried.names).size() <= kMostPattern;
    if (ok) {
      fits = number;
      best = std::move(tried);
    } else {
      least_too_many = number;
    }
  }
  if (!best.piece) return selection;
  selection.launches = best.piece->count;
  double all = 0, counted = 0;
  for (std::size_t i = 0; i < timeline.kernels.size(); ++i) {
    all += timeline.kernels[i].step_wall_seconds;
    if (!best.wanted[i]) continue;
    counted += timeline.kernels[i].step_wall_seconds;
    ++selection.kernels;
  }
  selection.share = all > 0 ? counted / all : 0;
  selection.arguments = {"--kernel-name-base",
                         "mangled",
                         "--print-kernel-base",
                         "mangled",
                         "--kernel-name",
                         "regex:" + ExactNames(best.names),
                         "--launch-skip",
                         fmt::format("{}", best.piece->skip),
                         "--launch-count",
                         fmt::format("{}", best.piece->count),
                         "--kill",
                         "yes"};
  return selection;
}

std::vector<CountedKernel> JoinCounts(const GpuTimeline& timeline,
                                      const std::vector<imports::CountedLaunch>& launches) {
  using Key = std::tuple<std::string, gpu_trace::Size3, gpu_trace::Size3>;
  constexpr std::size_t kSeveral = ~std::size_t{0};
  std::map<Key, std::size_t> exact, by_function;
  for (std::size_t i = 0; i < timeline.kernels.size(); ++i) {
    const auto& use = timeline.kernels[i];
    exact[{MangledOf(use), use.grid, use.block}] = i;
    exact[{use.name, use.grid, use.block}] = i;
    const auto [found, added] =
        by_function.try_emplace({text::KernelFunction(use.name), use.grid, use.block}, i);
    if (!added) found->second = kSeveral;
  }
  const auto find = [&](const imports::CountedLaunch& launch) -> std::optional<std::size_t> {
    if (!launch.grid || !launch.block) return std::nullopt;
    if (const auto found = exact.find({launch.kernel, *launch.grid, *launch.block});
        found != exact.end())
      return found->second;
    const auto found =
        by_function.find({text::KernelFunction(launch.kernel), *launch.grid, *launch.block});
    if (found == by_function.end() || found->second == kSeveral) return std::nullopt;
    return found->second;
  };
  std::map<std::size_t, std::vector<const imports::CountedLaunch*>> joined;
  for (const auto& launch : launches)
    if (const auto kernel = find(launch)) joined[*kernel].push_back(&launch);
  std::vector<CountedKernel> counted;
  for (const auto& [kernel, all] : joined) {
    const auto& use = timeline.kernels[kernel];
    CountedKernel one{MangledOf(use), use.grid, use.block, {}, {}};
    const double weight = 1 / static_cast<double>(all.size());
    bool flops_known = true;
    for (const auto* launch : all) {
      flops_known = flops_known && launch->work.unknown == imports::LaunchWork::Unknown::kNone;
      for (const auto& [pipe, flops] : launch->work.flops) one.flops[pipe] += weight * flops;
      for (const auto& [level, bytes] : launch->work.bytes) one.bytes[level] += weight * bytes;
    }
    if (!flops_known) one.flops.clear();
    counted.push_back(std::move(one));
  }
  return counted;
}

}  // namespace dlroof::programs
