#include "tests/reporters/imports/variants.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <gmock/gmock.h>
#include <sqlite3.h>

#include "baselines/history/history.h"
#include "bench/profile/profile.h"
#include "counters/base/files.h"
#include "reporters/imports/import.h"
#include "reporters/logs/verbose_log.h"
#include "reporters/text/numbers.h"

namespace dlroof::imports {
namespace {

// Variants (variants.h) of tables and logs.

Outcome ReadLog(const std::string& text) {
  const auto plain = text::WithoutByteOrder(text);
  const auto log = logs::ReadVerboseLog(plain);
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

Variant TableVariant(const std::string& text, bool quoted, Random& random) {
  Variant variant;
  auto [before, rows] = TableOf(text);
  const bool own = rows[0][0].text == "name";
  const bool ncu = rows[0][0].text == "ID";
  if (ncu && random() % 3 == 0) ChangeUnit(rows, random);
  if (!own && !ncu && random() % 3 == 0) ChangeRows(rows, random, false);
  if ((own || ncu) && random() % 3 == 0) ChangeRows(rows, random, own);
  if ((own || ncu) && random() % 3 == 0) ChangeColumns(rows, random, variant.loses);
  const auto style = AnyStyle(random, quoted);
  for (std::size_t i = 1; i < rows.size(); ++i)
    for (std::size_t j = own || !ncu ? 1 : 11; j < rows[i].size(); ++j)
      if (rows[i][0].text != "TABLE" && IsNumber(rows[i][j].text))
        rows[i][j].text = Rewritten(rows[i][j].text, style);
  variant.text = before + Written(rows, style);
  ChangeBytes(variant, random);
  return variant;
}

// Returns the line as other versions of oneDNN begin it.
std::string OfVersion(std::string line, std::size_t version) {
  constexpr std::string_view kNow = "onednn_verbose,v1,";
  constexpr std::string_view kBefore[] = {"onednn_verbose,", "dnnl_verbose,"};  // to 3.4, to 2.4
  if (version < std::size(kBefore) && line.starts_with(kNow))
    line.replace(0, kNow.size(), kBefore[version]);
  return line;
}

// Prefixes, versions, decimal commas and line ends of logs.
Variant LogVariant(const std::string& text, Random& random) {
  Variant variant;
  const auto version = Below(random, 6);
  const bool comma = random() % 2 == 0, prefixed = random() % 3 == 0;
  for (std::size_t at = 0; at < text.size();) {
    const auto end = std::min(text.find('\n', at), text.size());
    auto line = OfVersion(text.substr(at, end - at), version);
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

// `quoted`: the table's values are in quotes.
template <Imported (*kRead)(const std::string&, const std::string&)>
void TryTable(const char* file, bool quoted) {
  const auto text = FileText(file);
  Try({file, text, Importing<kRead>,
       [=](Random& random) { return TableVariant(text, quoted, random); }});
}

void TryLogText(const std::string& name, const std::string& text,
                Outcome (*read)(const std::string&)) {
  Try({name, text, read, [=](Random& random) { return LogVariant(text, random); }});
}

void TryLog(const char* file, Outcome (*read)(const std::string&)) {
  TryLogText(file, FileText(file), read);
}

TEST(Variants, OwnCsv) { TryTable<ImportOwnCsv>("import_small.csv", false); }
TEST(Variants, NsightComputeRaw) { TryTable<ImportNsightCompute>("import_ncu_raw.csv", true); }
TEST(Variants, NsightComputeDetailsAndDecimalComma) {
  TryTable<ImportNsightCompute>("import_ncu_details.csv", true);
  TryLog("import_ncu_comma.csv", Importing<ImportNsightCompute>);
}
TEST(Variants, Likwid) { TryTable<ImportLikwid>("import_likwid.csv", false); }
TEST(Variants, Benchdnn) {
  for (const char* file : {"import_benchdnn.txt", "import_benchdnn_resnet50.txt"})
    TryLog(file, Importing<profile::ImportBenchdnn>);
  TryLogText("benchdnn with the time at the end",
             "Output template: perf,%prb%,%Gops%,%0time%\n"
             "perf,--matmul 64x256:256x128,0.004194,0.5125\n"
             "perf,--matmul 64x256:256x256,0.008389,0.8125\n",
             Importing<profile::ImportBenchdnn>);
}
TEST(Variants, LogsOfOneDnn) {
  for (const char* file :
       {"onednn_verbose/pt_lstm_inf.onednn.log", "onednn_verbose/debian_torch113_conv_v2.6.3.log",
        "onednn_verbose/xpu_graph.log", "onednn_verbose/pt_bert_graph_inf.onednn.log"})
    TryLog(file, ReadLog);
}

// Imports the database that the statements make.
Imported FromSql(const std::string& sql) {
  SQLite::Database database(":memory:", SQLite::OPEN_READWRITE);
  database.exec(sql);
  sqlite3_int64 size = 0;
  auto* bytes = sqlite3_serialize(database.getHandle(), "main", &size, 0);
  const std::string text(reinterpret_cast<char*>(bytes), static_cast<std::size_t>(size));
  sqlite3_free(bytes);
  return history::ImportNsysDatabase(text, "r.sqlite");
}

// Two launches of `a`, one of `b` on another GPU; a launch whose begin is a text, one whose name is
// not there, and one that is there twice.
TEST(ImportNsysDatabase, SumsTheLaunchesOfAKernelAndABadRowCostsNoOther) {
  const std::string sql = R"(CREATE TABLE StringIds (id, value);
    CREATE TABLE TARGET_INFO_GPU (id, name);
    CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, "end", demangledName, deviceId);
    INSERT INTO StringIds VALUES (1, 'a'), (2, 'b');
    INSERT INTO TARGET_INFO_GPU VALUES (0, 'H100'), (1, 'T4');
    INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (100, 1100, 1, 0), (1200, 1700, 1, 0),
      (2000, 4000, 2, 1), (2000, 4000, 2, 1), ('abc', 8000, 1, 0), (9000, 9005, 3, 0);)";
  const auto imported = FromSql(sql);
  ASSERT_EQ(imported.records.size(), 2U);
  for (const auto& record : imported.records)
    EXPECT_DOUBLE_EQ(record.repetitions.at(0).seconds, record.name[0] == 'a' ? 1.5e-6 : 2e-6);
  EXPECT_THAT(imported.remarks, testing::Contains(testing::HasSubstr("2 launches are left out")));
  EXPECT_THAT(FromSql(sql + "CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start);").remarks,
              testing::Contains(testing::HasSubstr("--cuda-graph-trace=node")));
  EXPECT_THAT(fakes::RefusalOf([&] { FromSql(sql + "ALTER TABLE StringIds RENAME id TO x"); }),
              testing::HasSubstr("without the column id of Nsight Systems' table StringIds"));
}

}  // namespace
}  // namespace dlroof::imports
