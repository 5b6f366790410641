#include "baselines/programs/steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

namespace dlroof::programs {
namespace {

std::optional<double> StartOf(const verbose::VerboseLog& log, std::size_t execution) {
  if (execution >= log.executions.size()) return std::nullopt;
  return log.executions[execution].start_seconds;
}

// Returns the steps between pairs of begin and end marks.
Steps MarkedSteps(const verbose::VerboseLog& log) {
  Steps steps;
  const verbose::StepMark* open = nullptr;
  for (const auto& mark : log.marks) {
    if (mark.begin) {
      open = &mark;
    } else if (open != nullptr && open->step == mark.step && mark.seconds >= open->seconds) {
      steps.ranges.push_back({open->before, mark.before, open->seconds, mark.seconds});
      open = nullptr;
    }
  }
  if (!steps.ranges.empty()) steps.from = StepsFrom::kMarks;
  return steps;
}

constexpr std::string_view kFromKeys[] = {"none", "found", "given", "marks"};

struct Edge {
  double at = 0;  // [s]
  bool begins = false;
  std::size_t call = 0;
};
constexpr std::size_t kLeads = 64;       // rarest primitives that are tried as a step's first
constexpr std::size_t kMostPerStep = 8;  // occurrences of such a primitive in one step
constexpr std::size_t kLeastTried = 16;  // periods that are evaluated, and more as long as
constexpr std::size_t kMostWork =
    40'000'000;                            // their number times the stream's length is below this
constexpr std::size_t kMostRotations = 8;  // primitives that are tried as the first of the step
constexpr double kLengthTolerance = 0.1;   // [1] of a step's length by which segments may differ
constexpr std::size_t kBeforeSteps = 3;    // occurrences outside of the steady steps
constexpr double kFewSteps = 0.01;   // [1] added to what two steps leave unexplained, less for more
constexpr double kLeastCover = 0.5;  // [1] share of the stream in steady steps
constexpr double kLeastAlike = 0.9;  // [1] share of a steady step's primitives that are typical
// [1] Differences between steps over those of random segments: for many counts, and for few.
constexpr double kMostOverChance = 0.35, kMostOverChanceOfFew = 0.1;
constexpr double kFew = 20;           // [1] limit of few: differences expected by chance
constexpr double kLeastChance = 1.5;  // [1] with fewer expected differences nothing is accepted
// [1] With fewer expected differences counts alone are weak evidence: each segment must also repeat
// the previous one call by call.
constexpr double kFewForCounts = 40;
// A shorter period may leave this much more unexplained than the best: a factor, and [1] of the
// stream.
constexpr double kWorse = 2, kWorseShare = 0.005;

// Returns the mean distance of a Poisson variable from its mean.
double MeanDeviation(double mean) {
  if (mean <= 0) return 0;
  const double whole = std::floor(mean);
  return 2 * std::exp((whole + 1) * std::log(mean) - mean - std::lgamma(whole + 1));
}

double MostOverChance(double by_chance) {
  return by_chance < kFew ? kMostOverChanceOfFew : kMostOverChance;
}

using Cuts = std::vector<std::size_t>;
using Division = StepDivision;

class StepFinder {
 public:
  StepFinder(std::span<const std::uint32_t> stream, std::size_t distinct)
      : stream_(stream), places_(distinct) {
    for (std::size_t i = 0; i < stream.size(); ++i) places_[stream[i]].push_back(i);
  }

  // Returns the best division, with `count` steady segments (0 allows any number), if any is
  // accepted.
  Division Find(std::size_t count) {
    std::vector<Division> good;
    for (auto& cuts : Candidates(count)) {
      Division division = Judged(std::move(cuts), count);
      if (division.accepted) good.push_back(std::move(division));
    }
    double least = 1;
    for (const auto& one : good) least = std::min(least, one.unexplained);
    const Division* best = nullptr;
    for (const auto& one : good)
      if (one.unexplained <= kWorse * least + kWorseShare &&
          (best == nullptr || one.length < best->length))
        best = &one;
    if (best == nullptr) return {};
    const Division* shortest = best;
    for (const auto& one : good)
      if (one.length < shortest->length && IsSeveral(*best, one)) shortest = &one;
    return Rotated(*shortest, count);
  }

