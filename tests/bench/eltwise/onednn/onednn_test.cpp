#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/fakes/outcome.h"

namespace dlroof::eltwise {
namespace {

TEST(EltwiseOnednn, AgreesWithTheReference) {
  for (const std::string type : {"f32", "bf16"})
    for (const auto* problem : {"m1n1", "m7n1", "m1n100", "m33n17", "m512n3072"})
      for (const auto* options :
           {"", "/training", "/gelu_erf", "/training/gelu_tanh", "/logistic", "/tanh"})
        fakes::ExpectAgrees(fmt::format("Eltwise/cpu/onednn/fwd/{}/{}{}", type, problem, options),
                            type);
}

}  // namespace
}  // namespace dlroof::eltwise
