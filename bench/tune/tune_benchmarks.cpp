#include "bench/tune/tune_benchmarks.h"

#include <fmt/format.h>

#include <algorithm>

#include "baselines/tune/tune.h"
#include "bench/supervise/supervised_program.h"
#include "bench/tune/bench_trial.h"
#include "bench/tune/open_tunings.h"
#include "bench/tune/trial_order.h"
#include "bench/tune/tune_command.h"
#include "bench/tune/tuning_report.h"
#include "bench/workload/workload.h"
#include "counters/base/error.h"
#include "counters/base/files.h"
#include "counters/base/interrupt.h"
#include "reporters/record/run_file.h"
#include "reporters/roofline/placed_run.h"
#include "reporters/text/text.h"

namespace dlroof::tune {
namespace {

tuning::MeasureBlock TrialsOf(const TuneRequest& request, const std::string& name) {
  return BenchTrials(
      {supervise::BenchProgram(request.bench), workload::ParseBenchmarkName(name), request.timeout_seconds});
}

// Sorts the coordinates by the ledger of the default, where it has one.
void SortCoordinates(const TuneRequest& request, const std::string& name, std::ostream& log,
                     std::vector<tuning::Coordinate>& coordinates) {
  if (request.machine == "none" || request.compare_with_itself) return;
  const TemporaryFolder folder;
  std::string path;
  try {
    // A ledger that is a little wrong still gives a good order.
    path = supervise::MeasureExplained(
        {"tune", {name}, request.bench, request.machine, "", {"--dlroof_live_check=false"}}, folder,
        log);
  } catch (const BadInput& error) {
    // The trials will say what is wrong with the benchmark.
    log << fmt::format("no ledger, so a fixed order: {}\n", text::Printable(error.what()));
  }
  if (path.empty()) return;
  const auto run = roofline::PlaceRun(record::ReadRunFile(path, log));
  for (const auto& placed : run.places) {
    const auto* point = roofline::Binding(placed.placement);
    if (placed.ledger && point != nullptr)
      SortByLedger(*placed.ledger, point->memory_bound, coordinates);
  }
}

tuning::TuningPlan PlanOf(const TuneRequest& request, const std::string& name, std::ostream& log) {
  tuning::TuningPlan plan{.subject = name,
                  .budget_seconds = request.budget_seconds,
                  .min_effect = request.min_effect,
                  .seed = request.seed};
  plan.coordinates = request.compare_with_itself
                         ? EqualCoordinates()
                         : SpaceOf(workload::ParseBenchmarkName(name), ThisMachine(), request.space);
  SortCoordinates(request, name, log, plan.coordinates);
  return plan;
}

nlohmann::json AboutOf(const TuneRequest& request) {
  const auto program = supervise::BenchProgram(request.bench);
  return {{"command", "dlroof tune"},
          {"names", request.names},
          {"bench", program},
          {"build", supervise::BuildOf(program)},
          {"machine", request.machine},
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
    return std::ranges::any_of(
               file_.tunings,
               [](const tuning::Tuning& tuning) { return tuning.state == tuning::TuningState::kFailed; })
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
    const auto say = [&](const std::string& sentence) { log_ << text::Printable(sentence) << '\n'; };
    tuning::Tune(before.plan, before.blocks, {TrialsOf(request_, request_.names[i]), save, say});
  }

  void Write() const { WriteFile(request_.output, tuning::ToJson(file_).dump(1) + "\n"); }

  int Interrupted() {
    if (!file_.tunings.empty() && file_.tunings.back().state == tuning::TuningState::kUnfinished)
      WriteTuning(file_.tunings.back(), supervise::BenchProgram(request_.bench), out_);
    log_ << fmt::format("interrupted; the same command with --resume goes on from {}\n",
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
      if (workload::ParseBenchmarkName(name).device != "cpu")
        throw BadInput("only benchmarks of the CPU are tuned");
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
  for (const auto& tuning : tuning::ReadTuningFile(path).tunings) WriteTuning(tuning, supervise::BenchProgram(), out);
}

}  // namespace dlroof::tune
