// Whole commands on files of prices and on histories of any structure, and files of names.
#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/resource.h>

#include <ctime>
#include <filesystem>
#include <regex>

#include "bench/commands/commands.h"
#include "counters/base/files.h"
#include "counters/base/program.h"
#include "reporters/logs/verbose_log.h"
#include "reporters/roofline/placed_run.h"
#include "tests/fakes/refusal.h"
#include "tests/fakes/small_run.h"
#include "tests/fakes/structure.h"

namespace dlroof::commands {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using Texts = std::vector<std::string>;

Texts Split(std::string_view text, char at = '|') {
  Texts words;
  for (const auto word : logs::SplitText(text, at)) words.emplace_back(word);
  return words;
}

// A run of a model with 3 calls of n1.
json RunOn(const std::string& machine, double seconds, int day = 2) {
  auto run = fakes::RunOf("x", {fakes::Measured("n1", seconds), fakes::Measured("n2", 2 * seconds),
                                fakes::Measured("n3", 1, 2)});
  run.file.machines[0].name = machine;
  run.file.records[1].energy = energy::Energy{.joules = 3, .seconds = 1};
  run.file.context["date"] = fmt::format("2026-01-0{}T00:00:00+00:00", day);
  run.file.context["commit"] = fmt::format("c{}", day);
  run.file.context["dlroof"]["suites"] = {
      {{"name", "m"}, {"layers", {{{"name", fakes::Name("n1")}, {"count", 3}}}}}};
  return roofline::ToJson(run.file);
}

class OfAnyStructure : public testing::Test {
 protected:
  ~OfAnyStructure() override { EXPECT_LT((LargestMemory() - memory_) * 1024, 1'000'000'000); }

  std::string Path(const std::string& name) const { return folder_ / name; }
  void Write(const std::string& name, const std::string& text) { WriteFile(Path(name), text); }
  std::size_t Below(std::size_t n) { return random_() % n; }
  template <class List>
  const auto& Any(const List& list) {
    return *std::next(std::begin(list), static_cast<std::ptrdiff_t>(Below(std::size(list))));
  }

  // Returns the text with a byte changed, bytes removed or doubled, or its end cut off.
  std::string WithOtherBytes(std::string text) {
    if (text.empty()) return text;
    const auto at = Below(text.size()), kind = Below(6);
    if (kind < 3) text[at] = kind == 0 ? Any(std::string("\"\\{}[],:0-e\n")) : char(random_());
    if (kind == 3) text.erase(at, 1 + Below(20));
    if (kind == 4) text.insert(at, text.substr(Below(text.size()), Below(40)));
    if (kind == 5) text.resize(at);
    return text;
  }

  // Runs a command in this process: {} is the folder. Returns its exit code. Expects results, or
  // exit code 2 with a sentence, in 10 s of CPU time, without texts of libraries and numbers that
  // cannot be. `most` is the last exit code that is a verdict.
  int Run(const char* command, const std::string& what, int most = 0) {
    // SQLite writes 1e300 as the text 1.0e+300.
    static const std::regex impossible(
        R"(\b(nan|inf)\b|(^|[^.0-9])(?!1\.0e)[0-9][0-9.]*e(\+?(19|[2-9][0-9]|[0-9]{3})|-([3-9][0-9]|[0-9]{3})))");
    static const std::regex foreign("std::|json\\.exception|basic_string|vector::|bad_|simdjson");
    const auto line = "dlroof " + fmt::format(fmt::runtime(command), folder_text_);
    auto words = Split(line, ' ');
    std::vector<char*> arguments;
    for (auto& word : words) arguments.push_back(word.data());
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    const auto start = std::clock();
    const int code = RunProgram("dlroof", [&] {
      return runner::Run(Program(), "", static_cast<int>(arguments.size()), arguments.data());
    });
    const auto time = std::clock() - start;
    const auto out = testing::internal::GetCapturedStdout();
    const auto err = testing::internal::GetCapturedStderr();
    const auto about = fmt::format("{}\n{}\n{}\n{}", line, what, out, err);
    EXPECT_LT(time, 10 * CLOCKS_PER_SEC) << about;
    EXPECT_TRUE(code == 2 || (code >= 0 && code <= most)) << code << '\n' << about;
    EXPECT_EQ(code == 2, ('\n' + err).find("\ndlroof: ") != err.npos) << about;
    EXPECT_FALSE(std::regex_search(out, impossible)) << about;
    EXPECT_FALSE(std::regex_search(err, foreign)) << about;
    return code;
  }

  const TemporaryFolder folder_;
  const std::string folder_text_ = folder_ / "";
  std::mt19937_64 random_{56};

 private:
  static long LargestMemory() {  // [KiB] of this process so far
    rusage usage = {};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
  }
  const long memory_ = LargestMemory();
};

using PricesOfAnyStructure = OfAnyStructure;

TEST_F(PricesOfAnyStructure, AreReadOrRefused) {
  const auto prices = json::parse(R"({"currency": "USD", "kinds": [
      {"match": {"name": "CPU"}, "per_node_hour": 0.5, "watts": 200},
      {"match": {"name": "GPU", "fingerprint": "00"}, "per_node_hour": 2.5, "devices": 8}]})");
  const auto a = RunOn("CPU", 2);
  Write("b.json", RunOn("GPU", 0.1).dump());
  for (int i = fakes::Mutants(150); i > 0 && !HasFailure(); --i) {
    const bool of_run = Below(8) == 0;  // numbers of layers, energies
    const auto run = (of_run ? fakes::StructureOf(a, random_) : a).dump();
    auto text = (of_run ? prices : fakes::StructureOf(prices, random_)).dump(1);
    if (Below(4) == 0) text = WithOtherBytes(text);
    Write("a.json", run);
    Write("p.json", text);
    const auto what = of_run ? run : text;
    const auto code =
        Run("cluster versus {0}a.json {0}b.json --prices {0}p.json -o {0}v.json", what);
    const auto shown = code == 0 ? ReadFile(Path("v.json"), "x") : "{}";
    EXPECT_FALSE(fakes::HasImpossible(shown)) << what;
  }
}

// Histories that SQLite itself changed, without the constraints of their tables.
class HistoriesOfAnyStructure : public OfAnyStructure {
 protected:
  HistoriesOfAnyStructure() {
    for (const int day : {1, 2, 3})
      Write(fmt::format("{}.json", day), RunOn("CPU", day, day).dump());
    Run("history add --db {0}h {0}1.json {0}2.json", "");
    history_ = ReadFile(Path("h"), "x");
    // What killed writers leave: a write-ahead log, or a journal with an old page.
    SQLite::Database log(Path("h"), SQLite::OPEN_READWRITE);
    log.exec(
        "PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0; UPDATE runs SET code = 'x'");
    leftovers_ = {ReadFile(Path("h-wal"), "x"), history_, ReadFile(Path("h-shm"), "x"),
                  "\xd9\xd5\x05\xf9\x20\xa1\x63\xd7\xff\xff\xff\xff" + std::string(600, '\0')};
  }

