#include "bench/program/profile_program.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ostream>
#include <sstream>

#include "bench/program/output_numbers.h"
#include "bench/program/program_run.h"
#include "bench/program/spoken_run.h"
#include "ceilings/cache/machine_cache.h"
#include "ceilings/machine/progress.h"
#include "counters/base/error.h"
#include "counters/base/files.h"
#include "counters/base/folders.h"
#include "counters/base/order_statistics.h"
#include "reporters/program/program_report.h"
#include "reporters/program/program_summary.h"
#include "reporters/roofline/placed_json.h"
#include "reporters/text/text.h"
#include "reporters/text/units.h"

namespace dlroof::profile {
namespace {

constexpr int kNoSuchProgram = 127, kNotExecutable = 126;

// [columns] of the terminal on standard error; 0: it is none.
int MessageColumns() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

std::optional<machine::Machine> MachineOf(const ProfileRequest& request, std::ostream& messages) {
  if (request.machine == "none") return std::nullopt;
  if (!request.machine.empty()) return machine_file::ReadMachineFile(request.machine);
  machine_file::MachineOptions options;
  if (request.threads) options.threads = {*request.threads};
  machine::ProgressPrinter progress(messages, machine::StderrIsTerminal());
  options.progress = std::ref(progress);
  return machine_file::CachedOrMeasuredCpu(options, messages);
}

int ExitCodeOf(const ProcessEnd& end) { return end.signal == 0 ? end.exit_code : 128 + end.signal; }

std::string LinesText(std::size_t count) {
  return fmt::format("{} line{} of oneDNN", count, count == 1 ? "" : "s");
}

// Prefixes each sentence.
class Messages {
 public:
  explicit Messages(std::ostream& out) : out_(out) {}
  template <class... Parts>
  void Say(fmt::format_string<Parts...> sentence, Parts&&... parts) {
    out_ << "dlroof: " << text::Printable(fmt::format(sentence, std::forward<Parts>(parts)...)) << '\n';
  }
  std::ostream& out() { return out_; }

 private:
  std::ostream& out_;
};

void TellEnd(const SpokenRun& run, const std::string& program, Messages& messages) {
  const auto& end = run.end;
  if (end.end.signal != 0)
    messages.Say("{} was ended by {} after {:.3g} s; {} until then are read", program,
                 Describe(end.end), end.wall_seconds, LinesText(run.lines));
  else if (end.end.exit_code != 0)
    messages.Say("{} ended with {} after {:.3g} s", program, Describe(end.end), end.wall_seconds);
  if (run.cut_lines > 0)
    messages.Say("{} of oneDNN's lines were cut and have no end", run.cut_lines);
  if (end.left_open)
    messages.Say(
        "another process that {} started keeps its output open; its later output is not passed on",
        program);
  if (end.processes > 1 || run.versions > 1)
    messages.Say(
        "{} ran as {} processes, of which {} began to write lines of oneDNN: all lines are counted "
        "together, since a line does not name its process",
        program, std::max<std::size_t>(static_cast<std::size_t>(end.processes), run.versions),
        run.versions);
}

// Says why there is nothing to report.
void TellSilence(const SpokenRun& run, const std::string& program, Messages& messages) {
  if (run.lines > 0)
    messages.Say("{} has oneDNN inside, but executed none of its primitives: {}, nothing to place",
                 program, LinesText(run.lines));
  else if (run.own_bytes == 0)
    messages.Say(
        "{} printed nothing, neither of its own nor of oneDNN: it has no oneDNN inside, or its "
        "standard output goes elsewhere",
        program);
  else
    messages.Say(
        "{} printed {} bytes, but no line of oneDNN: it has no oneDNN inside, never calls it "
        "(TensorFlow: TF_ENABLE_ONEDNN_OPTS=1), or has one that was built without verbose mode",
        program, run.own_bytes);
}

void TellOverhead(const SpokenRun& run, Messages& messages) {
  const double wall = std::max(run.end.wall_seconds, 1e-9);
  messages.Say("{} ({}); dlroof spent {} of CPU time on them, {:.2g} % of {:.3g} s",
               LinesText(run.lines), text::WithPrefix(static_cast<double>(run.log_bytes), "B"),
               text::WithPrefix(run.end.reader_seconds, "s"), 100 * run.end.reader_seconds / wall,
               run.end.wall_seconds);
}

// Runs the program again, with and without oneDNN's lines by turns.
class OverheadTurns {
 public:
  OverheadTurns(const ProfileRequest& request, Messages& messages)
      : request_(request), messages_(messages) {
    if (!request.read.empty()) pattern_ = NumberPattern("--read", request.read);
  }

  bool KeepsOwn() const { return pattern_.has_value(); }

