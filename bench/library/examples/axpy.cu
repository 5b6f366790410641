// y = a x + y on a GPU: the call is started on a stream and timed on the GPU.
#include <dlroof/benchmark.h>

__global__ void Axpy(long n, float a, const float* x, float* y) {
  const long i = blockIdx.x * static_cast<long>(blockDim.x) + threadIdx.x;
  if (i < n) y[i] += a * x[i];
}

static void BM_AxpyGpu(benchmark::State& state) {
  const long n = state.range(0);
  float *x = nullptr, *y = nullptr;
  cudaMalloc(&x, n * sizeof(float));
  cudaMalloc(&y, n * sizeof(float));
  cudaMemset(x, 0, n * sizeof(float));
  cudaMemset(y, 0, n * sizeof(float));
  dlroof::Measure(
      state, {.flops = {{"fp32", 2.0 * n}}, .bytes = {{"dram", 12.0 * n}}},
      [&](cudaStream_t stream) { Axpy<<<(n + 255) / 256, 256, 0, stream>>>(n, 3, x, y); });
  cudaFree(x);
  cudaFree(y);
}
BENCHMARK(BM_AxpyGpu)->RangeMultiplier(16)->Range(1 << 16, 1 << 26)->UseManualTime();
