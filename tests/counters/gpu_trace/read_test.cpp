// Trace files of any content: whole, cut at each byte, damaged, of a later version.
#include "counters/gpu_trace/read.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <random>

#include "counters/base/files.h"
#include "counters/gpu_trace/trace_file.h"
#include "tests/fakes/structure.h"

namespace dlroof::gpu_trace {
namespace {

LaunchRecord LaunchOf(std::uint32_t kernel, std::uint64_t begin_ns, std::uint64_t duration_ns) {
  LaunchRecord launch{};
  launch.header.kind = Kind::kLaunch;
  launch.kernel = kernel;
  launch.begin_ns = begin_ns;
  launch.duration_ns = duration_ns;
  launch.stream = 7;
  return launch;
}

KernelRecord KernelOf(TraceFile& file, const char* name, std::uint32_t blocks) {
  KernelRecord kernel{};
  kernel.name = file.TextNumber(name);
  kernel.grid[0] = blocks;
  kernel.grid[1] = kernel.grid[2] = 1;
  kernel.block[0] = 128;
  kernel.block[1] = kernel.block[2] = 1;
  return kernel;
}

// Three blocks of ten launches each, with a kernel that is new in each block.
std::string Sample() {
  TemporaryFolder folder;
  TraceFile file(folder / "", 42, 1'000'000);
  ProcessRecord process{};
  process.header.kind = Kind::kProcess;
  process.pid = 42;
  process.command = file.TextNumber("app --fast");
  file.Add(process);
  for (std::uint64_t block = 0; block < 3; ++block) {
    const std::string name = "_Z1" + std::string(1, static_cast<char>('a' + block)) + "v";
    for (std::uint64_t i = 0; i < 10; ++i)
      file.AddWork(LaunchOf(file.KernelNumber(KernelOf(file, name.c_str(), 8)),
                            1000 + 1000 * block + 100 * i, 50));
    file.WriteBlock();
  }
  return ReadFile(folder / "42.gputrace", "a trace");
}

TEST(ReadGpuTrace, ReadsWhatWasWritten) {
  const auto trace = ReadTrace(Sample(), "x");
  EXPECT_EQ(trace.pid, 42U);
  EXPECT_EQ(trace.command, "app --fast");
  ASSERT_EQ(trace.launches.size(), 30U);
  EXPECT_EQ(trace.texts[trace.kernels[trace.launches[29].kernel].name], "_Z1cv");
  EXPECT_EQ(trace.launches[29].time.begin_ns, 3900);
  EXPECT_EQ(trace.launches[29].time.end_ns, 3950);
  EXPECT_FALSE(trace.ended);
  EXPECT_TRUE(trace.remarks.empty());
}

TEST(ReadGpuTrace, AFileCutAtAnyByteIsReadUpToThereAndNothingIsReadBehindADamagedBlock) {
  const auto whole = Sample();
  std::size_t before = 0;
  for (std::size_t bytes = sizeof(FileHeader); bytes <= whole.size(); ++bytes) {
    const auto trace = ReadTrace(std::string_view(whole).substr(0, bytes), "x");
    ASSERT_GE(trace.launches.size(), before) << bytes;
    before = trace.launches.size();
    for (std::size_t i = 0; i < before; ++i)
      ASSERT_EQ(trace.launches[i].time.end_ns - trace.launches[i].time.begin_ns, 50);
  }
  EXPECT_EQ(before, 30U);
  EXPECT_EQ(ReadTrace(std::string_view(whole).substr(0, whole.size() - 8), "x").remarks.size(), 1U);
  auto bytes = Sample();
  // In the middle of the second block.
  const auto at = bytes.find("_Z1bv");
  ASSERT_NE(at, std::string::npos);
  bytes[at + 100] = static_cast<char>(bytes[at + 100] ^ 1);
  const auto trace = ReadTrace(bytes, "app.gputrace");
  EXPECT_EQ(trace.launches.size(), 10U);
  ASSERT_EQ(trace.remarks.size(), 1U);
  EXPECT_EQ(trace.remarks[0], "app.gputrace: a block is damaged: nothing is read from there on");
}

TEST(ReadGpuTrace, WorkWithoutATimeAndUnknownKindsAreLeftOutAndOtherFilesRefused) {
  TemporaryFolder folder;
  TraceFile file(folder / "", 1, 1'000'000);
  const auto kernel = file.KernelNumber(KernelOf(file, "k", 1));
  file.Add(LaunchOf(kernel, 0, 0));
  file.Add(LaunchOf(kernel, 5, 1));
  file.Add(LaunchOf(kernel + 1, 5, 1));              // not defined
  file.Add(LaunchOf(kernel, ~std::uint64_t{0}, 1));  // no time
  file.Add(LaunchOf(kernel, 1, ~std::uint64_t{0}));
  file.WriteBlock();
  const auto trace = ReadTrace(ReadFile(folder / "1.gputrace", "a trace"), "x");
  EXPECT_EQ(trace.launches.size(), 1U);
  EXPECT_EQ(trace.untimed, 1);
  ASSERT_EQ(trace.remarks.size(), 1U);
  EXPECT_EQ(trace.remarks[0], "x: 3 damaged records were skipped");
  EXPECT_THROW(ReadTrace("", "x"), BadInput);
  EXPECT_THROW(ReadTrace("no trace of a GPU", "x"), BadInput);
  auto later = Sample();
  later[8] = 9;
  try {
    ReadTrace(later, "x");
    FAIL();
  } catch (const BadInput& bad) {
    EXPECT_EQ(bad.text, "x: version 9 of the format, and this program reads up to 1");
  }
  TemporaryFolder kinds;
  TraceFile newer(kinds / "", 1, 1'000'000);
  EndRecord unknown{};
  unknown.header.kind = static_cast<Kind>(99);
  newer.Add(unknown);
  newer.Add(LaunchOf(newer.KernelNumber(KernelOf(newer, "k", 1)), 5, 1));
  newer.WriteBlock();
  const auto skipped = ReadTrace(ReadFile(kinds / "1.gputrace", "a trace"), "x");
  EXPECT_EQ(skipped.launches.size(), 1U);
  EXPECT_TRUE(skipped.remarks.empty());
}

TEST(ReadGpuTrace, AFolderHasOneTraceOfEachProcessAndNamesWhatIsNone) {
  TemporaryFolder folder;
  WriteFile(folder / "1.gputrace", Sample());
  WriteFile(folder / "2.gputrace", "nothing");
  WriteFile(folder / "notes.txt", "nothing");
  ASSERT_EQ(mkfifo((folder / "3.gputrace").c_str(), 0600), 0);  // nobody writes into it
  const auto traces = ReadTraces(folder / "");
  ASSERT_EQ(traces.size(), 2U);
  EXPECT_EQ(traces[0].launches.size() + traces[1].launches.size(), 30U);
  for (const auto& trace : traces)
    EXPECT_EQ(trace.remarks.size(), trace.launches.empty() ? 1U : 0U);
}

// DLROOF_MUTANTS sets the number of mutants.
TEST(HostileGpuTraces, AreReadOrRefused) {
  const int mutants = fakes::Mutants(20'000);
  const auto sample = Sample();
  std::mt19937_64 random(40);
  std::size_t read = 0, refused = 0;
  for (int i = 0; i < mutants; ++i) {
    auto bytes = sample;
    for (auto changes = 1 + random() % 4; changes > 0 && !bytes.empty(); --changes) {
      const auto at = random() % bytes.size();
      switch (random() % 4) {
        case 0:
          bytes[at] = static_cast<char>(random());
          break;
        case 1:
          bytes.erase(at, 1 + random() % 16);
          break;
        case 2:
          bytes.insert(at, bytes.substr(random() % bytes.size(), 1 + random() % 64));
          break;
        default:
          bytes.resize(at);  // the records of a cut block are read without a checksum
          if (at > 64) bytes[at - 1 - random() % 64] = static_cast<char>(random());
      }
    }
    try {
      const auto trace = ReadTrace(bytes, "x");
      for (const auto& launch : trace.launches)
        ASSERT_LT(trace.kernels.at(launch.kernel).name, trace.texts.size());
      ++read;
    } catch (const BadInput&) {
      ++refused;
    }
  }
  EXPECT_GT(read, refused);
  EXPECT_GT(refused, 0U);
}

}  // namespace
}  // namespace dlroof::gpu_trace
