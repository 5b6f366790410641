#include "ceilings/cpu_kernels/bytes.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <new>

#include "counters/base/error.h"
#include "counters/base/keys.h"

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

constexpr std::size_t kPagesPerArray = 8;
constexpr std::size_t kSteps = 5, kFirst = 3, kSecond = 4;  // [step] array, 1st and 2nd call

std::size_t PageBytes() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

// Throws std::bad_alloc.
Mapping Map(std::size_t bytes) {
  void* mapping = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) throw std::bad_alloc();
  return {static_cast<char*>(mapping), Unmap{bytes}};
}

// Returns new memory on small pages. No page is resident before its first access.
Mapping NewPages(std::size_t pages) {
  auto memory = Map(pages * PageBytes());
  madvise(memory.get(), pages * PageBytes(), MADV_NOHUGEPAGE);
  return memory;
}

// Returns for each page whether it is resident, or nullopt if mincore fails.
std::optional<std::vector<bool>> Resident(const Mapping& memory) {
  const auto bytes = memory.get_deleter().bytes;
  std::vector<unsigned char> flags(bytes / PageBytes());
  if (mincore(memory.get(), bytes, flags.data()) != 0) return std::nullopt;
  return VectorOf<bool>(flags, [](const auto flag) { return (flag & 1U) != 0; });
}

// Returns the index of an array's first page. Pages between arrays must not be accessed.
std::size_t FirstPage(std::size_t array) { return 1 + array * (kPagesPerArray + 1); }

// Returns nullopt if just the first `pages` pages of each array are resident, or why they are not.
std::optional<Reason> WrongPages(const std::optional<std::vector<bool>>& resident, int arrays,
                                 std::size_t pages) {
  if (!resident) return Reason{"the system stopped reporting which pages it accesses"};
  std::vector<bool> expected(resident->size());
  for (int array = 0; array < arrays; ++array)
    for (std::size_t page = 0; page < pages; ++page)
      expected[FirstPage(static_cast<std::size_t>(array)) + page] = true;
  if (*resident == expected) return std::nullopt;
  return Reason{fmt::format("it accessed {} pages, and its bytes are on {} pages",
                            std::ranges::count(*resident, true),
                            static_cast<std::size_t>(arrays) * pages)};
}

KernelValidation ValidatePages(const Mix& mix, const BytesIsa& isa) {
  const int arrays = mix.OfStreams().arrays;
  const auto memory = NewPages(FirstPage(static_cast<std::size_t>(arrays)));
  const auto unused = Resident(memory);
  if (!unused || std::ranges::count(*unused, true) > 0)
    return {true, "the system does not report which pages it accesses"};
  const auto workspace = std::make_unique<Workspace>();
  workspace->floats = kPagesPerArray * PageBytes() / sizeof(float);
  for (int i = 0; i < arrays; ++i)
    workspace->arrays[i] = reinterpret_cast<float*>(
        memory.get() + FirstPage(static_cast<std::size_t>(i)) * PageBytes());
  if (arrays == 1) workspace->arrays[1] = workspace->arrays[0];
  const auto steps = workspace->floats / isa.step_floats;
  for (const std::size_t pages : {kPagesPerArray / 2, kPagesPerArray}) {
    mix.kernel(*workspace, static_cast<std::int64_t>(steps / 2));
    if (const auto wrong = WrongPages(Resident(memory), arrays, pages)) return {false, wrong->text};
  }
  return {true, fmt::format("it accesses the {} pages that it counts", arrays * kPagesPerArray)};
}

// Returns a float with pseudorandom bits (constants of MurmurHash3), so that the exclusive or of
// several floats never cancels. Its mantissa has 11 bits, so that triads are exact without FMA too.
float MixedFloat(std::size_t i) {
  auto bits = static_cast<std::uint32_t>(i + 1) * 0x85ebca6bU;
  bits = (bits ^ (bits >> 13)) * 0xc2b2ae35U;
  return std::bit_cast<float>(0x3f800000U | (bits >> 21 << 12));
}

// A workspace with arrays in which every element is different.
struct Content {
  Pages memory;
  Workspace workspace;

  // Each array begins `apart` floats after the previous array.
  Content(int arrays, std::size_t floats, std::size_t apart)
      : memory((3 * (floats + apart) + 48) * sizeof(float)) {
    auto* first = reinterpret_cast<float*>(memory.begin());
    for (std::size_t i = 0; i < memory.size() / sizeof(float); ++i) first[i] = MixedFloat(i);
    for (int i = 0; i < 3; ++i)
      workspace.arrays[i] = first + static_cast<std::size_t>(i < arrays ? i : 0) * apart;
    workspace.floats = floats;
  }
};

// Returns the expected element i of the result, which is element `lane` of a vector.
float Result(BytesOperation operation, const Workspace& workspace, std::size_t i,
             std::size_t lane) {
  const auto& [to, from, scaled] = workspace.arrays;
  switch (operation) {
    case BytesOperation::kLoad:
      return to[i];
    case BytesOperation::kStore:
      return kStoredVector[lane];
    case BytesOperation::kCopy:
      return from[i];
    case BytesOperation::kTriad:
      return from[i] + kBytesScale * scaled[i];
    case BytesOperation::kUpdate:
      return std::bit_cast<float>(std::bit_cast<std::uint32_t>(from[i]) ^ kFlippedBits[lane]);
  }
  return 0;
}

