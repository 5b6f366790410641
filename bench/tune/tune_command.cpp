#include "bench/tune/tune_command.h"

#include <fmt/format.h>

#include <algorithm>

#include "baselines/tuning/tune.h"
#include "bench/supervise/supervised_program.h"
#include "bench/tune/space.h"
#include "bench/tune/trials.h"
#include "bench/tune/tuning_report.h"
#include "bench/workload/workload.h"
#include "counters/base/error.h"
#include "counters/base/files.h"
#include "counters/base/json_text.h"
#include "counters/base/process.h"
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
