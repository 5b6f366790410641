#include "ceilings/machine_file/machine_cache.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>
#include <thread>

#include "ceilings/cpu_ceilings/measure_steps.h"
#include "ceilings/cpu_ceilings/working_sets.h"
#include "ceilings/cpu_kernels/bytes.h"
#include "ceilings/cpu_kernels/flops.h"
#include "ceilings/machine/ceiling.h"
#include "ceilings/machine/visits.h"
#include "ceilings/machine_file/specified_machine.h"
#include "counters/base/error.h"
#include "counters/base/files.h"
#include "counters/cpu/team_look.h"

namespace dlroof::machine_file {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kMaxBytes = std::uintmax_t{64} << 20;  // a machine file has some 50 kB

constexpr const char* kRoofsEffort = "roofs";

// Returns true if there are ceilings for `threads`, not from a quick measurement unless `quick`.
bool HasCeilings(const machine::Machine& machine, int threads, bool quick) {
  const auto* set = machine::ForThreads(machine, threads);
  return set != nullptr && (quick || set->effort != "quick");
}

std::vector<int> Missing(const machine::Machine& machine, const std::vector<int>& threads,
                         bool quick) {
  std::vector<int> missing;
  for (const int count : threads)
    if (!HasCeilings(machine, count, quick)) missing.push_back(count);
  return missing;
}

// Returns `machine` with the CeilingSets and facts of `added`, which replace existing ones.
machine::Machine Merged(machine::Machine machine, const machine::Machine& added) {
  for (const auto& [threads, set] : added.by_threads) machine.by_threads[threads] = set;
  for (const auto& [key, text] : added.facts) machine.facts[key] = text;
  if (added.issue_rate) machine.issue_rate = added.issue_rate;
  machine.measured_at = added.measured_at;
  return machine;
}

void RefuseOtherMachine(const machine::Machine& machine, const machine::Machine& here,
                        const std::string& where) {
  if (machine.device != here.device)
    throw BadInput("{}: \"device\" is \"{}\"; expected \"{}\"", where, machine.device, here.device);
  if (!IsSpecified(machine) && machine.fingerprint != here.fingerprint)
    throw BadInput(
        "{}: the ceilings are of another machine ({}, fingerprint {}); this machine is {}, "
        "fingerprint {}",
        where, machine.name, machine.fingerprint, here.name, here.fingerprint);
}

// Returns the cached ceilings, if they exist and can be used; otherwise writes why not to `log`.
std::optional<machine::Machine> FromCache(const MachineSource& source, std::ostream& log) {
  if (!source.directory) return std::nullopt;
  const auto path = CachePath(*source.directory, source.described);
  std::error_code error;
  if (!fs::exists(path, error)) return std::nullopt;
  try {
    auto machine = ReadMachineFile(path);
    RefuseOtherMachine(machine, source.described, path.string());
    return machine;
  } catch (const BadInput& refusal) {
    log << "The cached ceilings cannot be used and are measured again: " << refusal.what() << '\n';
    return std::nullopt;
  }
}

void ToCache(const MachineSource& source, const machine::Machine& machine, std::ostream& log) {
  if (!source.directory) {
    log << "The ceilings are not cached: neither XDG_CACHE_HOME nor HOME is an absolute path.\n";
    return;
  }
  try {
    std::error_code error;
    fs::create_directories(*source.directory, error);
    WriteMachineFile(machine, CachePath(*source.directory, source.described));
  } catch (const BadInput& refusal) {
    log << "The ceilings are not cached for the next run: " << refusal.what() << '\n';
  }
}

machine::Machine MeasureAndLog(const MachineSource& source, bool quick,
                               const std::vector<int>& threads, std::ostream& log) {
  log << fmt::format("Measuring the ceilings of {} for {} threads{}.\n", source.described.name,
                     fmt::join(threads, " and "), quick ? ", quickly" : "");
  return source.measure(quick, threads);
}

// Measures two ceilings again. Returns false if they contradict. Writes facts["live_check"].
bool PassesLiveCheck(const MachineSource& source, const MachineOptions& options,
                     machine::Machine& machine, std::ostream& log) {
  if (!options.live_check || !source.spot_check) return true;
  bool passes = true;
  std::vector<std::string> sentences;
  for (const auto& check : source.spot_check(machine)) {
    sentences.push_back(Sentence(check));
    const auto verdict = Judge(check);
    if (verdict != SpotVerdict::kAgrees) log << sentences.back() << ".\n";
    if (verdict == SpotVerdict::kFaster || verdict == SpotVerdict::kSlower) passes = false;
  }
  if (!sentences.empty())
    machine.facts["live_check"] = fmt::format("{}", fmt::join(sentences, "; "));
  return passes;
}

// Returns the number of usable cores, or nothing if the system does not report it.
std::optional<int> KnownCores(const cpu::Cpu& cpu) {
  const int cores = cpu::UsableCores(cpu);
  return cores > 0 ? std::optional(cores) : std::nullopt;
}

// Compares the CeilingSets of different measurements as MeasureCpu compares its own.
void CrossCheck(std::optional<int> cores, machine::Machine& machine) {
  machine::AddScaling(machine, cores);
  machine::CompareThreadCounts(machine);
  for (auto& [threads, set] : machine.by_threads) cpu_ceilings::AddPlainPipes(set.flops);
}

machine::Machine FromFile(const MachineSource& source, const MachineOptions& options,
                          std::ostream& log) {
  if (options.remeasure || options.thorough)
    throw BadInput("{}: a machine file cannot be used together with a new measurement",
                   options.file);
  auto machine = ReadMachineFile(options.file);
  RefuseOtherMachine(machine, source.described, options.file);
  if (IsSpecified(machine)) {
    log << fmt::format("{}: the roofs of {} are specified, not measured here.\n", options.file,
                       machine.name);
    return machine;
  }
  if (!PassesLiveCheck(source, options, machine, log))
    log << options.file << ": its ceilings are used nevertheless, because the file was named.\n";
  const auto missing = Missing(machine, source.threads, true);
  if (missing.empty()) return machine;
  machine = Merged(machine, MeasureAndLog(source, options.quick, missing, log));
  machine::CompareThreadCounts(machine);  // not AddScaling: it changes the file's numbers
  return machine;
}

void Store(const MachineSource& source, const machine::Machine& machine, std::ostream& log) {
  auto stored = machine;
  stored.facts.erase("live_check");  // it describes this run only
  ToCache(source, stored, log);
}

machine::Machine FromCacheOrMeasured(const MachineSource& source, const MachineOptions& options,
                                     std::ostream& log) {
  const bool anew = options.remeasure || options.thorough;
  auto cached = FromCache(source, log);
  auto missing = anew || !cached ? source.threads : Missing(*cached, source.threads, options.quick);
  if (cached && anew) cached->issue_rate.reset();
  if (cached)
    for (const int threads : missing) cached->by_threads.erase(threads);
  bool joined = cached && !cached->by_threads.empty();  // cached and new sets are combined
  if (joined && !anew && !PassesLiveCheck(source, options, *cached, log)) {
    cached.reset();  // the machine has changed
    missing = source.threads;
    joined = false;
  }
  if (missing.empty()) return *cached;
  auto machine = MeasureAndLog(source, options.quick, missing, log);
  if (cached) machine = Merged(*cached, machine);
  if (joined) CrossCheck(source.cores, machine);
  if (machine.facts.contains("ended_early")) {
    log << "The measurement was ended early: its ceilings are not cached for the next run.\n";
    return machine;
  }
  Store(source, machine, log);
  return machine;
}

// ---- machines whose measurements join ----

// Returns whether the system's parts that may change rates are those of `machine`.
bool SameSystem(const machine::Machine& machine, const machine::Machine& here) {
  return std::ranges::all_of(
      std::array{cpu_ceilings::kKernelFact, cpu_ceilings::kMicrocodeFact}, [&](const char* fact) {
        const auto then = machine.facts.find(fact), now = here.facts.find(fact);
        return then == machine.facts.end() || now == here.facts.end() ||
               then->second == now->second;
      });
}

// Returns the machine with the evidence of both measurements.
machine::Machine Joined(std::optional<machine::Machine> stored, const machine::Machine& now,
                        std::optional<int> cores) {
  if (!stored) return now;
  auto machine = std::move(*stored);
  for (const auto& [threads, set] : now.by_threads) {
    const auto known = machine.by_threads.find(threads);
    if (known == machine.by_threads.end())
      machine.by_threads[threads] = set;
    else
      known->second = machine::Learned(known->second, set);
  }
  for (const auto& [key, text] : now.facts) machine.facts[key] = text;
  // The last measurement and not the largest: one reading that is too high would stay for ever.
  if (now.issue_rate) machine.issue_rate = now.issue_rate;
  machine.measured_at = now.measured_at;
  cpu_ceilings::AddRoofs(machine, cores);
  return machine;
}

// Returns whether the set has all that the options ask for.
bool Covers(const machine::CeilingSet* set, const MachineOptions& options,
            const std::set<std::string>& pipes) {
  if (set == nullptr) return false;
  if (set->effort == "quick") return options.quick;
  if (set->effort != kRoofsEffort) return true;
  return options.needs && std::ranges::all_of(pipes, [&](const std::string& pipe) {
           return set->flops.contains(pipe);
         });
}

// Returns the pipes that the run needs and the machine has.
std::set<std::string> NeededPipes(const MachineSource& source, const MachineOptions& options) {
  if (!options.needs || options.needs->empty()) return source.pipes;
  std::set<std::string> pipes;
  std::ranges::set_intersection(source.pipes, *options.needs, std::inserter(pipes, pipes.end()));
  return pipes;
}

// Returns the ceiling of the row (key of CeilingSet::flops or ::mixes), or null.
const machine::Ceiling* RowOf(const machine::Machine& machine, int threads,
                              const std::string& row) {
  const auto* set = machine::ForThreads(machine, threads);
  if (set == nullptr) return nullptr;
  for (const auto* rows : {&set->flops, &set->mixes})
    if (const auto found = rows->find(row); found != rows->end()) return &found->second;
  return nullptr;
}

SpotCheck CheckOf(const std::string& row, int threads, const machine::Ceiling& stored,
                  const machine::Ceiling& now) {
  const bool memory = LevelFromKey(row.substr(0, row.find('.'))).has_value();
  return {.row = fmt::format("{} with {} threads", row, threads),
          .stored = stored,
          .per_second = now.per_second,
          .clean = !now.visits.empty() && now.visits.back().clean > 0,
          .tolerance = memory ? cpu_ceilings::kPassTolerance : machine::kArithmeticAgreement,
          .drift = memory ? AllowedDrift(stored) : 0};
}

// Makes another visit and joins it. Writes facts["live_check"]. Returns whether a validated ceiling
// was exceeded.
bool VisitAgain(const MachineSource& source, const RowsByThreads& rows, machine::Machine& machine,
                std::ostream& log) {
  const auto now = source.visit(rows);
  bool exceeded = false;
  std::vector<std::string> sentences;
  for (const auto& [threads, keys] : rows)
    for (const auto& row : keys) {
      const auto *stored = RowOf(machine, threads, row), *seen = RowOf(now, threads, row);
      if (stored == nullptr || seen == nullptr || !stored->IsValidated()) continue;
      const auto check = CheckOf(row, threads, *stored, *seen);
      sentences.push_back(Sentence(check));
      const auto verdict = Judge(check);
      if (verdict == SpotVerdict::kFaster || verdict == SpotVerdict::kSlower)
        log << sentences.back() << ".\n";
      exceeded = exceeded || (verdict == SpotVerdict::kFaster && check.clean);
    }
  machine = Joined(std::move(machine), now, source.cores);
  if (!sentences.empty())
    machine.facts["live_check"] = fmt::format("{}", fmt::join(sentences, "; "));
  return exceeded;
}

machine::Machine LearnedMachine(const MachineSource& source, const MachineOptions& options,
                                std::ostream& log) {
  auto cached = FromCache(source, log);
  if (cached && !SameSystem(*cached, source.described)) {
    log << "Kernel or microcode have changed: the ceilings are measured again.\n";
    cached.reset();
  }
  const bool anew = options.remeasure || options.thorough;
  const auto pipes = NeededPipes(source, options);
  std::vector<int> missing;
  for (const int threads : source.threads)
    if (anew || !cached || !Covers(machine::ForThreads(*cached, threads), options, pipes))
      missing.push_back(threads);
  bool changed = false;
  if (cached && missing.empty() && options.live_check && source.visit) {
    const auto rows = RowsToVisit(*cached, source.threads, pipes);
    changed = !rows.empty();
    // What held one roof down may have held down all that were measured with it.
    if (changed && VisitAgain(source, rows, *cached, log))
      VisitAgain(source,
                 RowsOfRoofs(*cached, source.threads, pipes, [](const auto&) { return true; }),
                 *cached, log);
  }
  if (!missing.empty()) {
    const bool roofs = options.needs && !anew;
    log << fmt::format("Measuring the ceilings of {} for {} threads{}.\n", source.described.name,
                       fmt::join(missing, " and "),
                       options.quick ? ", quickly"
                       : roofs       ? ": the roofs that this run needs"
                                     : "");
    cached = Joined(
        std::move(cached),
        roofs ? source.measure_roofs(missing, pipes) : source.measure(options.quick, missing),
        source.cores);
    changed = true;
  }
  if (changed) Store(source, *cached, log);
  return *cached;
}

// ---- the live check ----

constexpr int kAttempts = 3;
constexpr double kPauseSeconds = 0.1;
// Few repetitions are enough, because only the best one is used.
constexpr cpu_ceilings::Effort kSpotEffort = {"spot check", 0.1, 3e-3, 12, 2, 1, 0, 0};

// Returns false if another program uses the core of the first thread.
bool HasItsCore(cpu_ceilings::CpuBench& bench, const machine::Machine& machine) {
  if (!machine.issue_rate) return true;
  const auto rate = bench.IssueRate();
  return !rate || *rate >= cpu::kMinCoreShare * *machine.issue_rate;
}

// Measures the kernel up to kAttempts times on all threads and writes the best rate to `check`.
void MeasureAgain(SpotCheck& check, double work_per_iteration, cpu_kernels::Kernel kernel,
                  const machine::Machine& machine, cpu_ceilings::CpuBench& bench) {
  auto policy = kSpotEffort.Policy(check.tolerance);
  policy.max_seconds = kSpotEffort.budget_seconds;
  for (int i = 0; i < kAttempts; ++i) {
    if (i > 0) std::this_thread::sleep_for(std::chrono::duration<double>(kPauseSeconds));
    const bool before = HasItsCore(bench, machine);
    const auto rate = bench.Measure(kernel, policy);
    check.clean = check.clean || (rate.clean > 0 && before && HasItsCore(bench, machine));
    check.per_second = std::max(check.per_second, rate.per_second * work_per_iteration);
    if (Judge(check) == SpotVerdict::kAgrees) return;
  }
}

// Returns the kernel of the fp32 row with the highest stored rate, if this program has one.
std::optional<cpu_kernels::FlopsProbe> FastestFp32(const cpu::Cpu& cpu,
                                                   const machine::CeilingSet& set) {
  std::optional<cpu_kernels::FlopsProbe> fastest;
  double highest = 0;
  for (const auto& probe : cpu_kernels::FlopsProbesFor(cpu.features)) {
    const auto stored = set.flops.find(probe.key);
    if (!probe.key.starts_with("fp32.vector.") || stored == set.flops.end() ||
        stored->second.per_second <= highest)
      continue;
    highest = stored->second.per_second;
    fastest = probe;
  }
  return fastest;
}

}  // namespace

