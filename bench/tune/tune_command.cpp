#include "bench/tune/tune_command.h"

#include <fmt/format.h>
#include <fmt/ostream.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>

#include "baselines/tuning/tune.h"
#include "bench/profile/profile_program.h"
#include "bench/runner/run_context.h"
#include "bench/supervise/supervised_program.h"
#include "bench/tune/knob_file.h"
#include "bench/tune/space.h"
#include "bench/tune/trials.h"
#include "bench/tune/tuning_report.h"
#include "bench/workload/workload.h"
#include "counters/base/error.h"
#include "counters/base/files.h"
#include "counters/base/json_text.h"
#include "counters/base/process.h"
#include "counters/cpu/clocks.h"
#include "reporters/record/run_file.h"
#include "reporters/roofline/placed_run.h"
#include "reporters/text/text.h"

namespace dlroof::tune {
namespace {

constexpr int kEqualChoices = 4, kEqualCoordinates = 3;

std::string ResumeText(const std::string& output) {
  return fmt::format("interrupted; run the same command with --resume to continue from {}\n",
                     output);
}

nlohmann::json AboutOf(const TuneCommandRequest& request, const std::string& subject) {
  return {{"command", "dlroof tune --"},
          {"names", {subject}},
          {"program", request.trial.command},
          {"read", request.trial.objective.read.value_or("")},
          {"objective", request.trial.objective.per_second ? "per-second" : "seconds"},
          {"knobs", request.knobs},
          {"environment", request.environment},
          {"precision", request.may_change_results},
          {"compare_with_itself", request.compare_with_itself},
          {"seed", request.seed},
          {"min_effect", request.min_effect}};
}

Objective ObjectiveOf(const nlohmann::json& about) {
  const auto read = about.value("read", "");
  return {read.empty() ? std::nullopt : std::optional(read),
          about.value("objective", "") == "per-second"};
}

void AddVariables(const TuneCommandRequest& request, std::vector<tuning::Coordinate>& coordinates) {
  for (const auto& [variable, values] : request.environment) {
    for (const auto& other : coordinates)
      for (const auto& choice : other.choices)
        if (choice.values.count(variable) > 0)
          throw BadInput("--env={}: knob {} has it already (--knobs chooses the sets)", variable,
                         other.name);
    // The value that the variable has already is the default, not a choice.
    const char* const now = std::getenv(variable.c_str());
    auto others = values;
    std::erase_if(others, [&](const std::string& value) { return now != nullptr && value == now; });
    if (!others.empty()) coordinates.push_back(RequestedCoordinate(variable, others));
  }
}

Knobs KnobsToTry(const TuneCommandRequest& request, std::ostream& log) {
  if (request.compare_with_itself) return {EqualCoordinates(), {}, {}};
  auto knobs = KnobsOf(request.knobs, ThisKnobPlace(), request.may_change_results);
  for (const auto& sentence : knobs.skipped)
    log << fmt::format("skipped: {}\n", text::Printable(sentence));
  AddVariables(request, knobs.coordinates);
  if (knobs.coordinates.empty())
    throw BadInput("tune: no knob is left to try; --knobs and --env add some");
  return knobs;
}

TuningWords WordsOf(const std::vector<std::string>& command, const Objective& objective) {
  TuningWords words;
  words.objective = [objective](double seconds) {
    if (!objective.read) return text::WithPrefix(seconds, "s");
    return text::ThreeDigits(objective.per_second ? 1 / seconds : seconds);
  };
  words.settings = [command](const tuning::Tuning& tuning, std::ostream& out) {
    const auto tuned = CommandUnder(command, tuning.best);
    fmt::print(out, "  settings, from the default:\n");
    for (const auto& [variable, value] : tuned.environment) {
      const char* now = std::getenv(variable.c_str());
      fmt::print(out, "    - {}\n    + {}={}\n",
                 now == nullptr ? variable + " is not set" : fmt::format("{}={}", variable, now),
                 variable, text::Printable(value));
    }
    for (std::size_t i = command.size(); i < tuned.command.size(); ++i)
      fmt::print(out, "    + argument {}\n", text::Printable(tuned.command[i]));
    fmt::print(out, "  the program with them:\n    {}\n", text::Printable(ShellCommand(tuned)));
  };
  return words;
}

class CommandTuning {
 public:
  CommandTuning(const TuneCommandRequest& request, std::ostream& log, std::ostream& out)
      : request_(request),
        log_(log),
        out_(out),
        subject_(fmt::format("{}", fmt::join(request.trial.command, " "))),
        file_(OpenTunings(request.output, AboutOf(request, subject_), request.resume)) {}

