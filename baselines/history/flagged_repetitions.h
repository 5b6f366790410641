// Repetitions as the history's schemas 1 and 2 stored them. This program only reads them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "reporters/record/record.h"

namespace dlroof {

// Each begins with a byte of flags: 1 disturbed, 2 CPU time, 4 CPU time of the main thread, 8 run
// delay, 16 block, 32 GPU, 64 core share. With a GPU two bytes follow, little-endian, with a bit
// for each known quantity in the order of GpuSampleFields (gpu_sample.h). The rest are
// little-endian IEEE doubles: seconds, iterations and the flagged values, block and GPU last.

// Returns whether the bytes are of this kind. The first byte of CBOR's arrays is larger than flags.
bool HasFlags(std::string_view bytes);
// Throws BadInput, beginning with `where`, for damaged bytes.
std::vector<Repetition> ReadFlagged(std::string_view bytes, const std::string& where);
// Returns the number of whole repetitions before the first damage.
int CountFlagged(std::string_view bytes);

}  // namespace dlroof
