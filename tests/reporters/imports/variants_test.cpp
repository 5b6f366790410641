// Variants of the samples: the same measurements as another locale, spreadsheet, version or editor
// writes them, and damaged files. No variant may give other numbers than its original without a
// refusal or a remark. DLROOF_VARIANTS sets the number of variants of each sample.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <map>
#include <random>
#include <set>

#include "bench/suites/benchdnn_suite.h"
#include "counters/base/error.h"
#include "counters/base/files.h"
#include "reporters/imports/import.h"
#include "reporters/text/csv.h"
#include "reporters/verbose/verbose_log.h"
#include "tests/test_data.h"

namespace dlroof::imports {
namespace {

using Random = std::mt19937_64;
using Numbers = std::map<std::string, std::vector<double>>;  // by record and quantity

struct Outcome {
  Numbers numbers;
  std::set<std::string> remarks;
};

struct Sample {
  const char* file;
  Outcome (*read)(const std::string& text);
  bool quoted;  // its values are in quotes
};

std::size_t Below(Random& random, std::size_t n) { return random() % n; }

Outcome OutcomeOf(const Imported& imported) {
  Outcome outcome{.remarks = {imported.remarks.begin(), imported.remarks.end()}};
  for (const auto& record : imported.records) {
    if (record.repetitions.empty()) outcome.remarks.insert(record.reason);
    auto& seconds = outcome.numbers[record.name + " s"];
    for (const auto& repetition : record.repetitions) seconds.push_back(repetition.seconds);
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

Outcome ReadLog(const std::string& text) {
  const auto plain = text::WithoutByteOrder(text);
  const auto log = verbose::ReadVerboseLog(plain);
  Outcome outcome;
  for (const auto& execution : log.executions)
    outcome.numbers["executions"].push_back(execution.seconds);
  for (const auto& creation : log.creations)
    outcome.numbers["creations"].push_back(creation.seconds);
  for (const auto& execution : log.executions)
    if (execution.start_seconds) outcome.numbers["starts"].push_back(*execution.start_seconds);
  for (auto& [name, values] : outcome.numbers) std::ranges::sort(values);
  for (const auto& refused : log.lines.refused) outcome.remarks.insert(refused.reason);
  if (!plain.empty() && plain.back() != '\n') outcome.remarks.insert("no line end");
  return outcome;
}

// How a file is written.
struct Style {
  char separator = ',', decimal = '.';
  std::string group;  // between three digits; may be empty
  bool quoted = false;
};

bool IsNumber(const std::string& cell) {
  return text::NumberIn(cell, text::DecimalMark::kPoint).has_value();
}

// Returns the number in another style. An exponent stays.
std::string Rewritten(std::string number, const Style& style) {
  std::erase(number, ',');
  const auto end = std::min(number.find_first_of(".eE"), number.size());
  std::string whole = number.substr(0, end), rest = number.substr(end);
  if (rest.starts_with('.')) rest[0] = style.decimal;
  const bool grouped = !style.group.empty() && rest.find_first_of("eE") == std::string::npos;
  for (std::size_t at = whole.size(); grouped && at > 3;) whole.insert(at -= 3, style.group);
  return whole + rest;
}

std::string Written(const std::vector<text::CsvRow>& rows, const Style& style) {
  std::string text;
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      const auto& cell = row[i].text;
      const bool special = cell.find_first_of("\",;\t") != std::string::npos;
      std::string shown = cell;
      for (std::size_t at = 0; (at = shown.find('"', at)) != std::string::npos; at += 2)
        shown.insert(at, 1, '"');
      if (i > 0) text += style.separator;
      text += style.quoted || special ? fmt::format("\"{}\"", shown) : shown;
    }
    text += '\n';
  }
  return text;
}

// Splits a text into the lines before its table and the table.
std::pair<std::string, std::vector<text::CsvRow>> TableOf(const std::string& text) {
  const auto at = text.starts_with("==PROF==") ? text.find("\"ID\"")
                  : text.starts_with('#')      ? text.find('\n') + 1
                                               : 0;
  return {text.substr(0, at), text::ReadCsv(std::string_view(text).substr(at), "sample")};
}

const Style& AnyStyle(Random& random, bool quoted) {
  static const Style styles[] = {
      {',', '.', "", true},          {',', '.', ",", true},  {',', ',', ".", true},
      {',', ',', "", true},          {';', ',', "", false},  {';', ',', ".", false},
      {'\t', '.', "", false},        {'\t', ',', "'", true}, {',', '.', "'", true},
      {';', ',', "\xC2\xA0", false}, {';', '.', "", false},  {',', ',', "\xE2\x80\xAF", true}};
  const auto& style = styles[Below(random, std::size(styles))];
  return quoted && !style.quoted ? styles[Below(random, 4)] : style;
}

constexpr std::string_view kUnits[][2] = {{"Mbyte", "byte"},      {"Mbyte", "Kbyte"},
                                          {"usecond", "nsecond"}, {"usecond", "msecond"},
                                          {"usecond", "us"},      {"usecond", "furlong"}};

// Expresses the values of a unit in another one. An unknown one must be refused.
void ChangeUnit(std::vector<text::CsvRow>& rows, Random& random) {
  const auto& [from, to] = kUnits[Below(random, std::size(kUnits))];
  const auto factor =
      text::ReadUnit(from)->factor / text::ReadUnit(to).value_or(text::Unit{}).factor;
  const auto scale = [&](std::string& cell) {
    cell = fmt::format("{}", *text::NumberIn(cell, text::DecimalMark::kPoint) * factor);
  };
  for (std::size_t i = 1; i < rows.size(); ++i)
    for (std::size_t j = 0; j < rows[i].size(); ++j) {
      if (rows[i][j].text != from) continue;
      rows[i][j].text = to;
      const bool below = i == 1 && rows[i][0].text.empty();
      if (!below && j + 1 < rows[i].size()) scale(rows[i][j + 1].text);
      for (std::size_t k = 2; below && k < rows.size(); ++k) scale(rows[k][j].text);
    }
}

void ChangeColumns(std::vector<text::CsvRow>& rows, Random& random, bool& loses) {
  const auto column = Below(random, rows[0].size());
  const bool drop = random() % 2 == 0;
  loses = loses || drop;
  for (auto& row : rows) {
    if (column >= row.size()) continue;
    const auto at = row.begin() + static_cast<std::ptrdiff_t>(column);
    if (drop)
      row.erase(at);
    else
      row.insert(at, {&row == &rows[0] ? "an unknown column" : "7", row[0].line, 1});
  }
}

// Doubles a row, which only files of repetitions may have.
void ChangeRows(std::vector<text::CsvRow>& rows, Random& random, bool repetitions) {
  const bool units = rows.size() > 1 && rows[1][0].text.empty();
  const std::size_t first = units ? 2 : 1;
  if (rows.size() <= first + 1) return;
  if (random() % 2 == 0 && !repetitions) {
    rows.push_back(rows[first + Below(random, rows.size() - first)]);
  } else if (rows[0][0].text != "STRUCT") {
    std::shuffle(rows.begin() + static_cast<std::ptrdiff_t>(first), rows.end(), random);
  }
}

std::string InUtf16(std::string_view text) {
  std::string wide = "\xFF\xFE";
  for (const char c : text) (wide += c) += '\0';
  return wide;
}

std::string WithLineEnds(const std::string& text) {
  std::string changed;
  for (const char c : text) changed += c == '\n' ? std::string("\r\n") : std::string(1, c);
  return changed;
}

struct Variant {
  std::string text;
  bool loses = false;  // a part is missing: what is left must be right, but may be less
  bool skip = false;   // the text is not a variant (cut between lines)
};

void ChangeBytes(Variant& variant, Random& random) {
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
      const auto at = Below(random, variant.text.size());
      variant.skip = at == 0 || variant.text[at - 1] == '\n' || variant.text[at] == '\n' ||
                     variant.text[at] == '\r';
      variant.text.resize(at);
      variant.loses = true;
      break;
    }
    default:
      break;
  }
}

