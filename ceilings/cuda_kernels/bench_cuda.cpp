#include "ceilings/cuda_kernels/bench_cuda.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <stdexcept>

#include "ceilings/cuda_kernels/gemm_cublaslt.h"
#include "ceilings/cuda_kernels/kernels.h"
#include "counters/cpu/clocks.h"
#include "counters/cuda/device.h"

namespace dlroof::cuda_kernels {
namespace {

// The kernel for a row key. `k` is set if rows of one key have two kernels with different k.
struct KernelOfRow {
  const char* key;
  std::optional<int> k;
  GpuKernel* launch;
};
constexpr KernelOfRow kKernels[] = {
    {"fp64.vector.dfma", {}, LaunchDfma},       {"fp32.vector.ffma", {}, LaunchFfma},
    {"fp16.vector.hfma2", {}, LaunchHfma2},     {"bf16.vector.hfma2", {}, LaunchBf16Hfma2},
    {"int8.vector.dp4a", {}, LaunchDp4a},       {"fp16.matrix.mma", 8, LaunchMmaFp16K8},
    {"fp16.matrix.mma", 16, LaunchMmaFp16},     {"bf16.matrix.mma", {}, LaunchMmaBf16},
    {"tf32.matrix.mma", {}, LaunchMmaTf32},     {"int8.matrix.mma", 16, LaunchMmaInt8K16},
    {"int8.matrix.mma", 32, LaunchMmaInt8},     {"fp64.matrix.mma", 4, LaunchMmaFp64K4},
    {"fp64.matrix.mma", 16, LaunchMmaFp64K16},  {"fp8.matrix.mma", {}, LaunchMmaFp8},
    {"fp16.matrix.wgmma", {}, LaunchWgmmaFp16}, {"bf16.matrix.wgmma", {}, LaunchWgmmaBf16},
    {"tf32.matrix.wgmma", {}, LaunchWgmmaTf32}, {"int8.matrix.wgmma", {}, LaunchWgmmaInt8},
    {"fp8.matrix.wgmma", {}, LaunchWgmmaFp8},   {"dram.load.v16", {}, LaunchDramLoad},
    {"dram.store.v16", {}, LaunchStore},        {"dram.copy.v16", {}, LaunchCopy},
    {"dram.triad.v16", {}, LaunchTriad},        {"l2.load.cg16", {}, LaunchL2Load},
    {"l2.store.v16", {}, LaunchStore},          {"l1.load.ca16", {}, LaunchL1Load},
    {"l1.shared.v16", {}, LaunchShared},
};

GpuKernel* FindKernel(const gpu_ceilings::GpuRow& row) {
  for (const auto& kernel : kKernels)
    if (row.key == kernel.key && kernel.k.value_or(row.instruction.k) == row.instruction.k)
      return kernel.launch;
  return nullptr;
}

std::size_t AtLeastOne(std::int64_t bytes) {
  return static_cast<std::size_t>(std::max<std::int64_t>(bytes, 16));
}

// A row with its operands and results in device memory.
class Prepared {
 public:
  Prepared(const gpu_ceilings::GpuRow& row, const gpu_ceilings::GpuShape& shape,
           const gpu::GpuIdentity& gpu)
      : row_(row),
        shape_(shape),
        shared_bytes_(
            gpu_ceilings::ExclusiveSharedBytes(row, static_cast<int>(gpu.shared_bytes_per_sm))),
        operands_(AtLeastOne(gpu_ceilings::GpuOperandBytes(row, shape))),
        results_(AtLeastOne(gpu_ceilings::GpuResultBytes(row, shape))) {
    if (row.unit == gpu_ceilings::GpuUnit::kGemm) gemm_.emplace(row.element, shape.n);
  }

  bool Is(const gpu_ceilings::GpuRow& row, const gpu_ceilings::GpuShape& shape) const {
    return row_.key == row.key && shape_ == shape;
  }

  void SetOperands(const gpu_ceilings::GpuBytes& operands) {
    if (!operands.empty()) operands_.CopyFrom(operands.data());
    results_.Fill(0);
  }