machine::Machine ReadMachineFile(const fs::path& path) {
  std::error_code error;
  if (!fs::exists(path, error)) {
    if (const auto gpu = KnownGpu(path.string())) return *gpu;
    throw BadInput(fmt::format("{}: no such file; expected a machine file, or a known GPU: {}",
                               path.string(), fmt::join(KnownGpuNames(), ", ")));
  }
  auto text = ReadFile(path, "a machine file", kMaxBytes);
  if (text.find_first_not_of(" \t\r\n") == std::string::npos)
    throw BadInput("{}: the file is empty; expected a machine file", path.string());
  const LocatedJson file(std::move(text), path.string());
  if (IsSpecifiedMachine(file.value())) return SpecifiedMachine(file);
  return machine::MachineFromJson(file.value(), path.string());
}

void WriteMachineFile(const machine::Machine& machine, const fs::path& path) {
  const auto text = [](const auto& json) {
    return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + '\n';
  };
  WriteFile(path,
            IsSpecified(machine) ? text(SpecifiedToJson(machine)) : text(machine::ToJson(machine)));
}

fs::path CachePath(const fs::path& directory, const machine::Machine& machine) {
  return directory / fmt::format("machine-{}-{}.json", machine.device, machine.fingerprint);
}

std::optional<std::string> NotValidatedWarning(const machine::Machine& machine) {
  int ceilings = 0;
  std::vector<std::string> not_validated;
  const auto add = [&](std::string_view key, int threads, const machine::Ceiling& ceiling) {
    ++ceilings;
    if (!ceiling.AllowsPercentages())
      not_validated.push_back(fmt::format("{} ({} threads)", key, threads));
  };
  for (const auto& [threads, set] : machine.by_threads) {
    for (const auto& [pipe, ceiling] : set.flops) add(pipe, threads, ceiling);
    for (const auto& [level, ceiling] : set.bytes) add(Key(level), threads, ceiling);
  }
  if (not_validated.empty()) return std::nullopt;
  return fmt::format(
      "{} of {} ceilings are not validated, among them {}; measure again (--remeasure) when the "
      "machine is quiet.\n",
      not_validated.size(), ceilings, not_validated.front());
}

