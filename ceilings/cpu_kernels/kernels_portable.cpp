// Kernels for CPUs without kernels of their own. The compiler chooses the instructions, so their
// speed depends on it. Memory kernels use vectors of four floats and have no non-temporal stores.
// Arithmetic kernels compute a = a * x + y on vectors of 16 bytes, fused if the compiler fuses
// them.
#include <cstdint>
#include <cstring>

#include "ceilings/cpu_kernels/bytes_kernels.h"
#include "ceilings/cpu_kernels/flops.h"

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
  // No asm constraint names a vector register on every CPU, so the ridge has no rows with unused
  // loads. With the barrier the loop does not become a call of memcpy.
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

constexpr int kAccumulators = 16;
constexpr std::size_t kVectorBytes = 16;

template <class T>
void MultiplyAdd(Workspace& workspace, std::int64_t iterations) {
  typedef T Vector __attribute__((vector_size(kVectorBytes)));
  Vector x, y, a[kAccumulators];
  std::memcpy(&x, workspace.operands.data() + kFirstOperand, sizeof x);
  std::memcpy(&y, workspace.operands.data() + kSecondOperand, sizeof y);
  auto* memory = workspace.accumulators.data();
  for (int i = 0; i < kAccumulators; ++i) std::memcpy(&a[i], memory + sizeof x * i, sizeof x);
  for (; iterations > 0; --iterations)
    for (auto& each : a) each = each * x + y;
  for (int i = 0; i < kAccumulators; ++i) std::memcpy(memory + sizeof x * i, &a[i], sizeof x);
}

FlopsProbe Row(const char* key, Operands operands, Kernel kernel) {
  return {key,           "multiply-add of 16 bytes as compiled",
          operands,      Recurrence::kMultiplyAdd,
          Issue::kAny,   kVectorBytes,
          kAccumulators, 1,
          kernel};
}

}  // namespace

const BytesIsa& BytesPortable() { return kKernels; }

std::vector<FlopsProbe> PortableFlopsProbes() {
  return {Row("fp64.vector.portable", Operands::kFp64, MultiplyAdd<double>),
          Row("fp32.vector.portable", Operands::kFp32, MultiplyAdd<float>),
          Row("int32.vector.portable", Operands::kInt32, MultiplyAdd<std::uint32_t>)};
}

}  // namespace dlroof::cpu_kernels
