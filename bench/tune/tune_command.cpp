#include "bench/tune/tune_command.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "baselines/tuning/tune.h"
#include "bench/runner/run_context.h"
#include "bench/supervise/supervised_program.h"
#include "bench/tune/space.h"
#include "bench/tune/trials.h"
#include "bench/workload/workload.h"
#include "counters/base/error.h"
#include "counters/base/files.h"
#include "counters/base/json_text.h"
#include "counters/base/process.h"
#include "reporters/text/text.h"

namespace dlroof::tune {
namespace {

constexpr int kInterrupted = 130, kNotConfirmed = 3;  // exit codes

// Returns coordinates of environment variables that no program reads, for an A/A test.
std::vector<tuning::Coordinate> EqualCoordinates() {
  constexpr int kEqualChoices = 4, kEqualCoordinates = 3;
  std::vector<tuning::Coordinate> all;
  for (int i = 1; i <= kEqualCoordinates; ++i) {
    tuning::Coordinate coordinate{fmt::format("nothing {}", i), {}};
    for (int value = 1; value <= kEqualChoices; ++value)
      coordinate.choices.push_back(
          {{{fmt::format("DLROOF_NOTHING_{}", i), std::to_string(value)}}, "changes nothing"});
    all.push_back(std::move(coordinate));
  }
  return all;
}

std::string SettingText(const tuning::Setting& setting) {
  return text::Printable(tuning::SettingText(setting));
}

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
    fmt::print(out, "  |{}|  {:>9}  {}: {}{}\n", Bar(left), time(), SettingText(step.values),
               step.effect ? tuning::EffectText(*step.effect) : "not measured alone",
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
                         tuning::EffectText(*tuning.total), tuning.total->blocks);
    case tuning::TuningState::kNothingWon:
      return NothingWon(tuning);
    case tuning::TuningState::kNotConfirmed:
      return fmt::format("no confirmed gain: {}", text::Printable(tuning.reason));
    case tuning::TuningState::kUnsupported:
      return "not tuned: " + text::Printable(tuning.reason);
    case tuning::TuningState::kFailed:
      return "not tuned: the default fails: " + text::Printable(tuning.reason);
    case tuning::TuningState::kUnfinished:
      break;
  }
  return fmt::format("unfinished; so far {} seems best, but it is not confirmed yet",
                     SettingText(tuning.best));
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
    fmt::print(out, "  tried {}: {}{}\n",
               tried.values.empty() ? "to undo " + text::Printable(tried.coordinate)
                                    : SettingText(tried.values),
               text::Printable(tried.verdict), ratio);
  }
}

void WriteSettings(const tuning::Tuning& tuning, const std::string& program, std::ostream& out) {
  const auto tuned = UnderSetting(workload::ParseBenchmarkName(tuning.plan.subject), tuning.best);
  fmt::print(out, "  settings:\n");
  for (const auto& [variable, value] : EnvironmentLines(tuned))
    fmt::print(out, "    export {}={}\n", runner::CommandLine({variable}),
               text::Printable(runner::CommandLine({value})));
  if (tuned.graph) fmt::print(out, "    the call captured once in a CUDA graph, and replayed\n");
  fmt::print(out, "    {}\n", text::Printable(CommandLineOf(tuned, program)));
}

}  // namespace

void WriteTuning(const tuning::Tuning& tuning, const std::string& program, std::ostream& out) {
  fmt::print(out, "{}\n", text::Printable(tuning.plan.subject));
  if (tuning.state == tuning::TuningState::kConfirmed) WriteSteps(tuning, out);
  fmt::print(out, "  {}\n", Verdict(tuning));
  if (tuning.verified)
    fmt::print(out, "  measured again: {}\n", tuning::EffectText(*tuning.verified));
  WriteSpread(tuning, out);
  WriteTried(tuning, out);
  if (tuning.state == tuning::TuningState::kConfirmed) WriteSettings(tuning, program, out);
  fmt::print(out, "\n");
}

namespace {

tuning::MeasureBlock TrialsOf(const TuneRequest& request, const std::string& name) {
  return BenchTrials({supervise::BenchProgram(request.bench), workload::ParseBenchmarkName(name),
                      request.timeout_seconds});
}

tuning::TuningPlan PlanOf(const TuneRequest& request, const std::string& name) {
  tuning::TuningPlan plan{.subject = name,
                          .budget_seconds = request.budget_seconds,
                          .min_effect = request.min_effect,
                          .seed = request.seed};
  plan.coordinates = request.compare_with_itself ? EqualCoordinates()
                                                 : SpaceOf(workload::ParseBenchmarkName(name),
                                                           ThisMachine(), request.space);
  return plan;
}

nlohmann::json AboutOf(const TuneRequest& request) {
  const auto program = supervise::BenchProgram(request.bench);
  return {{"command", "dlroof tune"},
          {"names", request.names},
          {"bench", program},
          {"build", supervise::BuildOf(program)},
          {"seed", request.seed},
          {"min_effect", request.min_effect},
          {"precision", request.space.precision},
          {"batch", request.space.batch},
          {"environment", request.space.environment},
          {"compare_with_itself", request.compare_with_itself}};
}

bool IsFinished(const tuning::TuningFile& file, const std::vector<std::string>& names) {
  return file.tunings.size() == names.size() &&
         std::ranges::none_of(file.tunings, [](const tuning::Tuning& tuning) {
           return tuning.state == tuning::TuningState::kUnfinished;
         });
}

tuning::TuningFile OpenTunings(const std::string& path, const nlohmann::json& about, bool resume,
                               const SpaceRequest& space) {
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
  // A resumed run measures what the file plans and what seemed best in its blocks.
  for (const auto& tuning : before.tunings) {
    for (const auto& coordinate : tuning.plan.coordinates)
      for (const auto& choice : coordinate.choices) CheckVariables(choice.values, space, path);
    for (const auto& block : tuning.blocks)
      for (const auto& setting : block.settings) CheckVariables(setting, space, path);
  }
  return before;
}

class Tunings {
 public:
  Tunings(const TuneRequest& request, std::ostream& log, std::ostream& out)
      : request_(request),
        log_(log),
        out_(out),
        file_(OpenTunings(request.output, AboutOf(request), request.resume, request.space)) {}

