#include <fmt/format.h>

#include <algorithm>

#include "baselines/cluster/gather.h"
#include "counters/base/error.h"
#include "counters/base/json_reader.h"
#include "counters/base/keys.h"
#include "reporters/record/context.h"

namespace dlroof::cluster {
namespace {

using nlohmann::json;

constexpr KeyRow<NodeStatus> kStatuses[] = {{NodeStatus::kWhole, "whole"},
                                            {NodeStatus::kPartial, "partial"},
                                            {NodeStatus::kMissing, "missing"},
                                            {NodeStatus::kFailed, "failed"}};

void AddCeilings(const machine::Machine& machine, std::map<CeilingRow, NodeCeiling>& ceilings) {
  for (const auto& [threads, set] : machine.by_threads) {
    for (const auto& [pipe, row] : set.flops)
      ceilings[{machine.device, threads, "flops." + pipe}] = {row.per_second,
                                                              row.CarriesPercentages()};
    for (const auto& [level, row] : set.bytes)
      ceilings[{machine.device, threads, fmt::format("bytes.{}", Key(level))}] = {
          row.per_second, row.CarriesPercentages()};
    if (set.launch_seconds)
      ceilings[{machine.device, threads, "launch"}] = {*set.launch_seconds, true};
  }
}

void AddTime(const record::Record& record, NodeSummary& summary) {
  const auto timing =
      record.status == record::Status::kOk ? record::TimeOf(record.repetitions) : std::optional<record::Timing>();
  if (!timing) {
    summary.without[record.name] = record.reason.empty() ? "no time" : record.reason;
    return;
  }
  NodeTime time{.name = record.name, .seconds = timing->median, .disturbed = timing->disturbed};
  for (const auto& repetition : record.repetitions) time.iterations += repetition.iterations;
  if (record.energy) time.energy = std::make_shared<const energy::Energy>(*record.energy);
  time.window = record.metered_window;
  summary.times.push_back(std::move(time));
}

}  // namespace

std::string_view Key(NodeStatus status) { return KeyIn(kStatuses, status); }

std::optional<NodeStatus> NodeStatusFromKey(std::string_view key) {
  return ValueIn(kStatuses, key);
}

std::map<std::string, double> RoofsOf(const NodeSummary& summary) {
  std::map<std::string, int> most;  // threads by device
  for (const auto& [row, ceiling] : summary.ceilings)
    most[std::get<0>(row)] = std::max(most[std::get<0>(row)], std::get<1>(row));
  std::map<std::string, double> roofs;
  for (const auto& [row, ceiling] : summary.ceilings) {
    const auto& [device, threads, key] = row;
    if (threads != most[device] || std::ranges::count(key, '.') > 2) continue;  // a finer row
    roofs[fmt::format("{}.{}", device, key)] = ceiling.value;
  }
  return roofs;
}

json ToJson(const NodeFacts& facts) {
  json object = {
      {"name", facts.name}, {"known_by", facts.known_by}, {"arguments", facts.arguments}};
  for (const auto& [key, text] : {std::pair("engine", &facts.engine),
                                  {"rank", &facts.rank},
                                  {"job", &facts.job},
                                  {"place", &facts.place},
                                  {"order", &facts.order},
                                  {"host", &facts.host},
                                  {"gpu", &facts.gpu}})
    if (!text->empty()) object[key] = *text;
  if (facts.cpus_given) object["cpus_given"] = *facts.cpus_given;
  if (facts.cpus) object["cpus"] = *facts.cpus;
  return object;
}

NodeFacts NodeFactsFromJson(const json& object, const std::string& where) {
  const JsonReader reader(object, where);
  NodeFacts facts{.name = reader.NonEmptyText("name"),
                  .host = reader.TextOr("host", ""),
                  .known_by = reader.Text("known_by"),
                  .engine = reader.TextOr("engine", ""),
                  .rank = reader.TextOr("rank", ""),
                  .job = reader.TextOr("job", ""),
                  .place = reader.TextOr("place", ""),
                  .order = reader.TextOr("order", ""),
                  .gpu = reader.TextOr("gpu", ""),
                  .arguments = reader.Texts("arguments")};
  if (reader.Has("cpus_given")) facts.cpus_given = reader.AtLeastOne("cpus_given");
  if (reader.Has("cpus")) facts.cpus = reader.AtLeastOne("cpus");
  return facts;
}

NodeSummary SummaryOf(const record::RunFile& run, const std::string& file) {
  const auto& node = record::Member(record::Member(run.context, "dlroof"), "node");
  if (node.is_null())
    throw BadInput("{}: says of no node that it is from; expected a file of `dlroof cluster node`",
                   file);
  NodeSummary summary;
  summary.facts = NodeFactsFromJson(node, file + ": context.dlroof.node");
  summary.file = file;
  summary.started_at = record::Text(run.context, "date");
  for (const auto& machine : run.machines) {
    summary.machines[machine.device] = machine.fingerprint;
    summary.machine_name += (summary.machine_name.empty() ? "" : " + ") + machine.name;
    AddCeilings(machine, summary.ceilings);
  }
  for (const auto& record : run.records) AddTime(record, summary);
  if (const auto& met = record::Member(record::Member(run.context, "dlroof"), "meetings"); !met.is_null())
    summary.meetings = MeetingsFromJson(met, file + ": context.dlroof.meetings");
  return summary;
}

}  // namespace dlroof::cluster
