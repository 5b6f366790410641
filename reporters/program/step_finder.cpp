#include "reporters/program/step_finder.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace dlroof {
namespace {

constexpr std::size_t kLeads = 64;         // rarest primitives that are tried as a step's first
constexpr std::size_t kMostPerStep = 8;    // times that such a primitive may come in one step
constexpr std::size_t kMostTried = 32;     // periods that are looked at closely
constexpr std::size_t kMostRotations = 8;  // primitives that are tried as the first of the step
constexpr double kLengthTolerance = 0.1;   // [1] of a step's length that a piece may differ by
constexpr std::size_t kBeforeSteps = 3;    // times that it may come beside the steady steps
constexpr double kLeastCover = 0.5;        // [1] of the stream that steady steps make up
constexpr double kLeastAlike = 0.9;        // [1] of a steady step's primitives that are the usual
// [1] Differences between steps over those of random pieces: of many counts, and of few.
constexpr double kMostOverChance = 0.35, kMostOverChanceOfFew = 0.1;
constexpr double kFew = 20;           // [1] differences that chance would make
constexpr double kLeastChance = 1.5;  // [1] as many, else nothing is shown
// [1] With fewer differences by chance than that, counts alone show too little: every piece must
// repeat the one before it, place by place.
constexpr double kFewForCounts = 40;
// A shorter period may leave so much more unexplained than the best: times, and [1] of the stream.
constexpr double kWorse = 1.5, kWorseShare = 0.003;

// Mean distance of a Poisson number from its mean.
double MeanDeviation(double mean) {
  if (mean <= 0) return 0;
  const double whole = std::floor(mean);
  return 2 * std::exp((whole + 1) * std::log(mean) - mean - std::lgamma(whole + 1));
}

using Cuts = std::vector<std::size_t>;
using Division = StepDivision;

class StepFinder {
 public:
  StepFinder(std::span<const std::uint32_t> stream, std::size_t distinct)
      : stream_(stream), places_(distinct) {
    for (std::size_t i = 0; i < stream.size(); ++i) places_[stream[i]].push_back(i);
  }

  // Best division; not accepted: there is none. `count`: of its steady pieces, 0: any.
  Division Find(std::size_t count) {
    Division best;
    std::vector<Division> good;
    for (auto& cuts : Candidates(count)) {
      Division division = Judged(std::move(cuts), count);
      if (division.accepted) good.push_back(std::move(division));
    }
    double least = 1;
    for (const auto& one : good) least = std::min(least, one.unexplained);
    for (auto& one : good)
      if (one.unexplained <= kWorse * least + kWorseShare &&
          (!best.accepted || one.length < best.length))
        best = std::move(one);
    return best.accepted ? Rotated(std::move(best), count) : best;
  }

 private:
  // Primitives that come again, the rarest first.
  std::vector<std::uint32_t> Leads() const {
    std::vector<std::uint32_t> leads;
    for (std::uint32_t i = 0; i < places_.size(); ++i)
      if (places_[i].size() > 1) leads.push_back(i);
    std::ranges::stable_sort(leads, {}, [&](std::uint32_t i) { return places_[i].size(); });
    if (leads.size() > kLeads) leads.resize(kLeads);
    return leads;
  }

  // Every `apart`-th place of a primitive, counted from the last but `skip`.
  static Cuts EveryOf(const std::vector<std::size_t>& places, std::size_t apart, std::size_t skip) {
    Cuts cuts;
    for (std::size_t i = skip; i < places.size(); i += apart)
      cuts.push_back(places[places.size() - 1 - i]);
    std::ranges::reverse(cuts);
    return cuts;
  }

  // Puts a cut before the first, where a whole piece has room: a step's only primitive of its kind
  // may be its last.
  Cuts Extended(Cuts cuts) const {
    const auto length = static_cast<std::size_t>(MedianLength(cuts));
    if (length > 0 && cuts.front() >= length) cuts.insert(cuts.begin(), cuts.front() - length);
    return cuts;
  }

  // Cuts behind each place of a primitive.
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
    // The last of two is the piece to the stream's end.
    if (lengths.size() == 2) return lengths[0];
    std::ranges::nth_element(lengths, middle);
    return *middle;
  }

  bool IsUsualLength(const Cuts& cuts, std::size_t piece, double length) const {
    const auto own = static_cast<double>(EndOf(cuts, piece) - cuts[piece]);
    return std::abs(own - length) <= std::max(1.0, kLengthTolerance * length);
  }

  // [1] of the stream in pieces of the usual length; 0 with fewer than two of them.
  double Cover(const Cuts& cuts, double length) const {
    std::size_t covered = 0, pieces = 0;
    for (std::size_t i = 0; i < cuts.size(); ++i) {
      if (!IsUsualLength(cuts, i, length)) continue;
      covered += EndOf(cuts, i) - cuts[i];
      ++pieces;
    }
    return pieces < 2 ? 0 : static_cast<double>(covered) / static_cast<double>(stream_.size());
  }

