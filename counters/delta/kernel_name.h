// What a GPU kernel's name, or the knobs of cuDNN's engine, say about how the kernel divides its
// product. Pure text; the names are those that cuDNN, cuBLAS and CUTLASS give their kernels.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace dlroof::delta {

// Facts that the text does not say are absent. Sizes are in elements.
struct KernelTiling {
  int64_t m = 0, n = 0;                         // [1] rows and columns of C that one CTA computes
  std::optional<int64_t> k;                     // [1] columns of A and B in a K-step
  std::optional<int64_t> cluster_m, cluster_n;  // [1] CTAs of a cluster along m and n
  std::optional<int> architecture;              // [1] the oldest that runs it: 70, 80, 90
  bool matrix_units = false;                    // computes on tensor cores
  bool valid_taps_only = false;  // backward data that leaves out taps without an output

  bool operator==(const KernelTiling&) const = default;
};

// Returns the tile of one kernel's name, mangled or not, complete or shortened by "...":
//   sm90_xmma_fprop_implicit_gemm_..._tilesize128x64x32_warpgroupsize1x1x1_...  (cuDNN; m x n x k)
//   sm80_xmma_..._tilesize256x64x8_stage3_warpsize2x2x1_...
//   cutlass3x_sm90_tensorop_s64x128x16gemm_..._128x128x64_2x1x1_...             (tile, cluster)
//   cutlass_80_simt_sgemm_128x32_8x5_nt_align1                                  (m x n, k x stages)
//   nvjet_sm90_hsh_64x8_64x16_4x2_h_bz_TNT                 (m x n, k x stages, cluster)
//   ampere_fp16_..._64x64_ldg8_f2f_stages_64x5_nn, volta_scudnn_128x64_relu_...
// A number that touches a '.' is the rest of a longer one and is not read. Returns nullopt if the
// name has no m x n from 8 to 512, both multiples of 8, or if it is the kernel that adds up the
// slices of K (..._execute_split_k_kernel), which has the tile of the kernel before it.
std::optional<KernelTiling> ReadKernelName(std::string_view name);

// Returns what the first kernel in `text` that has a tile says. `text` is any list of names.
std::optional<KernelTiling> FindKernelTiling(std::string_view text);

// The engine that cuDNN chose: "engine 65 (tile_size 5, tilek 1, idx_mode 1, tile_cga_m 1,
// tile_cga_n 5), tensor_core, workspace 1802879 B: first of heuristic A, 44 proposed".
struct EngineKnobs {
  std::optional<int64_t> tile_size, tilek, idx_mode;  // [1] numbers of choices
  std::optional<int64_t> split_k;                     // [1] slices of K
  std::optional<int64_t> cluster_m, cluster_n;        // [1] CTAs
  std::optional<int64_t> workspace_bytes;             // [byte]

  bool operator==(const EngineKnobs&) const = default;
};
// Returns nullopt if the text names no engine with knobs.
std::optional<EngineKnobs> ReadEngine(std::string_view text);

// Returns the tiling of an engine by its knobs alone. Only engines of Hopper's
// implicit GEMMs (those with a cluster) are known, and of their tiles only those whose kernels were
// seen beside the knobs (cuDNN 9.14: tile_size 1, 4, 5; tilek 0, 1); nullopt for every other.
std::optional<KernelTiling> TilingOf(const EngineKnobs& knobs);

// [1] Returns into how many slices the kernel cuts K, by the workspace for partial sums: one tile
// of 4-byte sums per CTA, of `tiles_m` x `tiles_n` tiles in complete clusters. Returns 1 if the
// workspace holds no tile, and nullopt if it is not known or holds no whole number of slices.
std::optional<int64_t> SlicesByWorkspace(const EngineKnobs& knobs, const KernelTiling& tiling,
                                         int64_t tiles_m, int64_t tiles_n);

}  // namespace dlroof::delta
