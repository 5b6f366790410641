#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>

#include "baselines/programs/program_report.h"
#include "bench/profile/profile.h"
#include "bench/suites/suite.h"
#include "counters/base/error.h"
#include "counters/base/files.h"
#include "reporters/imports/import.h"
#include "reporters/logs/primitive.h"
#include "reporters/logs/verbose_log.h"
#include "reporters/record/run_file.h"
#include "reporters/roofline/placed_run.h"
#include "tests/fakes/primitives/logs.h"
#include "tests/fakes/run_files.h"
#include "tests/reporters/imports/variants.h"

namespace dlroof::imports {
namespace {

using nlohmann::json;

// Mutated files: every reader returns in time, with records or with one sentence that names the
// place. DLROOF_MUTANTS sets the number of mutants of each sample (the study with sanitizers uses
// 10^5 in all).

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
    const auto word = [&] { return Words()[below(Words().size() - 1)]; };
    const std::function<void()> changed[] = {
        [&] { text[at] = static_cast<char>(random()); },
        [&] { text.erase(at, 1 + below(20)); },
        [&] { text.insert(at, text.substr(below(text.size() - 1), below(200))); },
        [&] { text.insert(at, word()); },
        [&] { text.replace(at, 1 + below(8), word()); },
        [&] { text.resize(at); },
        [&] { text[at] = static_cast<char>('0' + below(9)); }};
    changed[below(6)]();
  }
  return text;
}

using Reader = std::function<void(const std::string&)>;

// Detects hangs on slow machines too: a thousand of these files take about a second.
constexpr double kMaxSeconds = 1;

void ExpectOrderly(const std::string& name, const std::string& text, const Reader& read) {
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
}

