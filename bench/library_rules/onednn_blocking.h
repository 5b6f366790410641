// The blocking of oneDNN's matrix kernels: how many rows and columns brgemm keeps in registers, and
// into which blocks brgconv cuts a convolution. The blocking determines how often a call reads its
// data again. It is recomputed from the problem as oneDNN 3.2 does it. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "counters/base/error.h"

namespace dlroof::library_rules {

// The vector unit of the ISA in an implementation's name, or else of the ISA the library may use.
struct VectorUnit {
  int64_t lanes = 8;       // [1] of 32 bit
  int64_t registers = 16;  // [1]
};
VectorUnit VectorUnitOf(std::string_view implementation, std::string_view isa);

// Returns the largest number of rows of the result that a kernel can keep in registers for
// `columns` vectors of columns, beside those vectors of the second factor and one broadcast element
// of the first.
int64_t MostRows(const VectorUnit& unit, int64_t columns);

// Returns the rows per block that the kernel chooses for `rows` rows, at most `most`: the best
// compromise of little waste in the last block and much reuse per load.
int64_t RowBlock(const VectorUnit& unit, int64_t columns, int64_t rows);
int64_t RowBlock(int64_t columns, int64_t rows, int64_t most);

// Returns why the loops of this version of oneDNN are not modelled. Only 3.2 is: its blocking
// follows from internal estimates, and another minor version may choose differently.
std::optional<Reason> NotModelledReason(int major, int minor);

// A forward convolution on the channels of one group.
struct BlockedConv {
  int64_t n = 1, groups = 1, k = 1, c = 1;  // k, c: per group
  int64_t h = 1, w = 1, p = 1, q = 1, r = 1, s = 1;
  int64_t stride_h = 1, stride_w = 1, dilation_h = 1, dilation_w = 1, pad_top = 0, pad_left = 0;
  int read_bytes = 4, weight_bytes = 4, written_bytes = 4;  // [byte] per element
};

// The sizes of the caches as the library assumes them.
struct BlockingCaches {
  double l1_bytes = 32768, l2_bytes = 1048576;  // [byte] of one core
};

struct ConvBlocking {
  int64_t filters = 1;        // in a block
  int64_t columns = 1;        // vectors of filters in registers
  int64_t rows = 1;           // positions of the result in registers
  int64_t positions = 1;      // computed by one call of the kernel, of a row or of a 1x1's image
  int64_t channels = 1;       // that one call of the kernel sums over
  int64_t taps = 1;           // rows of taps that one call of the kernel sums over
  bool whole_images = false;  // the positions of a 1x1 convolution run across the rows of an image
  bool filters_outside = false;  // the loop over filter blocks is outside of that over positions
};

// Returns the blocking that oneDNN 3.2 chooses for f32 and int8 without AMX
// (cpu/x64/jit_brgemm_conv_utils.cpp and brgemm/brgemm_utils.cpp of its source, v3.2). It tries
// blocks of one to four vectors of filters and of the positions of a row (for 1x1, of an image),
// and takes the best product of filled registers, full last blocks and the cost of what the loops
// around them read again. An element costs 1 from L1, 3 from L2 and 15 from farther away.
ConvBlocking BlockingOf(const BlockedConv& conv, const VectorUnit& unit,
                        const BlockingCaches& caches, int threads);

}  // namespace dlroof::library_rules
