// dlroof gate: measures, compares with the last runs of a branch in a history, measures unclear
// benchmarks again, and writes reports for CI systems.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <sstream>

#include "baselines/compare/paired_record.h"
#include "baselines/compare/write_comparison.h"
#include "baselines/history/builds.h"
#include "baselines/history/history.h"
#include "bench/commands/commands.h"
#include "bench/supervise/supervise.h"
#include "bench/workload/workload.h"
#include "counters/base/error.h"
#include "counters/base/files.h"
#include "counters/base/json_text.h"
#include "counters/base/keys.h"
#include "counters/base/process.h"
#include "reporters/text/text.h"

namespace dlroof::commands {
namespace {

struct GateFlags {
  std::string db = "perf.sqlite", baseline = "main", output = "gate";
  std::optional<std::string> run, commit, min_effect, limit;
  std::size_t last = history::RunVerdicts::kUsualRuns;
  int processes = 3;
  double budget_seconds = 600;
  bool store = false;
  std::vector<std::string> command;
};

supervise::Settings SettingsFrom(const GateFlags& flags) {
  const auto& words = flags.command;
  supervise::Settings settings{.budget_seconds = flags.budget_seconds,
                               .min_effect = ParseShare("--min-effect", flags.min_effect)};
  const bool own = !words.empty() && !words.front().starts_with('-');
  settings.program = own ? words.front() : supervise::BenchProgram();
  settings.arguments.assign(words.begin() + (own ? 1 : 0), words.end());
  std::error_code none;
  if (own && std::filesystem::exists(settings.program, none))
    settings.program = std::filesystem::absolute(settings.program).string();
  return settings;
}

// Returns Git's output in the working folder, or "" on failure.
std::string GitSays(const std::vector<std::string>& arguments) {
  std::vector<std::string> command = {"git"};
  command.insert(command.end(), arguments.begin(), arguments.end());
  try {
    const auto ran = RunChild(command);
    return ran.exit_code == 0 ? ran.out : std::string();
  } catch (const CannotStart&) {
    return "";  // no Git: commits are unknown
  }
}

// Returns the commit of the working folder, with "-dirty" for uncommitted changes, or "".
std::string CurrentCommit() {
  auto commit = GitSays({"rev-parse", "--verify", "--quiet", "HEAD"});
  commit = commit.substr(0, commit.find('\n'));
  if (!commit.empty() && !GitSays({"status", "--porcelain", "--untracked-files=no"}).empty())
    commit += "-dirty";
  return commit;
}

// Returns the commits of the branch, or none if there is no such branch or repository.
std::set<std::string> CommitsOf(const std::string& branch) {
  std::set<std::string> commits;
  std::istringstream lines(GitSays({"rev-list", "--end-of-options", branch}));
  for (std::string line; std::getline(lines, line);) commits.insert(line);
  return commits;
}

class Gate {
 public:
  explicit Gate(const GateFlags& flags)
      : flags_(flags),
        settings_(SettingsFrom(flags)),
        origin_{flags.commit ? *flags.commit : CurrentCommit(), flags.baseline},
        builds_(history::FolderBeside(flags.db)) {
    if (flags.limit) limit_ = history::ParseSize("--limit", *flags.limit);
  }

  int Run() {
    CreateFolder(flags_.output);
    for (const char* old : {"comment.md", "junit.xml"})  // left by an earlier gate
      std::filesystem::remove(Path(old));
    if (!Measure()) return InterruptCode();
    ChooseRuns();
    if (baseline_.empty()) return WithoutBaseline();
    const auto code = Judge();
    if (StoppedByInterrupt()) return InterruptCode();
    if (flags_.store) Store();
    return code;
  }

 private:
  std::string Path(const char* name) const {
    return (std::filesystem::path(flags_.output) / name).string();
  }

