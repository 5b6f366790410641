#include "reporters/roofline/breakdown.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "counters/base/numbers.h"
#include "reporters/text/text.h"

namespace dlroof::roofline {
namespace {

// In `advice` {0} is the component's share [%] and {1} the number of parallel regions or kernels.
struct KindRow {
  ComponentKind kind;
  std::string_view key, words, advice = {};
};
using enum ComponentKind;
constexpr KindRow kRows[] = {
    {kRoof, "roof", "needed by the roof"},
    {kFunctions, "functions", "sigmoid, tanh and other functions",
     "sigmoid and tanh take {0:.0f} % of the time: a narrower type does not shorten them, a larger "
     "hidden size hides them"},
    {kProducts, "products", "products too small to reach the roof",
     "products of these sizes cost {0:.0f} % of the time beyond the roof, by the library's own "
     "primitive: make them larger (batch, hidden size, several sequences in one product)"},
    {kFixed, "fixed", "code that runs whatever the sizes",
     "code that runs whatever the sizes costs {0:.0f} % of the time, in {1:.0f} parallel regions: "
     "give each call more to do (batch, hidden size)"},
    {kSharing, "sharing", "threads slow each other",
     "the threads slow each other by {0:.0f} % of the time: run several calls side by side, one on "
     "each thread"},
    {kLanes, "lanes", "vector lanes that the shape leaves idle",
     "{0:.0f} % of the time goes to vector lanes that the shape leaves idle: pad channels to a "
     "multiple of the vector's lanes, or choose such a size"},
    {kInstructions, "instructions", "instructions that are not the roof's",
     "instructions that are not the roof's cost at least {0:.0f} % of the time: larger sizes make "
     "more of them arithmetic"},
    {kKernel, "kernel", "the kernel, with all tensors in L2",
     "the library's kernel itself costs {0:.0f} % of the time even with all tensors in L2; another "
     "version of the library is untried"},
    {kDistance, "distance", "tensors beyond L2",
     "{0:.0f} % of the time passes because the tensors are not in L2: fuse the call with those "
     "beside it, or split it so that a thread's share stays in its cache"},
    {kLevels, "levels", "bytes of other levels",
     "moving bytes of other memory levels takes up to {0:.0f} % of the time: fuse the call with "
     "those beside it, or split it so that a thread's share stays in its cache"},
    {kUnexplained, "unexplained", "unexplained busy time of the threads",
     "{0:.0f} % of the time is the kernels' own, and no measurement explains it"},
    {kImbalance, "imbalance", "waiting for the slowest thread",
     "{0:.0f} % of the time passes until the slowest thread is done: choose a batch that the "
     "threads divide evenly"},
    {kForkJoin, "fork_join", "fork and join of parallel regions",
     "{1:.0f} parallel regions cost {0:.0f} % of the time: give each region more to do (batch, "
     "sequences side by side)"},
    {kSerial, "serial", "one thread works, the others wait",
     "one thread works alone for {0:.0f} % of the time: run several calls side by side, one on "
     "each thread"},
    {kCall, "call", "calling the library",
     "calling the library costs {0:.0f} % of the time: do more in one call"},
    {kStolen, "stolen", "waiting for a CPU",
     "other programs took {0:.0f} % of the time: run it alone"},
    {kTail, "tail", "multiprocessors without a block in the last wave",
     "multiprocessors without a block cost {0:.0f} % of the time: choose a batch whose blocks fill "
     "the last wave"},
    {kLaunch, "launch", "starting kernels",
     "starting kernels costs {0:.0f} % of the time: capture calls in a CUDA graph, or do more in "
     "one"},
    {kIdle, "idle", "no kernel runs",
     "no kernel runs for {0:.0f} % of the time: capture calls in a CUDA graph, or overlap them on "
     "streams"}};

// The advice on kDistance if Breakdown::streams is true.
constexpr std::string_view kStreamAdvice =
    "{0:.0f} % of the time passes because tensors larger than every cache come from memory: "
    "fewer bytes help, by a narrower type, fused calls, or a larger batch for the same weights";

const KindRow& RowOf(ComponentKind kind) { return *std::ranges::find(kRows, kind, &KindRow::kind); }

// Components of one profiling pass [s]: means over the threads. Their sum is the call's time.
struct Split {
  double call = 0, serial = 0, fork_join = 0, imbalance = 0, stolen = 0;
  double busy = 0;