 private:
  // Returns the primitives that occur more than once, the rarest first.
  std::vector<std::uint32_t> Leads() const {
    std::vector<std::uint32_t> leads;
    for (std::uint32_t i = 0; i < places_.size(); ++i)
      if (places_[i].size() > 1) leads.push_back(i);
    std::ranges::stable_sort(leads, {}, [&](std::uint32_t i) { return places_[i].size(); });
    if (leads.size() > kLeads) leads.resize(kLeads);
    return leads;
  }

  // Returns every `apart`-th place of a primitive, counted backwards from the last but `skip`.
  static Cuts EveryOf(const std::vector<std::size_t>& places, std::size_t apart, std::size_t skip) {
    Cuts cuts;
    for (std::size_t i = skip; i < places.size(); i += apart)
      cuts.push_back(places[places.size() - 1 - i]);
    std::ranges::reverse(cuts);
    return cuts;
  }

  // Adds a cut before the first if a whole segment fits there, since the only primitive of its kind
  // in a step may be the last one.
  Cuts Extended(Cuts cuts) const {
    const auto length = static_cast<std::size_t>(MedianLength(cuts));
    if (length > 0 && cuts.front() >= length) cuts.insert(cuts.begin(), cuts.front() - length);
    return cuts;
  }

  // Returns cuts after each place of a primitive.
  Cuts Behind(const std::vector<std::size_t>& places) const {
    Cuts cuts;
    for (const auto place : places)
      if (place + 1 < stream_.size()) cuts.push_back(place + 1);
    return cuts;
  }

  std::size_t EndOf(const Cuts& cuts, std::size_t piece) const {
    return piece + 1 < cuts.size() ? cuts[piece + 1] : stream_.size();
  }

  double MedianLength(const Cuts& cuts) const {
    std::vector<double> lengths;
    for (std::size_t i = 0; i < cuts.size(); ++i)
      lengths.push_back(static_cast<double>(EndOf(cuts, i) - cuts[i]));
    const auto middle = lengths.begin() + static_cast<std::ptrdiff_t>((lengths.size() - 1) / 2);
    // The last of two is the segment up to the stream's end.
    if (lengths.size() == 2) return lengths[0];
    std::ranges::nth_element(lengths, middle);
    return *middle;
  }

  bool IsUsualLength(const Cuts& cuts, std::size_t piece, double length) const {
    const auto own = static_cast<double>(EndOf(cuts, piece) - cuts[piece]);
    return std::abs(own - length) <= std::max(1.0, kLengthTolerance * length);
  }

  // Returns the share of the stream in segments of the typical length [1]; 0 for fewer than two.
  double Cover(const Cuts& cuts, double length) const {
    std::size_t covered = 0, pieces = 0;
    for (std::size_t i = 0; i < cuts.size(); ++i) {
      if (!IsUsualLength(cuts, i, length)) continue;
      covered += EndOf(cuts, i) - cuts[i];
      ++pieces;
    }
    return pieces < 2 ? 0 : static_cast<double>(covered) / static_cast<double>(stream_.size());
  }

  // Returns candidate cuts, first those by primitives that occur once in a step, the rarest first.
  std::vector<Cuts> Candidates(std::size_t count) const {
    const std::size_t most =
        std::max(kLeastTried, kMostWork / std::max<std::size_t>(1, stream_.size()));
    std::vector<Cuts> all;
    const auto add = [&](Cuts cuts) {
      const double length = MedianLength(cuts);
      if (all.size() < most && length >= 2 && Cover(cuts, length) >= kLeastCover)
        all.push_back(std::move(cuts));
    };
    const auto leads = Leads();
    for (std::size_t times = 1; times <= kMostPerStep; ++times)
      for (const auto lead : leads) {
        const auto& places = places_[lead];
        const std::size_t apart = count > 0 ? places.size() / count : times;
        if (apart == 0 || 2 * apart > places.size() || (count > 0 && times > 1)) continue;
        add(Extended(EveryOf(places, apart, 0)));
        if (apart > 1) add(Extended(EveryOf(places, apart, apart - 1)));
      }
    return all;
  }

  // Occurrences of each primitive in each segment: by primitive, (segment, times) without zeros.
  using Contents = std::vector<std::vector<std::pair<std::size_t, double>>>;
  Contents ContentsOf(const Cuts& cuts) const {
    Contents contents(places_.size());
    for (std::size_t piece = 0; piece < cuts.size(); ++piece)
      for (std::size_t i = cuts[piece]; i < EndOf(cuts, piece); ++i) {
        auto& row = contents[stream_[i]];
        if (row.empty() || row.back().first != piece) row.emplace_back(piece, 0);
        ++row.back().second;
      }
    return contents;
  }

