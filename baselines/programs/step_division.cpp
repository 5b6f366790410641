#include "baselines/programs/step_division.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

namespace dlroof::programs {
namespace {

constexpr std::size_t kLeads = 64;  // number of rarest primitives that are tried as a step's first
constexpr std::size_t kMostPerStep = 8;  // occurrences of a step's first primitive in one step
constexpr std::size_t kLeastTried = 16;  // periods that are evaluated, and more as long as
constexpr std::size_t kMostWork =
    40'000'000;                            // their number times the stream's length is below this
constexpr std::size_t kMostRotations = 8;  // number of primitives at which the steps may begin
constexpr double kLengthTolerance = 0.1;   // [1] tolerance of a segment's length, of a step's
constexpr std::size_t kBeforeSteps = 3;    // occurrences of a primitive outside of the steady steps
constexpr double kFewSteps = 0.01;         // [1] added to `unexplained` of two steps, less for more
constexpr double kLeastCover = 0.5;        // [1] least share of the stream in steady steps
constexpr double kLeastAlike = 0.9;  // [1] least share of a steady step's primitives that are usual
// [1] Largest accepted differences between steps divided by those of random segments, if at least
// kFew differences are expected by chance, and if fewer are.
constexpr double kMostOverChance = 0.35, kMostOverChanceOfFew = 0.1;
constexpr double kFew = 20;           // [1] differences expected by chance
constexpr double kLeastChance = 1.5;  // [1] fewer expected differences prove no steps
// [1] With fewer expected differences each step must also repeat the previous one call by call.
constexpr double kFewForCounts = 40;
constexpr std::size_t kLeastTimes = 6;  // segments that have a primitive which others lack
constexpr double kMostApart = 0.8;      // [1] of them that are equally far apart
constexpr double kAlike = 0.9;          // [1] lengths with a larger ratio are of the same steps
// [1] Training steps are the steps if they are at most this long, of a step with evaluations.
constexpr double kShorter = 0.75;
// [1] Least number of steps in an epoch; share of their primitives that it has exactly so often.
constexpr double kLeastSeveral = 3, kMostExact = 0.4, kExact = 0.02;
// [1] Segments in other orders each time: at most this share repeats the one before. Segments in
// order: at least this share does, and they have this share of the stream.
constexpr double kLeastInOrder = 0.2, kMostInOrder = 0.9, kCoverInOrder = 0.8;
// Prefers a shorter step if `unexplained` is at most kWorse times the best one's plus kWorseShare.
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
  StepFinder(std::span<const std::uint32_t> stream, std::size_t distinct,
             const std::vector<Pass>& passes)
      : stream_(stream), places_(distinct), passes_(passes) {
    passes_.resize(distinct, Pass::kNone);
    for (std::size_t i = 0; i < stream.size(); ++i) places_[stream[i]].push_back(i);
  }

  // Returns the best accepted division with `count` steady segments (0: any number), if any.
  Division Find(std::size_t count) {
    std::vector<Division> good;
    for (auto& cuts : Candidates(count)) {
      Division division = Judged(std::move(cuts), count);
      if (division.accepted) good.push_back(std::move(division));
    }
    // A segment that lacks a primitive of the loop is a layer, not a step.
    if (count == 0) std::erase_if(good, [&](const Division& one) { return LacksPrimitives(one); });
    const Division* shortest = Shortest(good);
    if (shortest == nullptr) return {};
    if (const auto in_order = count == 0 ? InOrder(good, *shortest) : std::nullopt)
      return Rotated(*in_order, count);
    // An evaluation now and then is no part of the training steps between.
    if (auto training = count == 0 ? TrainingSteps() : Division();
        training.accepted && training.length < kShorter * shortest->length)
      return training;
    return Rotated(*shortest, count);
  }

 private:
  // Returns the number of primitives that a step has. A loop within a step has few, however many
  // calls it makes.
  static std::ptrdiff_t DistinctOf(const Division& division) {
    return std::ranges::count_if(division.usual, [](double usual) { return usual > 0; });
  }

