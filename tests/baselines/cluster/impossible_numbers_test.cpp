// Changes every number of small files to one that cannot be. None may be shown without a word.
#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "baselines/cluster/cluster_file.h"
#include "baselines/history/database.h"
#include "baselines/settings/tuning.h"
#include "ceilings/machine/machine.h"
#include "counters/base/error.h"
#include "counters/base/numbers.h"
#include "reporters/logs/verbose_log.h"
#include "reporters/record/large_json.h"
#include "reporters/record/record_json.h"
#include "reporters/record/run_file.h"
#include "reporters/roofline/placed_run.h"
#include "reporters/text/text.h"
#include "tests/baselines/cluster/fake_nodes.h"
#include "tests/fakes/refusal.h"
#include "tests/fakes/structure.h"
#include "tests/test_data.h"

namespace dlroof {
namespace {

using nlohmann::json;
using testing::AnyOf, testing::ContainsRegex, testing::HasSubstr, testing::IsEmpty, testing::Not;

// Returns what is shown of a file, or nullopt if a warning names what is left out.
using Show = std::function<std::optional<std::string>(const json& file)>;

std::optional<std::string> ShowRun(const json& file) {
  std::ostringstream warnings;
  const auto run = record::ParseRunFile(file.dump(), "run.json", warnings);
  if (!warnings.str().empty()) return std::nullopt;
  return roofline::ToJson(run).dump();
}

std::optional<std::string> ShowMachine(const json& file) {
  return machine::ToJson(machine::MachineFromJson(file, "machine.json")).dump();
}

std::optional<std::string> ShowCluster(const json& file) {
  const auto path = testing::TempDir() + "impossible_numbers.json";
  std::ofstream(path) << file;
  return cluster::ToJson(cluster::ReadClusterFile(path), "dlroof").dump();
}

std::optional<std::string> ShowTunings(const json& file) {
  return settings::ToJson(settings::ParseTuningFile(file.dump(), "tune.json")).at("tunings").dump();
}

// `rows`: the repetitions of a record, as a history stores them.
std::optional<std::string> ShowRepetitions(const json& rows) {
  const auto bytes = json::to_cbor(rows);
  const auto record = history::Unpack(R"({"name": "a"})", {bytes.begin(), bytes.end()}, "x");
  return roofline::ToJson(record, nullptr).dump();
}

// Counts, shares, CPU time and times of parts may be 0, also rates: 0 is read as unknown.
bool MayBeZero(json::json_pointer at) {
  const auto key = at.back();
  const auto parent = at.parent_pointer();
  const auto outer = parent.empty() ? "" : parent.back();
  if (key == "cpu_time" || key == "FLOPS" || key == "bytes_per_second" || outer == "disturbed")
    return true;
  const auto& own = RangeOf(key);
  const auto& range = &own == &kAnyNumber ? RangeOf(outer) : own;
  return range.Contains(0) && &range != &kAnyNumber;
}

// Returns a path with '*' for indices and for keys that are names: "/records/*/seconds".
std::string PatternOf(std::string_view path) {
  std::string pattern;
  for (const auto key : logs::SplitText(path, '/'))
    pattern += key.find_first_of("0123456789.:") == key.npos ? "/" + std::string(key) : "/*";
  return pattern;
}

// Returns "/records/0/seed = -1" for each change that is shown silently, of one path of each
// pattern that is not in `all_seen`. Context of other programs may have any number of a machine's
// size.
std::vector<std::string> ShownSilently(const json& file, const Show& show,
                                       std::set<std::string>* all_seen = nullptr) {
  std::set<std::string> own;
  auto& seen = all_seen == nullptr ? own : *all_seen;
  const auto before = show(file);
  std::vector<std::string> silent;
  const auto leaves = file.flatten();
  for (const auto& [path, leaf] : leaves.items()) {
    if (!leaf.is_number() || !seen.insert(file.is_array() ? path : PatternOf(path)).second)
      continue;
    const json::json_pointer at(path);
    for (const double number : {-1.0, 0.0, 1e300, 1e-300}) {
      if (path.starts_with("/context") && &RangeOf(at.back()) == &kAnyNumber &&
          std::abs(number) <= 1 && number != 1e-300)
        continue;
      if (number == 0 && (leaf == 0 || file.is_array() || MayBeZero(at))) continue;
      auto mutant = file;
      mutant[at] = number;
      try {
        const auto after = show(mutant);
        if (after && after != before && after->find("its rate is") == std::string::npos)
          silent.push_back(path + " = " + json(number).dump());
      } catch (const BadInput&) {
      }
    }
  }
  return silent;
}
json FileOf(const std::string& path) {
  const auto text = text::ReadUnpacked(path, "a file");
  return json::parse(record::RepairedJson(text).value_or(text));
}

// Returns the value with the first elements of each array.
json Shortened(json value) {
  constexpr std::size_t kElements = 3;
  while (value.is_array() && value.size() > kElements) value.erase(value.size() - 1);
  for (auto& element : value)
    if (element.is_structured()) element = Shortened(std::move(element));
  return value;
}

TEST(ImpossibleNumbers, OfRunsMachinesAndClustersAreNeverSilent) {
  std::set<std::string> seen;
  for (const auto& folder : {fakes::TestData(""), fakes::TestData("../../baselines/stored"),
                             fakes::TestData("../../baselines/studies")})
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
      const auto path = entry.path().string();
      if (!path.ends_with(".json") && !path.ends_with(".json.gz")) continue;
      try {
        const auto file = Shortened(FileOf(path));
        if (!ShowRun(file)) continue;
        EXPECT_THAT(ShownSilently(file, ShowRun, &seen), IsEmpty()) << path;
      } catch (const BadInput&) {  // no run file
      } catch (const json::exception&) {
      }
    }
  EXPECT_GE(seen.size(), 300);
  const auto machine = FileOf(fakes::TestData("run_small.json")).at("machines").at(0);
  EXPECT_THAT(ShownSilently(machine, ShowMachine), IsEmpty());
  auto file = cluster::ToJson(cluster::Gathered(cluster::LastNodeIsSlower()), "dlroof");
  EXPECT_THAT(ShownSilently(file, ShowCluster), IsEmpty());
  auto& repetitions = file["records"][0]["repetitions"];
  repetitions[0]["node"] = repetitions[1]["node"];
  EXPECT_THAT(fakes::RefusalOf([&] { ShowCluster(file); }), HasSubstr("'node': expected each"));
  file["records"] = json::array();
  EXPECT_THAT(fakes::RefusalOf([&] { ShowCluster(file); }), HasSubstr("'records': expected 2"));
}

TEST(ImpossibleNumbers, OfTuningsAndHistoriesAreNeverSilent) {
  const auto tunings = FileOf(fakes::TestData("hostile/tuning_preload.json"));
  EXPECT_THAT(ShownSilently(tunings, ShowTunings), IsEmpty());
  json gpu;
  for (const auto& [key, member] : record::GpuSampleFields()) gpu.push_back(RangeOf(key).least + 1);
  const json rows = {{0.5, 3, false, 0.25, 0.25, 0.1, 0.9, 1, gpu, 0.8, 2}};
  EXPECT_THAT(ShownSilently(rows, ShowRepetitions), IsEmpty());
}

TEST(ImpossibleNumbers, AreNotInStoredFiles) {
  std::size_t files = 0;
  for (const auto& folder : {fakes::TestData(""), fakes::TestData("../../baselines/stored")})
    for (const auto& file : std::filesystem::recursive_directory_iterator(folder)) {
      if (!file.is_regular_file()) continue;
      std::ostringstream warnings;
      try {
        const auto run = record::ReadRunFile(file.path().string(), warnings);
        ++files;
        for (const auto& machine : run.machines)
          EXPECT_THAT(machine::ToJson(machine).dump(), Not(HasSubstr("its rate is"))) << file;
      } catch (const BadInput& error) {
        EXPECT_THAT(error.what(), Not(AnyOf(HasSubstr(" from 0"), HasSubstr(" from 1")))) << file;
      }
      EXPECT_THAT(warnings.str(), Not(ContainsRegex("got [^:]*: left out"))) << file;
    }
  EXPECT_GE(files, 15);
}

// Two threads that do 32 FLOP per cycle at 1 GHz.
json MachineOf(double per_second) {
  auto machine = FileOf(fakes::TestData("run_small.json")).at("machines").at(0);
  for (auto* set : {&machine, &machine["by_threads"]["2"]}) {
    auto& roof = (*set)["flops"]["fp32.vector"];
    roof = {{"per_second", per_second}, {"threads", 2},    {"how", "x"},
            {"proved", true},           {"clock_hz", 1e9}, {"proof", {{"per_cycle", 32}}},
            {"ci95", {6e10, 7e10}}};
  }
  return machine;
}

TEST(ImpossibleNumbers,
     ARateFollowsFromFlopsPerCycleClockAndThreadsAndAStarvedThreadsIsNotWritten) {
  // 32 FLOP/cycle x 1e9 cycle/s x 2 threads = 6.4e10 FLOP/s.
  const auto right = machine::MachineFromJson(MachineOf(6.4e10), "m.json");
  EXPECT_TRUE(machine::AllThreads(right).flops.at("fp32.vector").IsValidated());
  const auto high = machine::MachineFromJson(MachineOf(3 * 6.4e10), "m.json");
  const auto& roof = machine::AllThreads(high).flops.at("fp32.vector");
  EXPECT_FALSE(roof.IsValidated());
  EXPECT_THAT(roof.ReasonText(), HasSubstr("its rate is 3 times"));
  const auto low = machine::MachineFromJson(MachineOf(6.4e9), "m.json");
  EXPECT_THAT(machine::AllThreads(low).flops.at("fp32.vector").ReasonText(),
              HasSubstr("its rate is below the interval"));
  // Beside other programs a thread took 200 s for 200 ns.
  auto machine = machine::MachineFromJson(MachineOf(6.4e10), "m.json");
  auto& validation = machine.by_threads.at(2).flops.at("fp32.vector").validation;
  validation.scaling = 8e-10;
  const auto again = machine::MachineFromJson(machine::ToJson(machine), "again");
  EXPECT_FALSE(machine::AllThreads(again).flops.at("fp32.vector").validation.scaling);
}

// Returns the run and the warnings.
std::pair<record::RunFile, std::string> RunWith(const std::function<void(json& record)>& change) {
  auto file = FileOf(fakes::TestData("run_small.json"));
  change(file["records"][0]);
  std::ostringstream warnings;
  auto run = record::ParseRunFile(file.dump(), "run.json", warnings);
  return {std::move(run), warnings.str()};
}

TEST(ImpossibleNumbers, FewerLaunchesThanKernelsAndAMedianOutsideAreNamed) {
  const auto [fewer, of_kernels] = RunWith([](json& record) {
    record["kernels"] = {{{"name", "a"}, {"launches", 3}}, {{"name", "b"}, {"launches", 2}}};
    record["work"]["measured"]["launches"] = 4;
  });
  EXPECT_FALSE(fewer.records[0].work.at(Provenance::kMeasured).launches);
  EXPECT_THAT(of_kernels, HasSubstr("expected at least the 5 launches of 'kernels', got 4"));
  EXPECT_THAT(RunWith([](json& record) { record["seconds"]["median"] = 100; }).second,
              HasSubstr("expected a median within the repetitions, got 100"));
}

// A file of any structure is read or refused with one sentence, and what is shown of it has no
// number that cannot be. DLROOF_MUTANTS sets the number of files of each of the seven kinds.
TEST(ImpossibleNumbers, AreNotShownOfFilesOfAnyStructure) {
  const auto run = Shortened(FileOf(fakes::TestData("run_small.json")));
  auto only_entries = run;
  only_entries.erase("records");
  const auto cluster = cluster::Gathered(cluster::LastNodeIsSlower());
  const std::pair<json, Show> kinds[] = {
      {run, ShowRun},
      {only_entries, ShowRun},
      {Shortened(FileOf(fakes::TestData("google_benchmark_1.9.1.json"))), ShowRun},
      {Shortened(FileOf(fakes::TestData("h200_profile_resnet50.json"))), ShowRun},
      {run.at("machines").at(0), ShowMachine},
      {cluster::ToJson(cluster, "dlroof"), ShowCluster},
      {{{0.5, 3, false, 0.25, 0.25, 0, 1, 1}, {0.25, 3, true}}, ShowRepetitions}};
  const int mutants = fakes::Mutants(150);
  std::mt19937_64 random(56);
  for (const auto& [file, show] : kinds)
    for (int i = 0; i < mutants; ++i) {
      const auto mutant = fakes::StructureOf(file, random);
      const auto start = std::clock();  // CPU time: other programs do not count
      try {
        const auto shown = show(mutant);
        ASSERT_FALSE(shown && fakes::HasImpossible(*shown)) << mutant;
      } catch (const BadInput& error) {
        ASSERT_EQ(std::string_view(error.what()).find('\n'), std::string_view::npos);
      } catch (const std::exception& error) {
        FAIL() << error.what() << ": " << mutant;
      }
      ASSERT_LT(std::clock() - start, 10 * CLOCKS_PER_SEC) << mutant;
    }
}

// Google Benchmark's mean is a sum times 1 / n, which rounds.
TEST(NumberRange, HoldsTheMeanOfItsBounds) {
  EXPECT_LT(49 * (1.0 / 49), 1);
  EXPECT_TRUE(RangeOf("threads").Contains(49 * (1.0 / 49)));
  EXPECT_FALSE(RangeOf("threads").Contains(0.999999));
}

}  // namespace
}  // namespace dlroof
