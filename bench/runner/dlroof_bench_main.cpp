// dlroof_bench: a Google Benchmark program that places its results on measured roofs.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <set>

#include "bench/gpu_loader/loader.h"
#include "bench/runner/bench_flags.h"
#include "bench/runner/explain_pass.h"
#include "bench/runner/parts_of_run.h"
#include "bench/runner/prepared_calls.h"
#include "bench/runner/run_context.h"
#include "bench/runner/runner.h"
#include "bench/suites/suite.h"
#include "bench/workload/library_rules.h"
#include "ceilings/machine/rate.h"
#include "ceilings/machine_file/machine_cache.h"
#include "counters/base/keys.h"
#include "counters/base/process.h"
#include "counters/base/program.h"
#include "counters/cpu/cpu.h"
#include "reporters/live/google_benchmark.h"
#include "reporters/roofline/placed_run.h"
#include "reporters/text/text.h"

namespace dlroof::runner {
namespace {

std::vector<suites::Suite> Suites(const BenchFlags& flags, const Devices& devices) {
  const auto& choice = devices.choice;
  auto suites =
      suites::SelectSuites(flags.suites, {choice.cpu, devices.HasGpu() || choice.gpu_requested});
  suites =
      suites::Chosen(suites::OnDevices(std::move(suites), choice.cpu, choice.gpu), flags.choices);
  suites = suites::InCacheState(std::move(suites), flags.cache);
  if (flags.algorithm) suites = suites::WithAlgorithm(std::move(suites), *flags.algorithm);
  std::cerr << suites::SkippedSentences(suites);
  return suites;
}

using Workloads = std::vector<workload::Workload>;

// Returns the largest number of threads of a selected CPU benchmark, or 0 if none is selected.
int MostThreads(const Workloads& chosen, const workload::RunSettings& settings) {
  int most = 0;
  for (const auto& workload : chosen)
    if (workload.name.device == "cpu")
      most = std::max(most, workload.threads.value_or(settings.threads));
  return most;
}

// Returns the thread counts whose ceilings the run needs: 1 (for the page, which compares one
// thread with all, and for single-threaded calls of --dlroof_explain), --dlroof_threads, and those
// in names up to the number of CPUs. With --dlroof_explain only 1 and those of selected benchmarks.
std::vector<int> ThreadCounts(const Workloads& all, const Workloads& chosen,
                              const workload::RunSettings& settings, bool explain) {
  std::set<int> counts = {1};
  if (!explain) counts.insert(settings.threads);
  for (const workload::Workload& workload : explain ? chosen : all)
    if (const int threads = workload.threads.value_or(settings.threads);
        workload.name.device == "cpu" && static_cast<size_t>(threads) <= settings.cpus.size())
      counts.insert(threads);
  return {counts.begin(), counts.end()};
}

MachineNeeds NeedsOf(const Workloads& all, const Workloads& chosen,
                     const workload::RunSettings& settings, bool explain) {
  MachineNeeds needs{.threads = ThreadCounts(all, chosen, settings, explain)};
  for (const auto& workload : chosen) {
    (workload.name.device == "cpu" ? needs.cpu : needs.gpu) = true;
    if (workload.name.device == "cpu")
      needs.pipes.merge(NeededPipes(workload.name.type, workload::ToText(workload.name)));
  }
  return needs;
}

// Returns the filter to pass to Google Benchmark: ".*" if all benchmarks are selected. With "."
// Google Benchmark reallocates its list for each benchmark: over a minute for 50,000 benchmarks.
std::string FilterFor(const std::string& filter) {
  return filter.empty() || filter == "all" || filter == "." ? ".*" : FilterOfShownNames(filter);
}

// Reads all flags into `flags`, and initializes Google Benchmark. Returns the command line.
std::string Initialize(std::vector<std::string>& args, BenchFlags& flags) {
  AddDefaultFlags(args);
  AdaptMinTime(args);
  ReadBenchmarkFlags(args, flags);
  auto command = text::CommandLine(args);
  ReadOwnFlags(OwnArguments(args), flags);
  ProtectOutFile(args, flags);
  // Lets Google Benchmark run as many repetitions as the rule may use. The last flag wins.
  if (const auto stop = RuleFrom(flags))
    args.push_back(fmt::format("--benchmark_repetitions={}", OfferedRepetitions(*stop, flags)));
  RefuseBenchmarkFlags(InitializeBenchmark(args));
  return command;
}

int Run(std::vector<std::string> args) {
  if (const auto request = SimulatedCallIn(args)) return RunSimulatedCall(*request);
  RefusePinning();
  if (AsksForHelp(args)) {
    PrintHelp();
    return 0;
  }
  BenchFlags flags;
  const auto command = Initialize(args, flags);
  if (flags.onednn) workload::UseLibraryFile("onednn", *flags.onednn, "--dlroof_onednn");
  if (suites::AsksForSuiteList(flags.suites)) {
    std::cout << suites::SuiteList();
    return 0;
  }

  workload::RunSettings settings = Settings(flags);
  const auto devices = FindDevices(flags);
  if (devices.HasGpu()) settings.gpu = devices.gpu.device.name;
  CheckMachineFiles(flags, devices);
  const auto suites = Suites(flags, devices);
  const auto workloads = suites::WorkloadsOf(suites);
  auto chosen = workloads;
  // Google Benchmark matches names with "/real_time" or "/manual_time" appended.
  std::erase_if(chosen, [&](const auto& workload) {
    const auto name = workload::ToText(workload.name);
    return !KeptByFilter(flags.filter, record::ListedName(name, UsesManualTime(workload)));
  });
  RefuseEmptySelection(flags, chosen.size(), workloads.size());
  if (flags.lists_only) {
    for (const auto& workload : chosen) std::cout << workload::NameOf(workload) << '\n';
    return 0;
  }
  live::SetListedNames(VectorOf<std::string>(chosen, workload::NameOf));
  CheckWritable(flags.html_file);
  RefuseThreadLimit(MostThreads(chosen, settings));
  const auto quota = WatchQuota(cpu::FactsOfThisProcess(energy::SysfsRoot()));
  if (const auto warning = CountersWarning(flags.counters)) std::cerr << *warning;
  StopOnInterrupt();

  const auto needs = NeedsOf(workloads, chosen, settings, flags.explain);
  std::vector<machine::Machine> specified;
  if (!flags.machine_files.empty()) specified = Machines(flags, needs, devices);
  auto context = Context(command, flags, settings, devices);
  if (auto described = suites::SuitesContext(suites); !described.empty())
    context["suites"] = std::move(described);
  live::Session session(std::move(context), [&] {
    return specified.empty() ? Machines(flags, needs, devices) : specified;
  });
  auto options =
      Options(flags, static_cast<int>(chosen.size()), needs.cpu, devices, session, quota.get());
  const auto stop = RuleFrom(flags);
  options.repetitions =
      static_cast<std::size_t>(stop ? OfferedRepetitions(*stop, flags) : flags.repetitions);
  session.Add(RegisterWorkloads(workloads, settings, options));
  std::cerr << suites::SelectionSentence(suites);
  RunReporters reporters(session, flags, quota.get());
  benchmark::RunSpecifiedBenchmarks(reporters.display(), reporters.file(), FilterFor(flags.filter));
  // Destroys the benchmarks now: at exit, the libraries that they use would be destroyed before
  // them, because these were loaded later than Google Benchmark.
  benchmark::ClearRegisteredBenchmarks();
  benchmark::Shutdown();
  return reporters.End();
}

}  // namespace
}  // namespace dlroof::runner

int main(int argc, char** argv) {
  return dlroof::RunProgram("dlroof_bench", [&] {
    return dlroof::runner::Run({argv, argv + argc});
  });
}
