#include "counters/cuda/clock.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "counters/cuda/clock_kernels.h"
#include "counters/cuda/device.h"
#include "counters/gpu/driver.h"

namespace dlroof::cuda {
namespace {

// Reading just the size of L2 would leave lines of the previous call in it.
constexpr double kFlushSizes = 3;

class CudaEvent {
 public:
  CudaEvent() { CheckCuda(cudaEventCreate(&event_), "a CUDA event"); }
  ~CudaEvent() { cudaEventDestroy(event_); }
  CudaEvent(const CudaEvent&) = delete;
  CudaEvent& operator=(const CudaEvent&) = delete;
  cudaEvent_t get() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

// Two ints in mapped host memory: `released` and `gave_up` of LaunchHold.
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

// Holds the stream during its lifetime, so that work launched meanwhile later runs back to back.
// Times out after the time of some 1000 launches, as a call that waits for the GPU would otherwise
// deadlock.
class HeldStream {
 public:
  HeldStream(HostFlags& flags, cudaStream_t stream) : flags_(flags) {
    constexpr unsigned long long kMostNanoseconds = 10'000'000;
    flags_.Release(0);
    CheckCuda(LaunchHold(flags_.on_gpu(), flags_.on_gpu() + 1, kMostNanoseconds, stream),
              "holding a stream");
  }
  ~HeldStream() { flags_.Release(1); }
  HeldStream(const HeldStream&) = delete;
  HeldStream& operator=(const HeldStream&) = delete;

 private:
  HostFlags& flags_;
};

using Graph = std::unique_ptr<CUgraph_st, decltype(&cudaGraphDestroy)>;
using GraphExec = std::unique_ptr<CUgraphExec_st, decltype(&cudaGraphExecDestroy)>;

class CudaClock {
 public:
  explicit CudaClock(int device)
      : identity_(ReadGpuIdentity(device)),
        sms_(static_cast<std::size_t>(identity_.sms)),
        stamps_(2 * sms_ * sizeof(gpu::SmStamp)),
        ballast_(static_cast<std::size_t>(kFlushSizes * std::max(identity_.l2_bytes, 1048576.0))),
        sink_(sizeof(unsigned)),
        nvml_(gpu::Nvml::Open("libnvidia-ml.so.1", PciBusId(device))) {
    ballast_.Fill(0);
  }

  double Once(const gpu::Enqueue& call) {
    stream_.Wait();
    ForgetErrors();
    CheckCuda(cudaEventRecord(begin_.get(), stream_.get()), "recording a CUDA event");
    call(stream_.get());
    CheckCuda(cudaEventRecord(end_.get(), stream_.get()), "recording a CUDA event");
    return Between();
  }

  gpu::GpuBatch Batch(const gpu::Enqueue& call, int calls,
                      const std::function<void()>& while_running) {
    ForgetErrors();
    stamps_.Fill(0);
    {
      const HeldStream held(released_, stream_.get());
      Stamp(0);
      CheckCuda(cudaEventRecord(begin_.get(), stream_.get()), "recording a CUDA event");
      for (int i = 0; i < calls; ++i) call(stream_.get());
      CheckCuda(cudaEventRecord(end_.get(), stream_.get()), "recording a CUDA event");
      Stamp(1);
    }
    if (while_running) while_running();
    return gpu::GpuBatch{
        .seconds = Between(), .clock_hz = ClockHz(), .queued = !released_.GaveUp()};
  }

  // Returns the graph of the work that the calls enqueue.
  Graph Captured(const gpu::Enqueue& call, int calls) {
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
    return Graph(graph, cudaGraphDestroy);
  }

  std::shared_ptr<GraphExec> Instantiated(const gpu::Enqueue& call, int calls) {
    const Graph graph = Captured(call, calls);
    cudaGraphExec_t exec = nullptr;
    CheckCuda(cudaGraphInstantiate(&exec, graph.get(), 0), "instantiating the graph of a call");
    return std::make_shared<GraphExec>(exec, cudaGraphExecDestroy);
  }

  double Replayed(cudaGraphExec_t exec) {
    stream_.Wait();
    ForgetErrors();
    {
      const HeldStream held(released_, stream_.get());
      CheckCuda(cudaEventRecord(begin_.get(), stream_.get()), "recording a CUDA event");
      CheckCuda(cudaGraphLaunch(exec, stream_.get()), "launching a graph");
      CheckCuda(cudaEventRecord(end_.get(), stream_.get()), "recording a CUDA event");
    }
    return Between();
  }

  void Read(const void* begin, std::size_t bytes) {
    CheckCuda(LaunchRead(begin, bytes, static_cast<unsigned*>(sink_.get()), 8 * identity_.sms,
                         stream_.get()),
              "reading GPU memory");
    stream_.Wait();
  }

  void Flush() { Read(ballast_.get(), ballast_.bytes()); }
  gpu::GpuHealth Health() const { return nvml_.Health(); }
  std::optional<double> EnergyJoules() const { return nvml_.EnergyJoules(); }

 private:
  // Clears an earlier call's error, which CUDA would report for the next call.
  static void ForgetErrors() { cudaGetLastError(); }

  double Between() {
    CheckCuda(cudaEventSynchronize(end_.get()), "a call on the GPU");
    float milliseconds = 0;
    CheckCuda(cudaEventElapsedTime(&milliseconds, begin_.get(), end_.get()), "the time of a call");
    return 1e-3 * static_cast<double>(milliseconds);
  }

  // Launches more blocks than SMs, so that every SM gets one.
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
  std::size_t sms_;
  CudaStream stream_;
  CudaEvent begin_, end_;
  HostFlags released_;
  DeviceBuffer stamps_;   // SmStamp [2][sms]
  DeviceBuffer ballast_;  // read to push everything else out of L2
  DeviceBuffer sink_;
  gpu::Nvml nvml_;
};

}  // namespace

gpu::GpuClock OpenCudaClock(int device) {
  CheckCuda(cudaSetDevice(device), "selecting a GPU");
  const auto state = std::make_shared<CudaClock>(device);
  gpu::GpuClock clock;
  clock.once = [state](const gpu::Enqueue& call) { return state->Once(call); };
  clock.batch = [state](const gpu::Enqueue& call, int calls,
                        const std::function<void()>& meanwhile) {
    return state->Batch(call, calls, meanwhile);
  };
  clock.graph = [state](const gpu::Enqueue& call, int calls) -> std::function<double()> {
    const auto exec = state->Instantiated(call, calls);
    return [state, exec] { return state->Replayed(exec->get()); };
  };
  clock.health = [state] { return state->Health(); };
  clock.energy_joules = [state] { return state->EnergyJoules(); };
  clock.flush = [state] { state->Flush(); };
  clock.touch = [state](const void* begin, std::size_t bytes) { state->Read(begin, bytes); };
  clock.recover = [] { RequireWorkingGpu(); };
  clock.default_clock_hz = DefaultClockHz(device);
  return clock;
}

}  // namespace dlroof::cuda
