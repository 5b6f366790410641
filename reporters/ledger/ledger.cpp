#include "reporters/ledger/ledger.h"

#include <fmt/format.h>

#include <algorithm>

#include "counters/base/keys.h"
#include "reporters/text/units.h"

namespace dlroof {
namespace {

constexpr KeyRow<PartKind> kKeys[] = {{PartKind::kRoof, "roof"},
                                      {PartKind::kFunctions, "functions"},
                                      {PartKind::kUnexplained, "unexplained"},
                                      {PartKind::kImbalance, "imbalance"},
                                      {PartKind::kForkJoin, "fork_join"},
                                      {PartKind::kSerial, "serial"},
                                      {PartKind::kCall, "call"},
                                      {PartKind::kStolen, "stolen"}};
constexpr KeyRow<PartKind> kWords[] = {
    {PartKind::kRoof, "needed by the roof"},
    {PartKind::kFunctions, "sigmoid, tanh and other functions"},
    {PartKind::kUnexplained, "unexplained, in the threads' busy time"},
    {PartKind::kImbalance, "waiting for the slowest thread"},
    {PartKind::kForkJoin, "fork and join of parallel regions"},
    {PartKind::kSerial, "one thread works, the others wait"},
    {PartKind::kCall, "calling the library"},
    {PartKind::kStolen, "waiting for a CPU"}};

// Times of one call as the ledger's identity has them; all but `busy` are lost.
struct Split {
  double call = 0, serial = 0, fork_join = 0, imbalance = 0, stolen = 0;
  double busy = 0;  // [s] mean over the threads

