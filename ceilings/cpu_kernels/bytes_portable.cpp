// Memory kernels on the compiler's own vectors of four floats, for processors that have no file of
// their own: it chooses the instructions. There is no portable non-temporal store.
#include "ceilings/cpu_kernels/bytes_kernels.h"

namespace dlroof::cpu_kernels {
namespace {

struct Portable {
  using Vector = float __attribute__((vector_size(16), may_alias));
  using Anywhere = float __attribute__((vector_size(16), may_alias, aligned(4)));
  using Bits = std::uint32_t __attribute__((vector_size(16)));
  static constexpr std::size_t kFloats = 4, kAccumulators = 12;

  static Vector Load(const float* from) { return *reinterpret_cast<const Vector*>(from); }
  static void Store(float* to, Vector value) { *reinterpret_cast<Anywhere*>(to) = value; }
  static Vector Same(float value) { return Vector{value, value, value, value}; }
  static Vector Xor(Vector a, Vector b) {
    return reinterpret_cast<Vector>(reinterpret_cast<Bits>(a) ^ reinterpret_cast<Bits>(b));
  }
  static Vector MultiplyAdd(Vector a, Vector b, Vector c) { return a * b + c; }
  // No constraint names a vector register on every processor: so the ridge has no rows that leave
  // loads unused. A loop with a barrier does not become a call of memcpy.
  static void Opaque(Vector& /*value*/) { asm volatile("" : : : "memory"); }
};

constexpr std::size_t kRowsWithUnusedLoads = 2;

constexpr BytesIsa kKernels = {
    "portable",
    {nullptr, nullptr},
    Portable::kFloats,
    kStepFloats<Portable>,
    LoadKernel<Portable>,
    StoreKernel<Portable, Stored<Portable>>,
    CopyKernel<Portable, Stored<Portable>>,
    TriadKernel<Portable, Stored<Portable>>,
    UpdateKernel<Portable>,
    nullptr,
    nullptr,
    nullptr,
    std::span<const RidgeRow>(kRidgeRows<Portable>).subspan(kRowsWithUnusedLoads)};

}  // namespace

const BytesIsa& BytesPortable() { return kKernels; }

}  // namespace dlroof::cpu_kernels
