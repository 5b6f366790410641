#include "ceilings/cpu_kernels/bytes.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <new>

namespace dlroof::cpu_kernels {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;
constexpr int kFill = 0x3f;
constexpr std::size_t kPage = 4096, kPad = 256;  // [byte]
constexpr std::size_t kMaxArrays = 3, kWidestStepBytes = 1024;

struct MixRow {
  Mix mix;
  Kernel BytesIsa::*kernel;
};

constexpr MixRow kMixes[] = {
    {{"load", BytesOperation::kLoad, false, nullptr}, &BytesIsa::load},
    {{"store", BytesOperation::kStore, false, nullptr}, &BytesIsa::store},
    {{"copy", BytesOperation::kCopy, false, nullptr}, &BytesIsa::copy},
    {{"triad", BytesOperation::kTriad, false, nullptr}, &BytesIsa::triad},
    {{"update", BytesOperation::kUpdate, false, nullptr}, &BytesIsa::update},
    {{"store-nt", BytesOperation::kStore, true, nullptr}, &BytesIsa::streaming_store},
    {{"copy-nt", BytesOperation::kCopy, true, nullptr}, &BytesIsa::streaming_copy},
    {{"triad-nt", BytesOperation::kTriad, true, nullptr}, &BytesIsa::streaming_triad},
};

// Streams (arrays, named, moved) of each BytesOperation, in the order of the enumeration.
constexpr Streams kStreams[] = {{1, 1, 1}, {1, 1, 2}, {2, 2, 3}, {3, 3, 4}, {1, 2, 2}};

bool Has(const std::set<std::string>& features, const BytesIsa& isa) {
  return std::all_of(std::begin(isa.needs), std::end(isa.needs),
                     [&](const char* need) { return need == nullptr || features.contains(need); });
}

}  // namespace

Pages::Pages(std::size_t bytes) : bytes_(bytes) {
  const std::size_t mapped = bytes + kHugePage;
  void* mapping = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) throw std::bad_alloc();
  mapping_ = {static_cast<char*>(mapping), Unmap{mapped}};
  const auto address = reinterpret_cast<std::uintptr_t>(mapping);
  const std::uintptr_t aligned = (address + kHugePage - 1) / kHugePage * kHugePage;
  begin_ = mapping_.get() + (aligned - address);
  madvise(begin_, mapped - (aligned - address), MADV_HUGEPAGE);
  std::memset(begin_, kFill, bytes_);
}

void Pages::Unmap::operator()(char* mapping) const { munmap(mapping, bytes); }

Streams Mix::OfStreams() const {
  auto streams = kStreams[static_cast<std::size_t>(operation)];
  if (streaming) streams.moved = streams.named;
  return streams;
}

std::vector<const BytesIsa*> BytesIsasFor(const std::set<std::string>& features) {
  std::vector isas = {&BytesAvx512(), &BytesAvx2(), &BytesSse2()};
  std::erase_if(isas, [&](const BytesIsa* isa) { return !Has(features, *isa); });
  return isas;
}

std::vector<Mix> MixesFor(const BytesIsa& isa, Level level) {
  const bool far = level == Level::kL3 || level == Level::kDram;
  std::vector<Mix> mixes;
  for (const auto& [mix, kernel] : kMixes) {
    if (isa.*kernel == nullptr || (mix.streaming && !far)) continue;
    mixes.push_back(mix);
    mixes.back().kernel = isa.*kernel;
  }
  return mixes;
}

std::string TrafficText(const Mix& mix, Level level) {
  if (level == Level::kL1) return {};
  const auto streams = mix.OfStreams();
  if (streams.moved == streams.named)
    return fmt::format("{} stream{} named and moved (modelled)", streams.named,
                       streams.named == 1 ? "" : "s");
  return fmt::format("{} stream{} named, {} moved with write-allocate (modelled)", streams.named,
                     streams.named == 1 ? "" : "s", streams.moved);
}

std::optional<double> MovedPerNamed(const Mix& mix, Level level) {
  if (level == Level::kL1) return std::nullopt;
  const auto streams = mix.OfStreams();
  return static_cast<double>(streams.moved) / streams.named;
}

std::size_t MemoryBytes(double set_bytes) {
  // Reserves for each array its alignment to a page, its offset in the page, and one more step.
  return static_cast<std::size_t>(std::ceil(set_bytes)) +
         kMaxArrays * (kPage + kPad + kWidestStepBytes);
}

void PlaceArrays(char* memory, double set_bytes, int streams, std::size_t step_floats,
                 Workspace& workspace) {
  const double floats = set_bytes / streams / static_cast<double>(sizeof(float));
  const auto steps = static_cast<std::size_t>(floats) / step_floats;
  workspace.floats = std::max<std::size_t>(1, steps) * step_floats;
  workspace.next = 0;
  const std::size_t bytes = workspace.floats * sizeof(float);
  const std::size_t apart = (bytes + kPage - 1) / kPage * kPage + kPad;
  for (std::size_t i = 0; i < kMaxArrays; ++i) {
    const bool used = i < static_cast<std::size_t>(streams);
    workspace.arrays[i] = used ? reinterpret_cast<float*>(memory + i * apart) : workspace.arrays[0];
  }
}

}  // namespace dlroof::cpu_kernels
