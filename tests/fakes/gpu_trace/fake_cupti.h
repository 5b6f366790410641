// What a test's program may do to the fake libcupti: fake work of a GPU, of which it returns
// activity records in CUPTI's own layouts.
#pragma once

#include <cstdint>

extern "C" {
struct FakeKernel {
  const char* name;
  int grid[3], block[3];
  int shared_bytes;
  std::uint64_t begin_ns, duration_ns;
  std::uint32_t stream, graph;
  std::uint64_t graph_node;
};
struct FakeCopy {
  int kind;  // CUpti_ActivityMemcpyKind
  int pageable;
  std::uint64_t bytes, begin_ns, duration_ns;
  std::uint32_t stream;
};
void FakeLaunch(const FakeKernel* kernel);
void FakeCopyMemory(const FakeCopy* copy);
void FakeFill(std::uint64_t bytes, std::uint64_t begin_ns, std::uint64_t duration_ns,
              std::uint32_t stream);
void FakeDrop(std::uint64_t records);
// Sets the clock, which never goes back, and goes on by 1 ns with each reading.
void FakeNow(std::uint64_t ns);
// Returns whether records of kernels are wanted, and whether of each node of a CUDA graph, not of
// the graph as a whole. Both slow programs down.
bool FakeTracesKernels();
bool FakeTracesNodes();
// Whether records of this function of CUDA's runtime are wanted.
void FakeTraceCall(std::uint32_t function, bool traced);
}
