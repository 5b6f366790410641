#include "ceilings/cpu_ceilings/measure.h"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <algorithm>

#include "ceilings/cpu_ceilings/curves.h"
#include "ceilings/cpu_ceilings/measure_steps.h"
#include "counters/base/error.h"
#include "counters/base/keys.h"
#include "counters/cpu/clocks.h"

namespace dlroof::cpu_ceilings {
namespace {

// Repetitions are shorter than a scheduler's time slice: on a busy machine longer ones are noisy.
constexpr Effort kFull = {{"full", 3e-3, 16, 6, 3, 1}, 35, 6};
constexpr Effort kQuick = {{"quick", 1.5e-3, 6, 3, 3, 0}, 6, 1};
// kRoofs has as many repetitions as it takes to validate a roof on a quiet machine.
constexpr Effort kRoofs = {{"roofs", 3e-3, 8, 4, 3, 0}, 12, 2, true};
constexpr double kMaxRoofsSeconds = 20;  // [s] then kRoofs skips rows, but no overheads
// A visit measures few rows, mostly those that earlier visits did not validate: each may take long.
constexpr Effort kVisit = {{"", 3e-3, 8, 4, 1, 0}, 8, 0, true, 30};
constexpr Effort kThorough = {{"thorough", 5e-3, 30, 12, 5, 100}, 240, 60};

constexpr const char* kOverheads = "overheads";  // passed to Wants() in place of a row's key

void AddPass(MeasureSession& session, int threads, int pass) {
  const auto begin = session.steps.size();
  AddFlopsSteps(session, threads, pass);
  AddBytesSteps(session, threads, pass);
  // The first step of a pass creates new threads, a later step only if there are none.
  for (auto i = begin; i < session.steps.size(); ++i) {
    auto& run = session.steps[i].run;
    run = [&session, cpus = cpu::SpreadCpus(session.cpu, threads), inner = run,
           first = i == begin](double max_seconds) {
      if (first) session.bench.reset();  // frees its memory before the next bench allocates
      if (!session.bench) session.bench = std::make_unique<CpuBench>(cpus);
      inner(max_seconds);
    };
  }
}

void AddSteps(MeasureSession& session, const std::vector<int>& counts) {
  for (const int threads : counts) {
    auto& sets = session.sets[threads];
    sets = ChooseWorkingSets(session.cpu.topology, cpu::SpreadCpus(session.cpu, threads),
                             cpu::AvailableMemoryBytes());
    auto& ceilings = session.machine.by_threads[threads];
    for (const auto& [level, reason] : sets.absent)
      ceilings.absent[std::string(Key(level))] = reason;
    ceilings.effort = session.effort.name;
  }
  for (int pass = 0; pass < session.effort.passes; ++pass)
    for (const int threads : counts) AddPass(session, threads, pass);
  if (session.Wants(counts.front(), kOverheads))
    for (const int threads : counts) AddOverheadSteps(session, threads);
}

void Finish(MeasureSession& session) {
  FinishFlops(session);
  FinishBytes(session);
  machine::AddScaling(session.machine, cpu::UsableCores(session.cpu));
  machine::CompareThreadCounts(session.machine);
  for (auto& [threads, set] : session.machine.by_threads) {
    machine::AddPipeRoofs(set.flops);
    CompareRidges(set);
  }
}

// Sets time, rate and verdict of the visit that this measurement added to each row.
void StampVisits(machine::Machine& machine) {
  const auto stamp = [&](machine::Ceiling& ceiling) {
    if (ceiling.visits.empty()) return;
    auto& visit = ceiling.visits.back();
    visit.at = machine.measured_at;
    visit.validated = ceiling.IsValidated();
    visit.per_second = ceiling.per_second;
  };
  for (auto& [threads, set] : machine.by_threads) {
    for (auto& [key, ceiling] : set.flops) stamp(ceiling);
    for (auto& [key, ceiling] : set.mixes) stamp(ceiling);
    for (auto& [level, ceiling] : set.bytes) stamp(ceiling);
  }
}

void Select(const MeasureOptions& options, MeasureSession& session) {
  if (!options.rows.empty())
    session.wanted = [rows = options.rows](int threads, const std::string& row) {
      const auto* const of_team = FindValue(rows, threads);
      return of_team != nullptr && of_team->contains(row);
    };
  else if (!options.pipes.empty())
    session.wanted = [pipes = options.pipes](int, const std::string& row) {
      const auto pipe = machine::PlainPipe(row);
      return pipe.find('.') == std::string::npos || LevelFromKey(row.substr(0, row.find('.'))) ||
             pipes.contains(pipe);
    };
}

// Updates the best issue rate of a core and the best state of the team (clocks.h) so far. Runs
// before each step, because other programs come and go.
void SampleCores(MeasureSession& session, cpu::SharesOfBest& single) {
  if (!session.bench) return;
  single.OfLower({session.bench->IssueRate(), std::nullopt}, {});
  session.machine.issue_rate = single.Best().issue_rate;
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
  cpu::SharesOfBest single;
  for (int i = 0; i < steps; ++i) {
    const auto& step = session.steps[static_cast<std::size_t>(i)];
    if (session.effort.roofs_only && step.row && cpu::WallSeconds() - begin > kMaxRoofsSeconds)
      continue;
    report(i, step.text);
    SampleCores(session, single);
    const double left = session.effort.budget_seconds - (cpu::WallSeconds() - begin);
    TryStep(session, step, Allowance(left, steps - i, nominal, session.effort.longest_row));
  }
  report(steps, "done");
}

void RunLastSteps(MeasureSession& session, const MeasureOptions& options) {
  constexpr double kSeconds = 10;  // [s] of each step
  const int steps = static_cast<int>(session.last_steps.size());
  for (int i = 0; i < steps; ++i) {
    const auto& step = session.last_steps[static_cast<std::size_t>(i)];
    if (options.progress) options.progress({i, steps, step.text, kSeconds * (steps - i)});
    TryStep(session, step, kSeconds);
  }
  if (options.progress && steps > 0) options.progress({steps, steps, "done", 0});
}

Effort EffortOf(const MeasureOptions& options) {
  if (!options.rows.empty()) return kVisit;
  if (options.roofs_only) return kRoofs;
  if (options.thorough) return kThorough;
  return options.quick ? kQuick : kFull;
}

}  // namespace

double Allowance(double budget_left, int steps_left, double nominal, double longest) {
  const double spare = budget_left - 1.25 * nominal * (steps_left - 1);
  return std::clamp(spare, 1.25 * nominal, longest * nominal);
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
          "thread needs a CPU of its own",
          count, most);
  return {counts.begin(), counts.end()};
}

