#include "bench/tune/tuning_report.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <vector>

#include "baselines/tuning/tune.h"
#include "bench/tune/space.h"
#include "counters/base/error.h"
#include "counters/base/files.h"
#include "counters/base/json_text.h"
#include "counters/base/process.h"
#include "reporters/text/text.h"

namespace dlroof::tune {
namespace {

constexpr std::size_t kBarWidth = 30;

// Returns a bar whose length shows the time divided by the default's time.
std::string Bar(double left) {
  const auto width = static_cast<std::size_t>(
      std::lround(std::clamp(left, 0.0, 1.0) * static_cast<double>(kBarWidth)));
  return std::string(width, '#') + std::string(kBarWidth - width, ' ');
}

void WriteSteps(const tuning::Tuning& tuning, std::ostream& out) {
  double left = 1;
  const auto time = [&] {
    return tuning.default_seconds ? text::WithPrefix(*tuning.default_seconds * left, "s") : "";
  };
  fmt::print(out, "  |{}|  {:>9}  default\n", Bar(left), time());
  for (const auto& step : tuning.steps) {
    if (step.effect) left *= step.effect->ratio;
    fmt::print(out, "  |{}|  {:>9}  {}: {}{}\n", Bar(left), time(),
               tuning::SettingText(step.values),
               step.effect ? EffectText(*step.effect) : "not measured alone",
               step.effect && !step.effect->confirmed ? ", not confirmed by itself" : "");
    fmt::print(out, "  {:{}}{}\n", "", kBarWidth + 15, text::Printable(step.reason));
  }
}

std::string NothingWon(const tuning::Tuning& tuning) {
  const auto unmeasured = std::ranges::count_if(
      tuning.tried, [](const tuning::TriedChoice& tried) { return !tried.failed && !tried.ratio; });
  if (unmeasured > 0)
    return fmt::format("no gain was found, but {} of {} choices have too few blocks for a verdict",
                       unmeasured, tuning.tried.size());
  if (tuning.budget_spent) return "no gain was found; the budget was spent before all was tried";
  return "nothing to win: no setting is faster than the default";
}

std::string Verdict(const tuning::Tuning& tuning) {
  switch (tuning.state) {
    case tuning::TuningState::kConfirmed:
      return fmt::format("best: {}, confirmed by {} blocks of new processes",
                         EffectText(*tuning.total), tuning.total->blocks);
    case tuning::TuningState::kNothingWon:
      return NothingWon(tuning);
    case tuning::TuningState::kNotConfirmed:
      return fmt::format("no confirmed gain: {}", tuning.reason);
    case tuning::TuningState::kUnsupported:
      return "not tuned: " + text::Printable(tuning.reason);
    case tuning::TuningState::kFailed:
      return "not tuned: the default fails: " + text::Printable(tuning.reason);
    case tuning::TuningState::kUnfinished:
      break;
  }
  return fmt::format("unfinished; so far {} seems best, but it is not confirmed yet",
                     tuning::SettingText(tuning.best));
}

// [1] A machine is quiet if runs of one setting differ by less.
constexpr double kQuiet = 0.03;

void WriteSpread(const tuning::Tuning& tuning, std::ostream& out) {
  const auto spread = tuning::SpreadOf(tuning);
  if (!spread) return;
  fmt::print(out, "  {}: times of one setting differ by {:.1f} % from block to block ({} pairs)\n",
             spread->deviation < kQuiet ? "quiet" : "busy", 100 * spread->deviation, spread->pairs);
  if (spread->deviation >= kQuiet)
    fmt::print(out, "  the best setting of a quiet machine may be another one\n");
}

void WriteTried(const tuning::Tuning& tuning, std::ostream& out) {
  if (const auto count = tuning::NoisyBlocks(tuning); count > 0)
    fmt::print(out, "  {} of {} blocks were noisy and are not used\n", count, tuning.blocks.size());
  for (const auto& dropped : tuning.dropped)
    fmt::print(out, "  not confirmed: {}\n", text::Printable(dropped));
  for (const auto& tried : tuning.tried) {
    const auto ratio = tried.ratio ? fmt::format(" (about {:.2f} of the time, {} blocks)",
                                                 *tried.ratio, tried.blocks)
                                   : std::string();
    fmt::print(
        out, "  tried {}: {}{}\n",
        tried.values.empty() ? "to undo " + tried.coordinate : tuning::SettingText(tried.values),
        text::Printable(tried.verdict), ratio);
  }
}

void WriteSettings(const tuning::Tuning& tuning, const std::string& program, std::ostream& out) {
  const auto tuned = UnderSetting(workload::ParseBenchmarkName(tuning.plan.subject), tuning.best);
  fmt::print(out, "  settings:\n");
  for (const auto& [variable, value] : EnvironmentLines(tuned))
    fmt::print(out, "    export {}='{}'\n", variable, value);
  if (tuned.graph) fmt::print(out, "    the call captured once in a CUDA graph, and replayed\n");
  fmt::print(out, "    {}\n", CommandLineOf(tuned, program));
}

}  // namespace

std::string EffectText(const tuning::Effect& effect) {
  return fmt::format("{:.2f}x as fast ({:.3f}x to {:.3f}x)", 1 / effect.ratio,
                     1 / effect.interval.second, 1 / effect.interval.first);
}

void WriteTuning(const tuning::Tuning& tuning, const std::string& program, std::ostream& out) {
  fmt::print(out, "{}\n", text::Printable(tuning.plan.subject));
  if (tuning.state == tuning::TuningState::kConfirmed) WriteSteps(tuning, out);
  fmt::print(out, "  {}\n", Verdict(tuning));
  if (tuning.verified) fmt::print(out, "  measured again: {}\n", EffectText(*tuning.verified));
  WriteSpread(tuning, out);
  WriteTried(tuning, out);
  if (tuning.state == tuning::TuningState::kConfirmed) WriteSettings(tuning, program, out);
  fmt::print(out, "\n");
}

namespace {

bool IsFinished(const tuning::TuningFile& file, const std::vector<std::string>& names) {
  return file.tunings.size() == names.size() &&
         std::ranges::none_of(file.tunings, [](const tuning::Tuning& tuning) {
           return tuning.state == tuning::TuningState::kUnfinished;
         });
}

}  // namespace

tuning::TuningFile OpenTunings(const std::string& path, const nlohmann::json& about, bool resume) {
  tuning::TuningFile file{about, {}};
  if (!std::filesystem::exists(path)) return file;
  auto before = tuning::ReadTuningFile(path);
  if (!resume) {
    if (IsFinished(before, before.about.value("names", std::vector<std::string>()))) return file;
    throw BadInput("{}: an unfinished tuning; continue it with --resume, or remove this file",
                   path);
  }
  for (const auto& [key, value] : file.about.items())
    if (before.about.value(key, nlohmann::json()) != value)
      throw BadInput("{}: its tuning had another {}: {}; now {}", path, key,
                     JsonText(before.about.value(key, nlohmann::json())), JsonText(value));
  return before;
}

int VerifyAll(const std::string& path, tuning::TuningFile file,
              const std::function<tuning::MeasureBlock(const std::string& subject)>& trials,
              std::ostream& log, std::ostream& out) {
  int exit_code = 0;
  for (auto& tuning : file.tunings) {
    fmt::print(out, "{}\n", text::Printable(tuning.plan.subject));
    if (tuning.state != tuning::TuningState::kConfirmed) {
      fmt::print(out, "  nothing to verify: {}\n", tuning::Key(tuning.state));
      continue;
    }
    log << fmt::format("default against {}\n", tuning::SettingText(tuning.best));
    std::optional<Reason> reason;
    tuning.verified = tuning::Verify(tuning, {trials(tuning.plan.subject)}, reason);
    if (StoppedByInterrupt()) return kInterrupted;
    WriteFile(path, JsonText(tuning::ToJson(file), 1) + "\n");
    const bool confirmed = tuning.verified && tuning.verified->confirmed;
    fmt::print(out, "  {}: {}: {}\n", tuning::SettingText(tuning.best),
               confirmed ? "confirmed again" : "not confirmed again",
               tuning.verified ? EffectText(*tuning.verified) : reason.value_or(Reason{}).text);
    if (!confirmed) exit_code = kNotConfirmed;
  }
  return exit_code;
}

}  // namespace dlroof::tune