  int Run() {
    if (file_.tunings.empty()) file_.tunings.push_back({.plan = Plan()});
    auto& tuning = file_.tunings.front();
    const bool more = tuning.budget_spent && request_.budget_seconds > tuning.plan.budget_seconds;
    if (tuning.state == tuning::TuningState::kUnfinished || more) {
      tuning.plan.budget_seconds = request_.budget_seconds;
      const SystemLoad system_load;
      Measure();
      if (StoppedByInterrupt()) return Interrupted();
      if (const auto text = system_load.Text()) log_ << *text << '\n';
    }
    Report();
    return file_.tunings.front().state == tuning::TuningState::kFailed ? 1 : 0;
  }

 private:
  tuning::TuningPlan Plan() {
    tuning::TuningPlan plan{.subject = subject_,
                            .budget_seconds = request_.budget_seconds,
                            .min_effect = request_.min_effect,
                            .seed = request_.seed};
    auto knobs = KnobsToTry(request_, log_);
    plan.coordinates = std::move(knobs.coordinates);
    acts_on_ = std::move(knobs.acts_on);
    return plan;
  }

  // Sorts the knobs by the share of the program's time that they change.
  void Order() {
    const auto breakdown = profile::RunForBreakdown(request_.trial.command);
    if (!breakdown) {
      log_ << "a run has no breakdown of oneDNN's calls: the knobs are tried in the order of their "
              "files\n";
      return;
    }
    auto& coordinates = file_.tunings.front().plan.coordinates;
    SortByProgram(*breakdown, acts_on_, coordinates);
    std::vector<std::string> names;
    std::ranges::transform(coordinates, std::back_inserter(names), &tuning::Coordinate::name);
    log_ << fmt::format("the breakdown of a run orders the knobs: {}\n",
                        text::Printable(fmt::format("{}", fmt::join(names, ", "))));
  }

  void Measure() {
    const auto trial = CommandTrial(request_.trial);
    // This run of the default warms the system's file cache. Its duration limits other runs.
    const double begin = cpu::WallSeconds();
    if (!trial({}, request_.trial.timeout_seconds)) return;
    const double run_seconds = cpu::WallSeconds() - begin;
    if (!acts_on_.empty() && file_.tunings.front().blocks.empty()) Order();
    const auto before = file_.tunings.front();
    std::size_t choices = 0;
    for (const auto& coordinate : before.plan.coordinates) choices += coordinate.choices.size();
    log_ << fmt::format("{} choices of {} knobs; a run takes about {}, the budget is {:.0f} s\n",
                        choices, before.plan.coordinates.size(), text::WithPrefix(run_seconds, "s"),
                        request_.budget_seconds);
    const auto save = [&](const tuning::Tuning& tuning) {
      file_.tunings.front() = tuning;
      Write();
    };
    const auto say = [&](const std::string& sentence) {
      log_ << text::Printable(sentence) << '\n';
    };
    tuning::Tune(before.plan, before.blocks,
                 {tuning::Interleaved(trial, 1, request_.trial.timeout_seconds, cpu::WallSeconds),
                  save, say});
  }

  void Write() const { WriteFile(request_.output, JsonText(tuning::ToJson(file_), 1) + "\n"); }

  void Report() {
    const auto& tuning = file_.tunings.front();
    WriteTuning(tuning, WordsOf(request_.trial.command, request_.trial.objective), out_);
    out_ << std::flush;
    if (!request_.exported) return;
    WriteFile(*request_.exported,
              tuning.state == tuning::TuningState::kConfirmed
                  ? ExportLines(request_.trial.command, tuning.best)
                  : "# no setting is confirmed to be faster than the default\n");
    log_ << fmt::format("wrote {}\n", *request_.exported);
  }

  int Interrupted() {
    Report();
    log_ << ResumeText(request_.output);
    return kInterrupted;
  }

