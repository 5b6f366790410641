// Register blocking of oneDNN's matrix kernels (brgemm): the reuse of a call's data that follows
// from the chosen implementation. Derived from the behaviour of oneDNN 3.2.
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

}  // namespace dlroof::library_rules
