// a = a * x + y on vectors of 16 bytes as the compiler makes them, fused where it fuses: for CPUs
// without kernels of their own. Their speed depends on the compiler.
#include <cstdint>
#include <cstring>

#include "ceilings/cpu_kernels/flops.h"

namespace dlroof::cpu_kernels {
namespace {

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

std::vector<FlopsProbe> PortableFlopsProbes() {
  return {Row("fp64.vector.portable", Operands::kFp64, MultiplyAdd<double>),
          Row("fp32.vector.portable", Operands::kFp32, MultiplyAdd<float>),
          Row("int32.vector.portable", Operands::kInt32, MultiplyAdd<std::uint32_t>)};
}

}  // namespace dlroof::cpu_kernels