  double Lost() const { return call + serial + fork_join + imbalance + stolen; }
};

double AtLeast0(double seconds) { return std::max(0.0, seconds); }

// Subtracts `seconds` from `component`, but not below 0. Returns the seconds not subtracted.
double Take(double seconds, double& component) {
  const double taken = std::min(seconds, component);
  component -= taken;
  return seconds - taken;
}

// Splits the time of a profiling pass as MakeBreakdown says (CPU waits, scaling).
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
  for (double* component : {&split.fork_join, &split.imbalance, &split.stolen}) *component *= scale;
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
  Efficiencies efficiencies;
  efficiencies.parallel = split.busy / facts.seconds;
  efficiencies.load_balance = split.busy / (split.busy + split.imbalance + split.stolen);
  const double with_serial = split.busy + split.imbalance + split.stolen + split.serial;
  efficiencies.serialisation = (with_serial - split.serial) / with_serial;
  efficiencies.transfer = with_serial / facts.seconds;
  if (const auto single = SingleThreadBusy(facts); single && split.busy > 0)
    efficiencies.computation = *single / (split.busy * facts.parallel.threads);
  return efficiencies;
}

// Returns kFixed per thread [s]. Not divided by the threads, because each thread runs all of it.
double FixedOf(const BreakdownFacts& facts) {
  return AtLeast0(facts.parallel.smallest_seconds.value_or(0) - facts.call_seconds.value_or(0));
}

// Returns kSharing per thread [s]: the threads' total busy time minus that of the single-threaded
// call, minus the growth of the roof's time, minus the fixed code that each further thread repeats.
double SharingOf(const BreakdownFacts& facts, double busy) {
  const auto single = SingleThreadBusy(facts);
  if (!single || facts.parallel.threads < 2) return 0;
  const double threads = facts.parallel.threads;
  const double roof =
      facts.single_thread_roof_seconds
          ? AtLeast0(facts.roof_seconds * threads - *facts.single_thread_roof_seconds)
          : 0;
  const double repeated = (threads - 1) * FixedOf(facts);
  return AtLeast0(busy * threads - *single - roof - repeated) / threads;
}

double ProductsOf(const BreakdownFacts& facts) {
  const auto& products = facts.parallel.parts.products;
  if (!products || !facts.arithmetic || !facts.single_thread_compute_seconds) return 0;
  return AtLeast0(*products - *facts.single_thread_compute_seconds) / facts.parallel.threads;
}

// The components kLanes, kInstructions, kKernel (`rest`) and kDistance of a call, per thread [s].
struct KernelTimes {
  double lanes = 0, instructions = 0, rest = 0, distance = 0;
};

// Returns kInstructions [s] on one thread: the issue time of all instructions minus the issue time
// of the components that were measured separately (minus the measured time of a component whose
// instructions were not counted). Returns 0 if the call's instructions were not counted.
double InstructionsOf(const BreakdownFacts& facts, double lanes) {
  const auto& parallel = facts.parallel;
  const auto& counted = parallel.instructions;
  if (!counted || !counted->per_second) return 0;
  const auto issue_seconds = [&](std::optional<double> instructions,
                                 std::optional<double> seconds) {
    return instructions ? *instructions / *counted->per_second : seconds.value_or(0);
  };
  const auto& parts = parallel.parts;
  double elsewhere = issue_seconds(parts.function_instructions, parts.functions) +
                     issue_seconds(parts.product_instructions, parts.products) +
                     issue_seconds(counted->smallest, parallel.smallest_seconds);
  if (facts.arithmetic && !parts.products)
    elsewhere += facts.single_thread_compute_seconds.value_or(0) + lanes * parallel.threads;
  return AtLeast0(counted->all / *counted->per_second - elsewhere);
}

// Always sets `lanes` and `instructions`. If the call was timed with its tensors in L2 (near) and
// beyond L2 (far), also sets `rest` to near and `distance` to far - near, without the roof's time:
// an arithmetic roof's time is subtracted from near, a memory roof's from far - near and then from
// near. `lanes` and `instructions` are then limited to `rest` and subtracted from it.
KernelTimes KernelTimesOf(const BreakdownFacts& facts) {
  const auto& parallel = facts.parallel;
  KernelTimes times;
  if (facts.arithmetic && !parallel.parts.products)  // kProducts includes idle lanes
    times.lanes = AtLeast0(parallel.executed_over_useful.value_or(1) - 1) * facts.roof_seconds;
  times.instructions = InstructionsOf(facts, times.lanes) / parallel.threads;
  const auto& roof =
      facts.arithmetic ? facts.single_thread_compute_seconds : facts.single_thread_roof_seconds;
  if (!parallel.near_seconds || !parallel.far_seconds || !roof) return times;
  double near = *parallel.near_seconds;
  double distance = AtLeast0(*parallel.far_seconds - near);
  if (facts.arithmetic)
    Take(*roof, near);
  else
    Take(Take(*roof, distance), near);
  times.rest = near / parallel.threads;
  times.distance = distance / parallel.threads;
  times.lanes -= Take(times.lanes, times.rest);
  times.instructions -= Take(times.instructions, times.rest);
  return times;
}

// Returns e.g. "L2 4.00 µs, DRAM 3.00 µs".
std::string TextOf(const std::vector<LevelTime>& levels) {
  std::string text;
  for (const auto& [level, seconds, from] : levels)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", level, text::WithPrefix(seconds, "s"));
  return text;
}

// Splits a total time into components. Each added component reduces the rest of the time.
class ComponentList {
 public:
  explicit ComponentList(double seconds) : rest_(seconds) {}