machine::Machine CachedOrMeasured(const MachineSource& source, const MachineOptions& options,
                                  std::ostream& log) {
  if (!options.file.empty()) return FromFile(source, options, log);
  return source.Learns() ? LearnedMachine(source, options, log)
                         : FromCacheOrMeasured(source, options, log);
}

machine::Machine CachedOrMeasuredCpu(const MachineOptions& options, std::ostream& log) {
  const cpu::Cpu cpu = cpu::ThisCpu();
  const MachineSource source = {
      cpu_ceilings::DescribeCpu(cpu),
      cpu_ceilings::ThreadCounts(cpu, options.threads, options.thorough),
      CacheDirectory(),
      [&](bool quick, const std::vector<int>& threads) {
        return cpu_ceilings::MeasureCpu({.quick = quick,
                                         .thorough = options.thorough,
                                         .threads = threads,
                                         .progress = options.progress});
      },
      [&](const machine::Machine& machine) { return SpotCheckCpu(cpu, machine); },
      KnownCores(cpu),
      [&](const std::vector<int>& threads, const std::set<std::string>& pipes) {
        return cpu_ceilings::MeasureCpu(
            {.threads = threads, .roofs_only = true, .pipes = pipes, .progress = options.progress});
      },
      [&](const RowsByThreads& rows) { return cpu_ceilings::MeasureCpu({.rows = rows}); },
      cpu_ceilings::PipesOf(cpu)};
  return CachedOrMeasured(source, options, log);
}

