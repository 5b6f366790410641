#include "counters/cuda/kernel_nodes.h"

#include <cuda.h>
#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <string>

#include "counters/cuda/device.h"
#include "counters/gpu/report.h"

namespace dlroof::cuda {
namespace {

// Returns the driver's function `name` as of CUDA 12.6. The module does not link the driver.
template <class Function>
Function DriverFunction(const char* name) {
  constexpr unsigned kVersion = 12060;
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result{};
  CheckCuda(cudaGetDriverEntryPointByVersion(name, &found, kVersion, cudaEnableDefault, &result),
            name);
  if (found == nullptr) throw std::runtime_error(fmt::format("the driver has no {}", name));
  return reinterpret_cast<Function>(found);
}

struct Driver {
  decltype(&cuGraphKernelNodeGetParams) parameters =
      DriverFunction<decltype(&cuGraphKernelNodeGetParams)>("cuGraphKernelNodeGetParams");
  decltype(&cuGraphKernelNodeGetAttribute) attribute =
      DriverFunction<decltype(&cuGraphKernelNodeGetAttribute)>("cuGraphKernelNodeGetAttribute");
  decltype(&cuKernelGetFunction) function =
      DriverFunction<decltype(&cuKernelGetFunction)>("cuKernelGetFunction");
  decltype(&cuFuncGetName) name = DriverFunction<decltype(&cuFuncGetName)>("cuFuncGetName");
  decltype(&cuFuncGetAttribute) function_attribute =
      DriverFunction<decltype(&cuFuncGetAttribute)>("cuFuncGetAttribute");
};

void CheckDriver(CUresult status, const char* what) {
  if (status != CUDA_SUCCESS)
    throw std::runtime_error(fmt::format("{}: CUresult {}", what, static_cast<int>(status)));
}

LaunchedKernel KernelOf(const Driver& driver, cudaGraphNode_t node, const gpu::GpuIdentity& gpu) {
  CUDA_KERNEL_NODE_PARAMS launch{};
  CheckDriver(driver.parameters(node, &launch), "a kernel node of a graph");
  CUfunction function = launch.func;
  if (function == nullptr)
    CheckDriver(driver.function(&function, launch.kern), "the function of a kernel node");
  const char* symbol = nullptr;
  CheckDriver(driver.name(&symbol, function), "the name of a kernel");
  const auto attribute = [&](CUfunction_attribute which) {
    int value = 0;
    CheckDriver(driver.function_attribute(&value, which, function), "an attribute of a kernel");
    return value;
  };
  KernelFacts facts{
      .blocks = static_cast<std::int64_t>(launch.gridDimX) * launch.gridDimY * launch.gridDimZ,
      .threads = static_cast<int>(launch.blockDimX * launch.blockDimY * launch.blockDimZ),
      .registers = attribute(CU_FUNC_ATTRIBUTE_NUM_REGS),
      .shared_bytes = static_cast<double>(attribute(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)) +
                      launch.sharedMemBytes};
  CUlaunchAttributeValue cluster{};
  CheckDriver(driver.attribute(node, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, &cluster),
              "the cluster of a kernel node");
  facts.cluster =
      static_cast<int>(std::max(cluster.clusterDim.x, 1U) * std::max(cluster.clusterDim.y, 1U) *
                       std::max(cluster.clusterDim.z, 1U));
  facts.waves = gpu::Waves(facts, {10 * gpu.major + gpu.minor, gpu.sms, gpu.shared_bytes_per_sm});
  return {gpu::KernelName(symbol), 1, std::nullopt, facts};
}

void AddKernels(const Driver& driver, cudaGraph_t graph, const gpu::GpuIdentity& gpu,
                std::vector<LaunchedKernel>& kernels) {
  std::size_t count = 0;
  CheckCuda(cudaGraphGetNodes(graph, nullptr, &count), "the nodes of a graph");
  std::vector<cudaGraphNode_t> nodes(count);
  CheckCuda(cudaGraphGetNodes(graph, nodes.data(), &count), "the nodes of a graph");
  for (auto* const node : nodes) {
    cudaGraphNodeType type{};
    CheckCuda(cudaGraphNodeGetType(node, &type), "the type of a graph's node");
    if (type == cudaGraphNodeTypeKernel) kernels.push_back(KernelOf(driver, node, gpu));
    if (type != cudaGraphNodeTypeGraph) continue;
    cudaGraph_t child = nullptr;
    CheckCuda(cudaGraphChildGraphNodeGetGraph(node, &child), "a child graph");
    AddKernels(driver, child, gpu, kernels);
  }
}

}  // namespace

std::vector<LaunchedKernel> KernelNodes(cudaGraph_t graph, const gpu::GpuIdentity& gpu) {
  static const Driver driver;
  std::vector<LaunchedKernel> kernels;
  AddKernels(driver, graph, gpu, kernels);
  return gpu::MergedLaunches(std::move(kernels));
}

}  // namespace dlroof::cuda
