// dlroof bisect: finds the commit that changed a benchmark's time. Builds commits in temporary Git
// worktrees and measures each interleaved with the commit GOOD.
#pragma once

#include <functional>
#include <iosfwd>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace dlroof::supervise {

struct Request {
  std::string repository = ".";        // a folder in the repository
  std::string good, bad;               // git revisions
  std::string name;                    // name of the benchmark
  std::vector<std::string> arguments;  // for the benchmark program
  // `build` is a shell command, run in the root of a worktree; `program` is the path of the program
  // that it builds there.
  std::string build =
      "cmake --preset release >/dev/null && cmake --build build --target dlroof_bench";
  std::string program = "build/dlroof_bench";
  double budget_seconds = 120;        // [s] for measuring one commit
  double min_effect = 0.02;           // [1] smaller differences between GOOD and BAD are ignored
  std::optional<std::string> folder;  // of the worktrees, which are kept; absent: temporary
};

// Exit codes of bisect.
inline constexpr int kFound = 0, kCannotTell = 3;
// Exit codes of a step, as `git bisect run` reads them.
inline constexpr int kStepLikeGood = 0, kStepLikeBad = 1, kStepSkip = 125;

// Finds the commit and prints it to `out`. Returns kFound, or kCannotTell if BAD does not differ
// from GOOD or if several commits remain because commits were skipped. Throws BadInput if GOOD is
// not an ancestor of BAD, or if GOOD or BAD does not build or lacks the benchmark.
int Bisect(const Request& request, std::ostream& out, std::ostream& log);

// One step of `git bisect run`: builds the checked-out tree in place and compares it with GOOD,
// whose program is stored for later steps. Returns kStepLikeBad if the benchmark's time differs by
// more than request.min_effect, kStepLikeGood if not, and kStepSkip if the tree does not build or
// the comparison is ambiguous.
int Step(const Request& request, std::ostream& log);

// Parses the output of `git rev-list --bisect-all`: a commit per line, the best to test next first,
// with its distance in parentheses. Returns the commits.
std::vector<std::string> ParseBisectAll(std::string_view output);

enum class Finding { kLikeGood, kLikeBad, kSkipped };

// A binary search for the first commit that behaves as BAD. Pure: asks Git through `Candidates`.
class Search {
 public:
  // `candidates(bad, goods)` returns the commits that are reachable from `bad`, not from one of
  // `goods`, the best to test next first; `bad` is one of them.
  using Candidates = std::function<std::vector<std::string>(const std::string& bad,
                                                            const std::vector<std::string>& goods)>;

  Search(std::string good, std::string bad, Candidates candidates);

  // Returns the commit to test next, or nullopt at the end.
  std::optional<std::string> Next() const;
  void Tell(const std::string& commit, Finding finding);

  // Returns the commits that may be the first slow one. At the end there is one, unless skipped
  // commits cannot be excluded.
  std::vector<std::string> Suspects() const;
  const std::string& bad() const { return bad_; }
  std::size_t left() const { return open_.size(); }  // [1] commits that may be the first slow one

 private:
  void Ask();

  std::vector<std::string> goods_;
  std::string bad_;
  std::set<std::string> skipped_;
  Candidates candidates_;
  std::vector<std::string> open_;  // Git's candidates for goods_ and bad_
};

}  // namespace dlroof::supervise
