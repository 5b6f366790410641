#include "baselines/settings/tuning.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "baselines/statistics/shift.h"
#include "counters/base/files.h"
#include "counters/base/json_reader.h"
#include "counters/base/keys.h"
#include "counters/base/numbers.h"

namespace dlroof::settings {
namespace {

std::set<std::string> KnobsOf(const Coordinate& coordinate) {
  std::set<std::string> knobs;
  for (const auto& choice : coordinate.choices)
    for (const auto& [knob, value] : choice.values) knobs.insert(knob);
  return knobs;
}
record::Record OfBlock(const TrialResult& result) {
  record::Record record{.repetitions = result.windows};
  for (auto& window : record.repetitions) window.block = 0;
  return record;
}
constexpr KeyRow<TuningState> kStates[] = {
    {TuningState::kUnfinished, "unfinished"},      {TuningState::kNothingWon, "nothing_won"},
    {TuningState::kNotConfirmed, "not_confirmed"}, {TuningState::kConfirmed, "confirmed"},
    {TuningState::kUnsupported, "unsupported"},    {TuningState::kFailed, "failed"}};
using nlohmann::json;

constexpr int kVersion = 1;

json ToJson(const Coordinate& coordinate) {
  json choices = json::array();
  for (const auto& choice : coordinate.choices)
    choices.push_back({{"values", choice.values}, {"reason", choice.reason}});
  return {{"name", coordinate.name}, {"choices", choices}};
}

json ToJson(const TrialResult& result) {
  if (result.failure)
    return {{"failed", result.failure->text}, {"unsupported", result.unsupported}};
  json seconds = json::array(), noisy = json::array();
  for (std::size_t i = 0; i < result.windows.size(); ++i) {
    seconds.push_back(result.windows[i].seconds);
    if (result.windows[i].noisy) noisy.push_back(i);
  }
  json written = {{"seconds", seconds}};
  if (!noisy.empty()) written["disturbed"] = noisy;
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
  if (step.effect) written["effect"] = dlroof::settings::ToJson(*step.effect);
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

// Calls read(reader) for each element of the array member `key`.
template <class Read>
void EachItem(const JsonReader& in, const std::string& key, const Read& read) {
  for (std::size_t i = 0; i < in.Array(key).size(); ++i) read(in.Item(key, i));
}

Coordinate CoordinateFrom(const JsonReader& in) {
  Coordinate coordinate{in.Text("name"), {}};
  EachItem(in, "choices", [&](const JsonReader& choice) {
    coordinate.choices.push_back({choice.TextsByKey("values"), choice.Text("reason")});
  });
  return coordinate;
}

TrialResult ResultFrom(const JsonReader& in) {
  TrialResult result;
  if (auto failure = in.TextOr("failed", ""); !failure.empty()) {
    result.failure = Reason{std::move(failure)};
    result.unsupported = in.Flag("unsupported");
    return result;
  }
  for (const auto& seconds : in.Array("seconds")) {
    if (!seconds.is_number() || !RangeOf("seconds").Contains(seconds.get<double>()))
      in.Refuse("seconds", RangeOf("seconds").Expected());
    result.windows.push_back({.seconds = seconds.get<double>()});
  }
  if (!in.Has("disturbed")) return result;
  for (const auto& index : in.Array("disturbed")) {
    if (!index.is_number_unsigned() || index.get<std::size_t>() >= result.windows.size())
      in.Refuse("disturbed", "indices of seconds");
    result.windows[index.get<std::size_t>()].noisy = true;
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
  EachItem(in, "coordinates", [&](const JsonReader& coordinate) {
    plan.coordinates.push_back(CoordinateFrom(coordinate));
  });
  plan.budget_seconds = in.NotNegative("budget_seconds");
  plan.min_effect = in.NotNegative("min_effect");
  plan.seed = static_cast<std::uint64_t>(in.NotNegative("seed"));
  plan.together = static_cast<std::size_t>(in.AtLeastOne("together"));
  return plan;
}

Tuning TuningFrom(const JsonReader& in) {
  Tuning tuning{.plan = PlanFrom(in)};
  const auto state = ValueIn(kStates, in.Text("state"));
  if (!state) in.Refuse("state", "one that dlroof tune writes");
  tuning.state = *state;
  tuning.reason = in.TextOr("reason", "");
  tuning.best = in.TextsByKey("best");
  EachItem(in, "steps", [&](const JsonReader& step) {
    tuning.steps.push_back({step.Text("coordinate"), step.TextsByKey("values"), step.Text("reason"),
                            EffectFrom(step, "effect")});
  });
  tuning.total = EffectFrom(in, "total");
  if (tuning.state == TuningState::kConfirmed && !tuning.total)
    in.Refuse("total", "the confirmed gain");
  tuning.verified = EffectFrom(in, "verified");
  EachItem(in, "tried", [&](const JsonReader& tried) {
    tuning.tried.push_back({tried.Text("coordinate"), tried.TextsByKey("values"),
                            static_cast<int>(tried.NotNegative("blocks")),
                            tried.OptionalPositive("ratio_of_search"), tried.Flag("failed"),
                            tried.Text("verdict")});
    if (tuning.tried.back().ratio && tuning.tried.back().blocks == 0)
      tried.Refuse("blocks", "a count above 0, as it has a ratio");
  });
  tuning.dropped = in.Texts("dropped");
  tuning.default_seconds = in.OptionalPositive("default_seconds");
  tuning.budget_spent = in.Flag("budget_spent");
  EachItem(in, "blocks",
           [&](const JsonReader& block) { tuning.blocks.push_back(BlockFrom(block)); });
  return tuning;
}

}  // namespace

std::string SettingText(const Setting& setting) {
  std::string text;
  for (const auto& [knob, value] : setting)
    text += fmt::format("{}{}={}", text.empty() ? "" : ", ", knob, value);
  return text.empty() ? "default" : text;
}

std::string EffectText(const Effect& effect) {
  return fmt::format("{:.2f}x as fast ({:.3f}x to {:.3f}x)", 1 / effect.ratio,
                     1 / effect.interval.second, 1 / effect.interval.first);
}

Setting With(Setting setting, const Coordinate& coordinate, const Setting& values) {
  for (const auto& knob : KnobsOf(coordinate)) setting.erase(knob);
  setting.insert(values.begin(), values.end());
  return setting;
}

Setting PartOf(const Setting& setting, const Coordinate& coordinate) {
  Setting part;
  for (const auto& knob : KnobsOf(coordinate))
    if (const auto found = setting.find(knob); found != setting.end()) part.insert(*found);
  return part;
}

Coordinate Crossed(const Coordinate& inner, const Coordinate& other) {
  Coordinate both{inner.name + " and " + other.name, inner.choices};
  both.choices.insert(both.choices.end(), other.choices.begin(), other.choices.end());
  for (const auto& first : inner.choices)
    for (const auto& second : other.choices) {
      Choice choice{first.values, first.reason + "; " + second.reason};
      choice.values.insert(second.values.begin(), second.values.end());
      both.choices.push_back(std::move(choice));
    }
  return both;
}

std::vector<double> TimesOf(const TrialResult& result) {
  std::vector<double> all, clean;
  for (const auto& window : result.windows) {
    all.push_back(window.seconds);
    if (!window.noisy) clean.push_back(window.seconds);
  }
  return 2 * clean.size() >= all.size() ? clean : all;
}

std::optional<double> LogRatio(const TrialBlock& block, std::size_t contender, std::size_t base) {
  const auto &old = block.results.at(base), &now = block.results.at(contender);
  if (old.failure || now.failure) return std::nullopt;
  const auto ratios = statistics::BlockLogRatios(OfBlock(old), OfBlock(now));
  return ratios.empty() ? std::nullopt : std::optional(ratios.front());
}

std::string_view Key(TuningState state) { return KeyIn(kStates, state); }

double SecondsOf(const Tuning& tuning) {
  double seconds = 0;
  for (const auto& block : tuning.blocks) seconds += block.seconds;
  return seconds;
}

std::optional<Spread> SpreadOf(const Tuning& tuning) {
  constexpr std::size_t kMinPairs = 8;
  // Median of |a - b| for independent standard normal a and b: a factor 0.6745 * sqrt(2).
  constexpr double kMedianOfDifference = 0.953873;
  std::map<Setting, double> last;  // per setting: log of its time in its last block
  std::vector<double> differences;
  for (const auto& block : tuning.blocks)
    for (std::size_t i = 0; i < block.results.size(); ++i) {
      std::vector<double> seconds;
      for (const auto& window : block.results[i].windows)
        if (window.seconds > 0) seconds.push_back(window.seconds);
      if (block.results[i].failure || seconds.empty()) continue;
      const double now = std::log(Median(std::move(seconds)));
      const auto [found, first] = last.emplace(block.settings[i], now);
      if (!first) differences.push_back(std::abs(now - found->second));
      found->second = now;
    }
  if (differences.size() < kMinPairs) return std::nullopt;
  const auto pairs = differences.size();
  return Spread{std::expm1(Median(std::move(differences)) / kMedianOfDifference), pairs};
}

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
  if (file.about.contains("program"))
    throw BadInput("{}: a tuning of a program, made by dlroof 1; expected one of benchmarks",
                   where);
  EachItem(in, "tunings",
           [&](const JsonReader& tuning) { file.tunings.push_back(TuningFrom(tuning)); });
  return file;
}

TuningFile ReadTuningFile(const std::string& path) {
  return ParseTuningFile(ReadFile(path, "a file of dlroof tune"), path);
}

}  // namespace dlroof::settings
