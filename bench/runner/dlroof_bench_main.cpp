// dlroof_bench: a Google Benchmark program that places its results on measured roofs.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <set>
#include <sstream>

#include "bench/gpu_loader/loader.h"
#include "bench/library_files/library_file.h"
#include "bench/runner/algorithm_trials.h"
#include "bench/runner/bench_flags.h"
#include "bench/runner/explain_pass.h"
#include "bench/runner/needed_pipes.h"
#include "bench/runner/prepared_calls.h"
#include "bench/runner/process_limits.h"
#include "bench/runner/progress_pipe.h"
#include "bench/runner/run_context.h"
#include "bench/runner/runner.h"
#include "bench/suites/suite_selection.h"
#include "ceilings/machine/rate.h"
#include "ceilings/machine_file/machine_cache.h"
#include "counters/base/files.h"
#include "counters/base/json_text.h"
#include "counters/base/process.h"
#include "counters/base/program.h"
#include "counters/cpu/cpu.h"
#include "counters/parallel_time.h"
#include "reporters/live/google_benchmark.h"
#include "reporters/page/page.h"
#include "reporters/roofline/placed_run.h"

namespace dlroof::runner {
namespace {

std::vector<char*> Pointers(std::vector<std::string>& args) {
  std::vector<char*> pointers;
  pointers.reserve(args.size() + 1);
  for (auto& arg : args) pointers.push_back(arg.data());
  pointers.push_back(nullptr);
  return pointers;
}

// Google Benchmark's help does not list the flags of dlroof_bench.
void PrintHelp() {
  std::cout << OwnHelp() << "\nFlags of Google Benchmark:\n";
  benchmark::PrintDefaultHelp();
}

// Throws BadInput, before the measurement, if the file cannot be written. Google Benchmark would
// fail after the measurement, with another exit code.
void CheckWritable(const std::optional<std::string>& path) {
  if (!path) return;
  const std::ofstream probe(*path, std::ios::app);
  if (!probe.is_open()) throw BadInput(*path + ": cannot be written");
}

bool ListedSuites(const BenchFlags& flags) {
  const bool asked = suites::AsksForSuiteList(flags.suites);
  if (asked) std::cout << suites::SuiteList();
  return asked;
}

// The chosen devices, and the CUDA module, which is open if the run can use it.
struct Devices {
  gpu_loader::DeviceChoice choice;
  gpu_loader::GpuAccess gpu;
  bool HasGpu() const { return !gpu.reason; }
};

Devices FindDevices(const BenchFlags& flags) {
  constexpr const char* kFlag = "--dlroof_device";
  Devices devices{.choice = gpu_loader::ParseDevice(flags.device, kFlag)};
  devices.gpu = gpu_loader::AccessGpu(devices.choice, kFlag);
  gpu_loader::RegisterGpu(devices.gpu);
  if (devices.choice.gpu_requested && !devices.HasGpu())
    std::cerr << fmt::format("No GPU can be used: {}.\n", devices.gpu.reason->text);
  return devices;
}

std::vector<suites::Suite> Suites(const BenchFlags& flags, const Devices& devices) {
  const auto& choice = devices.choice;
  auto suites =
      suites::SelectSuites(flags.suites, {choice.cpu, devices.HasGpu() || choice.gpu_requested});
  suites =
      suites::Chosen(suites::OnDevices(std::move(suites), choice.cpu, choice.gpu), flags.choices);
  suites = suites::InCacheState(std::move(suites), flags.cache);
  if (flags.algorithm && *flags.algorithm != kEveryAlgorithm)
    suites = suites::WithAlgorithm(std::move(suites), *flags.algorithm);
  std::cerr << suites::SkippedSentences(suites);
  return suites;
}

// Returns whether --benchmark_filter selects the benchmark. Google Benchmark matches names with
// "/real_time" or "/manual_time" appended.
bool Runs(const workload::Workload& workload, const std::string& filter) {
  return KeptByFilter(
      filter, record::ListedName(workload::ToText(workload.name), UsesManualTime(workload)));
}

// Returns the largest number of threads of a CPU benchmark that runs, or 0.
int MostThreads(const std::vector<workload::Workload>& workloads,
                const workload::RunSettings& settings, const std::string& filter) {
  int most = 0;
  for (const auto& workload : workloads)
    if (workload.name.device == "cpu" && Runs(workload, filter))
      most = std::max(most, workload.threads.value_or(settings.threads));
  return most;
}

// Returns whether --benchmark_filter selects a benchmark of the device.
bool Runs(const std::vector<workload::Workload>& workloads, const std::string& device,
          const std::string& filter) {
  return std::any_of(workloads.begin(), workloads.end(), [&](const workload::Workload& workload) {
    return workload.name.device == device && Runs(workload, filter);
  });
}

// Returns the thread counts for which ceilings are needed: 1 (the HTML page compares one thread
// with all, and a breakdown's calls on one thread are judged by them), the run's, and those in
// benchmark names that do not exceed the number of CPUs. In an --dlroof_explain run, the run's
// count is left out if every benchmark has its own.
std::vector<int> ThreadCounts(const std::vector<workload::Workload>& workloads,
                              const workload::RunSettings& settings, const BenchFlags& flags) {
  std::set<int> counts = {1};
  if (!flags.explain) counts.insert(settings.threads);
  for (const workload::Workload& workload : workloads)
    if (const int threads = workload.threads.value_or(settings.threads);
        workload.name.device == "cpu" && static_cast<size_t>(threads) <= settings.cpus.size() &&
        (!flags.explain || Runs(workload, flags.filter)))
      counts.insert(threads);
  return {counts.begin(), counts.end()};
}

// Throws BadInput if a device has two files, or if a GPU has a file but no GPU can be used.
void CheckMachineFiles(const BenchFlags& flags, const Devices& devices) {
  if (flags.WithoutRoofs()) return;
  std::set<std::string> seen;
  for (const auto& file : flags.machine_files) {
    const auto machine = machine_file::ReadMachineFile(file);
    if (!seen.insert(machine.device).second)
      throw BadInput("--dlroof_machine: {}: a second file for device {}", file, machine.device);
    if (machine.device != "cpu" && machine.device != "gpu")
      throw BadInput("{}: \"device\" is \"{}\"; expected \"cpu\" or \"gpu\"", file, machine.device);
    if (machine.device == "gpu" && !devices.HasGpu())
      throw BadInput("{}: these are ceilings of a GPU, but no GPU can be used: {}", file,
                     devices.gpu.reason->text);
  }
}

// Returns the machine file specified for the device, or "" as MachineOptions::file expects it.
std::string MachineFile(const BenchFlags& flags, const std::string& device) {
  for (const auto& file : flags.machine_files)
    if (machine_file::ReadMachineFile(file).device == device) return file;
  return "";
}

// If the build has a CUDA module but no GPU is measured, prints the reason. If a GPU was requested,
// FindDevices has already printed it.
void PrintGpuReason(const Devices& devices) {
  std::error_code none;
  const auto& choice = devices.choice;
  if (!devices.HasGpu() && choice.cpu && choice.gpu &&
      std::filesystem::exists(gpu_loader::ModuleBesideProgram(), none))
    std::cerr << fmt::format("Only the CPU is measured: {}.\n", devices.gpu.reason->text);
}

// Returns the pipes under whose roofs the selected CPU benchmarks may be placed.
std::set<std::string> PipesOf(const std::vector<workload::Workload>& workloads,
                              const std::string& filter) {
  std::set<std::string> pipes;
  for (const auto& workload : workloads)
    if (workload.name.device == "cpu" && Runs(workload, filter))
      pipes.merge(NeededPipes(workload.name.type, workload::ToText(workload.name)));
  return pipes;
}

// Returns a function that reports progress to the program that started this one, or on stderr.
ProgressFunction ProgressOf(const BenchFlags& flags) {
  if (flags.progress_pipe)
    return [pipe = *flags.progress_pipe](const machine::MeasureProgress& progress) {
      WriteProgress(pipe, progress);
    };
  auto printer = std::make_shared<machine::ProgressPrinter>(std::cerr, machine::StderrIsTerminal());
  return [printer](const machine::MeasureProgress& progress) { (*printer)(progress); };
}

// Returns the machines (ceilings) of all devices that have benchmarks.
std::vector<machine::Machine> Machines(const BenchFlags& flags, const std::vector<int>& threads,
                                       const std::vector<workload::Workload>& workloads,
                                       const Devices& devices) {
  if (flags.WithoutRoofs()) return {};
  machine_file::MachineOptions options;
  options.threads = threads;
  options.live_check = flags.live_check;
  options.progress = ProgressOf(flags);
  std::vector<machine::Machine> machines;
  options.file = MachineFile(flags, "cpu");
  options.needs = PipesOf(workloads, flags.filter);
  if (Runs(workloads, "cpu", flags.filter))
    machines.push_back(machine_file::CachedOrMeasuredCpu(options, std::cerr));
  PrintGpuReason(devices);
  if (!devices.HasGpu() || !Runs(workloads, "gpu", flags.filter)) return machines;
  options.file = MachineFile(flags, "gpu");
  if (auto gpu = gpu_loader::CachedOrMeasuredGpu(devices.gpu, options, std::cerr))
    machines.push_back(std::move(*gpu));
  return machines;
}

workload::RunSettings Settings(const BenchFlags& flags) {
  const cpu::Cpu cpu = cpu::ThisCpu();
  const int allowed = static_cast<int>(cpu.allowed.size());
  workload::RunSettings settings;
  settings.threads = flags.threads.value_or(allowed);
  if (settings.threads > allowed)
    throw BadInput(
        "--dlroof_threads={}: this process may use {} CPUs, and each thread needs its own CPU",
        settings.threads, allowed);
  settings.cpus = cpu::SpreadCpus(cpu, allowed);
  settings.seed = flags.seed;
  settings.counters = flags.counters;
  return settings;
}

// Adds the files of the libraries, and takes back that threads are pinned if those of a library are
// its own.
void AddLoadedLibraries(nlohmann::json& context) {
  for (const auto& [name, file, facts] : library_files::LoadedLibraries()) {
    context["loaded"][name] = {{"file", file},
                               {"version", facts.version},
                               {"commit", facts.commit},
                               {"threading", facts.threading}};
    if (!facts.threads_controlled) context.erase("pinned_cpus");
  }
}

nlohmann::json Context(const std::string& command, const BenchFlags& flags,
                       const workload::RunSettings& settings,
                       const std::vector<suites::Suite>& suites, const Devices& devices) {
  auto context = RunContext(command, settings);
  context["repetitions"] = {{"asked", flags.repetitions}};
  if (const auto rule = RuleFrom(flags)) {
    context["repetitions"]["max_noise"] = rule->max_noise;
    context["repetitions"]["max_seconds"] = rule->max_seconds;
  }
  if (flags.keep_noisy) context["disturbed"] = "keep";
  context["gpu"] = devices.HasGpu() ? devices.gpu.device.name : devices.gpu.reason->text;
  if (auto described = suites::SuitesContext(suites); !described.empty())
    context["suites"] = std::move(described);
  AddLoadedLibraries(context);
  return context;
}

void WriteHtml(const live::Session& session, const std::string& path) {
  std::ostringstream page;
  page::WritePage(roofline::PlaceRun(session.file()), page);
  WriteFile(path, page.str());
}

std::function<gpu::GpuClock()> GpuOpener(const Devices& devices) {
  if (!devices.HasGpu()) return {};
  return [gpu = devices.gpu] { return gpu.module->clock(gpu.device.number); };
}

cpu::TeamState BestState(const live::Session& session, int threads) {
  for (const auto& machine : session.file().machines) {
    if (machine.device != "cpu") continue;
    if (threads == 1) return {machine.issue_rate, std::nullopt};
    if (const auto* set = machine::ForThreads(machine, threads)) return set->best_state;
  }
  return {};
}

// Opens the CPU's energy counters if the flags request energy.
EnergyPass EnergyPassOf(const BenchFlags& flags, const std::vector<workload::Workload>& workloads) {
  EnergyPass pass{.cpu = {}, .meter_seconds = flags.meter_seconds};
  if (!flags.energy) return pass;
  pass.gpu_runs = Runs(workloads, "gpu", flags.filter);
  pass.cpu.emplace();
  if (!Runs(workloads, "cpu", flags.filter)) return pass;
  pass.cpu = energy::OpenEnergyMeter({energy::SysfsRoot(), cpu::ThisCpu().allowed},
                                     energy::AllEnergySources());
  if (pass.cpu->from.empty())
    std::cerr << fmt::format("--dlroof_energy: the CPU's energy cannot be measured: {}\n",
                             energy::NoEnergyReason(*pass.cpu).text);
  return pass;
}

// Returns the largest component of the breakdown of a record of the session with this profile.
std::optional<breakdown::ComponentKind> LargestComponent(const live::Session& session,
                                                         const std::string& name,
                                                         const ParallelTime& profile) {
  const auto& file = session.file();
  const auto found = std::ranges::find(file.records, name, &record::Record::name);
  if (found == file.records.end()) return std::nullopt;
  auto record = roofline::Written(*found);
  record.parallel = profile;
  const auto placed = roofline::PlaceWritten(record, record::MachineFor(file, record));
  const auto* largest = placed.breakdown ? placed.breakdown->Largest() : nullptr;
  if (largest == nullptr) return std::nullopt;
  return largest->kind;
}

// The returned options refer to `session`.
std::optional<ExplainOptions> ExplainOptionsOf(const BenchFlags& flags,
                                               const live::Session& session) {
  if (!flags.explain) return std::nullopt;
  return ExplainOptions{.limit_seconds = flags.explain_seconds,
                        .instructions = flags.instructions,
                        .largest =
                            [&session](const std::string& name, const ParallelTime& profile) {
                              return LargestComponent(session, name, profile);
                            },
                        .progress = ProgressOf(flags),
                        .reports_timing = flags.progress_pipe.has_value()};
}

timing::GpuTiming GpuTimingOf(const BenchFlags& flags) {
  timing::GpuTiming timing{.min_seconds = flags.min_seconds, .steady = flags.gpu_steady};
  if (flags.gpu_clock_mhz) timing.clock_hz = 1e6 * *flags.gpu_clock_mhz;
  return timing;
}

// The returned options refer to `session` and `turns`.
RunnerOptions Options(const BenchFlags& flags, const std::vector<workload::Workload>& workloads,
                      const Devices& devices, const live::Session& session,
                      std::optional<TurnClient>& turns) {
  return {.open_gpu = GpuOpener(devices),
          .turns = turns ? &*turns : nullptr,
          .best_state = [&session](int team) { return BestState(session, team); },
          .gpu = GpuTimingOf(flags),
          .stop = RuleFrom(flags),
          .keep_noisy = flags.keep_noisy,
          .explain = ExplainOptionsOf(flags, session),
          .benchmarks = static_cast<int>(std::ranges::count_if(
              workloads, [&](const auto& workload) { return Runs(workload, flags.filter); })),
          .energy = EnergyPassOf(flags, workloads)};
}

// Tries the algorithms of the selected benchmarks. Returns the exit code: 1 if a benchmark has no
// algorithm with a right result.
int TryEveryAlgorithm(std::vector<workload::Workload> workloads,
                      const workload::RunSettings& settings, const BenchFlags& flags,
                      const Devices& devices) {
  std::erase_if(workloads, [&](const auto& workload) { return !Runs(workload, flags.filter); });
  std::optional<gpu::GpuClock> open;
  if (devices.HasGpu() && Runs(workloads, "gpu", "")) open = GpuOpener(devices)();
  const auto tried = TryAlgorithms(workloads, settings);
  if (flags.display == OutputFormat::kJson)
    std::cout << JsonText(ToJson(tried), 1) << '\n';
  else
    WriteTrials(tried, std::cout);
  if (flags.out_file) WriteFile(*flags.out_file, JsonText(ToJson(tried), 1) + "\n");
  return EachHasARightAlgorithm(tried) ? 0 : 1;
}

// Returns the exit code. `stopped` says what stopped this process that no waiting ends.
int RunAndReport(live::Session& session, const BenchFlags& flags,
                 const std::function<std::optional<Reason>()>& stopped) {
  live::TerminalReporter table(session, flags.verbose, stopped);
  live::RunFileReporter json_display(session);
  live::RunFileReporter json_file(session);
  benchmark::BenchmarkReporter* display =
      flags.display == OutputFormat::kTable ? &table
      : flags.display == OutputFormat::kJson
          ? static_cast<benchmark::BenchmarkReporter*>(&json_display)
          : nullptr;
  live::CsvFileReporter csv_file;
  live::ConsoleFileReporter console_file(benchmark::ConsoleReporter::OO_None);
  const auto file = [&]() -> benchmark::BenchmarkReporter* {
    if (!flags.out_file) return nullptr;
    if (flags.out_format == OutputFormat::kJson) return &json_file;
    if (flags.out_format == OutputFormat::kCsv) return &csv_file;
    return &console_file;
  }();
  benchmark::RunSpecifiedBenchmarks(display, file);
  // Unregisters the benchmarks before exit destroys objects of libraries that were loaded late,
  // which the benchmarks use.
  benchmark::ClearRegisteredBenchmarks();
  benchmark::Shutdown();

  if (!json_file.Written() || !json_display.Written() || !csv_file.Written() ||
      !console_file.Written())
    throw BadInput(flags.out_file.value_or("standard output") +
                   ": not all could be written (disk full?)");
  if (flags.html_file) WriteHtml(session, *flags.html_file);
  if (StoppedByInterrupt()) return 130;
  return session.AnyFailed() ? 1 : 0;
}

int Run(std::vector<std::string> args) {
  if (AsksForSimulatedCall(args)) return RunSimulatedCall(args);
  RefusePinning();
  BenchFlags flags;
  if (AsksForHelp(args)) {
    PrintHelp();
    return 0;
  }
  AddDefaultFlags(args);
  AdaptMinTime(args);
  ReadBenchmarkFlags(args, flags);
  const auto command = CommandLine(args);
  ReadOwnFlags(OwnArguments(args), flags);
  // Google Benchmark runs the most repetitions that the rule may use; of equal flags the last
  // counts.
  if (const auto stop = RuleFrom(flags))
    args.push_back(fmt::format("--benchmark_repetitions={}", OfferedRepetitions(*stop, flags)));
  auto pointers = Pointers(args);
  int count = static_cast<int>(args.size());
  benchmark::Initialize(&count, pointers.data());  // stores the address of the program's name
  RefuseBenchmarkFlags({pointers.begin() + 1, pointers.begin() + count});
  if (flags.onednn) library_files::UseLibraryFile("onednn", *flags.onednn, "--dlroof_onednn");
  if (flags.explain) ExpectRegions();
  if (ListedSuites(flags)) return 0;
  for (const auto& path : {flags.html_file, flags.out_file}) CheckWritable(path);

  workload::RunSettings settings = Settings(flags);
  const auto devices = FindDevices(flags);
  if (devices.HasGpu()) settings.gpu = devices.gpu.device.name;
  CheckMachineFiles(flags, devices);
  const auto suites = Suites(flags, devices);
  const auto workloads = suites::WorkloadsOf(suites);
  if (flags.algorithm == kEveryAlgorithm)
    return TryEveryAlgorithm(workloads, settings, flags, devices);
  RefuseThreadLimit(MostThreads(workloads, settings, flags.filter));
  const auto limits = cpu::FactsOfThisProcess(energy::SysfsRoot());
  std::optional<QuotaWatch> quota;
  if (const auto found = cpu::QuotaFrom(limits)) quota.emplace(*found, limits.read);
  const auto threads = ThreadCounts(workloads, settings, flags);
  if (const auto warning = CountersWarning(flags.counters)) std::cerr << *warning;
  std::optional<TurnClient> turns;
  if (flags.turn_pipes) turns.emplace(*flags.turn_pipes);
  StopOnInterrupt();

  const auto machines = [&] { return Machines(flags, threads, workloads, devices); };
  std::vector<machine::Machine> specified;
  if (!flags.machine_files.empty()) specified = machines();
  auto context = Context(command, flags, settings, suites, devices);
  if (auto found = LimitsContext(cpu::FindLimits(limits)); !found.is_null())
    context["limits"] = std::move(found);
  live::Session session(std::move(context),
                        [&] { return specified.empty() ? machines() : specified; });
  auto options = Options(flags, workloads, devices, session, turns);
  if (quota) options.quota = &*quota;
  session.Add(RegisterWorkloads(workloads, settings, options));
  if (!flags.lists_only) std::cerr << suites::SelectionSentence(suites);
  const auto stopped = [&] { return quota ? quota->Stopped(quota->Read()) : std::nullopt; };
  return RunAndReport(session, flags, stopped);
}

}  // namespace
}  // namespace dlroof::runner

int main(int argc, char** argv) {
  return dlroof::RunProgram("dlroof_bench", [&] {
    return dlroof::runner::Run({argv, argv + argc});
  });
}