  // Measures or reads the new run. Returns false after an interrupt.
  bool Measure() {
    const auto path = flags_.run.value_or(Path("run.json"));
    if (!flags_.run) {
      std::ostringstream tables;
      supervise::RunRequest request;
      request.programs = {settings_.program};
      request.arguments = settings_.arguments;
      request.outputs = {path};
      request.processes = flags_.processes;
      request.tables = &tables;
      supervise::JournalFile(path + ".journal").Remove();  // left by a killed gate
      supervise::Supervise(request, std::cerr);
      if (StoppedByInterrupt()) return false;
    }
    contender_ = {path, record::ReadRunFile(path, std::cerr)};
    auto origin = origin_;
    if (!flags_.store) origin.branch.clear();
    history::SetOrigin(origin, contender_.file);
    if (!flags_.run) WriteFile(path, JsonText(roofline::ToJson(contender_.file)) + "\n");
    return true;
  }

  void ChooseRuns() {
    if (!std::filesystem::exists(flags_.db)) return;
    const history::History history(flags_.db, history::Access::kRead);
    const auto unchanging = history.Unchanging();
    auto runs = history::RunsOfBranch(history.Runs(), flags_.baseline, CommitsOf(flags_.baseline));
    // If CI repeats a job, the history has runs of the same commit: they would show no change.
    const auto own = [&](const auto& run) { return run.commit == origin_.commit; };
    if (!std::ranges::all_of(runs, own)) std::erase_if(runs, own);
    baseline_ = history::ChooseBaseline(history, runs, flags_.last, contender_, std::cerr);
    std::erase_if(baseline_, [&](const auto& run) {  // FILE of --run may be in the history already
      return record::Text(run.file.context, "date") ==
                 record::Text(contender_.file.context, "date") &&
             std::ranges::equal(run.file.records, contender_.file.records,
                                compare::IsSameMeasurement);
    });
  }

  // Reports that no stored run can be compared with. Returns the exit code: 0 if this run is
  // stored, so that a branch's first run succeeds, else 3.
  int WithoutBaseline() {
    const auto text = fmt::format("{} has no run of {} that this one can be compared with",
                                  flags_.db, flags_.baseline);
    if (flags_.store) Store();
    std::cout << text::Printable(text) << (flags_.store ? "; stored this one\n" : "\n");
    WriteFile(Path("comment.md"), fmt::format("### dlroof: nothing to compare with\n\n{}\n", text));
    return flags_.store ? 0 : 3;
  }

  int Judge() {
    const auto stored = history::NewestProgram(builds_, baseline_);
    if (stored) settings_.stored_program = stored->run;
    const auto compare_new = [&](const compare::NamedRun& contender) {
      return compare::CompareWithStored(baseline_, contender, {.min_effect = settings_.min_effect});
    };
    const auto settled = supervise::Settle(contender_, compare_new, settings_, std::cerr);
    const history::Report report{
        .result = &settled.result,
        .commit = origin_.commit,
        .branch = flags_.baseline,
        .commits = VectorOf<std::string>(
            baseline_, [](const auto& run) { return history::CommitOf(run.file); }),
        .again = static_cast<int>(settled.again.size()),
        .interleaved_with =
            settled.interleaved.empty() ? std::nullopt : std::optional(stored->commit),
        .unclear = settled.unclear,
        .program = ProgramForBisect(),
        .adjacent = [](const std::string& before, const std::string& after) {
          return GitSays({"rev-list", "--left-right", "--count", before + "..." + after}) ==
                 "0\t1\n";
        }};
    Write(report);
    return settled.result.exit_code;
  }

  // Returns Report::program: only dlroof_bench has dlroof's operators.
  std::string ProgramForBisect() const {
    const auto& records = contender_.file.records;
    if (!records.empty() && workload::FindOp(records.front().op) != nullptr) return "";
    const auto top = GitSays({"rev-parse", "--show-toplevel"});
    if (settings_.program == supervise::BenchProgram() || top.empty()) return "PATH";
    std::error_code none;
    const auto path =
        std::filesystem::relative(settings_.program, top.substr(0, top.find('\n')), none);
    return path.empty() || *path.begin() == ".." ? "PATH" : path.string();
  }

