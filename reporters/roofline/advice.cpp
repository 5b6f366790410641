#include "reporters/roofline/advice.h"

#include <fmt/format.h>

#include <algorithm>

#include "reporters/roofline/chart.h"
#include "reporters/text/units.h"

namespace dlroof {
namespace {

// A repetition spread this wide cannot tell 98 % of a roof from 102 %.
constexpr double kNoise = 0.02;

// A point above its roof means that a number is wrong; which one depends on what the point rests
// on.
void ReportAboveRoof(const Record& record, const Timing& timing, Placement& placement) {
  const double spread = timing.ci95 ? timing.ci95->second / timing.median - 1 : 0;
  for (const auto& point : placement.classic) {
    if (!point.fraction || *point.fraction <= 1 + std::max(kNoise, spread)) continue;
    const bool fewer_executed = record.algorithm.find("wino") != std::string::npos &&
                                point.flops_from == Provenance::kModelled;
    if (placement.time && placement.time->given && !fewer_executed) {
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

void ReportReferenceImplementation(const Record& record, Placement& placement) {
  if (record.library == "reference" || record.algorithm.compare(0, 3, "ref") != 0) return;
  placement.remarks.push_back(fmt::format(
      "the library used its reference implementation ({}): it has no tuned one for this case",
      record.algorithm));
}

// A narrow type whose FLOPs all went to the fp32 pipe. The library's choice says nothing about
// the CPU: oneDNN widens f16 even where AVX512-FP16 could multiply it.
void ReportEmulation(const Record& record, Placement& placement) {
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
        WithPrefix(*time.overhead_seconds, "s"));
  const auto roof =
      (time.given ? "given " : "") +
      (time.bound == Bound::kMemory ? fmt::format("{} bandwidth", LevelName(Key(*time.bound_level)))
                                    : std::string("arithmetic"));
  if (*time.gap < kAtItsRoof)
    return fmt::format("At {:.0f} % of its {} roof", 100 / *time.gap, roof);
  return fmt::format("{:.1f}x slower than its {} roof allows", *time.gap, roof);
}

std::string Advice(const AdviceCase& at, const Timing& timing) {
  if (!at.time.gap) return "";
  if (timing.ci95 && (timing.ci95->second - timing.ci95->first) / timing.median > kTooUncertain)
    return "";
  std::string clauses = BoundClause(at.time);
  std::string_view next = *at.time.gap < kAtItsRoof
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

}  // namespace

void AddFindings(const Record& record, const Timing& timing, const CeilingSet& ceilings,
                 const OpVocabulary& words, Placement& placement) {
  if (!timing.disturbed) ReportAboveRoof(record, timing, placement);
  ReportReferenceImplementation(record, placement);
  ReportEmulation(record, placement);
  if (placement.time && !timing.disturbed)
    placement.advice =
        Advice({record, *placement.time, ceilings, NounOf(record.op, words)}, timing);
}

}  // namespace dlroof
