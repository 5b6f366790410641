#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "baselines/programs/gpu_program.h"
#include "baselines/programs/program_summary.h"
#include "bench/gpu_loader/loader.h"
#include "bench/profile/profile.h"
#include "bench/profile/verbose_run.h"
#include "ceilings/machine_file/specified_machine.h"
#include "counters/base/error.h"
#include "counters/base/files.h"
#include "counters/base/json_text.h"
#include "counters/base/process.h"
#include "counters/cpu/clocks.h"
#include "counters/gpu/session.h"
#include "counters/gpu_trace/read.h"
#include "reporters/imports/import.h"
#include "reporters/record/run_file.h"
#include "reporters/roofline/placed_run.h"
#include "reporters/text/text.h"

namespace dlroof::profile {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLibrary = "libdlroof_gpu_trace.so";

fs::path TraceLibrary() { return gpu_loader::GpuModuleFile().parent_path() / kLibrary; }

std::string CuptiFiles() {
  std::vector<std::string> files;
  std::error_code none;
  const auto library = TraceLibrary();
  for (const auto& folder : gpu_loader::CudaFolders(library.parent_path()))
    for (const char* name : {"libcupti.so.13", "libcupti.so.12"})
      if (fs::exists(folder / name, none)) files.push_back(folder / name);
  return fmt::format("{}", fmt::join(files, ":"));
}

// Subfolders for traces of further runs of the program, for members of programs::OtherRuns.
constexpr const char *kNodes = "nodes", *kCalls = "calls";

// Returns the variables that load the tracer. `detail`: the value of DLROOF_GPU_TRACE_DETAIL.
Variables TraceVariables(const std::string& folder, const std::string& detail) {
  const auto library = TraceLibrary().string();
  return {{"CUDA_INJECTION64_PATH", library},
          {"NVTX_INJECTION64_PATH", library},
          {"DLROOF_GPU_TRACE_FOLDER", folder},
          {"DLROOF_GPU_TRACE_DETAIL", detail},
          {"DLROOF_GPU_TRACE_CUPTI", CuptiFiles()}};
}

// Returns the chip of --chip or else of the traced GPU. The chip selects the metrics for ncu.
const gpu::CuptiChip& ChipOf(const GpuProfileRequest& request,
                             const programs::GpuTimeline& timeline) {
  const auto& table = gpu::BuiltInCuptiTable();
  if (request.chip) return *gpu::FindChip(table, *request.chip);  // checked by ProfileGpuProgram
  for (const auto& chip : table.chips)
    if (static_cast<std::uint32_t>(chip.compute_capability) == timeline.compute_capability)
      return chip;
  throw BadInput("the table of counters has no chip like this GPU: name one of {} with --chip",
                 gpu::ChipNames(table));
}

// Runs the program again under ncu and returns the counted kernels. Throws BadInput, with the
// reason, if ncu counts none.
programs::KernelCounts CountKernels(const GpuProfileRequest& request, int pid,
                                    programs::GpuProgram& program, std::ostream& out) {
  const auto& timeline = program.timelines.front();
  gpu::NcuChoice choice;
  choice.program = FindNcu();
  // ncu slows down all processes that it attaches to; a program may start many to compile kernels.
  choice.only_program = timeline.pid && static_cast<int>(*timeline.pid) == pid;
  const auto metrics = gpu::NcuMetrics(gpu::BuiltInCuptiTable(), ChipOf(request, timeline));
  const double budget = request.budget_seconds.value_or(kCountingSeconds);
  const auto most = std::max(1.0, budget / programs::kCountSeconds);
  const auto selection = programs::SelectLaunches(timeline, static_cast<std::size_t>(most));
  if (selection.launches == 0)
    throw BadInput("the budget of {:.3g} s is too small for a kernel", budget);
  Say(out,
      "runs the program again under Nsight Compute, which counts {} launches of {} kernels: "
      "{} of the kernels' time, about {:.0f} s beside the program's own until then",
      selection.launches, selection.kernels.size(), text::PercentText(selection.share),
      static_cast<double>(selection.launches) * programs::kCountSeconds);
  const double begin = cpu::WallSeconds();
  auto arguments = selection.arguments;
  arguments.insert(arguments.end(), request.program.command.begin(), request.program.command.end());
  const auto table = RunNcu(choice, metrics, arguments).table;
  program.counting.seconds = cpu::WallSeconds() - begin;
  auto counted =
      programs::JoinCounts(timeline, selection, imports::ReadCountedLaunches(table, "ncu's table"));
  if (counted.empty())
    throw BadInput("ncu counted no kernel of the trace: does each run launch the same kernels?");
  return counted;
}

record::RunFile RunFileOf(const GpuProfileRequest& request, programs::GpuProgram& program,
                          const programs::KernelCounts& counted,
                          const std::optional<machine::Machine>& machine, std::ostream& out) {
  const auto set = request.program.command.empty()
                       ? std::string("gpu")
                       : fs::path(request.program.command.front()).filename().string();
  auto records = programs::RecordsOf(program, set, counted);
  auto run = imports::ImportedRun(std::move(records), machine, {{}, {}}, out);
  auto& own = run.context["dlroof"];
  own["command"] =
      fmt::format("dlroof profile --gpu -- {}", fmt::join(request.program.command, " "));
  own["gpu_program"] = programs::ToJson(program);
  return run;
}

void Count(const GpuProfileRequest& request, int pid, programs::GpuProgram& program,
           programs::KernelCounts& counted, std::ostream& out) {
  if (request.program.command.empty() || !(request.budget_seconds.value_or(kCountingSeconds) > 0))
    return;
  program.counting.requested = true;
  if (program.stopped) {
    program.counting.reason = Reason{"the program was ended early"};
    return;
  }
  try {
    counted = CountKernels(request, pid, program, out);
  } catch (const std::runtime_error& refused) {
    program.counting.reason = Reason{refused.what()};
  }
}

// Reports traces; writes the run file if they contain work. `pid`: of the program, 0 if none ran.
void ReportTraces(const GpuProfileRequest& request, int pid, programs::GpuProgram program,
                  const std::optional<machine::Machine>& machine, std::ostream& out) {
  if (const auto nothing = programs::NothingTraced(program)) {
    Say(out, "{}", nothing->text);
    for (const auto& process : program.processes)
      for (const auto& remark : process.remarks) Say(out, "{}", remark);
    return;
  }
  programs::KernelCounts counted;
  Count(request, pid, program, counted, out);
  auto run = RunFileOf(request, program, counted, machine, out);
  WriteFile(request.program.output, JsonText(roofline::ToJson(run)) + '\n');
  const auto placed = roofline::PlaceRun(std::move(run));
  document::Write(programs::GpuProgramDocument(placed), MessageColumns(), out);
  Say(out, "wrote {}", request.program.output);
}

bool HasModules(const std::vector<gpu_trace::Trace>& traces) {
  return std::ranges::any_of(traces, [](const auto& trace) {
    return std::ranges::any_of(trace.texts, [](const std::string& text) {
      return text.starts_with(programs::kModuleSpan);
    });
  });
}

std::optional<machine::Machine> MachineOf(const GpuProfileRequest& request) {
  if (!request.program.machine || *request.program.machine == "none") return std::nullopt;
  return machine_file::ReadMachineFile(*request.program.machine);
}

void SayEnd(const GpuProfileRequest& request, const ForegroundEnd& end, std::ostream& out) {
  if (end.out_of_time)
    Say(out, "{} was ended after {:.3g} s (--duration)", request.program.command.front(),
        *request.program.most_seconds);
  else if (end.end.signal != 0 || end.end.exit_code != 0)
    Say(out, "{} ended with {}", request.program.command.front(), Describe(end.end));
}

void ReportStored(const GpuProfileRequest& request, const std::optional<machine::Machine>& machine,
                  std::ostream& out) {
  const auto traces = gpu_trace::ReadTraces(*request.stored_trace);
  if (traces.empty())
    throw BadInput("profile: {}: no trace (*.gputrace) in this folder", *request.stored_trace);
  const fs::path folder = *request.stored_trace;
  ReportTraces(request, 0,
               programs::ProgramOfTraces(traces, request.program.steps,
                                         {gpu_trace::ReadTraces(folder / kNodes),
                                          gpu_trace::ReadTraces(folder / kCalls)}),
               machine, out);
}

// Returns the folder for trace files, which is new or empty; creates it if necessary.
std::string TraceFolder(const GpuProfileRequest& request, const TemporaryFolder& temporary) {
  if (!request.trace_folder) return temporary / "";
  auto folder = fs::absolute(*request.trace_folder).string();
  std::error_code error;
  if (!fs::create_directories(folder, error) && (error || !fs::is_empty(folder, error)))
    throw BadInput("profile: --trace {}: expected a folder that is new or empty",
                   *request.trace_folder);
  return folder;
}

// Runs the program again without input, discarding its output. Returns its traces.
std::vector<gpu_trace::Trace> RunAgain(const GpuProfileRequest& request, const fs::path& folder,
                                       const char* detail, Variables variables) {
  fs::create_directory(folder / detail);
  for (auto& [name, value] : TraceVariables(folder / detail, detail)) variables[name] = value;
  RunChild(request.program.command, variables);
  return gpu_trace::ReadTraces(folder / detail);
}

// Returns the traced program. If the first run ended normally, runs the program again if that is
// needed to trace the kernels of CUDA graphs, or to measure the overhead of tracing.
programs::GpuProgram ProgramOf(const GpuProfileRequest& request, const ForegroundEnd& run,
                               const std::vector<gpu_trace::Trace>& traces, const fs::path& folder,
                               const Variables& variables, std::ostream& out) {
  programs::OtherRuns others;
  const auto program = [&] {
    return programs::ProgramOfTraces(traces, request.program.steps, others);
  };
  if (run.out_of_time || run.end.signal != 0) return program();
  if (programs::NeedsNodes(traces)) {
    Say(out, "runs the program again to trace each kernel of its CUDA graphs");
    others.nodes = RunAgain(request, folder, kNodes, variables);
  }
  if (programs::NeedsCalls(program())) {
    Say(out, "runs the program again without a trace of its kernels: does the trace slow it down?");
    others.calls = RunAgain(request, folder, kCalls, variables);
  }
  return program();
}

void ReportRun(const GpuProfileRequest& request, const ForegroundEnd& run,
               const std::string& folder, const Variables& variables,
               const std::optional<machine::Machine>& machine, std::ostream& out) {
  const auto traces = gpu_trace::ReadTraces(folder);
  if (request.program.torch && !HasModules(traces))
    Say(out,
        "--torch: no call of a module was marked: the program did not import torch, called its "
        "model less than three times, or its Python ignores PYTHONPATH (-I, -E, -S)");
  auto program = ProgramOf(request, run, traces, folder, variables, out);
  program.command = fmt::format("{}", fmt::join(request.program.command, " "));
  program.wall_seconds = run.wall_seconds;
  if (run.out_of_time)
    program.stopped =
        fmt::format("ended after {:.3g} s (--duration)", *request.program.most_seconds);
  else if (run.end.signal != 0)
    program.stopped = fmt::format("ended with {}", Describe(run.end));
  ReportTraces(request, run.pid, std::move(program), machine, out);
}

}  // namespace