  // Adds a component of `wanted` [s], or of the rest of the total time if that is shorter.
  void Add(ComponentKind kind, double wanted, Provenance from, const std::string& how) {
    const double seconds = std::min(wanted, rest_);
    rest_ -= seconds;
    components_.push_back({kind, seconds, from, how});
    if (seconds > 0) rest_from_ = std::max(rest_from_, from);
  }
  void AddLevels(const std::vector<LevelTime>& levels) {
    double sum = 0;
    auto worst = Provenance::kMeasured;
    for (const auto& level : levels) {
      sum += level.seconds;
      worst = std::max(worst, level.from);
    }
    Add(kLevels, sum, worst, "at most, without overlap: " + TextOf(levels));
  }
  // Returns all components, also those of 0 s, and the rest of the time as kUnexplained.
  std::vector<Component> Take() {
    components_.push_back({kUnexplained, rest_, rest_from_, "the rest"});
    return std::move(components_);
  }

 private:
  double rest_;
  Provenance rest_from_ = Provenance::kMeasured;  // least trusted provenance of the components
  std::vector<Component> components_;
};

std::vector<Component> BusyComponents(const BreakdownFacts& facts, double busy) {
  const auto& parallel = facts.parallel;
  const auto kernel = KernelTimesOf(facts);
  ComponentList list(busy);
  list.Add(kRoof, facts.roof_seconds, facts.roof_from, facts.roof);
  list.Add(kFunctions, parallel.parts.functions.value_or(0) / parallel.threads,
           Provenance::kMeasured, "the library's own primitives on as many elements");
  list.Add(kProducts, ProductsOf(facts), Provenance::kMeasured,
           "the library's own products of these sizes, less the roof");
  list.Add(kFixed, FixedOf(facts), Provenance::kMeasured, "the same call with sizes of 1");
  list.Add(kSharing, SharingOf(facts, busy), Provenance::kMeasured,
           "busy time beyond that on one thread");
  list.Add(kLanes, kernel.lanes, Provenance::kModelled,
           fmt::format("{:.3g} x the multiply-adds", parallel.executed_over_useful.value_or(1)));
  if (const auto& counted = parallel.instructions)
    list.Add(kInstructions, kernel.instructions, counted->from,
             fmt::format("at least: {}, less those of other components, at the core's issue rate",
                         text::WithPrefix(counted->all, " instructions")));
  list.Add(kKernel, kernel.rest, Provenance::kMeasured,
           "the same call on tensors whose pages repeat, so that L2 holds them");
  if (parallel.far_seconds)
    list.Add(kDistance, kernel.distance, Provenance::kMeasured,
             "additional time on tensors whose pages do not repeat" +
                 (facts.levels.empty() ? "" : "; by the bandwidths " + TextOf(facts.levels)));
  else
    list.AddLevels(facts.levels);
  return list.Take();
}

// Returns all components, also those of 0 s.
std::vector<Component> ComponentsOf(const BreakdownFacts& facts, const RegionPass& pass) {
  const auto split = SplitOf(facts, pass);
  auto components = BusyComponents(facts, split.busy);
  const auto add = [&](ComponentKind kind, double seconds, const std::string& how) {
    components.push_back({kind, seconds, Provenance::kMeasured, how});
  };
  add(kImbalance, split.imbalance, "");
  const double regions = pass.regions.regions;
  add(kForkJoin, split.fork_join,
      split.fork_join > 0
          ? fmt::format("{:.3g} regions on {} threads, {} each", regions, facts.parallel.threads,
                        text::WithPrefix(split.fork_join / regions, "s"))
          : "");
  add(kSerial, split.serial, "outside of parallel regions");
  add(kCall, split.call, "the time of an empty primitive");
  add(kStolen, split.stolen, "");
  return components;
}

// Sets ci95 of each component: its median's interval over the passes, widened to contain its value.
void AddIntervals(const BreakdownFacts& facts, std::vector<Component>& components) {
  std::map<ComponentKind, std::vector<double>> seconds;
  for (const auto& pass : facts.parallel.passes)
    for (const auto& component : ComponentsOf(facts, pass))
      seconds[component.kind].push_back(component.seconds);
  for (auto& component : components) {
    component.ci95 = MedianInterval95(seconds[component.kind]);
    if (!component.ci95) continue;
    component.ci95->first = std::min(component.ci95->first, component.seconds);
    component.ci95->second = std::max(component.ci95->second, component.seconds);
  }
}

void RemoveZeros(Breakdown& breakdown) {
  std::erase_if(breakdown.components, [&](const auto& component) {
    return component.seconds <= 1e-6 * breakdown.seconds;
  });
}

// Returns the part [s] of a kernel's `seconds` in which its last, incomplete wave of blocks leaves
// SMs idle (component kTail), or 0 if its number of waves is unknown.
double TailOf(const LaunchedKernel& kernel, double seconds) {
  if (!kernel.facts || !kernel.facts->waves || *kernel.facts->waves <= 0) return 0;
  const double waves = *kernel.facts->waves;
  return seconds * (1 - waves / std::ceil(waves));
}

struct GpuKernelTimes {
  double running = 0;  // [s] while a kernel runs
  double tail = 0;     // [s] see TailOf
  int launches = 0;
};

std::optional<GpuKernelTimes> GpuKernelTimesOf(const BreakdownFacts& facts,
                                               const std::vector<LaunchedKernel>& kernels) {
  GpuKernelTimes times;
  double traced = 0;
  bool all_traced = true;
  for (const auto& kernel : kernels) {
    times.launches += kernel.launches;
    all_traced = all_traced && kernel.seconds;
    traced += kernel.seconds.value_or(0);
    times.tail += TailOf(kernel, kernel.seconds.value_or(0));
  }
  if (times.launches == 0) return std::nullopt;
  if (all_traced && traced > 0) {
    times.running = std::min(traced, facts.seconds);
    times.tail *= times.running / traced;
    return times;
  }
  if (!facts.call_seconds) return std::nullopt;
  times.running = std::max(facts.seconds - *facts.call_seconds * times.launches, 0.0);
  times.tail = kernels.size() == 1 ? TailOf(kernels.front(), times.running) : 0;
  return times;
}

}  // namespace

