#include "bench/runner/parts_of_run.h"

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <sstream>
#include <utility>

#include "bench/runner/run_context.h"
#include "bench/workload/library_rules.h"
#include "ceilings/machine/rate.h"
#include "ceilings/machine_file/machine_cache.h"
#include "counters/base/files.h"
#include "counters/base/keys.h"
#include "counters/base/process.h"
#include "counters/cpu/cpu.h"
#include "reporters/figure/page.h"
#include "reporters/roofline/placed_run.h"

namespace dlroof::runner {
namespace {

// Returns the machine file specified for the device, or "" as MachineOptions::file expects it.
std::string MachineFile(const BenchFlags& flags, const std::string& device) {
  for (const auto& file : flags.machine_files)
    if (machine_file::ReadMachineFile(file).device == device) return file;
  return "";
}

// With --dlroof_device=auto, prints why no GPU is measured if the build has a CUDA module.
void PrintGpuReason(const Devices& devices) {
  std::error_code none;
  const auto& choice = devices.choice;
  if (!devices.HasGpu() && choice.cpu && choice.gpu &&
      std::filesystem::exists(gpu_loader::GpuModuleFile(), none))
    std::cerr << fmt::format("Only the CPU is measured: {}.\n", devices.gpu.reason->text);
}

// Adds the loaded libraries. Removes "pinned_cpus" if this program does not control their threads.
void AddLoadedLibraries(nlohmann::json& context) {
  for (const auto& [name, file, facts] : workload::LoadedLibraries()) {
    context["loaded"][name] = {{"file", file},
                               {"version", facts.version},
                               {"commit", facts.commit},
                               {"threading", facts.threading}};
    if (!facts.threads_controlled) context.erase("pinned_cpus");
  }
}

void WriteHtml(const live::Session& session, const std::string& path) {
  std::ostringstream page;
  figure::WritePage(figure::PageContent(roofline::PlaceRun(session.file())), page);
  WriteFile(path, page.str());
}

GpuOpener OpenerOf(const Devices& devices) {
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

EnergyPass EnergyPassOf(const BenchFlags& flags, bool cpu_runs) {
  EnergyPass pass;
  if (!flags.energy) return pass;
  pass.cpu.emplace();
  if (!cpu_runs) return pass;
  pass.cpu = energy::OpenEnergyMeter({energy::SysfsRoot(), cpu::ThisCpu().allowed});
  if (pass.cpu->unavailable)
    std::cerr << fmt::format("--dlroof_energy: the CPU's energy cannot be measured: {}\n",
                             pass.cpu->unavailable->text);
  return pass;
}

std::optional<ExplainOptions> ExplainOptionsOf(const BenchFlags& flags) {
  if (!flags.explain) return std::nullopt;
  return ExplainOptions{.limit_seconds = flags.explain_seconds,
                        .progress = ProgressOf(flags),
                        .reports_timing = flags.progress_pipe.has_value()};
}

}  // namespace

std::vector<std::string> InitializeBenchmark(std::vector<std::string> args) {
  static std::vector<std::string> stored;
  stored = std::move(args);
  auto pointers = VectorOf<char*>(stored, [](std::string& arg) { return arg.data(); });
  int count = static_cast<int>(pointers.size());
  pointers.push_back(nullptr);
  benchmark::Initialize(&count, pointers.data());
  return {pointers.begin() + 1, pointers.begin() + count};
}

void CheckWritable(const std::optional<std::string>& path) {
  if (path) const PartFile probe(*path);
}

Devices FindDevices(const BenchFlags& flags) {
  constexpr const char* kFlag = "--dlroof_device";
  Devices devices{.choice = gpu_loader::ParseDevice(flags.device, kFlag)};
  devices.gpu = gpu_loader::AccessGpu(devices.choice, kFlag);
  gpu_loader::RegisterGpu(devices.gpu);
  if (devices.choice.gpu_requested && !devices.HasGpu())
    std::cerr << fmt::format("No GPU can be used: {}.\n", devices.gpu.reason->text);
  return devices;
}

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

ProgressFunction ProgressOf(const BenchFlags& flags) {
  if (flags.progress_pipe)
    return [pipe = *flags.progress_pipe](const machine::MeasureProgress& progress) {
      WriteToPipe(pipe, ProgressLine(progress));
    };
  auto printer = std::make_shared<machine::ProgressPrinter>(std::cerr, machine::StderrIsTerminal());
  return [printer](const machine::MeasureProgress& progress) { (*printer)(progress); };
}

std::vector<machine::Machine> Machines(const BenchFlags& flags, const MachineNeeds& needs,
                                       const Devices& devices) {
  if (flags.WithoutRoofs()) return {};
  machine_file::MachineOptions options;
  options.threads = needs.threads;
  options.live_check = flags.live_check;
  options.progress = ProgressOf(flags);
  std::vector<machine::Machine> machines;
  options.file = MachineFile(flags, "cpu");
  options.needs = needs.pipes;
  if (needs.cpu) machines.push_back(machine_file::CachedOrMeasuredCpu(options, std::cerr));
  PrintGpuReason(devices);
  if (!devices.HasGpu() || !needs.gpu) return machines;
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

nlohmann::json Context(const std::string& command, const BenchFlags& flags,
                       const workload::RunSettings& settings, const Devices& devices) {
  auto context = RunContext(command, settings);
  context["repetitions"] = {{"asked", flags.repetitions}};
  if (const auto rule = RuleFrom(flags)) {
    context["repetitions"]["max_noise"] = rule->max_noise;
    context["repetitions"]["max_seconds"] = rule->max_seconds;
  }
  if (flags.keep_noisy) context["disturbed"] = "keep";
  context["gpu"] = devices.HasGpu() ? devices.gpu.device.name : devices.gpu.reason->text;
  AddLoadedLibraries(context);
  const auto limits = cpu::FactsOfThisProcess(energy::SysfsRoot());
  if (auto found = LimitsContext(cpu::FindLimits(limits)); !found.is_null())
    context["limits"] = std::move(found);
  return context;
}

RunnerOptions Options(const BenchFlags& flags, int benchmarks, bool cpu_runs,
                      const Devices& devices, live::Session& session, const QuotaWatch* quota) {
  return {.open_gpu = OpenerOf(devices),
          .session = &session,
          .turns = flags.turn_pipes,
          .best_state = [&session](int team) { return BestState(session, team); },
          .gpu = {.min_seconds = flags.min_seconds, .steady = flags.gpu_steady},
          .stop = RuleFrom(flags),
          .keep_noisy = flags.keep_noisy,
          .interleaved = flags.interleaved,
          .explain = ExplainOptionsOf(flags),
          .benchmarks = benchmarks,
          .energy = EnergyPassOf(flags, cpu_runs),
          .quota = quota};
}

RunReporters::RunReporters(live::Session& session, const BenchFlags& flags, const QuotaWatch* quota)
    : session_(session),
      flags_(flags),
      table_(session, flags.verbose,
             [quota] { return quota != nullptr ? quota->Stopped(quota->Read()) : std::nullopt; }),
      json_display_(session),
      json_file_(session) {}

benchmark::BenchmarkReporter* RunReporters::display() {
  if (flags_.display == OutputFormat::kTable) return &table_;
  return flags_.display == OutputFormat::kJson ? &json_display_ : nullptr;
}

benchmark::BenchmarkReporter* RunReporters::file() {
  if (!flags_.out_file) return nullptr;
  if (flags_.out_format == OutputFormat::kJson) return &json_file_;
  if (flags_.out_format == OutputFormat::kCsv) return &csv_file_;
  return &console_file_;
}

int RunReporters::End() {
  if (!json_file_.Written() || !json_display_.Written() || !csv_file_.Written() ||
      !console_file_.Written())
    throw BadInput(flags_.out_file.value_or("standard output") +
                   ": not all could be written (disk full?)");
  if (flags_.part) flags_.part->End(!StoppedByInterrupt(), std::cerr);
  if (StoppedByInterrupt()) return InterruptCode();
  if (flags_.html_file) WriteHtml(session_, *flags_.html_file);
  return session_.AnyFailed() ? 1 : 0;
}

std::set<std::string> NeededPipes(std::string_view type, std::string_view options) {
  const auto has = [](std::string_view text, std::string_view part) {
    return text.find(part) != std::string_view::npos;
  };
  std::set<std::string> pipes = {"fp32.vector"};
  const auto add = [&](const std::string& element) {
    pipes.insert({element + ".vector", element + ".matrix"});
  };
  const bool converts = has(options, "fpmath");  // f32 may be multiplied in another type
  const bool bf16 = has(type, "bf16");
  if (has(type, "f64")) add("fp64");
  if (bf16 || converts) add("bf16");
  // Finds "f16" unless it is the end of "bf16".
  for (auto at = type.find("f16"); at != std::string_view::npos; at = type.find("f16", at + 1))
    if (at == 0 || type[at - 1] != 'b') add("fp16");
  if (converts) {
    add("fp16");
    add("tf32");
  }
  if (has(type, "8")) add("int8");
  return pipes;
}

}  // namespace dlroof::runner