Variant VariantOf(const Sample& sample, const std::string& text, Random& random) {
  Variant variant;
  auto [before, rows] = TableOf(text);
  const bool own = rows[0][0].text == "name";
  const bool ncu = rows[0][0].text == "ID";
  if (ncu && random() % 3 == 0) ChangeUnit(rows, random);
  if (!own && !ncu && random() % 3 == 0) ChangeRows(rows, random, false);
  if ((own || ncu) && random() % 3 == 0) ChangeRows(rows, random, own);
  if ((own || ncu) && random() % 3 == 0) ChangeColumns(rows, random, variant.loses);
  const auto style = AnyStyle(random, sample.quoted);
  for (std::size_t i = 1; i < rows.size(); ++i)
    for (std::size_t j = own || !ncu ? 1 : 11; j < rows[i].size(); ++j)
      if (rows[i][0].text != "TABLE" && IsNumber(rows[i][j].text))
        rows[i][j].text = Rewritten(rows[i][j].text, style);
  variant.text = before + Written(rows, style);
  ChangeBytes(variant, random);
  return variant;
}

// Prefixes, versions, decimal commas and line ends of logs.
Variant LogVariant(const Sample& /*sample*/, const std::string& text, Random& random) {
  Variant variant;
  const bool comma = random() % 2 == 0, prefixed = random() % 3 == 0;
  for (std::size_t at = 0; at < text.size();) {
    const auto end = std::min(text.find('\n', at), text.size());
    auto line = text.substr(at, end - at);
    at = end + 1;
    const auto field = line.rfind(',') + 1;
    const auto time = line.substr(field);
    if (comma && text::PlainNumber(time)) {
      line.resize(field);
      line += Rewritten(time, {.decimal = ','});
    }
    variant.text += (prefixed ? "[rank 0] " : "") + line + '\n';
  }
  ChangeBytes(variant, random);
  return variant;
}

