// Variants of the samples of other tools: the same measurements as another locale, spreadsheet,
// version or editor writes them, and damaged files. No variant may give other numbers than its
// original without a refusal or a remark. DLROOF_VARIANTS sets the number of variants of each
// sample.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "counters/base/error.h"
#include "counters/base/files.h"
#include "reporters/imports/import.h"
#include "reporters/text/numbers.h"
#include "tests/fakes/refusal.h"
#include "tests/fakes/structure.h"
#include "tests/test_data.h"

namespace dlroof::imports {

using Random = std::mt19937_64;
using Numbers = std::map<std::string, std::vector<double>>;  // values by record and quantity

struct Outcome {
  Numbers numbers;
  std::set<std::string> remarks;
};

struct Variant {
  std::string text;
  bool loses = false;  // a part is missing: what is left must be right, but may be less
  bool skip = false;   // the text is not a variant (cut between lines)
};

// What is varied: a sample's text, its reader, and the edits.
struct Sample {
  std::string name;
  std::string text;
  std::function<Outcome(const std::string& text)> read;
  std::function<Variant(Random&)> variant;
};

inline std::string FileText(const std::string& name) {
  return ReadFile(fakes::TestData(name), "a sample");
}

template <Imported (*kRead)(const std::string&, const std::string&)>
Imported With(const std::string& text) {
  return kRead(text, "file");
}

inline std::size_t Below(Random& random, std::size_t n) { return random() % n; }

inline std::string AnyOf(const std::vector<std::string>& texts, Random& random) {
  return texts[Below(random, texts.size())];
}

// Reads a text by the first format that recognises it.
inline Imported ReadAny(const std::string& text, const std::string& where = "file") {
  for (const auto& format : ImportFormats())
    if (format.recognise(text)) return format.read(text, where);
  throw BadInput("unknown format");
}

inline Imported FromFile(const std::string& name) { return ReadAny(FileText(name), name); }

// Returns why the text is refused, or why its first item is left out.
inline std::string Refusal(Imported (*read)(const std::string&, const std::string&),
                           const std::string& text) {
  constexpr std::string_view kFirst = "; the first: ";
  Imported imported;
  const auto refusal = fakes::RefusalOf([&] { imported = read(text, "x.csv"); });
  for (const auto& remark : imported.remarks)
    if (const auto at = remark.find(kFirst); at != remark.npos)
      return remark.substr(at + kFirst.size());
  return refusal;
}

inline Outcome OutcomeOf(const Imported& imported) {
  Outcome outcome{.remarks = {imported.remarks.begin(), imported.remarks.end()}};
  for (const auto& record : imported.records) {
    if (record.repetitions.empty()) outcome.remarks.insert(record.reason);
    auto& seconds = outcome.numbers[record.name + " s"];
    for (const auto& repetition : record.repetitions) seconds.push_back(repetition.seconds);
    for (const auto& repetition : record.repetitions)
      if (repetition.aggregate && repetition.aggregate->deviation)
        outcome.numbers[record.name + " deviation"] = {*repetition.aggregate->deviation};
    std::ranges::sort(seconds);
    for (const auto& [provenance, work] : record.work) {
      for (const auto& [pipe, flops] : work.flops)
        outcome.numbers[record.name + " " + pipe] = {flops};
      for (const auto& [level, bytes] : work.bytes)
        outcome.numbers[fmt::format("{} {}", record.name, static_cast<int>(level))] = {bytes};
      if (work.launches) outcome.numbers[record.name + " launches"] = {*work.launches};
    }
    if (record.threads) outcome.numbers[record.name + " threads"] = {1.0 * *record.threads};
  }
  return outcome;
}

template <Imported (*kRead)(const std::string&, const std::string&)>
Outcome Importing(const std::string& text) {
  return OutcomeOf(kRead(text::WithoutByteOrder(text), "variant"));
}

// How a file is written.
struct Style {
  char separator = ',', decimal = '.';
  std::string group;  // between three digits; may be empty
  bool quoted = false;
};

inline bool IsNumber(const std::string& cell) {
  return text::NumberIn(cell, text::DecimalMark::kPoint).has_value();
}

// Returns the number in another style. An exponent stays.
inline std::string Rewritten(std::string number, const Style& style) {
  std::erase(number, ',');
  const auto end = std::min(number.find_first_of(".eE"), number.size());
  std::string whole = number.substr(0, end), rest = number.substr(end);
  if (rest.starts_with('.')) rest[0] = style.decimal;
  const bool grouped = !style.group.empty() && rest.find_first_of("eE") == std::string::npos;
  for (std::size_t at = whole.size(); grouped && at > 3;) whole.insert(at -= 3, style.group);
  return whole + rest;
}

inline std::string InUtf16(std::string_view text) {
  std::string wide = "\xFF\xFE";
  for (const char c : text) (wide += c) += '\0';
  return wide;
}

inline std::string WithLineEnds(const std::string& text) {
  std::string changed;
  for (const char c : text) changed += c == '\n' ? std::string("\r\n") : std::string(1, c);
  return changed;
}

// Changes line ends, encoding or end of the text.
inline void ChangeBytes(Variant& variant, Random& random) {
  const bool ascii = std::ranges::all_of(variant.text, [](char c) { return c > 0; });
  switch (Below(random, 6)) {
    case 0:
      variant.text = WithLineEnds(variant.text);
      break;
    case 1:
      variant.text.insert(0, "\xEF\xBB\xBF");
      break;
    case 2:
      if (ascii) variant.text = InUtf16(variant.text);
      break;
    case 3: {  // a cut between lines leaves a shorter file that is as good
      const auto at = Below(random, variant.text.size() + 1);
      variant.skip = at == 0 || at == variant.text.size() || variant.text[at - 1] == '\n' ||
                     variant.text[at] == '\n' || variant.text[at] == '\r';
      variant.text.resize(at);
      variant.loses = true;
      break;
    }
    default:
      break;
  }
}

inline bool AreEqual(const std::vector<double>& a, const std::vector<double>& b) {
  return std::ranges::equal(a, b, [](double x, double y) {
    return std::abs(x - y) <= 1e-9 * std::max(std::abs(x), std::abs(y));
  });
}

// Returns the first quantity that differs from the original's, or "".
inline std::string Difference(const Numbers& original, const Numbers& variant, bool loses) {
  for (const auto& [name, values] : variant) {
    const auto found = original.find(name);
    const bool lost = loses && values.empty();
    if (!lost && (found == original.end() || !AreEqual(found->second, values))) return name;
  }
  for (const auto& [name, values] : original)
    if (!loses && !variant.contains(name)) return name + " is missing";
  return "";
}

// Returns whether a remark is new.
inline bool IsNamed(const Outcome& read, const Outcome& original) {
  return std::ranges::any_of(
      read.remarks, [&](const auto& remark) { return !original.remarks.contains(remark); });
}

inline void Try(const Sample& sample, int usual = 2000) {
  const auto original = sample.read(sample.text);
  const int variants = fakes::Asked("DLROOF_VARIANTS", usual);
  Random random(20);
  std::map<std::string, int> counts;
  for (int i = 0; i < variants; ++i) {
    const auto variant = sample.variant(random);
    if (variant.skip) continue;
    try {
      const auto read = sample.read(variant.text);
      const auto difference = Difference(original.numbers, read.numbers, variant.loses);
      ++counts[!difference.empty() ? "remarked" : "equal"];
      ASSERT_TRUE(difference.empty() || IsNamed(read, original)) << difference << "\n"
                                                                 << variant.text;
    } catch (const BadInput& error) {
      ++counts["refused"];
      ASSERT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
    }
  }
  EXPECT_GT(counts["equal"], variants / 20);
  EXPECT_GT(counts["refused"] + counts["remarked"], 0);
}

}  // namespace dlroof::imports
