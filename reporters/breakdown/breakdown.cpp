#include "reporters/breakdown/breakdown.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "counters/base/keys.h"
#include "counters/base/numbers.h"
#include "reporters/breakdown/breakdown_text.h"
#include "reporters/text/text.h"

namespace dlroof::breakdown {
namespace {

constexpr KeyRow<ComponentKind> kKeys[] = {
    {ComponentKind::kRoof, "roof"},           {ComponentKind::kFunctions, "functions"},
    {ComponentKind::kProducts, "products"},   {ComponentKind::kFixed, "fixed"},
    {ComponentKind::kSharing, "sharing"},     {ComponentKind::kLanes, "lanes"},
    {ComponentKind::kLoads, "loads"},         {ComponentKind::kInstructions, "instructions"},
    {ComponentKind::kKernel, "kernel"},       {ComponentKind::kDistance, "distance"},
    {ComponentKind::kLevels, "levels"},       {ComponentKind::kUnexplained, "unexplained"},
    {ComponentKind::kImbalance, "imbalance"}, {ComponentKind::kForkJoin, "fork_join"},
    {ComponentKind::kSerial, "serial"},       {ComponentKind::kCall, "call"},
    {ComponentKind::kStolen, "stolen"},       {ComponentKind::kTail, "tail"},
    {ComponentKind::kLaunch, "launch"},       {ComponentKind::kIdle, "idle"}};
constexpr KeyRow<ComponentKind> kWords[] = {
    {ComponentKind::kRoof, "needed by the roof"},
    {ComponentKind::kFunctions, "sigmoid, tanh and other functions"},
    {ComponentKind::kProducts, "products too small to reach the roof"},
    {ComponentKind::kFixed, "code that runs whatever the sizes"},
    {ComponentKind::kSharing, "threads slow each other"},
    {ComponentKind::kLanes, "vector lanes that the shape leaves idle"},
    {ComponentKind::kLoads, "loads that feed the multiply-adds"},
    {ComponentKind::kInstructions, "instructions that are not the roof's"},
    {ComponentKind::kKernel, "the kernel, with all tensors near"},
    {ComponentKind::kDistance, "tensors beyond the near caches"},
    {ComponentKind::kLevels, "bytes of other levels"},
    {ComponentKind::kUnexplained, "unexplained busy time of the threads"},
    {ComponentKind::kImbalance, "waiting for the slowest thread"},
    {ComponentKind::kForkJoin, "fork and join of parallel regions"},
    {ComponentKind::kSerial, "one thread works, the others wait"},
    {ComponentKind::kCall, "calling the library"},
    {ComponentKind::kStolen, "waiting for a CPU"},
    {ComponentKind::kTail, "multiprocessors without a block in the last wave"},
    {ComponentKind::kLaunch, "starting kernels"},
    {ComponentKind::kIdle, "no kernel runs"}};

// Times of one call as the breakdown's identity has them; all but `busy` are lost.
struct Split {
  double call = 0, serial = 0, fork_join = 0, imbalance = 0, stolen = 0;
  double busy = 0;  // [s] mean over the threads