  // Executes SQL with `value`, a text or blob, as far as SQLite allows it. A connection of its own
  // reads the schema anew. Returns the first column of the first row.
  std::string Execute(const std::string& sql, const std::string& value = "") const {
    try {
      SQLite::Database database(Path("h"), SQLite::OPEN_READWRITE);
      database.tryExec("PRAGMA synchronous = OFF; PRAGMA writable_schema = ON");
      if (value.empty() && !sql.starts_with("SELECT")) return database.tryExec(sql), "";
      SQLite::Statement statement(database, sql);
      if (!value.empty()) statement.bind(1, value.data(), static_cast<int>(value.size()));
      return statement.executeStep() ? statement.getColumn(0).getString() : "";
    } catch (const SQLite::Exception&) {  // refused, or damaged by an earlier change
      return "";
    }
  }

  // Changes the structure of JSON or CBOR in a cell.
  std::string ChangeCell(const std::string& table, const std::string& cell,
                         const std::string& row) {
    const auto bytes = Execute(fmt::format("SELECT {} FROM {} {}", cell, table, row));
    const bool packed = cell == "repetitions";
    auto changed =
        packed ? json::from_cbor(bytes, true, false) : json::parse(bytes, nullptr, false);
    if (!changed.is_structured()) return "nothing";
    changed = fakes::StructureOf(changed, random_);
    std::string text = changed.dump(-1, ' ', false, json::error_handler_t::replace);
    if (packed) text.clear(), json::to_cbor(changed, text);
    Execute(fmt::format("UPDATE {} SET {} = CAST(? AS {}) {}", table, cell,
                        packed ? "BLOB" : "TEXT", row),
            text);
    return fmt::format("{} {}: {}", cell, row, changed.dump().substr(0, 3000));
  }

