#include <memory>

#include "ceilings/cuda/bench_cuda.h"
#include "ceilings/cuda/kernels.h"
#include "counters/cpu/clocks.h"
#include "counters/cuda/support.h"

namespace dlroof::cuda_kernels {
namespace {

constexpr int kNodes = 64;

void Start(cudaStream_t stream) { cuda::CheckCuda(LaunchNothing(stream), "an empty kernel"); }

using Graph = std::unique_ptr<CUgraph_st, decltype(&cudaGraphDestroy)>;
using GraphExec = std::unique_ptr<CUgraphExec_st, decltype(&cudaGraphExecDestroy)>;

GraphExec GraphOf(int nodes, const cuda::CudaStream& stream) {
  cuda::CheckCuda(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeThreadLocal),
            "the capture of empty kernels");
  for (int i = 0; i < nodes; ++i) LaunchNothing(stream.get());
  cudaGraph_t captured = nullptr;
  cuda::CheckCuda(cudaStreamEndCapture(stream.get(), &captured), "the capture of empty kernels");
  const Graph graph(captured, cudaGraphDestroy);
  cudaGraphExec_t exec = nullptr;
  cuda::CheckCuda(cudaGraphInstantiate(&exec, captured, 0), "a graph of empty kernels");
  return {exec, cudaGraphExecDestroy};
}

// [s] of `each` done `times` times, and of the wait for the last.
template <class Each>
double Timed(std::int64_t times, const cuda::CudaStream& stream, const Each& each) {
  stream.Wait();
  const double begin = cpu::WallSeconds();
  for (std::int64_t i = 0; i < times; ++i) each();
  stream.Wait();
  return cpu::WallSeconds() - begin;
}

double GraphNodes(std::int64_t times, const cuda::CudaStream& stream) {
  const auto graph = GraphOf(kNodes, stream);
  const auto launch = [&] { cuda::CheckCuda(cudaGraphLaunch(graph.get(), stream.get()), "a graph"); };
  Timed(1, stream, launch);
  const auto graphs = (times + kNodes - 1) / kNodes;
  return Timed(graphs, stream, launch) * static_cast<double>(times) /
         static_cast<double>(graphs * kNodes);
}

double GraphLaunches(std::int64_t times, const cuda::CudaStream& stream) {
  const auto graph = GraphOf(1, stream);
  const auto launch = [&] {
    cuda::CheckCuda(cudaGraphLaunch(graph.get(), stream.get()), "a graph");
    stream.Wait();
  };
  Timed(1, stream, launch);
  return Timed(times, stream, launch);
}

}  // namespace

double CudaOverhead(gpu_ceilings::GpuOverhead kind, std::int64_t times, const gpu::GpuClock& clock) {
  const cuda::CudaStream stream;
  Start(stream.get());  // the first launch loads the kernel
  switch (kind) {
    case gpu_ceilings::GpuOverhead::kLaunch:
      return Timed(times, stream, [&] { Start(stream.get()); });
    case gpu_ceilings::GpuOverhead::kLaunchSync:
      return Timed(times, stream, [&] {
        Start(stream.get());
        stream.Wait();
      });
    case gpu_ceilings::GpuOverhead::kGraphNode:
      return GraphNodes(times, stream);
    case gpu_ceilings::GpuOverhead::kGraphLaunchSync:
      return GraphLaunches(times, stream);
    case gpu_ceilings::GpuOverhead::kEvents: {
      double seconds = 0;
      for (std::int64_t i = 0; i < times; ++i) seconds += clock.once([](void*) {});
      return seconds;
    }
    case gpu_ceilings::GpuOverhead::kSync:
      return Timed(times, stream, [&] { stream.Wait(); });
  }
  return 0;
}

}  // namespace dlroof::cuda_kernels