  // The best cuts of each length, those that cover most first.
  std::vector<Cuts> Candidates(std::size_t count) const {
    std::map<std::size_t, std::pair<double, Cuts>> by_length;
    for (const auto lead : Leads()) {
      const auto& places = places_[lead];
      const std::size_t given = count > 0 ? places.size() / count : 0;
      if (count > 0 && given == 0) continue;
      const std::size_t most = count > 0 ? given : std::min(kMostPerStep, places.size() / 2);
      for (std::size_t apart = count > 0 ? given : 1; apart <= most; ++apart)
        for (const std::size_t skip : {std::size_t{0}, apart - 1}) {
          auto cuts = Extended(EveryOf(places, apart, skip));
          const double length = MedianLength(cuts);
          const double cover = Cover(cuts, length);
          if (length < 2 || cover < kLeastCover) continue;
          auto& known = by_length[static_cast<std::size_t>(length)];
          if (cover > known.first) known = {cover, std::move(cuts)};
        }
    }
    std::vector<std::pair<double, Cuts>> rows;
    for (auto& [length, row] : by_length) rows.push_back(std::move(row));
    std::ranges::stable_sort(rows, std::ranges::greater{}, &std::pair<double, Cuts>::first);
    if (rows.size() > kMostTried) rows.resize(kMostTried);
    std::vector<Cuts> all;
    for (auto& row : rows) all.push_back(std::move(row.second));
    return all;
  }

  // Times that each primitive comes in each piece: by primitive, (piece, times) without zeros.
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

  // Lower median over the pieces that `counts`, zeros included.
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
    std::vector<double> same(pieces), all(pieces);  // sums of the lesser and of the greater times
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
    Decide(contents, same, count, division);
    return division;
  }

  // Sets `unexplained` and `accepted`.
  void Decide(const Contents& contents, const std::vector<double>& same, std::size_t count,
              Division& division) const {
    const auto first = std::ranges::find(division.steady, true) - division.steady.begin();
    if (division.steady_count < 2) return;
    double explained = 0;
    for (std::size_t i = 0; i < division.cuts.size(); ++i) {
      if (!division.steady[i]) continue;
      explained += same[i];
      division.covered += static_cast<double>(EndOf(division.cuts, i) - division.cuts[i]);
    }
    const auto begin = division.cuts[static_cast<std::size_t>(first)];
    division.unexplained = 1 - explained / static_cast<double>(stream_.size() - begin);
    // The rest of a stream that was cut off within a step is no failure to explain.
    if (!division.steady.back()) {
      const auto rest = static_cast<double>(stream_.size() - division.cuts.back());
      division.unexplained = 1 - (explained + std::min(rest, same.back())) /
                                     static_cast<double>(stream_.size() - begin);
    }
    const bool covers = division.covered >= kLeastCover * static_cast<double>(stream_.size());
    if (count > 0) {
      division.accepted = covers && division.steady_count == count;
      return;
    }
    division.accepted = covers && AgreesBetterThanChance(contents, division);
  }

  // From the first steady piece to its end the stream repeats itself, place by place.
  bool RepeatsInPlace(const Division& division) const {
    const auto first = std::ranges::find(division.steady, true) - division.steady.begin();
    const auto begin = division.cuts[static_cast<std::size_t>(first)];
    const auto length = EndOf(division.cuts, static_cast<std::size_t>(first)) - begin;
    return std::ranges::equal(stream_.subspan(begin + length),
                              stream_.subspan(begin, stream_.size() - begin - length));
  }

  // Differences of the steady pieces from the usual, against those that independent draws would
  // have.
  bool AgreesBetterThanChance(const Contents& contents, const Division& division) const {
    const auto pieces = static_cast<double>(division.steady_count);
    double differences = 0, chance = 0;
    int different = 0;
    for (std::size_t one = 0; one < contents.size(); ++one) {
      double sum = 0, off = 0, seen = 0;
      const double usual = division.usual[one];
      for (const auto& [piece, times] : contents[one]) {
        if (!division.steady[piece]) continue;
        sum += times;
        off += std::abs(times - usual);
        ++seen;
      }
      differences += off + (pieces - seen) * usual;
      const double mean = sum / pieces;
      chance += pieces * MeanDeviation(mean) * std::sqrt((pieces - 1) / pieces);
      different += usual > 0 ? 1 : 0;
    }
    const double most = chance < kFew ? kMostOverChanceOfFew : kMostOverChance;
    if (different < 2 || chance < kLeastChance || differences > most * chance) return false;
    return chance >= kFewForCounts || RepeatsInPlace(division);
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

  // Returns the better of two divisions into the same steps: with more of them, less that is not
  // explained, more of the stream in whole steps.
  static bool IsBetter(const Division& one, const Division& than) {
    if (one.steady_count != than.steady_count) return one.steady_count > than.steady_count;
    if (one.unexplained != than.unexplained) return one.unexplained < than.unexplained;
    return one.covered > than.covered;
  }

  // The same division, but cut where most of the stream is whole steps: before a primitive that
  // comes once in a step and is among the first in the stream, behind one among the last, or so
  // that the last step ends with the stream.
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

StepDivision FindDivision(std::span<const std::uint32_t> stream, std::size_t distinct,
                          std::size_t count) {
  return StepFinder(stream, distinct).Find(count);
}

}  // namespace dlroof
