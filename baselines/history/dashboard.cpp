#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "baselines/history/history.h"
#include "counters/base/error.h"
#include "counters/base/files.h"
#include "counters/base/keys.h"
#include "counters/base/numbers.h"
#include "reporters/document/document.h"
#include "reporters/figure/page.h"
#include "reporters/record/run_context.h"
#include "reporters/text/text.h"

namespace dlroof::history {

// Embedded files of the site; module.cmake generates the functions.
const std::vector<EmbeddedFile>& SiteHtmlFiles();
const std::vector<EmbeddedFile>& SiteStyleFiles();
const std::vector<EmbeddedFile>& SiteScriptFiles();

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::size_t kMaxSparkPoints = 60;

// Significant digits: enough for charts, and the files are half as large.
constexpr int kDigits = 6;
double Rounded(double value) { return text::Rounded(value, kDigits); }

// Returns the points of a sparkline: medians of consecutive, equally large groups of values.
json Spark(const std::vector<double>& values) {
  json spark = json::array();
  const std::size_t groups = std::min(values.size(), kMaxSparkPoints);
  const auto start = [&](std::size_t group) {
    return values.begin() + static_cast<std::ptrdiff_t>(group * values.size() / groups);
  };
  for (std::size_t i = 0; i < groups; ++i)
    spark.push_back(Rounded(Median({start(i), start(i + 1)})));
  return spark;
}

json EmptyTimes() {
  json times = json::object();
  for (const char* key : {"run", "median", "low", "high", "clean", "of"})
    times[key] = json::array();
  return times;
}

void AddTime(const Point& point, std::size_t run, double median,
             const std::optional<std::pair<double, double>>& ci95, json& times) {
  times["run"].push_back(run);
  times["median"].push_back(Rounded(median));
  times["low"].push_back(ci95 ? json(Rounded(ci95->first)) : json());
  times["high"].push_back(ci95 ? json(Rounded(ci95->second)) : json());
  times["clean"].push_back(point.clean);
  times["of"].push_back(point.repetitions);
}

json PointsJson(const std::vector<Point>& points, const std::vector<std::size_t>& run_of,
                const TimedPoints& timed, const SeriesProfile& profile) {
  json all = {{"outliers", profile.outliers}};
  all.update(EmptyTimes());
  for (const std::size_t i : timed.index)
    AddTime(points[i], run_of[i], *points[i].median, points[i].ci95, all);
  json estimates = EmptyTimes();  // levels and changes ignore them
  for (std::size_t i = 0; i < points.size(); ++i)
    if (const auto& estimate = points[i].estimate)
      AddTime(points[i], run_of[i], estimate->median, estimate->ci95, estimates);
  if (!estimates["run"].empty()) all["estimates"] = std::move(estimates);
  return all;
}

// One series as JSON for the site's scripts.
struct SeriesView {
  nlohmann::json summary;            // for index.html: last time, levels, changes, noise, sparkline
  nlohmann::json points;             // all points, for the chart
  std::vector<LevelChange> changes;  // ascending by run
};

constexpr std::size_t kSeriesPerFile = 32;
constexpr std::string_view kLoader = "load";  // script that loads one date's roofline

std::string_view SiteStyle() { return SiteStyleFiles().at(0).text; }

// Returns the scripts that only index.html has. They run after the first of figure::PageScripts.
std::vector<EmbeddedFile> SiteScripts() {
  auto scripts = figure::InRunningOrder(SiteScriptFiles());
  std::erase_if(scripts, [](const auto& script) { return script.name == kLoader; });
  return scripts;
}

// Creates the folders and deletes the data files of an earlier dashboard.
void MakeFolders(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder / "data", error);
  if (error) throw BadInput("{}: {}", folder.string(), error.message());
  for (const auto& entry : fs::directory_iterator(folder / "data")) {
    const auto name = entry.path().filename().string();
    constexpr std::string_view kOurs[] = {"series-", "times-", "run-", "machines-"};
    if (entry.path().extension() == ".js" &&
        std::ranges::any_of(kOurs, [&](auto ours) { return name.starts_with(ours); }))
      fs::remove(entry.path());
  }
}

