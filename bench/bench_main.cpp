// dlroof_bench: a Google Benchmark program whose results carry their work and stand on measured
// roofs.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <fstream>
#include <iostream>
#include <memory>
#include <set>
#include <sstream>

#include "bench/bench_flags.h"
#include "bench/run_context.h"
#include "bench/runner.h"
#include "bench/suite.h"
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

// The built-in suites, then the given files; a name that comes again is the same benchmark.
std::vector<Workload> Workloads(const BenchFlags& flags) {
  std::vector<std::string> names;
  const auto add = [&](std::istream& text, const std::string& file) {
    for (auto& name : ReadSuite(text, file)) names.push_back(std::move(name));
  };
  for (const auto& suite : BuiltInSuites()) {
    std::istringstream text{std::string(suite.text)};
    add(text, std::string(suite.name));
  }
  for (const auto& path : flags.suites) {
    std::ifstream file(path);
    add(file, path);
  }
  std::vector<Workload> workloads;
  std::set<std::string> seen;
  for (const auto& name : names)
    if (seen.insert(name).second) workloads.push_back(MakeWorkload(name));
  return workloads;
}

// The same with --dlroof_cache's state where the name leaves it open.
std::vector<Workload> WithCacheState(std::vector<Workload> workloads, CacheState cache) {
  if (cache == CacheState::kWarm) return workloads;
  for (Workload& workload : workloads)
    if (workload.cache == CacheState::kWarm)
      workload = MakeWorkload(fmt::format("{}/{}", ToText(workload.name), Key(cache)));
  return workloads;
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
  return settings;
}

void WriteHtml(const Session& session, const std::string& path) {
  if (path.empty()) return;
  std::ofstream out(path);
  WritePage(ToJson(session.file()), out);
  out.flush();
  if (!out.good()) throw BadInput(path + ": cannot be written (disk full?)");
}

int Run(std::vector<std::string> args) {
  RefuseForeignPinning();
  BenchFlags flags;
  AddDefaultFlags(args);
  ReadBenchmarkFlags(args, flags);
  const auto command = CommandLine(args);
  auto pointers = Pointers(args);
  int count = static_cast<int>(args.size());
  benchmark::Initialize(&count, pointers.data(), PrintHelp);
  ReadOwnFlags({pointers.begin() + 1, pointers.begin() + count}, flags);
  for (const auto& path : {flags.html_file, flags.out_file}) CheckWritable(path);

  const RunSettings settings = Settings(flags);
  const auto workloads = WithCacheState(Workloads(flags), flags.cache);
  const auto threads = ThreadCounts(workloads, settings);
  RegisterWorkloads(workloads, settings);
  StopOnInterrupt();

  std::vector<Machine> given;
  if (!flags.machine_file.empty()) given = Machines(flags, threads);
  Session session(RunContext(command, settings),
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
