#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <ostream>
#include <utility>

#include "baselines/programs/program_report.h"
#include "bench/profile/profile.h"
#include "bench/profile/torch_trace.h"
#include "bench/profile/verbose_run.h"
#include "ceilings/machine_file/machine_cache.h"
#include "counters/base/error.h"
#include "counters/base/files.h"
#include "counters/base/json_text.h"
#include "reporters/roofline/placed_run.h"
#include "reporters/text/text.h"

namespace dlroof::profile {
namespace {

std::optional<machine::Machine> MachineOf(const ProfileRequest& request, std::ostream& messages) {
  if (request.machine == "none") return std::nullopt;
  if (request.machine) return machine_file::ReadMachineFile(*request.machine);
  machine_file::MachineOptions options;
  options.needs.emplace();
  if (request.threads) options.threads = {*request.threads};
  machine::ProgressPrinter progress(messages, machine::StderrIsTerminal());
  options.progress = std::ref(progress);
  return machine_file::CachedOrMeasuredCpu(options, messages);
}

std::string LinesText(std::size_t count) {
  return fmt::format("{} line{} of oneDNN", count, count == 1 ? "" : "s");
}

void ReportEnd(const VerboseRun& run, const std::string& program, std::ostream& messages) {
  const auto& end = run.end;
  if (end.out_of_time)
    Say(messages, "{} was ended after {:.3g} s, as --duration says; the report uses {} until then",
        program, end.wall_seconds, LinesText(run.lines));
  else if (end.end.signal != 0)
    Say(messages, "{} was ended by {} after {:.3g} s; the report uses {} until then", program,
        Describe(end.end), end.wall_seconds, LinesText(run.lines));
  else if (end.end.exit_code != 0)
    Say(messages, "{} ended with {} after {:.3g} s", program, Describe(end.end), end.wall_seconds);
  if (run.cut_lines > 0)
    Say(messages, "{} of oneDNN's lines were cut and have no end", run.cut_lines);
  if (end.left_open)
    Say(messages,
        "another process that {} started keeps its output open; its later output is not passed on",
        program);
  if (!end.names_processes && run.versions > 1)
    Say(messages,
        "{} processes of {} wrote lines of oneDNN: all are counted together, because a line does "
        "not name its process (it does in a socket: redirect standard output to a file or pipe, "
        "without --pipe)",
        run.versions, program);
}

// Reports why the run gave no results.
void ReportMissingLines(const VerboseRun& run, const std::string& program, std::ostream& messages) {
  if (run.lines > 0)
    Say(messages, "{} uses oneDNN, but executed none of its primitives ({}): there are no results",
        program, LinesText(run.lines));
  else if (run.own_bytes == 0)
    Say(messages,
        "{} printed neither output nor a line of oneDNN: it does not use oneDNN, or its standard "
        "output goes elsewhere{}",
        program,
        run.end.names_processes && run.end.end.exit_code != 0
            ? ", or it wants to open /dev/stdout, which --pipe allows"
            : "");
  else
    Say(messages,
        "{} printed {} bytes, but no line of oneDNN: it does not use oneDNN, never calls it "
        "(TensorFlow: TF_ENABLE_ONEDNN_OPTS=1), or uses one that was built without verbose mode",
        program, run.own_bytes);
}

void WriteReport(const ProfileRequest& request, const VerboseRun& run, const std::string& log,
                 const TorchTrace& torch, const std::optional<machine::Machine>& machine,
                 std::ostream& messages) {
  const ProgramFacts facts{.command = fmt::format("{}", fmt::join(request.command, " ")),
                           .wall_seconds = run.end.wall_seconds,
                           .threads = request.threads,
                           .steps = request.steps,
                           .trace = torch.trace ? &*torch.trace : nullptr};
  auto file = ProgramRun(ReadFile(log, "a log of oneDNN"), log, facts, machine, messages);
  WriteFile(request.output, JsonText(roofline::ToJson(file)) + '\n');
  programs::WriteProgram(roofline::PlaceRun(file), MessageColumns(), messages);
  Say(messages, "wrote {}", request.output);
  Say(messages, "{} ({})", LinesText(run.lines),
      text::WithPrefix(static_cast<double>(run.log_bytes), "B"));
}

void ReportRun(const ProfileRequest& request, const VerboseRun& run, const std::string& log,
               const std::string& traces, const std::optional<machine::Machine>& machine,
               std::ostream& messages) {
  TorchTrace torch;
  if (request.torch) torch = ReadTorchTrace(traces);
  for (const auto& sentence : torch.remarks) Say(messages, "{}", sentence);
  if (run.executed > 0 || torch.trace)
    WriteReport(request, run, log, torch, machine, messages);
  else
    ReportMissingLines(run, request.command.front(), messages);
}

}  // namespace

int ProfileProgram(const ProfileRequest& request, std::ostream& messages) {
  const auto machine = MachineOf(request, messages);
  const TemporaryFolder folder;
  const auto log = request.log.value_or(folder / "onednn.log");
  auto [variables, remark] = VerboseModeOn();
  const auto traces = folder / "torch";
  if (request.torch) variables.merge(PrepareTorchHook(HookTask::kProfile, traces));
  const auto& program = request.command.front();
  VerboseRun run;
  try {
    run = RunVerbose({.command = request.command,
                      .variables = variables,
                      .log = log,
                      .progress = machine::StderrIsTerminal() ? &messages : nullptr,
                      .pipe = request.pipe,
                      .most_seconds = request.most_seconds});
  } catch (const CannotStart& error) {
    Say(messages, "profile: {}", error.what());
    return ExitCodeOf(error);
  }
  ReportEnd(run, program, messages);
  try {
    ReportRun(request, run, log, traces, machine, messages);
    if (remark) Say(messages, "{}", *remark);
  } catch (const BadInput& error) {
    Say(messages, "profile: {}", error.what());
  }
  return run.end.out_of_time ? 0 : ExitCodeOf(run.end.end);
}

}  // namespace dlroof::profile