void WriteSharedFiles(const fs::path& folder) {
  if (!figure::PlotlyScript())
    throw BadInput(
        "built without plotly.js: a dashboard cannot be written; configure with "
        "-DDLROOF_PLOTLY_JS=/path/to/plotly.min.js");
  WriteFile(folder / "plotly.js", figure::PlotlyScript()->text);
  WriteFile(folder / "load.js", TextOf(SiteScriptFiles(), kLoader));
  WriteFile(folder / "roofline.js", figure::Join(figure::PageScripts()));
  WriteFile(folder / "site.js",
            fmt::format("{}\n{}", figure::PageScripts().front().text, figure::Join(SiteScripts())));
  std::ostringstream page;
  figure::WriteSitePage(SiteStyle(), page);
  WriteFile(folder / "roofline.html", page.str());
}

class Site {
 public:
  Site(const History& history, fs::path folder)
      : history_(history),
        verdicts_(history),
        folder_(std::move(folder)),
        runs_(history.Runs()),
        times_(runs_.size()) {
    if (runs_.empty()) throw BadInput("dashboard: the history has no run");
    for (std::size_t i = 0; i < runs_.size(); ++i) run_index_[runs_[i].id] = i;
  }

  DashboardCounts Write() {
    MakeFolders(folder_);
    WriteSharedFiles(folder_);
    json content = {{"series", WriteSeries()}, {"runs", WriteRuns()}, {"machines", machines_}};
    const auto events =
        FindEvents(level_changes_,
                   VectorOf<std::size_t>(times_, [](const auto& times) { return times.size(); }));
    content["events"] = EventsJson(events, content["series"]);
    content["measured"] = counts_.measured;
    content["unjudged"] = counts_.unjudged;
    WriteTimes();
    WriteIndex(content);
    WriteFile(folder_ / "badge.svg", Badge(events));
    return counts_;
  }

 private:
  // Returns the summaries of all series, and writes their points to files of kSeriesPerFile series.
  json WriteSeries() {
    json summaries = json::array();
    json chunk = json::object();
    std::size_t chunks = 0;
    const auto flush = [&] {
      if (chunk.empty()) return;
      WriteFile(folder_ / "data" / fmt::format("series-{}.js", chunks),
                fmt::format("dlroofSeries({}, {});\n", chunks, figure::ScriptSafeJson(chunk)));
      chunk = json::object();
      ++chunks;
    };
    for (const Series& series : history_.AllSeries()) {
      const auto points = history_.PointsOf(series);
      if (points.empty()) continue;
      SeriesView view = MakeView(series, points, summaries.size());
      view.summary["machine"] = MachineIndex(series);
      view.summary["chunk"] = chunks;
      Record(points, view, summaries.size());
      summaries.push_back(std::move(view.summary));
      if (!view.points.is_null()) chunk[std::to_string(series.id)] = std::move(view.points);
      if (chunk.size() == kSeriesPerFile) flush();
    }
    flush();
    counts_.series = static_cast<int>(summaries.size());
    return summaries;
  }

  // Returns the data of a series. `number`: its index on the site.
  SeriesView MakeView(const Series& series, const std::vector<Point>& points, std::size_t number) {
    const auto run_of =
        VectorOf<std::size_t>(points, [&](const auto& point) { return run_index_.at(point.run); });
    SeriesView view;
    view.summary = SummaryOf(series, points);
    const TimedPoints timed = TimedOf(points);
    std::vector<double> estimates;
    for (const Point& point : points)
      if (point.estimate) estimates.push_back(point.estimate->median);
    const bool measured = !timed.seconds.empty() || !estimates.empty();
    counts_.measured += measured ? 1 : 0;
    counts_.unjudged += measured && timed.seconds.size() < 2 ? 1 : 0;
    if (timed.seconds.empty()) {
      view.summary["spark"] = Spark(estimates);
      if (!estimates.empty()) view.points = PointsJson(points, run_of, timed, {});
      return view;
    }
    const SeriesProfile profile = ProfileOf(series, points, verdicts_);
    const auto runs =
        VectorOf<std::size_t>(timed.index, [&](std::size_t point) { return run_of[point]; });
    auto& summary = view.summary;
    summary["spark"] = Spark(timed.seconds);
    if (profile.deviation) summary["deviation"] = Rounded(*profile.deviation);
    if (profile.drift) summary["drift"] = Rounded(*profile.drift);
    for (const auto& level : profile.levels)
      summary["levels"].push_back({runs[level.begin], runs[level.end - 1], Rounded(level.median)});
    for (const auto& change : profile.changes)
      summary["changes"].push_back(
          {{"run", runs[change.at]},
           {"ratio", Rounded(change.ratio)},
           {"runs", change.runs},
           {"why", CauseOf(points[timed.index[change.at - 1]], points[timed.index[change.at]],
                           change.ratio > 1 ? 1 : -1)}});
    view.changes = ChangesOf(number, profile, runs);
    view.points = PointsJson(points, run_of, timed, profile);
    return view;
  }

