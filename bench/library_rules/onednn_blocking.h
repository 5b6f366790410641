// Register blocking of oneDNN's matrix kernels (brgemm): the reuse of a call's data that follows
// from the chosen implementation. Derived from the behaviour of oneDNN 3.2.
//
// The blocks into which oneDNN's matrix kernels (brgconv) cut a convolution: its own estimate of
// what a choice costs, made again from what is public about a problem. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace dlroof::library_rules {

// The vector unit that an implementation's name, or else the ISA that the library may use, means.
struct VectorUnit {
  int64_t lanes = 8;       // [1] of 32 bit
  int64_t registers = 16;  // [1]
};
VectorUnit VectorUnitOf(std::string_view implementation, std::string_view isa);

// Rows of the result that a kernel keeps in registers, for `columns` vectors of columns: what is
// left after those vectors of the second factor and one broadcast element of the first.
int64_t MostRows(const VectorUnit& unit, int64_t columns);

// The rows per block that it takes of `rows`: the least waste in a last block against the most
// reuse per load; at most `most`.
int64_t RowBlock(const VectorUnit& unit, int64_t columns, int64_t rows);
int64_t RowBlock(int64_t columns, int64_t rows, int64_t most);

// Returns why the loops of this oneDNN are not modelled: the models repeat the blocking that 3.2
// chooses by private estimates (here and in brgemm_blocking.h), and another minor version
// may choose otherwise. Empty for 3.2.
std::string WhyNoLoopsOf(int major, int minor);

// A forward convolution of one group's channels.
struct BlockedConv {
  int64_t n = 1, groups = 1, k = 1, c = 1;  // k, c: per group
  int64_t h = 1, w = 1, p = 1, q = 1, r = 1, s = 1;
  int64_t stride_h = 1, stride_w = 1, dilation_h = 1, dilation_w = 1, pad_top = 0, pad_left = 0;
  int read_bytes = 4, weight_bytes = 4, written_bytes = 4;  // [byte] per element
};

// Caches that the library assumes.
struct BlockingCaches {
  double l1_bytes = 32768, l2_bytes = 1048576;  // [byte] of one core
};

struct ConvBlocking {
  int64_t filters = 1;        // in a block
  int64_t columns = 1;        // vectors of filters in registers
  int64_t rows = 1;           // positions of the result in registers
  int64_t positions = 1;      // that one call of the kernel makes: of a row, or of a 1x1's image
  int64_t channels = 1;       // that one call sums over
  int64_t taps = 1;           // rows of taps that one call sums over
  bool whole_images = false;  // 1x1: positions run over rows
  bool filters_outside = false;
};

// As oneDNN 3.2 chooses for f32 and int8 without AMX (cpu/x64/jit_brgemm_conv_utils.cpp and
// brgemm/brgemm_utils.cpp of its source, v3.2): blocks of one to four vectors of filters, and of
// the positions of a row (1x1: of an image), whichever has the best product of filled registers,
// full last blocks and cost of what each loop around them reads again, an element from L1 at 1,
// from L2 at 3, from beyond at 15.
ConvBlocking BlockingOf(const BlockedConv& conv, const VectorUnit& unit,
                        const BlockingCaches& caches, int threads);

}  // namespace dlroof::library_rules