  void Write(const history::Report& report) const {
    WriteFile(Path("comment.md"), history::CommentOf(report));
    std::ostringstream junit;
    compare::WriteJunit(*report.result, {flags_.db, contender_.where}, junit);
    WriteFile(Path("junit.xml"), junit.str());
    std::cout << history::SummaryOf(report);
    const char* const actions = std::getenv("GITHUB_ACTIONS");
    if (actions != nullptr && std::string_view(actions) == "true")
      std::cout << history::AnnotationsOf(report);
    std::cout << std::flush;
  }

  void Store() {
    history::History history(flags_.db, history::Access::kWrite);
    const auto added = history.Add(contender_);
    std::cerr << fmt::format("{}: {} run {} of {}\n", flags_.db,
                             added.already ? "already stored as" : "stored as", added.run,
                             flags_.baseline);
    const bool of_other_program = flags_.run && flags_.command.empty();
    if (origin_.commit.empty() || of_other_program || limit_ == 0) return;
    const auto kept = builds_.Keep(origin_.commit, settings_.program, limit_);
    std::cerr << fmt::format("stored the program of {} ({:.1f} MB new, {:.1f} MB in all)\n",
                             origin_.commit, 1e-6 * static_cast<double>(kept.added_bytes),
                             1e-6 * static_cast<double>(kept.all_bytes));
  }

  const GateFlags& flags_;
  supervise::Settings settings_;
  history::Origin origin_;
  history::Builds builds_;
  std::uintmax_t limit_ = history::kUsualLimit;  // [byte] of all stored programs
  compare::NamedRun contender_;
  std::vector<compare::NamedRun> baseline_;  // oldest first
};

Command MakeGate() {
  auto flags = std::make_shared<GateFlags>();
  return {
      .name = "gate",
      .about =
          "for CI: measure, compare with the last runs of a branch, measure unclear benchmarks "
          "again, write a comment, JUnit and annotations; exit codes as compare",
      .options =
          {Ruled("--db", {.type = kFile}, &flags->db, "file of the history (default perf.sqlite)"),
           {"--baseline", &flags->baseline,
            "branch to compare with: runs stored for this branch, otherwise stored runs of its "
            "commits in Git (default main)"},
           Ruled("--last", {.limits = AboveZero{}}, &flags->last,
                 "compare with this many runs (default 10)"),
           Ruled("--processes", {.limits = Range{1, 1000}}, &flags->processes,
                 "measure each benchmark in this many processes (default 3), as dlroof run does"),
           Ruled("--budget", {.limits = AtLeastZero{}}, &flags->budget_seconds,
                 "[s] limit for measuring unclear benchmarks again, after the first measurement "
                 "(default 600)"),
           {"--min-effect", &flags->min_effect,
            "ignore smaller changes: 5% (default: what the runs can resolve)"},
           Ruled("--run", {.type = kFile}, &flags->run,
                 "run file to use instead of measuring; unclear benchmarks are still measured"),
           {"--store", &flags->store,
            "afterwards add the run to the history for this branch, and store its program"},
           {"--commit", &flags->commit,
            "commit of the program (default: that of the working folder's repository)"},
           {"--limit", &flags->limit,
            "limit in bytes of the programs stored beside the history (default 2G); the least "
            "recently used are removed; 0: store none"},
           Ruled("-o,--output", {.type = kFolder}, &flags->output,
                 "folder for comment.md, junit.xml and run.json (default gate)"),
           Ruled("COMMAND", {.type = runner::kProgram}, &flags->command,
                 "after --: a program that takes Google Benchmark's flags, and its arguments; or "
                 "only flags for dlroof_bench")},
      .run = [flags] {
        StopOnInterrupt();
        return Gate(*flags).Run();
      }};
}

[[maybe_unused]] const bool gate_registered = RegisterCommand(MakeGate);

}  // namespace
}  // namespace dlroof::commands
