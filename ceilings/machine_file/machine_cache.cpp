#include "ceilings/machine_file/machine_cache.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <nlohmann/json.hpp>
#include <system_error>

#include "ceilings/cpu_ceilings/measure_steps.h"
#include "ceilings/cpu_kernels/flops.h"
#include "ceilings/machine_file/specified_machine.h"
#include "counters/base/error.h"
#include "counters/base/json_reader.h"
#include "counters/base/keys.h"

namespace dlroof::machine_file {
namespace {

namespace fs = std::filesystem;
using machine::Ceiling, machine::Machine;

constexpr std::uintmax_t kMaxBytes = std::uintmax_t{64} << 20;  // a machine file has some 50 kB

constexpr const char* kRoofsEffort = "roofs";

void RefuseOtherMachine(const Machine& machine, const Machine& here, const std::string& where) {
  if (machine.device != here.device)
    throw BadInput("{}: \"device\" is \"{}\"; expected \"{}\"", where, machine.device, here.device);
  if (!IsSpecified(machine) && machine.fingerprint != here.fingerprint)
    throw BadInput(
        "{}: the ceilings are of another machine ({}, fingerprint {}); this machine is {}, "
        "fingerprint {}",
        where, machine.name, machine.fingerprint, here.name, here.fingerprint);
}

// Returns the cached ceilings. Without usable ones returns nullopt and logs the reason.
std::optional<Machine> FromCache(const MachineSource& source, std::ostream& log) {
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

void ToCache(const MachineSource& source, const Machine& machine, std::ostream& log) {
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

// Returns the rows of the roofs of `pipes`, all levels and copies in DRAM that `wanted` accepts.
RowsByThreads RowsOfRoofs(const Machine& machine, const std::vector<int>& threads,
                          const std::set<std::string>& pipes,
                          const std::function<bool(const Ceiling& roof)>& wanted) {
  RowsByThreads rows;
  for (const int count : threads) {
    const auto* set = machine::ForThreads(machine, count);
    if (set == nullptr) continue;
    for (const auto& [level, roof] : set->bytes)
      if (!roof.mix.empty() && wanted(roof))
        rows[count].insert(fmt::format("{}.{}", Key(level), roof.mix));
    if (const auto* copy = machine::FastestCopy(*set, Level::kDram); copy && wanted(copy->second))
      rows[count].insert(copy->first);
    for (const auto& [key, row] : set->flops) {
      const auto plain = machine::PlainPipe(key);
      const auto* const roof = FindValue(set->flops, plain);
      if (plain != key && pipes.contains(plain) && roof != nullptr && wanted(*roof) &&
          row.per_second == roof->per_second)
        rows[count].insert(key);
    }
  }
  return rows;
}

const Ceiling* RowOf(const Machine& machine, int threads, const std::string& row) {
  const auto* set = machine::ForThreads(machine, threads);
  return set == nullptr ? nullptr : machine::FindRow(*set, row);
}

SpotCheck CheckOf(const std::string& row, int threads, const Ceiling& stored, const Ceiling& now) {
  const bool memory = LevelFromKey(row.substr(0, row.find('.'))).has_value();
  return {.row = fmt::format("{} with {} threads", row, threads),
          .stored = stored,
          .per_second = now.per_second,
          .clean = !now.visits.empty() && now.visits.back().clean > 0,
          .tolerance = memory ? cpu_ceilings::kPassTolerance : machine::kArithmeticAgreement,
          .drift = memory ? AllowedDrift(stored) : 0};
}

Machine FromFile(const MachineSource& source, const MachineOptions& options, std::ostream& log) {
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
  auto missing = source.threads;
  std::erase_if(missing, [&](int count) { return machine.by_threads.contains(count); });
  if (!missing.empty())
    log << fmt::format(
        "{} has no ceilings of {} threads: results with them have no roofs. dlroof machine "
        "--threads=... -o FILE measures them.\n",
        options.file, fmt::join(missing, " and "));
  return machine;
}

void Store(const MachineSource& source, const Machine& machine, std::ostream& log) {
  auto stored = machine;
  stored.facts.erase("live_check");  // it describes this run only
  ToCache(source, stored, log);
}

// Returns whether OS kernel and microcode are still those of `machine`, as far as they are known.
bool SameSystem(const Machine& machine, const Machine& here) {
  return std::ranges::all_of(
      std::array{cpu_ceilings::kKernelFact, cpu_ceilings::kMicrocodeFact}, [&](const char* fact) {
        const auto *then = FindValue(machine.facts, fact), *now = FindValue(here.facts, fact);
        return then == nullptr || now == nullptr || *then == *now;
      });
}

// Joins the new measurement with the stored one (machine::Learned) and chooses the roofs again.
Machine Joined(const std::optional<Machine>& stored, const Machine& now, std::optional<int> cores) {
  auto machine = stored ? *stored : now;
  if (!stored) machine.by_threads.clear();
  for (const auto& [threads, set] : now.by_threads)
    machine.by_threads[threads] = machine::Learned(machine.by_threads[threads], set);
  for (const auto& [key, text] : now.facts) machine.facts[key] = text;
  // Takes the newest rate, not the largest: one reading that is too high would stay forever.
  if (now.issue_rate) machine.issue_rate = now.issue_rate;
  machine.measured_at = now.measured_at;
  cpu_ceilings::AddRoofs(machine, cores);
  return machine;
}

bool Covers(const machine::CeilingSet* set, const MachineOptions& options,
            const std::set<std::string>& pipes) {
  if (set == nullptr) return false;
  if (set->effort == "quick") return options.quick;
  if (set->effort != kRoofsEffort) return true;
  return options.needs && std::ranges::all_of(pipes, [&](const std::string& pipe) {
           return set->flops.contains(pipe);
         });
}

std::set<std::string> NeededPipes(const MachineSource& source, const MachineOptions& options) {
  if (!options.needs || options.needs->empty()) return source.pipes;
  std::set<std::string> pipes;
  std::ranges::set_intersection(source.pipes, *options.needs, std::inserter(pipes, pipes.end()));
  return pipes;
}

// Measures rows again and joins them with `machine`; sets facts["live_check"] to a sentence for
// each row whose stored ceiling is validated. Returns whether a clean repetition was faster than
// it.
bool VisitAgain(const MachineSource& source, const RowsByThreads& rows, Machine& machine,
                std::ostream& log) {
  const auto now = source.visit(rows);
  std::string text;
  bool exceeded = false;
  for (const auto& [threads, keys] : rows)
    for (const auto& row : keys) {
      const auto *stored = RowOf(machine, threads, row), *seen = RowOf(now, threads, row);
      if (stored == nullptr || seen == nullptr || !stored->IsValidated()) continue;
      const auto check = CheckOf(row, threads, *stored, *seen);
      const auto sentence = Sentence(check);
      text += (text.empty() ? "" : "; ") + sentence;
      const auto verdict = Judge(check);
      if (verdict != SpotVerdict::kFaster && verdict != SpotVerdict::kSlower) continue;
      log << sentence << ".\n";
      exceeded = exceeded || (verdict == SpotVerdict::kFaster && check.clean);
    }
  machine = Joined(machine, now, source.cores);
  if (!text.empty()) machine.facts["live_check"] = text;
  return exceeded;
}

// Returns the cached ceilings if they suffice, else new ones, which are joined with those in the
// cache if the source learns, and replace them otherwise.
Machine FromCacheOrMeasured(const MachineSource& source, const MachineOptions& options,
                            std::ostream& log) {
  auto cached = FromCache(source, log);
  if (cached && !SameSystem(*cached, source.described)) {
    log << "Kernel or microcode have changed: the ceilings are measured again.\n";
    cached.reset();
  }
  // Chooses the roofs by the rules of this version: an older version may have written the cache.
  if (cached && source.Learns()) cached = Joined(std::nullopt, *cached, source.cores);
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
    // Interference that lowered one stored roof may have lowered all roofs of that measurement.
    if (changed && VisitAgain(source, rows, *cached, log))
      VisitAgain(source,
                 RowsOfRoofs(*cached, source.threads, pipes, [](const auto&) { return true; }),
                 *cached, log);
  }
  if (!missing.empty()) {
    if (!source.Learns()) missing = source.threads;
    const bool roofs = source.Learns() && options.needs && !anew;
    log << fmt::format("Measuring the ceilings of {} for {} threads{}.\n", source.described.name,
                       fmt::join(missing, " and "),
                       options.quick ? ", quickly"
                       : roofs       ? ": the roofs that this run needs"
                                     : "");
    const auto now =
        roofs ? source.measure_roofs(missing, pipes) : source.measure(options.quick, missing);
    cached = source.Learns() ? Joined(cached, now, source.cores) : now;
    changed = !now.facts.contains("ended_early");
    if (!changed)
      log << "The measurement was ended early: its ceilings are not cached for the next run.\n";
  }
  if (changed) Store(source, *cached, log);
  return *cached;
}

}  // namespace

Machine ReadMachineFile(const fs::path& path) {
  std::error_code error;
  if (!fs::exists(InputPath(path), error)) {
    if (const auto gpu = KnownGpu(path.string())) return *gpu;
    throw BadInput("{}: no such file; expected a machine file, or a known GPU: {}", path.string(),
                   fmt::join(KnownGpuNames(), ", "));
  }
  const auto text = ReadFile(path, "a machine file", kMaxBytes);
  if (text.find_first_not_of(" \t\r\n") == std::string::npos)
    throw BadInput("{}: the file is empty; expected a machine file", path.string());
  const auto json = HandwrittenJson(text, path.string());
  if (IsSpecifiedMachine(json)) return SpecifiedMachine(json, path.string());
  return machine::MachineFromJson(json, path.string());
}

std::string MachineFileText(const Machine& machine) {
  const auto text = [](const auto& json) {
    return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + '\n';
  };
  return IsSpecified(machine) ? text(SpecifiedToJson(machine)) : text(machine::ToJson(machine));
}

void WriteMachineFile(const Machine& machine, const fs::path& path) {
  WriteFile(path, MachineFileText(machine));
}

fs::path CachePath(const fs::path& directory, const Machine& machine) {
  return directory / fmt::format("machine-{}-{}.json", machine.device, machine.fingerprint);
}

std::optional<std::string> NotValidatedWarning(const Machine& machine) {
  int ceilings = 0;
  std::vector<std::string> not_validated;
  const auto add = [&](std::string_view key, int threads, const Ceiling& ceiling) {
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
      "{} of {} ceilings are not validated, among them {}; measure again (--remeasure), some "
      "minutes later and when the machine is quiet.\n",
      not_validated.size(), ceilings, not_validated.front());
}

Machine CachedOrMeasured(const MachineSource& source, const MachineOptions& options,
                         std::ostream& log) {
  return options.file.empty() ? FromCacheOrMeasured(source, options, log)
                              : FromFile(source, options, log);
}

Machine CachedOrMeasuredCpu(const MachineOptions& options, std::ostream& log) {
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
      cpu::UsableCores(cpu),
      [&](const std::vector<int>& threads, const std::set<std::string>& pipes) {
        return cpu_ceilings::MeasureCpu(
            {.threads = threads, .roofs_only = true, .pipes = pipes, .progress = options.progress});
      },
      [&](const RowsByThreads& rows) { return cpu_ceilings::MeasureCpu({.rows = rows}); },
      cpu_ceilings::PipesOf(cpu)};
  return CachedOrMeasured(source, options, log);
}

RowsByThreads RowsToVisit(const Machine& machine, const std::vector<int>& threads,
                          const std::set<std::string>& pipes) {
  auto rows =
      RowsOfRoofs(machine, threads, pipes, [](const Ceiling& roof) { return !roof.IsValidated(); });
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

double AllowedDrift(const Ceiling& stored) {
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

}  // namespace dlroof::machine_file
