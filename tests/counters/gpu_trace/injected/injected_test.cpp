// The injected library in a program without a GPU: the program loads it as the CUDA driver and NVTX
// do, and a fake libcupti gives it records of CUPTI's own layouts.
#include <gtest/gtest.h>

#include <set>

#include "counters/base/files.h"
#include "counters/base/process.h"
#include "counters/gpu_trace/read.h"
#include "tests/paths.h"

namespace dlroof::gpu_trace {
namespace {

class InjectedLibrary : public testing::Test {
 protected:
  // Runs the program with these commands (tests/fakes/gpu_trace/program.cpp).
  ChildResult Run(const std::vector<std::string>& commands, const Variables& more = {}) {
    Variables variables = {
        {"CUDA_INJECTION64_PATH", DLROOF_GPU_TRACE_LIBRARY},
        {"NVTX_INJECTION64_PATH", DLROOF_GPU_TRACE_LIBRARY},
        {"DLROOF_GPU_TRACE_FOLDER", folder_ / ""},
        {"FAKE_CUPTI", DLROOF_TRACED "/libcupti.so.13"},
        // Nothing but what a test asks for is flushed before the end.
        {"DLROOF_GPU_TRACE_FLUSH_MS", "1000000"},
    };
    for (const auto& [name, value] : more) variables[name] = value;
    std::vector<std::string> words = {DLROOF_TRACED "/fake_cuda_program"};
    words.insert(words.end(), commands.begin(), commands.end());
    return RunChild(words, variables);
  }
  std::vector<Trace> Traces() { return ReadTraces(folder_ / ""); }
  Trace OnlyTrace() {
    auto traces = Traces();
    EXPECT_EQ(traces.size(), 1U);
    return traces.empty() ? Trace{} : std::move(traces.front());
  }

