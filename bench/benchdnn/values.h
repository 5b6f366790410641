// Readers of the values of benchdnn's options: each gives the one spelling that the mapping to our
// names compares with, and throws BenchdnnRefusal (offset within the value) for what benchdnn would
// not take.
#pragma once

#include <string>
#include <string_view>

namespace dlroof {

std::string ReadDataTypes(std::string_view value);  // "u8:s8:u8"; "f32" stands for all three
std::string ReadLayout(std::string_view value);  // "any", "nhwc" for axb and acdb, "nchw", or as is
std::string ReadCount(std::string_view value);   // an integer from 0
std::string ReadBool(std::string_view value);    // "true", "false"
std::string ReadThreads(std::string_view value);  // "auto", or as it is
// "src:common+wei:per_oc+dst:common": in this order, without scales of 1 for the whole tensor,
// which benchdnn does not set, and without their values, which a call gets as data.
std::string ReadScales(std::string_view value);
std::string ReadZeroPoints(std::string_view value);  // likewise
// "relu", "sum+relu": kinds under their short names, "relu:slope" where it has one.
std::string ReadPostOps(std::string_view value);

}  // namespace dlroof
