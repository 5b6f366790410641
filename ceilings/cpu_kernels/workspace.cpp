#include "ceilings/cpu_kernels/workspace.h"

#include <sys/mman.h>

#include <cstring>
#include <new>
#include <utility>

namespace dlroof {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;
constexpr int kFill = 0x3f;

}  // namespace

Pages::Pages(std::size_t bytes, PageSize page_size)
    : mapped_bytes_(bytes + kHugePage), bytes_(bytes), page_size_(page_size) {
  mapping_ =
      mmap(nullptr, mapped_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping_ == MAP_FAILED) {
    mapping_ = nullptr;
    throw std::bad_alloc();
  }
  const auto address = reinterpret_cast<std::uintptr_t>(mapping_);
  const std::uintptr_t aligned = (address + kHugePage - 1) / kHugePage * kHugePage;
  begin_ = static_cast<char*>(mapping_) + (aligned - address);
  // With small pages the kernel's TLB misses are part of the measured rate.
  madvise(begin_, mapped_bytes_ - (aligned - address),
          page_size == PageSize::kHuge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
  std::memset(begin_, kFill, bytes_);
}

Pages::~Pages() {
  if (mapping_ != nullptr) munmap(mapping_, mapped_bytes_);
}

Pages::Pages(Pages&& other) noexcept { *this = std::move(other); }

Pages& Pages::operator=(Pages&& other) noexcept {
  std::swap(mapping_, other.mapping_);
  std::swap(mapped_bytes_, other.mapped_bytes_);
  std::swap(begin_, other.begin_);
  std::swap(bytes_, other.bytes_);
  std::swap(page_size_, other.page_size_);
  return *this;
}

}  // namespace dlroof