bool AreEqual(const std::vector<double>& a, const std::vector<double>& b) {
  return std::ranges::equal(a, b, [](double x, double y) {
    return std::abs(x - y) <= 1e-9 * std::max(std::abs(x), std::abs(y));
  });
}

// Returns the first quantity that differs from the original's, or "".
std::string Difference(const Numbers& original, const Numbers& variant, bool loses) {
  for (const auto& [name, values] : variant) {
    const auto found = original.find(name);
    const bool lost = loses && values.empty();
    if (!lost && (found == original.end() || !AreEqual(found->second, values))) return name;
  }
  for (const auto& [name, values] : original)
    if (!loses && !variant.contains(name)) return name + " is missing";
  return "";
}

int VariantsOf(int usual) {
  const char* asked = std::getenv("DLROOF_VARIANTS");
  return asked == nullptr ? usual : std::atoi(asked);
}

void Try(const Sample& sample, Variant (*make)(const Sample&, const std::string&, Random&)) {
  const auto text = ReadFile(fakes::TestData(sample.file), "a sample");
  const auto original = sample.read(text);
  Random random(20);
  std::map<std::string, int> counts;
  for (int i = 0; i < VariantsOf(2000); ++i) {
    const auto variant = make(sample, text, random);
    if (variant.skip) continue;
    try {
      const auto read = sample.read(variant.text);
      const auto difference = Difference(original.numbers, read.numbers, variant.loses);
      const bool remarked = std::ranges::any_of(
          read.remarks, [&](const auto& remark) { return !original.remarks.contains(remark); });
      ++counts[!difference.empty() ? "remarked" : "equal"];
      ASSERT_TRUE(difference.empty() || remarked) << difference << "\n" << variant.text;
    } catch (const BadInput& error) {
      ++counts["refused"];
      ASSERT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
    }
  }
  std::cout << fmt::format("{}: {} equal, {} remarked, {} refused\n", sample.file, counts["equal"],
                           counts["remarked"], counts["refused"]);
  EXPECT_GT(counts["equal"], VariantsOf(2000) / 20);
  EXPECT_GT(counts["refused"] + counts["remarked"], 0);
}

TEST(Variants, OwnCsv) { Try({"import_small.csv", Importing<ImportOwnCsv>, false}, VariantOf); }
TEST(Variants, NsightComputeRaw) {
  Try({"import_ncu_raw.csv", Importing<ImportNsightCompute>, true}, VariantOf);
}
TEST(Variants, NsightComputeDetails) {
  Try({"import_ncu_details.csv", Importing<ImportNsightCompute>, true}, VariantOf);
}
TEST(Variants, NsightComputeDecimalComma) {
  Try({"import_ncu_comma.csv", Importing<ImportNsightCompute>, true}, LogVariant);
}
TEST(Variants, Likwid) { Try({"import_likwid.csv", Importing<ImportLikwid>, false}, VariantOf); }
TEST(Variants, Benchdnn) {
  Try({"import_benchdnn.txt", Importing<suites::ImportBenchdnn>, false}, LogVariant);
}
TEST(Variants, LogsOfOneDnn) {
  Try({"onednn_verbose/pt_lstm_inf.onednn.log", ReadLog, false}, LogVariant);
  Try({"onednn_verbose/debian_torch113_conv_v2.6.3.log", ReadLog, false}, LogVariant);
}

}  // namespace
}  // namespace dlroof::imports
