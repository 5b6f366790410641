#include "bench/cluster_run/node_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "bench/supervise/supervised_program.h"
#include "counters/base/files.h"
#include "counters/base/json_reader.h"
#include "counters/base/keys.h"
#include "counters/base/process.h"
#include "reporters/text/text.h"

namespace dlroof::cluster_run {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kJournal = ".json.journal";
constexpr std::uintmax_t kMaxAsked = 64 << 20;  // [byte] maximum size of asked.txt

cluster::NodeSummary Unreadable(const std::string& name, const std::string& file,
                                const std::string& reason) {
  cluster::NodeSummary summary;
  summary.facts.name = name;
  summary.status = cluster::NodeStatus::kFailed;
  summary.reason = reason;
  summary.file = file;
  return summary;
}

// Returns all entries or, with `extension`, the regular files with it: reading a pipe could block.
std::vector<fs::path> FilesIn(const fs::path& folder, std::string_view extension = "") {
  std::vector<fs::path> files;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(folder, none))
    if (extension.empty() || (entry.path().extension() == extension && entry.is_regular_file(none)))
      files.push_back(entry.path());
  std::ranges::sort(files);
  return files;
}

}  // namespace

NodeFolder::NodeFolder(const fs::path& folder, int visit)
    : folder_(visit == 0 ? folder : folder / "visits" / std::to_string(visit)) {}

std::vector<int> NodeFolder::Visits() const {
  std::vector<int> visits;
  for (const auto& path : FilesIn(folder_ / "visits")) {
    const auto number = ParseNumber<int>(path.filename().string());
    if (number > 0) visits.push_back(*number);
  }
  std::ranges::sort(visits);
  return visits;
}

void NodeFolder::Make() const {
  for (const auto& path :
       {folder_ / "nodes", folder_ / "runs", folder_ / "logs", folder_ / "cache"}) {
    std::error_code error;
    fs::create_directories(path, error);
    if (error) throw BadInput("{}: cannot be created: {}", path.string(), error.message());
  }
}

std::optional<std::vector<std::string>> NodeFolder::Asked() const {
  const auto path = folder_ / "asked.txt";
  if (!fs::is_regular_file(path)) return std::nullopt;
  return NamesIn(path);
}

std::vector<fs::path> NodeFolder::NodeFiles() const { return FilesIn(folder_ / "nodes", ".json"); }

std::vector<std::string> NodeFolder::Unfinished() const {
  std::vector<std::string> names;
  for (const auto& file : FilesIn(folder_ / "runs", ".node"))
    if (!fs::exists(Node(file.stem().string()))) names.push_back(file.stem().string());
  return names;
}

std::vector<std::string> NamesIn(const fs::path& path) {
  std::istringstream lines(ReadFile(path, "a list of nodes", kMaxAsked));
  std::set<std::string> names;
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (line.empty()) continue;
    cluster::CheckNodeName(line, fmt::format("{}:{}", path.string(), number));
    names.insert(line);
  }
  return {names.begin(), names.end()};
}

cluster::NodeSummary ReadNodeFile(const fs::path& path) {
  const auto stem = path.stem().string();
  try {
    std::ostringstream warnings;
    const auto text = ReadFile(path, "a node's file", record::kMaxFileBytes);
    auto summary =
        cluster::SummaryOf(record::ParseRunFile(text, path.string(), warnings), path.string());
    if (summary.facts.name != stem)
      return Unreadable(stem, path.string(),
                        fmt::format("{}: is of node {}, whose file is {}.json: a node counts once",
                                    path.string(), summary.facts.name, summary.facts.name));
    if (summary.times.empty() && summary.untimed.empty())
      return Unreadable(
          stem, path.string(),
          fmt::format("{}: has no records; expected those of a complete run", path.string()));
    if (warnings.str().empty()) return summary;
    summary.status = cluster::NodeStatus::kPartial;
    summary.reason = warnings.str().substr(0, warnings.str().find('\n'));
    return summary;
  } catch (const BadInput& refusal) {
    return Unreadable(stem, path.string(), refusal.what());
  }
}

bool IsJournal(const std::string& path) { return path.ends_with(kJournal); }

record::RunFile ReadNodeRun(const std::string& path) {
  std::ostringstream warnings;
  if (!IsJournal(path)) return record::ReadRunFile(path, warnings);
  const auto journal =
      supervise::ParseJournal(ReadFile(path, "a journal", record::kMaxFileBytes), path);
  std::vector<supervise::Supervised> done;
  for (const auto& entry : journal.entries)
    done.push_back(
        {entry.benchmark.contender,
         {supervise::PartFrom(entry.benchmark.contender, entry.outcomes.front(), std::nullopt)}});
  if (done.empty()) throw BadInput("{}: no benchmark was finished", path);
  auto run = supervise::MergedRun(done, journal.machines, nlohmann::json::object()).run.file;
  const auto facts = path.substr(0, path.size() - kJournal.size()) + ".node";
  run.context["dlroof"]["node"] = ParsedJson(ReadFile(facts, "a node's facts", kMaxAsked), facts);
  return run;
}

cluster::NodeSummary ReadUnfinished(const NodeFolder& folder, const std::string& name) {
  const auto journal = folder.Run(name).string() + ".journal";
  const auto line = supervise::LastLines(ReadFileIfAny(folder.Log(name)), 1, "");
  const auto said = line.empty() ? line : "; its log ends: " + line;
  if (!fs::is_regular_file(journal)) {
    auto summary = Unreadable(name, "", "began, and has no file" + said);
    summary.status = cluster::NodeStatus::kMissing;
    return summary;
  }
  try {
    const auto run = ReadNodeRun(journal);
    auto summary = cluster::SummaryOf(run, journal);
    summary.status = cluster::NodeStatus::kPartial;
    summary.reason = fmt::format("not finished: {} benchmarks are{}", run.records.size(), said);
    return summary;
  } catch (const BadInput& refusal) {
    auto summary = Unreadable(name, journal, refusal.what() + said);
    summary.status = cluster::NodeStatus::kMissing;
    return summary;
  }
}

}  // namespace dlroof::cluster_run
