// Templates of the memory kernels. Files that include them define a file-local vector type V, so
// that each file's kernels are compiled for its own instruction set.
//
// V has: Vector; kFloats; kAccumulators (sums of the ridge kernels); Load(p) and Store(p, v) at any
// address; Stream(p, v) and EndStream() (non-temporal stores); Same(x); bitwise Xor(a, b);
// MultiplyAdd(a, b, c) = a * b + c; Opaque(v): the compiler must compute v and forget its value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "ceilings/cpu_kernels/bytes.h"

namespace dlroof::cpu_kernels {

inline constexpr std::size_t kVectorsPerStep = 16;

template <class V>
inline constexpr std::size_t kStepFloats = V::kFloats* kVectorsPerStep;

// A kernel's position in the workspace's arrays. It advances in steps from where the last call
// stopped and returns to 0 at the end. Each kernel has a local Walk, which stays in registers: a
// position in memory would make each step wait for the last one's store. Step has no branch,
// because one misprediction at the end would cost 10 % or more of a pass over a small array. The
// asm in At avoids addresses with an index register, which Intel's third store port cannot use.
template <class V>
class Walk {
 public:
  [[gnu::always_inline]] explicit Walk(const Workspace& workspace)
      : first_(workspace.arrays[0]),
        second_(workspace.arrays[1]),
        third_(workspace.arrays[2]),
        floats_(workspace.floats),
        next_(workspace.next) {}

  [[gnu::always_inline]] float* First() const { return At(first_); }
  [[gnu::always_inline]] float* Second() const { return At(second_); }
  [[gnu::always_inline]] float* Third() const { return At(third_); }
  [[gnu::always_inline]] void Step() {
    next_ += kStepFloats<V>;
    next_ &= std::size_t{0} - static_cast<std::size_t>(next_ < floats_);
  }
  [[gnu::always_inline]] void Save(Workspace& workspace) const { workspace.next = next_; }

 private:
  [[gnu::always_inline]] float* At(float* array) const {
    float* here = array + next_;
    asm volatile("" : "+r"(here));
    return here;
  }

