#include "baselines/programs/implementation_family.h"

#include <algorithm>
#include <iterator>

namespace dlroof::programs {
namespace {

struct RenamedImplementation {
  std::string_view name, before;  // in front of the colon and the instruction set
};

// oneDNN's commit 20d93aea88 ("cpu: brgemm: updated names for conv, deconv, matmul primitives",
// March 2024) renamed these. Until then a backward or transposed convolution that runs as a forward
// one was named after both: "brg_fwd:avx2+brgconv:avx2".
constexpr RenamedImplementation kRenamed[] = {{"brg_conv_fwd", "brgconv"},
                                              {"brg_conv_bwd", "brg_fwd"},
                                              {"brg_deconv", "brg_conv"},
                                              {"brg_matmul", "brg"}};
constexpr std::string_view kNamedAfterBoth[] = {"brg_fwd", "brg_conv"};

}  // namespace

std::string ImplementationFamily(std::string_view implementation) {
  const auto colon = std::min(implementation.find(':'), implementation.size());
  auto name = implementation.substr(0, colon);
  auto isa = implementation.substr(colon);
  for (const auto& renamed : kRenamed)
    if (name == renamed.name) {
      name = renamed.before;
      break;
    }
  if (std::ranges::find(kNamedAfterBoth, name) != std::end(kNamedAfterBoth))
    isa = isa.substr(0, isa.find('+'));
  return std::string(name) + std::string(isa);
}

}  // namespace dlroof::programs