std::set<std::string> PipesOf(const cpu::Cpu& cpu) {
  std::set<std::string> pipes;
  for (const auto& probe : cpu_kernels::FlopsProbesFor(cpu.features))
    pipes.insert(machine::PlainPipe(probe.key));
  return pipes;
}

void AddRoofs(machine::Machine& machine, std::optional<int> cores) {
  machine::AddScaling(machine, cores);
  for (auto& [threads, set] : machine.by_threads) {
    machine::AddPipeRoofs(set.flops);
    machine::AddLevelRoofs(set);
    CompareRidges(set);
  }
  machine::CompareThreadCounts(machine);
}

machine::Machine DescribeCpu(const cpu::Cpu& cpu) {
  machine::Machine machine{.device = "cpu", .name = cpu.name, .facts = cpu::Facts(cpu)};
  machine.fingerprint = machine::Fingerprint(machine.facts);
  if (!cpu.allowed.empty()) machine.cache_bytes = ThreadShares(cpu.topology, {cpu.allowed.front()});
  if (cpu.memory_bytes)
    machine.facts["memory"] = fmt::format("{:.1f} GiB", *cpu.memory_bytes / (1024.0 * 1024 * 1024));
  utsname system{};
  if (uname(&system) == 0) machine.facts[kKernelFact] = system.release;
  if (const auto microcode = cpu::Microcode()) machine.facts[kMicrocodeFact] = *microcode;
  machine.facts["allowed_cpus"] = std::to_string(cpu.allowed.size());
  return machine;
}

machine::Machine MeasureCpu(const MeasureOptions& options) {
  MeasureSession session{cpu::ThisCpu(), EffortOf(options)};
  std::vector<int> wanted = options.threads;
  if (!options.rows.empty()) {
    wanted.clear();
    for (const auto& [threads, rows] : options.rows) wanted.push_back(threads);
  }
  const auto counts = ThreadCounts(session.cpu, wanted, options.thorough);
  Select(options, session);
  session.machine = DescribeCpu(session.cpu);
  AddSteps(session, counts);
  RunSteps(session, options);
  Finish(session);
  if (RemeasureNotValidated(session)) Finish(session);
  AddSustainedSteps(session);
  RunLastSteps(session, options);
  session.machine.measured_at = machine::NowUtc();
  StampVisits(session.machine);
  return session.machine;
}

