#include "bench/runner/process_limits.h"

#include <fmt/format.h>

#include <utility>

namespace dlroof::runner {

void RefusePinning(const cpu::Environment& environment) {
  if (const auto variable = cpu::PinningVariable(environment))
    throw BadInput(
        "{} is set, which hides CPUs from the measurement: unset it; dlroof pins threads itself",
        *variable);
}

void RefuseThreadLimit(int threads, const cpu::Environment& environment) {
  const auto most = cpu::OpenMpThreadLimit(environment);
  if (most && *most < threads)
    throw BadInput(
        "OMP_THREAD_LIMIT={0} allows fewer threads than the {1} of this run, and oneDNN's results "
        "would be wrong: unset it, or use --dlroof_threads={0}",
        *most, threads);
}

nlohmann::json LimitsContext(const std::vector<cpu::Limit>& limits) {
  nlohmann::json context;
  for (const auto& limit : limits)
    context.push_back(
        {{"limit", cpu::Key(limit.kind)}, {"found", limit.found}, {"effect", limit.effect}});
  return context;
}

QuotaWatch::QuotaWatch(cpu::CpuQuota quota, cpu::ReadText read)
    : quota_(std::move(quota)),
      read_(std::move(read)),
      begin_(cpu::ParseThrottling(read_(quota_.stat))) {}

cpu::Throttling QuotaWatch::Read() const {
  const auto now = cpu::ParseThrottling(read_(quota_.stat));
  return now && begin_ ? *now - *begin_ : cpu::Throttling{};
}

std::optional<Reason> QuotaWatch::Stopped(const cpu::Throttling& during) const {
  if (during.throttled <= 0) return std::nullopt;
  return Reason{fmt::format(
      "{} stopped this process in {:.0f} of {:.0f} periods: no waiting ends that; raise the quota "
      "(docker --cpus, limits.cpu) or use fewer threads",
      cpu::QuotaText(quota_), during.throttled, during.periods)};
}

}  // namespace dlroof::runner