  void Run(const SpokenRun& first, const Variables& variables) {
    std::vector<double> ratios, cpu_ratios;
    auto loud = ValueOf(first);
    double loud_cpu = first.end.cpu_seconds;
    SpokenRun quiet_run;
    // Where the user has set these, profile has not.
    const bool set = variables.count("ONEDNN_VERBOSE") == 0;
    const auto silence =
        set ? Variables{{"ONEDNN_VERBOSE", "0"}, {"DNNL_VERBOSE", "0"}} : Variables{};
    const auto run_loud = [&] {
      const auto run = Once(variables);
      loud = ValueOf(run);
      loud_cpu = run.end.cpu_seconds;
    };
    for (int turn = 0; turn < request_.overhead_turns; ++turn) {
      // Loud and quiet ones change places, so that a drift of the machine favours neither.
      if (turn % 2 == 1) run_loud();
      quiet_run = Once(silence);
      if (turn > 0 && turn % 2 == 0) run_loud();
      const auto quiet = ValueOf(quiet_run);
      if (quiet_run.end.passed_signal != 0) return messages_.Say("interrupted: no overhead");
      if (!loud || !quiet)
        return messages_.Say("no overhead: --read '{}' matches no number above 0 in the output",
                             request_.read);
      ratios.push_back(*loud / *quiet);
      if (loud_cpu > 0 && quiet_run.end.cpu_seconds > 0)
        cpu_ratios.push_back(loud_cpu / quiet_run.end.cpu_seconds);
    }
    TellRatios(pattern_ ? "number read" : "wall time", ratios);
    // Other programs slow a program down, but hardly change the CPU time that it takes.
    TellRatios("CPU time", cpu_ratios);
    TellOutput(first, quiet_run);
  }

 private:
  void TellRatios(const char* what, const std::vector<double>& ratios) {
    if (ratios.empty()) return;
    const auto [least, most] = std::ranges::minmax(ratios);
    messages_.Say("{} with oneDNN's lines over without, {} turn{}: {:.3f} ({:.3f} to {:.3f})", what,
                  ratios.size(), ratios.size() == 1 ? "" : "s", Median(ratios), least, most);
  }

  void TellOutput(const SpokenRun& first, const SpokenRun& quiet_run) {
    const bool same =
        first.own_bytes == quiet_run.own_bytes && first.own_hash == quiet_run.own_hash;
    messages_.Say("its own output is {} as without profile ({} and {} bytes)",
                  same ? "the same, byte for byte," : "not the same (times? random numbers?)",
                  first.own_bytes, quiet_run.own_bytes);
  }

  SpokenRun Once(const Variables& variables) const {
    return RunSpoken({.command = request_.command,
                      .variables = variables,
                      .shown = false,
                      .keep_own = KeepsOwn()});
  }

  // Absent: no number above 0.
  std::optional<double> ValueOf(const SpokenRun& run) const {
    if (!pattern_) return run.end.wall_seconds;
    const auto numbers = NumbersIn(run.own, *pattern_);
    if (numbers.empty() || Median(numbers) <= 0) return std::nullopt;
    return Median(numbers);
  }

  const ProfileRequest& request_;
  Messages& messages_;
  std::optional<std::regex> pattern_;
};

void WriteReport(const ProfileRequest& request, const SpokenRun& run, const std::string& log,
                 const std::optional<machine::Machine>& machine, Messages& messages) {
  const ProgramFacts facts{.command = fmt::format("{}", fmt::join(request.command, " ")),
                           .wall_seconds = run.end.wall_seconds,
                           .threads = request.threads,
                           .steps = request.steps};
  auto file = ProgramRun(log, facts, machine, messages.out());
  if (request.complete && run.end.passed_signal == 0) request.complete(file, messages.out());
  WriteFile(request.output, roofline::ToJson(file).dump() + '\n');
  programs::WriteProgram(roofline::PlaceRun(file), MessageColumns(), messages.out());
  messages.Say("wrote {}", request.output);
  TellOverhead(run, messages);
}

}  // namespace

int ProfileProgram(const ProfileRequest& request, std::ostream& out) {
  Messages messages(out);
  OverheadTurns turns(request, messages);
  const auto machine = MachineOf(request, out);
  const TemporaryFolder folder;
  const auto log = request.log.empty() ? folder / "onednn.log" : request.log;
  std::string remark;
  const auto variables = SpeakingVariables(remark);
  const auto& program = request.command.front();
  SpokenRun run;
  try {
    run = RunSpoken({.command = request.command,
                     .variables = variables,
                     .keep_own = turns.KeepsOwn(),
                     .log = log,
                     .progress = machine::StderrIsTerminal() ? &out : nullptr});
  } catch (const CannotStart& error) {
    messages.Say("profile: {}", error.what());
    return error.reason == ENOENT ? kNoSuchProgram : kNotExecutable;
  }
  TellEnd(run, program, messages);
  try {
    if (run.executed > 0)
      WriteReport(request, run, log, machine, messages);
    else
      TellSilence(run, program, messages);
    if (!remark.empty()) messages.Say("{}", remark);
  } catch (const BadInput& error) {
    messages.Say("profile: {}", error.what());
  }
  if (request.overhead_turns > 0 && run.end.passed_signal == 0) turns.Run(run, variables);
  return ExitCodeOf(run.end.end);
}

std::optional<programs::ProgramLedger> RunForLedger(const std::vector<std::string>& command) {
  const TemporaryFolder folder;
  const auto log = folder / "onednn.log";
  std::string remark;
  const auto run = RunSpoken(
      {.command = command, .variables = SpeakingVariables(remark), .shown = false, .log = log});
  const auto& end = run.end;
  if (end.passed_signal != 0 || end.end.signal != 0 || end.end.exit_code != 0) return std::nullopt;
  if (run.executed == 0) return std::nullopt;
  std::ostringstream unused;
  try {
    const auto placed =
        roofline::PlaceRun(ProgramRun(log, {.wall_seconds = end.wall_seconds}, std::nullopt, unused));
    const auto summary = programs::ProgramOf(placed.file.context);
    if (!summary) return std::nullopt;
    return programs::LedgerOf(programs::UsesOf(placed, *summary), *summary);
  } catch (const BadInput&) {  // its lines are of no version that can be read
    return std::nullopt;
  }
}

}  // namespace dlroof::profile
