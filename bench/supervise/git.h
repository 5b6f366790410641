// Git, as its plumbing commands answer, and worktrees.
#pragma once

#include <string>
#include <vector>

namespace dlroof::supervise {

// A repository, named by one of its folders.
class Git {
 public:
  explicit Git(std::string folder) : folder_(std::move(folder)) {}

  // Returns the standard output of `git ARGUMENTS`, without the last newline. Throws BadInput with
  // Git's message if it fails.
  std::string Run(const std::vector<std::string>& arguments) const;
  // Returns whether `git ARGUMENTS` succeeds.
  bool Succeeds(const std::vector<std::string>& arguments) const;

  // Returns the full name of a commit. Throws BadInput if there is none.
  std::string CommitOf(const std::string& revision) const;
  // Returns "1a2b3c4d5e6f Subject".
  std::string Title(const std::string& commit) const;
  // Returns the commits between, as Search::Candidates wants them.
  std::vector<std::string> Candidates(const std::string& bad,
                                      const std::vector<std::string>& goods) const;

  const std::string& folder() const { return folder_; }

 private:
  std::string folder_;
};

// A worktree, which is removed at the end unless it is to be kept.
class Worktree {
 public:
  Worktree(const Git& git, std::string path, bool keep);
  ~Worktree();
  Worktree(const Worktree&) = delete;
  Worktree& operator=(const Worktree&) = delete;

  const std::string& path() const { return path_; }
  void CheckOut(const std::string& commit) const;

 private:
  const Git& git_;
  std::string path_;
  bool keep_;
};

}  // namespace dlroof::supervise