std::string FindNcu() {
  if (FoundInPath("ncu")) return "ncu";
  std::vector<fs::path> folders = {"/usr/local/cuda/bin"};
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/opt/nvidia/nsight-compute", error))
    folders.push_back(entry.path());
  std::sort(folders.begin(), folders.end());
  for (auto folder = folders.rbegin(); folder != folders.rend(); ++folder)
    if (fs::exists(*folder / "ncu", error)) return *folder / "ncu";
  throw BadInput(
      "there is no ncu in PATH, /usr/local/cuda/bin or /opt/nvidia/nsight-compute: install Nsight "
      "Compute (package nsight-compute, or the CUDA toolkit), or add its folder to PATH");
}

NcuRun RunNcu(gpu::NcuChoice choice, const std::vector<std::string>& metrics,
              const std::vector<std::string>& arguments) {
  const TemporaryFolder folder;
  choice.table = folder / "table";
  auto ran = RunChild(gpu::NcuCommand(choice, metrics, arguments));
  auto table = ReadFileIfAny(choice.table);
  if (!imports::LooksLikeNsightCompute(table))
    throw BadInput(gpu::NcuFailureSentence(table + ran.out + ran.err, ran.exit_code));
  return {std::move(ran), std::move(table)};
}

bool CanTraceGpuPrograms() {
  std::error_code none;
  return fs::exists(TraceLibrary(), none);
}