  void SetRandomOperands(int blocks) {
    if (!gpu_ceilings::IsMemory(row_))
      return SetOperands(
          gpu_ceilings::GpuOperands(row_, shape_, gpu_ceilings::GpuOperandKind::kRandom));
    const cuda::CudaStream stream;
    for (auto* buffer : {&operands_, &results_})
      cuda::CheckCuda(
          LaunchFill({blocks, 256, 0, nullptr, buffer->get(), buffer->bytes(), stream.get()}),
          "random data");
    stream.Wait();
  }

  void Start(std::int64_t iterations, cudaStream_t stream) {
    if (gemm_) {
      const auto* a = static_cast<const char*>(operands_.get());
      for (std::int64_t i = 0; i < iterations; ++i)
        gemm_->Run(a, a + operands_.bytes() / 2, results_.get(), stream);
      return;
    }
    auto* const kernel = FindKernel(row_);
    if (kernel == nullptr) throw std::logic_error(fmt::format("{} has no kernel", row_.key));
    cuda::CheckCuda(kernel({shape_.blocks, shape_.threads, iterations, operands_.get(),
                            results_.get(), static_cast<std::size_t>(shape_.set_bytes), stream,
                            static_cast<std::size_t>(shared_bytes_)}),
                    row_.key);
  }

  gpu_ceilings::GpuBytes Results() const {
    gpu_ceilings::GpuBytes results(results_.bytes());
    results_.CopyTo(results.data());
    results.resize(static_cast<std::size_t>(gpu_ceilings::GpuResultBytes(row_, shape_)));
    return results;
  }

  GpuGemm* gemm() { return gemm_ ? &*gemm_ : nullptr; }

 private:
  gpu_ceilings::GpuRow row_;
  gpu_ceilings::GpuShape shape_;
  int shared_bytes_;
  cuda::DeviceBuffer operands_, results_;
  std::optional<GpuGemm> gemm_;
};

class CudaBench : public gpu_ceilings::GpuBench {
 public:
  explicit CudaBench(int device)
      : clock_(cuda::OpenCudaClock(device)), identity_(cuda::ReadGpuIdentity(device)) {}

  gpu_ceilings::GpuDescription Describe() override {
    return {identity_, static_cast<double>(cuda::FreeDeviceBytes()), clock_->DefaultClockHz()};
  }

  void Prepare(const gpu_ceilings::GpuRow& row, const gpu_ceilings::GpuShape& shape) override {
    if (prepared_ && prepared_->Is(row, shape)) return;
    Renew(row, shape);
    prepared_->SetRandomOperands(identity_.sms * 8);
    if (prepared_->gemm() != nullptr) ChooseAlgorithm();
  }

  gpu_ceilings::GpuTime Run(std::int64_t iterations) override {
    gpu_ceilings::GpuTime time;
    const auto batch = clock_->Batch(
        [&](void* stream) { prepared_->Start(iterations, static_cast<cudaStream_t>(stream)); }, 1,
        [&] { time.health = clock_->Health(); });
    time.seconds = batch.seconds;
    time.clock_hz = batch.clock_hz;
    return time;
  }

  gpu_ceilings::GpuBytes Result(const gpu_ceilings::GpuRow& row,
                                const gpu_ceilings::GpuShape& shape,
                                const gpu_ceilings::GpuBytes& operands,
                                std::int64_t iterations) override {
    // A GEMM must be checked with the algorithm that is timed. Prepare() chooses the algorithm, or
    // does nothing if the GEMM is prepared. Other rows have no algorithms.
    if (row.unit != gpu_ceilings::GpuUnit::kGemm)
      Renew(row, shape);
    else
      Prepare(row, shape);
    prepared_->SetOperands(operands);
    const cuda::CudaStream stream;
    prepared_->Start(iterations, stream.get());
    stream.Wait();
    auto results = prepared_->Results();
    // The GEMM stays prepared, because another Prepare() could choose another algorithm.
    if (row.unit == gpu_ceilings::GpuUnit::kGemm)
      prepared_->SetRandomOperands(identity_.sms * 8);
    else
      prepared_.reset();
    return results;
  }