  const TuneCommandRequest& request_;
  std::ostream& log_;
  std::ostream& out_;
  std::string subject_;
  tuning::TuningFile file_;
  ActsOn acts_on_;
};

}  // namespace

std::vector<tuning::Coordinate> EqualCoordinates() {
  std::vector<tuning::Coordinate> all;
  for (int i = 1; i <= kEqualCoordinates; ++i) {
    tuning::Coordinate coordinate{
        fmt::format("nothing {}", i), "no program reads this variable", {}};
    for (int value = 1; value <= kEqualChoices; ++value)
      coordinate.choices.push_back(
          {{{fmt::format("DLROOF_NOTHING_{}", i), std::to_string(value)}}, "changes nothing"});
    all.push_back(std::move(coordinate));
  }
  return all;
}

std::string ExportLines(const std::vector<std::string>& command, const tuning::Setting& setting) {
  const auto tuned = CommandUnder(command, setting);
  std::string lines;
  for (const auto& [variable, value] : tuned.environment)
    lines += fmt::format("export {}={}\n", variable, runner::CommandLine({value}));
  for (std::size_t i = command.size(); i < tuned.command.size(); ++i)
    lines += fmt::format("# and the argument {}\n", text::Printable(tuned.command[i]));
  return lines;
}

std::string ShellCommand(const TunedCommand& tuned) {
  std::string line;
  for (const auto& [variable, value] : tuned.environment)
    line += fmt::format("{}={} ", variable, runner::CommandLine({value}));
  return line + runner::CommandLine(tuned.command);
}

int TuneCommand(const TuneCommandRequest& request, std::ostream& log, std::ostream& out) {
  return CommandTuning(request, log, out).Run();
}

bool IsOfCommand(const tuning::TuningFile& file) { return file.about.contains("program"); }

int VerifyCommand(const std::string& path, tuning::TuningFile file, double timeout_seconds,
                  std::ostream& log, std::ostream& out) {
  const CommandTrialRequest request{file.about.at("program").get<std::vector<std::string>>(),
                                    ObjectiveOf(file.about), timeout_seconds};
  const auto trials = [&](const std::string&) {
    return tuning::Interleaved(CommandTrial(request), 1, timeout_seconds, cpu::WallSeconds);
  };
  return VerifyAll(path, std::move(file), trials, log, out);
}

void ShowCommand(const tuning::TuningFile& file, std::ostream& out) {
  const auto command = file.about.at("program").get<std::vector<std::string>>();
  for (const auto& tuning : file.tunings)
    WriteTuning(tuning, WordsOf(command, ObjectiveOf(file.about)), out);
}

namespace {

tuning::MeasureBlock TrialsOf(const TuneRequest& request, const std::string& name) {
  return BenchTrials({supervise::BenchProgram(request.bench), workload::ParseBenchmarkName(name),
                      request.timeout_seconds});
}

// Sorts the coordinates by the breakdown of the default, if there is one.
void SortCoordinates(const TuneRequest& request, const std::string& name, std::ostream& log,
                     std::vector<tuning::Coordinate>& coordinates) {
  // On a GPU the coordinates are few, and need no order.
  const bool on_gpu = workload::ParseBenchmarkName(name).device == "gpu";
  if (on_gpu || request.machine == "none" || request.compare_with_itself) return;
  const TemporaryFolder folder;
  std::optional<std::string> path;
  try {
    // Skips the live check of the ceilings: an inaccurate breakdown still gives a good order.
    path = supervise::MeasureExplained({.command = "tune",
                                        .names = {name},
                                        .bench = request.bench,
                                        .machine = request.machine,
                                        .arguments = {"--dlroof_live_check=false"}},
                                       folder, log);
  } catch (const BadInput& error) {
    // If the benchmark itself fails, its trials report the failure.
    log << fmt::format("no breakdown, so the coordinates are tried in a fixed order: {}\n",
                       text::Printable(error.what()));
  }
  if (!path) return;
  const auto run = roofline::PlaceRun(record::ReadRunFile(*path, log));
  for (const auto& placed : run.places) {
    const auto* point = roofline::Binding(placed.placement);
    if (placed.breakdown && point != nullptr)
      SortByBreakdown(*placed.breakdown, point->memory_bound, coordinates);
  }
}

tuning::TuningPlan PlanOf(const TuneRequest& request, const std::string& name, std::ostream& log) {
  tuning::TuningPlan plan{.subject = name,
                          .budget_seconds = request.budget_seconds,
                          .min_effect = request.min_effect,
                          .seed = request.seed};
  plan.coordinates = request.compare_with_itself ? EqualCoordinates()
                                                 : SpaceOf(workload::ParseBenchmarkName(name),
                                                           ThisMachine(), request.space);
  SortCoordinates(request, name, log, plan.coordinates);
  return plan;
}

nlohmann::json AboutOf(const TuneRequest& request) {
  const auto program = supervise::BenchProgram(request.bench);
  return {{"command", "dlroof tune"},
          {"names", request.names},
          {"bench", program},
          {"build", supervise::BuildOf(program)},
          {"machine", request.machine.value_or("")},
          {"seed", request.seed},
          {"min_effect", request.min_effect},
          {"precision", request.space.precision},
          {"batch", request.space.batch},
          {"environment", request.space.environment},
          {"compare_with_itself", request.compare_with_itself}};
}

class Tunings {
 public:
  Tunings(const TuneRequest& request, std::ostream& log, std::ostream& out)
      : request_(request),
        log_(log),
        out_(out),
        file_(OpenTunings(request.output, AboutOf(request), request.resume)) {}

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
      before.plan = PlanOf(request_, request_.names[i], log_);
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
    log_ << ResumeText(request_.output);
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
  const auto trials = [&](const std::string& name) { return TrialsOf(request, name); };
  return VerifyAll(path, tuning::ReadTuningFile(path), trials, log, out);
}

void ShowTunings(const std::string& path, std::ostream& out) {
  for (const auto& tuning : tuning::ReadTuningFile(path).tunings)
    WriteTuning(tuning, supervise::BenchProgram(), out);
}

}  // namespace dlroof::tune
