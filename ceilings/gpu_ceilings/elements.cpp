#include "ceilings/gpu_ceilings/elements.h"

#include "counters/base/numbers.h"

namespace dlroof::gpu_ceilings {

namespace {

struct ElementRow {
  int bytes;
  void (*write)(double value, std::byte* to);
  double (*read)(const std::byte* from);
};

template <class Number>
constexpr ElementRow Stored() {
  return {sizeof(Number),
          [](double value, std::byte* to) { Store(static_cast<Number>(value), to); },
          [](const std::byte* from) { return static_cast<double>(Load<Number>(from)); }};
}

template <class Bits, const FloatFormat& kFormat>
constexpr ElementRow Encoded() {
  return {sizeof(Bits),
          [](double value, std::byte* to) {
            Store(static_cast<Bits>(EncodeFloat(value, kFormat)), to);
          },
          [](const std::byte* from) { return DecodeFloat(Load<Bits>(from), kFormat); }};
}

// In the order of GpuElement.
constexpr ElementRow kElements[] = {Stored<double>(),
                                    Stored<float>(),
                                    Stored<float>(),
                                    Encoded<std::uint16_t, kFp16Format>(),
                                    Encoded<std::uint16_t, kBf16Format>(),
                                    Stored<std::int8_t>(),
                                    Encoded<std::uint8_t, kE4m3Format>()};

const ElementRow& RowOf(GpuElement element) { return kElements[static_cast<int>(element)]; }

}  // namespace

int ElementBytes(GpuElement element) { return RowOf(element).bytes; }

void WriteElement(GpuElement element, double value, std::byte* to) {
  RowOf(element).write(value, to);
}

double ReadElement(GpuElement element, const std::byte* from) { return RowOf(element).read(from); }

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

}  // namespace dlroof::gpu_ceilings