std::string_view Key(ComponentKind kind) { return RowOf(kind).key; }
std::string_view Words(ComponentKind kind) { return RowOf(kind).words; }

const Component* Breakdown::Find(ComponentKind kind) const {
  const auto found = std::ranges::find(components, kind, &Component::kind);
  return found == components.end() ? nullptr : &*found;
}

const Component* Breakdown::Largest() const {
  const Component* largest = nullptr;
  for (const auto& component : components)
    if (component.kind != kRoof && (largest == nullptr || component.seconds > largest->seconds))
      largest = &component;
  return largest;
}

Breakdown MakeBreakdown(const BreakdownFacts& facts) {
  const auto& mean = facts.parallel.mean;
  Breakdown breakdown{.components = ComponentsOf(facts, mean),
                      .seconds = facts.seconds,
                      .starts = mean.regions.regions,
                      .efficiencies = EfficienciesOf(facts, SplitOf(facts, mean)),
                      .streams = facts.streams};
  RemoveZeros(breakdown);
  AddIntervals(facts, breakdown.components);
  for (const auto& [kind, seconds, from, how, ci95] : breakdown.components)
    if (ci95)
      breakdown.noise_seconds = std::max(breakdown.noise_seconds, (ci95->second - ci95->first) / 2);
  return breakdown;
}

