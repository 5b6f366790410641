// The loops of a matmul as oneDNN's implementations run them, for the bytes at each cache level.
#pragma once

#include <cstdint>
#include <string_view>

#include "bench/matmul/case.h"
#include "counters/caches/level_model.h"

namespace dlroof::matmul {

// The blocks into which oneDNN 3.2's brgemm matmul cuts a product.
struct MatmulBlocking {
  int64_t rows = 1, columns = 1, depth = 1;
};

// Returns the blocks as oneDNN 3.2 chooses them for AVX-512 without AMX, for a left factor row by
// row (compute_blocking_heuristic_avx512 of cpu/x64/matmul/brgemm_matmul_utils.cpp, v3.2): 64
// columns, a depth of up to 512 or 1024, and the number of rows that divides the work among the
// threads best.
MatmulBlocking MatmulBlockingOf(const MatmulProduct& product, int threads);

// `implementation`: the library's name for what it chose ("brg:avx512_core"). `isa`: what it may
// use. Modelled: products by brg on AVX-512 without AMX whose left factor lies row by row. Any
// other gives no nests and the reason. Assumed: a call takes one block of rows and columns after
// the other, sums it over blocks of the depth, and reads a block of the right factor once per block
// of rows in registers. Copies of a factor into a buffer are not counted.
caches::LevelModel MatmulLevels(const MatmulCase& matmul, std::string_view implementation,
                                std::string_view isa, int threads = 1);

}  // namespace dlroof::matmul
