#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <limits>
#include <vector>

#include "bench/suites/benchdnn.h"
#include "bench/workload/workload.h"
#include "counters/base/keys.h"
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

// Splits "u8:s8:u8" into types of source, weights and destination.
workload::ProductTypes SplitTypes(std::string_view data_types) {
  const auto types = logs::SplitText(data_types, ':');
  return {std::string(types.at(0)), std::string(types.at(1)), std::string(types.at(2))};
}

char LowerCase(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }

// Returns the scales of dlroof's option `scales`, spelled as by ReadScales; "" without int8.
std::string_view OurScales(const workload::ProductTypes& types) {
  if (!workload::IsInt8(types)) return "";
  return workload::IsByte(types.destination) ? "src:common+wei:per_oc+dst:common"
                                             : "src:common+wei:per_oc";
}

}  // namespace

const BenchdnnDirection& DirectionOf(const BenchdnnChoice& choice) {
  return *std::ranges::find(kDirections, choice["dir"], &BenchdnnDirection::dir);
}

std::optional<std::string_view> DirOf(const workload::ProductCase& product) {
  for (const auto& row : kDirections)
    if (row.direction == product.direction && row.training == product.training &&
        row.bias == product.bias)
      return row.dir;
  return std::nullopt;
}

workload::ProductTypes TypesOf(const BenchdnnChoice& choice) {
  const auto cfg = choice["cfg"];
  return SplitTypes(cfg.empty() ? choice["dt"] : cfg);
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
  const auto scales = choice["attr-scales"];
  if (!scales.empty() && !forward) return Reason{"scales backward"};
  if (!scales.empty() && scales != OurScales(types))
    return Reason{fmt::format("scales {}", scales)};
  return std::nullopt;
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

constexpr BenchdnnOption kCommonOptions[] = {
    {"attr-scratchpad", "library", ""},
    {"ctx-init", "auto", "auto:auto auto:auto:auto"},
    {"ctx-exe", "auto", "auto:auto auto:auto:auto"},
    {"engine", "cpu", "cpu:0"},
    {"cpu-isa-hints", "none", "no_hints"},
};

constexpr std::string_view kIgnoredOptions[] = {
    "allow-enum-tags-only", "attr-same-pd-check", "canonical",       "check-ref-impl", "fast-ref",
    "fast-ref-gpu",         "global-skip-impl",   "num-streams",     "stream-kind",    "summary",
    "fix-times-per-prb",    "max-ms-per-prb",     "mem-check",       "memory-kind",    "mode",
    "mode-modifier",        "perf-template",      "repeats-per-prb", "skip-impl",      "verbose"};

bool SameInAnyCase(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, {}, LowerCase, LowerCase);
}

// Returns the canonical spelling of a value. Throws BadInput if dlroof has no benchmarks with it.
std::string ReadValue(const BenchdnnOption& option, std::string_view value) {
  auto read = option.read != nullptr ? option.read(value) : std::string(value);
  if (option.values == kBenchdnnAny) return read;
  if (SameInAnyCase(option.default_value, read)) return std::string(option.default_value);
  for (const auto word : logs::SplitText(option.values, ' '))
    if (SameInAnyCase(word, read)) return std::string(word);
  throw BadInput("not supported");
}

}  // namespace

BenchdnnChoice::BenchdnnChoice(const BenchdnnDriver& driver) : driver_(&driver) {
  for (const auto& option : driver.options) values_.emplace(option.name, option.default_value);
}

bool BenchdnnChoice::Set(std::string_view option, std::string_view value) {
  const auto set = [&](const BenchdnnOption& known) {
    if (known.name != option) return false;
    auto& kept = values_[known.name];
    kept = known.default_value;
    if (value.find(',') != value.npos)
      throw BadInput("--{}={}: expected one value; a list is several problems", option,
                     ShownText(value));
    try {
      if (!value.empty()) kept = ReadValue(known, value);
    } catch (const BadInput& error) {
      throw BadInput("--{}={}: {}", option, ShownText(value), error.text);
    }
    return true;
  };
  return std::ranges::any_of(driver_->options, set) || std::ranges::any_of(kCommonOptions, set);
}

std::string_view BenchdnnChoice::operator[](std::string_view option) const {
  const auto found = values_.find(option);
  return found == values_.end() ? std::string_view() : found->second;
}

int64_t BenchdnnChoice::Count(std::string_view option) const {
  const auto value = (*this)[option];
  return value.empty() ? 0 : std::stoll(std::string(value));
}

