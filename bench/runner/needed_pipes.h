// Which roofs will the selected benchmarks be placed under? Pure.
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace dlroof::runner {

// Returns the plain pipes ("bf16.matrix") of a CPU whose roofs a benchmark of this type may need.
// `type` and `options` are those of its name. fp32.vector is always among them: elementwise parts
// use it. A type that is not known needs all pipes of the types that it contains.
std::set<std::string> NeededPipes(std::string_view type, std::string_view options);

}  // namespace dlroof::runner
