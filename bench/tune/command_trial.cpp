#include "bench/tune/command_trial.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "bench/program/output_numbers.h"
#include "bench/tune/knob_file.h"
#include "counters/base/files.h"
#include "counters/base/folders.h"
#include "counters/base/interrupt.h"
#include "counters/base/order_statistics.h"
#include "counters/cpu/clocks.h"
#include "reporters/text/text.h"

namespace dlroof::tune {
namespace {

// A setting that takes so many times as long as the default is none, and a pause more [s].
constexpr double kHopeless = 5, kPause = 1;
constexpr int kLongestReason = 160;

std::string LastLine(const std::string& text) {
  const auto end = text.find_last_not_of("\r\n \t");
  if (end == std::string::npos) return "";
  const auto begin = text.find_last_of("\r\n", end);
  return text.substr(begin == std::string::npos ? 0 : begin + 1,
                     end - (begin == std::string::npos ? std::string::npos : begin));
}

tuning::TrialResult Failed(std::string reason, const std::string& err = "") {
  if (const auto last = LastLine(err); !last.empty()) reason += ": " + text::Printable(last);
  return {{}, text::ShortenMiddle(reason, kLongestReason), false};
}

}  // namespace

TunedCommand CommandUnder(const std::vector<std::string>& command, const tuning::Setting& setting) {
  TunedCommand tuned{command, {}};
  for (const auto& [knob, value] : setting)
    if (knob.starts_with("--")) {
      tuned.command.push_back(value.empty() ? knob : knob + "=" + value);
    } else if (knob.starts_with(kPreload)) {
      auto& all = tuned.environment["LD_PRELOAD"];
      all += (all.empty() ? "" : ":") + value;
    } else {
      tuned.environment[knob] = value;
    }
  return tuned;
}

tuning::TrialResult ResultOf(const ProcessEnd& end, double wall_seconds, const std::string& out,
                     const std::string& err, const Objective& objective) {
  if (end.signal != 0 || end.exit_code != 0) return Failed(Describe(end), err);
  double seconds = wall_seconds;
  if (!objective.read.empty()) {
    const auto numbers = profile::NumbersIn(out, profile::NumberPattern("--read", objective.read));
    if (numbers.empty())
      return Failed(fmt::format("no number in its output matches '{}'", objective.read), err);
    const double number = Median(numbers);
    if (number <= 0)
      return Failed(
          fmt::format("'{}' read {:g}, expected a number above 0", objective.read, number));
    seconds = objective.per_second ? 1 / number : number;
  }
  return {{{.seconds = seconds, .iterations = 1}}, "", false};
}

tuning::Trial CommandTrial(const CommandTrialRequest& request) {
  if (!request.objective.read.empty()) profile::NumberPattern("--read", request.objective.read);
  auto longest = std::make_shared<double>(0);  // [s] of a run of the default
  return [request, longest](const tuning::Setting& setting, double seconds) -> std::optional<tuning::TrialResult> {
    const TemporaryFolder folder;
    const ProcessFiles files{folder / "out", folder / "err"};
    const auto tuned = CommandUnder(request.command, setting);
    const double known = *longest > 0 ? kHopeless * *longest + kPause : request.timeout_seconds;
    const double limit = std::min({seconds, request.timeout_seconds, known});
    const double begin = cpu::WallSeconds();
    WatchedProcess process(tuned.command, files, tuned.environment);
    const auto end = process.WaitForEnd(limit);
    const double wall = cpu::WallSeconds() - begin;
    if (StoppedByInterrupt()) return std::nullopt;
    if (!end) return Failed(fmt::format("still running after {:.3g} s", limit));
    const auto result =
        ResultOf(*end, wall, ReadFileIfAny(files.out), ReadFileIfAny(files.err), request.objective);
    if (setting.empty() && result.failed.empty()) *longest = std::max(*longest, wall);
    return result;
  };
}

}  // namespace dlroof::tune