std::optional<Breakdown> MakeGpuBreakdown(const BreakdownFacts& facts,
                                          const std::vector<LaunchedKernel>& kernels) {
  const auto times = GpuKernelTimesOf(facts, kernels);
  if (!times) return std::nullopt;
  const auto& [running, tail, launches] = *times;
  const double idle = facts.seconds - running;
  const double launch = std::min(idle, facts.call_seconds.value_or(0) * launches);
  ComponentList list(running);
  list.Add(kRoof, facts.roof_seconds, facts.roof_from, facts.roof);
  list.Add(kTail, tail, Provenance::kMeasured, "blocks over those that the GPU holds at once");
  list.AddLevels(facts.levels);
  Breakdown breakdown{.components = list.Take(),
                      .seconds = facts.seconds,
                      .starts = static_cast<double>(launches),
                      .efficiencies = std::nullopt};
  const auto counted = fmt::format("{} kernel{}", launches, launches == 1 ? "" : "s");
  breakdown.components.push_back({kLaunch, launch, Provenance::kMeasured, counted});
  breakdown.components.push_back(
      {kIdle, idle - launch, Provenance::kMeasured, "before, between and after " + counted});
  RemoveZeros(breakdown);
  return breakdown;
}

std::optional<std::string> BreakdownAdvice(const Breakdown& breakdown) {
  const auto* largest = breakdown.Largest();
  if (largest == nullptr || largest->seconds <= breakdown.noise_seconds) return std::nullopt;
  const bool streams = breakdown.streams && largest->kind == kDistance;
  return fmt::format(fmt::runtime(streams ? kStreamAdvice : RowOf(largest->kind).advice),
                     100 * largest->seconds / breakdown.seconds, breakdown.starts);
}

std::optional<std::string> InstructionSentence(const ParallelTime& parallel) {
  if (!parallel.instructions && !parallel.instructions_reason) return std::nullopt;
  if (!parallel.instructions)
    return "instructions not counted: " + parallel.instructions_reason->text;
  const auto& count = *parallel.instructions;
  auto sentence =
      fmt::format("on one thread {} ({})", text::WithPrefix(count.all, " instructions"), count.how);
  const auto single =
      parallel.threads == 1 ? parallel.mean.seconds : parallel.single_thread_seconds;
  if (count.per_second && single)
    sentence += fmt::format(": {:.0f} % of the core's issue slots in that time",
                            100 * count.all / (*count.per_second * *single));
  return sentence;
}

}  // namespace dlroof::roofline
