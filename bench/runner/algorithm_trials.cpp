#include "bench/runner/algorithm_trials.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <exception>

#include "reporters/record/record.h"
#include "reporters/text/text.h"

namespace dlroof::runner {
namespace {

bool IsRight(const workload::AlgorithmTrial& trial) { return trial.verified && trial.verified->ok; }

// Returns the time of the fastest algorithm with a right result. [s]
std::optional<double> FastestSeconds(const std::vector<workload::AlgorithmTrial>& trials) {
  std::optional<double> fastest;
  for (const auto& trial : trials)
    if (IsRight(trial) && trial.seconds)
      fastest = std::min(fastest.value_or(*trial.seconds), *trial.seconds);
  return fastest;
}

std::vector<std::string> RowOf(const workload::AlgorithmTrial& trial,
                               std::optional<double> fastest) {
  std::vector<std::string> row = {
      trial.seconds ? text::WithPrefix(*trial.seconds, "s") : "",
      trial.seconds && fastest ? fmt::format("{:.2f}x", *trial.seconds / *fastest) : "",
      trial.verified ? fmt::format("{:.3g}", trial.verified->max_error / trial.verified->tolerance)
                     : "",
      trial.unused     ? "unused"
      : IsRight(trial) ? "right"
                       : "WRONG",
      text::Printable(trial.algorithm)};
  if (trial.unused) row.back() += ": " + text::Printable(trial.unused->text);
  return row;
}

// Writes aligned columns; the last one, a text, is aligned to the left.
void WriteRows(const std::vector<std::vector<std::string>>& rows, std::ostream& out) {
  std::vector<std::size_t> widths(rows.front().size());
  for (const auto& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], static_cast<std::size_t>(text::TextWidth(row[i])));
  for (const auto& row : rows) {
    std::string line = " ";
    for (std::size_t i = 0; i + 1 < row.size(); ++i)
      line += fmt::format(
          " {}{}", std::string(widths[i] - static_cast<std::size_t>(text::TextWidth(row[i])), ' '),
          row[i]);
    fmt::print(out, "{}  {}\n", line, row.back());
  }
}

nlohmann::json ToJson(const workload::AlgorithmTrial& trial) {
  nlohmann::json object = {{"algorithm", trial.algorithm},
                           {"status", trial.unused     ? "unused"
                                      : IsRight(trial) ? "ok"
                                                       : "wrong"}};
  if (trial.unused) object["reason"] = trial.unused->text;
  if (trial.verified) {
    object["max_error"] = trial.verified->max_error;
    object["tolerance"] = trial.verified->tolerance;
    object["checked"] = trial.verified->how;
  }
  if (trial.seconds) object["seconds"] = *trial.seconds;
  return object;
}

}  // namespace

std::vector<TriedBenchmark> TryAlgorithms(const std::vector<workload::Workload>& workloads,
                                          const workload::RunSettings& settings) {
  std::vector<TriedBenchmark> tried;
  for (const auto& workload : workloads) {
    auto& one = tried.emplace_back(TriedBenchmark{.name = workload::NameOf(workload)});
    try {
      if (!workload.try_algorithms)
        throw Unsupported("the algorithms of {}/{}/{} cannot be tried one by one", workload.name.op,
                          workload.name.device, workload.name.library);
      one.trials = workload.try_algorithms(settings);
    } catch (const std::exception& error) {
      one.reason = Reason{error.what()};
    }
  }
  return tried;
}

bool EachHasARightAlgorithm(const std::vector<TriedBenchmark>& tried) {
  return std::ranges::all_of(
      tried, [](const TriedBenchmark& one) { return std::ranges::any_of(one.trials, IsRight); });
}

void WriteTrials(const std::vector<TriedBenchmark>& tried, std::ostream& out) {
  for (const auto& one : tried) {
    fmt::print(out, "{}\n", text::Printable(one.name));
    if (one.reason) fmt::print(out, "  {}\n", text::Printable(one.reason->text));
    std::vector<std::vector<std::string>> rows = {
        {"time", "/ fastest", "error", "result", "algorithm"}};
    const auto fastest = FastestSeconds(one.trials);
    for (const auto& trial : one.trials) rows.push_back(RowOf(trial, fastest));
    if (!one.trials.empty()) WriteRows(rows, out);
    fmt::print(out, "\n");
  }
}

nlohmann::json ToJson(const std::vector<TriedBenchmark>& tried) {
  auto all = nlohmann::json::array();
  for (const auto& one : tried) {
    auto& object = all.emplace_back(nlohmann::json{{"name", one.name}});
    if (one.reason) object["reason"] = one.reason->text;
    object["trials"] = nlohmann::json::array();
    for (const auto& trial : one.trials) object["trials"].push_back(ToJson(trial));
  }
  return {{"algorithms", std::move(all)}};
}

}  // namespace dlroof::runner
