#include "ceilings/machine_file/specified_machine.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

#include "ceilings/machine_file/machine_cache.h"
#include "counters/base/files.h"
#include "tests/fakes/refusal.h"

namespace dlroof::machine_file {
namespace {

namespace fs = std::filesystem;
using testing::StartsWith;

machine::Machine Read(const std::string& text) {
  return SpecifiedMachine(LocatedJson(text, "m.json"));
}

TEST(SpecifiedMachine, HasTheRatesOfTheFileAndNothingElse) {
  const auto machine =
      Read(R"({"name": "H200", "flops": {"fp32.vector": 6.7e13}, "bytes": {"dram": 4.8e12}})");
  EXPECT_EQ(machine.name, "H200");
  EXPECT_EQ(machine.device, "gpu");
  EXPECT_EQ(machine.measured_at, "");
  machine::CeilingSet expected;
  expected.flops["fp32.vector"] = {.per_second = 6.7e13,
                                   .status = machine::CeilingStatus::kSpecified};
  expected.bytes[Level::kDram] = {.per_second = 4.8e12,
                                  .status = machine::CeilingStatus::kSpecified};
  EXPECT_EQ(machine.by_threads, (std::map<int, machine::CeilingSet>{{1, expected}}));
  EXPECT_TRUE(IsSpecified(machine));
}

TEST(SpecifiedMachine, ACpuHasThreadsAndARateItsSourceAndReadsBackWhatIsWritten) {
  const auto machine = Read(
      R"({"name": "a", "device": "cpu", "threads": 16, "source": "data sheet", "flops": {
          "fp32.vector": {"per_second": 1e12}, "fp64.vector": {"per_second": 5e11, "source": "b"}},
          "cache_bytes": {"l3": 33554432}, "launch_seconds": 1e-6})");
  const auto& set = machine.by_threads.at(16);
  EXPECT_EQ(set.flops.at("fp32.vector").how, "data sheet");
  EXPECT_EQ(set.flops.at("fp64.vector").how, "b");
  EXPECT_EQ(set.flops.at("fp64.vector").threads, 16);
  EXPECT_EQ(set.launch_seconds, 1e-6);
  EXPECT_EQ(machine.cache_bytes.at(Level::kL3), 33554432);
  for (const auto name : KnownGpuNames()) {
    const auto known = KnownGpu(name).value();
    auto again = Read(SpecifiedToJson(known).dump(2));
    EXPECT_THAT(again.fingerprint, StartsWith("given-"));
    again.fingerprint = known.fingerprint;
    again.by_threads.at(1).costs_how = known.by_threads.at(1).costs_how;
    EXPECT_EQ(again, known) << name;
    EXPECT_EQ(machine::MachineFromJson(machine::ToJson(known), "m"), known)
        << "as a run file has it";
  }
}

TEST(SpecifiedMachine, AnotherRateIsAnotherMachine) {
  const auto fingerprint = [](const char* rate) {
    return Read(fmt::format(R"({{"name": "a", "bytes": {{"dram": {}}}}})", rate)).fingerprint;
  };
  EXPECT_EQ(fingerprint("4.8e12"), fingerprint("4800000000000"));
  EXPECT_NE(fingerprint("4.8e12"), fingerprint("4.7e12"));
}

TEST(MachineTemplate, IsReadAndExplainsEveryPipeLevelAndMember) {
  const auto example = KnownGpu("h100").value();
  const auto file = MachineTemplate(example);
  EXPECT_EQ(Read(file.dump(2)).by_threads.at(1).flops, example.by_threads.at(1).flops);
  for (const auto& type : AllPipeTypes())
    for (const auto& unit : AllPipeUnits())
      EXPECT_TRUE(file["help"]["pipes"].contains(type + "." + unit)) << type << unit;
  for (const Level level : AllLevels())
    EXPECT_TRUE(file["help"]["levels"].contains(std::string(Key(level)))) << Key(level);
  for (const auto& [key, value] : file.items()) EXPECT_TRUE(file["help"].contains(key)) << key;
}