  // Returns the shortest division among the best ones, or null if there is none.
  const Division* Shortest(const std::vector<Division>& good) const {
    if (good.empty()) return nullptr;
    const auto& least = *std::ranges::min_element(good, {}, &Division::unexplained);
    const Division* best = nullptr;
    for (const auto& one : good)
      if (one.unexplained <= kWorse * least.unexplained + kWorseShare &&
          2 * DistinctOf(one) >= DistinctOf(least) &&
          (best == nullptr || one.length < best->length))
        best = &one;
    if (best == nullptr) return nullptr;
    // The same steps, cut so that more of them are steady.
    const double length = best->length;
    for (const auto& one : good)
      if (one.unexplained <= best->unexplained && kAlike * one.length <= length &&
          one.length >= kAlike * length && one.steady_count > best->steady_count)
        best = &one;
    const Division* shortest = best;
    for (const auto& one : good)
      if (one.length < shortest->length && IsSeveral(*best, one)) shortest = &one;
    return shortest;
  }

  // Returns a division into at least twice as many segments that repeat call by call, if the found
  // one's have the same primitives in other orders each time: parts of an epoch may by chance.
  std::optional<Division> InOrder(const std::vector<Division>& good, const Division& found) const {
    if (RepeatedShare(found) >= kLeastInOrder) return std::nullopt;
    std::vector<Division> in_order;
    for (const auto& one : good)
      if (one.steady_count >= 2 * found.steady_count &&
          one.covered >= kCoverInOrder * static_cast<double>(stream_.size()) &&
          RepeatedShare(one) >= kMostInOrder)
        in_order.push_back(one);
    const auto* shortest = Shortest(in_order);
    return shortest == nullptr ? std::nullopt : std::optional(*shortest);
  }

  // [1] Returns the share of steady segments that repeat the steady one before call by call.
  double RepeatedShare(const Division& division) const {
    std::size_t before = 0, seen = 0, repeated = 0;
    for (std::size_t i = 0; i < division.cuts.size(); ++i) {
      if (!division.steady[i]) continue;
      const auto piece = [&](std::size_t of) {
        return stream_.subspan(division.cuts[of], EndOf(division.cuts, of) - division.cuts[of]);
      };
      if (seen++ > 0 && std::ranges::equal(piece(i), piece(before))) ++repeated;
      before = i;
    }
    return seen > 1 ? static_cast<double>(repeated) / static_cast<double>(seen - 1) : 0;
  }

  // Returns the division at the begins of forward passes that follow a backward one, or at every
  // second, third, ... of them, if the segments are steps.
  Division TrainingSteps() const {
    Cuts begins;
    bool after_backward = true;
    for (std::size_t i = 0; i < stream_.size(); ++i) {
      const auto pass = passes_[stream_[i]];
      if (pass == Pass::kForward && after_backward) begins.push_back(i);
      if (pass != Pass::kNone) after_backward = pass == Pass::kBackward;
    }
    for (std::size_t apart = 1; apart <= kMostPerStep && 2 * apart <= begins.size(); ++apart) {
      Cuts cuts;
      for (std::size_t i = 0; i < begins.size(); i += apart) cuts.push_back(begins[i]);
      auto division = Judged(std::move(cuts), 0);
      if (division.accepted && !LacksPrimitives(division)) return division;
    }
    return {};
  }

  // Returns the primitives with several calls, the rarest first: steps may begin with them.
  std::vector<std::uint32_t> Leads(std::size_t count) const {
    std::vector<std::uint32_t> leads;
    for (std::uint32_t i = 0; i < places_.size(); ++i)
      if (places_[i].size() > 1) leads.push_back(i);
    std::ranges::stable_sort(leads, {}, [&](std::uint32_t i) { return places_[i].size(); });
    if (leads.size() <= kLeads) return leads;
    // Many may be of the warm-up alone, such as the kernels that a compiler tries.
    std::erase_if(leads, [&](std::uint32_t i) { return !MayLead(places_[i], count); });
    if (leads.size() > kLeads) leads.resize(kLeads);
    return leads;
  }

  // Returns how many calls of a primitive are in a step: each number up to kMostPerStep, or the one
  // that follows from the number of steps.
  static std::vector<std::size_t> CallsPerStep(std::size_t calls, std::size_t count) {
    if (count > 0) return {calls / count};
    std::vector<std::size_t> all(kMostPerStep);
    std::iota(all.begin(), all.end(), 1);
    return all;
  }