  // Returns the lower median over the segments for which `counts` is set, zeros included.
  static double UsualTimes(const std::vector<std::pair<std::size_t, double>>& row,
                           const std::vector<bool>& counts, std::size_t pieces) {
    std::vector<double> times;
    for (const auto& [piece, count] : row)
      if (counts[piece]) times.push_back(count);
    times.resize(pieces, 0);
    const auto middle = times.begin() + static_cast<std::ptrdiff_t>((times.size() - 1) / 2);
    std::ranges::nth_element(times, middle);
    return *middle;
  }

  Division Judged(Cuts cuts, std::size_t count) const {
    Division division;
    division.length = MedianLength(cuts);
    const std::size_t pieces = cuts.size();
    std::vector<bool> usual_length(pieces);
    std::size_t usual_pieces = 0;
    for (std::size_t i = 0; i < pieces; ++i) {
      usual_length[i] = IsUsualLength(cuts, i, division.length);
      usual_pieces += usual_length[i] ? 1 : 0;
    }
    const auto contents = ContentsOf(cuts);
    std::vector<double> same(pieces), all(pieces);  // sums of the smaller and the larger counts
    double usual_sum = 0;
    division.usual.resize(places_.size());
    for (std::size_t one = 0; one < contents.size(); ++one) {
      const double usual = division.usual[one] =
          UsualTimes(contents[one], usual_length, usual_pieces);
      usual_sum += usual;
      for (const auto& [piece, times] : contents[one]) {
        same[piece] += std::min(times, usual);
        all[piece] += std::max(times - usual, 0.0);
      }
    }
    division.steady.resize(pieces);
    for (std::size_t i = 0; i < pieces; ++i) {
      division.steady[i] = usual_length[i] && same[i] >= kLeastAlike * (all[i] + usual_sum);
      division.steady_count += division.steady[i] ? 1 : 0;
    }
    division.cuts = std::move(cuts);
    Decide(contents, count, division);
    return division;
  }

  // Sets `covered`, `unexplained` and `accepted`.
  void Decide(const Contents& contents, std::size_t count, Division& division) const {
    if (division.steady_count < 2) return;
    for (std::size_t i = 0; i < division.cuts.size(); ++i)
      if (division.steady[i])
        division.covered += static_cast<double>(EndOf(division.cuts, i) - division.cuts[i]);
    division.unexplained = Unexplained(contents, division) +
                           kFewSteps / static_cast<double>(division.steady_count - 1);
    if (division.covered < kLeastCover * static_cast<double>(stream_.size())) return;
    division.accepted =
        count > 0 ? division.steady_count == count : AgreesBetterThanChance(contents, division);
  }

  // Returns whether a segment of `longer` is just several of `shorter`.
  static bool IsSeveral(const Division& longer, const Division& shorter) {
    const double times = std::round(longer.length / shorter.length);
    if (times < 2 || std::abs(longer.length - times * shorter.length) > times + 1) return false;
    for (std::size_t one = 0; one < longer.usual.size(); ++one)
      if (longer.regular[one] && std::abs(longer.usual[one] - times * shorter.usual[one]) >
                                     kLengthTolerance * longer.usual[one])
        return false;
    return true;
  }

  // A primitive whose counts differ between segments as much as by chance explains nothing.
  double Unexplained(const Contents& contents, Division& division) const {
    std::vector<double> same(division.cuts.size());
    double usual_sum = 0;
    division.regular.assign(contents.size(), false);
    for (std::size_t one = 0; one < contents.size(); ++one) {
      const auto differs = DifferencesOf(contents[one], division.usual[one], division);
      if (differs.seen > MostOverChance(differs.by_chance) * differs.by_chance) continue;
      division.regular[one] = true;
      usual_sum += division.usual[one];
      for (const auto& [piece, times] : contents[one])
        same[piece] += std::min(times, division.usual[one]);
    }
    const auto first = static_cast<std::size_t>(std::ranges::find(division.steady, true) -
                                                division.steady.begin());
    double explained = 0;
    for (std::size_t i = first; i < division.cuts.size(); ++i) {
      // The stream may end within its last step, which then misses nothing.
      const double missing = i + 1 < division.cuts.size() ? usual_sum - same[i] : 0;
      explained += std::max(same[i] - missing, 0.0);
    }
    return 1 - explained / static_cast<double>(stream_.size() - division.cuts[first]);
  }

