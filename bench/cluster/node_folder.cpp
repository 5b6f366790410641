#include "bench/cluster/node_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>
#include <sstream>

#include "bench/cluster/sha256.h"
#include "bench/supervise/journal.h"
#include "bench/supervise/merge.h"
#include "counters/base/error.h"
#include "counters/base/files.h"
#include "counters/base/json_reader.h"

namespace dlroof::cluster_run {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kJournal = ".json.journal";
constexpr std::uintmax_t kMostAsked = 64 << 20;  // [byte] of asked.txt

cluster::NodeSummary Unreadable(const std::string& name, const std::string& file, const std::string& why) {
  cluster::NodeSummary summary;
  summary.facts.name = name;
  summary.status = cluster::NodeStatus::kFailed;
  summary.reason = why;
  summary.file = file;
  return summary;
}

// Returns the last line of a log, which says why its program ended; empty: there is none.
std::string LastWords(const fs::path& log) {
  const auto text = ReadFileIfAny(log);
  const auto end = text.find_last_not_of('\n');
  if (end == std::string::npos) return "";
  const auto begin = text.find_last_of('\n', end);
  return text.substr(begin == std::string::npos ? 0 : begin + 1,
                     end - (begin == std::string::npos ? -1 : static_cast<long>(begin)));
}

std::vector<fs::path> FilesIn(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(folder, none)) files.push_back(entry.path());
  std::ranges::sort(files);
  return files;
}

}  // namespace

NodeFolder::NodeFolder(const fs::path& folder, int visit)
    : folder_(visit == 0 ? folder : folder / "visits" / std::to_string(visit)) {}

std::vector<int> NodeFolder::Visits() const {
  std::vector<int> visits;
  for (const auto& path : FilesIn(folder_ / "visits")) {
    const auto name = path.filename().string();
    int number = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (error == std::errc() && *end == '\0' && number > 0) visits.push_back(number);
  }
  std::ranges::sort(visits);
  return visits;
}

std::string NodeFolder::WhyNoNetwork() const {
  return fs::exists(Network()) ? "" : LastWords(folder_ / "network.log");
}

void NodeFolder::Make() const {
  for (const auto& path :
       {folder_ / "nodes", folder_ / "runs", folder_ / "logs", folder_ / "cache"}) {
    std::error_code error;
    fs::create_directories(path, error);
    if (error) throw BadInput("{}: cannot be made: {}", path.string(), error.message());
  }
}

std::optional<std::vector<std::string>> NodeFolder::Asked() const {
  const auto path = folder_ / "asked.txt";
  if (!fs::exists(path)) return std::nullopt;
  return NamesIn(path);
}

std::vector<fs::path> NodeFolder::NodeFiles() const {
  auto files = FilesIn(folder_ / "nodes");
  std::erase_if(files, [](const fs::path& file) { return file.extension() != ".json"; });
  return files;
}

std::vector<std::string> NodeFolder::Unfinished() const {
  std::vector<std::string> names;
  for (const auto& file : FilesIn(folder_ / "runs"))
    if (file.extension() == ".node" && !fs::exists(Node(file.stem().string())))
      names.push_back(file.stem().string());
  return names;
}

std::vector<std::string> NamesIn(const fs::path& path) {
  std::istringstream lines(ReadFile(path, "a list of nodes", kMostAsked));
  std::set<std::string> names;
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (line.empty()) continue;
    if (line.find_first_of("/ \t\r") != std::string::npos)
      throw BadInput(BadInput::Place{path.string(), number},
                     "'{}': expected one node's name a line", line);
    names.insert(line);
  }
  return {names.begin(), names.end()};
}

nlohmann::json ReadMeetings(const fs::path& path) {
  std::istringstream lines(ReadFileIfAny(path));
  auto list = nlohmann::json::array();
  for (std::string line; std::getline(lines, line);) {
    auto meeting = nlohmann::json::parse(line, nullptr, false);
    if (!meeting.is_object() || !meeting.contains("benchmark")) continue;
    const auto before = std::ranges::find_if(list, [&](const nlohmann::json& other) {
      return other.at("benchmark") == meeting.at("benchmark");
    });
    if (before != list.end())
      *before = std::move(meeting);
    else
      list.push_back(std::move(meeting));
  }
  return list;
}

cluster::NodeSummary ReadNodeFile(const fs::path& path) {
  const auto stem = path.stem().string();
  try {
    std::ostringstream warnings;
    const auto text = ReadFile(path, "a node's file");
    auto summary = cluster::SummaryOf(record::ParseRunFile(text, path.string(), warnings), path.string());
    summary.sha256 = Sha256(text);
    if (summary.facts.name != stem)
      return Unreadable(stem, path.string(),
                        fmt::format("{}: is of node {}, whose file is {}.json: a node counts once",
                                    path.string(), summary.facts.name, summary.facts.name));
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
  const auto journal = supervise::ParseJournal(ReadFile(path, "a journal"), path);
  std::vector<supervise::Supervised> done;
  for (const auto& entry : journal.entries)
    done.push_back({entry.benchmark.fresh,
                    {supervise::PartFrom(entry.benchmark.fresh, entry.outcomes.front(), std::nullopt)}});
  if (done.empty()) throw BadInput("{}: no benchmark was finished", path);
  auto run = supervise::MergedRun(done, journal.machines, nlohmann::json::object()).run.file;
  const auto stem = path.substr(0, path.size() - kJournal.size());
  const auto facts = stem + ".node";
  run.context["dlroof"]["node"] = ParsedJson(ReadFile(facts, "a node's facts"), facts);
  if (auto meetings = ReadMeetings(stem + ".meetings"); !meetings.empty())
    run.context["dlroof"]["meetings"] = std::move(meetings);
  return run;
}

cluster::NodeSummary ReadUnfinished(const NodeFolder& folder, const std::string& name) {
  const auto journal = folder.Run(name).string() + ".journal";
  const auto words = LastWords(folder.Log(name));
  const auto said = words.empty() ? std::string() : "; its log ends: " + words;
  if (!fs::exists(journal)) {
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