bool IsIgnoredOption(std::string_view option) {
  return std::ranges::count(kIgnoredOptions, option) > 0;
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

std::string ReadThree(std::string_view value) {
  const auto words = logs::SplitText(value, ':');
  if (words.size() == 1) return fmt::format("{0}:{0}:{0}", value);
  if (words.size() != 3)
    throw BadInput("expected one word, or those of source, weights and destination");
  return std::string(value);
}

std::string ReadTypes(std::string_view value) {
  std::vector<std::string_view> types;
  value = value.substr(0, value.find('_'));  // removes "_wino" of f32_wino
  while (!value.empty()) {
    const size_t letters = value.starts_with("bf") ? 2 : 1;
    const size_t end = std::min(value.find_first_not_of("0123456789", letters), value.size());
    types.push_back(value.substr(0, end));
    value.remove_prefix(end);
  }
  return ReadThree(fmt::format("{}", fmt::join(types, ":")));
}

std::string ReadLayout(std::string_view value) {
  if (value == "axb" || value == "acdb") return "nhwc";
  return value == "abx" || value == "abcd" ? "nchw" : std::string(value);
}

std::string ReadCount(std::string_view value) {
  const auto count = ParseNumber<int32_t>(value).value_or(-1);
  if (count < 0)
    throw BadInput("expected an integer from 0 to {}", std::numeric_limits<int32_t>::max());
  return std::to_string(count);
}

std::string ReadScales(std::string_view value) {
  std::map<std::string_view, std::string> found = {{"src", ""}, {"wei", ""}, {"dst", ""}};
  for (const auto part : logs::SplitText(value, '+')) {
    const auto fields = logs::SplitText(part, ':');
    const auto tensor = found.find(fields[0] == "src0" ? "src" : fields[0]);
    if (tensor == found.end() || fields.size() < 2)
      throw BadInput("expected TENSOR:POLICY or TENSOR:POLICY:VALUE of src, wei or dst");
    const bool none = fields[1] == "common" && (fields.size() == 2 || fields[2] == "1");
    tensor->second = none ? "" : fmt::format("+{}:{}", tensor->first, fields[1]);
  }
  const auto text = found["src"] + found["wei"] + found["dst"];
  return text.empty() ? text : text.substr(1);
}

std::string ReadPostOps(std::string_view value) {
  std::vector<std::string> names;
  for (const auto word : logs::SplitText(value, '+')) {
    auto& name = names.emplace_back(word);
    std::ranges::transform(name, name.begin(), LowerCase);
    if (name.starts_with("eltwise_")) name.erase(0, 8);
    while (name.ends_with(":0")) name.resize(name.size() - 2);
    if (name == "sum:1") name = "sum";
  }
  return fmt::format("{}", fmt::join(names, "+"));
}

namespace {

constexpr std::string_view kSpace = " \t\n\v\f\r";

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Reads the integer at index `at`, from `least` to 2^31-1, and moves `at` behind it. `what` is
// expected: "a size". Throws BadInput for other text.
int64_t ReadInteger(std::string_view text, size_t& at, int64_t least, const std::string& what) {
  constexpr int64_t kMax = std::numeric_limits<int32_t>::max();
  int64_t value = -1;
  const auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), value);
  if (error != std::errc() || value < least || value > kMax || text[at] == '-')
    throw BadInput("expected {}, an integer from {} to {}", what, least, kMax);
  at = static_cast<size_t>(end - text.data());
  return value;
}

}  // namespace

std::vector<BenchdnnToken> BenchdnnTokens(std::string_view text) {
  std::vector<BenchdnnToken> tokens;
  bool joins = false;
  int line = 1;
  for (size_t at = 0; at < text.size();) {
    if (kSpace.find(text[at]) != std::string_view::npos) {
      if (text[at++] == '\n') ++line;
      continue;
    }
    if (text[at] == '#') {
      at = std::min(text.find('\n', at), text.size());
      continue;
    }
    const auto end = std::min(text.find_first_of(kSpace, at), text.size());
    auto word = text.substr(at, end - at);
    at = end;
    const bool joins_next = word.ends_with('\\');
    if (joins_next) word.remove_suffix(1);
    if (joins && !tokens.empty())
      tokens.back().text += word;
    else if (!word.empty())
      tokens.push_back({std::string(word), line});
    joins = joins_next;
  }
  return tokens;
}

std::string ShownText(std::string_view text, size_t max_shown) {
  std::string shown(text.substr(0, max_shown));
  for (char& c : shown)
    if (c < ' ' || c > '~') c = '?';
  return text.size() > max_shown ? shown + "..." : shown;
}

void ReadLetters(std::string_view text, std::span<const BenchdnnLetter> letters) {
  for (size_t at = 0; at < text.size() && text[at] != 'n';) {
    if (at > 0 && text[at] == '_') {
      ++at;
      continue;
    }
    const BenchdnnLetter* found = nullptr;
    for (const BenchdnnLetter& letter : letters)
      if (letter.key[0] == text[at] && text.substr(at, letter.key.size()) == letter.key)
        found = &letter;
    if (found == nullptr) {
      std::string keys;
      for (const BenchdnnLetter& letter : letters) keys += fmt::format("{} ", letter.key);
      throw BadInput("expected one of {}or the name after n, got '{}'", keys,
                     ShownText(text.substr(at, 16)));
    }
    at += found->key.size();
    *found->value = ReadInteger(text, at, 0, fmt::format("the value of '{}'", found->key));
  }
}

void RequireLetter(int64_t value, std::string_view key) {
  if (value <= 0) throw BadInput("this problem lacks {}, or its value is 0", key);
}

std::vector<int64_t> ReadSizes(std::string_view text, size_t& at) {
  for (std::vector<int64_t> sizes;; ++at) {
    sizes.push_back(ReadInteger(text, at, 1, "a size"));
    if (at == text.size() || text[at] != 'x') return sizes;
  }
}

void ExpectName(std::string_view text, size_t at) {
  if (at < text.size() && std::string_view("_n\"").find(text[at]) == std::string_view::npos)
    throw BadInput("expected the name after n, or the end");
}

bool BeginsWithLetter(std::string_view text, std::span<const BenchdnnLetter> letters) {
  if (text.starts_with("mb")) {
    const auto next = text.find_first_not_of("0123456789_", 2);
    if (next == 2 || next == std::string_view::npos) return false;
    text.remove_prefix(next);
  }
  return std::ranges::any_of(letters, [&](const BenchdnnLetter& letter) {
    const auto key = letter.key;
    return key != "mb" && text.size() > key.size() && text.starts_with(key) &&
           IsDigit(text[key.size()]);
  });
}

}  // namespace dlroof::suites