RowsByThreads RowsOfRoofs(const machine::Machine& machine, const std::vector<int>& threads,
                          const std::set<std::string>& pipes,
                          const std::function<bool(const machine::Ceiling& roof)>& wanted) {
  RowsByThreads rows;
  for (const int count : threads) {
    const auto* set = machine::ForThreads(machine, count);
    if (set == nullptr) continue;
    for (const auto& [level, roof] : set->bytes)
      if (!roof.mix.empty() && wanted(roof))
        rows[count].insert(fmt::format("{}.{}", Key(level), roof.mix));
    for (const auto& [key, row] : set->flops) {
      const auto plain = cpu_kernels::PlainPipe(key);
      const auto roof = set->flops.find(plain);
      if (plain != key && pipes.contains(plain) && roof != set->flops.end() &&
          wanted(roof->second) && row.per_second == roof->second.per_second)
        rows[count].insert(key);
    }
  }
  return rows;
}

RowsByThreads RowsToVisit(const machine::Machine& machine, const std::vector<int>& threads,
                          const std::set<std::string>& pipes) {
  auto rows = RowsOfRoofs(machine, threads, pipes,
                          [](const machine::Ceiling& roof) { return !roof.IsValidated(); });
  int most = 0;
  for (const int count : threads)
    if (machine::ForThreads(machine, count) != nullptr) most = std::max(most, count);
  if (most == 0) return rows;
  const auto& set = *machine::ForThreads(machine, most);
  const machine::CeilingRow* fastest = nullptr;
  for (const auto& row : set.flops)
    if (row.first.starts_with("fp32.vector.") &&
        (fastest == nullptr || row.second.per_second > fastest->second.per_second))
      fastest = &row;
  if (fastest != nullptr) rows[most].insert(fastest->first);
  for (const auto& [key, row] : set.mixes)
    if (key.starts_with("dram.load.") && key.find('.', sizeof "dram.load.") == std::string::npos) {
      rows[most].insert(key);
      break;
    }
  return rows;
}

