// dlroof_bench: a Google Benchmark program whose results carry their work and stand on measured
// roofs.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <fstream>
#include <iostream>
#include <memory>

#include "bench/bench_flags.h"
#include "bench/counting.h"
#include "bench/run_context.h"
#include "bench/runner.h"
#include "bench/simulated_call.h"
#include "bench/suite_selection.h"
#include "ceilings/machine_cache.h"
#include "ceilings/progress.h"
#include "counters/clocks.h"
#include "counters/cpu.h"
#include "reporters/google_benchmark.h"
#include "reporters/page.h"

namespace dlroof {
namespace {

std::vector<char*> Pointers(std::vector<std::string>& args) {
  std::vector<char*> pointers;
  pointers.reserve(args.size() + 1);
  for (auto& arg : args) pointers.push_back(arg.data());
  pointers.push_back(nullptr);
  return pointers;
}

// Google Benchmark's help knows nothing of our flags.
void PrintHelp() {
  std::cout << OwnHelp() << "\nGoogle Benchmark's flags work as always:\n";
  benchmark::PrintDefaultHelp();
}

// Opened here and now: Google Benchmark would end the program with another exit code and an empty
// file.
void CheckWritable(const std::string& path) {
  if (path.empty()) return;
  const std::ofstream probe(path, std::ios::app);
  if (!probe.is_open()) throw BadInput(path + ": cannot be written");
}

bool ListedSuites(const BenchFlags& flags) {
  const bool asked = AsksForSuiteList(flags.suites);
  if (asked) std::cout << SuiteList();
  return asked;
}

std::vector<Suite> Suites(const BenchFlags& flags) {
  auto suites = InCacheState(SelectSuites(flags.suites), flags.cache);
  std::cerr << SkippedSentences(suites);
  return suites;
}

// One thread is always there (the page compares it with all); then the run's, and those that names
// ask for, as far as this machine has them.
std::vector<int> ThreadCounts(const std::vector<Workload>& workloads, const RunSettings& settings) {
  std::set<int> counts = {1, settings.threads};
  for (const Workload& workload : workloads)
    if (workload.threads > 0 && static_cast<size_t>(workload.threads) <= settings.cpus.size())
      counts.insert(workload.threads);
  return {counts.begin(), counts.end()};
}

std::vector<Machine> Machines(const BenchFlags& flags, const std::vector<int>& threads) {
  MachineOptions options;
  options.file = flags.machine_file;
  options.threads = threads;
  options.live_check = flags.live_check;
  ProgressPrinter progress(std::cerr, StderrIsTerminal());
  options.progress = std::ref(progress);
  return {CachedOrMeasuredCpu(options, std::cerr)};
}

RunSettings Settings(const BenchFlags& flags) {
  const Cpu cpu = ThisCpu();
  const int allowed = static_cast<int>(cpu.allowed.size());
  if (flags.threads > allowed)
    throw BadInput(fmt::format(
        "--dlroof_threads={}: this process may use {} CPUs, and each thread needs its own",
        flags.threads, allowed));
  RunSettings settings;
  settings.threads = flags.threads > 0 ? flags.threads : allowed;
  settings.cpus = SpreadCpus(cpu, allowed);
  settings.seed = flags.seed;
  settings.counters = flags.counters;
  return settings;
}

nlohmann::json Context(const std::string& command, const RunSettings& settings,
                       const std::vector<Suite>& suites) {
  auto context = RunContext(command, settings);
  if (auto described = SuitesContext(suites); !described.empty())
    context["suites"] = std::move(described);
  return context;
}

void WriteHtml(const Session& session, const std::string& path) {
  if (path.empty()) return;
  std::ofstream out(path);
  WritePage(ToJson(session.file()), out);
  out.flush();
  if (!out.good()) throw BadInput(path + ": cannot be written (disk full?)");
}

int Run(std::vector<std::string> args) {
  if (AsksForSimulatedCall(args)) return RunSimulatedCall(args);
  RefuseForeignPinning();
  BenchFlags flags;
  AddDefaultFlags(args);
  ReadBenchmarkFlags(args, flags);
  const auto command = CommandLine(args);
  auto pointers = Pointers(args);
  int count = static_cast<int>(args.size());
  benchmark::Initialize(&count, pointers.data(), PrintHelp);
  ReadOwnFlags({pointers.begin() + 1, pointers.begin() + count}, flags);
  if (ListedSuites(flags)) return 0;
  for (const auto& path : {flags.html_file, flags.out_file}) CheckWritable(path);

  const RunSettings settings = Settings(flags);
  const auto suites = Suites(flags);
  const auto workloads = WorkloadsOf(suites);
  const auto threads = ThreadCounts(workloads, settings);
  std::cerr << CountersSentence(flags.counters);
  RegisterWorkloads(workloads, settings);
  StopOnInterrupt();

  std::vector<Machine> given;
  if (!flags.machine_file.empty()) given = Machines(flags, threads);
  Session session(Context(command, settings, suites),
                  [&] { return given.empty() ? Machines(flags, threads) : given; });
  TerminalReporter table(session);
  RunFileReporter json_display(session);
  RunFileReporter json_file(session);
  benchmark::BenchmarkReporter* display =
      flags.display == OutputFormat::kTable ? &table
      : flags.display == OutputFormat::kJson
          ? static_cast<benchmark::BenchmarkReporter*>(&json_display)
          : nullptr;
  const bool own_file = !flags.out_file.empty() && flags.out_format == OutputFormat::kJson;
  benchmark::RunSpecifiedBenchmarks(display, own_file ? &json_file : nullptr);
  benchmark::Shutdown();

  if (!json_file.Written() || !json_display.Written())
    throw BadInput((flags.out_file.empty() ? "standard output" : flags.out_file) +
                   ": not all could be written (disk full?)");
  WriteHtml(session, flags.html_file);
  if (StoppedByInterrupt()) return 130;
  return session.AnyFailed() ? 1 : 0;
}

}  // namespace
}  // namespace dlroof

int main(int argc, char** argv) {
  try {
    return dlroof::Run({argv, argv + argc});
  } catch (const dlroof::BadInput& error) {
    std::cerr << "dlroof_bench: " << error.what() << '\n';
    return 2;
  } catch (const std::exception& error) {
    std::cerr << "dlroof_bench: " << error.what() << '\n';
    return 1;
  }
}
