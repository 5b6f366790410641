// Sectors that a block of a matrix touches, counted by its runs of memory instead of its elements:
// the geometry of a convolution in a few dozen operations. Parts of the fast model (model.h), whose
// comment states their accuracy.
#pragma once

#include <cstdint>

#include "counters/delta/exact.h"
#include "counters/delta/gemm.h"

namespace dlroof {

// [sector] that rows x columns touches, expected over where the block may lie.
//
// A gathered matrix: each input line that a pixel range and a range of taps reach is one run, from
// its first to its last column, or two where the range begins and ends in the middle of a line;
// runs that meet in a sector share it. Assumed: a run has no untouched sector in it unless the
// stride is wider than a sector; channels that are wholly in the block are alike, and where a whole
// plane is touched they follow each other without a seam; taps of a dilated filter leave no hole
// between the first and the last (NCHW).
//
// Any other matrix: a box of strides. From the smallest stride up, a stride within the run so far
// lengthens it, a larger one multiplies it; a run of B bytes that begins at multiples of a bytes
// touches (B + g - a) / g sectors. Assumed: a range that crosses an image does so in the mean.
double RunSectors(const Operand& matrix, IndexRange rows, IndexRange columns, int64_t sector);

}  // namespace dlroof
