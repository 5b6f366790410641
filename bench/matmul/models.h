// A model of the loops of oneDNN's matmul, for the bytes at each cache level.
#pragma once

#include <cstdint>
#include <string_view>

#include "bench/matmul/case.h"
#include "counters/caches/level_model.h"

namespace dlroof::matmul {

// The block sizes into which oneDNN 3.2's brgemm matmul divides a matrix product.
struct MatmulBlocking {
  int64_t rows = 1, columns = 1, depth = 1;
};

// Returns the blocks that oneDNN 3.2 chooses for AVX-512 without AMX and a row-major left factor
// (compute_blocking_heuristic_avx512 of cpu/x64/matmul/brgemm_matmul_utils.cpp, v3.2): 64 columns,
// a depth of up to 512 or 1024, and the number of rows that balances the threads' work best.
MatmulBlocking MatmulBlockingOf(const MatmulProduct& product, int threads);

// Returns a model of a call's loops. `implementation` is the library's name of its implementation
// ("brg:avx512_core"), `isa` the ISA that the library may use. Covers brg on AVX-512 without AMX
// with a row-major left factor. Other calls get a reason instead of loops. Assumes that a call
// computes one block of rows and columns after the other, sums it over blocks of the depth, and
// reads a block of the right factor once per block of rows in registers. Does not count copies of a
// factor into a buffer.
caches::LevelModel MatmulLevels(const MatmulCase& matmul, std::string_view implementation,
                                std::string_view isa, int threads = 1);

}  // namespace dlroof::matmul
