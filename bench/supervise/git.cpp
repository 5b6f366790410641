#include "bench/supervise/git.h"

#include <filesystem>
#include <utility>

#include "bench/supervise/search.h"
#include "counters/base/error.h"
#include "counters/base/process.h"

namespace dlroof::supervise {
namespace {

ChildResult RunGit(const std::string& folder, const std::vector<std::string>& arguments) {
  std::vector<std::string> command = {"git", "-C", folder};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return RunChild(command);
}

std::string FirstLine(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace

std::string Git::Run(const std::vector<std::string>& arguments) const {
  auto ran = RunGit(folder_, arguments);
  if (ran.exit_code != 0)
    throw BadInput("git {}: {}", arguments.at(0), ran.err.empty() ? "failed" : FirstLine(ran.err));
  while (ran.out.ends_with('\n')) ran.out.pop_back();
  return ran.out;
}

bool Git::Succeeds(const std::vector<std::string>& arguments) const {
  return RunGit(folder_, arguments).exit_code == 0;
}

std::string Git::CommitOf(const std::string& revision) const {
  const auto ran = RunGit(
      folder_, {"rev-parse", "--verify", "--quiet", "--end-of-options", revision + "^{commit}"});
  if (ran.exit_code != 0 || ran.out.empty())
    throw BadInput("{}: no commit of the repository of {}", revision,
                   std::filesystem::absolute(folder_).lexically_normal().string());
  return FirstLine(ran.out);
}

std::string Git::Title(const std::string& commit) const {
  return Run({"log", "-1", "--abbrev=12", "--format=%h %s", commit});
}

std::vector<std::string> Git::Candidates(const std::string& bad,
                                         const std::vector<std::string>& goods) const {
  std::vector<std::string> arguments = {"rev-list", "--bisect-all", bad, "--not"};
  arguments.insert(arguments.end(), goods.begin(), goods.end());
  return ParseBisectAll(Run(arguments));
}

Worktree::Worktree(const Git& git, std::string path, bool keep)
    : git_(git), path_(std::move(path)), keep_(keep) {
  if (std::filesystem::exists(path_ + "/.git")) return;  // kept by an earlier search
  git_.Run({"worktree", "prune"});
  git_.Run({"worktree", "add", "--detach", "--no-checkout", path_, "HEAD"});
}

Worktree::~Worktree() {
  if (keep_) return;
  try {
    git_.Succeeds({"worktree", "remove", "--force", path_});
  } catch (const std::exception&) {
    return;  // an interrupt; Git removes the entry by itself when the folder is gone
  }
}

void Worktree::CheckOut(const std::string& commit) const {
  Git(path_).Run({"checkout", "--quiet", "--force", "--detach", commit});
}

}  // namespace dlroof::supervise