  double Lost() const { return call + serial + fork_join + imbalance + stolen; }
};

double AtLeast0(double seconds) { return std::max(0.0, seconds); }

// Moves up to `seconds` from `part`; returns what is left to be moved.
double Take(double seconds, double& part) {
  const double taken = std::min(seconds, part);
  part -= taken;
  return seconds - taken;
}

// Splits the pass first. Waits for a CPU that made it longer than the call are then left out, and
// the rest is scaled to the call.
Split SplitOf(const BreakdownFacts& facts, const RegionPass& pass) {
  const double threads = facts.parallel.threads;
  Split split;
  const double inside = std::min(pass.regions.seconds, pass.seconds);
  const double longest = std::min(pass.regions.longest_seconds, inside);
  split.fork_join = inside - longest;
  split.imbalance = AtLeast0(longest - std::min(pass.regions.busy_seconds / threads, longest));
  const double waited =
      std::min(pass.run_delay_seconds.value_or(0), split.imbalance + split.fork_join);
  Take(Take(waited, split.imbalance), split.fork_join);
  const double longer = std::min(waited, AtLeast0(pass.seconds - facts.seconds));
  split.stolen = waited - longer;
  const double scale = facts.seconds / (pass.seconds - longer);
  for (double* part : {&split.fork_join, &split.imbalance, &split.stolen}) *part *= scale;
  const double outside = AtLeast0(facts.seconds - (inside - longer) * scale);
  split.call = std::min(outside, facts.call_seconds.value_or(0));
  split.serial = (outside - split.call) * (threads - 1) / threads;
  split.busy = AtLeast0(facts.seconds - split.Lost());
  return split;
}

std::optional<double> SingleThreadBusy(const BreakdownFacts& facts) {
  if (!facts.parallel.single_thread_seconds) return std::nullopt;
  return AtLeast0(*facts.parallel.single_thread_seconds - facts.call_seconds.value_or(0));
}

std::optional<Efficiencies> EfficienciesOf(const BreakdownFacts& facts, const Split& split) {
  if (facts.parallel.threads < 2) return std::nullopt;
  Efficiencies found;
  found.parallel = split.busy / facts.seconds;
  found.load_balance = split.busy / (split.busy + split.imbalance + split.stolen);
  const double with_serial = split.busy + split.imbalance + split.stolen + split.serial;
  found.serialisation = (with_serial - split.serial) / with_serial;
  found.transfer = with_serial / facts.seconds;
  if (const auto alone = SingleThreadBusy(facts); alone && split.busy > 0)
    found.computation = *alone / (split.busy * facts.parallel.threads);
  return found;
}

// [s] of each thread: every one of them begins each region.
double FixedOf(const BreakdownFacts& facts) {
  return AtLeast0(facts.parallel.smallest_seconds.value_or(0) - facts.call_seconds.value_or(0));
}

// [s] of each thread that the threads' being together adds, beyond what the roof itself grows by
// and what each of them does again.
double SharingOf(const BreakdownFacts& facts, double busy) {
  const auto alone = SingleThreadBusy(facts);
  if (!alone || facts.parallel.threads < 2) return 0;
  const double threads = facts.parallel.threads;
  const double roof =
      facts.single_thread_roof_seconds
          ? AtLeast0(facts.roof_seconds * threads - *facts.single_thread_roof_seconds)
          : 0;
  const double again = (threads - 1) * FixedOf(facts);
  return AtLeast0(busy * threads - *alone - roof - again) / threads;
}

double ProductsOf(const BreakdownFacts& facts) {
  const auto& products = facts.parallel.parts.products;
  if (!products || !facts.arithmetic || !facts.single_thread_compute_seconds) return 0;
  return AtLeast0(*products - *facts.single_thread_compute_seconds) / facts.parallel.threads;
}

// [s] of each thread that a kernel takes beyond the roof, and that its tensors' distance adds.
struct KernelParts {
  double lanes = 0, loads = 0, instructions = 0, rest = 0, distance = 0;
};

// [s] on one thread that those of the call's instructions take at least which no part measured
// apart has: all of them at the rate at which the core starts instructions, less theirs. Where a
// part was timed but not counted, its whole time is taken to be theirs.
double InstructionsOf(const BreakdownFacts& facts, double lanes_and_loads) {
  const auto& parallel = facts.parallel;
  const auto& counted = parallel.instructions;
  if (!counted || !counted->per_second) return 0;
  const auto of = [&](std::optional<double> instructions, std::optional<double> seconds) {
    return instructions ? *instructions / *counted->per_second : seconds.value_or(0);
  };
  const auto& parts = parallel.parts;
  double elsewhere = of(parts.function_instructions, parts.functions) +
                     of(parts.product_instructions, parts.products) +
                     of(counted->smallest, parallel.smallest_seconds);
  if (facts.arithmetic && !parts.products)
    elsewhere +=
        facts.single_thread_compute_seconds.value_or(0) + lanes_and_loads * parallel.threads;
  return AtLeast0(counted->all / *counted->per_second - elsewhere);
}

// The roof has its own part of the time with near tensors and of what far ones add: arithmetic of
// the former, bytes first of the latter. Where the kernel was timed so, models share out that time.
KernelParts KernelPartsOf(const BreakdownFacts& facts) {
  const auto& parallel = facts.parallel;
  KernelParts parts;
  if (facts.arithmetic && !parallel.parts.products)  // products have them
    parts.lanes = AtLeast0(parallel.executed_over_useful.value_or(1) - 1) * facts.roof_seconds;
  // The multiply-adds run beside the loads; what these take longer is theirs.
  if (facts.arithmetic && facts.load_seconds)
    parts.loads = AtLeast0(*facts.load_seconds - facts.roof_seconds - parts.lanes);
  parts.instructions = InstructionsOf(facts, parts.lanes + parts.loads) / parallel.threads;
  const auto& roof =
      facts.arithmetic ? facts.single_thread_compute_seconds : facts.single_thread_roof_seconds;
  if (!parallel.near_seconds || !parallel.far_seconds || !roof) return parts;
  double near = *parallel.near_seconds;
  double distance = AtLeast0(*parallel.far_seconds - near);
  if (facts.arithmetic)
    Take(*roof, near);
  else
    Take(Take(*roof, distance), near);
  parts.rest = near / parallel.threads;
  parts.distance = distance / parallel.threads;
  parts.lanes -= Take(parts.lanes, parts.rest);
  parts.loads -= Take(parts.loads, parts.rest);
  parts.instructions -= Take(parts.instructions, parts.rest);
  return parts;
}

// "L2 4.00 us, DRAM 3.00 us"
std::string TextOf(const std::vector<LevelTime>& levels) {
  std::string text;
  for (const auto& [level, seconds, from] : levels)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", level, text::WithPrefix(seconds, "s"));
  return text;
}

// Parts of a time, cut from what is left of it.
class PartList {
 public:
  explicit PartList(double seconds) : rest_(seconds) {}

