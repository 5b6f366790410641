#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

#include "bench/suites/benchdnn.h"
#include "bench/workload/workload.h"
#include "reporters/logs/verbose_log.h"

namespace dlroof::suites {
namespace {

constexpr std::array<BenchdnnDirection, 6> kDirections = {
    {{"FWD_I", ProductDirection::kForward, false, false},
     {"FWD_D", ProductDirection::kForward, true, false},
     {"FWD_B", ProductDirection::kForward, true, true},
     {"BWD_D", ProductDirection::kBackwardData, false, false},
     {"BWD_W", ProductDirection::kBackwardWeights, false, false},
     {"BWD_WB", ProductDirection::kBackwardWeights, false, true}}};

// Splits "u8:s8:u8" into the types of source, weights and destination.
workload::ProductTypes SplitTypes(std::string_view data_types) {
  const auto types = logs::SplitText(data_types, ':');
  return {std::string(types.at(0)), std::string(types.at(1)), std::string(types.at(2))};
}

// Returns the canonical benchdnn scales of dlroof's option `scales`.
std::string_view OurScales(const workload::ProductTypes& types) {
  if (!workload::IsInt8(types)) return "";
  return workload::IsByte(types.destination) ? "src:common+wei:per_oc+dst:common"
                                             : "src:common+wei:per_oc";
}

}  // namespace

const BenchdnnDirection* FindDirection(const BenchdnnChoice& choice) {
  const auto* const row = std::ranges::find(kDirections, choice["dir"], &BenchdnnDirection::dir);
  return row == kDirections.end() ? nullptr : row;
}

std::optional<std::string_view> DirOf(const workload::ProductCase& product) {
  for (const auto& row : kDirections)
    if (row.direction == product.direction && row.training == product.training &&
        row.bias == product.bias)
      return row.dir;
  return std::nullopt;
}

workload::ProductTypes TypesOf(const BenchdnnChoice& choice) {
  std::string_view rest = choice["cfg"];
  if (rest.empty()) return SplitTypes(choice["dt"]);
  rest = rest.substr(0, rest.find('_'));  // removes "_wino" of f32_wino
  std::vector<std::string> types;
  while (!rest.empty()) {
    const size_t letters = rest.starts_with("bf") ? 2 : 1;
    const size_t end = std::min(rest.find_first_not_of("0123456789", letters), rest.size());
    types.emplace_back(rest.substr(0, end));
    rest.remove_prefix(end);
  }
  types.resize(3, types[0]);
  return {types[0], types[1], types[2]};
}

std::string DataTypesOf(const workload::ProductTypes& types) {
  return fmt::format("{}:{}:{}", types.source, types.weights, types.destination);
}

std::string TypesArgument(const workload::ProductTypes& types) {
  if (types.source != types.weights || types.weights != types.destination)
    return fmt::format("--dt={} ", DataTypesOf(types));
  return types.source == "f32" ? "" : fmt::format("--dt={} ", types.source);
}

std::string ScalesArgument(const workload::ProductTypes& types) {
  return fmt::format("--attr-scales=src:common:0.5+wei:per_oc:0.5{} ",
                     workload::IsByte(types.destination) ? "+dst:common:0.5" : "");
}

namespace {

std::optional<Reason> PostOpsReason(std::string_view chosen, const workload::ProductTypes& types,
                                    bool forward, std::span<const std::string_view> known) {
  if (chosen.empty()) return std::nullopt;
  if (chosen == "relu:slope") return Reason{"post-op relu with a slope"};
  if (std::ranges::find(known, chosen) == known.end())
    return Reason{fmt::format("post-ops {}", chosen)};
  if (!forward) return Reason{"post-op backward"};
  const bool integer = workload::IsByte(types.destination) || types.destination == "s32";
  if (integer && chosen != "relu") return Reason{fmt::format("post-ops {} of integers", chosen)};
  return std::nullopt;
}

}  // namespace

std::string PostOpsArgument(const workload::ProductCase& product) {
  std::string text = product.sum ? "sum" : "";
  if (product.eltwise) text += fmt::format("{}{}", product.sum ? "+" : "", Key(*product.eltwise));
  return text.empty() ? "" : fmt::format("--attr-post-ops={} ", text);
}

std::optional<Reason> AttributeReason(const BenchdnnChoice& choice,
                                      const workload::ProductTypes& types, bool forward,
                                      std::span<const std::string_view> post_ops) {
  if (auto reason = PostOpsReason(choice["attr-post-ops"], types, forward, post_ops)) return reason;
  if (!choice["attr-zero-points"].empty()) return Reason{"zero points"};
  const auto scales = choice["attr-scales"];
  if (!scales.empty() && !forward) return Reason{"scales backward"};
  if (!scales.empty() && scales != OurScales(types))
    return Reason{fmt::format("scales {}", scales)};
  return CommonReason(choice);
}

std::vector<std::string> ProductOptionsOf(const BenchdnnChoice& choice, bool training, bool bias) {
  std::vector<std::string> options;
  if (training) options.emplace_back("training");
  if (bias) options.emplace_back("bias");
  if (const auto post_ops = choice["attr-post-ops"]; !post_ops.empty())
    for (const auto word : logs::SplitText(post_ops, '+')) options.emplace_back(word);
  if (!choice["attr-scales"].empty()) options.emplace_back("scales");
  return options;
}

void AddFpmathOption(const BenchdnnChoice& choice, std::vector<std::string>& options) {
  if (choice["attr-fpmath"] != "strict")
    options.push_back(fmt::format("fpmath-{}", choice["attr-fpmath"]));
}

namespace {

// Options that do not change what a call computes (IsIgnoredOption).
constexpr std::array<BenchdnnOption, 20> kIgnoredOptions = {{
    {"allow-enum-tags-only", "", "", ReadBool},
    {"attr-same-pd-check", "", "", ReadBool},
    {"canonical", "", "", ReadBool},
    {"check-ref-impl", "", "", ReadBool},
    {"fast-ref", "", "", ReadBool},
    {"fast-ref-gpu", "", "", ReadBool},
    {"global-skip-impl", "", "", nullptr},
    {"num-streams", "", "", ReadCount},
    {"stream-kind", "", "", nullptr},
    {"summary", "", "", nullptr},
    {"fix-times-per-prb", "", "", ReadCount},
    {"max-ms-per-prb", "", "", nullptr},
    {"mem-check", "", "", ReadBool},
    {"memory-kind", "", "usm buffer usm_device usm_shared"},
    {"mode", "", "C P CP PC F R I L"},
    {"mode-modifier", "", "", nullptr},
    {"perf-template", "", "", nullptr},
    {"repeats-per-prb", "", "", ReadCount},
    {"skip-impl", "", "", nullptr},
    {"verbose", "", "", ReadCount},
}};

std::string ReadValue(const BenchdnnOption& option, std::string_view value) {
  if (value.empty()) {
    // benchdnn accepts empty values only for attributes.
    if (option.default_value.empty() || option.name == "attr-fpmath")
      return std::string(option.default_value);
    throw BenchdnnRefusal(0, fmt::format("expected a value of --{}", option.name));
  }
  if (option.read != nullptr) return option.read(value);
  if (option.words.empty()) return std::string(value);
  return std::string(OneOf(option.words, value));
}

// Returns whether two names of options are the same but for "-" and "_".
bool IsSameOption(std::string_view a, std::string_view b) {
  return std::ranges::equal(
      a, b, {}, [](char c) { return c == '_' ? '-' : c; },
      [](char c) { return c == '_' ? '-' : c; });
}

bool SameInAnyCase(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
    return std::tolower(static_cast<unsigned char>(x)) ==
           std::tolower(static_cast<unsigned char>(y));
  });
}

}  // namespace

