// Memory of this machine: what does not fit, and memory whose pages repeat.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace dlroof::workload {

// Refuses workloads that do not fit: Linux hands out more memory than there is and later kills the
// program that uses it, which would end the whole run. Throws Unsupported, naming both sizes, when
// `bytes` exceed what may be allocated without swapping or being killed (system and control groups;
// not checked where the system does not say). `what` names the workload.
void RequireHostMemory(double bytes, std::string_view what);

// Memory whose pages repeat: a kernel walks as many addresses as ever, but its data lie in a few
// bytes, which a near cache holds. The distance of its data cost as much as it then runs faster.
class FoldedMemory {
 public:
  // Maps `bytes` addresses, the first a multiple of 2 MiB, onto memory of `distinct` bytes, rounded
  // up to pages, again and again. All pages are there, and zero. Pages have the system's smallest
  // size. Throws std::system_error.
  FoldedMemory(std::size_t bytes, std::size_t distinct);
  FoldedMemory(FoldedMemory&& other) noexcept;
  FoldedMemory& operator=(FoldedMemory&&) = delete;
  ~FoldedMemory();

  void* begin() const { return begin_; }
  std::size_t distinct() const { return distinct_; }  // [byte]

 private:
  void Map(std::size_t bytes);

  void* reserved_ = nullptr;
  std::size_t reserved_bytes_ = 0;
  void* begin_ = nullptr;
  std::size_t distinct_ = 0;
};

// [byte] of each tensor's memory so that all together have at most `most`: small tensors have
// theirs whole, the others share the rest evenly. Sums may exceed `most` by less than a page each.
std::vector<std::size_t> DistinctBytes(const std::vector<std::size_t>& tensors, double most);

}  // namespace dlroof::workload
