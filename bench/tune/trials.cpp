#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "baselines/settings/tuning.h"
#include "bench/runner/runner.h"
#include "bench/supervise/supervised_program.h"
#include "bench/tune/tune.h"
#include "bench/workload/workload.h"
#include "counters/base/files.h"
#include "counters/base/numbers.h"
#include "counters/base/process.h"
#include "counters/cpu/clocks.h"
#include "reporters/record/run_file.h"

namespace dlroof::tune {
namespace {

std::string ListedName(const TunedBenchmark& tuned) {
  const auto workload = workload::MakeWorkload(workload::ToText(tuned.name));
  return record::ListedName(workload::ToText(tuned.name), runner::UsesManualTime(workload));
}

settings::TrialResult ResultOf(const TunedBenchmark& tuned, const supervise::Part& part) {
  const auto record = supervise::RecordOf(ListedName(tuned), {part});
  if (record.status != record::Status::kOk)
    return {{},
            Reason{fmt::format("{}: {}", record::Key(record.status), record.reason)},
            record.status == record::Status::kUnsupported};
  settings::TrialResult result{record.repetitions, {}, false};
  if (result.windows.empty())
    result.failure = Reason{"failed: the process succeeded without a result"};
  return result;
}

// A process that measures a benchmark under one setting.
struct SettingProcess {
  TunedBenchmark tuned;
  std::unique_ptr<supervise::InterleavedProcess> process;
};

SettingProcess StartProcess(const BenchTrialRequest& request, const settings::Setting& setting,
                            const TemporaryFolder& folder, std::size_t number) {
  const auto tuned = UnderSetting(request.name, setting);
  const auto label = std::to_string(number);
  const auto names = folder / (label + ".txt");
  WriteFile(names, workload::ToText(tuned.name) + "\n");
  auto paths = supervise::PathsIn(folder, label);
  const std::vector<std::string> arguments = {"--dlroof_suite=" + names,
                                              "--dlroof_device=" + tuned.name.device};
  auto command =
      supervise::CommandFor(request.program, arguments, ListedName(tuned), "none", paths);
  if (tuned.cpus) command.insert(command.begin(), {"taskset", "-c", *tuned.cpus});
  SettingProcess started{
      tuned, std::make_unique<supervise::InterleavedProcess>(
                 std::move(command), std::move(paths), request.timeout_seconds, tuned.environment)};
  started.process->Ready();
  return started;
}

settings::TrialResult EndOf(SettingProcess& measured, double timeout_seconds) {
  nlohmann::json machines;
  auto& [tuned, process] = measured;
  const auto outcome =
      supervise::OutcomeOf(process->End(), timeout_seconds, process->paths(), machines);
  return ResultOf(tuned, supervise::PartFrom(ListedName(tuned), outcome, 0));
}

struct GpuTrial {
  TunedBenchmark tuned;
  settings::TrialResult* result;
};

std::vector<std::string> GpuCommand(const std::string& program, const std::string& names,
                                    const std::string& run_file) {
  auto command = supervise::WindowFlags(/*brief=*/true);
  // No counters, because CUPTI would take longer than the measurement. The repetitions of all
  // settings are interleaved, so that a change of the clock affects all settings alike.
  command.insert(
      command.begin(),
      {program, "--dlroof_suite=" + names, "--dlroof_device=gpu", "--dlroof_counters=off",
       "--dlroof_machine=none", "--dlroof_live_check=false", "--dlroof_max_seconds=0",
       "--benchmark_enable_random_interleaving=true", "--benchmark_out=" + run_file});
  return command;
}

// Measures settings with the same environment variables in one process: a GPU process starts
// slowly, and times hardly differ between processes. If it fails, measures each half alone.
void MeasureTogether(const std::string& program, double timeout_seconds,
                     std::span<const GpuTrial> trials) {
  if (StoppedByInterrupt()) return;
  const TemporaryFolder folder;
  const auto paths = supervise::PathsIn(folder, "gpu");
  std::set<std::string> names;
  std::vector<std::string> listed;
  for (const auto& trial : trials) {
    names.insert(workload::ToText(trial.tuned.name));
    listed.push_back(ListedName(trial.tuned));
  }
  WriteFile(folder / "names.txt", fmt::format("{}\n", fmt::join(names, "\n")));
  const double all_seconds =
      timeout_seconds + 3 * kGpuSettingSeconds * static_cast<double>(trials.size());
  WatchedProcess process(GpuCommand(program, folder / "names.txt", paths.run_file),
                         {paths.out, paths.err}, trials.front().tuned.environment);
  nlohmann::json machines;
  const auto end = process.WaitForEnd(all_seconds);
  const auto outcome = supervise::OutcomeOf(end, all_seconds, paths, machines);
  const auto half = trials.size() / 2;
  if (outcome.failure && half > 0) {
    MeasureTogether(program, timeout_seconds, trials.first(half));
    MeasureTogether(program, timeout_seconds, trials.subspan(half));
    return;
  }
  const auto parts = supervise::PartsFrom(listed, outcome, 0);
  for (std::size_t i = 0; i < trials.size(); ++i)
    *trials[i].result = ResultOf(trials[i].tuned, parts[i]);
}

// Measures one block on a CPU. Returns false after an interrupt.
bool MeasureOnCpu(const BenchTrialRequest& request, settings::TrialBlock& block,
                  std::uint64_t seed) {
  const double begin = cpu::WallSeconds();
  const TemporaryFolder folder;
  std::vector<SettingProcess> processes(block.settings.size());
  // Calls action(i) for each setting i in random order. Returns false after an interrupt.
  const auto for_each = [&](std::uint64_t order, const auto& action) {
    for (const auto i : ShuffledOrder(processes.size(), order)) {
      if (StoppedByInterrupt()) return false;
      action(i);
    }
    return !StoppedByInterrupt();
  };
  // Starts the processes one after another; each is stopped (SIGSTOP) when ready.
  const auto start = [&](std::size_t i) {
    processes[i] = StartProcess(request, block.settings[i], folder, i);
  };
  if (!for_each(seed, start)) return false;
  if (!for_each(seed, [&](std::size_t i) { processes[i].process->Settle(); })) return false;
  for (std::uint64_t window = 1; window <= supervise::kWindows; ++window)
    if (!for_each(seed + window, [&](std::size_t i) { processes[i].process->Turn(); }))
      return false;
  for (auto& measured : processes) {
    block.results.push_back(EndOf(measured, request.timeout_seconds));
    measured.process.reset();
    if (StoppedByInterrupt()) return false;
  }
  block.seconds = cpu::WallSeconds() - begin;
  return true;
}

}  // namespace

bool MeasureOnGpu(const std::string& program, double timeout_seconds,
                  const std::vector<GpuBlock>& blocks) {
  const double begin = cpu::WallSeconds();
  std::map<Variables, std::vector<GpuTrial>> processes;
  double settings = 0;
  for (const auto& [name, block] : blocks) {
    block->results.resize(block->settings.size());
    settings += static_cast<double>(block->settings.size());
    for (std::size_t i = 0; i < block->settings.size(); ++i) {
      const auto tuned = UnderSetting(name, block->settings[i]);
      processes[tuned.environment].push_back({tuned, &block->results[i]});
    }
  }
  for (const auto& [variables, trials] : processes)
    MeasureTogether(program, timeout_seconds, trials);
  const double each = (cpu::WallSeconds() - begin) / settings;
  for (const auto& [name, block] : blocks)
    block->seconds = each * static_cast<double>(block->settings.size());
  return !StoppedByInterrupt();
}

settings::MeasureBlock BenchTrials(const BenchTrialRequest& request) {
  return [request](settings::TrialBlock& block, std::uint64_t seed) {
    if (request.name.device != "gpu") return MeasureOnCpu(request, block, seed);
    return MeasureOnGpu(request.program, request.timeout_seconds, {{request.name, &block}});
  };
}

std::vector<TunedGroup> GroupsOnGpu(std::size_t first, const std::vector<std::size_t>& settings) {
  constexpr std::size_t kMaxSettings = 64;  // in one process, which needs the memory of all
  constexpr double kConfirmations = 2, kConfirmed = 2;  // processes; settings per benchmark in each
  std::vector<TunedGroup> groups;
  std::size_t in_group = kMaxSettings;
  for (const auto count : settings) {
    if (in_group + count > kMaxSettings) {
      groups.push_back({first, first, (1 + kConfirmations) * kGpuProcessSeconds});
      in_group = 0;
    }
    in_group += count;
    groups.back().end = ++first;
    groups.back().seconds +=
        kGpuSettingSeconds * (static_cast<double>(count) + kConfirmations * kConfirmed);
  }
  return groups;
}

}  // namespace dlroof::tune
