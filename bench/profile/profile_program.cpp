#include "bench/profile/profile_program.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <ostream>
#include <sstream>
#include <utility>

#include "baselines/programs/program_report.h"
#include "bench/profile/line_cost.h"
#include "bench/profile/program_run.h"
#include "bench/profile/torch_trace.h"
#include "bench/profile/verbose_run.h"
#include "ceilings/machine_file/machine_cache.h"
#include "counters/base/error.h"
#include "counters/base/files.h"
#include "counters/base/json_text.h"
#include "counters/base/numbers.h"
#include "reporters/roofline/placed_run.h"
#include "reporters/text/text.h"

namespace dlroof::profile {
namespace {

// Returns the width of the terminal on standard error, or 0 if it is not a terminal. [columns]
int MessageColumns() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

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

// Writes messages with the program's name in front.
class Messages {
 public:
  explicit Messages(std::ostream& out) : out_(out) {}
  template <class... Parts>
  void Say(fmt::format_string<Parts...> sentence, Parts&&... parts) {
    out_ << "dlroof: " << text::Printable(fmt::format(sentence, std::forward<Parts>(parts)...))
         << '\n';
  }
  std::ostream& out() { return out_; }

 private:
  std::ostream& out_;
};

void ReportEnd(const VerboseRun& run, const std::string& program, Messages& messages) {
  const auto& end = run.end;
  if (end.out_of_time)
    messages.Say("{} was ended after {:.3g} s, as --duration says; the report uses {} until then",
                 program, end.wall_seconds, LinesText(run.lines));
  else if (end.end.signal != 0)
    messages.Say("{} was ended by {} after {:.3g} s; the report uses {} until then", program,
                 Describe(end.end), end.wall_seconds, LinesText(run.lines));
  else if (end.end.exit_code != 0)
    messages.Say("{} ended with {} after {:.3g} s", program, Describe(end.end), end.wall_seconds);
  if (run.cut_lines > 0)
    messages.Say("{} of oneDNN's lines were cut and have no end", run.cut_lines);
  if (end.left_open)
    messages.Say(
        "another process that {} started keeps its output open; its later output is not passed on",
        program);
  if (!end.names_processes && (end.processes > 1 || run.versions > 1))
    messages.Say(
        "{} ran as {} processes, of which {} began to write lines of oneDNN: all lines are counted "
        "together, because a line does not name its process (it does in a socket: redirect "
        "standard "
        "output to a file or pipe, without --pipe)",
        program, std::max<std::size_t>(static_cast<std::size_t>(end.processes), run.versions),
        run.versions);
}

// Reports why there are no results.
void ReportMissingLines(const VerboseRun& run, const std::string& program, Messages& messages) {
  if (run.lines > 0)
    messages.Say("{} uses oneDNN, but executed none of its primitives ({}): there are no results",
                 program, LinesText(run.lines));
  else if (run.own_bytes == 0)
    messages.Say(
        "{} printed neither output nor a line of oneDNN: it does not use oneDNN, or its standard "
        "output goes elsewhere{}",
        program,
        run.end.names_processes && run.end.end.exit_code != 0
            ? ", or it wants to open /dev/stdout, which --pipe allows"
            : "");
  else
    messages.Say(
        "{} printed {} bytes, but no line of oneDNN: it does not use oneDNN, never calls it "
        "(TensorFlow: TF_ENABLE_ONEDNN_OPTS=1), or uses one that was built without verbose mode",
        program, run.own_bytes);
}

// Returns the time that a line takes the program [s], if it can be measured.
std::optional<double> LineSecondsOf(const VerboseRun& run) {
  if (run.lines == 0) return std::nullopt;
  return MeasureLineSeconds(run.log_bytes / run.lines, 1, !run.end.names_processes);
}

void ReportOverhead(const VerboseRun& run, std::optional<double> line_seconds, Messages& messages) {
  const double wall = std::max(run.end.wall_seconds, 1e-9);
  const auto share = [&](double seconds) {
    return fmt::format("{}, {:.2g} % of {:.3g} s", text::WithPrefix(seconds, "s"),
                       100 * seconds / wall, run.end.wall_seconds);
  };
  std::string cost = "what writing them cost the program is not known";
  if (line_seconds)
    cost = fmt::format("writing them took the program about {} ({} a line, as measured here)",
                       share(static_cast<double>(run.lines) * *line_seconds),
                       text::WithPrefix(*line_seconds, "s"));
  messages.Say("{} ({}); {}; reading them took dlroof {} of CPU time", LinesText(run.lines),
               text::WithPrefix(static_cast<double>(run.log_bytes), "B"), cost,
               text::WithPrefix(run.end.reader_seconds, "s"));
}

// Measures the overhead of verbose mode by interleaved runs of the program with and without it.
class OverheadTurns {
 public:
  OverheadTurns(const ProfileRequest& request, Messages& messages)
      : request_(request), messages_(messages) {
    if (request.read) pattern_ = NumberPattern("--read", *request.read);
  }

  bool KeepsOwn() const { return pattern_.has_value(); }

