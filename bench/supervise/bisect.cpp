#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <ostream>
#include <sstream>
#include <utility>

#include "baselines/compare/write_comparison.h"
#include "bench/supervise/supervise.h"
#include "bench/supervise/supervised_program.h"
#include "counters/base/error.h"
#include "counters/base/files.h"
#include "counters/base/keys.h"
#include "counters/base/process.h"
#include "reporters/text/text.h"

namespace dlroof::supervise {
namespace {

namespace fs = std::filesystem;

std::string FirstLine(const std::string& text) { return text.substr(0, text.find('\n')); }

// Runs Git in a folder.
ChildResult RunGit(const std::string& folder, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"git", "-C", folder});
  return RunChild(arguments);
}

// Returns the output of `git ARGUMENTS` without newlines at its end. Throws BadInput if it fails.
std::string GitText(const std::string& folder, const std::vector<std::string>& arguments) {
  auto ran = RunGit(folder, arguments);
  if (ran.exit_code != 0)
    throw BadInput("git {}: {}", arguments.at(0), ran.err.empty() ? "failed" : FirstLine(ran.err));
  while (ran.out.ends_with('\n')) ran.out.pop_back();
  return ran.out;
}

std::string CommitOf(const std::string& folder, const std::string& revision) {
  const auto ran = RunGit(
      folder, {"rev-parse", "--verify", "--quiet", "--end-of-options", revision + "^{commit}"});
  if (ran.exit_code != 0 || ran.out.empty())
    throw BadInput("{}: no commit of the repository of {}", revision,
                   fs::absolute(folder).lexically_normal().string());
  return FirstLine(ran.out);
}

// A Git worktree, which the destructor removes.
class Worktree {
 public:
  Worktree(const std::string& repository, std::string path)
      : repository_(repository), path_(std::move(path)) {
    GitText(repository_, {"worktree", "prune"});
    GitText(repository_, {"worktree", "add", "--detach", "--no-checkout", path_, "HEAD"});
  }
  ~Worktree() {
    try {
      RunGit(repository_, {"worktree", "remove", "--force", path_});
    } catch (const std::exception&) {
      return;  // after an interrupt; Git forgets a worktree whose folder is gone
    }
  }
  Worktree(const Worktree&) = delete;
  Worktree& operator=(const Worktree&) = delete;

  const std::string& path() const { return path_; }
  void CheckOut(const std::string& commit) const {
    GitText(path_, {"checkout", "--quiet", "--force", "--detach", commit});
  }

 private:
  const std::string& repository_;
  std::string path_;
};

std::string Short(const std::string& commit) { return commit.substr(0, 12); }

// Builds the tree at `folder`. Returns why the build failed, or nullopt. Throws on an interrupt.
std::optional<Reason> Build(const Request& request, const std::string& folder) {
  const auto ran =
      RunChild({"sh", "-c", "cd \"$1\" && eval \"$2\"", "dlroof bisect", folder, request.build});
  if (ran.exit_code != 0)
    return Reason{fmt::format("the build ended with exit code {}: {}", ran.exit_code,
                              text::Printable(LastLines(ran.out + ran.err, 3, " ")))};
  if (!fs::exists(fs::path(folder) / request.program))
    return Reason{fmt::format("the build left no {}", request.program)};
  return std::nullopt;
}

std::string ProgramIn(const Request& request, const std::string& folder) {
  return fs::absolute(fs::path(folder) / request.program).string();
}

// Builds a commit in the worktree. Returns the path of its program. Throws BadInput if that fails.
std::string BuildCommit(const Request& request, const Worktree& tree, const std::string& commit) {
  tree.CheckOut(commit);
  if (const auto reason = Build(request, tree.path()))
    throw BadInput("{}: {}", Short(commit), reason->text);
  return ProgramIn(request, tree.path());
}

std::string TextOf(const statistics::Judgement& of_good) {
  return fmt::format("{:+.1f} % ({:+.1f} to {:+.1f} %)", 100 * (of_good.ratio - 1),
                     100 * (of_good.ci95.first - 1), 100 * (of_good.ci95.second - 1));
}

// The verdict on the time of one commit's program compared with GOOD's.
struct JudgedPair : statistics::Judgement {
  std::string budget_advice;  // compare::BudgetAdvice
};

// Measures `program` interleaved with `good`. Returns nullopt if the benchmark got no verdict.
std::optional<JudgedPair> Measure(const Request& request, const std::string& good,
                                  const std::string& program, double min_effect,
                                  std::ostream& log) {
  const auto pair = Interleave({.programs = {good, program},
                                .arguments = request.arguments,
                                .budget_seconds = request.budget_seconds,
                                .min_effect = min_effect},
                               {request.name}, log);
  if (StoppedByInterrupt()) throw std::runtime_error("interrupted");
  if (!pair || pair->result.rows.empty()) return std::nullopt;
  const auto& row = pair->result.rows.front();
  if (!row.judgement) return std::nullopt;
  JudgedPair judgement{*row.judgement, compare::BudgetAdvice(pair->result)};
  judgement.verdict = row.verdict;
  return judgement;
}

// A search for the commit, with two worktrees: of GOOD and of the commit under test.
class Bisection {
 public:
  Bisection(const Request& request, std::ostream& out, std::ostream& log)
      : request_(request),
        out_(out),
        log_(log),
        good_(CommitOf(request.repository, request.good)),
        bad_(CommitOf(request.repository, request.bad)) {
    if (good_ == bad_ ||
        RunGit(request.repository, {"merge-base", "--is-ancestor", good_, bad_}).exit_code != 0)
      throw BadInput("{} is not an ancestor of {}: expected the older, faster commit first",
                     request.good, request.bad);
  }

