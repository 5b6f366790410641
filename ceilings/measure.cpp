#include "ceilings/measure.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <memory>
#include <set>
#include <stdexcept>
#include <thread>
#include <utility>

#include "ceilings/agreement.h"
#include "ceilings/cpu_bytes_probes.h"
#include "ceilings/cpu_flops_probes.h"
#include "ceilings/launch.h"
#include "ceilings/thread_team.h"
#include "ceilings/workspace.h"
#include "counters/clocks.h"
#include "counters/error.h"

namespace dlroof {
namespace {

constexpr double kArithmeticTolerance = 0.02, kMemoryTolerance = 0.03;
constexpr double kPassTolerance = 0.05;

struct Effort {
  const char* name;
  double budget_seconds;  // [s] of probes, all thread counts together
  double repetition_seconds;
  int repetitions, doubled;
  int passes;  // over all probes, so that each is measured at times far apart

  RatePolicy Policy(double tolerance) const {
    RatePolicy policy;
    policy.repetition_seconds = repetition_seconds;
    policy.repetitions = repetitions;
    policy.doubled = doubled;
    policy.tolerance = tolerance;
    policy.sleep = [](double seconds) {
      std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
    };
    policy.now = WallSeconds;
    return policy;
  }
  // Calibration takes about three repetitions.
  double NominalSeconds() const { return repetition_seconds * (repetitions + 2 * doubled + 3); }
};
// Repetitions stay within a time slice: on a busy machine only such can be clean.
constexpr Effort kFull = {"full", 45, 3e-3, 16, 6, 3};
constexpr Effort kQuick = {"quick", 7, 1.5e-3, 6, 3, 3};

// The pinned threads of one thread count, each with its operands and memory.
class Bench {
 public:
  explicit Bench(const std::vector<int>& cpus)
      : team_(cpus), workspaces_(cpus.size()), memory_(cpus.size()) {
    for (auto& workspace : workspaces_) workspace = std::make_unique<Workspace>();
  }

  int threads() const { return team_.size(); }

  Rate Measure(Kernel kernel, const RatePolicy& policy) {
    return MeasureRate(
        [&](std::int64_t iterations) {
          return team_.Time([&](int i) { kernel(Of(i), iterations); });
        },
        policy);
  }

  Rate MeasureFlops(const FlopsProbe& probe, const RatePolicy& policy) {
    for (auto& workspace : workspaces_) FillOperands(probe.operands, *workspace);
    return Measure(probe.kernel, policy);
  }

  Rate MeasureBytes(const Mix& mix, const BytesIsa& isa, const WorkingSet& set,
                    const RatePolicy& policy) {
    team_.Run([&](int i) {
      auto& memory = memory_[static_cast<std::size_t>(i)];
      if (memory.size() < MemoryBytes(set.bytes)) {
        memory = Pages();  // first give back, then take more
        memory = Pages(MemoryBytes(set.bytes));
      }
      LayArrays(memory.begin(), set.bytes, mix.streams, isa.step_floats, Of(i));
    });
    return Measure(mix.kernel, policy);
  }

 private:
  Workspace& Of(int thread) { return *workspaces_[static_cast<std::size_t>(thread)]; }

  ThreadTeam team_;
  std::vector<std::unique_ptr<Workspace>> workspaces_;
  std::vector<Pages> memory_;
};

struct Step {
  std::string text;
  std::function<void(double max_seconds)> run;
};

// One row of a ceiling set in the making: what the passes measured.
struct Row {
  std::string how;
  double work_per_iteration = 0;  // [flop] or [byte], all threads
  std::string doubt;              // of the set-up, whatever is measured
  std::vector<Rate> passes;

  Ceiling Finished(int threads, const RatePolicy& policy) const {
    auto ceiling =
        CeilingFrom(MergePasses(passes, policy, kPassTolerance), work_per_iteration, threads, how);
    if (passes.size() > 1) ceiling.how += fmt::format(" in {} passes", passes.size());
    if (!doubt.empty()) {
      ceiling.proved = false;
      ceiling.reason = ceiling.reason.empty() ? doubt : doubt + "; " + ceiling.reason;
    }
    return ceiling;
  }
};

struct Rows {
  std::map<std::string, Row> flops;                   // by pipe key
  std::map<Level, std::map<std::string, Row>> bytes;  // by level, then mix
};

// Everything one measurement run shares between its steps.
struct Session {
  Cpu cpu;
  Effort effort;
  Machine machine;
  std::vector<Step> steps;
  std::unique_ptr<Bench> bench;  // of the thread count in progress
  std::map<int, Rows> rows;      // by thread count

