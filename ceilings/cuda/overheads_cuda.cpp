#include <memory>

#include "ceilings/cuda/bench_cuda.h"
#include "ceilings/cuda/kernels.h"
#include "counters/cpu/clocks.h"
#include "counters/cuda/support.h"

namespace dlroof {
namespace {

constexpr int kNodes = 64;

void Start(cudaStream_t stream) { CheckCuda(LaunchNothing(stream), "an empty kernel"); }

using Graph = std::unique_ptr<CUgraph_st, decltype(&cudaGraphDestroy)>;
using GraphExec = std::unique_ptr<CUgraphExec_st, decltype(&cudaGraphExecDestroy)>;

GraphExec GraphOf(int nodes, const CudaStream& stream) {
  CheckCuda(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeThreadLocal),
            "the capture of empty kernels");
  for (int i = 0; i < nodes; ++i) LaunchNothing(stream.get());
  cudaGraph_t captured = nullptr;
  CheckCuda(cudaStreamEndCapture(stream.get(), &captured), "the capture of empty kernels");
  const Graph graph(captured, cudaGraphDestroy);
  cudaGraphExec_t exec = nullptr;
  CheckCuda(cudaGraphInstantiate(&exec, captured, 0), "a graph of empty kernels");
  return {exec, cudaGraphExecDestroy};
}

// [s] of `each` done `times` times, and of the wait for the last.
template <class Each>
double Timed(std::int64_t times, const CudaStream& stream, const Each& each) {
  stream.Wait();
  const double begin = WallSeconds();
  for (std::int64_t i = 0; i < times; ++i) each();
  stream.Wait();
  return WallSeconds() - begin;
}

double GraphNodes(std::int64_t times, const CudaStream& stream) {
  const auto graph = GraphOf(kNodes, stream);
  const auto launch = [&] { CheckCuda(cudaGraphLaunch(graph.get(), stream.get()), "a graph"); };
  Timed(1, stream, launch);
  const auto graphs = (times + kNodes - 1) / kNodes;
  return Timed(graphs, stream, launch) * static_cast<double>(times) /
         static_cast<double>(graphs * kNodes);
}

double GraphLaunches(std::int64_t times, const CudaStream& stream) {
  const auto graph = GraphOf(1, stream);
  const auto launch = [&] {
    CheckCuda(cudaGraphLaunch(graph.get(), stream.get()), "a graph");
    stream.Wait();
  };
  Timed(1, stream, launch);
  return Timed(times, stream, launch);
}

}  // namespace

double CudaOverhead(GpuOverhead kind, std::int64_t times, const GpuClock& clock) {
  const CudaStream stream;
  Start(stream.get());  // the first launch loads the kernel
  switch (kind) {
    case GpuOverhead::kLaunch:
      return Timed(times, stream, [&] { Start(stream.get()); });
    case GpuOverhead::kLaunchSync:
      return Timed(times, stream, [&] {
        Start(stream.get());
        stream.Wait();
      });
    case GpuOverhead::kGraphNode:
      return GraphNodes(times, stream);
    case GpuOverhead::kGraphLaunchSync:
      return GraphLaunches(times, stream);
    case GpuOverhead::kEvents: {
      double seconds = 0;
      for (std::int64_t i = 0; i < times; ++i) seconds += clock.once([](void*) {});
      return seconds;
    }
    case GpuOverhead::kSync:
      return Timed(times, stream, [&] { stream.Wait(); });
  }
  return 0;
}

}  // namespace dlroof