  double Overhead(gpu_ceilings::GpuOverhead kind, std::int64_t times) override {
    prepared_.reset();
    return CudaOverhead(kind, times, *clock_);
  }

 private:
  void Renew(const gpu_ceilings::GpuRow& row, const gpu_ceilings::GpuShape& shape) {
    prepared_.reset();  // frees the old memory before it allocates
    prepared_ = std::make_unique<Prepared>(row, shape, identity_);
  }

  void ChooseAlgorithm() {
    auto& gemm = *prepared_->gemm();
    int best = 0;
    double least = 0;
    for (int i = 0; i < gemm.algorithms(); ++i) {
      gemm.Choose(i);
      Run(1);
      const double seconds = Run(1).seconds;
      if (i > 0 && seconds >= least) continue;
      least = seconds;
      best = i;
    }
    gemm.Choose(best);
  }

  std::unique_ptr<gpu::GpuClock> clock_;
  gpu::GpuIdentity identity_;
  std::unique_ptr<Prepared> prepared_;
};

// Returns the time [s] of `times` empty launches, one after the other, until the last has finished.
double Launches(std::int64_t times, gpu::GpuClock& clock) {
  const cuda::CudaStream stream;
  clock.Empty(stream.get());  // the first launch loads the kernel
  stream.Wait();
  const double begin = cpu::WallSeconds();
  for (std::int64_t i = 0; i < times; ++i) clock.Empty(stream.get());
  stream.Wait();
  return cpu::WallSeconds() - begin;
}

// Returns the time [s] of `times` empty kernels, computed from how much longer 2N kernels take than
// N. The kernels are nodes of a CUDA graph, or queued before the GPU begins.
double Trains(bool in_graph, std::int64_t times, gpu::GpuClock& clock) {
  constexpr int kCalls = 250, kMaxLost = 10;
  const gpu::Enqueue empty = [&](void* stream) { clock.Empty(stream); };
  const auto train = [&](int kernels) -> std::function<gpu::GpuBatch()> {
    if (in_graph) return clock.Graph(empty, kernels);
    return [&, kernels] { return clock.Batch(empty, kernels, {}); };
  };
  const auto single = train(kCalls), twice = train(2 * kCalls);
  single(), twice();  // uploads the graphs
  const auto pairs = (times + kCalls - 1) / kCalls;
  double seconds = 0;
  for (std::int64_t i = 0, lost = 0; i < pairs;) {
    const auto few = single(), many = twice();
    if (few.queued && many.queued)
      seconds += many.seconds - few.seconds, ++i;
    else if (++lost > kMaxLost)
      throw std::runtime_error("the GPU began before all kernels were queued");
  }
  return seconds * static_cast<double>(times) / static_cast<double>(pairs * kCalls);
}

}  // namespace

std::unique_ptr<gpu_ceilings::GpuBench> OpenCudaBench(int device) {
  return std::make_unique<CudaBench>(device);
}

bool HasCudaKernel(const gpu_ceilings::GpuRow& row) { return FindKernel(row) != nullptr; }

double CudaOverhead(gpu_ceilings::GpuOverhead kind, std::int64_t times, gpu::GpuClock& clock) {
  switch (kind) {
    case gpu_ceilings::GpuOverhead::kLaunch:
      return Launches(times, clock);
    case gpu_ceilings::GpuOverhead::kQueued:
      return Trains(false, times, clock);
    case gpu_ceilings::GpuOverhead::kGraphNode:
      return Trains(true, times, clock);
  }
  return 0;
}

}  // namespace dlroof::cuda_kernels

namespace dlroof::gpu_ceilings {

machine::Machine MeasureGpu(const GpuMeasureOptions& options) {
  const auto bench = cuda_kernels::OpenCudaBench(options.device);
  return MeasureGpuOn(*bench, options, cpu::WallSeconds);
}

}  // namespace dlroof::gpu_ceilings
