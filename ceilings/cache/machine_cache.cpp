#include "ceilings/cache/machine_cache.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <system_error>

#include "ceilings/cache/given_machine.h"
#include "ceilings/cpu/measure_steps.h"
#include "ceilings/machine/agreement.h"
#include "counters/base/error.h"
#include "counters/base/files.h"

namespace dlroof::machine_file {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kMostBytes = std::uintmax_t{64} << 20;  // a machine file has some 50 kB

// Returns true where the machine has ceilings of that thread count. Those of a quick measurement
// serve only where a quick one is asked for.
bool Serves(const machine::Machine& machine, int threads, bool quick) {
  const auto* set = machine::ForThreads(machine, threads);
  return set != nullptr && (quick || set->effort != "quick");
}

std::vector<int> Missing(const machine::Machine& machine, const std::vector<int>& threads, bool quick) {
  std::vector<int> missing;
  for (const int count : threads)
    if (!Serves(machine, count, quick)) missing.push_back(count);
  return missing;
}

// `added` replaces what `machine` has for the same thread counts.
machine::Machine Merged(machine::Machine machine, const machine::Machine& added) {
  for (const auto& [threads, set] : added.by_threads) machine.by_threads[threads] = set;
  for (const auto& [key, text] : added.facts) machine.facts[key] = text;
  if (added.issue_rate)
    machine.issue_rate =
        std::max(machine.issue_rate.value_or(*added.issue_rate), *added.issue_rate);
  machine.measured_at = added.measured_at;
  return machine;
}

void RefuseOther(const machine::Machine& machine, const machine::Machine& here, const std::string& where) {
  if (machine.device != here.device)
    throw BadInput("{}: \"device\" is \"{}\"; expected \"{}\"", where, machine.device, here.device);
  if (!IsGiven(machine) && machine.fingerprint != here.fingerprint)
    throw BadInput(
        "{}: these are the ceilings of another machine ({}, fingerprint {}); this one is {}, "
        "fingerprint {}",
        where, machine.name, machine.fingerprint, here.name, here.fingerprint);
}

// Returns the cached ceilings; absent: none, or unusable with one sentence in `log`.
std::optional<machine::Machine> FromCache(const MachineSource& source, std::ostream& log) {
  if (!source.directory) return std::nullopt;
  const auto path = CachePath(*source.directory, source.described);
  std::error_code error;
  if (!fs::exists(path, error)) return std::nullopt;
  try {
    auto machine = ReadMachineFile(path);
    RefuseOther(machine, source.described, path.string());
    return machine;
  } catch (const BadInput& refusal) {
    log << "The cached ceilings cannot be used and are measured again: " << refusal.what() << '\n';
    return std::nullopt;
  }
}

void ToCache(const MachineSource& source, const machine::Machine& machine, std::ostream& log) {
  if (!source.directory) {
    log << "The ceilings are not kept: neither XDG_CACHE_HOME nor HOME is an absolute path.\n";
    return;
  }
  try {
    std::error_code error;
    fs::create_directories(*source.directory, error);
    WriteMachineFile(machine, CachePath(*source.directory, source.described));
  } catch (const BadInput& refusal) {
    log << "The ceilings are not kept for the next run: " << refusal.what() << '\n';
  }
}

machine::Machine MeasureAndLog(const MachineSource& source, bool quick, const std::vector<int>& threads,
                      std::ostream& log) {
  log << fmt::format("Measuring the ceilings of {} for {} threads{}.\n", source.described.name,
                     fmt::join(threads, " and "), quick ? ", quickly" : "");
  return source.measure(quick, threads);
}

// Returns false where a spot check contradicts the ceilings. Writes "live_check" of the facts.
bool PassesLiveCheck(const MachineSource& source, const MachineOptions& options, machine::Machine& machine,
                     std::ostream& log) {
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

// Compares sets of different measurements, as one measurement compares its own.
void CrossCheck(int cores, machine::Machine& machine) {
  machine::AddScaling(machine, cores);
  machine::CompareThreadCounts(machine);
  for (auto& [threads, set] : machine.by_threads) cpu_ceilings::AddPlainPipes(set.flops);
}

machine::Machine ByFile(const MachineSource& source, const MachineOptions& options, std::ostream& log) {
  if (options.remeasure || options.thorough)
    throw BadInput("{}: a machine file and a new measurement exclude each other", options.file);
  auto machine = ReadMachineFile(options.file);
  RefuseOther(machine, source.described, options.file);
  if (IsGiven(machine)) {
    log << fmt::format("{}: the roofs of {} are given, not measured here.\n", options.file,
                       machine.name);
    return machine;
  }
  if (!PassesLiveCheck(source, options, machine, log))
    log << options.file << ": these ceilings are used as they are, being asked for.\n";
  const auto missing = Missing(machine, source.threads, true);
  if (missing.empty()) return machine;
  machine = Merged(machine, MeasureAndLog(source, options.quick, missing, log));
  machine::CompareThreadCounts(machine);  // the file's rates and texts stay as they are
  return machine;
}

machine::Machine ByCache(const MachineSource& source, const MachineOptions& options, std::ostream& log) {
  const bool anew = options.remeasure || options.thorough;
  auto cached = FromCache(source, log);
  auto missing = anew || !cached ? source.threads : Missing(*cached, source.threads, options.quick);
  if (cached && anew) cached->issue_rate.reset();
  if (cached)
    for (const int threads : missing) cached->by_threads.erase(threads);
  bool joined = cached && !cached->by_threads.empty();  // with sets that are not measured now
  if (joined && !anew && !PassesLiveCheck(source, options, *cached, log)) {
    cached.reset();  // no set of this machine is right any more
    missing = source.threads;
    joined = false;
  }
  if (missing.empty()) return *cached;
  auto machine = MeasureAndLog(source, options.quick, missing, log);
  if (cached) machine = Merged(*cached, machine);
  if (joined) CrossCheck(source.cores, machine);
  if (machine.facts.contains("ended_early")) {
    log << "The measurement was ended early: these ceilings are not kept for the next run.\n";
    return machine;
  }
  auto kept = machine;
  kept.facts.erase("live_check");  // of this run
  ToCache(source, kept, log);
  return machine;
}

}  // namespace

machine::Machine ReadMachineFile(const fs::path& path) {
  std::error_code error;
  if (!fs::exists(path, error)) {
    if (const auto gpu = KnownGpu(path.string())) return *gpu;
    throw BadInput(fmt::format("{}: no such file; expected a machine file, or a GPU of {}",
                               path.string(), fmt::join(KnownGpuNames(), ", ")));
  }
  auto text = ReadFile(path, "a machine file", kMostBytes);
  if (text.find_first_not_of(" \t\r\n") == std::string::npos)
    throw BadInput("{}: is empty; expected a machine file", path.string());
  const LocatedJson file(std::move(text), path.string());
  if (IsGivenMachine(file.value())) return GivenMachine(file);
  return machine::MachineFromJson(file.value(), path.string());
}

void WriteMachineFile(const machine::Machine& machine, const fs::path& path) {
  const auto text = [](const auto& json) {
    return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + '\n';
  };
  WriteFile(path, IsGiven(machine) ? text(GivenToJson(machine)) : text(machine::ToJson(machine)));
}

fs::path CachePath(const fs::path& directory, const machine::Machine& machine) {
  return directory / fmt::format("machine-{}-{}.json", machine.device, machine.fingerprint);
}

std::string UnprovedSentence(const machine::Machine& machine) {
  int ceilings = 0;
  std::vector<std::string> doubtful;
  const auto add = [&](std::string_view key, int threads, const machine::Ceiling& ceiling) {
    ++ceilings;
    if (!ceiling.CarriesPercentages())
      doubtful.push_back(fmt::format("{} ({} threads)", key, threads));
  };
  for (const auto& [threads, set] : machine.by_threads) {
    for (const auto& [pipe, ceiling] : set.flops) add(pipe, threads, ceiling);
    for (const auto& [level, ceiling] : set.bytes) add(Key(level), threads, ceiling);
  }
  if (doubtful.empty()) return "";
  return fmt::format(
      "{} of {} ceilings did not prove themselves, among them {}; measure again (--remeasure) when "
      "the machine is quiet.\n",
      doubtful.size(), ceilings, doubtful.front());
}

machine::Machine CachedOrMeasured(const MachineSource& source, const MachineOptions& options,
                         std::ostream& log) {
  return options.file.empty() ? ByCache(source, options, log) : ByFile(source, options, log);
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
      cpu::UsableCores(cpu)};
  return CachedOrMeasured(source, options, log);
}

}  // namespace dlroof::machine_file
