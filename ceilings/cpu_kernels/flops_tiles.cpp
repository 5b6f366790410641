// Kernels of AMX multiplications of tiles (16 rows x 64 byte) in registers. The 4 products of 2 x 2
// operand tiles cover the latency: 52 cycles, while a multiplication starts every 16 cycles.
#include <immintrin.h>

#include <cstdint>

#include "ceilings/cpu_kernels/chain.h"
#include "ceilings/cpu_kernels/flops.h"

namespace dlroof::cpu_kernels {
namespace {

constexpr int kTileRowBytes = 64;

// Palette 1: the layout that LDTILECFG reads (Intel SDM volume 1, 18.3).
struct alignas(64) TileConfiguration {
  std::uint8_t palette = 1;
  std::uint8_t start_row = 0;
  std::uint8_t reserved[14] = {};
  std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
static_assert(sizeof(TileConfiguration) == 64);

__attribute__((target("amx-tile"))) void LoadTiles(const Workspace& workspace) {
  const TileConfiguration configuration;
  // Without this barrier gcc 12 drops the stores, because its _tile_loadconfig reads only 8 bytes.
  asm volatile("" : : "r"(&configuration) : "memory");
  _tile_loadconfig(&configuration);
  const auto* accumulators = workspace.accumulators.data();
  _tile_loadd(0, accumulators, kTileRowBytes);
  _tile_loadd(1, accumulators + kTileBytes, kTileRowBytes);
  _tile_loadd(2, accumulators + 2 * kTileBytes, kTileRowBytes);
  _tile_loadd(3, accumulators + 3 * kTileBytes, kTileRowBytes);
  const auto* operands = workspace.operands.data();
  _tile_loadd(4, operands + kFirstOperand, kTileRowBytes);
  _tile_loadd(5, operands + kFirstOperand + kTileBytes, kTileRowBytes);
  _tile_loadd(6, operands + kSecondOperand, kTileRowBytes);
  _tile_loadd(7, operands + kSecondOperand + kTileBytes, kTileRowBytes);
}

__attribute__((target("amx-tile"))) void StoreTiles(Workspace& workspace) {
  auto* accumulators = workspace.accumulators.data();
  _tile_stored(0, accumulators, kTileRowBytes);
  _tile_stored(1, accumulators + kTileBytes, kTileRowBytes);
  _tile_stored(2, accumulators + 2 * kTileBytes, kTileRowBytes);
  _tile_stored(3, accumulators + 3 * kTileBytes, kTileRowBytes);
  _tile_release();
}

__attribute__((target("amx-tile,amx-bf16"), always_inline)) inline void MultiplyBf16() {
  _tile_dpbf16ps(0, 4, 6);
  _tile_dpbf16ps(1, 4, 7);
  _tile_dpbf16ps(2, 5, 6);
  _tile_dpbf16ps(3, 5, 7);
}

__attribute__((target("amx-tile,amx-int8"), always_inline)) inline void MultiplyInt8() {
  _tile_dpbusd(0, 4, 6);
  _tile_dpbusd(1, 4, 7);
  _tile_dpbusd(2, 5, 6);
  _tile_dpbusd(3, 5, 7);
}

// tdpfp16ps on these tiles as machine code, because compilers before gcc 13 and assemblers
// before 2.40 do not know it (Intel SDM volume 2: VEX.128.F2.0F38.W0 5C).
__attribute__((target("amx-tile"), always_inline)) inline void MultiplyFp16() {
  asm volatile(
      ".byte 0xc4, 0xe2, 0x4b, 0x5c, 0xc4\n\t"
      ".byte 0xc4, 0xe2, 0x43, 0x5c, 0xcc\n\t"
      ".byte 0xc4, 0xe2, 0x4b, 0x5c, 0xd5\n\t"
      ".byte 0xc4, 0xe2, 0x43, 0x5c, 0xdd");
}

template <void (*kMultiply)(), int kChain>
__attribute__((target("amx-tile,amx-bf16,amx-int8"))) void Run(Workspace& workspace,
                                                               std::int64_t iterations) {
  unsigned chain = 3;
  LoadTiles(workspace);
  for (; iterations > 0; --iterations) {
    kMultiply();
    MultiplyBeside<kChain>(chain);
  }
  StoreTiles(workspace);
}

// Chain lengths for iterations of 64 cycles (four tile multiplications) or more.
using TileChains = ChainLengths<23, 32, 46>;

template <void (*kMultiply)()>
FlopsProbe Row(const char* key, const char* instructions, Operands operands) {
  constexpr int kAccumulators = 4;
  return WithKernels(
      {key, instructions, operands, Recurrence::kTile, Issue::kTile, kTileBytes, kAccumulators},
      []<int kChain>() -> Kernel { return Run<kMultiply, kChain>; }, TileChains());
}

}  // namespace

std::vector<FlopsProbe> TileProbes() {
  constexpr auto kBf16 = Operands::kBf16, kInt8 = Operands::kInt8, kFp16 = Operands::kFp16;
  return {
      Row<MultiplyBf16>("bf16.matrix.amx", "tdpbf16ps", kBf16),
      Row<MultiplyInt8>("int8.matrix.amx", "tdpbusd", kInt8),
      Row<MultiplyFp16>("fp16.matrix.amx", "tdpfp16ps", kFp16),
  };
}

}  // namespace dlroof::cpu_kernels