  json SummaryOf(const Series& series, const std::vector<Point>& points) const {
    json summary = {{"id", series.id},         {"name", series.name},
                    {"points", points.size()}, {"spark", json::array()},
                    {"levels", json::array()}, {"changes", json::array()}};
    if (series.threads) summary["threads"] = *series.threads;
    if (!series.cache.empty()) summary["cache"] = series.cache;
    const auto& last = points.back();
    if (last.median) {
      summary["last"] = Rounded(*last.median);
    } else if (last.estimate) {
      summary["last"] = Rounded(last.estimate->median);
      summary["estimate"] = true;
    } else {
      const auto status = history_.Facts(last).status;
      summary["reason"] = status == record::Status::kOk ? "noisy" : record::Key(status);
    }
    return summary;
  }

  // Returns as text what else (e.g. the compiler) changed between two points; "" if nothing did.
  std::string CauseOf(const Point& before, const Point& after, int slower) const {
    const auto changes =
        record::FindChanges(history_.Facts(before), nullptr, history_.Facts(after), nullptr);
    return changes.empty() ? "" : record::CausesText(changes, slower);
  }

  std::size_t MachineIndex(const Series& series) {
    const auto [found, added] = machine_index_.try_emplace(series.fingerprint, machines_.size());
    if (added) machines_.push_back({{"name", series.machine}, {"fingerprint", series.fingerprint}});
    return found->second;
  }

  void Record(const std::vector<Point>& points, const SeriesView& view, std::size_t series) {
    for (const auto& point : points)
      if (point.median || point.estimate)
        times_[run_index_.at(point.run)].emplace_back(
            series, Rounded(point.median ? *point.median : point.estimate->median), !point.median);
    if (view.changes.empty()) return;
    level_changes_.insert(level_changes_.end(), view.changes.begin(), view.changes.end());
    ++counts_.changed;
  }

  // Returns the events, each with its course: per run the median over its benchmarks of (time /
  // median of the benchmark's times before the event).
  json EventsJson(const std::vector<Event>& events, const json& series) const {
    json all = json::array();
    for (const auto& event : events) {
      const auto names = VectorOf<std::string>(event.series, [&](std::size_t index) {
        return std::string(series.at(index).at("name"));
      });
      all.push_back({{"run", event.run},
                     {"earliest", event.earliest},
                     {"latest", event.latest},
                     {"ratio", Rounded(event.ratio)},
                     {"low", Rounded(event.low)},
                     {"high", Rounded(event.high)},
                     {"sure", Key(event.sureness)},
                     {"pattern", PatternOf(names)},
                     {"series", event.series},
                     {"course", CourseOf(event)}});
    }
    return all;
  }

  json CourseOf(const Event& event) const {
    std::unordered_map<std::size_t, std::vector<double>> before;
    const std::set<std::size_t> members(event.series.begin(), event.series.end());
    for (std::size_t run = 0; run < event.run; ++run)
      for (const auto& [series, median, estimate] : times_[run])
        if (members.contains(series)) before[series].push_back(median);
    std::unordered_map<std::size_t, double> level;
    for (auto& [series, medians] : before) level[series] = Median(std::move(medians));
    json course = json::array();
    for (const auto& times : times_) {
      std::vector<double> ratios;
      for (const auto& [series, median, estimate] : times)
        if (const auto found = level.find(series); found != level.end())
          ratios.push_back(median / found->second);
      course.push_back(ratios.empty() ? json(nullptr) : json(Rounded(Median(std::move(ratios)))));
    }
    return course;
  }

