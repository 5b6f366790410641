#include "ceilings/gpu_known/elements.h"

#include "counters/base/small_floats.h"

namespace dlroof {

int ElementBytes(GpuElement element) {
  switch (element) {
    case GpuElement::kFp64:
      return 8;
    case GpuElement::kFp32:
    case GpuElement::kTf32:
      return 4;
    case GpuElement::kFp16:
    case GpuElement::kBf16:
      return 2;
    case GpuElement::kInt8:
    case GpuElement::kFp8:
      return 1;
  }
  return 0;
}

void WriteElement(GpuElement element, double value, std::byte* to) {
  switch (element) {
    case GpuElement::kFp64:
      return Store(value, to);
    case GpuElement::kFp32:
    case GpuElement::kTf32:
      return Store(static_cast<float>(value), to);
    case GpuElement::kFp16:
      return Store(static_cast<std::uint16_t>(EncodeFloat(value, kFp16Format)), to);
    case GpuElement::kBf16:
      return Store(static_cast<std::uint16_t>(EncodeFloat(value, kBf16Format)), to);
    case GpuElement::kInt8:
      return Store(static_cast<std::int8_t>(value), to);
    case GpuElement::kFp8:
      return Store(static_cast<std::uint8_t>(EncodeFloat(value, kE4m3Format)), to);
  }
}

double ReadElement(GpuElement element, const std::byte* from) {
  switch (element) {
    case GpuElement::kFp64:
      return Load<double>(from);
    case GpuElement::kFp32:
    case GpuElement::kTf32:
      return Load<float>(from);
    case GpuElement::kFp16:
      return DecodeFloat(Load<std::uint16_t>(from), kFp16Format);
    case GpuElement::kBf16:
      return DecodeFloat(Load<std::uint16_t>(from), kBf16Format);
    case GpuElement::kInt8:
      return Load<std::int8_t>(from);
    case GpuElement::kFp8:
      return DecodeFloat(Load<std::uint8_t>(from), kE4m3Format);
  }
  return 0;
}

int SumBytes(GpuElement element) { return element == GpuElement::kFp64 ? 8 : 4; }

void WriteSum(GpuElement element, double value, std::byte* to) {
  if (element == GpuElement::kFp64) return Store(value, to);
  if (element == GpuElement::kInt8) return Store(static_cast<std::int32_t>(value), to);
  Store(static_cast<float>(value), to);
}

double ReadSum(GpuElement element, const std::byte* from) {
  if (element == GpuElement::kFp64) return Load<double>(from);
  if (element == GpuElement::kInt8) return Load<std::int32_t>(from);
  return Load<float>(from);
}

double OperandValue(GpuElement element, GpuOperandKind kind, std::uint64_t index) {
  const std::uint32_t bits = RandomBits(index);
  if (kind == GpuOperandKind::kKnown) return static_cast<double>(bits % 5) - 2;
  if (element == GpuElement::kInt8) return static_cast<double>(bits % 255) - 127;
  const double value = static_cast<double>(bits) / 2147483648.0 - 1;
  if (element != GpuElement::kFp64) return value;
  return value + static_cast<double>(RandomBits(~index)) / 9223372036854775808.0;  // lower bits
}

}  // namespace dlroof
