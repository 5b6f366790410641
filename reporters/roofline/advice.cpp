#include "reporters/roofline/advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "reporters/roofline/chart.h"
#include "reporters/text/text.h"

namespace dlroof::roofline {
namespace {

// A repetition spread this wide cannot tell 98 % of a roof from 102 %.
constexpr double kNoise = 0.02;

// A point above its roof means that a number is wrong; which one depends on what the point rests
// on.
void ReportAboveRoof(const record::Record& record, const record::Timing& timing,
                     Placement& placement) {
  const double spread = timing.ci95 ? timing.ci95->second / timing.median - 1 : 0;
  for (const auto& point : placement.classic) {
    if (!point.fraction || *point.fraction <= 1 + std::max(kNoise, spread)) continue;
    const bool fewer_executed = record.algorithm.find("wino") != std::string::npos &&
                                point.flops_from == Provenance::kModelled;
    if (placement.time && placement.time->specified && !fewer_executed) {
      placement.remarks.push_back(
          fmt::format("above the given {} roof: the roof is wrong (see the machine file), or the "
                      "count of FLOPs "
                      "or bytes is",
                      Key(point.level)));
      continue;
    }
    const auto blame =
        fewer_executed
            ? "the FLOP count is wrong for it: the algorithm executes fewer FLOPs than the "
              "convolution's definition"
            : "the ceiling is too low: measure the machine again (dlroof machine --remeasure)";
    placement.remarks.push_back(fmt::format("above the {} roof by {:.0f} %: {}", Key(point.level),
                                            100 * (*point.fraction - 1), blame));
  }
}

void ReportReferenceImplementation(const record::Record& record, Placement& placement) {
  if (record.library == "reference" || record.algorithm.compare(0, 3, "ref") != 0) return;
  placement.remarks.push_back(fmt::format(
      "the library used its reference implementation ({}): it has no tuned one for this case",
      record.algorithm));
}

// A narrow type whose FLOPs all went to the fp32 pipe. The library's choice says nothing about
// the CPU: oneDNN widens f16 even where AVX512-FP16 could multiply it.
void ReportEmulation(const record::Record& record, Placement& placement) {
  if (record.type != "bf16" && record.type != "f16") return;
  const auto modelled = record.work.find(Provenance::kModelled);
  if (modelled == record.work.end()) return;
  const auto& flops = modelled->second.flops;
  if (flops.size() != 1 || flops.begin()->first != "fp32.vector") return;
  placement.remarks.push_back(fmt::format(
      "{} is emulated in fp32: what the library chose here widens it before it multiplies, so the "
      "fp32 roof is its own",
      record.type));
}

// An interval this wide cannot carry a factor.
constexpr double kTooUncertain = 0.5;
constexpr double kAtItsRoof = 1.25;      // [1] gap below which nothing but less work helps
constexpr std::size_t kMostClauses = 2;  // of evidence in one sentence

std::string BoundClause(const TimePoint& time) {
  if (time.bound == Bound::kOverhead)
    return fmt::format(
        "Bound by the cost of starting it ({}; at the roof its arithmetic and traffic take less)",
        text::WithPrefix(*time.overhead_seconds, "s"));
  const auto roof =
      (time.specified ? "given " : "") +
      (time.bound == Bound::kMemory ? fmt::format("{} bandwidth", LevelName(Key(*time.bound_level)))
                                    : std::string("arithmetic"));
  if (*time.slowdown < kAtItsRoof)
    return fmt::format("At {:.0f} % of its {} roof", 100 / *time.slowdown, roof);
  return fmt::format("{:.1f}x slower than its {} roof allows", *time.slowdown, roof);
}

std::string Advice(const AdviceCase& at, const record::Timing& timing) {
  if (!at.time.slowdown) return "";
  if (timing.ci95 && (timing.ci95->second - timing.ci95->first) / timing.median > kTooUncertain)
    return "";
  std::string clauses = BoundClause(at.time);
  std::string_view next = *at.time.slowdown < kAtItsRoof
                              ? "only less work, a narrower type or a faster machine helps"
                              : "look at the algorithm, layout and blocking first";
  if (at.time.bound == Bound::kOverhead) next = "put more work into one call (batch, fused layers)";
  std::size_t said = 0;
  for (const AdviceRule& rule : AdviceRules()) {
    const auto evidence = said < kMostClauses ? rule.evidence(at) : std::nullopt;
    if (!evidence) continue;
    clauses += "; " + *evidence;
    if (said == 0) next = rule.next;
    ++said;
  }
  return fmt::format("{}: {}.", clauses, next);
}

// Thresholds: below them the number is no reason.
constexpr double kMuchOverhead = 0.3;   // [1] launches' share of the time
constexpr double kNoMatrix = 0.01;      // [1] share of FLOPs on matrix units
constexpr double kFewMatrix = 0.5;      // [1] the same
constexpr double kFewerExecuted = 0.8;  // [1] executed / useful FLOPs
constexpr double kMoreExecuted = 1.2;   // [1] the same
constexpr double kMuchTraffic = 1.5;    // [1] DRAM bytes / compulsory ones
constexpr double kManyReads = 3;        // [1] bytes of a cache level / compulsory ones
constexpr double kMemoryWaits = 0.7;    // [1] of the binding time that is memory's

using Evidence = std::optional<std::string>;

const Work* WorkFrom(const AdviceCase& at, Provenance from) {
  const auto found = at.record.work.find(from);
  return found == at.record.work.end() ? nullptr : &found->second;
}

std::optional<double> BytesFrom(const AdviceCase& at, Provenance from, Level level) {
  const Work* work = WorkFrom(at, from);
  if (work == nullptr) return std::nullopt;
  const auto found = work->bytes.find(level);
  return found == work->bytes.end() ? std::nullopt : std::optional(found->second);
}

// Value of the best provenance that knows it.
std::optional<double> BestBytes(const AdviceCase& at, Level level) {
  for (const Provenance from : AllProvenances())
    if (const auto bytes = BytesFrom(at, from, level)) return bytes;
  return std::nullopt;
}

// On a GPU a model of the kernel puts what its waves read again on top of the modelled DRAM bytes;
// it leaves a note where it did.
bool KernelIsModelled(const record::Record& record) {
  return record.device == "gpu" && std::ranges::any_of(record.counting, [](const auto& note) {
           return note.provenance == Provenance::kModelled;
         });
}

// Bytes that a call must move at least, every tensor once; absent where the modelled DRAM bytes may
// be more than that.
std::optional<double> CompulsoryBytes(const AdviceCase& at) {
  if (KernelIsModelled(at.record)) return std::nullopt;
  const auto bytes = BytesFrom(at, Provenance::kModelled, Level::kDram);
  return bytes && *bytes > 0 ? bytes : std::nullopt;
}

Evidence MuchOverhead(const AdviceCase& at) {
  if (at.time.bound != Bound::kOverhead || !at.time.overhead_seconds) return std::nullopt;
  const double share = *at.time.overhead_seconds / at.time.seconds;
  if (share < kMuchOverhead) return std::nullopt;
  return fmt::format("launches cost {:.0f} % of the time", 100 * std::min(share, 1.0));
}

Evidence ReferenceImplementation(const AdviceCase& at) {
  const auto& record = at.record;
  if (record.library == "reference" || !record.algorithm.starts_with("ref")) return std::nullopt;
  return "the library used its reference implementation";
}

// Executed FLOPs and those of them on matrix units; absent unless they were counted.
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

// The type that the machine's matrix units take, for people; empty where they do not.
std::string MatrixType(const AdviceCase& at) {
  static constexpr std::array<std::array<std::string_view, 3>, 3> kTypes = {
      {{"f16", "fp16", "fp16.matrix"},
       {"bf16", "bf16", "bf16.matrix"},
       {"int8", "int8", "int8.matrix"}}};
  for (const auto& [type, name, pipe] : kTypes)
    if (at.record.type == type && at.ceilings.flops.count(std::string(pipe)) > 0)
      return std::string(name);
  return "";
}

std::string_view MatrixUnits(const AdviceCase& at) {
  return at.record.device == "gpu" ? "tensor-core" : "matrix-unit";
}

Evidence NoMatrixFlops(const AdviceCase& at) {
  const auto type = MatrixType(at);
  const auto counted = CountedFlops(at);
  if (type.empty() || !counted || counted->second >= kNoMatrix * counted->first)
    return std::nullopt;
  return fmt::format("no {} FLOPs in an {} {}", MatrixUnits(at), type, at.noun);
}

Evidence FewMatrixFlops(const AdviceCase& at) {
  const auto type = MatrixType(at);
  const auto counted = CountedFlops(at);
  if (type.empty() || !counted) return std::nullopt;
  const double share = counted->second / counted->first;
  if (share < kNoMatrix || share >= kFewMatrix) return std::nullopt;
  return fmt::format("only {:.0f} % {} FLOPs in an {} {}", 100 * share, MatrixUnits(at), type,
                     at.noun);
}

// A narrow type whose FLOPs all went to the fp32 pipe: the library widens it first.
Evidence Emulated(const AdviceCase& at) {
  const Work* work = WorkFrom(at, Provenance::kModelled);
  if ((at.record.type != "bf16" && at.record.type != "f16") || work == nullptr) return std::nullopt;
  if (work->flops.size() != 1 || work->flops.begin()->first != "fp32.vector") return std::nullopt;
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
  return fmt::format("it executes {:.1f} times the useful FLOPs", *share);
}

// Cache traffic that the call's own tensors, once, do not explain, where that level binds. L1 says
// nothing: what registers load always exceeds the tensors.
Evidence ManyReads(const AdviceCase& at) {
  const auto compulsory = CompulsoryBytes(at);
  const auto level = at.time.bound_level;
  if (!compulsory || !level || (*level != Level::kL2 && *level != Level::kL3)) return std::nullopt;
  const auto bytes = BestBytes(at, *level);
  if (!bytes || *bytes < kManyReads * *compulsory) return std::nullopt;
  return fmt::format("{} moves {:.0f} times the bytes of all tensors", LevelName(Key(*level)),
                     *bytes / *compulsory);
}

Evidence MuchDramTraffic(const AdviceCase& at) {
  const auto compulsory = CompulsoryBytes(at);
  auto moved = BytesFrom(at, Provenance::kMeasured, Level::kDram);
  if (!moved) moved = BytesFrom(at, Provenance::kSimulated, Level::kDram);
  if (!compulsory || !moved || *moved < kMuchTraffic * *compulsory) return std::nullopt;
  return fmt::format("{:.1f} times the compulsory bytes go through DRAM", *moved / *compulsory);
}

// At the bandwidth roof, or nearly: the traffic itself is what is left to save.
Evidence MemoryAtItsRoof(const AdviceCase& at) {
  if (at.time.bound != Bound::kMemory || !at.time.slowdown || *at.time.slowdown * kMemoryWaits > 1)
    return std::nullopt;
  const double share = at.time.memory_seconds.at(*at.time.bound_level) / at.time.seconds;
  return fmt::format("{} transfers take {:.0f} % of the time", LevelName(Key(*at.time.bound_level)),
                     100 * std::min(share, 1.0));
}

constexpr AdviceRule kRules[] = {
    {"overhead", MuchOverhead,
     "put more work into one call (a larger batch, fused layers, a graph of launches)"},
    {"reference", ReferenceImplementation,
     "try a type, layout or library version that it has a tuned one for"},
    {"no-matrix", NoMatrixFlops,
     "make channels multiples of 8, use nhwc, and let the library tune its algorithm"},
    {"few-matrix", FewMatrixFlops,
     "look for the kernels beside them: layout changes, casts, an untuned direction"},
    {"emulated", Emulated, "use f32 or int8 here"},
    {"fewer-flops", FewerFlopsExecuted, "judge it by its time: its FLOP/s are of another count"},
    {"more-flops", MoreFlopsExecuted, "choose sizes that fill the library's tiles"},
    {"re-read", ManyReads,
     "block for the next nearer cache, or do more work per pass over the weights (a larger batch)"},
    {"dram-traffic", MuchDramTraffic,
     "make what is used again fit the cache: a smaller batch, a blocked layout"},
    {"memory-roof", MemoryAtItsRoof, "fuse it with its neighbours, or use a narrower type"}};

}  // namespace

void AddFindings(const record::Record& record, const record::Timing& timing,
                 const machine::CeilingSet& ceilings, const OpVocabulary& words,
                 Placement& placement) {
  if (!timing.noisy) ReportAboveRoof(record, timing, placement);
  ReportReferenceImplementation(record, placement);
  ReportEmulation(record, placement);
  if (placement.time && !timing.noisy)
    placement.advice =
        Advice({record, *placement.time, ceilings, NounOf(record.op, words)}, timing);
}

std::span<const AdviceRule> AdviceRules() { return kRules; }

}  // namespace dlroof::roofline
