#include <cuda.h>
#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <stdexcept>
#include <vector>

#include "counters/cuda/clock_kernels.h"
#include "counters/cuda/device.h"
#include "counters/gpu/api.h"
#include "counters/gpu/session.h"

namespace dlroof::cuda {
namespace {

// --- The kernels of a captured graph ---

// Returns the driver's function `name` of CUDA 12.6; this library is not linked with the driver.
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
  facts.waves = gpu::Waves(facts, gpu);
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

// Returns the kernels of all kernel nodes, child graphs included, without times. Launches of the
// same kernel with the same configuration are merged. Nodes that copy or fill memory are left out.
std::vector<LaunchedKernel> KernelNodes(cudaGraph_t graph, const gpu::GpuIdentity& gpu) {
  static const Driver driver;
  std::vector<LaunchedKernel> kernels;
  AddKernels(driver, graph, gpu, kernels);
  return gpu::MergedLaunches(std::move(kernels));
}

// The flush writes twice the size of L2, so that no line of the previous call remains.
constexpr double kFlushSizes = 2;

using CudaEvent = std::unique_ptr<CUevent_st, decltype(&cudaEventDestroy)>;

CudaEvent NewEvent() {
  cudaEvent_t event = nullptr;
  CheckCuda(cudaEventCreate(&event), "a CUDA event");
  return {event, cudaEventDestroy};
}

// Two ints in mapped host memory: the parameters `released` and `gave_up` of LaunchHold.
class HostFlags {
 public:
  HostFlags() {
    CheckCuda(cudaHostAlloc(&memory_, 2 * sizeof(int), cudaHostAllocMapped), "mapped host memory");
    CheckCuda(cudaHostGetDevicePointer(&on_gpu_, memory_, 0), "mapped host memory");
  }
  ~HostFlags() { cudaFreeHost(memory_); }
  HostFlags(const HostFlags&) = delete;
  HostFlags& operator=(const HostFlags&) = delete;
  void Release(int value) { host()[0] = value; }
  bool GaveUp() { return host()[1] != 0; }
  int* on_gpu() const { return static_cast<int*>(on_gpu_); }

 private:
  volatile int* host() { return static_cast<volatile int*>(memory_); }
  void *memory_ = nullptr, *on_gpu_ = nullptr;
};

// Blocks the stream until the result's scope ends, so that work enqueued meanwhile runs back to
// back. Ends the block after 10 ms, because a call that waits for the GPU would otherwise hang.
AtEnd Hold(HostFlags& flags, cudaStream_t stream) {
  constexpr unsigned long long kMaxNanoseconds = 10'000'000;
  flags.Release(0);
  CheckCuda(LaunchHold(flags.on_gpu(), flags.on_gpu() + 1, kMaxNanoseconds, stream),
            "holding a stream");
  return AtEnd([&flags] { flags.Release(1); });
}

using GraphPointer = std::unique_ptr<CUgraph_st, decltype(&cudaGraphDestroy)>;

class CudaClock final : public gpu::GpuClock {
 public:
  explicit CudaClock(int device)
      : identity_(ReadGpuIdentity(device)),
        default_clock_hz_(cuda::DefaultClockHz(device)),
        sms_(static_cast<std::size_t>(identity_.sms)),
        stamps_(2 * sms_ * sizeof(gpu::SmStamp)),
        ballast_(static_cast<std::size_t>(kFlushSizes * std::max(identity_.l2_bytes, 1048576.0))),
        sink_(sizeof(unsigned)),
        nvml_(gpu::Nvml::Open("libnvidia-ml.so.1", PciBusId(device))) {
    ballast_.Fill(0);
  }

  gpu::QueuedCalls Queued(const gpu::L2State& l2, const gpu::Enqueue& call, int calls) override {
    stream_.Wait();
    while (events_.size() < 2 * static_cast<std::size_t>(calls)) events_.push_back(NewEvent());
    const auto launch = [&] {
      for (auto event = events_.begin(); event != events_.begin() + 2 * calls;) {
        EnqueueL2(l2);
        Record(*event++);
        call(stream_.get());
        Record(*event++);
      }
    };
    const auto batch = Held(launch, {});
    gpu::QueuedCalls queued{.clock_hz = batch.clock_hz, .queued = batch.queued};
    for (int i = 0; i < calls; ++i)
      queued.seconds.push_back(Between(events_[2 * i], events_[2 * i + 1]));
    return queued;
  }

  double Once(const gpu::Enqueue& call) override {
    stream_.Wait();
    ForgetErrors();
    Record(begin_);
    call(stream_.get());
    Record(end_);
    return Between(begin_, end_);
  }

  gpu::GpuBatch Batch(const gpu::Enqueue& call, int calls,
                      const std::function<void()>& while_running) override {
    const auto launch = [&] {
      for (int i = 0; i < calls; ++i) call(stream_.get());
    };
    return Held(launch, while_running);
  }

  std::function<gpu::GpuBatch()> Graph(const gpu::Enqueue& call, int calls) override {
    const GraphPointer graph = Captured(call, calls);
    cudaGraphExec_t exec = nullptr;
    CheckCuda(cudaGraphInstantiate(&exec, graph.get(), 0), "instantiating the graph of a call");
    return [this, exec = std::shared_ptr<CUgraphExec_st>(exec, cudaGraphExecDestroy)] {
      stream_.Wait();
      const auto launch = [&] {
        CheckCuda(cudaGraphLaunch(exec.get(), stream_.get()), "launching a graph");
      };
      return Held(launch, {});
    };
  }

