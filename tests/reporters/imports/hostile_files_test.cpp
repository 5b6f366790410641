// Mutated files: every reader returns in time, with records or with one sentence that names the
// place. DLROOF_MUTANTS sets the number of mutants of each sample (the study with sanitizers uses
// 10^5 in all).
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <iostream>
#include <random>
#include <sstream>

#include "baselines/programs/program_report.h"
#include "bench/profile/profile.h"
#include "bench/suites/suite.h"
#include "counters/base/error.h"
#include "counters/base/files.h"
#include "reporters/imports/import.h"
#include "reporters/logs/verbose_log.h"
#include "reporters/record/run_file.h"
#include "reporters/roofline/placed_run.h"
#include "tests/test_data.h"

namespace dlroof::imports {
namespace {

using nlohmann::json;

std::string FileText(const std::string& name) {
  return ReadFile(fakes::TestData(name), "a file to import");
}

// Words that decide branches of the readers, for wrong places.
const std::vector<std::string_view>& Words() {
  static const auto words = logs::SplitText(
      " \" , \n nan -1 1e999 -inf 0 {} [] null 1e308 TABLE, perf, \"ID\", \xff \xE2\x80\xA8 "
      "9999999999999999999999 Metric == \r\n fp32.vector --batch=x n1c1 ,exec, onednn_verbose, "
      "onednn_verbose,v1,info,template: mb0ic-1 undef::undef::: 1x0x9223372036854775807",
      ' ');
  return words;
}

// One to four changes: bytes flipped, dropped, doubled, words put in, pieces moved, the end cut
// off.
std::string Mutant(const std::string& sample, std::mt19937_64& random) {
  std::string text = sample;
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % (n + 1)); };
  for (std::size_t changes = 1 + below(3); changes > 0 && !text.empty(); --changes) {
    const auto at = below(text.size() - 1);
    switch (below(6)) {
      case 0:
        text[at] = static_cast<char>(random());
        break;
      case 1:
        text.erase(at, 1 + below(20));
        break;
      case 2:
        text.insert(at, text.substr(below(text.size() - 1), below(200)));
        break;
      case 3:
        text.insert(at, Words()[below(Words().size() - 1)]);
        break;
      case 4:
        text.replace(at, 1 + below(8), Words()[below(Words().size() - 1)]);
        break;
      case 5:
        text.resize(at);
        break;
      default:
        text[at] = static_cast<char>('0' + below(9));
    }
  }
  return text;
}

int MutantsOf(int usual) {
  const char* asked = std::getenv("DLROOF_MUTANTS");
  return asked == nullptr ? usual : std::atoi(asked);
}

using Reader = std::function<void(const std::string&)>;

// Detects hangs on slow machines too: a thousand of these files take about a second.
constexpr double kMaxSeconds = 1;

// Returns the time of the reader [s].
double ExpectOrderly(const std::string& name, const std::string& text, const Reader& read) {
  const auto start = std::clock();  // CPU time: other programs do not count
  try {
    read(text);
  } catch (const BadInput& error) {
    const std::string message = error.what();
    EXPECT_TRUE(message.starts_with("hostile")) << name << ": " << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << name << ": " << message;
  } catch (const std::exception& error) {
    ADD_FAILURE() << name << ": not a sentence for the user: " << error.what() << "\n" << text;
  }
  const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  EXPECT_LT(seconds, kMaxSeconds) << name << " took " << seconds << " s\n" << text;
  return seconds;
}

void Try(const std::string& sample, const Reader& read, int usual) {
  const auto text = FileText(sample);
  std::mt19937_64 random(std::hash<std::string>{}(sample));
  const int mutants = MutantsOf(usual);
  double slowest = 0;
  for (int i = 0; i < mutants && !testing::Test::HasFailure(); ++i)
    slowest = std::max(slowest, ExpectOrderly(sample, Mutant(text, random), read));
  std::cout << sample << ": " << mutants << " mutants, the slowest took " << slowest << " s\n";
}

