#include "counters/gpu_trace/trace_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace dlroof::gpu_trace {
namespace {

constexpr std::size_t kBlockBytes = 256 << 10;  // [byte] more waiting bytes are written as a block
constexpr std::size_t kMaxText = 60'000;        // [byte] longer texts are truncated
constexpr int kMaxFiles = 1000;                 // per process number

int Create(const std::string& folder, std::uint32_t pid) {
  const std::string begin = folder + "/" + std::to_string(pid);
  for (int again = 1; again <= kMaxFiles; ++again) {
    const std::string path = begin + (again == 1 ? "" : "-" + std::to_string(again)) + kFileEnding;
    const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600);
    if (fd >= 0 || errno != EEXIST) return fd;
  }
  return -1;
}

// Writes all bytes. Returns false if that fails.
bool WriteAll(int fd, const char* data, std::size_t bytes) {
  while (bytes > 0) {
    const auto written = write(fd, data, bytes);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    data += written;
    bytes -= static_cast<std::size_t>(written);
  }
  return true;
}

}  // namespace

TraceFile::TraceFile(const std::string& folder, std::uint32_t pid, std::uint64_t most_bytes)
    : fd_(Create(folder, pid)), most_bytes_(most_bytes) {
  waiting_.resize(sizeof(BlockHeader));
  FileHeader header{{}, kVersion, sizeof(FileHeader)};
  std::copy(std::begin(kFileMark), std::end(kFileMark), header.mark);
  if (fd_ >= 0) WriteAll(fd_, reinterpret_cast<const char*>(&header), sizeof header);
}

TraceFile::~TraceFile() { Abandon(); }

void TraceFile::Abandon() {
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
}

void TraceFile::Append(const void* record, std::size_t bytes) {
  const auto* begin = static_cast<const char*>(record);
  waiting_.insert(waiting_.end(), begin, begin + bytes);
  if (waiting_.size() >= kBlockBytes) WriteBlock();
}

void TraceFile::WriteBlock() {
  const std::size_t bytes = waiting_.size() - sizeof(BlockHeader);
  if (bytes == 0) return;
  const char* records = waiting_.data() + sizeof(BlockHeader);
  const BlockHeader header{kBlockMark, static_cast<std::uint32_t>(bytes), Checksum(records, bytes)};
  std::memcpy(waiting_.data(), &header, sizeof header);
  if (fd_ >= 0 && !WriteAll(fd_, waiting_.data(), waiting_.size())) full_ = true;
  written_ += waiting_.size();
  waiting_.resize(sizeof(BlockHeader));
}

bool TraceFile::HasRoom(std::uint64_t at_ns) {
  if (full_) return false;
  if (written_ + waiting_.size() < most_bytes_) return true;
  full_ = true;
  Add(FullRecord{{Kind::kFull, 0}, 0, at_ns});
  return false;
}

std::uint32_t TraceFile::TextNumber(const char* text) {
  if (text == nullptr) text = "";
  const auto known = by_pointer_.find(text);
  if (known != by_pointer_.end() && *texts_[known->second] == text) return known->second;
  std::string copy(text, strnlen(text, kMaxText));
  const auto [found, added] =
      by_text_.try_emplace(std::move(copy), static_cast<std::uint32_t>(texts_.size()));
  by_pointer_[text] = found->second;
  if (!added) return found->second;
  texts_.push_back(&found->first);
  const std::size_t padded = (found->first.size() + 7) / 8 * 8;
  const TextRecord header{
      {Kind::kText, static_cast<std::uint16_t>((sizeof(TextRecord) + padded) / 8)},
      found->second,
      static_cast<std::uint32_t>(found->first.size()),
      0};
  std::string bytes = found->first;
  bytes.resize(padded);
  bytes.insert(0, reinterpret_cast<const char*>(&header), sizeof header);
  Append(bytes.data(), bytes.size());
  return found->second;
}

std::uint32_t TraceFile::KernelNumber(KernelRecord kernel) {
  kernel.header = {Kind::kKernel, 0};
  kernel.number = 0;
  const auto [found, added] =
      kernels_.try_emplace(kernel, static_cast<std::uint32_t>(kernels_.size()));
  if (!added) return found->second;
  kernel.number = found->second;
  Add(kernel);
  return found->second;
}

std::size_t TraceFile::KernelHash::operator()(const KernelRecord& kernel) const {
  return Checksum(reinterpret_cast<const char*>(&kernel), sizeof kernel);
}

bool TraceFile::SameKernel::operator()(const KernelRecord& a, const KernelRecord& b) const {
  return std::memcmp(&a, &b, sizeof a) == 0;
}

}  // namespace dlroof::gpu_trace
