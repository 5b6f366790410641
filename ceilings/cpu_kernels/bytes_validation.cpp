#include "ceilings/cpu_kernels/bytes_validation.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>

namespace dlroof::cpu_kernels {
namespace {

constexpr std::size_t kPagesPerArray = 8;
constexpr std::size_t kSteps = 5, kFirst = 3, kSecond = 4;  // kFirst + kSecond: past the end

std::size_t PageBytes() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

// Memory that nobody touched yet, on small pages.
class FreshPages {
 public:
  explicit FreshPages(std::size_t pages) : bytes_(pages * PageBytes()) {
    begin_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (begin_ == MAP_FAILED) throw std::bad_alloc();
    madvise(begin_, bytes_, MADV_NOHUGEPAGE);
  }
  ~FreshPages() { munmap(begin_, bytes_); }
  FreshPages(const FreshPages&) = delete;
  FreshPages& operator=(const FreshPages&) = delete;

  float* Page(std::size_t page) const {
    return reinterpret_cast<float*>(static_cast<char*>(begin_) + page * PageBytes());
  }
  // Returns for each page whether it is resident; empty where the system does not tell.
  std::vector<bool> Touched() const {
    std::vector<unsigned char> resident(bytes_ / PageBytes());
    if (mincore(begin_, bytes_, resident.data()) != 0) return {};
    std::vector<bool> touched;
    touched.reserve(resident.size());
    for (const auto page : resident) touched.push_back((page & 1U) != 0);
    return touched;
  }

 private:
  void* begin_;
  std::size_t bytes_;
};

// A page between the arrays, and one at each end, that nobody may touch.
std::size_t FirstPage(std::size_t array) { return 1 + array * (kPagesPerArray + 1); }

// Empty: as it must be. `pages` of each array were walked.
std::string TouchedWrongly(const std::vector<bool>& touched, int arrays, std::size_t pages) {
  std::vector<bool> expected(touched.size());
  for (int array = 0; array < arrays; ++array)
    for (std::size_t page = 0; page < pages; ++page)
      expected[FirstPage(static_cast<std::size_t>(array)) + page] = true;
  if (touched == expected) return {};
  return fmt::format("it touched {} pages where its bytes are {} pages",
                     std::ranges::count(touched, true), static_cast<std::size_t>(arrays) * pages);
}

struct Look {
  std::string wrong;  // empty: nothing is
  std::string right;
};

Look LookAtPages(const Mix& mix, const BytesIsa& isa) {
  const int arrays = mix.OfStreams().arrays;
  const FreshPages memory(FirstPage(static_cast<std::size_t>(arrays)));
  const auto contender = memory.Touched();
  if (contender.empty() || std::ranges::count(contender, true) > 0)
    return {{}, "the system does not tell which pages it touched"};
  const auto workspace = std::make_unique<Workspace>();
  workspace->floats = kPagesPerArray * PageBytes() / sizeof(float);
  for (int i = 0; i < arrays; ++i)
    workspace->arrays[i] = memory.Page(FirstPage(static_cast<std::size_t>(i)));
  if (arrays == 1) workspace->arrays[1] = workspace->arrays[0];
  const auto steps = workspace->floats / isa.step_floats;
  for (const std::size_t pages : {kPagesPerArray / 2, kPagesPerArray}) {
    mix.kernel(*workspace, static_cast<std::int64_t>(steps / 2));
    if (auto wrong = TouchedWrongly(memory.Touched(), arrays, pages); !wrong.empty())
      return {wrong, {}};
  }
  return {{}, fmt::format("it touches the {} pages that it counts", arrays * kPagesPerArray)};
}

// Numbers whose bits are unlike: no few of them cancel each other in an exclusive or (the constants
// are MurmurHash3's). Values have 11 bits, so that the sums of a triad are exact, fused or not.
float Unlike(std::size_t i) {
  auto bits = static_cast<std::uint32_t>(i + 1) * 0x85ebca6bU;
  bits = (bits ^ (bits >> 13)) * 0xc2b2ae35U;
  return std::bit_cast<float>(0x3f800000U | (bits >> 21 << 12));
}

// Arrays on memory of their own, with content that tells every element from the others.
struct Content {
  std::vector<float> memory;
  Workspace workspace;

