#include "baselines/compare/residual.h"

#include <fmt/format.h>

#include <cmath>

#include "baselines/compare/cause.h"

namespace dlroof {
namespace {

const Work* CountedWork(const Record& record, Level level) {
  for (const Provenance from : {Provenance::kMeasured, Provenance::kSimulated}) {
    const auto work = record.work.find(from);
    if (work != record.work.end() && work->second.bytes.count(level) > 0) return &work->second;
  }
  return nullptr;
}

}  // namespace

std::map<std::string, double> ResidualsOf(const Record& record) {
  std::map<std::string, double> residuals;
  if (!record.prediction) return residuals;
  const auto put = [&](std::string_view of, double measured, double predicted) {
    if (measured > 0 && predicted > 0) residuals.emplace(of, measured / predicted);
  };
  if (const auto timing = Summarize(record.repetitions))
    put("time", timing->median, record.prediction->seconds);
  for (const auto& [level, predicted] : record.prediction->bytes)
    if (const auto* work = CountedWork(record, level))
      put(Key(level), work->bytes.at(level), predicted);
  return residuals;
}

std::string Residual::Text() const {
  return fmt::format("{} residual (measured over predicted) {} from {:.3g} to {:.3g}", of,
                     fresh > base ? "grew" : "fell", base, fresh);
}

std::vector<Residual> CompareResiduals(const Record& base, const Record& fresh,
                                       std::optional<Verdict> time) {
  std::vector<Residual> residuals;
  const auto before = ResidualsOf(base), after = ResidualsOf(fresh);
  for (const auto& [of, value] : after) {
    const auto found = before.find(of);
    if (found == before.end() || (of == "time" && !time)) continue;
    Residual residual{of, found->second, value};
    residual.moved = of == "time" ? time == Verdict::kSlower || time == Verdict::kFaster
                                  : std::abs(value / found->second - 1) > kCountedCount;
    residual.worse =
        residual.moved && std::abs(std::log(value)) > std::abs(std::log(found->second));
    residuals.push_back(std::move(residual));
  }
  return residuals;
}

void AddTo(std::map<std::string, ResidualMean>& means, const std::vector<Residual>& residuals) {
  for (const auto& residual : residuals) {
    ResidualMean& mean = means[residual.of];
    ++mean.benchmarks;
    mean.base += (std::abs(residual.base - 1) - mean.base) / mean.benchmarks;
    mean.fresh += (std::abs(residual.fresh - 1) - mean.fresh) / mean.benchmarks;
  }
}

std::string Describe(const std::map<std::string, ResidualMean>& means) {
  std::string text;
  for (const auto& [of, mean] : means)
    text += fmt::format("{}{} {:.1f} % -> {:.1f} % ({} benchmark{})", text.empty() ? "" : ", ", of,
                        100 * mean.base, 100 * mean.fresh, mean.benchmarks,
                        mean.benchmarks == 1 ? "" : "s");
  return text.empty()
             ? text
             : fmt::format("residuals (measured over predicted, mean distance from 1): {}", text);
}

}  // namespace dlroof