  // Cuts off a part of `wanted` [s], or what is left.
  void Add(ComponentKind kind, double wanted, Provenance from, const std::string& how) {
    const double seconds = std::min(wanted, rest_);
    rest_ -= seconds;
    parts_.push_back({kind, seconds, from, how});
    if (seconds > 0) rest_from_ = std::max(rest_from_, from);
  }
  // Cuts off the bytes of levels.
  void AddLevels(const std::vector<LevelTime>& levels) {
    double sum = 0;
    auto worst = Provenance::kMeasured;
    for (const auto& level : levels) {
      sum += level.seconds;
      worst = std::max(worst, level.from);
    }
    Add(ComponentKind::kLevels, sum, worst, "at most: as if nothing hid " + TextOf(levels));
  }
  // Cuts off `wanted` [s] that was measured, beside what the levels' bandwidths ask for.
  void AddDistance(double wanted, const std::vector<LevelTime>& levels) {
    std::string how = "longer than that on tensors whose pages do not repeat";
    if (!levels.empty()) how += "; bytes ask for " + TextOf(levels);
    Add(ComponentKind::kDistance, wanted, Provenance::kMeasured, how);
  }
  // All parts, also those of no time, and what is left of the time as not explained.
  std::vector<Component> Take() {
    parts_.push_back({ComponentKind::kUnexplained, rest_, rest_from_, "the rest"});
    return std::move(parts_);
  }