  double Lost() const { return call + serial + fork_join + imbalance + stolen; }
};

// Moves up to `seconds` from `part`; returns what is left to be moved.
double Take(double seconds, double& part) {
  const double taken = std::min(seconds, part);
  part -= taken;
  return seconds - taken;
}

Split SplitOf(const LedgerFacts& facts) {
  const auto& passes = facts.parallel;
  const double scale = facts.seconds / passes.seconds;
  const double threads = passes.threads;
  const auto at_least_0 = [](double seconds) { return std::max(0.0, seconds); };
  Split split;
  const double inside = std::min(passes.regions.seconds, passes.seconds) * scale;
  const double outside = facts.seconds - inside;
  split.call = std::min(outside, facts.call_seconds.value_or(0));
  split.serial = (outside - split.call) * (threads - 1) / threads;
  const double longest = std::min(passes.regions.longest_seconds * scale, inside);
  split.fork_join = inside - longest;
  const double busy = std::min(passes.regions.busy_seconds * scale / threads, longest);
  split.imbalance = at_least_0(longest - busy);
  if (passes.run_delay_seconds) {
    const double waited =
        std::min(*passes.run_delay_seconds * scale, split.imbalance + split.fork_join);
    Take(Take(waited, split.imbalance), split.fork_join);
    split.stolen = waited;
  }
  split.busy = at_least_0(facts.seconds - split.Lost());
  return split;
}

std::optional<Efficiencies> EfficienciesOf(const LedgerFacts& facts, const Split& split) {
  if (facts.parallel.threads < 2) return std::nullopt;
  Efficiencies found;
  found.parallel = split.busy / facts.seconds;
  found.load_balance = split.busy / (split.busy + split.imbalance + split.stolen);
  const double with_serial = split.busy + split.imbalance + split.stolen + split.serial;
  found.serialisation = (with_serial - split.serial) / with_serial;
  found.transfer = with_serial / facts.seconds;
  return found;
}

std::string RegionText(const ParallelTime& passes, double seconds) {
  return fmt::format("{:.3g} regions on {} threads, {} each", passes.regions.regions,
                     passes.threads, WithPrefix(seconds / passes.regions.regions, "s"));
}

}  // namespace

std::string_view Key(PartKind kind) { return KeyIn(kKeys, kind); }
std::string_view Words(PartKind kind) { return KeyIn(kWords, kind); }

const LedgerPart* Ledger::Find(PartKind kind) const {
  const auto found = std::ranges::find(parts, kind, &LedgerPart::kind);
  return found == parts.end() ? nullptr : &*found;
}

const LedgerPart* Ledger::Largest() const {
  const LedgerPart* largest = nullptr;
  for (const auto& part : parts)
    if (part.kind != PartKind::kRoof && (largest == nullptr || part.seconds > largest->seconds))
      largest = &part;
  return largest;
}

double Ledger::UnexplainedShare() const {
  const auto* roof = Find(PartKind::kRoof);
  const auto* rest = Find(PartKind::kUnexplained);
  const double gap = seconds - (roof == nullptr ? 0 : roof->seconds);
  return rest == nullptr || gap <= 0 ? 0 : rest->seconds / gap;
}

Ledger MakeLedger(const LedgerFacts& facts) {
  const auto& passes = facts.parallel;
  const auto split = SplitOf(facts);
  Ledger ledger{{}, facts.seconds, EfficienciesOf(facts, split)};
  const auto add = [&](PartKind kind, double seconds, Provenance from, const std::string& how) {
    if (seconds > 1e-6 * facts.seconds) ledger.parts.push_back({kind, seconds, from, how});
  };
  double rest = split.busy;
  const double roof = std::min(facts.roof_seconds, rest);
  add(PartKind::kRoof, roof, facts.roof_from, facts.roof);
  rest -= roof;
  const double functions = std::min(passes.function_seconds.value_or(0) / passes.threads, rest);
  add(PartKind::kFunctions, functions, Provenance::kMeasured,
      "the library's own primitives on as many elements");
  rest -= functions;
  // A difference is as sure as the roof that was taken off.
  add(PartKind::kUnexplained, rest, facts.roof_from, "the rest");
  add(PartKind::kImbalance, split.imbalance, Provenance::kMeasured, "");
  add(PartKind::kForkJoin, split.fork_join, Provenance::kMeasured,
      split.fork_join > 0 ? RegionText(passes, split.fork_join) : "");
  add(PartKind::kSerial, split.serial, Provenance::kMeasured, "outside of parallel regions");
  add(PartKind::kCall, split.call, Provenance::kMeasured, "an empty primitive takes it");
  add(PartKind::kStolen, split.stolen, Provenance::kMeasured, "");
  return ledger;
}

std::string LedgerAdvice(const Ledger& ledger, const ParallelTime& parallel) {
  const auto* part = ledger.Largest();
  if (part == nullptr) return "";
  const double share = 100 * part->seconds / ledger.seconds;
  switch (part->kind) {
    case PartKind::kForkJoin:
      return fmt::format(
          "{:.0f} parallel regions cost {:.0f} % of the time: run it on fewer threads, or give "
          "each region more to do (batch, sequences side by side)",
          parallel.regions.regions, share);
    case PartKind::kSerial:
      return fmt::format(
          "one thread works alone for {:.0f} % of the time: run several calls side by side, one "
          "on each thread",
          share);
    case PartKind::kImbalance:
      return fmt::format(
          "{:.0f} % of the time passes until the slowest thread is done: choose a batch or a "
          "number of threads that divides the work evenly",
          share);
    case PartKind::kCall:
      return fmt::format("calling the library costs {:.0f} % of the time: do more in one call",
                         share);
    case PartKind::kStolen:
      return fmt::format("other programs took {:.0f} % of the time: run it alone", share);
    case PartKind::kFunctions:
      return fmt::format(
          "sigmoid and tanh take {:.0f} % of the time: a narrower type does not shorten them, a "
          "larger hidden size hides them",
          share);
    default:
      return fmt::format(
          "{:.0f} % of the time is the threads' own and not explained: look at the kernel's "
          "blocking, layout and instructions",
          share);
  }
}

}  // namespace dlroof