TEST(KnownGpu, RatesAreTheDataSheets) {
  const auto set = KnownGpu("h100").value().by_threads.at(1);
  // 132 SMs x 2048 multiply-adds x 2 FLOPs x 1.83 GHz.
  EXPECT_DOUBLE_EQ(set.flops.at("fp16.matrix").per_second, 132 * 2048 * 2 * 1.83e9);
  EXPECT_DOUBLE_EQ(set.bytes.at(Level::kDram).per_second, 3.352e12);
  EXPECT_DOUBLE_EQ(set.bytes.at(Level::kL1).per_second, 132 * 128 * 1.83e9);
  EXPECT_THAT(set.flops.at("fp16.matrix").how, StartsWith("NVIDIA H100"));
  EXPECT_FALSE(KnownGpu("h1000").has_value());
  // P100's f16 runs on the plain units, at twice the rate of f32.
  EXPECT_TRUE(KnownGpu("p100").value().by_threads.at(1).flops.contains("fp16.vector"));
}

TEST(SpecifiedMachine, RefusesWithPlaceAndWhatWasExpected) {
  struct Row {
    const char* text;
    const char* message;
  };
  const Row rows[] = {
      {"{\n  \"name\": \"a\",\n  \"flops\": {\"fp32\": 1e12}}",
       "m.json:3:13: 'fp32': expected a pipe, TYPE.UNIT of the types fp64, fp32, tf32, fp16, bf16, "
       "int8, fp8, fp4, int32 and the units vector and matrix"},
      {R"({"name": "a", "flops": {"fp32.vector.avx2": 1e12}})",
       "m.json:1:25: 'fp32.vector.avx2': expected a pipe, TYPE.UNIT of the types fp64, fp32, tf32, "
       "fp16, bf16, int8, fp8, fp4, int32 and the units vector and matrix"},
      {R"({"name": "a", "bytes": {"hbm": 1e12}})",
       "m.json:1:25: 'hbm': expected a memory level: l1, l2, l3, dram or host"},
      {R"({"name": "a", "bytes": {"dram": 4.8}})",
       "m.json:1:25: 'dram': expected a number of byte/s from 1e+06 to 1e+18 (4.8 TB/s is 4.8e12), "
       "got 4.8"},
      {R"({"name": "a", "flops": {"fp32.vector": "67 TFLOP/s"}})",
       "m.json:1:25: 'fp32.vector': expected a number of FLOP/s from 1e+06 to 1e+18 (67 TFLOP/s is "
       "6.7e13), got \"67 TFLOP/s\""},
      {R"({"name": "a", "flops": {"fp32.vector": {"per_second": -1e12}}})",
       "m.json:1:41: 'per_second': expected a number of FLOP/s from 1e+06 to 1e+18 (67 TFLOP/s is "
       "6.7e13), got -1000000000000.0"},
      {R"({"name": "a", "flops": {"fp32.vector": {"per_second": 1e12, "unit": "FLOP/s"}}})",
       "m.json:1:61: 'unit': expected per_second or source"},
      {R"({"name": "a", "bytes": {"dram": 0}})",
       "m.json:1:25: 'dram': expected a number of byte/s from 1e+06 to 1e+18 (4.8 TB/s is 4.8e12), "
       "got 0"},
      {"{\"name\": \"a\",\n\"bytes\": {\"dram\": NaN}}",
       "m.json:2:19: is not JSON at 'NaN'; expected JSON with numbers such as 6.7e13"},
      {R"({"name": "a", "bytes": {"dram": 1e999}})",
       "m.json: a number is out of the range of double"},
      {"{\"name\": \"a\", \"bytes\": {\"dram\": 1e12,\n \"dram\": 2e12}}",
       "m.json:2:2: 'dram' is repeated; expected each key once, the first is at m.json:1:25"},
      {R"({"flops": {"fp32.vector": 1e12}})", "m.json: 'name': expected a text, got nothing"},
      {R"({"name": "a"})", "m.json: expected at least one rate in \"flops\" or \"bytes\""},
      {R"({"name": "a", "gflops": {}})",
       "m.json:1:15: 'gflops': expected one of name, device, threads, source, flops, bytes, "
       "cache_bytes, launch_seconds, help"},
      {R"({"name": "a", "device": "tpu", "bytes": {"dram": 1e12}})",
       "m.json:1:15: 'device': expected gpu or cpu, got \"tpu\""},
      {R"({"name": "a", "device": "cpu", "bytes": {"dram": 1e12}})",
       "m.json: 'threads': expected a number of threads from 1 to 65536 (whole numbers), got "
       "nothing"},
      {R"({"name": "a", "bytes": {"dram": 1e12}, "launch_seconds": 4.2})",
       "m.json:1:40: 'launch_seconds': expected a number of seconds from 1e-09 to 1 (4.2 us is "
       "4.2e-6), got 4.2"},
      {R"({"name": "a", "bytes": [1e12]})",
       "m.json:1:15: 'bytes': expected an object, got [1000000000000.0]"},
  };
  for (const auto& row : rows) EXPECT_EQ(fakes::RefusalOf([&] { Read(row.text); }), row.message);
}