  bool MayLead(const std::vector<std::size_t>& places, std::size_t count) const {
    return std::ranges::any_of(CallsPerStep(places.size(), count), [&](std::size_t apart) {
      if (apart == 0 || 2 * apart > places.size()) return false;
      const auto cuts = Extended(EveryOf(places, apart, 0));
      const double length = MedianLength(cuts);
      return length >= 2 && Cover(cuts, length) >= kLeastCover;
    });
  }

  // Returns every `apart`-th position of a primitive, backwards from the last position but `skip`.
  static Cuts EveryOf(const std::vector<std::size_t>& places, std::size_t apart, std::size_t skip) {
    Cuts cuts;
    for (std::size_t i = skip; i < places.size(); i += apart)
      cuts.push_back(places[places.size() - 1 - i]);
    std::ranges::reverse(cuts);
    return cuts;
  }

  // Adds a cut one segment before the first cut if a whole segment fits there: the primitive at
  // which the stream is cut may be the last of its step.
  Cuts Extended(Cuts cuts) const {
    const auto length = static_cast<std::size_t>(MedianLength(cuts));
    if (length > 0 && cuts.front() >= length) cuts.insert(cuts.begin(), cuts.front() - length);
    return cuts;
  }

  // Returns cuts after each position of a primitive.
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
    // The second of two segments may be cut short by the end of the stream.
    if (lengths.size() == 2) return lengths[0];
    std::ranges::nth_element(lengths, middle);
    return *middle;
  }

  bool IsUsualLength(const Cuts& cuts, std::size_t piece, double length) const {
    const auto own = static_cast<double>(EndOf(cuts, piece) - cuts[piece]);
    return std::abs(own - length) <= std::max(1.0, kLengthTolerance * length);
  }

  // Returns the share [1] of the stream in segments of about `length` calls; 0 for fewer than two.
  double Cover(const Cuts& cuts, double length) const {
    std::size_t covered = 0, pieces = 0;
    for (std::size_t i = 0; i < cuts.size(); ++i) {
      if (!IsUsualLength(cuts, i, length)) continue;
      covered += EndOf(cuts, i) - cuts[i];
      ++pieces;
    }
    return pieces < 2 ? 0 : static_cast<double>(covered) / static_cast<double>(stream_.size());
  }

  // Returns divisions to try, first those at primitives that occur once in a step, rare ones first.
  std::vector<Cuts> Candidates(std::size_t count) const {
    const std::size_t most =
        std::max(kLeastTried, kMostWork / std::max<std::size_t>(1, stream_.size()));
    std::vector<Cuts> all;
    const auto add = [&](Cuts cuts) {
      const double length = MedianLength(cuts);
      if (all.size() < most && length >= 2 && Cover(cuts, length) >= kLeastCover)
        all.push_back(std::move(cuts));
    };
    const auto leads = Leads(count);
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

  // By primitive: (segment, number of calls in it), for segments with calls of the primitive.
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

  // Returns a primitive's usual occurrences: the lower median over segments with `counts` set.
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
    std::vector<double> same(pieces), all(pieces);  // usual calls; calls beyond them
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
    division.contains.resize(pieces);
    for (std::size_t i = 0; i < pieces; ++i) {
      division.contains[i] = same[i] >= kLeastAlike * usual_sum;
      division.steady[i] = usual_length[i] && same[i] >= kLeastAlike * (all[i] + usual_sum);
      division.steady_count += division.steady[i] ? 1 : 0;
    }
    division.cuts = std::move(cuts);
    Decide(contents, count, division);
    return division;
  }

  // Returns whether the segments are the same again and again in everything but a primitive that
  // comes only with every second, third, ... of them: then these are the steps. In a training step,
  // which has a backward pass, a primitive that is not backward may be part of an evaluation.
  bool LacksPrimitives(const Division& division) const {
    bool training = false;
    for (std::size_t one = 0; one < division.usual.size(); ++one)
      training = training || (passes_[one] == Pass::kBackward && division.usual[one] > 0);
    const auto contents = ContentsOf(division.cuts);
    for (std::size_t one = 0; one < contents.size(); ++one) {
      if (training && passes_[one] != Pass::kBackward) continue;
      std::vector<std::size_t> with;  // segments with more calls of the primitive than usual
      for (const auto& [piece, times] : contents[one])
        if (times > division.usual[one]) with.push_back(piece);
      if (IsEvery(with, division)) return true;
    }
    return false;
  }