  int Run() {
    const Worktree good(request_.repository, folder_ / "good");
    const Worktree step(request_.repository, folder_ / "step");
    log_ << fmt::format("building {} (GOOD)\n", Title(good_));
    good_program_ = BuildCommit(request_, good, good_);
    log_ << fmt::format("building {} (BAD)\n", Title(bad_));
    const auto bad_program = BuildCommit(request_, step, bad_);
    const auto whole = Measure(request_, good_program_, bad_program, request_.min_effect, log_);
    if (!whole) throw BadInput("{}: has no time in both commits", request_.name);
    log_ << fmt::format("{} (BAD): {}\n", Short(bad_), TextOf(*whole));
    if (!statistics::IsChange(whole->verdict)) {
      const bool same = whole->verdict == statistics::Verdict::kSame;
      out_ << fmt::format("{}{} {} between {} and {}: {}{}\n", same ? "" : "cannot tell whether ",
                          text::Printable(request_.name), same ? "does not differ" : "differs",
                          Short(good_), Short(bad_), TextOf(*whole),
                          same ? "" : "; a quieter machine can tell" + whole->budget_advice);
      return kCannotTell;
    }
    half_ = std::log(whole->ratio) / 2;
    const auto candidates = [&](const std::string& bad, const std::vector<std::string>& goods) {
      std::vector<std::string> arguments = {"rev-list", "--bisect-all", bad, "--not"};
      arguments.insert(arguments.end(), goods.begin(), goods.end());
      return ParseBisectAll(GitText(request_.repository, arguments));
    };
    const auto test = [&](const std::string& commit, std::size_t left) {
      log_ << fmt::format("{} commits left; testing {}\n", left, Title(commit));
      return Test(step, commit);
    };
    return Tell(FindSuspects(good_, bad_, candidates, test), *whole);
  }

 private:
  // Returns "1a2b3c4d5e6f Subject".
  std::string Title(const std::string& commit) const {
    return text::Printable(
        GitText(request_.repository, {"log", "-1", "--abbrev=12", "--format=%h %s", commit}));
  }

  // Tests a commit: it is like BAD if its time has changed by more than half of BAD's change.
  Finding Test(const Worktree& step, const std::string& commit) const {
    step.CheckOut(commit);
    if (const auto reason = Build(request_, step.path())) {
      log_ << fmt::format("{}: skipped: {}\n", Short(commit), reason->text);
      return Finding::kSkipped;
    }
    const double size = std::abs(half_);
    const auto ratio =
        Measure(request_, good_program_, ProgramIn(request_, step.path()), std::expm1(size), log_);
    if (!ratio) {
      log_ << fmt::format("{}: skipped: the benchmark has no time\n", Short(commit));
      return Finding::kSkipped;
    }
    // Logarithms in the direction of BAD's change.
    const auto log_of = [&](double value) { return (half_ > 0 ? 1 : -1) * std::log(value); };
    const auto [low, high] = std::minmax({log_of(ratio->ci95.first), log_of(ratio->ci95.second)});
    const double change = log_of(ratio->ratio);
    const bool like_bad = change > size && low > 0, like_good = high < size || change < size / 2;
    log_ << fmt::format("{}: {}: {}\n", Short(commit), TextOf(*ratio),
                        like_bad    ? "like BAD"
                        : like_good ? "like GOOD"
                                    : "skipped: between the two");
    return like_bad ? Finding::kLikeBad : like_good ? Finding::kLikeGood : Finding::kSkipped;
  }

  int Tell(const std::vector<std::string>& suspects, const statistics::Judgement& whole) const {
    const auto what = fmt::format("{} {}", text::Printable(request_.name), TextOf(whole));
    if (suspects.size() == 1) {
      out_ << fmt::format("{}\n{}: this commit\n", Title(suspects.front()), what);
      return kFound;
    }
    out_ << fmt::format("{}: one of {} commits, since those between could not be tested:\n", what,
                        suspects.size());
    for (const auto& suspect : suspects) out_ << fmt::format("  {}\n", Title(suspect));
    return kCannotTell;
  }

  const Request& request_;
  std::ostream& out_;
  std::ostream& log_;
  std::string good_, bad_;  // full commit hashes
  TemporaryFolder folder_;
  std::string good_program_;
  double half_ = 0;  // [1] half of the logarithm of BAD / GOOD
};

}  // namespace

int Bisect(const Request& request, std::ostream& out, std::ostream& log) {
  return Bisection(request, out, log).Run();
}

std::vector<std::string> ParseBisectAll(std::string_view output) {
  std::vector<std::string> commits;
  std::istringstream in{std::string(output)};
  for (std::string line; std::getline(in, line);)
    if (auto commit = line.substr(0, line.find(' ')); !commit.empty())
      commits.push_back(std::move(commit));
  return commits;
}

std::vector<std::string> FindSuspects(
    const std::string& good, std::string bad, const Candidates& candidates,
    const std::function<Finding(const std::string& commit, std::size_t left)>& test) {
  std::vector<std::string> goods = {good};
  std::set<std::string> skipped;
  for (auto open = candidates(bad, goods);;) {
    const auto* const next = FindIf(
        open, [&](const auto& commit) { return commit != bad && !skipped.contains(commit); });
    if (next == nullptr) {
      if (std::ranges::count(open, bad) == 0) open.push_back(bad);
      return open;
    }
    const auto finding = test(*next, open.size());
    if (finding == Finding::kSkipped) {
      skipped.insert(*next);
      continue;
    }
    if (finding == Finding::kLikeGood)
      goods.push_back(*next);
    else
      bad = *next;
    open = candidates(bad, goods);
  }
}

}  // namespace dlroof::supervise