// A folder of its own, in which a test runs.
class NamedMachine : public testing::Test {
 protected:
  NamedMachine() { fs::current_path(folder_ / ""); }
  ~NamedMachine() override { fs::current_path(before_); }

  const fs::path before_ = fs::current_path();
  const TemporaryFolder folder_;
};

TEST_F(NamedMachine, IsAKnownGpuWhereThereIsNoFileOfItsName) {
  EXPECT_EQ(ReadMachineFile("v100").name, "NVIDIA Tesla V100-SXM2 (GV100)");
  EXPECT_EQ(fakes::RefusalOf([] { ReadMachineFile("v1000"); }),
            "v1000: no such file; expected a machine file, or a known GPU: a100, h100, h200, p100, "
            "titan_xp, v100");
  std::ofstream("v100") << R"({"name": "mine", "bytes": {"dram": 1e12}})";
  EXPECT_EQ(ReadMachineFile("v100").name, "mine");
  WriteMachineFile(ReadMachineFile("v100"), "again");
  EXPECT_EQ(ReadMachineFile("again"), ReadMachineFile("v100"));
}

TEST_F(NamedMachine, SpecifiedRoofsAreUsedAsTheyAreWithoutMeasuring) {
  std::ofstream("m.json")
      << R"({"name": "mine", "device": "cpu", "threads": 2, "bytes": {"dram": 1e11}})";
  MachineSource source{.described = {.device = "cpu", .fingerprint = "0123"}, .threads = {1, 2}};
  source.measure = [](bool, const std::vector<int>&) -> machine::Machine {
    throw std::logic_error("asked");
  };
  const MachineOptions options{.live_check = true, .file = "m.json"};
  std::ostringstream log;
  const auto machine = CachedOrMeasured(source, options, log);
  EXPECT_EQ(machine.by_threads.size(), 1U) << "none is measured for 1 thread";
  EXPECT_EQ(log.str(), "m.json: the roofs of mine are specified, not measured here.\n");
  source.described.device = "gpu";
  EXPECT_EQ(fakes::RefusalOf([&] { CachedOrMeasured(source, options, log); }),
            "m.json: \"device\" is \"cpu\"; expected \"gpu\"");
}

TEST(LocatedJson, PlacesAreThoseOfKeysWithEscapesAndInArraysToo) {
  const LocatedJson file("{\"a\\\"\\\\\": 1,\n  \"b\": [{\"x\": 1}, {\"x\": 2}], \"c\": {}}", "f");
  EXPECT_EQ(file.Where({"a\"\\"}), "f:1:2");
  EXPECT_EQ(file.Where({"b"}), "f:2:3");
  EXPECT_EQ(file.Where({"c"}), "f:2:30");
  EXPECT_EQ(file.Where({"d"}), "f");
  EXPECT_EQ(fakes::RefusalOf([] { LocatedJson("{\"b\": [{\"x\": 1, \"x\": 2}]}", "f"); }),
            "f:1:17: 'x' is repeated; expected each key once, the first is at f:1:9");
  EXPECT_EQ(fakes::RefusalOf([] { LocatedJson("{\"a\": 1,\n", "f"); }),
            "f:2:1: is not JSON at its end; expected JSON with numbers such as 6.7e13");
}

}  // namespace
}  // namespace dlroof::machine_file
