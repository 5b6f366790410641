// bf16 dot products on vectors, and the tile products of AMX. Tiles: 16 rows of 64 bytes each, 4
// accumulators from 2 x 2 operands, which covers the latency of a tile product.
#include <immintrin.h>

#include <cstdint>

#include "ceilings/cpu_flops_probes.h"

namespace dlroof {
namespace {

constexpr std::size_t kMany = 16;
constexpr int kTileRowBytes = 64;

__attribute__((target("avx512f,avx512bf16"))) void Bf16Avx512(Workspace& workspace,
                                                              std::int64_t iterations) {
  const auto* operands = workspace.operands.data();
  const auto x = reinterpret_cast<__m512bh>(_mm512_load_si512(operands + kFirstOperand));
  const auto y = reinterpret_cast<__m512bh>(_mm512_load_si512(operands + kSecondOperand));
  auto* memory = reinterpret_cast<float*>(workspace.accumulators.data());
  __m512 a[kMany];
  for (std::size_t i = 0; i < kMany; ++i) a[i] = _mm512_load_ps(memory + 16 * i);
  for (; iterations > 0; --iterations)
    for (auto& each : a) each = _mm512_dpbf16_ps(each, x, y);
  for (std::size_t i = 0; i < kMany; ++i) _mm512_store_ps(memory + 16 * i, a[i]);
}

// Palette 1: the layout that LDTILECFG reads (Intel SDM volume 1, 18.3).
struct alignas(64) TileConfiguration {
  std::uint8_t palette = 1;
  std::uint8_t start_row = 0;
  std::uint8_t reserved[14] = {};
  std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
static_assert(sizeof(TileConfiguration) == 64);

__attribute__((target("amx-tile"))) void LoadTiles(Workspace& workspace) {
  const TileConfiguration configuration;
  // Without this barrier gcc 12 drops the stores: its _tile_loadconfig claims to read 8 bytes only.
  asm volatile("" : : "r"(&configuration) : "memory");
  _tile_loadconfig(&configuration);
  auto* accumulators = workspace.accumulators.data();
  _tile_loadd(0, accumulators, kTileRowBytes);
  _tile_loadd(1, accumulators + 1024, kTileRowBytes);
  _tile_loadd(2, accumulators + 2048, kTileRowBytes);
  _tile_loadd(3, accumulators + 3072, kTileRowBytes);
  const auto* operands = workspace.operands.data();
  _tile_loadd(4, operands + kFirstOperand, kTileRowBytes);
  _tile_loadd(5, operands + kFirstOperand + 1024, kTileRowBytes);
  _tile_loadd(6, operands + kSecondOperand, kTileRowBytes);
  _tile_loadd(7, operands + kSecondOperand + 1024, kTileRowBytes);
}

__attribute__((target("amx-tile"))) void StoreTiles(Workspace& workspace) {
  auto* accumulators = workspace.accumulators.data();
  _tile_stored(0, accumulators, kTileRowBytes);
  _tile_stored(1, accumulators + 1024, kTileRowBytes);
  _tile_stored(2, accumulators + 2048, kTileRowBytes);
  _tile_stored(3, accumulators + 3072, kTileRowBytes);
  _tile_release();
}

__attribute__((target("amx-tile,amx-bf16"))) void Bf16Amx(Workspace& workspace,
                                                          std::int64_t iterations) {
  LoadTiles(workspace);
  for (; iterations > 0; --iterations) {
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
  StoreTiles(workspace);
}

__attribute__((target("amx-tile,amx-int8"))) void Int8Amx(Workspace& workspace,
                                                          std::int64_t iterations) {
  LoadTiles(workspace);
  for (; iterations > 0; --iterations) {
    _tile_dpbusd(0, 4, 6);
    _tile_dpbusd(1, 4, 7);
    _tile_dpbusd(2, 5, 6);
    _tile_dpbusd(3, 5, 7);
  }
  StoreTiles(workspace);
}

}  // namespace

std::vector<FlopsProbe> Bf16AndTileProbes() {
  return {
      {"bf16.vector.avx512_bf16",
       {"avx512_bf16"},
       2.0 * 32 * kMany,
       Operands::kBf16,
       Bf16Avx512,
       "avx512_bf16 vdpbf16ps zmm, 16 accumulators"},
      {"bf16.matrix.amx",
       {"amx_tile", "amx_bf16"},
       2.0 * 16 * 16 * 32 * 4,
       Operands::kBf16,
       Bf16Amx,
       "amx tdpbf16ps, 4 tiles of accumulators"},
      {"int8.matrix.amx",
       {"amx_tile", "amx_int8"},
       2.0 * 16 * 16 * 64 * 4,
       Operands::kInt8,
       Int8Amx,
       "amx tdpbusd, 4 tiles of accumulators"},
  };
}

}  // namespace dlroof