void Try(const std::string& sample, const Reader& read, int usual) {
  const auto text = FileText(sample);
  std::mt19937_64 random(std::hash<std::string>{}(sample));
  const int mutants = fakes::Mutants(usual);
  for (int i = 0; i < mutants && !testing::Test::HasFailure(); ++i)
    ExpectOrderly(sample, Mutant(text, random), read);
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

TEST(HostileFiles, RunFilesAndMachineFiles) {
  const Reader read = [](const std::string& text) {
    EXPECT_FALSE(roofline::ToJson(fakes::ParsedRun(text, "hostile")).dump().empty());
  };
  Try("run_small.json", read, 60);
  Try("v100_gpu_run.json", read, 200);
  const Reader read_machine = [](const std::string& text) {
    const auto value = json::parse(text, nullptr, false);
    if (!value.is_discarded()) machine::MachineFromJson(value, "hostile");
  };
  Try("../../baselines/studies/v100_published/machine.json", read_machine, 200);
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

// The words of tests/data/upstream_words.txt: a reader knows each, or names it if "!" marks it.

Imported OneDnn(const std::string& text, const std::string& /*where*/) {
  const auto log = logs::ReadVerboseLog(text);
  Imported imported{.records = {{.repetitions = {{.seconds = 1}}}}};
  for (const auto& refused : log.lines.refused) imported.remarks.push_back(text + refused.reason);
  for (const auto& primitive : log.primitives)
    if (const auto work = logs::WorkOf(logs::ReadPrimitive(primitive)); work.reason)
      imported.remarks.push_back(work.reason->text);
  return imported;
}

constexpr struct {
  const char* list;
  Imported (*read)(const std::string&, const std::string&);
  const char* text;  // with {0} in place of the word, {1} to {3}: see the test
} kWordFiles[] = {
    {"type", OneDnn, "reorder,,undef,src:{0}::blocked:ab::f0 dst:{0}::blocked:ab::f0,,,8x8,1"},
    {"format", OneDnn, "eltwise,,forward,data:f32::{0}:::f0,,{1}"},
    {"tag", OneDnn, "eltwise,,forward,data:f32::blocked:{0}::f0,,{1}"},
    {"extra", OneDnn, "eltwise,,forward,data:f32::blocked:ab::f0:{0},,{1}"},
    {"role", OneDnn, "reorder,,undef,{2} {0}:f32::blocked:ab::f0,,,8x8,0.5\n"},
    {"direction", OneDnn, "eltwise,,{0},data:f32::blocked:ab::f0,,{1}"},
    {"kind", OneDnn, "{0},,forward,{3},,,8x8:8x8,0.5\n"},
    {"convolution", OneDnn, "convolution,,forward,{3},,alg:{0},mb1_ic8oc8_ih8kh1,0.5\n"},
    {"eltwise", OneDnn, "eltwise,,forward,data:f32::blocked:ab::f0,,alg:eltwise_{0},8x8,0.5\n"},
    {"binary", OneDnn, "binary,,undef,{3},,alg:{0},8x8:8x8,0.5\n"},
    {"reduction", OneDnn, "reduction,,undef,{2},,alg:{0} p:1 eps:0,8x8:8x1,0.5\n"},
    {"pooling", OneDnn, "pooling,,forward,{2},,alg:{0},mb1ic8_ih8oh4kh2sh2,0.5\n"},
    {"softmax", OneDnn, "softmax,,forward,{2},,alg:{0} axis:1,8x8,0.5\n"},
    {"cell", OneDnn, "rnn,,forward,{3},,{0},l1t3mb2sic8slc8dhc8dic8,0.5\n"},
    {"rnn", OneDnn, "rnn,,forward,{3},,alg:lbr_gru {0},l1t3mb2sic8slc8dhc8dic8,0.5\n"},
    {"attribute", OneDnn, "matmul,,undef,{3},{0},,8x8:8x8,0.5\n"},
    {"flags", OneDnn, "batch_normalization,,forward,{2},,flags:{0},mb2ic8_iw5,0.5\n"},
    {"size", OneDnn, "convolution,,forward,{3},,,mb1_ic8oc8_ih8kh1_{0}1,0.5\n"},
    {"operation", OneDnn, "onednn_verbose,v1,primitive,{0},cpu,sum,,undef,{2},,,8x8,1\n"},
    {"header", profile::ImportBenchdnn, "{0} perf,%prb%,%0time%\nperf,--matmul 8x8:8x8,0.5\n"},
    {"driver", profile::ImportBenchdnn, "perf,cpu,,,{0} 8x8:8x8,1,1,1,1,1,1\n"},
    {"entry", profile::ImportBenchdnn,
     "Output template: perf,%prb%,%0time%,{0}\nperf,--matmul 8x8:8x8,0.5,1\n"},
    {"time", profile::ImportBenchdnn,
     "Output template: perf,%prb%,{0}\nperf,--matmul 8x8:8x8,0.5\n"},
    {"ncu", ImportNsightCompute,
     "ID,Kernel Name,CC,gpu__time_duration.sum,{0}.sum\n,,,ns,\n0,k,9.0,9,64\n"},
    {"ncu-bytes", ImportNsightCompute,
     "ID,Kernel Name,CC,gpu__time_duration.sum,{0}.sum\n,,,ns,byte\n0,k,9.0,9,64\n"},
    {"gbench", ImportGoogleBenchmark,
     R"({{"context": {{}}, "benchmarks": [{{"name": "a", "real_time": 2, "cpu_time": 2, {0}, )"
     R"("iterations": 9}}]}})"}};

struct UpstreamWord {
  std::string list, version, word;
  bool marked = false;
  Imported (*read)(const std::string&, const std::string&) = nullptr;
  std::string text;  // a file with the word
};

std::vector<UpstreamWord> UpstreamWords() {
  std::vector<UpstreamWord> all;
  std::istringstream lines(FileText("upstream_words.txt"));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    UpstreamWord one;
    words >> one.list >> one.version;
    if (one.list == "#") continue;
    const auto* file =
        std::ranges::find(kWordFiles, one.list, [](const auto& row) { return row.list; });
    one.read = file->read;
    while (words >> one.word) {
      one.marked = one.word.starts_with('!');
      one.word.erase(0, one.marked ? 1 : 0);
      std::ranges::replace(one.word, '~', ' ');
      one.text =
          fmt::format(fmt::runtime(file->text), one.word, "alg:eltwise_relu,8x8,0.5\n",
                      "src:f32::blocked:ab::f0 dst:f32::blocked:ab::f0",
                      "src:f32::blocked:ab::f0 wei:f32::blocked:ab::f0 dst:f32::blocked:ab::f0");
      if (one.read == OneDnn && one.list != "operation")
        one.text.insert(0, "onednn_verbose,exec,cpu,");
      all.push_back(one);
    }
  }
  return all;
}

TEST(UpstreamWords, AreKnownOrNamed) {
  const auto all = UpstreamWords();
  EXPECT_GT(all.size(), 1000U);
  for (const auto& [list, version, word, marked, read, text] : all) {
    const auto imported = read(text, "file");
    const auto part = word.substr(word.rfind(':', word.size() - 2) + 1);
    std::string said;
    for (const auto& remark : imported.remarks)
      if (remark.find('\'' + word.substr(0, word.find(':'))) != remark.npos ||
          remark.find('\'' + part + '\'') != remark.npos)
        said = remark;
    EXPECT_EQ(marked, !said.empty()) << list << " " << version << " " << word << ": " << said;
    const bool any = marked || read != OneDnn || list == "kind" || imported.remarks.empty();
    EXPECT_TRUE(any) << text << imported.remarks[0];
    for (const auto& record : imported.records)
      for (const auto& [from, work] : record.work)
        EXPECT_TRUE(!marked || work.flops.empty()) << word;
    ASSERT_FALSE(imported.records.at(0).repetitions.empty()) << word;
  }
}

// A word that no version of oneDNN knows is added to a line. Its work becomes unknown: the word is
// never read as if it were not there. DLROOF_WORDS sets the number of lines.

std::string Word(Random& random) {
  return AnyOf({"zqx", "Q", "_v9", "W7", "sparse4", "_half"}, random);
}

// Appends a word to one of the parts between the marks, or adds it as a part of its own.
std::string WithWord(const std::string& text, const std::string& marks, Random& random) {
  std::vector<std::size_t> ends;
  for (std::size_t i = 0; i < text.size(); ++i)
    if (marks.find(text[i]) != marks.npos && i > 0) ends.push_back(i);
  ends.push_back(text.size());
  const auto at = ends[Below(random, ends.size())];
  const bool own = Below(random, 3) == 0 && !marks.empty();
  const auto word = (own ? marks.substr(Below(random, marks.size()), 1) : "") + Word(random);
  return std::string(text).insert(at, word);
}

std::vector<logs::PrimitiveText> Primitives() {
  std::vector<logs::PrimitiveText> all;
  for (const char* name :
       {"debian_torch113_conv_v2.6.3.log", "tf212_conv_opts0.log", "pt_bert_inf.onednn.log",
        "pt_lstm_trn.onednn.log", "pt_r50_inf.onednn.log", "tf_r50_inf_dnn.onednn.log"})
    std::ranges::copy(fakes::FromLog(name).primitives, std::back_inserter(all));
  for (const auto& one : UpstreamWords())
    if (one.read == OneDnn && !one.marked && one.list != "kind" && one.list != "tag")
      std::ranges::copy(logs::ReadVerboseLog(one.text).primitives, std::back_inserter(all));
  return all;
}

TEST(UnknownWords, OfALineOfOneDnnMakeItsWorkUnknown) {
  const auto primitives = Primitives();
  Random random(7);
  for (const auto& text : primitives)
    EXPECT_FALSE(logs::WorkOf(logs::ReadPrimitive(text)).reason)
        << text.kind << " " << text.tensors << " " << text.attributes << " "
        << logs::WorkOf(logs::ReadPrimitive(text)).reason->text;
  const int files = fakes::Asked("DLROOF_WORDS", 3000);
  for (int i = 0; i < files; ++i) {
    auto text = primitives[Below(random, primitives.size())];
    std::string* const members[] = {&text.kind,       &text.prop,      &text.tensors,
                                    &text.attributes, &text.auxiliary, &text.problem};
    const char* const marks[] = {"", "", " :", " :+", " :", ":x_"};
    const auto field = Below(random, std::size(members) + 1);
    if (field == std::size(members))
      text.others.emplace_back(Word(random), Word(random));
    else
      *members[field] = WithWord(*members[field], marks[field], random);
    ASSERT_TRUE(logs::WorkOf(logs::ReadPrimitive(text)).reason)
        << text.kind << "," << text.prop << "," << text.tensors << "," << text.attributes << ","
        << text.auxiliary << "," << text.problem;
  }
}

}  // namespace
}  // namespace dlroof::imports