  RatePolicy Policy(double tolerance, double max_seconds) const {
    auto policy = effort.Policy(tolerance);
    policy.max_seconds = max_seconds;
    return policy;
  }
};

void AddFlopsSteps(Session& session, int threads) {
  for (const auto& probe : FlopsProbesFor(session.cpu.features)) {
    auto& row = session.rows[threads].flops[probe.key];
    row.how = probe.how;
    row.work_per_iteration = probe.flops_per_iteration * threads;
    session.steps.push_back({fmt::format("{}, {} threads", probe.key, threads),
                             [&session, &row, probe](double max_seconds) {
                               row.passes.push_back(session.bench->MeasureFlops(
                                   probe, session.Policy(kArithmeticTolerance, max_seconds)));
                             }});
  }
}

void AddBytesSteps(Session& session, int threads, const WorkingSets& chosen) {
  const auto isa = WidestBytesIsa(session.cpu.features);
  for (const auto& [level, set] : chosen.sets)
    for (const auto& mix : MixesFor(isa, level)) {
      auto& row = session.rows[threads].bytes[level][mix.name];
      row.how = fmt::format("{} {}, {}", isa.name, mix.name, set.how);
      row.work_per_iteration =
          static_cast<double>(isa.step_floats * sizeof(float)) * mix.streams * threads;
      row.doubt = set.doubt;
      session.steps.push_back({fmt::format("{} {}, {} threads", Key(level), mix.name, threads),
                               [&session, &row, mix, isa, set = set](double max_seconds) {
                                 row.passes.push_back(session.bench->MeasureBytes(
                                     mix, isa, set, session.Policy(kMemoryTolerance, max_seconds)));
                               }});
    }
}

// The ceilings of what the passes measured.
void Finish(Session& session) {
  const auto arithmetic = session.effort.Policy(kArithmeticTolerance);
  const auto memory = session.effort.Policy(kMemoryTolerance);
  for (const auto& [threads, rows] : session.rows) {
    auto& set = session.machine.by_threads[threads];
    for (const auto& [key, row] : rows.flops) set.flops[key] = row.Finished(threads, arithmetic);
    for (const auto& [level, mixes] : rows.bytes) {
      MeasuredMixes measured;
      for (const auto& [name, row] : mixes)
        measured.emplace_back(name, row.Finished(threads, memory));
      set.bytes[level] = BestMix(measured);
    }
  }
  CompareThreadCounts(session.machine);
  for (auto& [threads, set] : session.machine.by_threads) AddPlainPipes(set.flops);
}

// Last of all: the library's own threads spin for a while after each call.
void AddLaunchStep(Session& session, int threads) {
  session.steps.push_back(
      {fmt::format("launch, {} threads", threads), [&session, threads](double max_seconds) {
         session.bench.reset();
         const auto suffix = fmt::format(".threads.{}", threads);
         try {
           const auto cost = MeasureLaunch(threads, session.Policy(kMemoryTolerance, max_seconds));
           if (!cost) {
             session.machine.facts["absent.launch" + suffix] =
                 "this build has no library whose calls could be timed";
             return;
           }
           session.machine.facts["launch" + suffix] = cost->how;
           if (cost->clean)
             session.machine.by_threads[threads].launch_seconds = cost->seconds;
           else
             session.machine.facts["absent.launch" + suffix] =
                 "in each repetition a thread waited for a CPU";
         } catch (const std::exception& error) {
           session.machine.facts["absent.launch" + suffix] = error.what();
         }
       }});
}

void AddPass(Session& session, int threads, const std::vector<int>& cpus,
             const WorkingSets& chosen) {
  const auto begin = session.steps.size();
  AddFlopsSteps(session, threads);
  AddBytesSteps(session, threads, chosen);
  auto& first = session.steps[begin].run;
  first = [&session, cpus, inner = first](double max_seconds) {
    session.bench.reset();  // its memory first
    session.bench = std::make_unique<Bench>(cpus);
    inner(max_seconds);
  };
}

void AddSteps(Session& session, const std::vector<int>& counts) {
  const auto available = AvailableMemoryBytes();
  std::map<int, WorkingSets> chosen;
  for (const int threads : counts) {
    chosen[threads] =
        ChooseWorkingSets(session.cpu.topology, SpreadCpus(session.cpu, threads), available);
    for (const auto& [level, why] : chosen[threads].absent)
      session.machine.facts[fmt::format("absent.{}.threads.{}", Key(level), threads)] = why;
    session.machine.facts[fmt::format("effort.{}", threads)] = session.effort.name;
  }
  for (int pass = 0; pass < session.effort.passes; ++pass)
    for (const int threads : counts)
      AddPass(session, threads, SpreadCpus(session.cpu, threads), chosen[threads]);
  for (const int threads : counts) AddLaunchStep(session, threads);
}

void RunSteps(Session& session, const MeasureOptions& options) {
  const double begin = WallSeconds();
  const int steps = static_cast<int>(session.steps.size());
  const double nominal = session.effort.NominalSeconds();
  const auto report = [&](int step, const std::string& text) {
    if (!options.progress) return;
    const double elapsed = WallSeconds() - begin;
    const double per_step = step == 0 ? nominal : elapsed / step;
    options.progress({step, steps, text, per_step * (steps - step)});
  };
  for (int i = 0; i < steps; ++i) {
    const auto& step = session.steps[static_cast<std::size_t>(i)];
    report(i, step.text);
    const double left = session.effort.budget_seconds - (WallSeconds() - begin);
    step.run(Allowance(left, steps - i, nominal));
  }
  report(steps, "done");
}

std::string UtcNow() {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
}

}  // namespace

double Allowance(double budget_left, int steps_left, double nominal) {
  const double spare = budget_left - 1.25 * nominal * (steps_left - 1);
  return std::clamp(spare, 1.25 * nominal, 10 * nominal);
}

Ceiling CeilingFrom(const Rate& rate, double work_per_iteration, int threads,
                    const std::string& how) {
  Ceiling ceiling;
  ceiling.per_second = rate.per_second * work_per_iteration;
  if (rate.ci95)
    ceiling.ci95 = {rate.ci95->first * work_per_iteration, rate.ci95->second * work_per_iteration};
  ceiling.threads = threads;
  ceiling.how =
      rate.clean > 0
          ? fmt::format("{}; best of {} clean repetitions ({} made)", how, rate.clean, rate.total)
          : fmt::format("{}; best of {} disturbed repetitions", how, rate.total);
  if (!rate.waits_known) ceiling.how += "; waits for a CPU are not readable here";
  ceiling.proved = rate.proved;
  ceiling.reason = rate.reason;
  return ceiling;
}

void AddPlainPipes(std::map<std::string, Ceiling>& flops) {
  std::map<std::string, std::pair<std::string, int>> best;  // plain key -> best row, rows
  for (const auto& [key, ceiling] : flops) {
    const auto unit = key.find('.');
    const auto finer = key.find('.', unit + 1);
    if (unit == std::string::npos || finer == std::string::npos) continue;
    auto& [row, rows] = best[key.substr(0, finer)];
    ++rows;
    if (row.empty() || ceiling.per_second > flops.at(row).per_second) row = key;
  }
  for (const auto& [plain, choice] : best) {
    auto ceiling = flops.at(choice.first);
    ceiling.how =
        fmt::format("{}, the best of {} rows: {}", choice.first, choice.second, ceiling.how);
    flops[plain] = ceiling;
  }
}

Ceiling BestMix(const MeasuredMixes& mixes) {
  if (mixes.empty()) throw std::invalid_argument("the best of no mixes");
  const auto best = std::max_element(mixes.begin(), mixes.end(), [](auto& a, auto& b) {
    return a.second.per_second < b.second.per_second;
  });
  Ceiling ceiling = best->second;
  std::vector<std::string> tried;
  for (const auto& [name, each] : mixes)
    tried.push_back(fmt::format("{} {:.4g} GB/s", name, each.per_second / 1e9));
  ceiling.how += fmt::format("; the best of {}", fmt::join(tried, ", "));
  return ceiling;
}

std::vector<int> ThreadCounts(const Cpu& cpu, const std::vector<int>& wanted) {
  const int most = static_cast<int>(cpu.allowed.size());
  std::set<int> counts(wanted.begin(), wanted.end());
  if (counts.empty()) counts = {1, most};
  for (const int count : counts)
    if (count < 1 || count > most)
      throw BadInput(fmt::format(
          "ceilings of {} threads cannot be measured: this process may use {} CPUs, and each "
          "thread needs its own",
          count, most));
  return {counts.begin(), counts.end()};
}

Machine DescribeCpu(const Cpu& cpu) {
  Machine machine;
  machine.device = "cpu";
  machine.name = cpu.name;
  machine.facts = Facts(cpu);
  machine.fingerprint = Fingerprint(machine.facts);
  for (const Level level : {Level::kL1, Level::kL2, Level::kL3})
    if (!cpu.allowed.empty())
      if (const auto share = ShareOf(cpu.topology, level, {cpu.allowed.front()}))
        machine.cache_bytes[level] = share->bytes;
  if (cpu.memory_bytes)
    machine.facts["memory"] = fmt::format("{:.1f} GiB", *cpu.memory_bytes / (1024.0 * 1024 * 1024));
  machine.facts["allowed_cpus"] = std::to_string(cpu.allowed.size());
  return machine;
}

Machine MeasureCpu(const MeasureOptions& options) {
  Session session{ThisCpu(), options.quick ? kQuick : kFull, {}, {}, nullptr, {}};
  const auto counts = ThreadCounts(session.cpu, options.threads);
  session.machine = DescribeCpu(session.cpu);
  AddSteps(session, counts);
  RunSteps(session, options);
  Finish(session);
  session.machine.measured_at = UtcNow();
  return session.machine;
}

}  // namespace dlroof