  float *first_, *second_, *third_;
  std::size_t floats_, next_;  // [float]
};

// Calls visit(std::integral_constant) for 0 ... kCount - 1. The constants unroll the loop, so that
// arrays indexed by them stay in registers.
template <std::size_t kCount, class Visit>
[[gnu::always_inline]] inline void ForEachIndex(const Visit& visit) {
  [&]<std::size_t... kIndex>(std::index_sequence<kIndex...>) __attribute__((always_inline)) {
    (visit(std::integral_constant<std::size_t, kIndex>()), ...);
  }
  (std::make_index_sequence<kCount>());
}

// Combines all loaded vectors by exclusive or: the compiler would delete unused loads, and the
// result shows which vectors were loaded. An exclusive or needs no execution port of the loads, and
// does not lower the clock as AVX-512 arithmetic may. kFolds registers hide its latency.
template <class V>
void LoadKernel(Workspace& workspace, std::int64_t iterations) {
  Walk<V> walk(workspace);
  typename V::Vector folds[kFolds];
  ForEachIndex<kFolds>([&](auto i) __attribute__((always_inline)) { folds[i] = V::Same(0); });
  for (; iterations > 0; --iterations) {
    const float* from = walk.First();
    ForEachIndex<kVectorsPerStep>([&](auto i) __attribute__((always_inline)) {
      auto& fold = folds[i % kFolds];
      fold = V::Xor(fold, V::Load(from + V::kFloats * i));
      V::Opaque(fold);  // keeps the order of loads; other orders halve Zen 5's L2 rate
    });
    walk.Step();
  }
  walk.Save(workspace);
  auto* results = reinterpret_cast<float*>(workspace.folds.data());
  ForEachIndex<kFolds>([&](auto i) __attribute__((always_inline)) {
    V::Store(results + V::kFloats * i, folds[i]);
  });
}

template <class V>
struct Stored {
  [[gnu::always_inline]] static void Put(float* to, typename V::Vector value) {
    V::Store(to, value);
  }
  [[gnu::always_inline]] static void End() {}
};

template <class V>
struct Streamed {
  [[gnu::always_inline]] static void Put(float* to, typename V::Vector value) {
    V::Stream(to, value);
  }
  [[gnu::always_inline]] static void End() { V::EndStream(); }
};

template <class V, class Way>
void StoreKernel(Workspace& workspace, std::int64_t iterations) {
  Walk<V> walk(workspace);
  auto value = V::Load(kStoredVector);
  V::Opaque(value);
  for (; iterations > 0; --iterations) {
    float* to = walk.First();
    for (std::size_t i = 0; i < kVectorsPerStep; ++i) Way::Put(to + V::kFloats * i, value);
    walk.Step();
  }
  walk.Save(workspace);
  Way::End();
}

template <class V, class Way>
void CopyKernel(Workspace& workspace, std::int64_t iterations) {
  Walk<V> walk(workspace);
  for (; iterations > 0; --iterations) {
    float* to = walk.First();
    const float* from = walk.Second();
    for (std::size_t i = 0; i < kVectorsPerStep; ++i) {
      auto value = V::Load(from + V::kFloats * i);
      V::Opaque(value);  // otherwise the loop becomes a call of memcpy
      Way::Put(to + V::kFloats * i, value);
    }
    walk.Step();
  }
  walk.Save(workspace);
  Way::End();
}

template <class V, class Way>
void TriadKernel(Workspace& workspace, std::int64_t iterations) {
  Walk<V> walk(workspace);
  auto scale = V::Same(kBytesScale);
  V::Opaque(scale);
  for (; iterations > 0; --iterations) {
    float* to = walk.First();
    const float* from = walk.Second();
    const float* scaled = walk.Third();
    for (std::size_t i = 0; i < kVectorsPerStep; ++i)
      Way::Put(to + V::kFloats * i, V::MultiplyAdd(scale, V::Load(scaled + V::kFloats * i),
                                                   V::Load(from + V::kFloats * i)));
    walk.Step();
  }
  walk.Save(workspace);
  Way::End();
}

// Flips bits instead of computing: on Cascade Lake an AVX-512 multiplication would lower the clock,
// and with it L1 and L2 bandwidth, by 11 %; flipped elements also never overflow. Reads and writes
// one array by two pointers, which the validation sets to different arrays.
template <class V>
void UpdateKernel(Workspace& workspace, std::int64_t iterations) {
  Walk<V> walk(workspace);
  auto flipped = V::Load(reinterpret_cast<const float*>(kFlippedBits));
  V::Opaque(flipped);
  for (; iterations > 0; --iterations) {
    float* to = walk.First();
    const float* from = walk.Second();
    for (std::size_t i = 0; i < kVectorsPerStep; ++i)
      V::Store(to + V::kFloats * i, V::Xor(flipped, V::Load(from + V::kFloats * i)));
    walk.Step();
  }
  walk.Save(workspace);
}

// Does kMultiplyAdds multiply-adds per kLoads loaded vectors, which fixes the flop per byte. The
// independent sums are at least as many as multiply-adds can be in flight (latency x rate).
template <class V, std::size_t kLoads, std::size_t kMultiplyAdds>
void RidgeKernel(Workspace& workspace, std::int64_t iterations) {
  // Number of vectors loaded together, chosen so that all sums are used.
  constexpr std::size_t kFew = kMultiplyAdds >= 16 ? 1 : kMultiplyAdds >= 4 ? 4 : kVectorsPerStep;
  constexpr std::size_t kTogether = kLoads > 1 ? kVectorsPerStep : kFew;
  constexpr std::size_t kSums = V::kAccumulators;
  Walk<V> walk(workspace);
  auto factor = V::Same(kRidgeFactor);
  V::Opaque(factor);
  // The sums come from memory, because the compiler would merge sums that it knows to be equal.
  auto* results = reinterpret_cast<float*>(workspace.accumulators.data());
  typename V::Vector sums[kSums];
  ForEachIndex<kSums>([&](auto i) __attribute__((always_inline)) {
    sums[i] = V::Load(results + V::kFloats * i);
  });
  for (; iterations > 0; --iterations) {
    const float* from = walk.First();
    for (std::size_t first = 0; first < kVectorsPerStep; first += kTogether) {
      ForEachIndex<kTogether>([&](auto i) __attribute__((always_inline)) {
        auto loaded = V::Load(from + V::kFloats * (first + i));
        if constexpr (i % kLoads != 0) {
          V::Opaque(loaded);
        } else {
          ForEachIndex<kMultiplyAdds>([&](auto j) __attribute__((always_inline)) {
            auto& sum = sums[(i / kLoads * kMultiplyAdds + j) % kSums];
            sum = V::MultiplyAdd(sum, factor, loaded);
          });
        }
      });
    }
    walk.Step();
  }
  walk.Save(workspace);
  ForEachIndex<kSums>([&](auto i) __attribute__((always_inline)) {
    V::Store(results + V::kFloats * i, sums[i]);
  });
}

template <class V>
constexpr RidgeRow kRidgeRows[] = {
    {4, 1, RidgeKernel<V, 4, 1>},   {2, 1, RidgeKernel<V, 2, 1>},
    {1, 1, RidgeKernel<V, 1, 1>},   {1, 2, RidgeKernel<V, 1, 2>},
    {1, 3, RidgeKernel<V, 1, 3>},   {1, 4, RidgeKernel<V, 1, 4>},
    {1, 6, RidgeKernel<V, 1, 6>},   {1, 8, RidgeKernel<V, 1, 8>},
    {1, 12, RidgeKernel<V, 1, 12>}, {1, 16, RidgeKernel<V, 1, 16>},
    {1, 24, RidgeKernel<V, 1, 24>}, {1, 32, RidgeKernel<V, 1, 32>},
    {1, 48, RidgeKernel<V, 1, 48>}, {1, 64, RidgeKernel<V, 1, 64>},
    {1, 96, RidgeKernel<V, 1, 96>}, {1, 128, RidgeKernel<V, 1, 128>},
};

// Returns the table of V's memory kernels. `needed` and `needed_too`: CPU features, or null.
template <class V>
constexpr BytesIsa KernelsOf(const char* name, const char* needed, const char* needed_too) {
  return {name,
          {needed, needed_too},
          V::kFloats,
          kStepFloats<V>,
          LoadKernel<V>,
          StoreKernel<V, Stored<V>>,
          CopyKernel<V, Stored<V>>,
          TriadKernel<V, Stored<V>>,
          UpdateKernel<V>,
          StoreKernel<V, Streamed<V>>,
          CopyKernel<V, Streamed<V>>,
          TriadKernel<V, Streamed<V>>,
          kRidgeRows<V>};
}

}  // namespace dlroof::cpu_kernels
