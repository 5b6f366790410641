// Which commits of a range can be the first one that is slow. Pure: Git answers the questions about
// its graph.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace dlroof::supervise {

// Parses the output of `git rev-list --bisect-all`: a commit per line, the best to test next first,
// with its distance in parentheses. Returns the commits.
std::vector<std::string> ParseBisectAll(std::string_view output);

enum class Finding { kLikeGood, kLikeBad, kSkipped };

// A binary search for the first commit that behaves as BAD.
class Search {
 public:
  // `candidates(bad, goods)` returns the commits that are reachable from `bad`, not from one of
  // `goods`, the best to test next first; `bad` is one of them.
  using Candidates = std::function<std::vector<std::string>(const std::string& bad,
                                                            const std::vector<std::string>& goods)>;

  Search(std::string good, std::string bad, Candidates candidates);

  // Returns the commit to test next, or nothing at the end.
  std::optional<std::string> Next() const;
  void Tell(const std::string& commit, Finding finding);

  // At the end: the commits that may be the first slow one. One, if none beside it was skipped.
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