namespace {

constexpr std::size_t kPointsPerStep = 4;
// Returns a policy with few repetitions, because the points of a curve are no roofs.
machine::RatePolicy PointPolicy(const MeasureSession& session, double max_seconds) {
  auto policy = session.effort.Policy(kMemoryTolerance);
  policy.repetition_seconds = std::min(policy.repetition_seconds, 2e-3);
  policy.repetitions = 4;
  policy.doubled = 1;
  policy.max_seconds = std::min(max_seconds, 20 * policy.repetition_seconds);
  return policy;
}

void SweepOver(MeasureSession& session, const std::vector<double>& sizes,
               const cpu_kernels::BytesIsa& isa, int threads, double max_seconds) {
  const auto policy = PointPolicy(session, max_seconds / static_cast<double>(sizes.size()));
  auto& bench = *session.bench;
  const double bytes_per_step = static_cast<double>(isa.step_floats * sizeof(float)) * threads;
  for (const double bytes : sizes) {
    bench.AllocateArrays(bytes, 1, isa.step_floats);
    session.machine.by_threads[threads].sweep.push_back(
        {static_cast<double>(bench.workspace(0).floats * sizeof(float)),
         bench.Measure(isa.load, policy).per_second * bytes_per_step});
  }
}

void AddSweep(MeasureSession& session, const cpu_kernels::BytesIsa& isa, int threads) {
  const auto sizes = SweepSizes(session.sets.at(threads).largest_bytes);
  for (std::size_t first = 0; first < sizes.size(); first += kPointsPerStep) {
    const auto last = std::min(sizes.size(), first + kPointsPerStep);
    const std::vector<double> some(sizes.begin() + static_cast<std::ptrdiff_t>(first),
                                   sizes.begin() + static_cast<std::ptrdiff_t>(last));
    session.steps.push_back({fmt::format("sweep to {}, {} threads", SizeText(some.back()), threads),
                             [&session, some, &isa, threads](double max_seconds) {
                               SweepOver(session, some, isa, threads, max_seconds);
                             },
                             threads});
  }
}

// Returns the intensity [flop/byte] at which the measured roofs meet, or 1 if one is missing.
double Knee(const MeasureSession& session, int threads, Level level) {
  const auto& rows = session.rows.at(threads);
  double compute = 0, bandwidth = 0;
  for (const auto& [key, row] : rows.flops)
    if (key.starts_with(kRidgePipe)) compute = std::max(compute, row.BestRate());
  for (const auto& [name, row] : rows.bytes.at(level))
    bandwidth = std::max(bandwidth, row.BestRate());
  return compute > 0 && bandwidth > 0 ? compute / bandwidth : 1;
}

void MeasureRidge(MeasureSession& session, Level level, const cpu_kernels::BytesIsa& isa,
                  int threads, double max_seconds) {
  const auto rows = RidgeRowsAround(isa.ridge, Knee(session, threads, level));
  const auto policy = PointPolicy(session, max_seconds / static_cast<double>(rows.size()));
  auto& bench = *session.bench;
  bench.AllocateArrays(session.sets.at(threads).sets.at(level).front().bytes, 1, isa.step_floats);
  // Sets the sums' start values to small numbers: an arithmetic kernel may have left large ones.
  for (int i = 0; i < threads; ++i) bench.workspace(i).accumulators.fill(std::byte{0x3f});
  for (const auto& row : rows) {
    const double flops_per_step =
        row.Intensity() * static_cast<double>(isa.step_floats * sizeof(float)) * threads;
    session.machine.by_threads[threads].ridges[level].push_back(
        {row.Intensity(), bench.Measure(row.kernel, policy).per_second * flops_per_step});
  }
}

}  // namespace

LevelEdges EdgesOf(const MeasureSession& session, int threads) {
  LevelEdges edges;
  edges.reported = ThreadShares(session.cpu.topology, cpu::SpreadCpus(session.cpu, threads));
  if (const auto* set = machine::ForThreads(session.machine, threads))
    edges.found = MatchEdges(FindCapacityEdges(set->sweep), edges.reported);
  return edges;
}

void AddCurveSteps(MeasureSession& session, int threads, int pass) {
  const auto& isa = *session.bytes_isas.front();
  if (pass == 0) AddSweep(session, isa, threads);
  if (pass != session.effort.passes - 1) return;
  for (const auto& [level, sets] : session.sets.at(threads).sets)
    session.steps.push_back({fmt::format("ridge of {}, {} threads", Key(level), threads),
                             [&session, level = level, &isa, threads](double max_seconds) {
                               MeasureRidge(session, level, isa, threads, max_seconds);
                             },
                             threads});
}

void FinishCurves(MeasureSession& session) {
  for (auto& [threads, set] : session.machine.by_threads) {
    if (set.sweep.empty()) continue;
    const auto edges = EdgesOf(session, threads);
    for (const auto& [level, bytes] : edges.reported)
      set.edges[std::string(Key(level))] = CompareEdge(edges, level);
  }
}

}  // namespace dlroof::cpu_ceilings