  std::vector<LaunchedKernel> Kernels(const gpu::Enqueue& call) override {
    return KernelNodes(Captured(call, 1).get(), identity_);
  }

  void Prepare(const gpu::L2State& l2) override {
    EnqueueL2(l2);
    stream_.Wait();
  }

  void Empty(void* stream) override {
    CheckCuda(LaunchEmpty(static_cast<cudaStream_t>(stream)), "an empty kernel");
  }

  double L2Bytes() override { return identity_.l2_bytes; }
  std::shared_ptr<void> Copy(const void* begin, std::size_t bytes) override {
    const auto buffer = std::make_shared<DeviceBuffer>(bytes);
    CheckCuda(cudaMemcpy(buffer->get(), begin, bytes, cudaMemcpyDeviceToDevice),
              "copying a tensor");
    CheckCuda(cudaDeviceSynchronize(), "copying a tensor");
    return {buffer, buffer->get()};
  }

  void Recover() override { RequireWorkingGpu(); }
  gpu::GpuHealth Health() override { return nvml_.Health(); }
  std::optional<double> EnergyJoules() override { return nvml_.EnergyJoules(); }
  std::optional<double> DefaultClockHz() override { return default_clock_hz_; }

 private:
  // Times the work that `launch` enqueues. The GPU begins the work when all of it is enqueued.
  template <class Launch>
  gpu::GpuBatch Held(const Launch& launch, const std::function<void()>& while_running) {
    ForgetErrors();
    stamps_.Fill(0);
    {
      const auto held = Hold(released_, stream_.get());
      Stamp(0);
      Record(begin_);
      launch();
      Record(end_);
      Stamp(1);
    }
    if (while_running) while_running();
    const double seconds = Between(begin_, end_);
    return {.seconds = seconds, .clock_hz = ClockHz(), .queued = !released_.GaveUp()};
  }

  GraphPointer Captured(const gpu::Enqueue& call, int calls) {
    stream_.Wait();
    CheckCuda(cudaStreamBeginCapture(stream_.get(), cudaStreamCaptureModeThreadLocal),
              "capturing a call");
    cudaGraph_t graph = nullptr;
    try {
      for (int i = 0; i < calls; ++i) call(stream_.get());
    } catch (...) {
      cudaStreamEndCapture(stream_.get(), &graph);
      if (graph != nullptr) cudaGraphDestroy(graph);
      cudaGetLastError();
      throw;
    }
    CheckCuda(cudaStreamEndCapture(stream_.get(), &graph), "capturing a call");
    return GraphPointer(graph, cudaGraphDestroy);
  }

  // Clears the error of an earlier CUDA call, which CUDA would report for the next call.
  static void ForgetErrors() { cudaGetLastError(); }

  void Record(const CudaEvent& event) {
    CheckCuda(cudaEventRecord(event.get(), stream_.get()), "recording a CUDA event");
  }

  static double Between(const CudaEvent& begin, const CudaEvent& end) {
    CheckCuda(cudaEventSynchronize(end.get()), "a call on the GPU");
    float milliseconds = 0;
    CheckCuda(cudaEventElapsedTime(&milliseconds, begin.get(), end.get()), "the time of a call");
    return 1e-3 * static_cast<double>(milliseconds);
  }

  void EnqueueL2(const gpu::L2State& l2) {
    if (l2.flush)
      CheckCuda(cudaMemsetAsync(ballast_.get(), ++flushes_ & 0xff, ballast_.bytes(), stream_.get()),
                "flushing L2");
    for (const auto& [begin, bytes] : l2.touched)
      CheckCuda(LaunchRead(begin, bytes, static_cast<unsigned*>(sink_.get()), 8 * identity_.sms,
                           stream_.get()),
                "reading GPU memory");
  }

  // Launches four blocks per SM, so that every SM executes at least one.
  void Stamp(std::size_t which) {
    auto* first = static_cast<gpu::SmStamp*>(stamps_.get()) + which * sms_;
    CheckCuda(LaunchStamps(first, identity_.sms, 4 * identity_.sms, stream_.get()),
              "reading the clocks of the SMs");
  }

  std::optional<double> ClockHz() {
    stream_.Wait();
    std::vector<gpu::SmStamp> stamps(2 * sms_);
    stamps_.CopyTo(stamps.data());
    return gpu::MeanClockHz(stamps);
  }

  gpu::GpuIdentity identity_;
  std::optional<double> default_clock_hz_;  // [1/s]
  std::size_t sms_;
  CudaStream stream_;
  CudaEvent begin_ = NewEvent(), end_ = NewEvent();
  HostFlags released_;
  DeviceBuffer stamps_;   // SmStamp [2][sms]
  DeviceBuffer ballast_;  // written to evict everything else from L2
  DeviceBuffer sink_;
  int flushes_ = 0;
  std::deque<CudaEvent> events_;  // two per call of Queued; reused
  gpu::Nvml nvml_;
};

}  // namespace

std::unique_ptr<gpu::GpuClock> OpenCudaClock(int device) {
  CheckCuda(cudaSetDevice(device), "selecting a GPU");
  return std::make_unique<CudaClock>(device);
}

}  // namespace dlroof::cuda
