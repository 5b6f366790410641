#include "baselines/history/builds.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <nlohmann/json.hpp>
#include <ostream>
#include <sstream>

#include "counters/base/error.h"
#include "counters/base/files.h"
#include "counters/base/json_reader.h"
#include "counters/base/keys.h"
#include "counters/base/process.h"
#include "reporters/record/run_file.h"
#include "reporters/text/text.h"

namespace dlroof::history {
namespace {

namespace fs = std::filesystem;
using compare::NamedRun;
using nlohmann::json;

constexpr const char* kObjects = "objects";
constexpr const char* kDescription = "program.json";
constexpr const char* kRun = "run";
constexpr std::size_t kMinAbbreviation = 7;  // [characters] as Git abbreviates

// Starts the program with the libraries stored beside it.
constexpr const char* kRunScript =
    "#!/bin/sh\n"
    "folder=$(dirname \"$(readlink -f \"$0\")\")\n"
    "LD_LIBRARY_PATH=\"$folder${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}\" exec \"$folder/{}\" "
    "\"$@\"\n";

// Returns the result of `action`, and throws the file system's errors as BadInput.
template <class Action>
auto Guarded(const Action& action) {
  try {
    return action();
  } catch (const fs::filesystem_error& error) {
    throw BadInput("{}: {}", error.path1().string(), error.code().message());
  }
}

bool IsWord(const std::string& commit) {
  return !commit.empty() && commit != kObjects && commit.front() != '.' &&
         std::ranges::all_of(commit, [](unsigned char c) {
           return std::isalnum(c) != 0 || c == '.' || c == '_' || c == '-';
         });
}

bool IsSystems(const std::string& path) {
  return path.starts_with("/lib") || path.starts_with("/usr/lib") ||
         path.starts_with("/usr/local/lib");
}

std::vector<fs::path> FilesOf(const fs::path& program) {
  std::vector<fs::path> files = {program};
  // ldd fails for a script, which has no libraries.
  if (const auto ldd = RunChild({"ldd", fs::absolute(program).string()}); ldd.exit_code == 0)
    for (const auto& library : OwnLibraries(ldd.out)) files.emplace_back(library);
  const auto module = program.parent_path() / "libdlroof_cuda.so";  // loaded by dlopen
  if (fs::exists(module)) files.push_back(module);
  return files;
}

// Locks the folder against other processes that store or evict programs, as long as the result
// lives. Waits for the lock.
Descriptor Locked(const fs::path& folder) {
  Descriptor file(open((folder / ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (file.get() < 0 || flock(file.get(), LOCK_EX) != 0)
    throw BadInput("{}: cannot be locked, so no program can be stored", folder.string());
  return file;
}

// Removes the folders that a killed process left unfinished. Their names begin with '.'.
void RemoveUnfinished(const fs::path& folder) {
  std::vector<fs::path> unfinished;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.is_directory() && entry.path().filename().string().starts_with('.'))
      unfinished.push_back(entry.path());
  for (const auto& path : unfinished) fs::remove_all(path);
}

bool IsProgram(const fs::directory_entry& entry) {
  return entry.is_directory() && fs::exists(entry.path() / kDescription);
}

StoredProgram ReadProgram(const fs::path& folder) {
  StoredProgram program{folder.filename().string(), (folder / kRun).string(), {}};
  const auto text = ReadFile(folder / kDescription, "the description of a stored program");
  RefuseDeepJson(text, (folder / kDescription).string());
  const json description = json::parse(text, nullptr, false);
  if (description.is_object() && description.contains("files"))
    for (const auto& file : description.at("files"))
      if (file.is_string()) program.files.push_back(file.get<std::string>());
  if (program.files.empty())
    throw BadInput("{}: damaged: 'files' names no file of the stored program",
                   (folder / kDescription).string());
  return program;
}

constexpr std::size_t kMaxEarlierRuns = 30;

bool SharesMachine(const record::RunFile& a, const record::RunFile& b) {
  return std::ranges::any_of(a.machines, [&](const auto& machine) {
    return std::ranges::find(b.machines, machine.fingerprint, &machine::Machine::fingerprint) !=
           b.machines.end();
  });
}

// Returns whether the runs can be compared. If not, writes the reason to `warnings`.
bool IsComparable(const NamedRun& run, const NamedRun& contender, const compare::NameMap& names,
                  std::ostream& warnings) {
  try {
    const auto pairs = compare::PairRecords(run, contender, compare::NamesIn(run, names));
    compare::CheckComparable(run, contender, pairs, false);
    return true;
  } catch (const BadInput& error) {
    warnings << "skipped: " << text::Printable(error.what()) << '\n';
    return false;
  }
}

void CheckMapped(const std::vector<NamedRun>& runs, const compare::NameMap& names,
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

std::vector<std::string> OwnLibraries(std::string_view ldd_output) {
  std::vector<std::string> libraries;
  std::istringstream in{std::string(ldd_output)};
  for (std::string line; std::getline(in, line);) {
    constexpr std::string_view kArrow = " => ";
    const auto arrow = line.find(kArrow);
    if (arrow == std::string::npos) continue;
    const auto begin = arrow + kArrow.size(), end = line.rfind(" (0x");
    if (end == std::string::npos || end <= begin || line[begin] != '/') continue;
    if (auto path = line.substr(begin, end - begin); !IsSystems(path))
      libraries.push_back(std::move(path));
  }
  return libraries;
}

std::uintmax_t ParseSize(const std::string& flag, const std::string& text) {
  constexpr std::pair<std::string_view, double> kUnits[] = {
      {"", 1}, {"k", 1e3}, {"M", 1e6}, {"G", 1e9}, {"T", 1e12}};
  constexpr double kMax = 1e18;
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view rest(end, text.data() + text.size());
  for (const auto& [unit, scale] : kUnits)
    if (error == std::errc() && rest == unit && number >= 0 && number * scale < kMax)
      return static_cast<std::uintmax_t>(number * scale);
  throw BadInput("{}={}: expected a size such as 500M or 2G", flag, text);
}

std::uintmax_t Builds::AddFile(const fs::path& from, const fs::path& to) const {
  const auto content = ReadFile(from, "a program or a library");
  const auto object = folder_ / kObjects /
                      fmt::format("{:016x}{:016x}-{}", HashOf(content),
                                  HashOf(content, HashOf("second")), content.size());
  std::uintmax_t added = 0;
  Guarded([&] {
    if (!fs::exists(object)) {
      fs::copy_file(from, to);  // `to` is in a new folder, so it replaces no link
      fs::permissions(to, fs::perms::owner_all | fs::perms::group_read | fs::perms::group_exec |
                              fs::perms::others_read | fs::perms::others_exec);
      fs::rename(to, object);
      added = content.size();
    }
    fs::create_hard_link(object, to);
  });
  return added;
}

Kept Builds::Keep(const std::string& commit, const fs::path& program,
                  std::uintmax_t most_bytes) const {
  if (!IsWord(commit)) throw BadInput("'{}': expected a commit to store the program for", commit);
  if (!fs::is_regular_file(program))
    throw BadInput("{}: no such file, expected a program to store", program.string());
  const auto files = FilesOf(program);
  const auto folder = folder_ / commit, making = folder_ / ("." + commit);
  Kept kept;
  json names = json::array();
  Guarded([&] { fs::create_directories(folder_ / kObjects); });
  const auto lock = Locked(folder_);
  Guarded([&] {
    RemoveUnfinished(folder_);
    fs::create_directories(making);
  });
  for (const auto& file : files) {
    const auto name = file.filename().string();
    if (std::ranges::find(names, json(name)) != names.end()) continue;
    kept.added_bytes += AddFile(file, making / name);
    names.push_back(name);
  }
  WriteFile(making / kDescription, json{{"files", names}}.dump() + "\n");
  WriteFile(making / kRun, fmt::format(kRunScript, names.at(0).get<std::string>()));
  Guarded([&] {
    fs::permissions(making / kRun, fs::perms::owner_exec | fs::perms::group_exec,
                    fs::perm_options::add);
    fs::remove_all(folder);
    fs::rename(making, folder);
  });
  kept.program = ReadProgram(folder);
  kept.evicted = Evict(commit, most_bytes);
  kept.all_bytes = CollectObjects();
  return kept;
}

// Removes objects that no program links to. Returns the total size [byte] of the others.
std::uintmax_t Builds::CollectObjects() const {
  return Guarded([&] {
    std::uintmax_t bytes = 0;
    for (const auto& object : fs::directory_iterator(folder_ / kObjects)) {
      if (object.hard_link_count() < 2)
        fs::remove(object.path());
      else
        bytes += object.file_size();
    }
    return bytes;
  });
}

std::vector<std::string> Builds::Evict(const std::string& keep, std::uintmax_t most_bytes) const {
  std::vector<std::pair<fs::file_time_type, std::string>> by_use;
  for (const auto& commit : Commits())
    if (commit != keep)
      by_use.emplace_back(fs::last_write_time(folder_ / commit / kDescription), commit);
  std::ranges::sort(by_use);
  std::vector<std::string> evicted;
  for (std::size_t next = 0;; ++next) {
    const auto bytes = CollectObjects();
    if (bytes <= most_bytes) return evicted;
    if (next == by_use.size()) {
      Guarded([&] { fs::remove_all(folder_ / keep); });
      CollectObjects();
      throw BadInput("the program takes {} byte, more than all stored programs may ({})", bytes,
                     most_bytes);
    }
    Guarded([&] { fs::remove_all(folder_ / by_use[next].second); });
    evicted.push_back(by_use[next].second);
  }
}

std::optional<StoredProgram> Builds::Find(const std::string& commit) const {
  if (!IsWord(commit)) return std::nullopt;
  const auto commits = Commits();
  auto found = std::ranges::find(commits, commit);
  if (found == commits.end())
    found = std::ranges::find_if(commits, [&](const std::string& stored) {
      const auto shorter = std::min(stored.size(), commit.size());
      return shorter >= kMinAbbreviation && stored.compare(0, shorter, commit, 0, shorter) == 0;
    });
  if (found == commits.end()) return std::nullopt;
  std::error_code not_ours;  // ignored: only the owner of a file can set its time
  fs::last_write_time(folder_ / *found / kDescription, fs::file_time_type::clock::now(), not_ours);
  return ReadProgram(folder_ / *found);
}

std::vector<std::string> Builds::Commits() const {
  std::vector<std::string> commits;
  std::error_code missing;
  for (const auto& entry : fs::directory_iterator(folder_, missing))
    if (IsProgram(entry) && !entry.path().filename().string().starts_with('.'))
      commits.push_back(entry.path().filename().string());
  std::ranges::sort(commits);
  return commits;
}

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

std::optional<NamedRun> ReadIfRun(const fs::path& path) {
  try {
    std::ostringstream cut;  // gets a warning if the file is truncated
    NamedRun run{path.string(), record::ReadRunFile(path.string(), cut)};
    if (cut.str().empty()) return run;
  } catch (const BadInput&) {
    // another kind of JSON file, such as a machine
  }
  return std::nullopt;
}

std::vector<NamedRun> FindBaselines(const fs::path& folder, const NamedRun& contender,
                                    const compare::NameMap& names, std::ostream& warnings) {
  if (contender.file.machines.empty())
    throw BadInput(contender.where + ": has no machine, so no baseline can be found for it");
  const auto files = JsonFiles(folder);
  std::vector<NamedRun> fitting;
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
        "{}: none of {} JSON files is a run of the machine of {} ({}) that can be compared with it",
        folder.string(), files.size(), contender.where,
        contender.file.machines.front().fingerprint);
  std::ranges::stable_sort(fitting, {}, [](const auto& run) { return Moment(run.file); });
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

std::vector<NamedRun> ChooseBaseline(const History& history, const std::vector<StoredRun>& runs,
                                     std::size_t most, const NamedRun& contender,
                                     std::ostream& warnings) {
  std::vector<NamedRun> chosen;
  for (auto run = runs.rbegin(); run != runs.rend() && chosen.size() < most; ++run)
    if (auto named = history.Read(*run); IsComparable(named, contender, {}, warnings))
      chosen.push_back(std::move(named));
  std::ranges::reverse(chosen);
  return chosen;
}

std::vector<NamedRun> RunsBefore(const History& history, const NamedRun& base) {
  const auto moment = Moment(base.file);
  auto runs = history.Runs();
  std::erase_if(runs,
                [&](const auto& run) { return moment && run.moment && *run.moment >= *moment; });
  std::ostream silent(nullptr);
  return ChooseBaseline(history, runs, kMaxEarlierRuns, base, silent);
}

std::optional<StoredProgram> NewestProgram(const Builds& builds,
                                           const std::vector<NamedRun>& runs) {
  for (auto run = runs.rbegin(); run != runs.rend(); ++run)
    if (auto program = builds.Find(CommitOf(run->file))) return program;
  return std::nullopt;
}

std::optional<statistics::Verdict> RunVerdicts::Of(const Point& point, const std::string& name) {
  if (!point.median) return std::nullopt;
  const auto [judged, added] = known_.try_emplace(point.run);
  if (added) judged->second = Judge(point.run);
  return FindCopy(judged->second, name);
}

TimedPoints TimedOf(const std::vector<Point>& points) {
  TimedPoints timed;
  for (std::size_t i = 0; i < points.size(); ++i)
    if (points[i].median) {
      timed.index.push_back(i);
      timed.seconds.push_back(*points[i].median);
    }
  return timed;
}

SeriesProfile ProfileOf(const Series& series, const std::vector<Point>& points,
                        RunVerdicts& verdicts) {
  const auto timed = TimedOf(points);
  std::vector<double> waits;
  for (const auto i : timed.index)
    if (points[i].wall_over_cpu && series.threads == 1) waits.push_back(*points[i].wall_over_cpu);
  if (waits.size() < timed.index.size()) waits.clear();
  return ProfileOf(timed.seconds, verdicts.Of(points.back(), series.name), waits);
}

RunVerdicts::Verdicts RunVerdicts::Judge(std::int64_t run) const {
  Verdicts verdicts;
  const auto stored = std::ranges::find(runs_, run, &StoredRun::id);
  const auto contender = history_.Read(*stored);
  std::ostream silent(nullptr);
  const auto baseline =
      ChooseBaseline(history_, {runs_.begin(), stored}, kUsualRuns, contender, silent);
  if (baseline.empty()) return verdicts;
  try {
    const auto result = compare::CompareWithStored(baseline, contender, {});
    // If all moved together, each gets the common verdict: the site then shows one event of all.
    std::optional<statistics::Verdict> all;
    if (const auto& common = result.judged.common; common && common->is_unexplained)
      all = common->all.log_ratio > 0 ? statistics::Verdict::kSlower : statistics::Verdict::kFaster;
    for (const auto& row : result.rows)
      if (row.base != nullptr && row.contender != nullptr)
        verdicts[row.name()] = all && !statistics::IsChange(row.verdict) ? *all : row.verdict;
  } catch (const BadInput&) {  // its benchmarks or conventions are new: nothing to compare with
  }
  return verdicts;
}

}  // namespace dlroof::history