  // Differences of a primitive's counts in the steady segments from the typical count: observed,
  // and expected for independent draws.
  struct Differences {
    double seen = 0, by_chance = 0;
  };
  static Differences DifferencesOf(const std::vector<std::pair<std::size_t, double>>& row,
                                   double usual, const Division& division) {
    const auto pieces = static_cast<double>(division.steady_count);
    double sum = 0, off = 0, with = 0;
    for (const auto& [piece, times] : row) {
      if (!division.steady[piece]) continue;
      sum += times;
      off += std::abs(times - usual);
      ++with;
    }
    return {off + (pieces - with) * usual,
            pieces * MeanDeviation(sum / pieces) * std::sqrt((pieces - 1) / pieces)};
  }

  // Returns whether the stream repeats call by call from the first steady segment to its end.
  bool RepeatsInPlace(const Division& division) const {
    const auto first = std::ranges::find(division.steady, true) - division.steady.begin();
    const auto begin = division.cuts[static_cast<std::size_t>(first)];
    const auto length = EndOf(division.cuts, static_cast<std::size_t>(first)) - begin;
    return std::ranges::equal(stream_.subspan(begin + length),
                              stream_.subspan(begin, stream_.size() - begin - length));
  }

  bool AgreesBetterThanChance(const Contents& contents, const Division& division) const {
    Differences all;
    int different = 0;
    for (std::size_t one = 0; one < contents.size(); ++one) {
      const auto differs = DifferencesOf(contents[one], division.usual[one], division);
      all.seen += differs.seen;
      all.by_chance += differs.by_chance;
      different += division.usual[one] > 0 ? 1 : 0;
    }
    if (different < 2 || all.by_chance < kLeastChance ||
        all.seen > MostOverChance(all.by_chance) * all.by_chance)
      return false;
    return all.by_chance >= kFewForCounts || RepeatsInPlace(division);
  }

  // Moves all cuts so that a step ends with the stream.
  Cuts AtTheEnd(const Division& division) const {
    Cuts cuts = division.cuts;
    const auto length = static_cast<std::size_t>(division.length);
    const auto rest = stream_.size() - cuts.back();
    if (2 * rest >= length && cuts.front() + rest >= length) {
      for (auto& cut : cuts) cut = cut + rest - length;
    } else if (2 * rest < length) {
      cuts.pop_back();
      for (auto& cut : cuts) cut += rest;
    }
    return cuts;
  }

  // Returns whether the first of two divisions into the same steps is better: it has more steps,
  // less unexplained, or more of the stream in steps.
  static bool IsBetter(const Division& one, const Division& than) {
    if (one.steady_count != than.steady_count) return one.steady_count > than.steady_count;
    if (one.unexplained != than.unexplained) return one.unexplained < than.unexplained;
    return one.covered > than.covered;
  }

  // Returns the same division, cut so that most of the stream is in complete steps: before a
  // primitive that occurs once in a step and is among the first in the stream, after one among the
  // last, or so that the last step ends with the stream.
  Division Rotated(Division division, std::size_t count) const {
    std::vector<std::uint32_t> once;
    for (std::uint32_t i = 0; i < places_.size(); ++i)
      if (places_[i].size() + 1 >= division.steady_count &&
          places_[i].size() <= division.steady_count + kBeforeSteps)
        once.push_back(i);
    const Division found = division;
    const auto try_cuts = [&](Cuts cuts) {
      if (cuts.empty()) return;
      auto other = Judged(Extended(std::move(cuts)), count);
      if (!other.accepted || other.unexplained > kWorse * found.unexplained + kWorseShare) return;
      if (std::abs(other.length - found.length) > kLengthTolerance * found.length) return;
      if (IsBetter(other, division)) division = std::move(other);
    };
    std::ranges::stable_sort(once, {}, [&](std::uint32_t i) { return places_[i].front(); });
    for (std::size_t i = 0; i < std::min(once.size(), kMostRotations); ++i)
      try_cuts(places_[once[i]]);
    std::ranges::stable_sort(once, std::ranges::greater{},
                             [&](std::uint32_t i) { return places_[i].back(); });
    for (std::size_t i = 0; i < std::min(once.size(), kMostRotations); ++i)
      try_cuts(Behind(places_[once[i]]));
    try_cuts(AtTheEnd(division));
    return division;
  }

