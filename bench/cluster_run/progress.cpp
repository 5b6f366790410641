#include "bench/cluster_run/progress.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <iostream>
#include <set>

#include "bench/supervise/journal.h"
#include "counters/base/error.h"
#include "counters/base/files.h"
#include "counters/base/process.h"
#include "reporters/text/text.h"

namespace dlroof::cluster_run {
namespace {

namespace fs = std::filesystem;

NodeProgress ProgressOfNode(const NodeFolder& folder, const std::string& name) {
  if (fs::exists(folder.Node(name))) return {.name = name, .state = NodeState::kWhole};
  if (!fs::exists(folder.Facts(name))) return {.name = name};
  NodeProgress progress{.name = name, .state = NodeState::kMeasuring};
  const auto journal = folder.Run(name).string() + ".journal";
  const auto text = ReadFileIfAny(journal);
  if (text.empty()) return progress;
  try {
    const auto parsed = supervise::ParseJournal(text, journal);
    progress.done = parsed.entries.size();
    if (parsed.header) progress.all = parsed.header->benchmarks.size();
  } catch (const BadInput&) {  // the journal is being written
  }
  return progress;
}

// Returns the folder of the last re-measurement, or DIR itself.
NodeFolder LastVisit(const std::string& path) {
  const NodeFolder first(path);
  const auto visits = first.Visits();
  return visits.empty() ? first : NodeFolder(path, visits.back());
}

std::string NowText() {
  const auto now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  return fmt::format("{:%Y-%m-%d %H:%M:%S} UTC", fmt::gmtime(now));
}

}  // namespace

std::vector<NodeProgress> ProgressOf(const NodeFolder& folder) {
  std::set<std::string> names;
  if (const auto asked = folder.Asked()) names.insert(asked->begin(), asked->end());
  for (const auto& file : folder.NodeFiles()) names.insert(file.stem().string());
  for (const auto& name : folder.Unfinished()) names.insert(name);
  std::vector<NodeProgress> progress;
  for (const auto& name : names) progress.push_back(ProgressOfNode(folder, name));
  std::ranges::sort(progress, cluster::NodeNameLess, &NodeProgress::name);
  return progress;
}

bool IsWhole(const std::vector<NodeProgress>& progress) {
  return std::ranges::all_of(
      progress, [](const NodeProgress& node) { return node.state == NodeState::kWhole; });
}

std::string ProgressText(const std::string& title, const std::vector<NodeProgress>& progress) {
  std::size_t whole = 0, done = 0, left = 0;
  std::string nodes;
  for (const auto& node : progress) {
    if (node.state == NodeState::kWhole) {
      ++whole;
      continue;
    }
    if (node.done) done += *node.done;
    if (node.done && node.all) left += *node.all - std::min(*node.all, *node.done);
    nodes += fmt::format("  {}: {}\n", text::Printable(node.name),
                         node.state == NodeState::kNotBegun ? std::string("not begun")
                         : !node.done                       ? std::string("measuring")
                         : node.all ? fmt::format("{} done, {} left", *node.done,
                                                  *node.all - std::min(*node.all, *node.done))
                                    : fmt::format("{} done", *node.done));
  }
  auto text = fmt::format("{}: {} of {} nodes are whole", title, whole, progress.size());
  if (whole < progress.size())
    text += fmt::format("; on the others {} benchmarks are done, {} left", done, left);
  return text + '\n' + nodes;
}

void FollowProgress(const std::string& path, double every_seconds) {
  if (!fs::is_directory(path))
    throw BadInput("{}: expected the folder of `dlroof cluster node --out`", path);
  StopOnInterrupt();
  while (true) {
    const auto folder = LastVisit(path);
    const auto progress = ProgressOf(folder);
    const auto visit = folder.path() == fs::path(path)
                           ? std::string()
                           : ", visit " + folder.path().filename().string();
    const auto text = ProgressText(NowText() + visit, progress);
    WriteFile((fs::path(path) / "progress.txt").string(), text);
    std::cout << text << std::flush;
    const bool over = !progress.empty() && IsWhole(progress) && visit.empty();
    if (every_seconds == 0 || over) return;
    for (double waited = 0; waited < every_seconds && !StoppedByInterrupt(); waited += 0.2)
      SleepSeconds(0.2);
    if (StoppedByInterrupt()) return;
  }
}

}  // namespace dlroof::cluster_run