std::string_view OneOf(std::string_view words, std::string_view value) {
  for (const auto word : logs::SplitText(words, ' '))
    if (SameInAnyCase(word, value)) return word;
  throw BenchdnnRefusal(0, fmt::format("expected one of {}, got '{}'", words, ShownText(value)));
}

std::string_view BenchdnnChoice::operator[](std::string_view option) const {
  for (size_t i = 0; i < options_.size(); ++i)
    if (options_[i].name == option) return values_[i];
  return {};
}

int64_t BenchdnnChoice::Count(std::string_view option) const {
  const std::string_view text = (*this)[option];
  int64_t count = 0;
  std::from_chars(text.data(), text.data() + text.size(), count);
  return count;
}

bool BenchdnnChoice::IsDefault(std::string_view option) const {
  for (size_t i = 0; i < options_.size(); ++i)
    if (options_[i].name == option) return values_[i] == options_[i].default_value;
  return true;
}

BenchdnnSettings::BenchdnnSettings(const BenchdnnDriver& driver) : driver_(&driver) {
  for (const auto& option : driver.options) values_.emplace_back(option.default_value);
}

bool BenchdnnSettings::Set(std::string_view option, std::string_view value) {
  const auto options = driver_->options;
  const auto row = std::ranges::find_if(
      options, [&](const BenchdnnOption& known) { return IsSameOption(known.name, option); });
  if (row == options.end()) return false;
  auto& set = values_[static_cast<size_t>(row - options.begin())];
  set = row->default_value;
  unknown_.erase(row->name);
  if (value.empty()) return true;
  const auto refuse = [&](const std::string& reason) {
    unknown_[row->name] = fmt::format("--{}={}: {}", row->name, ShownText(value), reason);
  };
  if (value.find(',') != value.npos) {
    refuse("expected one value; a list is several problems");
    return true;
  }
  try {
    set = ReadValue(*row, value);
  } catch (const BenchdnnRefusal& refusal) {
    refuse(refusal.what());
  }
  return true;
}

BenchdnnChoice BenchdnnSettings::Choice() const { return {driver_->options, values_}; }

std::optional<Reason> BenchdnnSettings::Unknown() const {
  if (unknown_.empty()) return std::nullopt;
  return Reason{unknown_.begin()->second};
}

bool IsIgnoredOption(std::string_view option, std::string_view value) {
  for (const auto& row : kIgnoredOptions) {
    if (!IsSameOption(row.name, option)) continue;
    ReadValue(row, value);
    return true;
  }
  return false;
}

std::optional<Reason> CommonReason(const BenchdnnChoice& choice) {
  if (choice["attr-scratchpad"] == "user") return Reason{"scratchpad user"};
  for (const auto* option : {"ctx-init", "ctx-exe"})
    if (!choice.IsDefault(option)) return Reason{option};
  return std::nullopt;
}

std::vector<const BenchdnnDriver*> BenchdnnDrivers() {
  std::vector<const BenchdnnDriver*> drivers;
  for (const workload::Op* op : workload::AllOps())
    drivers.insert(drivers.end(), op->benchdnn.begin(), op->benchdnn.end());
  return drivers;
}

const BenchdnnDriver* FindBenchdnnDriver(std::string_view name) {
  for (const auto* driver : BenchdnnDrivers())
    if (driver->name == name) return driver;
  return nullptr;
}

const BenchdnnDriver* DriverOfProblem(std::string_view text) {
  for (const auto* driver : BenchdnnDrivers())
    if (driver->begins_problem != nullptr && driver->begins_problem(text)) return driver;
  return nullptr;
}

}  // namespace dlroof::suites
