#include "ceilings/cpu/measure.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <set>

#include "ceilings/cpu/measure_steps.h"
#include "ceilings/machine/agreement.h"
#include "counters/base/error.h"
#include "counters/cpu/clocks.h"
#include "counters/cpu/issue_rate.h"

namespace dlroof::cpu_ceilings {
namespace {

// Repetitions stay within a time slice: on a busy machine only such can be clean.
constexpr Effort kFull = {"full", 35, 3e-3, 16, 6, 3, 6, 1};
constexpr Effort kQuick = {"quick", 6, 1.5e-3, 6, 3, 3, 1, 0};
constexpr Effort kThorough = {"thorough", 240, 5e-3, 30, 12, 5, 60, 100, true};

void AddPass(MeasureSession& session, int threads, int pass) {
  const auto begin = session.steps.size();
  AddFlopsSteps(session, threads, pass);
  AddBytesSteps(session, threads, pass);
  // The first step of a pass makes the threads anew, the others where a step before could not.
  for (auto i = begin; i < session.steps.size(); ++i) {
    auto& run = session.steps[i].run;
    run = [&session, cpus = cpu::SpreadCpus(session.cpu, threads), inner = run,
           first = i == begin](double max_seconds) {
      if (first) session.bench.reset();  // its memory first
      if (!session.bench) session.bench = std::make_unique<CpuBench>(cpus);
      inner(max_seconds);
    };
  }
}

void AddSteps(MeasureSession& session, const std::vector<int>& counts) {
  for (const int threads : counts) {
    auto& sets = session.sets[threads];
    sets = session.SetsOf(cpu::SpreadCpus(session.cpu, threads));
    auto& ceilings = session.machine.by_threads[threads];
    for (const auto& [level, why] : sets.absent) ceilings.absent[std::string(Key(level))] = why;
    ceilings.effort = session.effort.name;
  }
  for (int pass = 0; pass < session.effort.passes; ++pass)
    for (const int threads : counts) AddPass(session, threads, pass);
  for (const int threads : counts) AddOverheadSteps(session, threads);
}

// The ceilings of what the passes measured.
void Finish(MeasureSession& session) {
  FinishFlops(session);
  FinishBytes(session);
  machine::AddScaling(session.machine, cpu::UsableCores(session.cpu));
  machine::CompareThreadCounts(session.machine);
  for (auto& [threads, set] : session.machine.by_threads) {
    AddPlainPipes(set.flops);
    CompareRidges(set);
  }
}

// Samples spread over the whole measurement, because a neighbour comes and goes.
void LookAtCores(MeasureSession& session, cpu::SharesOfBest& alone) {
  if (!session.bench) return;
  alone.OfLower({session.bench->IssueRate(), std::nullopt}, {});
  session.machine.issue_rate = alone.Best().issue_rate;
  auto& best = session.machine.by_threads[session.bench->threads()].best_state;
  best = cpu::Better(best, session.bench->team().BestState());
}

void RunSteps(MeasureSession& session, const MeasureOptions& options) {
  const double begin = cpu::WallSeconds();
  const int steps = static_cast<int>(session.steps.size());
  const double nominal = session.effort.NominalSeconds();
  const auto report = [&](int step, const std::string& text) {
    if (!options.progress) return;
    const double elapsed = cpu::WallSeconds() - begin;
    const double per_step = step == 0 ? nominal : elapsed / step;
    options.progress({step, steps, text, per_step * (steps - step)});
  };
  cpu::SharesOfBest alone;
  for (int i = 0; i < steps; ++i) {
    const auto& step = session.steps[static_cast<std::size_t>(i)];
    report(i, step.text);
    LookAtCores(session, alone);
    const double left = session.effort.budget_seconds - (cpu::WallSeconds() - begin);
    TryStep(session, step, Allowance(left, steps - i, nominal));
  }
  report(steps, "done");
}

void RunLastSteps(MeasureSession& session, const MeasureOptions& options) {
  constexpr double kSeconds = 10;  // of each
  const int steps = static_cast<int>(session.last_steps.size());
  for (int i = 0; i < steps; ++i) {
    const auto& step = session.last_steps[static_cast<std::size_t>(i)];
    if (options.progress) options.progress({i, steps, step.text, kSeconds * (steps - i)});
    TryStep(session, step, kSeconds);
  }
  if (options.progress && steps > 0) options.progress({steps, steps, "done", 0});
}

Effort EffortOf(const MeasureOptions& options) {
  if (options.thorough) return kThorough;
  return options.quick ? kQuick : kFull;
}

std::string UtcNow() {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
}

}  // namespace

double Allowance(double budget_left, int steps_left, double nominal) {
  const double spare = budget_left - 1.25 * nominal * (steps_left - 1);
  return std::clamp(spare, 1.25 * nominal, 10 * nominal);
}

std::vector<int> ThreadCounts(const cpu::Cpu& cpu, const std::vector<int>& wanted, bool thorough) {
  const int most = static_cast<int>(cpu.allowed.size());
  std::set<int> counts(wanted.begin(), wanted.end());
  if (counts.empty()) {
    counts = {1, most};
    for (int count = 2; thorough && count < most; count *= 2) counts.insert(count);
  }
  for (const int count : counts)
    if (count < 1 || count > most)
      throw BadInput(
          "ceilings of {} threads cannot be measured: this process may use {} CPUs, and each "
          "thread needs its own",
          count, most);
  return {counts.begin(), counts.end()};
}

machine::Machine DescribeCpu(const cpu::Cpu& cpu) {
  machine::Machine machine;
  machine.device = "cpu";
  machine.name = cpu.name;
  machine.facts = cpu::Facts(cpu);
  machine.fingerprint = machine::Fingerprint(machine.facts);
  if (!cpu.allowed.empty()) machine.cache_bytes = ThreadShares(cpu.topology, {cpu.allowed.front()});
  if (cpu.memory_bytes)
    machine.facts["memory"] = fmt::format("{:.1f} GiB", *cpu.memory_bytes / (1024.0 * 1024 * 1024));
  machine.facts["allowed_cpus"] = std::to_string(cpu.allowed.size());
  return machine;
}

machine::Machine MeasureCpu(const MeasureOptions& options) {
  MeasureSession session{cpu::ThisCpu(), EffortOf(options)};
  const auto counts = ThreadCounts(session.cpu, options.threads, options.thorough);
  session.machine = DescribeCpu(session.cpu);
  if (session.machine.cache_bytes.empty()) FindUntoldCaches(session, counts);
  AddSteps(session, counts);
  RunSteps(session, options);
  Finish(session);
  if (MeasureUnprovedAgain(session)) Finish(session);
  AddSustainedSteps(session);
  RunLastSteps(session, options);
  session.machine.measured_at = UtcNow();
  return session.machine;
}

}  // namespace dlroof::cpu_ceilings