  void WriteTimes() const {
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      json medians = json::array();
      for (const auto& [series, median, estimate] : times_[i]) {
        json time = {series, median};
        if (estimate) time.push_back(true);
        medians.push_back(std::move(time));
      }
      WriteFile(folder_ / "data" / fmt::format("times-{}.js", runs_[i].id),
                fmt::format("dlroofTimes({}, {});\n", runs_[i].id, medians.dump()));
    }
  }

  // Returns the summaries of all runs. Writes the roofline data of each run to a file, and machine
  // descriptions to separate files, because most runs share them.
  json WriteRuns() {
    json all = json::array();
    for (const auto& run : runs_) {
      const auto read = history_.Read(run);
      json summary = {
          {"id", run.id}, {"date", run.date}, {"points", run.points}, {"source", run.source}};
      if (!run.commit.empty()) summary["commit"] = run.commit;
      if (!read.file.machines.empty()) summary["machine"] = read.file.machines.front().name;
      all.push_back(std::move(summary));
      WriteRun(run, read.file);
    }
    counts_.runs = static_cast<int>(runs_.size());
    return all;
  }

  void WriteRun(const StoredRun& run, const record::RunFile& file) {
    json content = figure::PageContent(roofline::PlaceRun(file));
    for (const char* unread :
         {"repetitions", "work", "verified", "repro", "seed", "problem", "library"})
      for (auto& record : content["records"]) record.erase(unread);
    const auto machines = figure::ScriptSafeJson(content["machines"]);
    content.erase("machines");
    text::RoundAll(content, kDigits);
    const auto hash = fmt::format("{:016x}", HashOf(machines));
    if (written_machines_.insert(hash).second)
      WriteFile(folder_ / "data" / fmt::format("machines-{}.js", hash),
                fmt::format("dlroofMachines({});\n", machines));
    WriteFile(folder_ / "data" / fmt::format("run-{}.js", run.id),
              fmt::format("dlroofRun('{}', {});\n", hash, figure::ScriptSafeJson(content)));
  }

  void WriteIndex(const json& content) const {
    std::ostringstream out;
    figure::Fill(SiteHtmlFiles().at(0).text,
                 {{"policy", figure::SitePolicy()},
                  {"style", fmt::format("{}{}", figure::PageStyle().text, SiteStyle())},
                  {"effect", fmt::format("{:g}", 100 * kMinChange)},
                  {"content", figure::ScriptSafeJson(content)}},
                 out);
    WriteFile(folder_ / "index.html", out.str());
  }

  // The badge counts what the headlines of index.html count (drawEvents in events.js).
  std::string Badge(const std::vector<Event>& events) const {
    const bool known = 2 * counts_.unjudged < counts_.measured;
    for (const bool slower : {true, false}) {
      std::set<std::size_t> series;
      std::string newest;
      for (const auto& event : events) {
        if ((event.ratio > 1) != slower || event.sureness == Sureness::kMayBeChance) continue;
        series.insert(event.series.begin(), event.series.end());
        if (newest.empty())
          newest = event.sureness == Sureness::kUnconfirmed ? "unconfirmed"
                                                            : runs_[event.run].date.substr(0, 10);
      }
      if (!series.empty() && (slower || known))
        return document::BadgeSvg(
            "performance",
            fmt::format("{} {}, newest {}", series.size(), slower ? "slower" : "faster", newest),
            !slower);
    }
    return known ? document::BadgeSvg("performance", "no change", true)
                 : document::BadgeSvg("performance", "cannot tell: too few clean times", {});
  }

  const History& history_;
  RunVerdicts verdicts_;
  fs::path folder_;
  std::vector<StoredRun> runs_;
  std::unordered_map<std::int64_t, std::size_t> run_index_;  // by run id
  // For each run: (series index, time [s], whether the time is an estimate).
  std::vector<std::vector<std::tuple<std::size_t, double, bool>>> times_;
  std::vector<LevelChange> level_changes_;  // of all series
  json machines_ = json::array();
  std::map<std::string, std::size_t> machine_index_;  // by machine fingerprint
  std::set<std::string> written_machines_;
  DashboardCounts counts_;
};

}  // namespace

DashboardCounts WriteDashboard(const History& history, const fs::path& folder) {
  const auto unchanging = history.Unchanging();
  return Site(history, folder).Write();
}

}  // namespace dlroof::history
