#include "baselines/settings/tuning.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "baselines/statistics/shift.h"
#include "counters/base/files.h"
#include "counters/base/json_members.h"
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
using nlohmann::json;

constexpr int kVersion = 1;

}  // namespace

std::string SettingText(const Setting& setting) {
  std::string text;
  for (const auto& [knob, value] : setting)
    text += fmt::format("{}{}={}", text.empty() ? "" : ", ", knob, value);
  return text.empty() ? "default" : text;
}

std::string EffectText(const Effect& effect) {
  const auto& [all, noisy] = effect.repetitions;
  return fmt::format("{:.2f}x as fast ({:.3f}x to {:.3f}x){}", 1 / effect.ratio,
                     1 / effect.interval.second, 1 / effect.interval.first,
                     effect.repetitions.AreMostlyNoisy()
                         ? fmt::format(" beside other programs: {} of {} repetitions were "
                                       "disturbed; measure on a quiet machine",
                                       noisy, all)
                         : "");
}

Repetitions CountRepetitions(const std::vector<TrialBlock>& blocks, std::string_view stage) {
  Repetitions count;
  for (const auto& block : blocks)
    for (const auto& result : block.results) {
      if (!block.stage.starts_with(stage)) continue;
      count.all += result.windows.size();
      count.noisy += static_cast<std::size_t>(
          std::ranges::count(result.windows, true, &record::Repetition::noisy));
    }
  return count;
}

void JudgeNoise(Tuning& tuning) {
  if (!tuning.total) return;
  auto& total = *tuning.total;
  total.repetitions = CountRepetitions(tuning.blocks, kConfirmationStage);
  if (tuning.state != TuningState::kConfirmed || !total.repetitions.AreMostlyNoisy()) return;
  tuning.state = TuningState::kNotConfirmed;
  tuning.reason = fmt::format("{} is {}", SettingText(tuning.best), EffectText(total));
  total.confirmed = false;
  for (auto& step : tuning.steps)
    if (step.effect) step.effect->confirmed = false;
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

double SecondsOf(const Tuning& tuning) {
  double seconds = 0;
  for (const auto& block : tuning.blocks) seconds += block.seconds;
  return seconds;
}

void Members(auto& all, Choice& choice) {
  all(Required("values", choice.values), Required("reason", choice.reason));
}
void Members(auto& all, Coordinate& coordinate) {
  all(Required("name", coordinate.name), Required("choices", coordinate.choices));
}

static json ToJson(const TrialResult& result) {
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
static void FromJson(const JsonReader& in, TrialResult& result) {
  if (auto failure = in.TextOr("failed", ""); !failure.empty()) {
    result.failure = Reason{std::move(failure)};
    result.unsupported = in.Flag("unsupported");
    return;
  }
  for (const auto& seconds : in.Array("seconds")) {
    if (!seconds.is_number() || !RangeOf("seconds").Contains(seconds.get<double>()))
      in.Refuse("seconds", RangeOf("seconds").Expected());
    result.windows.push_back({.seconds = seconds.get<double>()});
  }
  if (!in.Has("disturbed")) return;
  for (const auto& index : in.Array("disturbed")) {
    if (!index.is_number_unsigned() || index.get<std::size_t>() >= result.windows.size())
      in.Refuse("disturbed", "indices of seconds");
    result.windows[index.get<std::size_t>()].noisy = true;
  }
}

void Members(auto& all, TrialBlock& block) {
  all(Required("stage", block.stage), Required("settings", block.settings),
      Required("results", block.results), Required("seconds", block.seconds));
}
static void Check(const JsonReader& in, const TrialBlock& block) {
  if (block.settings.empty() || block.results.size() != block.settings.size())
    in.Refuse("results", "as many as settings, at least one");
}

void Members(auto& all, Effect& effect) {
  all(Required("ratio", effect.ratio), Required("interval", effect.interval),
      Required("blocks", effect.blocks), Required("confirmed", effect.confirmed),
      Field("repetitions", effect.repetitions.all), Field("disturbed", effect.repetitions.noisy));
}
static void Check(const JsonReader& in, const Effect&) { in.AtLeastOne("blocks"); }

void Members(auto& all, TuningStep& step) {
  all(Required("coordinate", step.coordinate), Required("values", step.values),
      Required("reason", step.reason), Field("effect", step.effect));
}

void Members(auto& all, TriedChoice& tried) {
  all(Required("coordinate", tried.coordinate), Required("values", tried.values),
      Required("blocks", tried.blocks), Required("failed", tried.failed),
      Required("verdict", tried.verdict), Field("ratio_of_search", tried.ratio),
      Field("reference", tried.reference));
}
static void Check(const JsonReader& in, const TriedChoice& tried) {
  if (tried.ratio && tried.blocks == 0) in.Refuse("blocks", "a count above 0, as it has a ratio");
}

void Members(auto& all, Tuning& tuning) {
  auto& plan = tuning.plan;
  all(Required("subject", plan.subject), Required("coordinates", plan.coordinates),
      Required("budget_seconds", plan.budget_seconds), Required("min_effect", plan.min_effect),
      Required("seed", plan.seed), Required("together", plan.together),
      Keyed("state", tuning.state, kTuningStates, "one that dlroof tune writes"),
      Field("reason", tuning.reason), Required("best", tuning.best),
      Required("steps", tuning.steps), Field("total", tuning.total),
      Field("verified", tuning.verified), Required("tried", tuning.tried),
      Required("dropped", tuning.dropped), Field("default_seconds", tuning.default_seconds),
      Required("budget_spent", tuning.budget_spent), Required("blocks", tuning.blocks));
}
static void Check(const JsonReader& in, const Tuning& tuning) {
  in.NonEmptyText("subject");
  in.AtLeastOne("together");
  in.OptionalPositive("default_seconds");
  if (tuning.state == TuningState::kConfirmed && !tuning.total)
    in.Refuse("total", "the confirmed gain");
}

json ToJson(const Tuning& tuning) {
  auto written = MembersJson(tuning);
  written["seconds"] = SecondsOf(tuning);
  return written;
}

json ToJson(const TuningFile& file) {
  json tunings = json::array();
  for (const auto& tuning : file.tunings) tunings.push_back(ToJson(tuning));
  return {{"dlroof_tunings", kVersion}, {"about", file.about}, {"tunings", tunings}};
}

TuningFile ParseTuningFile(const std::string& text, const std::string& where) {
  if (text.empty()) throw BadInput("{}: empty file, expected one of dlroof tune", where);
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
  for (std::size_t i = 0; i < in.Array("tunings").size(); ++i)
    JudgeNoise(file.tunings.emplace_back(FromMembers<Tuning>(in.Item("tunings", i))));
  return file;
}

TuningFile ReadTuningFile(const std::string& path) {
  return ParseTuningFile(ReadFile(path, "a file of dlroof tune"), path);
}

}  // namespace dlroof::settings