  void Run(const VerboseRun& first, const Variables& variables) {
    std::vector<double> ratios, cpu_ratios;
    auto verbose = ValueOf(first);
    double verbose_cpu = first.end.cpu_seconds;
    VerboseRun plain_run;
    // Variables that the user has set stay in effect.
    const bool set_by_user = variables.count("ONEDNN_VERBOSE") == 0;
    const auto plain_variables =
        set_by_user ? Variables{{"ONEDNN_VERBOSE", "0"}, {"DNNL_VERBOSE", "0"}} : Variables{};
    const auto run_verbose = [&] {
      const auto run = Once(variables);
      verbose = ValueOf(run);
      verbose_cpu = run.end.cpu_seconds;
    };
    for (int turn = 0; turn < request_.overhead_turns.value_or(0); ++turn) {
      // The order alternates, so that a drift of the machine's speed cancels out.
      if (turn % 2 == 1) run_verbose();
      plain_run = Once(plain_variables);
      if (turn > 0 && turn % 2 == 0) run_verbose();
      const auto plain = ValueOf(plain_run);
      if (plain_run.end.passed_signal)
        return messages_.Say("interrupted: the overhead is not known");
      if (!verbose || !plain)
        return messages_.Say(
            "the overhead is not known: --read '{}' matches no number above 0 in the output",
            *request_.read);
      ratios.push_back(*verbose / *plain);
      if (verbose_cpu > 0 && plain_run.end.cpu_seconds > 0)
        cpu_ratios.push_back(verbose_cpu / plain_run.end.cpu_seconds);
    }
    ReportRatios(pattern_ ? "number read" : "wall time", ratios);
    // System load changes the wall time, but hardly the CPU time.
    ReportRatios("CPU time", cpu_ratios);
    ReportOutput(first, plain_run);
  }

 private:
  void ReportRatios(const char* what, const std::vector<double>& ratios) {
    if (ratios.empty()) return;
    const auto* with = request_.torch ? "oneDNN's lines and torch.profiler" : "oneDNN's lines";
    messages_.Say("{}", OverheadText(what, with, ratios));
  }

  void ReportOutput(const VerboseRun& first, const VerboseRun& plain_run) {
    const bool same =
        first.own_bytes == plain_run.own_bytes && first.own_hash == plain_run.own_hash;
    messages_.Say("its own output is {} as without profile ({} and {} bytes)",
                  same ? "the same, byte for byte," : "not the same (times? random numbers?)",
                  first.own_bytes, plain_run.own_bytes);
  }

  VerboseRun Once(const Variables& variables) const {
    return RunVerbose({.command = request_.command,
                       .variables = variables,
                       .shown = false,
                       .keep_own = KeepsOwn(),
                       .pipe = request_.pipe,
                       .most_seconds = request_.most_seconds});
  }

  // Returns the wall time, or the number that --read finds if it is above 0.
  std::optional<double> ValueOf(const VerboseRun& run) const {
    if (!pattern_) return run.end.wall_seconds;
    const auto numbers = NumbersIn(run.own, *pattern_);
    if (numbers.empty() || Median(numbers) <= 0) return std::nullopt;
    return Median(numbers);
  }

  const ProfileRequest& request_;
  Messages& messages_;
  std::optional<std::regex> pattern_;
};

void WriteReport(const ProfileRequest& request, const VerboseRun& run, const std::string& log,
                 const TorchTrace& torch, const std::optional<machine::Machine>& machine,
                 Messages& messages) {
  const auto line_seconds = LineSecondsOf(run);
  const ProgramFacts facts{.command = fmt::format("{}", fmt::join(request.command, " ")),
                           .wall_seconds = run.end.wall_seconds,
                           .threads = request.threads,
                           .steps = request.steps,
                           .line_seconds = line_seconds,
                           .cpu_samples = run.samples,
                           .trace = torch.trace ? &*torch.trace : nullptr,
                           .windows = torch.windows};
  auto file = ProgramRun(log, facts, machine, messages.out());
  if (request.complete && !run.end.passed_signal) request.complete(file, messages.out());
  WriteFile(request.output, JsonText(roofline::ToJson(file)) + '\n');
  programs::WriteProgram(roofline::PlaceRun(file), MessageColumns(), messages.out());
  messages.Say("wrote {}", request.output);
  ReportOverhead(run, line_seconds, messages);
}

void ReportRun(const ProfileRequest& request, const VerboseRun& run, const std::string& log,
               const std::string& traces, const std::optional<machine::Machine>& machine,
               Messages& messages) {
  TorchTrace torch;
  if (request.torch) torch = ReadTorchTrace(traces);
  for (const auto& sentence : torch.remarks) messages.Say("{}", text::Printable(sentence));
  if (run.executed > 0 || torch.trace)
    WriteReport(request, run, log, torch, machine, messages);
  else
    ReportMissingLines(run, request.command.front(), messages);
}

}  // namespace

int ProfileProgram(const ProfileRequest& request, std::ostream& out) {
  Messages messages(out);
  OverheadTurns turns(request, messages);
  const auto machine = MachineOf(request, out);
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
                      .keep_own = turns.KeepsOwn(),
                      .log = log,
                      .progress = machine::StderrIsTerminal() ? &out : nullptr,
                      .pipe = request.pipe,
                      .most_seconds = request.most_seconds,
                      .sampled = true});
  } catch (const CannotStart& error) {
    messages.Say("profile: {}", error.what());
    return ExitCodeOf(error);
  }
  ReportEnd(run, program, messages);
  try {
    ReportRun(request, run, log, traces, machine, messages);
    if (remark) messages.Say("{}", *remark);
  } catch (const BadInput& error) {
    messages.Say("profile: {}", error.what());
  }
  if (request.overhead_turns && !run.end.passed_signal) turns.Run(run, variables);
  return run.end.out_of_time ? 0 : ExitCodeOf(run.end.end);
}

}  // namespace dlroof::profile