  // Array i > 0 begins `apart` floats after array i - 1.
  Content(int arrays, std::size_t floats, std::size_t apart) : memory(3 * (floats + apart) + 64) {
    for (std::size_t i = 0; i < Size(); ++i) Aligned()[i] = Unlike(i);
    for (int i = 0; i < 3; ++i)
      workspace.arrays[i] = Aligned() + static_cast<std::size_t>(i < arrays ? i : 0) * apart;
    workspace.floats = floats;
  }
  Content(const Content&) = delete;
  Content& operator=(const Content&) = delete;

  std::size_t Size() const { return memory.size() - 16; }
  float* Aligned() {
    void* begin = memory.data();
    std::size_t space = memory.size() * sizeof(float);
    return static_cast<float*>(std::align(64, sizeof(float), begin, space));
  }
};

// Returns the result for element i, which is element `lane` of its vector.
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

// Computes the kernel's results in plain loops over vectors of `width` floats. It reads all of a
// vector before it writes any of it.
void Plainly(BytesOperation operation, std::size_t width, std::size_t step, std::size_t steps,
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

bool SameContent(Content& left, Content& right) {
  return std::equal(left.Aligned(), left.Aligned() + left.Size(), right.Aligned()) &&
         left.workspace.next == right.workspace.next;
}

Look LookAtResults(const Mix& mix, const BytesIsa& isa) {
  const int arrays = mix.OfStreams().arrays;
  const std::size_t floats = kSteps * isa.step_floats;
  Content ours(arrays, floats, floats), plain(arrays, floats, floats);
  for (const auto steps : {kFirst, kSecond}) {
    mix.kernel(ours.workspace, static_cast<std::int64_t>(steps));
    Plainly(mix.operation, isa.vector_floats, isa.step_floats, steps, plain.workspace);
    if (!SameContent(ours, plain))
      return {fmt::format("after {} steps its arrays differ from those of a plain loop", steps),
              {}};
  }
  return {{}, "leaves what a plain loop leaves"};
}

// The exclusive or of every loaded element, each in the place of the register that its vector goes
// to: a vector that was left out, loaded twice, or of another width leaves others.
Look LookAtFolds(const Mix& mix, const BytesIsa& isa) {
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
      return {fmt::format("after {} steps it has not loaded every vector of {} byte once", steps,
                          isa.vector_floats * sizeof(float)),
              {}};
  }
  return {{}, "what it loaded holds every element once"};
}

Look LookAtOrder(const Mix& mix, const BytesIsa& isa) {
  const std::size_t behind = mix.streaming ? isa.vector_floats : isa.vector_floats / 2;
  const std::size_t floats = kSteps * isa.step_floats;
  Content ours(3, floats, 0), plain(3, floats, 0);
  for (auto* content : {&ours, &plain}) {
    content->workspace.arrays[0] += behind;
    content->workspace.arrays[2] += floats + isa.step_floats;
  }
  mix.kernel(ours.workspace, kFirst);
  Plainly(mix.operation, isa.vector_floats, isa.step_floats, kFirst, plain.workspace);
  const auto vector_bytes = isa.vector_floats * sizeof(float);
  if (!SameContent(ours, plain))
    return {fmt::format("it does not work on vectors of {} byte, one after the other, as if its "
                        "loop were a call of memcpy or its vectors of another width",
                        vector_bytes),
            {}};
  return {{}, fmt::format("works on vectors of {} byte, one after the other", vector_bytes)};
}

}  // namespace

KernelValidation ProveBytesKernel(const Mix& mix, const BytesIsa& isa) {
  KernelValidation validation{true, {}};
  const auto take = [&](const Look& look) {
    if (!validation.passed) return;
    validation.passed = look.wrong.empty();
    if (!validation.passed)
      validation.text = look.wrong;
    else
      validation.text =
          validation.text.empty() ? look.right : fmt::format("{}, {}", validation.text, look.right);
  };
  take(LookAtResults(mix, isa));
  if (mix.operation == BytesOperation::kLoad)
    take(LookAtFolds(mix, isa));
  else if (mix.operation != BytesOperation::kStore)
    take(LookAtOrder(mix, isa));
  take(LookAtPages(mix, isa));
  return validation;
}

}  // namespace dlroof::cpu_kernels