  TemporaryFolder folder_;
};

const std::vector<std::string> three = {
    "cupti", "cuda", "kernel", "_Z1av", "64", "128", "7", "10", "5",
    // out of order, as the records of streams are
    "kernel", "_Z1bv", "32", "256", "8", "30", "2", "kernel", "_Z1av", "64", "128", "7", "20", "4"};

std::vector<std::string> Then(std::vector<std::string> words,
                              const std::vector<std::string>& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

TEST_F(InjectedLibrary, WritesEachLaunchWithItsKernelInTheOrderOfTheDevice) {
  const auto ran = Run(Then(three, {"print", "hello", "exit", "5"}));
  EXPECT_EQ(ran.exit_code, 5);
  EXPECT_EQ(ran.out, "hello\n");
  EXPECT_EQ(ran.err, "");
  const auto trace = OnlyTrace();
  ASSERT_EQ(trace.launches.size(), 3U);
  ASSERT_EQ(trace.kernels.size(), 2U);
  EXPECT_EQ(trace.texts[trace.kernels[0].name], "_Z1av");
  EXPECT_EQ(trace.kernels[0].grid, (Size3{64, 1, 1}));
  EXPECT_EQ(trace.kernels[0].block, (Size3{128, 1, 1}));
  EXPECT_EQ(trace.launches[0].kernel, 0U);
  EXPECT_EQ(trace.launches[1].kernel, 0U);
  EXPECT_EQ(trace.launches[2].kernel, 1U);
  EXPECT_EQ(trace.launches[2].place.stream, 8U);
  EXPECT_EQ(trace.launches[0].time.end_ns - trace.launches[0].time.begin_ns, 5000);
  EXPECT_EQ(trace.launches[2].time.begin_ns - trace.launches[0].time.begin_ns, 20'000);
  ASSERT_EQ(trace.devices.size(), 1U);
  EXPECT_EQ(trace.devices[0].name, "Fake H200");
  EXPECT_EQ(trace.devices[0].compute_capability, 90U);
  EXPECT_TRUE(trace.ended);
  EXPECT_TRUE(trace.command.ends_with("print hello exit 5")) << trace.command;
  EXPECT_EQ(trace.dropped, 0);
  EXPECT_TRUE(trace.remarks.empty());
}

TEST_F(InjectedLibrary, WritesCopiesFillsAndGraphNodes) {
  Run({"cupti", "cuda", "graphs", "1"});
  const auto trace = OnlyTrace();
  ASSERT_EQ(trace.copies.size(), 3U);
  EXPECT_EQ(trace.copies[0].kind, CopyKind::kToDevice);
  EXPECT_TRUE(trace.copies[0].pageable);
  EXPECT_EQ(trace.copies[0].bytes, 100e6);
  EXPECT_EQ(trace.copies[2].kind, CopyKind::kToHost);
  ASSERT_EQ(trace.fills.size(), 1U);
  EXPECT_EQ(trace.fills[0].bytes, 4096);
  ASSERT_EQ(trace.launches.size(), 11U);
  EXPECT_EQ(trace.launches[0].graph, 0U);
  EXPECT_EQ(trace.launches[6].graph, 3U);
  EXPECT_EQ(trace.launches[10].correlation, trace.launches[6].correlation);
}

TEST_F(InjectedLibrary, TracesGraphsAsAWholeOrCallsAlone) {
  Run({"cupti", "cuda", "graphs", "2"}, {{"DLROOF_GPU_TRACE_DETAIL", "graphs"}});
  const auto trace = OnlyTrace();
  ASSERT_EQ(trace.launches.size(), 6U + 2);
  const auto& graph = trace.launches[6];
  EXPECT_EQ(trace.kernels[graph.kernel].grid, Size3());
  EXPECT_EQ(trace.texts[trace.kernels[graph.kernel].name], "CUDA graph 3");
  EXPECT_EQ(graph.graph, 3U);
  // From its first node's begin to its last one's end.
  EXPECT_EQ(graph.time.end_ns - graph.time.begin_ns, 540'000);
  EXPECT_EQ(trace.calls.size(), 6U + 2);
}

TEST_F(InjectedLibrary, CallsAloneHaveNoWork) {
  Run({"cupti", "cuda", "graphs", "2"}, {{"DLROOF_GPU_TRACE_DETAIL", "calls"}});
  const auto trace = OnlyTrace();
  EXPECT_EQ(trace.calls.size(), 6U + 2);
  EXPECT_TRUE(trace.launches.empty() && trace.copies.empty() && trace.fills.empty());
}

TEST_F(InjectedLibrary, LosesNothingAtTheEndsOfBuffers) {
  Run({"cupti", "cuda", "many", "1000"}, {{"FAKE_CUPTI_RECORDS", "7"}});
  const auto trace = OnlyTrace();
  EXPECT_EQ(trace.launches.size(), 1000U);
  EXPECT_EQ(trace.kernels.size(), 1U);
  EXPECT_EQ(trace.dropped, 0);
}

TEST_F(InjectedLibrary, AFullFileSaysSoAndCountsWhatIsLost) {
  Run({"cupti", "cuda", "many", "1000"}, {{"DLROOF_GPU_TRACE_BYTES", "20000"}});
  const auto trace = OnlyTrace();
  EXPECT_TRUE(trace.full);
  EXPECT_TRUE(trace.ended);
  EXPECT_GT(trace.launches.size(), 100U);
  EXPECT_EQ(static_cast<double>(trace.launches.size()) + trace.dropped, 1000);
}

TEST_F(InjectedLibrary, EachForkedProcessThatUsesCudaHasAFileOfItsOwn) {
  // Two children, then the parent, then a child that does nothing and runs its parent's handlers.
  Run({"cupti", "fork", "cuda", "many", "3", "done", "fork", "cuda", "many", "4", "done", "cuda",
       "many", "5", "fork", "done", "many", "6"});
  const auto traces = Traces();
  ASSERT_EQ(traces.size(), 3U);
  std::set<std::size_t> launches;
  for (const auto& trace : traces) {
    launches.insert(trace.launches.size());
    EXPECT_TRUE(trace.ended);
    EXPECT_TRUE(trace.remarks.empty());
  }
  EXPECT_EQ(launches, (std::set<std::size_t>{3, 4, 11}));
}

TEST_F(InjectedLibrary, AKilledProcessLeavesTheTraceUpToThere) {
  const auto ran = Run({"cupti", "cuda", "many", "20", "kill"}, {{"FAKE_CUPTI_RECORDS", "8"}});
  EXPECT_EQ(ran.exit_code, 128 + 9);
  const auto trace = OnlyTrace();
  // Five buffers: the device, 19 calls with their kernels, and the last call.
  EXPECT_EQ(trace.launches.size(), 19U);
  EXPECT_FALSE(trace.ended);
  EXPECT_TRUE(trace.pid);
}

TEST_F(InjectedLibrary, FinishedWorkIsFlushedWhileTheProgramWaits) {
  // The program is killed while its buffer is not full; it waits for the library's own thread.
  const auto ran = Run({"cupti", "cuda", "many", "20", "flushed", "2500", "kill"},
                       {{"DLROOF_GPU_TRACE_FLUSH_MS", "10"}});
  EXPECT_EQ(ran.exit_code, 128 + 9);
  EXPECT_EQ(OnlyTrace().launches.size(), 20U);
}

TEST_F(InjectedLibrary, RecordsRangesOfNvtx) {
  Run({"push", "before cuda", "pop", "cupti", "cuda", "push", "step", "push", "forward", "many",
       "1", "pop", "pop", "pop"});
  const auto trace = OnlyTrace();
  ASSERT_EQ(trace.ranges.size(), 3U);
  EXPECT_EQ(trace.texts[trace.ranges[0].name], "before cuda");
  EXPECT_EQ(trace.texts[trace.ranges[1].name], "step");
  EXPECT_EQ(trace.ranges[1].depth, 0U);
  EXPECT_EQ(trace.texts[trace.ranges[2].name], "forward");
  EXPECT_EQ(trace.ranges[2].depth, 1U);
  EXPECT_LE(trace.ranges[1].time.begin_ns, trace.ranges[2].time.begin_ns);
  EXPECT_GE(trace.ranges[1].time.end_ns, trace.ranges[2].time.end_ns);
}

// The first range begins after the context: only calls that were asked for before it are recorded.
TEST_F(InjectedLibrary, RecordsTheCallsThatLaunch) {
  Run({"cupti", "cuda", "many", "3", "push", "step", "many", "2", "pop", "graphs", "1"});
  const auto trace = OnlyTrace();
  ASSERT_EQ(trace.ranges.size(), 1U);
  const auto& range = trace.ranges[0];
  // Three launches before the range, two in it, six after it, and a graph of five kernels.
  // cudaGetDevice, which is called before each, launches nothing.
  ASSERT_EQ(trace.calls.size(), 3U + 2 + 6 + 1);
  EXPECT_EQ(trace.launches.size(), 3U + 2 + 6 + 5);
  std::set<std::uint32_t> launched;
  for (const auto& launch : trace.launches) launched.insert(launch.correlation);
  int inside = 0;
  for (const auto& call : trace.calls) {
    EXPECT_TRUE(launched.contains(call.correlation));
    EXPECT_EQ(call.thread, range.thread);
    inside += call.begin_ns >= range.time.begin_ns && call.begin_ns < range.time.end_ns ? 1 : 0;
  }
  EXPECT_EQ(inside, 2);
  EXPECT_EQ(trace.launches.back().correlation, trace.calls.back().correlation);
}

TEST_F(InjectedLibrary, SaysWhatAnOldCuptiDoesNotRecord) {
  Run({"cupti", "cuda", "push", "step", "many", "3", "pop"},
      {{"FAKE_CUPTI", DLROOF_TRACED "/libcupti_old.so.13"},
       {"DLROOF_GPU_TRACE_CUPTI", DLROOF_TRACED "/libcupti_old.so.13"}});
  const auto trace = OnlyTrace();
  EXPECT_TRUE(trace.calls.empty());
  EXPECT_EQ(trace.launches.size(), 3U);
  ASSERT_EQ(trace.remarks.size(), 1U);
  EXPECT_TRUE(trace.remarks[0].ends_with("CUPTI does not record calls: CUPTI_ERROR_UNKNOWN"))
      << trace.remarks[0];
}

TEST_F(InjectedLibrary, SaysWhyThereIsNoTrace) {
  EXPECT_EQ(
      Run({"cupti", "cuda", "many", "3", "exit", "4"}, {{"FAKE_CUPTI_RESULT", "39"}}).exit_code, 4);
  const auto trace = OnlyTrace();
  ASSERT_TRUE(trace.failure);
  EXPECT_EQ(trace.failure->text,
            "CUPTI refuses to trace: CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED");
  EXPECT_TRUE(trace.launches.empty());
}

TEST_F(InjectedLibrary, RefusesACuptiWhoseRecordsDiffer) {
  Run({"cupti", "cuda"}, {{"FAKE_CUPTI_VERSION", "12"}});
  const auto trace = OnlyTrace();
  ASSERT_TRUE(trace.failure);
  EXPECT_EQ(trace.failure->text, "CUPTI is older than that of CUDA 11");
}

TEST_F(InjectedLibrary, OpensTheCuptiThatItIsToldOf) {
  // The program has none loaded when CUDA starts.
  Run({"cuda", "many", "3"},
      {{"DLROOF_GPU_TRACE_CUPTI", "/nowhere/libcupti.so.13:" DLROOF_TRACED "/libcupti.so.13"}});
  EXPECT_EQ(OnlyTrace().launches.size(), 3U);
}

TEST_F(InjectedLibrary, WithoutAFolderTheProgramRunsUntraced) {
  EXPECT_EQ(Run({"cupti", "cuda", "push", "x", "many", "3", "pop", "exit", "6"},
                {{"DLROOF_GPU_TRACE_FOLDER", ""}})
                .exit_code,
            6);
  EXPECT_EQ(
      Run({"cupti", "cuda", "exit", "7"}, {{"DLROOF_GPU_TRACE_FOLDER", "/nowhere"}}).exit_code, 7);
  EXPECT_TRUE(Traces().empty());
}

}  // namespace
}  // namespace dlroof::gpu_trace
