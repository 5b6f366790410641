// Reads the tiling of a GPU matrix product (tile, K-step, cluster, slices) from the kernel's name,
// as cuDNN, cuBLAS and CUTLASS choose it, or from the knobs of cuDNN's engine. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace dlroof::delta {

// Facts that are not in the text are absent. Sizes are in elements.
struct KernelTiling {
  int64_t m = 0, n = 0;                         // [1] rows and columns of C that one CTA computes
  std::optional<int64_t> k;                     // [1] columns of A and B in a K-step
  std::optional<int64_t> cluster_m, cluster_n;  // [1] CTAs of a cluster along m and n
  std::optional<int> architecture;              // oldest compute capability that runs it: 70, 80
  bool matrix_units = false;                    // computes on tensor cores
  bool valid_taps_only = false;  // backward data that skips filter taps without an output

  bool operator==(const KernelTiling&) const = default;
};

// Returns the tile of one kernel's name, mangled or not, complete or shortened by "...":
//   sm90_xmma_fprop_implicit_gemm_..._tilesize128x64x32_warpgroupsize1x1x1_...  (cuDNN; m x n x k)
//   sm80_xmma_..._tilesize256x64x8_stage3_warpsize2x2x1_...
//   cutlass3x_sm90_tensorop_s64x128x16gemm_..._128x128x64_2x1x1_...             (tile, cluster)
//   cutlass_80_simt_sgemm_128x32_8x5_nt_align1                                  (m x n, k x stages)
//   nvjet_sm90_hsh_64x8_64x16_4x2_h_bz_TNT                 (m x n, k x stages, cluster)
//   ampere_fp16_..._64x64_ldg8_f2f_stages_64x5_nn, volta_scudnn_128x64_relu_...
// Ignores a number beside a '.', which may be cut. Returns nullopt if the name has no m x n from 8
// to 512, both multiples of 8, or if it is the kernel that adds up the slices of K
// (..._execute_split_k_kernel), whose name has the tile of the preceding kernel.
std::optional<KernelTiling> ReadKernelName(std::string_view name);

// Returns the tiling of the first kernel in `text`, a list of names, that has a tile.
std::optional<KernelTiling> FindKernelTiling(std::string_view text);

// Knobs of the engine that cuDNN chose, from the text "engine 65 (tile_size 5, tilek 1, idx_mode 1,
// tile_cga_m 1, tile_cga_n 5), tensor_core, workspace 1802879 B: first of heuristic A".
struct EngineKnobs {
  std::optional<int64_t> tile_size, tilek, idx_mode;  // cuDNN's numbers of its choices
  std::optional<int64_t> split_k;                     // [1] slices of K
  std::optional<int64_t> cluster_m, cluster_n;        // [1] size of a cluster in CTAs
  std::optional<int64_t> workspace_bytes;             // [byte]

  bool operator==(const EngineKnobs&) const = default;
};
// Returns nullopt if there is no engine with knobs in the text.
std::optional<EngineKnobs> ReadEngine(std::string_view text);

// Returns the tiling of an engine by its knobs only. Returns nullopt unless it is an implicit GEMM
// of Hopper (with a cluster) and its knobs were once observed together with a kernel's name (cuDNN
// 9.14: tile_size 1, 4, 5; tilek 0, 1).
std::optional<KernelTiling> TilingOf(const EngineKnobs& knobs);

// Returns the number of slices of K [1], from the size of the workspace for partial sums: one tile
// of 4-byte sums per CTA, and `tiles_m` x `tiles_n` tiles, rounded up to complete clusters, per
// slice. Returns 1 if no tile fits into the workspace, and nullopt if its size is unknown or not a
// whole number of slices.
std::optional<int64_t> SlicesByWorkspace(const EngineKnobs& knobs, const KernelTiling& tiling,
                                         int64_t tiles_m, int64_t tiles_n);

}  // namespace dlroof::delta
