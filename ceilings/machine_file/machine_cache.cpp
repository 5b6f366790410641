#include "ceilings/machine_file/machine_cache.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
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
#include "ceilings/machine_file/specified_machine.h"
#include "counters/base/error.h"
#include "counters/base/files.h"
#include "counters/cpu/team_look.h"

namespace dlroof::machine_file {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kMostBytes = std::uintmax_t{64} << 20;  // a machine file has some 50 kB

// Returns whether the machine has usable ceilings of that thread count. Quickly measured ones are
// usable only if `quick` is set.
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

// The sets of `added` replace those of the same thread counts.
machine::Machine Merged(machine::Machine machine, const machine::Machine& added) {
  for (const auto& [threads, set] : added.by_threads) machine.by_threads[threads] = set;
  for (const auto& [key, text] : added.facts) machine.facts[key] = text;
  if (added.issue_rate)
    machine.issue_rate =
        std::max(machine.issue_rate.value_or(*added.issue_rate), *added.issue_rate);
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

// Returns the cached ceilings, if there are any. `log` gets a sentence if they cannot be used.
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

// Returns false if a spot check contradicts the ceilings. Writes facts["live_check"].
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

// Returns nothing if the system does not report its cores.
std::optional<int> KnownCores(const cpu::Cpu& cpu) {
  const int cores = cpu::UsableCores(cpu);
  return cores > 0 ? std::optional(cores) : std::nullopt;
}

// Compares sets of different measurements as the sets of one measurement are compared.
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
  machine::CompareThreadCounts(machine);  // AddScaling would change the file's own numbers
  return machine;
}

machine::Machine FromCacheOrMeasured(const MachineSource& source, const MachineOptions& options,
                                     std::ostream& log) {
  const bool anew = options.remeasure || options.thorough;
  auto cached = FromCache(source, log);
  auto missing = anew || !cached ? source.threads : Missing(*cached, source.threads, options.quick);
  if (cached && anew) cached->issue_rate.reset();
  if (cached)
    for (const int threads : missing) cached->by_threads.erase(threads);
  bool joined = cached && !cached->by_threads.empty();  // cached sets beside those measured now
  if (joined && !anew && !PassesLiveCheck(source, options, *cached, log)) {
    cached.reset();  // no cached set is right any more
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
  auto stored = machine;
  stored.facts.erase("live_check");  // it belongs to this run alone
  ToCache(source, stored, log);
  return machine;
}

// ---- the live check ----

constexpr int kAttempts = 3;
constexpr double kPauseSeconds = 0.1;
// A few repetitions are enough, because only the best one counts.
constexpr cpu_ceilings::Effort kSpotEffort = {"spot check", 0.1, 3e-3, 12, 2, 1, 0, 0};

// Returns false if another program uses the first thread's core.
bool HasItsCore(cpu_ceilings::CpuBench& bench, const machine::Machine& machine) {
  if (!machine.issue_rate) return true;
  const auto rate = bench.IssueRate();
  return !rate || *rate >= cpu::kLeastCoreShare * *machine.issue_rate;
}

// Measures up to kAttempts times, on all threads of `bench`.
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

// Returns the fp32 row with the highest stored rate among those that this program has.
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
  auto text = ReadFile(path, "a machine file", kMostBytes);
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
  return options.file.empty() ? FromCacheOrMeasured(source, options, log)
                              : FromFile(source, options, log);
}

machine::Machine CachedOrMeasuredCpu(const MachineOptions& options, std::ostream& log) {
  const cpu::Cpu cpu = cpu::ThisCpu();
  const MachineSource source = {
      cpu_ceilings::DescribeCpu(cpu),
      cpu_ceilings::ThreadCounts(cpu, options.threads, options.thorough),
      CacheDirectory(),
      [&](bool quick, const std::vector<int>& threads) {
        return cpu_ceilings::MeasureCpu({quick, options.thorough, threads, options.progress});
      },
      [&](const machine::Machine& machine) { return SpotCheckCpu(cpu, machine); },
      KnownCores(cpu)};
  return CachedOrMeasured(source, options, log);
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
  // The process may be allowed fewer CPUs than when the ceilings were measured.
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
