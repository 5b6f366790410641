#include <fmt/format.h>

#include <algorithm>

#include "counters/base/keys.h"
#include "reporters/record/record_json.h"
#include "reporters/roofline/roofline.h"
#include "reporters/text/text.h"

namespace dlroof::roofline {
namespace {

constexpr double kNoise = 0.02;  // [1] smaller excess over a roof is measurement noise
constexpr std::string_view kRemeasure = "(dlroof machine --remeasure measures it again)";

// Returns whether the bytes are compulsory: those of all tensors, each counted once.
bool AreCompulsory(const LevelUse& use) {
  return use.level == Level::kDram && use.bytes_from == Provenance::kModelled &&
         !HasModelledRereads(use.record);
}

// Returns whether the call would be below the roof if the largest cache held as many of its bytes
// as fit, so that only the rest passed DRAM. Returns false for a call with cold caches.
bool CacheMakesTheDifference(const LevelUse& use) {
  if (use.record.cache == "cold") return false;
  const double cached = LargestCache(use.machine);
  return cached > 0 &&
         (use.bytes - cached) / use.ceiling.per_second <= LongestSeconds(use.record, use.seconds);
}

std::string Blame(const LevelUse& use, WrongPart wrong) {
  const bool specified = use.ceiling.IsSpecified();
  if (wrong == WrongPart::kUnknown)
    return specified ? fmt::format("the roof (see the machine file) or the {} bytes are wrong",
                                   Key(use.bytes_from))
                     : fmt::format("the ceiling, which is not validated, or the {} bytes are wrong",
                                   Key(use.bytes_from));
  if (wrong == WrongPart::kBytes)
    return AreCompulsory(use) ? std::string(
                                    "part of its tensors may stay in a warm cache, so the "
                                    "compulsory bytes are too many")
                              : fmt::format("the ceiling is validated, so the {} bytes are wrong",
                                            Key(use.bytes_from));
  const std::string_view evidence = AreCompulsory(use)
                                        ? "its tensors pass DRAM unless it skips parts of them"
                                        : "its bytes were counted";
  return specified ? fmt::format("{}, so the roof is too low (see the machine file)", evidence)
                   : fmt::format("{}, so the ceiling is too low {}", evidence, kRemeasure);
}

// Returns the FLOPs of the problem in the record's name, or nullopt for an unknown op or problem.
std::optional<ProductFlops> FlopsOfName(const record::Record& record, const OpWords* words) {
  if (words == nullptr) return std::nullopt;
  if (words->product_flops) return words->product_flops(record.problem);
  if (!words->named_flops) return std::nullopt;
  try {
    const double flops = words->named_flops(record);
    return ProductFlops{flops, flops};
  } catch (const BadInput&) {
    return std::nullopt;
  }
}

struct CountedProducts {
  double flops = 0;         // [flop] in the record
  ProductFlops of_problem;  // [flop] computed from the name

