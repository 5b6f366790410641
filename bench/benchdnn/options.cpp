#include "bench/benchdnn/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

#include "bench/benchdnn/tokens.h"
#include "bench/benchdnn/values.h"

namespace dlroof {
namespace {

constexpr std::string_view kFpmath = "strict bf16 f16 tf32 any";
constexpr std::string_view kPolicies = "common per_oc";

constexpr std::array<BenchdnnOption, 15> kConvOptions = {{
    {"dir", "FWD_B", "FWD_B FWD_D FWD_I BWD_D BWD_W BWD_WB BWD_DW"},
    {"dt", "f32:f32:f32", "", ReadDataTypes},
    {"cfg", "",
     "f32 f32_wino f16 f64 bf16bf16bf16 u8s8f32 u8s8f16 u8s8bf16 u8s8s32 u8s8s8 u8s8u8 s8s8f32 "
     "s8s8f16 s8s8bf16 s8s8s32 s8s8s8 s8s8u8 bf16bf16f32 bf16bf16f16 bf16bf16s8 bf16bf16u8 "
     "f32bf16bf16 bf16f32bf16 f32f32s8 f32f32u8 f16f16f32 f16f16s8 f16f16u8 f32f16f16 f16f32f16"},
    {"stag", "any", "", ReadLayout},
    {"wtag", "any", "", ReadLayout},
    {"dtag", "any", "", ReadLayout},
    {"alg", "direct", "direct wino auto convolution_direct convolution_wino convolution_auto"},
    {"attr-scales", "", "", ReadScales},
    {"attr-zero-points", "", "", ReadZeroPoints},
    {"attr-post-ops", "", "", ReadPostOps},
    {"attr-scratchpad", "library", "library user"},
    {"attr-fpmath", "strict", kFpmath},
    {"ctx-init", "auto", "", ReadThreads},
    {"ctx-exe", "auto", "", ReadThreads},
    {"mb", "0", "", ReadCount},
}};

constexpr std::array<BenchdnnOption, 19> kRnnOptions = {{
    {"prop", "FWD_I", "FWD_I FWD_D BWD_DW"},
    {"cfg", "f32",
     "f32 bf16f32 bf16 f16 u8u8u8u8 u8u8u8f32 f32u8f32u8 f32u8f32f32 s8s8s8s8 s8s8s8f32 "
     "f32s8f32s8 f32s8f32f32"},
    {"alg", "VANILLA_RNN", "VANILLA_RNN VANILLA_LSTM VANILLA_GRU LBR_GRU VANILLA_AUGRU LBR_AUGRU"},
    {"with-peephole", "false", "", ReadBool},
    {"with-projection", "false", "", ReadBool},
    {"scaling", "common", kPolicies},
    {"scaling-proj", "common", kPolicies},
    {"direction", "left2right", "left2right right2left concat sum"},
    {"activation", "RELU", "RELU LOGISTIC TANH UNDEF"},
    {"skip-nonlinear", "false", "", ReadBool},
    {"trivial-strides", "false", "", ReadBool},
    {"flags", "", "", ReadRnnFlags},
    {"l", "0", "", ReadCount},
    {"t", "0", "", ReadCount},
    {"mb", "0", "", ReadCount},
    {"attr-scratchpad", "library", "library user"},
    {"ctx-init", "auto", "", ReadThreads},
    {"ctx-exe", "auto", "", ReadThreads},
    {"attr-fpmath", "strict", kFpmath},
}};

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

std::span<const BenchdnnOption> Options(BenchdnnDriver driver) {
  if (driver == BenchdnnDriver::kConv) return kConvOptions;
  return kRnnOptions;
}

std::string_view OneOf(std::string_view words, std::string_view value) {
  for (size_t at = 0; at < words.size();) {
    const auto end = std::min(words.find(' ', at), words.size());
    if (SameInAnyCase(words.substr(at, end - at), value)) return words.substr(at, end - at);
    at = end + 1;
  }
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

BenchdnnSettings::BenchdnnSettings(BenchdnnDriver driver) : driver_(driver) {
  for (const auto& option : Options(driver)) values_.push_back({std::string(option.default_value)});
}

bool BenchdnnSettings::Set(std::string_view option, std::string_view values) {
  const auto options = Options(driver_);
  const auto row = std::find_if(options.begin(), options.end(),
                                [&](const auto& candidate) { return candidate.name == option; });
  if (row == options.end()) return false;
  auto& set = values_[static_cast<size_t>(row - options.begin())];
  if (values.empty()) {
    set = {std::string(row->default_value)};
    return true;
  }
  set.clear();
  for (size_t at = 0; at <= values.size();) {
    const auto end = std::min(values.find(',', at), values.size());
    try {
      set.push_back(ReadValue(*row, values.substr(at, end - at)));
    } catch (const BenchdnnRefusal& refusal) {
      throw BenchdnnRefusal(at + refusal.offset, refusal.what());
    }
    at = end + 1;
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
  return {driver_, std::move(choice)};
}

bool IsIgnoredOption(std::string_view option, std::string_view value) {
  for (const auto& row : kIgnoredOptions) {
    if (row.name != option) continue;
    ReadValue(row, value);
    return true;
  }
  return false;
}

}  // namespace dlroof