SpotVerdict Judge(const SpotCheck& check) {
  const auto& stored = check.stored;
  if (check.per_second > stored.per_second * (1 + check.tolerance)) return SpotVerdict::kFaster;
  const double lower =
      stored.ci95 ? std::min(stored.ci95->first, stored.per_second) : stored.per_second;
  if (check.per_second >= lower * (1 - std::max(check.tolerance, check.drift)))
    return SpotVerdict::kAgrees;
  return check.clean ? SpotVerdict::kSlower : SpotVerdict::kUnknown;
}

double AllowedDrift(const machine::Ceiling& stored) {
  const auto& validation = stored.validation;
  return std::min(1.0 / 3, std::max(validation.drift.value_or(0), validation.spread.value_or(0)));
}

std::string Sentence(const SpotCheck& check) {
  constexpr const char* kVerdicts[] = {"agrees", "faster: the stored ceiling is too low",
                                       "slower: the machine is slower than when it was measured",
                                       "unknown: other programs used the CPUs or their cores"};
  return fmt::format("{}: now {:.4g} G/s, stored {:.4g} G/s: {}", check.row, check.per_second / 1e9,
                     check.stored.per_second / 1e9,
                     kVerdicts[static_cast<std::size_t>(Judge(check))]);
}

std::vector<SpotCheck> SpotCheckCpu(const cpu::Cpu& cpu, const machine::Machine& machine) {
  std::vector<SpotCheck> checks;
  // Now the process may be allowed fewer CPUs than when the ceilings were measured.
  const auto more = machine.by_threads.upper_bound(static_cast<int>(cpu.allowed.size()));
  if (more == machine.by_threads.begin()) return checks;
  const int threads = std::prev(more)->first;
  const machine::CeilingSet& set = std::prev(more)->second;
  const auto cpus = cpu::SpreadCpus(cpu, threads);
  cpu_ceilings::CpuBench bench(cpus);
  if (const auto probe = FastestFp32(cpu, set)) {
    SpotCheck check{.row = fmt::format("{} with {} threads", probe->key, threads),
                    .stored = set.flops.at(probe->key),
                    .tolerance = cpu_ceilings::kArithmeticTolerance};
    for (int i = 0; i < threads; ++i) cpu_kernels::FillOperands(*probe, bench.workspace(i));
    MeasureAgain(check, cpu_kernels::FlopsPerIteration(*probe) * threads, probe->kernel, machine,
                 bench);
    checks.push_back(check);
  }
  const auto& isa = *cpu_kernels::BytesIsasFor(cpu.features).front();
  const auto row = fmt::format("dram.load.{}", isa.name);
  const auto sets =
      cpu_ceilings::ChooseWorkingSets(cpu.topology, cpus, cpu::AvailableMemoryBytes());
  if (const auto stored = set.mixes.find(row);
      stored != set.mixes.end() && sets.sets.contains(Level::kDram)) {
    SpotCheck check{.row = fmt::format("{} with {} threads", row, threads),
                    .stored = stored->second,
                    .tolerance = cpu_ceilings::kPassTolerance,
                    .drift = AllowedDrift(stored->second)};
    bench.AllocateArrays(sets.sets.at(Level::kDram).front().bytes, 1, isa.step_floats);
    MeasureAgain(check, static_cast<double>(isa.step_floats * sizeof(float)) * threads, isa.load,
                 machine, bench);
    checks.push_back(check);
  }
  return checks;
}

}  // namespace dlroof::machine_file
