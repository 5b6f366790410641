// The loops of oneDNN's implementations of a matmul, for the bytes at each cache level.
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

// Returns the blocks that oneDNN 3.2 chooses for AVX-512 without AMX and a row-major left factor
// (compute_blocking_heuristic_avx512 of cpu/x64/matmul/brgemm_matmul_utils.cpp, v3.2): 64 columns,
// a depth of up to 512 or 1024, and the number of rows that balances the work of the threads best.
MatmulBlocking MatmulBlockingOf(const MatmulProduct& product, int threads);

// Returns the loops of a call. `implementation` is the library's name for its choice
// ("brg:avx512_core"), `isa` what the library may use. The model covers products by brg on AVX-512
// without AMX with a row-major left factor. For anything else it has no nests, but a reason. It
// assumes that a call processes one block of rows and columns after the other, sums it over blocks
// of the depth, and reads a block of the right factor once per block of rows in registers. Copies
// of a factor into a buffer are not counted.
caches::LevelModel MatmulLevels(const MatmulCase& matmul, std::string_view implementation,
                                std::string_view isa, int threads = 1);

}  // namespace dlroof::matmul
