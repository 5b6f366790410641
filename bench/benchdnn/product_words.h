// Words of benchdnn's drivers conv, ip and matmul for what bench/products has in a case.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bench/benchdnn/options.h"
#include "bench/products/case.h"

namespace dlroof::benchdnn {

// The value of --dir.
struct BenchdnnDirection {
  std::string_view dir;  // "FWD_I"
  ProductDirection direction;
  bool training, bias;
};
// Returns null for a direction that is none of ours.
const BenchdnnDirection* FindDirection(const BenchdnnChoice& choice);
// Returns "FWD_I"; empty where there is none.
std::string_view DirOf(const products::ProductCase& one);

// Returns the types of --cfg, an older spelling ("u8s8f32", or one for all), else those of --dt.
products::ProductTypes TypesOf(const BenchdnnChoice& choice);
// Returns "u8:s8:u8".
std::string DataTypesOf(const products::ProductTypes& types);
// Returns "--dt=u8:s8:u8 ", without what is benchdnn's default.
std::string TypesArgument(const products::ProductTypes& types);

// Returns the argument of the option `scales` with a blank behind it. Calls get the scales as data:
// any value but 1 will do.
std::string ScalesArgument(const products::ProductTypes& types);

// Returns why scales, zero points, post-ops or the context lead to no benchmark; empty: they do.
std::string AttributeReason(const BenchdnnChoice& choice, const products::ProductTypes& types, bool forward);

// The options of a name, in its order: those that --dir says, relu and scales.
std::vector<std::string> ProductOptionsOf(const BenchdnnChoice& choice, bool training, bool bias);
// Appends the option by which f32 may be computed in a narrower type.
void AddFpmathOption(const BenchdnnChoice& choice, std::vector<std::string>& options);

}  // namespace dlroof::benchdnn
