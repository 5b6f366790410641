// The blocking of oneDNN 3.2's matrix kernels, computed from the problem: how many rows and columns
// of a result brgemm stores in registers, and into which blocks brgconv divides a convolution. The
// blocking determines how often a call reads the same data again.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "counters/base/error.h"

namespace dlroof::library_rules {

// The vector unit of the ISA that `implementation` names, or else of `isa`.
struct VectorUnit {
  int64_t lanes = 8;       // [1] 32-bit numbers in a register
  int64_t registers = 16;  // [1] vector registers
};
VectorUnit VectorUnitOf(std::string_view implementation, std::string_view isa);

// Returns the largest number of result rows that a kernel can store in registers if each row has
// `columns` vectors. The kernel also needs registers for `columns` vectors of the right factor and
// one broadcast element of the left factor.
int64_t MostRows(const VectorUnit& unit, int64_t columns);

// Returns the rows per block that a kernel chooses for `rows` rows, at most `most` (default:
// MostRows): a compromise between little waste in the last block and many uses of each load.
int64_t RowBlock(const VectorUnit& unit, int64_t columns, int64_t rows);
int64_t RowBlock(int64_t columns, int64_t rows, int64_t most);

// Returns why the loops of this oneDNN version are not modelled; nothing for 3.2. Other versions
// may choose other blocks, because the choice depends on internal estimates.
std::optional<Reason> NotModelledReason(int major, int minor);

// Returns why the loops of an implementation that multiplies AMX tiles are not modelled; nothing
// for other implementations. `implementation` is the library's name, or several names. The models
// of vector kernels do not apply: a tile instruction loads 16 rows of 64 byte. A
// convolution on an Emerald Rapids had 149,000 instructions, where such a model has 1.49 million
// vector loads.
std::optional<Reason> TilesReason(std::string_view implementation);

// A forward convolution. Channels and filters are those of one group.
struct BlockedConv {
  int64_t n = 1, groups = 1, k = 1, c = 1;  // k, c: per group
  int64_t h = 1, w = 1, p = 1, q = 1, r = 1, s = 1;
  int64_t stride_h = 1, stride_w = 1, dilation_h = 1, dilation_w = 1, pad_top = 0, pad_left = 0;
  int read_bytes = 4, weight_bytes = 4, written_bytes = 4;  // [byte] per element
};

// The cache sizes that oneDNN assumes.
struct BlockingCaches {
  double l1_bytes = 32768, l2_bytes = 1048576;  // [byte] of one core
};

struct ConvBlocking {
  int64_t filters = 1;           // filters in a block
  int64_t columns = 1;           // vectors of filters in registers
  int64_t rows = 1;              // positions of the result in registers
  int64_t positions = 1;         // positions per kernel call, of a row (for 1x1, of an image)
  int64_t channels = 1;          // input channels that one kernel call sums over
  int64_t taps = 1;              // rows of filter taps that one kernel call sums over
  bool whole_images = false;     // 1x1: a block of positions may continue in the next row
  bool filters_outside = false;  // filter blocks are the outer loop, positions the inner loop
};

// Returns the blocking that oneDNN 3.2 chooses for f32 and int8 without AMX
// (cpu/x64/jit_brgemm_conv_utils.cpp and brgemm/brgemm_utils.cpp of its source, v3.2). oneDNN tries
// blocks of one to four vectors of filters and of the positions of a row (for 1x1, of an image). It
// chooses the best product of filled registers, full last blocks and the cost of the data that the
// outer loops read again. An element costs 1 from L1, 3 from L2 and 15 from farther away.
ConvBlocking BlockingOf(const BlockedConv& conv, const VectorUnit& unit,
                        const BlockingCaches& caches, int threads);

}  // namespace dlroof::library_rules
