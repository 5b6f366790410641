#include "reporters/trajectory/loss.h"

#include <algorithm>
#include <array>

#include "counters/base/keys.h"

namespace dlroof::trajectory {
namespace {

constexpr KeyRow<Cause> kKeys[] = {
    {Cause::kBandwidth, "bandwidth"}, {Cause::kIntensity, "intensity"},
    {Cause::kArithmetic, "clock"},    {Cause::kOverhead, "overhead"},
    {Cause::kImbalance, "imbalance"}, {Cause::kIdle, "idle"},
    {Cause::kStolen, "stolen"},       {Cause::kSharing, "sharing"},
    {Cause::kFunctions, "functions"}, {Cause::kProducts, "products"},
    {Cause::kLanes, "lanes"},         {Cause::kKernel, "kernel"},
    {Cause::kLevels, "levels"},       {Cause::kUnexplained, "unexplained"}};

// The parts of the ledger but the roof's own, which AddRoofCauses divides, and the rest.
constexpr std::pair<breakdown::PartKind, Cause> kCauses[] = {
    {breakdown::PartKind::kFunctions, Cause::kFunctions}, {breakdown::PartKind::kProducts, Cause::kProducts},
    {breakdown::PartKind::kFixed, Cause::kOverhead},      {breakdown::PartKind::kSharing, Cause::kSharing},
    {breakdown::PartKind::kLanes, Cause::kLanes},         {breakdown::PartKind::kInstructions, Cause::kKernel},
    {breakdown::PartKind::kLevels, Cause::kLevels},       {breakdown::PartKind::kLoads, Cause::kLevels},
    {breakdown::PartKind::kDistance, Cause::kLevels},     {breakdown::PartKind::kKernel, Cause::kKernel},
    {breakdown::PartKind::kImbalance, Cause::kImbalance}, {breakdown::PartKind::kForkJoin, Cause::kOverhead},
    {breakdown::PartKind::kSerial, Cause::kOverhead},     {breakdown::PartKind::kCall, Cause::kOverhead},
    {breakdown::PartKind::kStolen, Cause::kStolen},       {breakdown::PartKind::kTail, Cause::kImbalance},
    {breakdown::PartKind::kLaunch, Cause::kOverhead},     {breakdown::PartKind::kIdle, Cause::kOverhead}};

// The factors of a roof's cost, by unit of work.
struct Factors {
  double arithmetic = 0;          // [s of one thread]
  std::map<Level, double> bytes;  // [byte]
  std::map<Level, double> rate;   // [s of one thread / byte]
};

Factors FactorsOf(const CostFacts& facts, const RoofTime& other) {
  const auto& roof = *facts.roof;
  Factors factors{.arithmetic = roof.arithmetic_seconds * facts.threads / facts.work};
  for (const auto& [level, seconds] : roof.memory_seconds) {
    if (!other.memory_seconds.contains(level)) continue;
    const double bytes = roof.bytes.at(level);
    factors.bytes[level] = bytes / facts.work;
    factors.rate[level] = seconds * facts.threads / bytes;
  }
  return factors;
}

// Returns the roof's cost with each factor from one of two points.
double RoofCost(const Factors& arithmetic, const Factors& bytes, const Factors& rate) {
  double cost = arithmetic.arithmetic;
  for (const auto& [level, count] : bytes.bytes) cost = std::max(cost, count * rate.rate.at(level));
  return cost;
}

std::optional<Level> BindingLevel(const Factors& factors) {
  std::optional<Level> binding;
  double cost = factors.arithmetic;
  for (const auto& [level, count] : factors.bytes) {
    if (count * factors.rate.at(level) <= cost) continue;
    cost = count * factors.rate.at(level);
    binding = level;
  }
  return binding;
}

void AddRoofCauses(const Factors& before, const Factors& after, Loss& loss) {
  constexpr Cause kFactors[] = {Cause::kArithmetic, Cause::kIntensity, Cause::kBandwidth};
  std::array<int, 3> order = {0, 1, 2};
  for (const auto cause : kFactors) loss.by[cause] = 0;
  do {
    std::array<const Factors*, 3> from = {&before, &before, &before};
    double cost = RoofCost(*from[0], *from[1], *from[2]);
    for (const int factor : order) {
      from.at(factor) = &after;
      const double next = RoofCost(*from[0], *from[1], *from[2]);
      loss.by[kFactors[factor]] += (next - cost) / 6;  // 6 orders
      cost = next;
    }
  } while (std::ranges::next_permutation(order).found);
  loss.level = BindingLevel(loss.Total() > 0 ? after : before);
}

double CostOf(breakdown::PartKind kind, const CostFacts& facts) {
  const auto* part = facts.ledger->Find(kind);
  return part == nullptr ? 0 : part->seconds * facts.team / facts.work;
}

void AddLedgerCauses(const CostFacts& before, const CostFacts& after, Loss& loss) {
  const auto change = [&](breakdown::PartKind kind) { return CostOf(kind, after) - CostOf(kind, before); };
  for (const auto& [kind, cause] : kCauses) {
    if (before.ledger->Find(kind) == nullptr && after.ledger->Find(kind) == nullptr) continue;
    loss.parts[cause][kind] = change(kind);
    loss.by[cause] += change(kind);
  }
  const auto idle = [](const CostFacts& facts) {
    return facts.seconds * std::max(0, facts.threads - facts.team) / facts.work;
  };
  loss.by[Cause::kIdle] = idle(after) - idle(before);
}

}  // namespace

std::string_view Key(Cause cause) { return KeyIn(kKeys, cause); }

double Loss::Share(double change) const { return change / std::max(before, after); }

std::optional<Cause> Loss::Largest() const {
  const double sign = Total() < 0 ? -1 : 1;
  std::optional<Cause> largest;
  for (const auto& [cause, change] : by)
    if (cause != Cause::kUnexplained && sign * change > (largest ? sign * by.at(*largest) : 0))
      largest = cause;
  return largest;
}

Loss LossOf(const CostFacts& before, const CostFacts& after) {
  Loss loss{.before = before.Cost(), .after = after.Cost()};
  loss.placed = before.roof && after.roof;
  loss.watched = before.ledger && after.ledger;
  if (loss.placed)
    AddRoofCauses(FactorsOf(before, *after.roof), FactorsOf(after, *before.roof), loss);
  if (loss.watched) AddLedgerCauses(before, after, loss);
  double rest = loss.Total();
  for (const auto& [cause, change] : loss.by) rest -= change;
  loss.by[Cause::kUnexplained] = rest;
  return loss;
}

}  // namespace dlroof::trajectory
