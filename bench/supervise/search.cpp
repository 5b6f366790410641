#include "bench/supervise/search.h"

#include <algorithm>
#include <sstream>
#include <utility>

namespace dlroof::supervise {

std::vector<std::string> ParseBisectAll(std::string_view output) {
  std::vector<std::string> commits;
  std::istringstream in{std::string(output)};
  for (std::string line; std::getline(in, line);)
    if (auto commit = line.substr(0, line.find(' ')); !commit.empty())
      commits.push_back(std::move(commit));
  return commits;
}

Search::Search(std::string good, std::string bad, Candidates candidates)
    : goods_{std::move(good)}, bad_(std::move(bad)), candidates_(std::move(candidates)) {
  Ask();
}

void Search::Ask() { open_ = candidates_(bad_, goods_); }

std::optional<std::string> Search::Next() const {
  for (const auto& commit : open_)
    if (commit != bad_ && !skipped_.contains(commit)) return commit;
  return std::nullopt;
}

void Search::Tell(const std::string& commit, Finding finding) {
  if (finding == Finding::kSkipped) {
    skipped_.insert(commit);
    return;
  }
  if (finding == Finding::kLikeGood)
    goods_.push_back(commit);
  else
    bad_ = commit;
  Ask();
}

std::vector<std::string> Search::Suspects() const {
  std::vector<std::string> suspects = open_;
  if (std::ranges::find(suspects, bad_) == suspects.end()) suspects.push_back(bad_);
  return suspects;
}

}  // namespace dlroof::supervise
