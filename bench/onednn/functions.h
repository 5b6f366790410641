// The cost of the functions that a recurrent cell applies to each element.
#pragma once

#include <optional>

namespace dlroof::onednn {

// [s] of `sigmoids` and `tanhs` elements of f32 on one thread, by the library's own primitives on
// 64 kB at a time, as its cells apply them to what lies in the nearest caches. Absent where it has
// no such primitive. Measures once per process, in some 10 ms.
std::optional<double> FunctionSeconds(double sigmoids, double tanhs);

}  // namespace dlroof::onednn
