#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "baselines/programs/gpu_device_work.h"
#include "counters/base/numbers.h"

namespace dlroof::programs {
namespace {

constexpr double kApart = 1.1;          // [1] ratio of the times of two kinds
constexpr double kApartSeconds = 5e-7;  // [s] and their difference; clocks of GPUs tick in 32 ns
constexpr std::size_t kMinSteps = 3;
constexpr double kAgreeing = 0.75;  // [1] share of a place's launches that are nearest to its kind

double SecondsOf(const DeviceTask& launch) {
  return Seconds(launch.time.end_ns - launch.time.begin_ns);
}

// The launches of one row.
struct Row {
  std::vector<std::size_t> launches;            // all, in order
  std::vector<std::vector<std::size_t>> steps;  // in each step
};

// Returns the rows; those with fewer than two launches in the middle step are empty.
std::vector<Row> RowsOf(const Steps& steps, const DeviceWork& work, std::size_t kernels) {
  std::vector<Row> rows(kernels);
  std::vector<std::size_t> times(kernels);
  const auto& middle = steps.ranges[steps.ranges.size() / 2];
  for (std::size_t i = middle.begin; i < middle.end; ++i) ++times[work.stream[i]];
  const auto repeats = [&](std::size_t launch) { return times[work.stream[launch]] > 1; };
  for (std::size_t i = 0; i < work.stream.size(); ++i)
    if (repeats(i)) rows[work.stream[i]].launches.push_back(i);
  for (std::size_t step = 0; step < steps.ranges.size(); ++step)
    for (std::size_t i = steps.ranges[step].begin; i < steps.ranges[step].end; ++i) {
      if (!repeats(i)) continue;
      auto& row = rows[work.stream[i]];
      row.steps.resize(step + 1);
      row.steps.back().push_back(i);
    }
  return rows;
}

// Removes the steps in which the row has an unusual number of launches. Returns the usual number.
std::size_t KeepUsualSteps(Row& row) {
  if (row.steps.empty()) return 0;
  std::vector<double> sizes;
  for (const auto& step : row.steps) sizes.push_back(static_cast<double>(step.size()));
  const auto usual = static_cast<std::size_t>(Median(sizes));
  std::erase_if(row.steps, [&](const auto& step) { return step.size() != usual; });
  return usual;
}

// The kinds of a row: the time of each [s], ascending, and the kind of each place in a step.
struct Kinds {
  std::vector<double> seconds;
  std::vector<std::size_t> of_place;

  std::size_t Nearest(double own) const {
    std::size_t best = 0;
    for (std::size_t i = 1; i < seconds.size(); ++i)
      if (std::abs(std::log(own / seconds[i])) < std::abs(std::log(own / seconds[best]))) best = i;
    return best;
  }
};

Kinds KindsOf(const std::vector<double>& places) {
  std::vector<std::size_t> order(places.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::sort(order, {}, [&](std::size_t i) { return places[i]; });
  Kinds kinds;
  kinds.of_place.resize(places.size());
  std::vector<double> inside;
  const auto close = [&] {
    if (!inside.empty()) kinds.seconds.push_back(Median(inside));
    inside.clear();
  };
  for (const auto place : order) {
    const double seconds = places[place];
    if (!inside.empty() && seconds > kApart * inside.front() &&
        seconds > inside.front() + kApartSeconds)
      close();
    inside.push_back(seconds);
    kinds.of_place[place] = kinds.seconds.size();
  }
  close();
  return kinds;
}

// Returns the kinds of a row's launches if there are several, and the steps agree on them.
std::optional<Kinds> SeveralKinds(Row& row, const DeviceWork& work) {
  const auto usual = KeepUsualSteps(row);
  if (usual < 2 || row.steps.size() < kMinSteps) return std::nullopt;
  std::vector<double> places;
  for (std::size_t place = 0; place < usual; ++place) {
    std::vector<double> seconds;
    for (const auto& step : row.steps) seconds.push_back(SecondsOf(work.Launch(step[place])));
    places.push_back(Median(seconds));
  }
  if (std::ranges::min(places) <= 0) return std::nullopt;
  auto kinds = KindsOf(places);
  if (kinds.seconds.size() < 2) return std::nullopt;
  for (std::size_t place = 0; place < usual; ++place) {
    double agreeing = 0;
    for (const auto& step : row.steps) {
      const double own = SecondsOf(work.Launch(step[place]));
      agreeing += own > 0 && kinds.Nearest(own) == kinds.of_place[place] ? 1 : 0;
    }
    if (agreeing < kAgreeing * static_cast<double>(row.steps.size())) return std::nullopt;
  }
  return kinds;
}

// Moves the launches of a row to rows of their kinds. The first kind keeps the row.
void Split(std::uint32_t number, const Row& row, const Kinds& kinds, DeviceWork& work,
           GpuTimeline& timeline) {
  auto whole = timeline.kernels[number];
  whole.launches = whole.seconds = whole.graph_launches = 0;
  whole.variants = static_cast<std::uint32_t>(kinds.seconds.size());
  const auto first = static_cast<std::uint32_t>(timeline.kernels.size());
  for (std::uint32_t kind = 0; kind < kinds.seconds.size(); ++kind) {
    whole.variant = kind + 1;
    if (kind == 0)
      timeline.kernels[number] = whole;
    else
      timeline.kernels.push_back(whole);
  }
  std::vector<std::size_t> kind_of(work.stream.size());
  for (const auto launch : row.launches) {
    const double own = SecondsOf(work.Launch(launch));
    kind_of[launch] = own > 0 ? kinds.Nearest(own) : 0;
  }
  for (const auto& step : row.steps)
    for (std::size_t place = 0; place < step.size(); ++place)
      kind_of[step[place]] = kinds.of_place[place];
  for (const auto launch : row.launches) {
    const auto kind = static_cast<std::uint32_t>(kind_of[launch]);
    const auto moved = kind == 0 ? number : first + kind - 1;
    auto& task = work.all[work.launch_places[launch]];
    task.index = work.stream[launch] = moved;
    auto& use = timeline.kernels[moved];
    use.launches += 1;
    use.seconds += SecondsOf(task);
    use.graph_launches += task.graph ? 1 : 0;
  }
}

}  // namespace

void SplitByTime(const Steps& steps, DeviceWork& work, GpuTimeline& timeline) {
  if (steps.ranges.size() < kMinSteps) return;
  auto rows = RowsOf(steps, work, timeline.kernels.size());
  for (std::uint32_t i = 0; i < rows.size(); ++i)
    if (const auto kinds = SeveralKinds(rows[i], work)) Split(i, rows[i], *kinds, work, timeline);
}

}  // namespace dlroof::programs