// Reference loop. As the kernel does, loads each vector of `width` floats before it stores one.
void RunPlainLoops(BytesOperation operation, std::size_t width, std::size_t step, std::size_t steps,
                   Workspace& workspace) {
  std::vector<float> vector(width);
  for (; steps > 0; --steps) {
    for (std::size_t i = workspace.next; i < workspace.next + step; i += width) {
      for (std::size_t j = 0; j < width; ++j) vector[j] = Result(operation, workspace, i + j, j);
      std::ranges::copy(vector, workspace.arrays[0] + i);
    }
    workspace.next = (workspace.next + step) % workspace.floats;
  }
}

bool SameContent(const Content& left, const Content& right) {
  return std::memcmp(left.memory.begin(), right.memory.begin(), left.memory.size()) == 0 &&
         left.workspace.next == right.workspace.next;
}

KernelValidation ValidateResults(const Mix& mix, const BytesIsa& isa) {
  const int arrays = mix.OfStreams().arrays;
  const std::size_t floats = kSteps * isa.step_floats;
  Content ours(arrays, floats, floats), plain(arrays, floats, floats);
  for (const auto steps : {kFirst, kSecond}) {
    mix.kernel(ours.workspace, static_cast<std::int64_t>(steps));
    RunPlainLoops(mix.operation, isa.vector_floats, isa.step_floats, steps, plain.workspace);
    if (!SameContent(ours, plain))
      return {false,
              fmt::format("after {} steps its arrays differ from those of a plain loop", steps)};
  }
  return {true, "its arrays equal those of a plain loop"};
}

KernelValidation ValidateFolds(const Mix& mix, const BytesIsa& isa) {
  Content content(1, kSteps * isa.step_floats, 0);
  auto& workspace = content.workspace;
  for (const auto steps : {kFirst, kSecond}) {
    std::vector<std::uint32_t> expected(kFolds * isa.vector_floats), folds(expected.size());
    for (std::size_t i = 0; i < steps * isa.step_floats; ++i)
      expected[i % expected.size()] ^= std::bit_cast<std::uint32_t>(
          workspace.arrays[0][(workspace.next + i) % workspace.floats]);
    mix.kernel(workspace, static_cast<std::int64_t>(steps));
    std::memcpy(folds.data(), workspace.folds.data(), folds.size() * sizeof(folds[0]));
    if (folds != expected)
      return {false, fmt::format("after {} steps it has not loaded every vector of {} byte once",
                                 steps, isa.vector_floats * sizeof(float))};
  }
  return {true, "it loaded every element once"};
}

// The kernel writes to an array that overlaps the array that it reads (ValidateBytesKernel, Width).
KernelValidation ValidateOrder(const Mix& mix, const BytesIsa& isa) {
  const std::size_t offset = mix.streaming ? isa.vector_floats : isa.vector_floats / 2;
  const std::size_t floats = kSteps * isa.step_floats;
  Content ours(3, floats, 0), plain(3, floats, 0);
  for (auto* content : {&ours, &plain}) {
    content->workspace.arrays[0] += offset;
    content->workspace.arrays[2] += floats + isa.step_floats;
  }
  mix.kernel(ours.workspace, kFirst);
  RunPlainLoops(mix.operation, isa.vector_floats, isa.step_floats, kFirst, plain.workspace);
  const auto vector_bytes = isa.vector_floats * sizeof(float);
  if (!SameContent(ours, plain))
    return {false,
            fmt::format("it does not use vectors of {} byte one after the other: its loop may "
                        "have become a call of memcpy, or its vectors have another width",
                        vector_bytes)};
  return {true, fmt::format("it uses vectors of {} byte one after the other", vector_bytes)};
}

}  // namespace

Pages::Pages(std::size_t bytes) : bytes_(bytes) {
  const std::size_t mapped = bytes + kHugePage;
  mapping_ = Map(mapped);
  const auto address = reinterpret_cast<std::uintptr_t>(mapping_.get());
  const std::uintptr_t aligned = (address + kHugePage - 1) / kHugePage * kHugePage;
  begin_ = mapping_.get() + (aligned - address);
  madvise(begin_, mapped - (aligned - address), MADV_HUGEPAGE);
  std::memset(begin_, kFill, bytes_);
}

void Unmap::operator()(char* mapping) const { munmap(mapping, bytes); }

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

KernelValidation ValidateBytesKernel(const Mix& mix, const BytesIsa& isa) {
  std::vector<KernelValidation> checks = {ValidateResults(mix, isa)};
  if (mix.operation == BytesOperation::kLoad)
    checks.push_back(ValidateFolds(mix, isa));
  else if (mix.operation != BytesOperation::kStore)
    checks.push_back(ValidateOrder(mix, isa));
  checks.push_back(ValidatePages(mix, isa));
  KernelValidation all{true, {}};
  for (const auto& check : checks) {
    if (!check.passed) return check;
    all.text += (all.text.empty() ? "" : ", ") + check.text;
  }
  return all;
}

}  // namespace dlroof::cpu_kernels
