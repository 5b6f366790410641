#include "bench/benchdnn/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

#include "bench/benchdnn/driver.h"
#include "bench/benchdnn/tokens.h"
#include "reporters/verbose/verbose_line.h"

namespace dlroof::benchdnn {
namespace {

// Options that do not change what a call computes.
constexpr std::array<BenchdnnOption, 14> kIgnoredOptions = {{
    {"allow-enum-tags-only", "", "", ReadBool},
    {"attr-same-pd-check", "", "", ReadBool},
    {"canonical", "", "", ReadBool},
    {"fast-ref-gpu", "", "", ReadBool},
    {"fix-times-per-prb", "", "", ReadCount},
    {"max-ms-per-prb", "", "", nullptr},
    {"mem-check", "", "", ReadBool},
    {"memory-kind", "", "usm buffer usm_device usm_shared"},
    {"mode", "", "C P CP PC F R I L"},
    {"mode-modifier", "", "P M PM MP"},
    {"perf-template", "", "", nullptr},
    {"repeats-per-prb", "", "", ReadCount},
    {"skip-impl", "", "", nullptr},
    {"verbose", "", "", ReadCount},
}};

std::string ReadValue(const BenchdnnOption& option, std::string_view value) {
  if (value.empty()) {
    // benchdnn takes an empty attribute for none, and an empty word for nothing else.
    if (option.default_value.empty() || option.name == "attr-fpmath")
      return std::string(option.default_value);
    throw BenchdnnRefusal(0, fmt::format("expected a value of --{}", option.name));
  }
  if (option.read != nullptr) return option.read(value);
  if (option.words.empty()) return std::string(value);
  return std::string(OneOf(option.words, value));
}

bool SameInAnyCase(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
    return std::tolower(static_cast<unsigned char>(x)) ==
           std::tolower(static_cast<unsigned char>(y));
  });
}

}  // namespace

std::string_view OneOf(std::string_view words, std::string_view value) {
  for (const auto word : verbose::SplitText(words, ' '))
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

std::string BenchdnnChoice::Arguments() const {
  std::string text;
  for (size_t i = 0; i < options_.size(); ++i)
    if (values_[i] != options_[i].default_value)
      text += fmt::format("--{}={} ", options_[i].name, values_[i]);
  return text;
}

BenchdnnSettings::BenchdnnSettings(const BenchdnnDriver& driver) : driver_(&driver) {
  for (const auto& option : driver.options) values_.push_back({std::string(option.default_value)});
}

bool BenchdnnSettings::Set(std::string_view option, std::string_view values) {
  const auto options = driver_->options;
  const auto row = std::ranges::find(options, option, &BenchdnnOption::name);
  if (row == options.end()) return false;
  auto& set = values_[static_cast<size_t>(row - options.begin())];
  if (values.empty()) {
    set = {std::string(row->default_value)};
    return true;
  }
  set.clear();
  for (const auto value : verbose::SplitText(values, ',')) try {
      set.push_back(ReadValue(*row, value));
    } catch (const BenchdnnRefusal& refusal) {
      throw BenchdnnRefusal(static_cast<size_t>(value.data() - values.data()) + refusal.offset,
                            refusal.what());
    }
  return true;
}

uint64_t BenchdnnSettings::Combinations() const {
  uint64_t count = 1;
  for (const auto& values : values_) count = std::min(count * values.size(), uint64_t{1} << 32);
  return count;
}

BenchdnnChoice BenchdnnSettings::Choice(uint64_t index) const {
  std::vector<std::string_view> choice(values_.size());
  for (size_t i = values_.size(); i-- > 0;) {
    choice[i] = values_[i][index % values_[i].size()];
    index /= values_[i].size();
  }
  return {driver_->options, std::move(choice)};
}

bool IsIgnoredOption(std::string_view option, std::string_view value) {
  for (const auto& row : kIgnoredOptions) {
    if (row.name != option) continue;
    ReadValue(row, value);
    return true;
  }
  return false;
}

std::string CommonReason(const BenchdnnChoice& choice) {
  if (choice["attr-scratchpad"] == "user") return "scratchpad user";
  if (!choice.IsDefault("ctx-init")) return "ctx-init";
  if (!choice.IsDefault("ctx-exe")) return "ctx-exe";
  return "";
}

}  // namespace dlroof::benchdnn