int ProfileGpuProgram(const GpuProfileRequest& request, std::ostream& out) {
  const auto machine = MachineOf(request);
  if (request.chip && gpu::FindChip(gpu::BuiltInCuptiTable(), *request.chip) == nullptr)
    throw BadInput("profile: --chip {}: unknown chip; expected one of {}", *request.chip,
                   gpu::ChipNames(gpu::BuiltInCuptiTable()));
  if (request.stored_trace) {
    ReportStored(request, machine, out);
    return 0;
  }
  const TemporaryFolder temporary;
  const auto folder = TraceFolder(request, temporary);
  const auto notes = temporary / "torch";
  auto variables = TraceVariables(folder, "graphs");
  if (request.program.torch) variables.merge(PrepareTorchHook(HookTask::kRanges, notes));
  ForegroundEnd run;
  try {
    run = RunInForeground({.command = request.program.command,
                           .variables = variables,
                           .most_seconds = request.program.most_seconds,
                           .pipe = true,
                           .take = WriteToStdout});
  } catch (const CannotStart& cannot) {
    Say(out, "profile: {}", cannot.what());
    return ExitCodeOf(cannot);
  }
  SayEnd(request, run, out);
  for (const auto& sentence : TorchNotes(notes)) Say(out, "{}", sentence);
  try {
    ReportRun(request, run, folder, variables, machine, out);
  } catch (const BadInput& bad) {
    Say(out, "profile: {}", bad.what());
  }
  return ExitCodeOf(run);
}

}  // namespace dlroof::profile
