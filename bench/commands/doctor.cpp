// dlroof doctor: shows what can be measured on this machine.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <numeric>
#include <optional>
#include <thread>
#include <vector>

#include "bench/commands/commands.h"
#include "bench/gpu_loader/loader.h"
#include "bench/runner/run_context.h"
#include "bench/workload/library_rules.h"
#include "bench/workload/workload.h"
#include "ceilings/machine_file/machine_cache.h"
#include "counters/base/counter_manager.h"
#include "counters/base/error.h"
#include "counters/base/numbers.h"
#include "counters/base/program.h"
#include "counters/base/version.h"
#include "counters/cpu/clocks.h"
#include "counters/cpu/cpu.h"
#include "counters/cpu/process_limits.h"
#include "counters/energy/energy_meter.h"
#include "counters/gpu/session.h"
#include "counters/perf/perf_events.h"
#include "reporters/text/text.h"

namespace dlroof::commands {
namespace {

// [s] Durations of the checks for frozen clocks and for a shared core.
struct Durations {
  double freezes = 2, core = 1;
};

// Prints a line and flushes it, because the next check may hang or crash in a driver.
void Line(const std::string& topic, const std::string& text) {
  std::cout << fmt::format("{:<12} {}\n", topic, text) << std::flush;
}

std::string Kibibytes(double bytes) {
  return bytes < 1048576 ? fmt::format("{:.0f} KiB", bytes / 1024)
                         : fmt::format("{:.1f} MiB", bytes / 1048576);
}

void ReportCpu(const cpu::Cpu& cpu) {
  Line("cpu", fmt::format("{}: {} cores, {} CPUs, of which {} allowed; {} NUMA node{}", cpu.name,
                          cpu.topology.cores, cpu.topology.cpus, cpu.allowed.size(),
                          cpu.topology.numa_nodes, cpu.topology.numa_nodes == 1 ? "" : "s"));
  Line("features", cpu.features.empty()
                       ? std::string("none that the kernels use: portable kernels run")
                       : fmt::format("{}", fmt::join(cpu.features, " ")));
  std::string caches;
  for (const auto& [level, by_cpu] : cpu.topology.cache_of_cpu)
    if (!by_cpu.empty())
      caches += fmt::format("{}{} {}", caches.empty() ? "" : ", ", Key(level),
                            Kibibytes(by_cpu.begin()->second.bytes));
  Line("caches", caches.empty() ? "not known: the OS does not report them" : caches);
  if (const auto memory = cpu::AvailableMemoryBytes())
    Line("memory", fmt::format("{:.1f} GB can be allocated", *memory / 1e9));
}

void ReportLimits(const cpu::LimitFacts& facts) {
  std::string topic = "limits";
  for (const auto& limit : cpu::FindLimits(facts)) {
    Line(topic, fmt::format("{}: {}: {}", cpu::Key(limit.kind), limit.found, limit.effect));
    topic.clear();
  }
  if (!topic.empty())
    Line(
        topic,
        "none: every CPU, no quota of CPU time, no limit of memory, huge pages, and no variable of "
        "OpenMP that interferes");
}

void ReportClocks(double seconds, const cpu::LimitFacts& limits) {
  const auto quota = runner::WatchQuota(limits);
  const auto watch = cpu::WatchFreezes(seconds);
  const auto stopped = quota ? quota->Stopped(quota->Read()) : std::nullopt;
  const double lost = std::accumulate(watch.gaps.begin(), watch.gaps.end(), 0.0);
  if (watch.gaps.empty()) {
    Line("clocks",
         fmt::format("steady: a {:.2g} s busy loop saw no gap of 1 ms or more", watch.seconds));
    return;
  }
  const auto waited =
      watch.run_delay ? text::WithPrefix(*watch.run_delay, "s") : std::string("an unknown time");
  Line(
      "clocks",
      fmt::format("a {:.2g} s busy loop stood still {} times, {:.2g} % of the time (longest {}); "
                  "it waited {} for a CPU, and the host used the rest. Such repetitions are marked "
                  "noisy{}",
                  watch.seconds, watch.gaps.size(), 100 * lost / watch.seconds,
                  text::WithPrefix(*std::max_element(watch.gaps.begin(), watch.gaps.end()), "s"),
                  waited, stopped ? "; " + stopped->text : ""));
}

// Returns Machine::issue_rate [1/cycle] of the cached ceilings, or nullopt if there is none.
std::optional<double> KnownIssueRate() {
  const auto directory = CacheDirectory();
  if (!directory) return std::nullopt;
  const auto path = machine_file::CachePath(*directory, cpu_ceilings::DescribeCpu(cpu::ThisCpu()));
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return std::nullopt;
  try {
    return machine_file::ReadMachineFile(path).issue_rate;
  } catch (const BadInput&) {
    return std::nullopt;  // a later run measures the ceilings again
  }
}

void ReportCoreShare(double seconds) {
  cpu::SharesOfBest shares({KnownIssueRate(), std::nullopt});
  const auto share = [&](double rate) { return *shares.OfLower({rate, std::nullopt}, {}).core; };
  std::vector<double> rates;
  const double begin = cpu::WallSeconds();
  while (cpu::WallSeconds() - begin < seconds) {
    rates.push_back(cpu::MeasureIssueRate());
    share(rates.back());
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  const double median = share(Median(rates));
  Line("core",
       fmt::format("a thread gets {:.0f} % of the best issue rate{}", 100 * median,
                   median >= cpu::kMinCoreShare
                       ? ""
                       : ": another hardware thread is busy on the core (the host's, if no other "
                         "program runs on this machine). Such single-threaded repetitions are "
                         "marked noisy"));
}

void ReportSource(const std::string& topic, const CounterSource& source) {
  const auto reason = source.unavailable ? source.unavailable() : std::nullopt;
  Line(topic, fmt::format("--dlroof_counters={} ({}, {}): {}", source.name, source.device,
                          Key(source.provenance), reason ? reason->text : "available"));
}

// Prints this program's counter sources: with `counting` those whose counting code it contains,
// otherwise those whose counting code is in the CUDA module.
void ReportSources(bool counting) {
  for (const auto& source : AllCounterSources())
    if (counting == (source.count != nullptr)) ReportSource("", source);
}

// Prints the CPU's energy counters for --dlroof_energy. Those of a GPU are not examined.
void ReportEnergy(const cpu::Cpu& cpu) {
  const auto meter = energy::OpenEnergyMeter({energy::SysfsRoot(), cpu.allowed});
  if (meter.unavailable) return Line("energy", meter.unavailable->text);
  std::string names;
  for (const auto& domain : meter.domains)
    names += fmt::format("{}{}{}", names.empty() ? "" : ", ", domain.name,
                         domain.counted ? "" : " (not added)");
  Line("energy", fmt::format("{}: {} ({})", meter.from, names, meter.covers));
}

void ReportLibraries() {
  for (const auto& library : workload::AllLibraries()) Line(library.name, library.description());
  for (const auto& [name, file, facts] : workload::LoadedLibraries())
    Line("", fmt::format("{}: {}", file,
                         facts.threads_controlled
                             ? "its threads are set and pinned"
                             : "it runs on its own threads: their number cannot be set, and they "
                               "are not pinned"));
  if (workload::AllLibraries().empty())
    Line("onednn",
         "not in this build: it has only the benchmarks of the reference loops (ci/run.sh installs "
         "oneDNN)");
  Line("benchmark", fmt::format("Google Benchmark {}", kGoogleBenchmarkVersion));
  Line("gnuplot", std::system("command -v gnuplot >/dev/null 2>&1") == 0
                      ? "found: pictures in the terminal, .svg, .pdf, .png"
                      : "missing: no pictures in the terminal, no .svg, .pdf, .png (apt-get "
                        "install gnuplot-nox)");
}

// Prints the GPU's chip if its counters are known, otherwise all chips with known counters.
void ReportChips(const std::optional<std::string>& capability) {
  const auto& table = gpu::BuiltInCuptiTable();
  const auto chip = std::ranges::find_if(
      table.chips, [&](const auto& known) { return capability == gpu::CapabilityText(known); });
  Line("chip", "counters are known for " +
                   (chip != table.chips.end() ? chip->name : gpu::ChipNames(table)));
}

// Prints GPUs and libraries. Loads the CUDA module even without a driver, to see what is missing.
void ReportGpu() {
  const auto access = gpu_loader::AccessGpu({}, "--device");
  if (!access.reason) {
    for (const auto& device : access.module->devices)
      Line(fmt::format("gpu{}", device.number), device.name);
    if (const auto& reason = access.module->no_backends_reason)
      Line("", "no GPU benchmarks: " + reason->text);
    const auto facts = access.module->describe(access.device.number).facts;
    const auto found = facts.find("gpu.compute_capability");
    ReportChips(found == facts.end() ? std::nullopt : std::optional(found->second));
  } else {
    Line("gpu", access.reason->text);
    ReportChips(std::nullopt);
  }
  const auto [module, load_reason] = gpu_loader::OpenGpuModule(gpu_loader::GpuModuleFile());
  if (module == nullptr) {
    if (load_reason != access.reason) Line("", load_reason->text);
    ReportSources(false);
    return;
  }
  for (const auto& library : module->libraries) Line(library.name, library.description());
  for (const auto& source : module->sources) ReportSource("counters", source);
}

std::string CacheText() {
  const auto directory = CacheDirectory();
  if (!directory) return "no folder for the machine's ceilings: set HOME or XDG_CACHE_HOME";
  std::error_code error;
  std::filesystem::create_directories(*directory, error);
  if (error || access(directory->c_str(), W_OK) != 0)
    return fmt::format("{} cannot be written: ceilings are measured again each time",
                       directory->string());
  const auto path = machine_file::CachePath(*directory, cpu_ceilings::DescribeCpu(cpu::ThisCpu()));
  return fmt::format(
      "{} ({})", path.string(),
      std::filesystem::exists(path, error) ? "measured" : "not measured yet: dlroof machine");
}

// Describes the installed data: stored runs, used by `dlroof compare --baseline auto`.
std::string DataText() {
  const auto folder = DataFolder();
  if (!folder)
    return "no installation: this program is in no P/bin beside P/share/dlroof (DLROOF_DATA names "
           "a "
           "folder)";
  std::error_code error;
  return fmt::format(
      "{}{}", folder->string(),
      std::filesystem::is_directory(*folder, error) ? "" : ": there is no such folder");
}

struct DoctorFlags {
  bool quick = false;
  std::optional<std::string> onednn;
};

int Examine(const DoctorFlags& flags) {
  if (flags.onednn) workload::UseLibraryFile("onednn", *flags.onednn, "doctor: --onednn");
  const auto durations = flags.quick ? Durations{.freezes = 0.05, .core = 0.05} : Durations{};
  Line("dlroof", fmt::format("{} ({}), {}, {}", kVersion, kCommit, kCompiler, kBuildType));
  const auto limits = cpu::FactsOfThisProcess(energy::SysfsRoot());
  ReportCpu(limits.cpu);
  ReportLimits(limits);
  ReportClocks(durations.freezes, limits);
  ReportCoreShare(durations.core);
  Line("counters", perf::PerfSentence(perf::AskPerf()));
  ReportSources(true);
  ReportEnergy(limits.cpu);
  ReportLibraries();
  ReportGpu();
  Line("data", DataText());
  Line("cache", CacheText());
  return 0;
}

Command MakeDoctor() {
  auto flags = std::make_shared<DoctorFlags>();
  return {.name = "doctor",
          .about = "show what can be measured on this machine, and why not",
          .options = {{"--quick", &flags->quick, "observe the clocks for 0.1 s instead of 3 s"},
                      Ruled("--onednn", {.type = kFile}, &flags->onednn,
                            "look at this file of oneDNN, any libdnnl.so.3 from 3.2 on, instead of "
                            "the one that dlroof was built with")},
          .run = [flags] { return Examine(*flags); }};
}

[[maybe_unused]] const bool doctor_registered = RegisterCommand(MakeDoctor);

}  // namespace
}  // namespace dlroof::commands
