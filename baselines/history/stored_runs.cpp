#include "baselines/history/stored_runs.h"

#include <algorithm>
#include <ostream>
#include <sstream>

#include "baselines/compare/compare_stored.h"
#include "counters/base/error.h"
#include "reporters/record/run_file.h"

namespace dlroof::history {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxEarlierRuns = 30;

bool SharesMachine(const record::RunFile& a, const record::RunFile& b) {
  return std::ranges::any_of(a.machines, [&](const auto& one) {
    return std::ranges::find(b.machines, one.fingerprint, &machine::Machine::fingerprint) !=
           b.machines.end();
  });
}

// Returns whether the runs can be compared. Writes the reason to `warnings` if not.
bool IsComparable(const compare::NamedRun& run, const compare::NamedRun& contender,
                  const compare::NameMap& names, std::ostream& warnings) {
  try {
    const auto pairs = compare::PairRecords(run, contender, compare::NamesIn(run, names));
    compare::CheckComparable(run, contender, pairs, false);
    return true;
  } catch (const BadInput& error) {
    warnings << "skipped: " << error.what() << '\n';
    return false;
  }
}

void CheckMapped(const std::vector<compare::NamedRun>& runs, const compare::NameMap& names,
                 const fs::path& folder) {
  auto left = names;
  for (const auto& run : runs)
    for (const auto& mapped : compare::NamesIn(run, names)) left.erase(mapped.first);
  if (!left.empty())
    throw BadInput(
        "{}: no stored run of this machine has the benchmark '{}', which is in the name map",
        folder.string(), left.begin()->first);
}

}  // namespace

std::vector<fs::path> JsonFiles(const fs::path& folder) {
  if (!fs::is_directory(folder))
    throw BadInput("{}: not a folder, expected stored run files in it", folder.string());
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file() && entry.path().extension() == ".json")
      files.push_back(entry.path());
  std::ranges::sort(files);
  return files;
}

std::optional<compare::NamedRun> ReadIfRun(const fs::path& path) {
  try {
    std::ostringstream cut;  // gets a warning if the file is truncated
    compare::NamedRun run{path.string(), record::ReadRunFile(path.string(), cut)};
    if (cut.str().empty()) return run;
  } catch (const BadInput&) {
    // another kind of JSON file, such as a machine
  }
  return std::nullopt;
}

std::vector<compare::NamedRun> FindBaselines(const fs::path& folder,
                                             const compare::NamedRun& contender,
                                             const compare::NameMap& names,
                                             std::ostream& warnings) {
  if (contender.file.machines.empty())
    throw BadInput(contender.where + ": has no machine, so no baseline can be found for it");
  const auto files = JsonFiles(folder);
  std::vector<compare::NamedRun> fitting;
  for (const auto& path : files) {
    std::error_code none;
    if (fs::equivalent(path, contender.where, none)) continue;
    auto run = ReadIfRun(path);
    if (run && SharesMachine(run->file, contender.file) &&
        IsComparable(*run, contender, names, warnings))
      fitting.push_back(std::move(*run));
  }
  if (fitting.empty())
    throw BadInput(
        "{}: none of {} JSON files is a run of this machine ({}) that can be compared with {}",
        folder.string(), files.size(), contender.file.machines.front().fingerprint,
        contender.where);
  std::ranges::stable_sort(fitting, {}, [](const auto& run) { return compare::Moment(run.file); });
  CheckMapped(fitting, names, folder);
  return fitting;
}

std::vector<StoredRun> RunsOfBranch(const std::vector<StoredRun>& runs, const std::string& branch,
                                    const std::set<std::string>& reachable) {
  std::vector<StoredRun> named, reached;
  for (const auto& run : runs) {
    if (run.branch == branch) named.push_back(run);
    if (run.branch.empty() && reachable.contains(run.commit)) reached.push_back(run);
  }
  return named.empty() ? reached : named;
}

std::vector<compare::NamedRun> ChooseBaseline(const History& history,
                                              const std::vector<StoredRun>& runs, std::size_t most,
                                              const compare::NamedRun& contender,
                                              std::ostream& warnings) {
  std::vector<compare::NamedRun> chosen;
  for (auto run = runs.rbegin(); run != runs.rend() && chosen.size() < most; ++run)
    if (auto named = history.Read(*run); IsComparable(named, contender, {}, warnings))
      chosen.push_back(std::move(named));
  std::ranges::reverse(chosen);
  return chosen;
}

std::vector<compare::NamedRun> RunsBefore(const History& history, const compare::NamedRun& base) {
  const auto moment = compare::Moment(base.file);
  auto runs = history.Runs();
  std::erase_if(runs,
                [&](const auto& run) { return moment && run.moment && *run.moment >= *moment; });
  std::ostream silent(nullptr);
  return ChooseBaseline(history, runs, kMaxEarlierRuns, base, silent);
}

std::optional<StoredProgram> NewestProgram(const Builds& builds,
                                           const std::vector<compare::NamedRun>& runs) {
  for (auto run = runs.rbegin(); run != runs.rend(); ++run)
    if (auto program = builds.Find(CommitOf(run->file))) return program;
  return std::nullopt;
}

}  // namespace dlroof::history