  // Changes the file, or what is beside it, once. Returns the change, for people.
  std::string Change() {
    static const std::map<std::string, Texts> tables = {
        {"texts", Split("hash|text")},
        {"runs", Split("id|hash|date|moment|code|source|context|machines|first_point|points")},
        {"series", Split("id|name|fingerprint|machine|threads|cache|conventions")},
        {"points", Split("id|run|series|facts|median|low|high|clean|repetitions")}};
    static const auto values = Split(
        "NULL|-1|0|1|3000000000|1e300|1e-300|1e999|9223372036854775807|-9223372036854775808|''|"
        "'abc'|'1'|'[1]'|'{\"a\": 1}'|x'81f600'|x'9fff'|zeroblob(100000)|'2026-13-99'|"
        "printf('%.*c', 100000, '[')|char(97, 27, 10)|'Conv2D/cpu/onednn/fwd/f32/n1'");
    // {0} is a table, {1} and {4} are columns of it, {2} is a value, {3} a row.
    static const auto rows = Split(
        "UPDATE {0} SET {1} = {2} {3}|UPDATE {0} SET {1} = {2} {3}|UPDATE {0} SET {1} = {2}|"
        "UPDATE {0} SET {1} = (SELECT {4} FROM {0}) {3}|DELETE FROM {0} {3}|UPDATE texts SET text "
        "= concat(text, printf('%.*c', 100000, ' ')); INSERT INTO points SELECT NULL, run, series, "
        "facts, median, low, high, clean, repetitions FROM points, (WITH RECURSIVE n(i) AS (SELECT "
        "1 UNION ALL SELECT i + 1 FROM n LIMIT 500) SELECT * FROM n); UPDATE runs SET points = "
        "9000");
    static const auto schemas = Split(
        "DROP TABLE {0}|ALTER TABLE {0} RENAME TO x|ALTER TABLE {0} ADD COLUMN x|ALTER TABLE {0} "
        "RENAME COLUMN {1} TO x|ALTER TABLE {0} DROP COLUMN {1}|CREATE TABLE x (a REFERENCES {0})|"
        "CREATE VIEW x AS SELECT * FROM {0}|ALTER TABLE {0} RENAME TO x; CREATE VIEW {0} AS SELECT "
        "* FROM x, x AS y, x AS z|CREATE TRIGGER x AFTER INSERT ON {0} BEGIN DELETE FROM {0}; END|"
        "CREATE INDEX x ON {0} ({1})|DROP INDEX points_of_series|CREATE VIRTUAL TABLE x USING "
        "fts5(a)|PRAGMA user_version = {2}|PRAGMA application_id = {2}|PRAGMA schema_version = {2}|"
        "UPDATE sqlite_master SET rootpage = abs({2}) % 12 WHERE name = '{0}'|UPDATE sqlite_master "
        "SET name = 'x', tbl_name = 'x' WHERE name = '{0}'|UPDATE sqlite_master SET sql = {2} "
        "WHERE name = '{0}'|UPDATE sqlite_master SET type = 'view' WHERE name = '{0}'|INSERT INTO "
        "sqlite_master SELECT * FROM sqlite_master WHERE name = '{0}'|DELETE FROM sqlite_master "
        "WHERE tbl_name = '{0}' AND type = 'index'|PRAGMA page_size = 512; VACUUM|PRAGMA "
        "journal_mode = WAL|DROP TABLE {0}; CREATE TABLE {0} ({1} {2})");
    const auto& [table, columns] = Any(tables);
    const auto row =
        fmt::format("WHERE rowid = (SELECT rowid FROM {{0}} LIMIT 1 OFFSET {})", Below(5));
    const auto sql = [&](const Texts& list) {
      return fmt::format(fmt::runtime(Any(list)), table, Any(columns), Any(values),
                         fmt::format(fmt::runtime(row), table), Any(columns));
    };
    const auto kind = Below(8);
    if (kind < 5) {
      const auto changed = sql(kind < 3 ? rows : schemas);
      if (kind < 3)  // NOT NULL is no rule meanwhile
        Execute("UPDATE sqlite_master SET sql = replace(sql, ' NOT NULL', ' /*----*/')");
      Execute(changed);
      Execute("UPDATE sqlite_master SET sql = replace(sql, ' /*----*/', ' NOT NULL')");
      return changed;
    }
    if (kind == 5) {
      const auto of = Split(Any(Split("texts text|runs context|points repetitions")), ' ');
      return ChangeCell(of[0], of[1], fmt::format(fmt::runtime(row), of[0]));
    }
    if (kind == 6) return Write("h", WithOtherBytes(ReadFile(Path("h"), "x"))), "other bytes";
    const auto end = Any(Split("-wal|-journal|-shm"));
    const auto& left = Any(leftovers_);
    Write("h" + end, Below(2) == 0 ? left : WithOtherBytes(left));
    return fmt::format("{} bytes in {}", left.size(), end);
  }