  // Returns whether the segments are every second, third, ... of the division, from its first
  // steady segment to its last. Few could be so by chance.
  static bool IsEvery(const std::vector<std::size_t>& pieces, const Division& division) {
    if (pieces.size() < kLeastTimes) return false;
    std::vector<std::size_t> apart;
    for (std::size_t i = 1; i < pieces.size(); ++i) apart.push_back(pieces[i] - pieces[i - 1]);
    std::ranges::sort(apart);
    const auto usual = apart[apart.size() / 2];
    // Evaluations may come between.
    if (usual < 2 || static_cast<double>(std::ranges::count(apart, usual)) <
                         kMostApart * static_cast<double>(apart.size()))
      return false;
    const auto first = static_cast<std::size_t>(std::ranges::find(division.steady, true) -
                                                division.steady.begin());
    return pieces.front() <= first + usual && pieces.back() + usual >= division.cuts.size() - 1;
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

  // Returns whether a segment of `longer` consists of several segments of `shorter`, and of calls
  // beside them (evaluations, which have some of a step's primitives).
  bool IsSeveral(const Division& longer, const Division& shorter) const {
    if (IsSeveralAlone(longer, shorter)) return true;
    // Otherwise TrainingSteps tells them from evaluations.
    if (std::ranges::count(passes_, Pass::kBackward) > 0) return false;
    std::vector<double> ratios;
    for (std::size_t one = 0; one < longer.usual.size(); ++one) {
      if (!longer.regular[one] || longer.usual[one] <= 0) continue;
      if (shorter.usual[one] <= 0) return false;  // a layer is no step
      ratios.push_back(longer.usual[one] / shorter.usual[one]);
    }
    if (ratios.empty()) return false;
    const double least = std::ranges::min(ratios), times = std::round(least);
    const auto exact = std::ranges::count_if(
        ratios, [&](double ratio) { return std::abs(ratio - times) <= kExact * times; });
    return times >= kLeastSeveral && std::abs(least - times) <= kExact * times &&
           static_cast<double>(exact) >= kMostExact * static_cast<double>(ratios.size()) &&
           static_cast<double>(shorter.steady_count) >=
               kLeastSeveral * static_cast<double>(longer.steady_count);
  }

  // Returns whether it consists of these alone.
  static bool IsSeveralAlone(const Division& longer, const Division& shorter) {
    const double times = std::round(longer.length / shorter.length);
    if (times < 2 || std::abs(longer.length - times * shorter.length) > times + 1) return false;
    for (std::size_t one = 0; one < longer.usual.size(); ++one)
      if (longer.regular[one] && std::abs(longer.usual[one] - times * shorter.usual[one]) >
                                     kLengthTolerance * longer.usual[one])
        return false;
    return true;
  }

  // Returns StepDivision::unexplained. Ignores primitives whose counts vary as much as by chance.
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
      // The stream may end within its last step, where missing primitives do not count.
      const double missing = i + 1 < division.cuts.size() ? usual_sum - same[i] : 0;
      explained += std::max(same[i] - missing, 0.0);
    }
    return 1 - explained / static_cast<double>(stream_.size() - division.cuts[first]);
  }

  // Sums of |calls in a steady segment - usual calls| of a primitive: observed, and expected if all
  // calls were randomly distributed.
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

  // Returns whether segments repeat the previous one call by call, from the first steady one on.
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

  // Moves all cuts by the same distance so that the last step ends with the stream.
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
  std::vector<Pass> passes_;                      // by primitive
};

}  // namespace

StepDivision FindDivision(std::span<const std::uint32_t> stream, std::size_t distinct,
                          std::optional<std::size_t> count, const std::vector<Pass>& passes) {
  return StepFinder(stream, distinct, passes).Find(count.value_or(0));
}

}  // namespace dlroof::programs