// The imported records must be writable as a run file and readable again.
Reader Importing(Imported (*read)(const std::string&, const std::string&)) {
  return [read](const std::string& text) {
    auto imported = read(text, "hostile");
    LeaveOutImpossible("hostile", imported);
    for (const record::Record& record : imported.records) EXPECT_FALSE(record.name.empty());
    record::RunFile run{.records = imported.records};
    const auto dumped = roofline::ToJson(run).dump();
    if (run.records.empty()) return;
    std::ostringstream warnings;
    EXPECT_EQ(record::ParseRunFile(dumped, "again", warnings).records.size(), run.records.size());
    EXPECT_EQ(warnings.str(), "");
  };
}

TEST(HostileFiles, OwnCsv) { Try("import_small.csv", Importing(ImportOwnCsv), 400); }
TEST(HostileFiles, NsightCompute) {
  Try("import_ncu_raw.csv", Importing(ImportNsightCompute), 300);
  Try("import_ncu_details.csv", Importing(ImportNsightCompute), 300);
}
TEST(HostileFiles, Ert) {
  Try("import_ert.json", Importing([](const std::string& text, const std::string& where) {
        Imported imported = ImportErt(text, where);
        EXPECT_EQ(machine::MachineFromJson(machine::ToJson(*imported.machine), "again"),
                  *imported.machine);
        return imported;
      }),
      400);
}
TEST(HostileFiles, Likwid) { Try("import_likwid.csv", Importing(ImportLikwid), 400); }
TEST(HostileFiles, Nvbench) { Try("import_nvbench.json", Importing(ImportNvbench), 400); }
TEST(HostileFiles, Trace) { Try("import_kineto.json", Importing(ImportTrace), 100); }
TEST(HostileFiles, Benchdnn) {
  Try("import_benchdnn.txt", Importing(profile::ImportBenchdnn), 400);
}

TEST(HostileFiles, RunFiles) {
  const Reader read = [](const std::string& text) {
    std::ostringstream warnings;
    const auto run = record::ParseRunFile(text, "hostile", warnings);
    EXPECT_FALSE(roofline::ToJson(run).dump().empty());
  };
  Try("run_small.json", read, 60);
  Try("v100_gpu_run.json", read, 200);
}

TEST(HostileFiles, MachineFiles) {
  const Reader read = [](const std::string& text) {
    json value;
    try {
      value = json::parse(text);
    } catch (const json::exception&) {
      return;  // the reader of files reports this with the path
    }
    machine::MachineFromJson(value, "hostile");
  };
  Try("../../baselines/studies/v100_published/machine.json", read, 200);
}

// Each executed line is used, or counted with a reason. The records can be written and read again.
TEST(HostileFiles, LogsOfOneDnn) {
  const std::string path = "hostile.log";
  const Reader read = [&](const std::string& text) {
    const auto log = logs::ReadVerboseLog(text);
    EXPECT_LE(log.lines.used, log.lines.executed);
    EXPECT_EQ(static_cast<std::size_t>(log.lines.used), log.executions.size());
    std::ostringstream warnings;
    try {
      const auto run =
          roofline::PlaceRun(profile::ProgramRun(text, path, {}, std::nullopt, warnings));
      programs::WriteProgram(run, 80, warnings);
      const auto again = record::ParseRunFile(roofline::ToJson(run).dump(), "again", warnings);
      EXPECT_EQ(again.records.size(), run.file.records.size());
    } catch (const BadInput& error) {
      EXPECT_TRUE(std::string_view(error.what()).starts_with(path)) << error.what();
    }
  };
  for (const char* sample :
       {"debian_torch113_conv_v2.6.3.log", "tf212_conv_opts1.log", "pt_lstm_inf.onednn.log",
        "pt_lstm_trn.onednn.log", "tf212_conv_opts0.log"})
    Try(std::string("onednn_verbose/") + sample, read, 150);
}

TEST(HostileFiles, BenchdnnProblems) {
  Try(
      "benchdnn_small.txt", [](const std::string& text) { suites::ReadBenchdnn(text, "hostile"); },
      300);
}

}  // namespace
}  // namespace dlroof::imports
