#include "ceilings/cpu_kernels/workspace.h"

#include <sys/mman.h>

#include <cstring>
#include <new>

namespace dlroof::cpu_kernels {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;
constexpr int kFill = 0x3f;

}  // namespace

Pages::Pages(std::size_t bytes, PageSize page_size) : bytes_(bytes), page_size_(page_size) {
  const std::size_t mapped = bytes + kHugePage;
  void* mapping = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) throw std::bad_alloc();
  mapping_ = {static_cast<char*>(mapping), Unmap{mapped}};
  const auto address = reinterpret_cast<std::uintptr_t>(mapping);
  const std::uintptr_t aligned = (address + kHugePage - 1) / kHugePage * kHugePage;
  begin_ = mapping_.get() + (aligned - address);
  // With small pages the kernel's TLB misses are part of the measured rate.
  madvise(begin_, mapped - (aligned - address),
          page_size == PageSize::kHuge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
  std::memset(begin_, kFill, bytes_);
}

void Pages::Unmap::operator()(char* mapping) const { munmap(mapping, bytes); }

}  // namespace dlroof::cpu_kernels