  int Run() {
    for (std::size_t i = 0; i < request_.names.size(); ++i) {
      if (StoppedByInterrupt()) return Interrupted();
      log_ << fmt::format("[{}/{}] {}\n", i + 1, request_.names.size(), request_.names[i]);
      TuneOne(i);
      if (StoppedByInterrupt()) return Interrupted();
      WriteTuning(file_.tunings[i], supervise::BenchProgram(request_.bench), out_);
      out_ << std::flush;
    }
    return std::ranges::any_of(file_.tunings,
                               [](const tuning::Tuning& tuning) {
                                 return tuning.state == tuning::TuningState::kFailed;
                               })
               ? 1
               : 0;
  }

 private:
  void TuneOne(std::size_t i) {
    tuning::Tuning before;
    if (i < file_.tunings.size()) {
      before = file_.tunings[i];
      const bool more = before.budget_spent && request_.budget_seconds > before.plan.budget_seconds;
      if (before.state != tuning::TuningState::kUnfinished && !more) return;
      before.plan.budget_seconds = request_.budget_seconds;
    } else {
      before.plan = PlanOf(request_, request_.names[i]);
      file_.tunings.push_back(before);
    }
    if (StoppedByInterrupt()) return;
    const auto save = [&](const tuning::Tuning& tuning) {
      file_.tunings[i] = tuning;
      Write();
    };
    const auto say = [&](const std::string& sentence) {
      log_ << text::Printable(sentence) << '\n';
    };
    tuning::Tune(before.plan, before.blocks, {TrialsOf(request_, request_.names[i]), save, say});
  }

  void Write() const { WriteFile(request_.output, JsonText(tuning::ToJson(file_), 1) + "\n"); }

  int Interrupted() {
    if (!file_.tunings.empty() && file_.tunings.back().state == tuning::TuningState::kUnfinished)
      WriteTuning(file_.tunings.back(), supervise::BenchProgram(request_.bench), out_);
    log_ << fmt::format("interrupted; run the same command with --resume to continue from {}\n",
                        request_.output);
    return kInterrupted;
  }

  const TuneRequest& request_;
  std::ostream& log_;
  std::ostream& out_;
  tuning::TuningFile file_;
};

}  // namespace

int TuneBenchmarks(const TuneRequest& request, std::ostream& log, std::ostream& out) {
  for (const auto& name : request.names) try {
      workload::MakeWorkload(name);
    } catch (const BadInput& error) {
      throw BadInput("tune: {}: {}", name, error.what());
    }
  return Tunings(request, log, out).Run();
}

int VerifyTunings(const std::string& path, const TuneRequest& request, std::ostream& log,
                  std::ostream& out) {
  auto file = tuning::ReadTuningFile(path);
  for (const auto& tuning : file.tunings) CheckVariables(tuning.best, request.space, path);
  int exit_code = 0;
  for (auto& tuning : file.tunings) {
    fmt::print(out, "{}\n", text::Printable(tuning.plan.subject));
    if (tuning.state != tuning::TuningState::kConfirmed) {
      fmt::print(out, "  nothing to verify: {}\n", tuning::Key(tuning.state));
      continue;
    }
    log << fmt::format("default against {}\n", SettingText(tuning.best));
    std::optional<Reason> reason;
    tuning.verified = tuning::Verify(tuning, {TrialsOf(request, tuning.plan.subject)}, reason);
    if (StoppedByInterrupt()) return kInterrupted;
    WriteFile(path, JsonText(tuning::ToJson(file), 1) + "\n");
    const bool confirmed = tuning.verified && tuning.verified->confirmed;
    fmt::print(
        out, "  {}: {}: {}\n", SettingText(tuning.best),
        confirmed ? "confirmed again" : "not confirmed again",
        tuning.verified ? tuning::EffectText(*tuning.verified) : reason.value_or(Reason{}).text);
    if (!confirmed) exit_code = kNotConfirmed;
  }
  return exit_code;
}

void ShowTunings(const std::string& path, std::ostream& out) {
  for (const auto& tuning : tuning::ReadTuningFile(path).tunings)
    WriteTuning(tuning, supervise::BenchProgram(), out);
}

}  // namespace dlroof::tune
