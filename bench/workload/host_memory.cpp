#include "bench/workload/host_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <numeric>
#include <system_error>
#include <utility>

#include "counters/base/error.h"
#include "counters/cpu/cpu.h"

namespace dlroof::workload {
namespace {

constexpr std::size_t kAlignment = std::size_t{2} << 20;

std::size_t RoundedUp(std::size_t bytes, std::size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

std::size_t PageBytes() {
  static const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

[[noreturn]] void Refuse(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

}  // namespace

void RequireHostMemory(double bytes, std::string_view what) {
  const auto available = cpu::AvailableMemoryBytes();
  if (available && bytes > *available)
    throw Unsupported("{} needs {:.3g} GB of memory, {:.3g} GB can be allocated here", what,
                      bytes / 1e9, *available / 1e9);
}

FoldedMemory::FoldedMemory(std::size_t bytes, std::size_t distinct)
    : distinct_(RoundedUp(std::clamp<std::size_t>(distinct, 1, std::max<std::size_t>(bytes, 1)),
                          PageBytes())) {
  bytes = RoundedUp(std::max<std::size_t>(bytes, 1), PageBytes());
  reserved_bytes_ = bytes + kAlignment;
  reserved_ = mmap(nullptr, reserved_bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (reserved_ == MAP_FAILED) Refuse("reserving addresses for a tensor");
  begin_ =
      reinterpret_cast<void*>(RoundedUp(reinterpret_cast<std::uintptr_t>(reserved_), kAlignment));
  try {
    Map(bytes);
  } catch (...) {
    munmap(reserved_, reserved_bytes_);
    throw;
  }
}

void FoldedMemory::Map(std::size_t bytes) {
  const int file = memfd_create("dlroof tensor", MFD_CLOEXEC);
  if (file < 0) Refuse("memory for a tensor");
  bool mapped = ftruncate(file, static_cast<off_t>(distinct_)) == 0;
  for (std::size_t at = 0; mapped && at < bytes; at += distinct_)
    mapped =
        mmap(static_cast<std::byte*>(begin_) + at, std::min(distinct_, bytes - at),
             PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_POPULATE, file, 0) != MAP_FAILED;
  const int why = errno;
  close(file);
  errno = why;
  if (!mapped) Refuse("mapping a tensor's pages");
}

FoldedMemory::FoldedMemory(FoldedMemory&& other) noexcept
    : reserved_(std::exchange(other.reserved_, nullptr)),
      reserved_bytes_(other.reserved_bytes_),
      begin_(other.begin_),
      distinct_(other.distinct_) {}

FoldedMemory::~FoldedMemory() {
  if (reserved_ != nullptr) munmap(reserved_, reserved_bytes_);
}

std::vector<std::size_t> DistinctBytes(const std::vector<std::size_t>& tensors, double most) {
  std::vector<std::size_t> order(tensors.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, {}, [&](std::size_t i) { return tensors[i]; });
  std::vector<std::size_t> distinct(tensors.size());
  for (std::size_t rank = 0; rank < order.size(); ++rank) {
    const auto whole = static_cast<double>(tensors[order[rank]]);
    const double taken = std::min(whole, most / static_cast<double>(order.size() - rank));
    distinct[order[rank]] = static_cast<std::size_t>(taken);
    most -= taken;
  }
  return distinct;
}

}  // namespace dlroof::workload