  std::span<const std::uint32_t> stream_;
  std::vector<std::vector<std::size_t>> places_;  // by primitive
};

}  // namespace

std::string_view Key(StepsFrom from) { return kFromKeys[static_cast<std::size_t>(from)]; }

std::optional<StepsFrom> StepsFromKey(std::string_view key) {
  const auto* found = std::ranges::find(kFromKeys, key);
  if (found == std::end(kFromKeys)) return std::nullopt;
  return static_cast<StepsFrom>(found - kFromKeys);
}

Steps FindSteps(std::span<const std::uint32_t> stream, std::size_t distinct,
                std::optional<int> count) {
  Steps steps;
  const auto division = FindDivision(
      stream, distinct, count && *count > 0 ? std::optional<std::size_t>(*count) : std::nullopt);
  if (!division.accepted) {
    steps.reason =
        Reason{count ? fmt::format("no {} equal steps found", *count) : "no steady steps found"};
    return steps;
  }
  steps.from = count ? StepsFrom::kSpecified : StepsFrom::kFound;
  std::size_t last = 0;
  for (std::size_t i = 0; i < division.cuts.size(); ++i) {
    if (!division.steady[i]) continue;
    if (!steps.ranges.empty()) steps.irregular += static_cast<int>(i - last - 1);
    last = i;
    steps.ranges.push_back(
        {division.cuts[i], i + 1 < division.cuts.size() ? division.cuts[i + 1] : stream.size()});
  }
  return steps;
}

Steps StepsOf(const verbose::VerboseLog& log, std::optional<int> count) {
  if (!count)
    if (auto marked = MarkedSteps(log); marked.from == StepsFrom::kMarks) return marked;
  std::vector<std::uint32_t> stream;
  stream.reserve(log.executions.size());
  for (const auto& execution : log.executions) stream.push_back(execution.primitive);
  auto steps = FindSteps(stream, log.primitives.size(), count);
  for (auto& range : steps.ranges) {
    range.begin_seconds = StartOf(log, range.begin);
    range.end_seconds = StartOf(log, range.end);
    // A clock that goes back, as in concatenated logs of several runs, is useless.
    if (range.begin_seconds && range.end_seconds && *range.end_seconds < *range.begin_seconds)
      range.end_seconds.reset();
  }
  return steps;
}

Timeline TimelineOf(const verbose::VerboseLog& log) {
  const std::size_t executions = log.executions.size();
  Timeline timeline{.stamped = executions > 0};
  std::vector<double> own(executions + log.creations.size());
  std::vector<Edge> edges;
  edges.reserve(2 * own.size());
  const auto add = [&](std::size_t call, double seconds, const std::optional<double>& start) {
    own[call] = seconds;
    if (!start) return;
    edges.push_back({*start, true, call});
    edges.push_back({*start + seconds, false, call});
  };
  for (std::size_t i = 0; i < executions; ++i) {
    const auto& one = log.executions[i];
    timeline.stamped = timeline.stamped && one.start_seconds.has_value();
    add(i, one.seconds, one.start_seconds);
  }
  for (std::size_t i = 0; i < log.creations.size(); ++i)
    add(executions + i, log.creations[i].seconds, log.creations[i].start_seconds);
  std::ranges::sort(edges, [](const Edge& a, const Edge& b) {
    return a.at != b.at ? a.at < b.at : a.begins && !b.begins;
  });
  // `shared` is the integral over time of 1 / (number of running calls).
  double shared = 0, before = 0;
  std::size_t running = 0;
  std::vector<double> at_begin(own.size());
  for (const auto& edge : edges) {
    if (running > 0) shared += (edge.at - before) / static_cast<double>(running);
    before = edge.at;
    if (edge.begins) {
      at_begin[edge.call] = shared;
      ++running;
    } else if (running > 0) {
      own[edge.call] = std::max(shared - at_begin[edge.call], 0.0);
      --running;
    }
  }
  timeline.executions.assign(own.begin(), own.begin() + static_cast<std::ptrdiff_t>(executions));
  timeline.creations.assign(own.begin() + static_cast<std::ptrdiff_t>(executions), own.end());
  return timeline;
}

StepDivision FindDivision(std::span<const std::uint32_t> stream, std::size_t distinct,
                          std::optional<std::size_t> count) {
  return StepFinder(stream, distinct).Find(count.value_or(0));
}

}  // namespace dlroof::programs