  std::string history_;
  Texts leftovers_;
};

TEST_F(HistoriesOfAnyStructure, AreReadOrRefused) {
  for (int i = fakes::Mutants(150); i > 0 && !HasFailure(); --i) {
    for (const char* end : {"", "-wal", "-journal", "-shm"})
      std::filesystem::remove(Path(std::string("h") + end));
    Write("h", history_);
    std::string what;
    for (auto changes = 1 + Below(2); changes > 0; --changes) what += Change() + '\n';
    Run("history list --db {0}h", what);
    Run("history show --db {0}h n1", what);
    for (const char* format : {"run", "csv", "openmetrics"})
      if (Below(2) == 0) Run(("export --db {0}h --format " + std::string(format)).c_str(), what);
    Run("dashboard --db {0}h -o {0}site", what);
    Run("compare {0}1.json {0}3.json --db {0}h", what, 3);
    Run("gate --db {0}h --run {0}3.json --baseline main -o {0}gated", what, 3);
    Run("history add --db {0}h {0}3.json", what);
    Run("history list --db {0}h", what);
  }
}

TEST(NameMap, SaysWhichLineIsWrong) {
  const auto refusal = [](const std::string& text) {
    return fakes::RefusalOf(ParseNameMap, text, "map.txt");
  };
  EXPECT_THAT(refusal("# both\na b\n\nc\n"), HasSubstr("map.txt:4: expected 'base-name new-name'"));
  EXPECT_THAT(refusal("a b c\n"), HasSubstr("map.txt:1:"));
  EXPECT_THAT(refusal("a b\nc b\n"), HasSubstr("map.txt:2: a name on this line is mapped twice"));
  EXPECT_EQ(ParseNameMap("BM<int, 2>\tBM<int, 3>\r\n", "m").at("BM<int, 2>"), "BM<int, 3>");
}

}  // namespace
}  // namespace dlroof::commands
