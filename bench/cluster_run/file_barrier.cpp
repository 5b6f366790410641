#include "bench/cluster_run/file_barrier.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <fstream>
#include <utility>

#include "counters/base/error.h"
#include "counters/base/process.h"
#include "counters/cpu/clocks.h"

namespace dlroof::cluster_run {
namespace {

namespace fs = std::filesystem;

constexpr char kAt = '@';  // not allowed in names of nodes
constexpr std::string_view kDone = "done";
// Limit on the listings of the shared folder by all nodes together.
constexpr double kLooksPerSecond = 10000;
constexpr double kShortestPause = 0.005;  // [s]

struct Entry {
  std::string name;
  std::optional<std::size_t> turn;  // unless the node is done
};

// Parses NAME@TURN. Returns nothing for other files.
std::optional<Entry> EntryOf(const std::string& file) {
  const auto at = file.rfind(kAt);
  if (at == std::string::npos) return std::nullopt;
  Entry entry{file.substr(0, at), std::nullopt};
  const auto text = std::string_view(file).substr(at + 1);
  if (text == kDone) return entry;
  std::size_t turn = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), turn);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  entry.turn = turn;
  return entry;
}

}  // namespace

BarrierClock SystemBarrierClock() {
  return {.seconds = cpu::WallSeconds,
          .date =
              [] {
                const auto now = std::chrono::system_clock::now().time_since_epoch();
                return std::chrono::duration<double>(now).count();
              },
          .sleep = SleepSeconds,
          .stopped = StoppedByInterrupt};
}

FileBarrier::FileBarrier(fs::path folder, std::string name, const std::vector<std::string>& others,
                         std::size_t finished, double deadline_seconds, BarrierClock clock)
    : folder_(std::move(folder)),
      name_(std::move(name)),
      awaited_(others.begin(), others.end()),
      finished_(finished),
      deadline_seconds_(deadline_seconds),
      pause_seconds_(
          std::max(kShortestPause, static_cast<double>(others.size()) / kLooksPerSecond)),
      clock_(std::move(clock)) {
  awaited_.erase(name_);
  std::error_code error;
  fs::create_directories(folder_, error);
  if (error) throw BadInput("{}: cannot be created: {}", folder_.string(), error.message());
  for (const auto& file : fs::directory_iterator(folder_, error)) {
    const auto entry = EntryOf(file.path().filename().string());
    if (entry && entry->name == name_) fs::remove(file.path(), error);
  }
}

std::map<std::string, std::optional<std::size_t>> FileBarrier::Turns() const {
  std::map<std::string, std::optional<std::size_t>> turns;
  std::error_code error;
  for (fs::directory_iterator file(folder_, error), end; !error && file != end;
       file.increment(error)) {
    const auto entry = EntryOf(file->path().filename().string());
    if (!entry) continue;
    const auto [found, added] = turns.try_emplace(entry->name, entry->turn);
    // A node creates its new file before it removes the old one.
    if (!added && found->second && (!entry->turn || *entry->turn > *found->second))
      found->second = entry->turn;
  }
  return turns;
}

void FileBarrier::Write(const std::string& turn) {
  const auto path = folder_ / (name_ + kAt + turn);
  if (!std::ofstream(path).is_open()) throw BadInput("{}: cannot be written", path.string());
  std::error_code none;
  if (own_ && *own_ != path) fs::remove(*own_, none);
  own_ = path;
}

cluster::Barrier FileBarrier::Meet(std::size_t turn, const std::string& benchmark) {
  const double begin = clock_.seconds();
  Write(std::to_string(turn));
  cluster::Barrier barrier{.benchmark = benchmark};
  std::size_t left = 0;
  for (bool first = true;; first = false) {
    const auto turns = Turns();
    std::vector<std::string> absent;
    for (const auto& name : awaited_) {
      const auto found = turns.find(name);
      if (found == turns.end() || (found->second && *found->second < turn))
        absent.push_back(name);
      else if (first && found->second != turn)
        ++left;
    }
    barrier.waited_seconds = clock_.seconds() - begin;
    barrier.with = awaited_.size() - absent.size() - left;
    if (absent.empty() || clock_.stopped()) break;
    if (barrier.waited_seconds >= deadline_seconds_) {
      for (const auto& name : absent) awaited_.erase(name);
      barrier.late = std::move(absent);
      break;
    }
    clock_.sleep(pause_seconds_);
  }
  barrier.ahead = finished_ + left;
  barrier.began_seconds = clock_.date();
  return barrier;
}

void FileBarrier::Leave() { Write(std::string(kDone)); }

}  // namespace dlroof::cluster_run
