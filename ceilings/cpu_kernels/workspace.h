// One thread's data: operands and results of arithmetic kernels, arrays of memory kernels.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace dlroof::cpu_kernels {

enum class PageSize { kHuge, kSmall };  // a wish: huge where the system has them; never huge

// Page-aligned memory, written by the thread that makes it, so that it lies in that thread's NUMA
// node. Filled with the byte 0x3f, floats of 0.747: neither zero pages nor denormal numbers.
class Pages {
 public:
  Pages() = default;
  // Throws std::bad_alloc.
  explicit Pages(std::size_t bytes, PageSize page_size = PageSize::kHuge);

  char* begin() const { return begin_; }
  std::size_t size() const { return bytes_; }
  PageSize page_size() const { return page_size_; }

 private:
  struct Unmap {
    std::size_t bytes;
    void operator()(char* mapping) const;
  };

  std::unique_ptr<char, Unmap> mapping_;
  char* begin_ = nullptr;
  std::size_t bytes_ = 0;
  PageSize page_size_ = PageSize::kHuge;
};

struct Workspace {
  // Arithmetic kernels load their operands here, keep everything in registers for all iterations,
  // and accumulate in `accumulators` (loaded before, stored after): nothing is a constant to the
  // compiler, and every result is consumed.
  alignas(64) std::array<std::byte, 4096> operands{};
  alignas(64) std::array<std::byte, 4096> accumulators{};

  // Memory kernels walk through these arrays in steps, from where the last call stopped, and begin
  // again at the end.
  float* arrays[3] = {};
  std::size_t floats = 0;  // in each array; a multiple of the kernel's step
  std::size_t next = 0;    // [float]
  // Memory kernels that only load leave here what they loaded, folded.
  alignas(64) std::array<std::byte, 512> folds{};
};

// Does so many times the kernel's work.
using Kernel = void (*)(Workspace& workspace, std::int64_t iterations);

}  // namespace dlroof::cpu_kernels
