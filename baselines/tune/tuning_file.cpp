#include "baselines/tune/tuning_file.h"

#include <fmt/format.h>

#include "counters/base/error.h"
#include "counters/base/files.h"
#include "counters/base/json_reader.h"

namespace dlroof::tuning {
namespace {

using nlohmann::json;

constexpr int kVersion = 1;

json ToJson(const Coordinate& coordinate) {
  json choices = json::array();
  for (const auto& choice : coordinate.choices)
    choices.push_back({{"values", choice.values}, {"reason", choice.reason}});
  return {{"name", coordinate.name}, {"reason", coordinate.reason}, {"choices", choices}};
}

json ToJson(const TrialResult& result) {
  if (!result.failed.empty())
    return {{"failed", result.failed}, {"unsupported", result.unsupported}};
  json seconds = json::array(), disturbed = json::array();
  for (std::size_t i = 0; i < result.windows.size(); ++i) {
    seconds.push_back(result.windows[i].seconds);
    if (result.windows[i].disturbed) disturbed.push_back(i);
  }
  json written = {{"seconds", seconds}};
  if (!disturbed.empty()) written["disturbed"] = disturbed;
  return written;
}

json ToJson(const TrialBlock& block) {
  json results = json::array();
  for (const auto& result : block.results) results.push_back(ToJson(result));
  return {{"stage", block.stage},
          {"settings", block.settings},
          {"results", results},
          {"seconds", block.seconds}};
}

json ToJson(const TuningStep& step) {
  json written = {
      {"coordinate", step.coordinate}, {"values", step.values}, {"reason", step.reason}};
  if (step.effect) written["effect"] = dlroof::tuning::ToJson(*step.effect);
  return written;
}

json ToJson(const TriedChoice& tried) {
  json written = {{"coordinate", tried.coordinate},
                  {"values", tried.values},
                  {"blocks", tried.blocks},
                  {"failed", tried.failed},
                  {"verdict", tried.verdict}};
  if (tried.ratio) written["ratio_of_search"] = *tried.ratio;
  return written;
}

template <class Item>
json ToArray(const std::vector<Item>& items) {
  json array = json::array();
  for (const auto& item : items) array.push_back(ToJson(item));
  return array;
}

// Calls read(reader) for each item of the array.
template <class Read>
void EachItem(const JsonReader& in, const std::string& key, const Read& read) {
  for (std::size_t i = 0; i < in.Array(key).size(); ++i) read(in.Item(key, i));
}

Coordinate CoordinateFrom(const JsonReader& in) {
  Coordinate coordinate{in.Text("name"), in.TextOr("reason", ""), {}};
  EachItem(in, "choices", [&](const JsonReader& choice) {
    coordinate.choices.push_back({choice.TextsByKey("values"), choice.Text("reason")});
  });
  return coordinate;
}

TrialResult ResultFrom(const JsonReader& in) {
  TrialResult result{{}, in.TextOr("failed", ""), false};
  if (!result.failed.empty()) {
    result.unsupported = in.Flag("unsupported");
    return result;
  }
  for (const auto& seconds : in.Array("seconds")) {
    if (!seconds.is_number()) in.Refuse("seconds", "numbers");
    result.windows.push_back({.seconds = seconds.get<double>()});
  }
  if (!in.Has("disturbed")) return result;
  for (const auto& index : in.Array("disturbed")) {
    if (!index.is_number_unsigned() || index.get<std::size_t>() >= result.windows.size())
      in.Refuse("disturbed", "indices of seconds");
    result.windows[index.get<std::size_t>()].disturbed = true;
  }
  return result;
}

TrialBlock BlockFrom(const JsonReader& in) {
  TrialBlock block{in.Text("stage"), {}, {}, in.NotNegative("seconds")};
  for (const auto& setting : in.Array("settings")) {
    const json wrapped = {{"setting", setting}};
    block.settings.push_back(JsonReader(wrapped, in.where() + ": settings").TextsByKey("setting"));
  }
  EachItem(in, "results",
           [&](const JsonReader& result) { block.results.push_back(ResultFrom(result)); });
  if (block.settings.empty() || block.results.size() != block.settings.size())
    in.Refuse("results", "as many as settings, at least one");
  return block;
}

std::optional<Effect> EffectFrom(const JsonReader& in, const std::string& key) {
  if (!in.Has(key)) return std::nullopt;
  const auto effect = in.Object(key);
  return Effect{effect.Positive("ratio"), effect.PositivePair("interval"),
                effect.AtLeastOne("blocks"), effect.Flag("confirmed")};
}

TuningPlan PlanFrom(const JsonReader& in) {
  TuningPlan plan;
  plan.subject = in.NonEmptyText("subject");
  EachItem(in, "coordinates",
           [&](const JsonReader& one) { plan.coordinates.push_back(CoordinateFrom(one)); });
  plan.budget_seconds = in.NotNegative("budget_seconds");
  plan.min_effect = in.NotNegative("min_effect");
  plan.seed = static_cast<std::uint64_t>(in.NotNegative("seed"));
  plan.together = static_cast<std::size_t>(in.AtLeastOne("together"));
  return plan;
}

Tuning TuningFrom(const JsonReader& in) {
  Tuning tuning{.plan = PlanFrom(in)};
  const auto state = TuningStateFromKey(in.Text("state"));
  if (!state) in.Refuse("state", "one that dlroof tune writes");
  tuning.state = *state;
  tuning.reason = in.TextOr("reason", "");
  tuning.best = in.TextsByKey("best");
  EachItem(in, "steps", [&](const JsonReader& step) {
    tuning.steps.push_back({step.Text("coordinate"), step.TextsByKey("values"), step.Text("reason"),
                            EffectFrom(step, "effect")});
  });
  tuning.total = EffectFrom(in, "total");
  tuning.verified = EffectFrom(in, "verified");
  EachItem(in, "tried", [&](const JsonReader& one) {
    tuning.tried.push_back({one.Text("coordinate"), one.TextsByKey("values"),
                            static_cast<int>(one.NotNegative("blocks")),
                            one.OptionalPositive("ratio_of_search"), one.Flag("failed"),
                            one.Text("verdict")});
  });
  tuning.dropped = in.Texts("dropped");
  tuning.default_seconds = in.OptionalPositive("default_seconds");
  tuning.budget_spent = in.Flag("budget_spent");
  EachItem(in, "blocks",
           [&](const JsonReader& block) { tuning.blocks.push_back(BlockFrom(block)); });
  return tuning;
}

}  // namespace

json ToJson(const Effect& effect) {
  return {{"ratio", effect.ratio},
          {"interval", effect.interval},
          {"blocks", effect.blocks},
          {"confirmed", effect.confirmed}};
}

json ToJson(const Tuning& tuning) {
  json written = {{"subject", tuning.plan.subject},
                  {"coordinates", ToArray(tuning.plan.coordinates)},
                  {"budget_seconds", tuning.plan.budget_seconds},
                  {"min_effect", tuning.plan.min_effect},
                  {"seed", tuning.plan.seed},
                  {"together", tuning.plan.together},
                  {"state", Key(tuning.state)},
                  {"best", tuning.best},
                  {"steps", ToArray(tuning.steps)},
                  {"tried", ToArray(tuning.tried)},
                  {"dropped", tuning.dropped},
                  {"budget_spent", tuning.budget_spent},
                  {"seconds", SecondsOf(tuning)},
                  {"blocks", ToArray(tuning.blocks)}};
  if (!tuning.reason.empty()) written["reason"] = tuning.reason;
  if (tuning.total) written["total"] = ToJson(*tuning.total);
  if (tuning.verified) written["verified"] = ToJson(*tuning.verified);
  if (tuning.default_seconds) written["default_seconds"] = *tuning.default_seconds;
  return written;
}

json ToJson(const TuningFile& file) {
  return {{"dlroof_tunings", kVersion}, {"about", file.about}, {"tunings", ToArray(file.tunings)}};
}

TuningFile ParseTuningFile(const std::string& text, const std::string& where) {
  const auto parsed = ParsedJson(text, where);
  if (!parsed.is_object() || !parsed.contains("dlroof_tunings"))
    throw BadInput("{}: expected a file of dlroof tune", where);
  const JsonReader in(parsed, where);
  if (in.Number("dlroof_tunings") != kVersion)
    throw BadInput("{}: a file of tunings of version {:g}, expected {}", where,
                   in.Number("dlroof_tunings"), kVersion);
  TuningFile file{in.Object("about").json(), {}};
  EachItem(in, "tunings",
           [&](const JsonReader& tuning) { file.tunings.push_back(TuningFrom(tuning)); });
  return file;
}

TuningFile ReadTuningFile(const std::string& path) {
  return ParseTuningFile(ReadFile(path, "a file of dlroof tune"), path);
}

}  // namespace dlroof::tuning
