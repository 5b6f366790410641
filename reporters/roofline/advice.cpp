#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "ceilings/machine/machine.h"
#include "counters/base/keys.h"
#include "reporters/record/run_file.h"
#include "reporters/roofline/chart.h"
#include "reporters/roofline/roofline.h"
#include "reporters/text/text.h"

namespace dlroof::roofline {
namespace {

constexpr double kTooUncertain = 0.5;   // [1] 95 % interval / median; above it there is no advice
constexpr double kFarFromRoof = 4;      // [1] x roof from which on a ProblemRemedy applies
constexpr double kAtItsRoof = 1.25;     // [1] a call with a smaller x roof is at its roof
constexpr std::size_t kMaxClauses = 2;  // clauses of evidence in one sentence

bool UsedReferenceImplementation(const record::Record& record) {
  return record.library != "reference" && record.algorithm.starts_with("ref");
}

const ProblemRemedy* RemedyOf(const AdviceCase& at) {
  if (at.words == nullptr || at.time.times_over_roof < kFarFromRoof) return nullptr;
  const auto parts = ProblemParts(at.record.problem);
  const auto applies = [&](const ProblemRemedy& remedy) {
    return remedy.device == at.record.device &&
           std::ranges::count(at.record.options, remedy.option) == 0 &&
           std::ranges::any_of(parts, [&](const ProblemPart& part) {
             return part.key == remedy.key && part.value.find(remedy.contains) != std::string::npos;
           });
  };
  return FindIf(at.words->remedies, applies);
}

// Returns whether all modelled FLOPs of a bf16 or f16 call are on the pipe fp32.vector.
bool IsEmulated(const record::Record& record) {
  if (record.type != "bf16" && record.type != "f16") return false;
  const auto* const work = FindValue(record.work, Provenance::kModelled);
  return work != nullptr && work->flops.size() == 1 && work->flops.contains("fp32.vector");
}

bool IsInGraph(const record::Record& record) { return record.timed == record::timed::kGraph; }

std::string BoundClause(const TimePoint& time, bool in_graph) {
  if (time.bound == Bound::kOverhead)
    return fmt::format("Bound by {} ({}; its arithmetic and traffic take less at their roofs)",
                       in_graph ? "the gaps between its kernels" : "the cost of starting it",
                       text::WithPrefix(*time.overhead_seconds, "s"));
  const auto roof =
      (time.specified ? "specified " : "") +
      (time.bound == Bound::kMemory ? fmt::format("{} bandwidth", LevelName(Key(*time.bound_level)))
                                    : std::string("arithmetic"));
  if (time.times_over_roof < kAtItsRoof)
    return fmt::format("At {}{:.0f} % of its {} roof", time.at_least ? "most " : "",
                       100 / time.times_over_roof, roof);
  return fmt::format("Takes {}{:.1f}x the time that its {} roof allows",
                     time.at_least ? "at least " : "", time.times_over_roof, roof);
}

// Returns what to try if no rule and no remedy found a cause. `dlroof explain` runs benchmarks of
// dlroof_bench alone.
std::string_view NextWithoutEvidence(const TimePoint& time, const record::Record& record) {
  if (time.bound == Bound::kOverhead) return "put more work into one call (batch, fused layers)";
  if (time.times_over_roof >= kAtItsRoof)
    return !record.op.empty()       ? "dlroof explain measures where its time goes"
           : record.device == "gpu" ? "Nsight Compute shows where its time goes"
                                    : "a profiler (perf, VTune) shows where its time goes";
  if (time.at_least)
    return "that roof is not validated: measure it again when the machine is quiet (dlroof machine "
           "--remeasure)";
  return "only less work, a narrower type or a faster machine helps";
}

std::string Advice(const AdviceCase& at) {
  std::string clauses = BoundClause(at.time, IsInGraph(at.record));
  std::string_view next = NextWithoutEvidence(at.time, at.record);
  std::size_t found = 0;
  if (const auto* const remedy = RemedyOf(at)) {
    clauses += "; " + remedy->evidence;
    next = remedy->next;
    ++found;
  }
  for (const AdviceRule& rule : AdviceRules()) {
    const auto evidence = found < kMaxClauses ? rule.evidence(at) : std::nullopt;
    if (!evidence) continue;
    clauses += "; " + *evidence;
    if (found == 0) next = rule.next;
    ++found;
  }
  return fmt::format("{}: {}.", clauses, next);
}

constexpr double kMuchOverhead = 0.3;       // [1] launches' share of the time
constexpr double kFasterInGraph = 1.1;      // [1] time / time in a CUDA graph
constexpr double kMuchFasterInGraph = 1.5;  // [1] the same, for calls timed in a CUDA graph
constexpr double kSameAsKernels = 0.03;     // [1] allowed difference from the traced kernels' time
constexpr double kSameSeconds = 0.3e-6;     // [s] allowed difference from the traced kernels' time
constexpr double kNoMatrix = 0.01;          // [1] share of FLOPs on matrix units; below it: none
constexpr double kFewMatrix = 0.5;          // [1] share of FLOPs on matrix units; below it: few
constexpr double kFewerExecuted = 0.8;      // [1] executed / useful FLOPs; below it: fewer
constexpr double kMoreExecuted = 1.2;       // [1] executed / useful FLOPs; from it on: more
constexpr double kMuchTraffic = 1.5;        // [1] DRAM bytes / compulsory bytes; from it on: much
constexpr double kManyReads = 3;            // [1] cache bytes / compulsory bytes; from it on: many
constexpr double kMemoryWaits = 0.7;        // [1] memory roof time / time from which memory limits
constexpr double kBestMix = 0.97;           // [1] mix's rate / roof from which they differ by noise

using Evidence = std::optional<std::string>;

const Work* WorkFrom(const AdviceCase& at, Provenance from) {
  return FindValue(at.record.work, from);
}

std::optional<double> BytesFrom(const AdviceCase& at, Provenance from, Level level) {
  const Work* work = WorkFrom(at, from);
  return work == nullptr ? std::nullopt : FindCopy(work->bytes, level);
}

// Returns the bytes of all tensors, each once, or nullopt if they are unknown or if the modelled
// DRAM bytes may include repeated reads.
std::optional<double> CompulsoryBytes(const AdviceCase& at) {
  if (HasModelledRereads(at.record)) return std::nullopt;
  const auto bytes = BytesFrom(at, Provenance::kModelled, Level::kDram);
  return bytes && *bytes > 0 ? bytes : std::nullopt;
}

Evidence MuchOverhead(const AdviceCase& at) {
  if (at.time.bound != Bound::kOverhead || !at.time.overhead_seconds) return std::nullopt;
  const double share = *at.time.overhead_seconds / at.time.seconds;
  if (share < kMuchOverhead) return std::nullopt;
  return fmt::format("{} cost {:.0f} % of the time", IsInGraph(at.record) ? "they" : "launches",
                     100 * std::min(share, 1.0));
}

// Finds calls that take at least `factor` times as long if launched on an idle GPU as in a CUDA
// graph, where they take `graph` [s].
Evidence LessInGraph(const AdviceCase& at, std::optional<double> graph, double factor) {
  const auto call = record::SampleMedian(at.record, &record::GpuSample::call_seconds);
  const double launched = std::max(call.value_or(0), at.time.seconds);
  if (!graph || *graph * factor > launched) return std::nullopt;
  return fmt::format("launched on an idle GPU it takes {}, in a CUDA graph {}, {:.1f}x less",
                     text::WithPrefix(launched, "s"), text::WithPrefix(*graph, "s"),
                     launched / *graph);
}

Evidence FasterInGraph(const AdviceCase& at) {
  if (at.time.bound != Bound::kOverhead || IsInGraph(at.record)) return std::nullopt;
  const auto graph = record::SampleMedian(at.record, &record::GpuSample::graph_seconds);
  return LessInGraph(at, graph, kFasterInGraph);
}

// Finds high launch costs of a call that was timed in a CUDA graph, so without launches.
Evidence LaunchedAlone(const AdviceCase& at) {
  if (!IsInGraph(at.record)) return std::nullopt;
  return LessInGraph(at, at.time.seconds, kMuchFasterInGraph);
}

// Finds a roof that is too low, because the call exceeds it. Such a roof cannot be the bound.
Evidence AboveTooLowRoof(const AdviceCase& at) {
  for (const auto& [level, wrong] : at.time.above_roof)
    if (wrong == WrongPart::kRoof)
      return fmt::format("it moves its bytes faster than the {} roof, which is too low",
                         LevelName(Key(level)));
  return std::nullopt;
}

// Finds a GPU LSTM that is bound by launches: cuDNN's persistent algorithms need only few kernels.
Evidence ManyStepsNotPersistent(const AdviceCase& at) {
  if (at.time.bound != Bound::kOverhead || at.record.op != "LSTM" || at.record.device != "gpu" ||
      std::ranges::any_of(at.record.options,
                          [](const auto& option) { return option.starts_with("persist"); }))
    return std::nullopt;
  return "its time steps are kernels of their own";
}

// Finds a kernel of a program whose launches take longer than the kernel runs.
Evidence ShorterThanALaunch(const AdviceCase& at) {
  const Work* work = WorkFrom(at, Provenance::kMeasured);
  if (!record::IsKernelSum(at.record) || work == nullptr || !at.ceilings.launch_seconds)
    return std::nullopt;
  const double launches = work->launches.value_or(0);
  if (launches < 1 || at.time.seconds >= launches * *at.ceilings.launch_seconds)
    return std::nullopt;
  return fmt::format("it runs for {} per launch, less than a launch costs ({})",
                     text::WithPrefix(at.time.seconds / launches, "s"),
                     text::WithPrefix(*at.ceilings.launch_seconds, "s"));
}

Evidence ReferenceImplementation(const AdviceCase& at) {
  if (!UsedReferenceImplementation(at.record)) return std::nullopt;
  return "the library used its reference implementation";
}

// Returns the measured FLOPs {on all pipes, on matrix units}, or nullopt if there are none.
std::optional<std::pair<double, double>> CountedFlops(const AdviceCase& at) {
  const Work* work = WorkFrom(at, Provenance::kMeasured);
  if (work == nullptr) return std::nullopt;
  double all = 0, matrix = 0;
  for (const auto& [pipe, flops] : work->flops) {
    all += flops;
    if (pipe.find(".matrix") != std::string::npos) matrix += flops;
  }
  if (all <= 0) return std::nullopt;
  return std::pair(all, matrix);
}

// Returns the record's type as pipes spell it (f16: "fp16") if the machine's matrix units have it.
std::optional<std::string> MatrixType(const AdviceCase& at) {
  const auto& type = at.record.type;
  if (type != "f16" && type != "bf16" && type != "int8") return std::nullopt;
  const std::string name = type == "f16" ? "fp16" : type;
  return at.ceilings.flops.contains(name + ".matrix") ? std::optional(name) : std::nullopt;
}

struct MatrixCall {
  double share = 0;      // [1] FLOPs counted on matrix units / all counted FLOPs
  std::string flops_in;  // e.g. "tensor-core FLOPs in an fp16 convolution"
};

std::optional<MatrixCall> MatrixCallOf(const AdviceCase& at) {
  const auto type = MatrixType(at);
  const auto counted = CountedFlops(at);
  if (!type || !counted) return std::nullopt;
  return MatrixCall{
      counted->second / counted->first,
      fmt::format("{} FLOPs in an {} {}", at.record.device == "gpu" ? "tensor-core" : "matrix-unit",
                  *type, at.noun)};
}

Evidence NoMatrixFlops(const AdviceCase& at) {
  const auto call = MatrixCallOf(at);
  if (!call || call->share >= kNoMatrix) return std::nullopt;
  return "no " + call->flops_in;
}

Evidence FewMatrixFlops(const AdviceCase& at) {
  const auto call = MatrixCallOf(at);
  if (!call || call->share < kNoMatrix || call->share >= kFewMatrix) return std::nullopt;
  return fmt::format("only {:.0f} % {}", 100 * call->share, call->flops_in);
}

Evidence Emulated(const AdviceCase& at) {
  if (!IsEmulated(at.record)) return std::nullopt;
  return fmt::format("{} is emulated in fp32", at.record.type);
}

std::optional<double> ExecutedShare(const AdviceCase& at) {
  const auto counted = CountedFlops(at);
  const Work* useful = WorkFrom(at, Provenance::kModelled);
  const auto total = useful == nullptr ? std::nullopt : TotalFlops(*useful);
  if (!counted || !total || *total <= 0) return std::nullopt;
  return counted->first / *total;
}

Evidence FewerFlopsExecuted(const AdviceCase& at) {
  const auto share = ExecutedShare(at);
  if (!share || *share >= kFewerExecuted) return std::nullopt;
  const bool named = at.record.algorithm.find("wino") != std::string::npos;
  return fmt::format("{} executes {:.2f} of the FLOPs", named ? "Winograd" : "the algorithm",
                     *share);
}

Evidence MoreFlopsExecuted(const AdviceCase& at) {
  const auto share = ExecutedShare(at);
  if (!share || *share < kMoreExecuted) return std::nullopt;
  const auto counts = at.words != nullptr && at.words->product_flops
                          ? at.words->product_flops(at.record.problem)
                          : std::nullopt;
  const double dense = counts && counts->useful > 0 ? counts->dense / counts->useful : 1;
  return fmt::format("it executes {:.1f} times the useful FLOPs{}", *share,
                     dense < 1.05 ? "" : fmt::format(" (the padding makes {:.1f})", dense));
}

// Finds traffic of the binding cache level far above the tensors' bytes. Ignores L1: loads to
// registers always exceed the tensors' bytes.
Evidence ManyReads(const AdviceCase& at) {
  const auto compulsory = CompulsoryBytes(at);
  const auto level = at.time.bound_level;
  if (!compulsory || !level || (*level != Level::kL2 && *level != Level::kL3)) return std::nullopt;
  const auto bytes = FindCopy(BestKnown(at.record).bytes, *level);
  if (!bytes || bytes->first < kManyReads * *compulsory) return std::nullopt;
  return fmt::format("{} moves {:.0f} times the bytes of all tensors", LevelName(Key(*level)),
                     bytes->first / *compulsory);
}

Evidence MuchDramTraffic(const AdviceCase& at) {
  const auto compulsory = CompulsoryBytes(at);
  auto moved = BytesFrom(at, Provenance::kMeasured, Level::kDram);
  if (!moved) moved = BytesFrom(at, Provenance::kSimulated, Level::kDram);
  if (!compulsory || !moved || *moved < kMuchTraffic * *compulsory) return std::nullopt;
  return fmt::format("{:.1f} times the compulsory bytes go through DRAM", *moved / *compulsory);
}

// Finds a call near its bandwidth roof: only less traffic can make it faster.
Evidence MemoryAtItsRoof(const AdviceCase& at) {
  if (at.time.bound != Bound::kMemory || at.time.at_least ||
      at.time.times_over_roof * kMemoryWaits > 1)
    return std::nullopt;
  const double share = at.time.memory_seconds.at(*at.time.bound_level) / at.time.seconds;
  return fmt::format("{} transfers take {:.0f} % of the time", LevelName(Key(*at.time.bound_level)),
                     100 * std::min(share, 1.0));
}

// The ceiling kernel ("load", "triad", "copy") whose ratio of reads and writes is nearest to the
// call's, and a clause with this ratio.
struct CallMix {
  std::string_view kernel, words;
};

// Returns the mix with the nearest share of writes (none, a third, half) if the call's is known.
std::optional<CallMix> MixOf(const AdviceCase& at) {
  const Work* work = WorkFrom(at, Provenance::kModelled);
  const auto all = BytesFrom(at, Provenance::kModelled, Level::kDram);
  if (!all || !work->written) return std::nullopt;
  const double share = *work->written / *all;
  if (share < 1.0 / 6) return CallMix{"load", "it reads nearly all that it moves"};
  if (share < 5.0 / 12) return CallMix{"triad", "it reads about twice as much as it writes"};
  return CallMix{"copy", "it writes about as much as it reads"};
}

// Finds a call that is near the rate of the fastest kernel with the call's own mix of loads and
// stores, if that rate is below the level's roof (the rate of the fastest mix).
Evidence OwnMix(const AdviceCase& at) {
  const auto mix = MixOf(at);
  if (at.time.bound != Bound::kMemory || at.time.at_least || !mix) return std::nullopt;
  const auto level = *at.time.bound_level;
  const auto roof = at.ceilings.bytes.find(level);
  std::vector<const machine::CeilingRow*> rows;
  for (const auto& row : at.ceilings.mixes)
    if (row.first.starts_with(fmt::format("{}.{}", Key(level), mix->kernel)) &&
        !row.second.unbounded)
      rows.push_back(&row);
  const auto* fastest = machine::ChooseRoof(rows);
  if (fastest == nullptr || roof == at.ceilings.bytes.end()) return std::nullopt;
  const auto& [row, ceiling] = *fastest;
  const double share = ceiling.per_second / roof->second.per_second;
  if (share >= kBestMix || at.time.times_over_roof * share * kMemoryWaits > 1) return std::nullopt;
  return fmt::format("{}, which allows {}{:.0f} % of that roof ({}, {})", mix->words,
                     ceiling.IsValidated() ? "" : "at least ", 100 * share, row,
                     text::WithPrefix(ceiling.per_second, "B/s"));
}

constexpr AdviceRule kRules[] = {
    {"above-roof", AboveTooLowRoof, "correct that roof first (dlroof machine --remeasure)"},
    {"graph", FasterInGraph,
     "capture its calls in a CUDA graph, or put more work into one call (a larger batch)"},
    {"steps", ManyStepsNotPersistent,
     "put more work into one call (a larger batch); untried: its persistent algorithms (dlroof "
     "tune)"},
    {"overhead", MuchOverhead, "put more work into one call (a larger batch, fused layers)"},
    {"short-kernel", ShorterThanALaunch,
     "put more work into one launch (fuse it with its neighbours, a larger batch)"},
    {"reference", ReferenceImplementation,
     "a type or library version for which it has an optimized implementation is untried"},
    {"no-matrix", NoMatrixFlops,
     "make channels multiples of 8; untried: another layout or algorithm (dlroof tune)"},
    {"few-matrix", FewMatrixFlops,
     "look for the kernels beside them: layout changes, casts, an untuned direction"},
    {"emulated", Emulated, "f32 and int8 are untried"},
    {"fewer-flops", FewerFlopsExecuted,
     "judge it by its time: its FLOP/s count the definition's FLOPs"},
    {"more-flops", MoreFlopsExecuted, "choose sizes that fill the library's tiles"},
    {"re-read", ManyReads,
     "block for the next nearer cache, or do more work per pass over the weights (a larger batch)"},
    {"dram-traffic", MuchDramTraffic,
     "make reused data fit the cache: a smaller batch, a blocked layout"},
    {"mix", OwnMix, "fuse it with its neighbours, or use a narrower type"},
    {"memory-roof", MemoryAtItsRoof, "fuse it with its neighbours, or use a narrower type"},
    {"launched-alone", LaunchedAlone,
     "capture its calls in a CUDA graph, or launch the next one before it ends"}};

// Returns a sentence if the time in a CUDA graph is below the sum of the kernels' times that CUPTI
// traced, or above that sum and a gap for each launch. Possible causes: CUPTI traces a single call,
// and neither memory fills nor copies.
Evidence ApartFromKernels(const record::Record& record, double seconds,
                          const machine::CeilingSet& ceilings) {
  const auto gap = LaunchCost(record, ceilings);
  if (!IsInGraph(record) || !gap || record.kernels.empty()) return std::nullopt;
  double kernels = 0, launches = 0;
  for (const auto& kernel : record.kernels) {
    if (!kernel.seconds) return std::nullopt;
    kernels += *kernel.seconds;
    launches += kernel.launches;
  }
  const double allowed = std::max(kSameAsKernels * kernels, kSameSeconds);
  const double beyond = seconds - kernels;
  if (beyond >= -allowed && beyond <= allowed + launches * *gap) return std::nullopt;
  return fmt::format("its kernels took {} when CUPTI traced a call, and {:.0f} gaps at most {}",
                     text::WithPrefix(kernels, "s"), launches,
                     text::WithPrefix(launches * *gap, "s"));
}

}  // namespace

void AddFindings(const record::Record& record, const record::Timing& timing,
                 const machine::CeilingSet& ceilings, const OpVocabulary& words,
                 Placement& placement) {
  const auto* const op_words = FindWords(record.op, words);
  if (placement.time)  // even if the time is noisy: noise makes calls longer, never shorter
    ReportAboveArithmeticRoof(record, op_words, ceilings, placement);
  placement.flop_count = FlopCountText(record, op_words);
  if (placement.flop_count) placement.asides.push_back(*placement.flop_count);
  if (const auto apart = ApartFromKernels(record, timing.median, ceilings))
    placement.asides.push_back(*apart);
  auto& remarks = placement.remarks;
  if (UsedReferenceImplementation(record))
    remarks.push_back(fmt::format(
        "the library used its reference implementation ({}): it has no tuned one for this case",
        record.algorithm));
  for (const auto& wrong : record.wrong_engines)
    remarks.push_back(fmt::format("not timed, because its result is wrong: {} ({})",
                                  wrong.algorithm, wrong.reason));
  // Does not say that the CPU lacks the type: oneDNN widens f16 to f32 even with AVX512-FP16.
  if (IsEmulated(record))
    remarks.push_back(fmt::format(
        "{} is emulated in fp32: the implementation that the library chose widens it before it "
        "multiplies, so the fp32 roof applies",
        record.type));
  if (placement.time && !timing.noisy && !IsUncertain(timing))
    placement.advice =
        Advice({record, *placement.time, ceilings, NounOf(record.op, words), op_words});
}

std::span<const AdviceRule> AdviceRules() { return kRules; }

bool IsUncertain(const record::Timing& timing) {
  return timing.ci95 && timing.ci95->second - timing.ci95->first > kTooUncertain * timing.median;
}

}  // namespace dlroof::roofline