  // Returns useful FLOPs / FLOPs in the record [1]: below 1 if the record counts padding.
  double UsefulShare() const { return of_problem.useful / flops; }
};

// Returns the record's modelled FLOPs (if Work::parts has "matrix", only that part's) and the FLOPs
// of the problem in its name. Returns nullopt if one of the two is unknown.
std::optional<CountedProducts> CountedProductsOf(const record::Record& record,
                                                 const OpWords* words) {
  const auto work = record.work.find(Provenance::kModelled);
  if (work == record.work.end()) return std::nullopt;
  const auto of_problem = FlopsOfName(record, words);
  auto counted = TotalFlops(work->second);
  if (!of_problem || !counted) return std::nullopt;
  if (const auto& parts = work->second.parts; parts.contains("matrix"))
    for (const auto& [part, flops] : parts) *counted -= part == "matrix" ? 0 : flops;
  return CountedProducts{*counted, *of_problem};
}

// Returns a clause if the call exceeds the arithmetic roof only because it executes fewer FLOPs
// than its definition counts (Winograd, products with padding); otherwise nullopt. `over` [1] is
// the achieved rate / roof, `most` [1] the largest ratio that measurement noise explains.
std::optional<std::string> FewerFlopsNeeded(const record::Record& record, const OpWords* words,
                                            double over, double most) {
  if (BestKnown(record).flops_from != Provenance::kModelled) return std::nullopt;
  if (record.algorithm.find("wino") != std::string::npos)
    return "the FLOP count is wrong for it: the algorithm executes fewer FLOPs than the "
           "convolution's definition";
  const auto counted = CountedProductsOf(record, words);
  const double share = counted && counted->of_problem.dense > counted->of_problem.useful
                           ? counted->UsefulShare()
                           : 1;
  if (share >= 1 || over * share > most) return std::nullopt;
  return fmt::format(
      "the FLOPs of its definition include products with padding, which kernels skip: {:.3f} of "
      "them are inside the image, and these are {:.1f} % of the roof",
      share, 100 * over * share);
}

struct ArithmeticRoof {
  bool specified = false, validated = true;
};

ArithmeticRoof RoofOf(const TimePoint& time, const machine::CeilingSet& ceilings) {
  ArithmeticRoof roof;
  for (const auto& [pipe, row] : time.compute_roofs)
    if (const auto found = ceilings.flops.find(row); found != ceilings.flops.end()) {
      roof.specified = roof.specified || found->second.IsSpecified();
      roof.validated = roof.validated && found->second.IsValidated();
    }
  return roof;
}

std::string Blame(const ArithmeticRoof& roof, const record::Record& record) {
  const bool counted = BestKnown(record).flops_from != Provenance::kModelled;
  if (roof.validated && !roof.specified && !counted && record.op.empty())
    return "the FLOPs given for it are too many, or the compiler removed a part of the call";
  if (roof.specified)
    return counted ? "its FLOPs were counted, so the roof is too low (see the machine file)"
                   : "the roof (see the machine file) or the count of FLOPs is wrong";
  return fmt::format("the ceiling{} is too low {}",
                     roof.validated ? "" : ", which is not validated,", kRemeasure);
}

}  // namespace

double LongestSeconds(const record::Record& record, double seconds) {
  const auto timing = record::TimeOf(record.repetitions);
  const double spread =
      timing && timing->ci95 && timing->median > 0 ? timing->ci95->second / timing->median - 1 : 0;
  return seconds * (1 + std::max(kNoise, spread));
}

bool HasModelledRereads(const record::Record& record) {
  return record.device == "gpu" && std::ranges::any_of(record.counting, [](const auto& note) {
           return note.provenance == Provenance::kModelled;
         });
}

std::optional<WrongPart> WrongPartOf(const LevelUse& use) {
  const double roof_seconds = use.bytes / use.ceiling.per_second;
  if (roof_seconds <= use.seconds || roof_seconds <= LongestSeconds(use.record, use.seconds))
    return std::nullopt;
  if (use.bytes_from == Provenance::kMeasured) return WrongPart::kRoof;
  if (AreCompulsory(use) && CacheMakesTheDifference(use)) return WrongPart::kBytes;
  if (use.ceiling.IsSpecified()) return WrongPart::kUnknown;
  if (AreCompulsory(use)) return WrongPart::kRoof;
  return use.ceiling.IsValidated() ? WrongPart::kBytes : WrongPart::kUnknown;
}

std::string AboveRoofRemark(const LevelUse& use, WrongPart wrong) {
  const double over = use.bytes / use.ceiling.per_second / use.seconds;
  return fmt::format("above the {}{} roof by {:.0f} %, so {} does not count as its bound: {}",
                     use.ceiling.IsSpecified() ? "specified " : "", Key(use.level),
                     100 * (over - 1), Key(use.level), Blame(use, wrong));
}

std::optional<std::string> DropWrongFlops(const OpWords* words, record::Record& record) {
  constexpr double kRounding = 1.01;     // [1] factor allowed for rounded counts
  constexpr double kMaxProducts = 3.03;  // [1] a training step has 3 products; plus 1 % rounding
  const auto counted = CountedProductsOf(record, words);
  if (!counted) return std::nullopt;
  auto& [flops, bytes, written, launches, parts] = record.work.at(Provenance::kModelled);
  const auto& [useful, dense] = counted->of_problem;
  const double most = (parts.empty() ? kMaxProducts : kRounding) * dense;
  if (counted->flops <= most && kRounding * counted->flops >= useful) return std::nullopt;
  flops.clear();
  parts.clear();
  const auto text = fmt::format("its FLOPs in the file are {:.3g} times those of its name",
                                counted->flops / dense);
  record.counting.push_back({"", std::nullopt, text + " and are left out"});
  return text;
}

[[maybe_unused]] static const bool check_registered = record::SetRecordCheck(
    [](record::Record& record) { return DropWrongFlops(FindWords(record.op, {}), record); });

std::optional<std::string> FlopCountText(const record::Record& record, const OpWords* words) {
  constexpr double kSame = 0.01;  // [1] relative difference of two counts that is not reported
  const auto counted = CountedProductsOf(record, words);
  if (!counted) return std::nullopt;
  const auto& [useful, dense] = counted->of_problem;
  if (dense <= (1 + kSame) * useful) return std::nullopt;
  if (counted->UsefulShare() < 1 / (1 + kSame))
    return fmt::format(
        "its FLOPs are the dense count, padding included: {:.3f} of those of its products are of "
        "filter taps inside the image",
        counted->UsefulShare());
  return fmt::format(
      "its FLOPs are those of filter taps inside the image; the dense count, padding included, is "
      "{}{}",
      text::WithPrefix(dense, "FLOP"),
      useful > 0 ? fmt::format(", {:.3g} times those of its products", dense / useful) : "");
}

void ReportAboveArithmeticRoof(const record::Record& record, const OpWords* words,
                               const machine::CeilingSet& ceilings, Placement& placement) {
  const auto& time = *placement.time;
  const double most = LongestSeconds(record, 1);
  const double over = time.compute_seconds / time.seconds;
  if (over <= most) return;
  const auto roof = RoofOf(time, ceilings);
  const auto fewer = FewerFlopsNeeded(record, words, over, most);
  placement.above_roof_remarks.push_back(
      fmt::format("above the {}arithmetic roof by {:.0f} %: {}", roof.specified ? "specified " : "",
                  100 * (over - 1), fewer ? *fewer : Blame(roof, record)));
  placement.remarks.push_back(placement.above_roof_remarks.back());
}

}  // namespace dlroof::roofline