 private:
  double rest_;
  Provenance rest_from_ = Provenance::kMeasured;  // a difference is as sure as what was cut off
  std::vector<Component> parts_;
};

std::string RegionText(const RegionPass& pass, int threads, double seconds) {
  return fmt::format("{:.3g} regions on {} threads, {} each", pass.regions.regions, threads,
                     text::WithPrefix(seconds / pass.regions.regions, "s"));
}

std::vector<Component> BusyParts(const BreakdownFacts& facts, double busy) {
  const auto& parallel = facts.parallel;
  const auto kernel = KernelPartsOf(facts);
  PartList parts(busy);
  parts.Add(ComponentKind::kRoof, facts.roof_seconds, facts.roof_from, facts.roof);
  parts.Add(ComponentKind::kFunctions, parallel.parts.functions.value_or(0) / parallel.threads,
            Provenance::kMeasured, "the library's own primitives on as many elements");
  parts.Add(ComponentKind::kProducts, ProductsOf(facts), Provenance::kMeasured,
            "the library's own products of these sizes, less the roof");
  parts.Add(ComponentKind::kFixed, FixedOf(facts), Provenance::kMeasured,
            "the same call with sizes of 1");
  parts.Add(ComponentKind::kSharing, SharingOf(facts, busy), Provenance::kMeasured,
            "less on one thread alone");
  parts.Add(ComponentKind::kLanes, kernel.lanes, Provenance::kModelled,
            fmt::format("{:.3g} x the multiply-adds", parallel.executed_over_useful.value_or(1)));
  parts.Add(ComponentKind::kLoads, kernel.loads, Provenance::kModelled,
            "as many vector loads and stores at the rate of L1");
  if (const auto& counted = parallel.instructions)
    parts.Add(ComponentKind::kInstructions, kernel.instructions, counted->from,
              fmt::format("at least: {}, less those above, as fast as a core starts any",
                          Text(*counted)));
  parts.Add(ComponentKind::kKernel, kernel.rest, Provenance::kMeasured,
            "the same call on tensors whose pages repeat, so that L2 holds them");
  if (parallel.far_seconds)
    parts.AddDistance(kernel.distance, facts.levels);
  else
    parts.AddLevels(facts.levels);
  return parts.Take();
}

// All parts, also those of no time.
std::vector<Component> PartsOf(const BreakdownFacts& facts, const RegionPass& pass) {
  const auto split = SplitOf(facts, pass);
  auto parts = BusyParts(facts, split.busy);
  const auto add = [&](ComponentKind kind, double seconds, const std::string& how) {
    parts.push_back({kind, seconds, Provenance::kMeasured, how});
  };
  add(ComponentKind::kImbalance, split.imbalance, "");
  add(ComponentKind::kForkJoin, split.fork_join,
      split.fork_join > 0 ? RegionText(pass, facts.parallel.threads, split.fork_join) : "");
  add(ComponentKind::kSerial, split.serial, "outside of parallel regions");
  add(ComponentKind::kCall, split.call, "an empty primitive takes it");
  add(ComponentKind::kStolen, split.stolen, "");
  return parts;
}

// The interval of each part's median over the passes, widened to hold the part.
void AddIntervals(const BreakdownFacts& facts, std::vector<Component>& parts) {
  std::map<ComponentKind, std::vector<double>> seconds;
  for (const auto& pass : facts.parallel.passes)
    for (const auto& part : PartsOf(facts, pass)) seconds[part.kind].push_back(part.seconds);
  for (auto& part : parts) {
    part.ci95 = MedianInterval95(seconds[part.kind]);
    if (!part.ci95) continue;
    part.ci95->first = std::min(part.ci95->first, part.seconds);
    part.ci95->second = std::max(part.ci95->second, part.seconds);
  }
}

// [s] of a kernel's time in which multiprocessors have no block; 0 where its waves are not known.
double TailOf(const LaunchedKernel& kernel) {
  if (!kernel.facts || !kernel.facts->waves || *kernel.facts->waves <= 0) return 0;
  const double waves = *kernel.facts->waves;
  return *kernel.seconds * (1 - waves / std::ceil(waves));
}

}  // namespace

std::string_view Key(ComponentKind kind) { return KeyIn(kKeys, kind); }
std::string_view Words(ComponentKind kind) { return KeyIn(kWords, kind); }

const Component* Breakdown::Find(ComponentKind kind) const {
  const auto found = std::ranges::find(parts, kind, &Component::kind);
  return found == parts.end() ? nullptr : &*found;
}

const Component* Breakdown::Largest() const {
  const Component* largest = nullptr;
  for (const auto& part : parts)
    if (part.kind != ComponentKind::kRoof &&
        (largest == nullptr || part.seconds > largest->seconds))
      largest = &part;
  return largest;
}

double Breakdown::UnexplainedShare() const {
  const auto* roof = Find(ComponentKind::kRoof);
  const auto* rest = Find(ComponentKind::kUnexplained);
  const double slowdown = seconds - (roof == nullptr ? 0 : roof->seconds);
  return rest == nullptr || slowdown <= 0 ? 0 : rest->seconds / slowdown;
}

Breakdown MakeBreakdown(const BreakdownFacts& facts) {
  const auto& mean = facts.parallel.mean;
  Breakdown breakdown{PartsOf(facts, mean), facts.seconds, mean.regions.regions,
                      EfficienciesOf(facts, SplitOf(facts, mean))};
  std::erase_if(breakdown.parts, [&](auto& part) { return part.seconds <= 1e-6 * facts.seconds; });
  AddIntervals(facts, breakdown.parts);
  return breakdown;
}

std::optional<Breakdown> MakeGpuBreakdown(const BreakdownFacts& facts,
                                          const std::vector<LaunchedKernel>& kernels) {
  double traced = 0, tail = 0;
  int launches = 0;
  for (const auto& kernel : kernels) {
    if (!kernel.seconds) return std::nullopt;
    traced += *kernel.seconds;
    tail += TailOf(kernel);
    launches += kernel.launches;
  }
  if (!(traced > 0)) return std::nullopt;
  const double running = std::min(traced, facts.seconds);
  const double idle = facts.seconds - running;
  const double launch = std::min(idle, facts.call_seconds.value_or(0) * launches);
  PartList parts(running);
  parts.Add(ComponentKind::kRoof, facts.roof_seconds, facts.roof_from, facts.roof);
  parts.Add(ComponentKind::kTail, tail * running / traced, Provenance::kMeasured,
            "blocks over those that the GPU holds at once");
  parts.AddLevels(facts.levels);
  Breakdown breakdown{parts.Take(), facts.seconds, static_cast<double>(launches), std::nullopt};
  const auto counted = fmt::format("{} kernel{}", launches, launches == 1 ? "" : "s");
  breakdown.parts.push_back({ComponentKind::kLaunch, launch, Provenance::kMeasured, counted});
  breakdown.parts.push_back({ComponentKind::kIdle, idle - launch, Provenance::kMeasured,
                             "before, between and after " + counted});
  std::erase_if(breakdown.parts, [&](auto& part) { return part.seconds <= 1e-6 * facts.seconds; });
  return breakdown;
}

}  // namespace dlroof::breakdown
