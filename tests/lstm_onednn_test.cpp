#include "bench/lstm_onednn.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>

#include "bench/onednn_support.h"

namespace dlroof::onednn {
namespace {

TEST(Probe, All) {
  for (const auto* type : {"f32", "bf16", "int8"})
    for (const auto* direction : {"fwd_inference", "fwd_training", "bwd"})
      for (const auto* problem :
           {"t3n2i5h7", "t3n2i8h8l3", "t3n2i5h7l3", "t3n2i5h7bi", "t3n2i5h7bisum", "t4n3i5h7l2bi",
            "t4n3i5h6l2bisum", "t3n2i5h8p4", "t3n2i5h8l2p4bi", "t16n16i32h16", "t128n16i32h16",
            "t16n128i32h16", "t16n16i32h128", "t50n64i512h512"}) {
        const std::string name = fmt::format("LSTM/cpu/onednn/{}/{}/{}", direction, type, problem);
        try {
          const auto call = MakeWorkload(name).prepare({.threads = 2, .seed = 1});
          const auto v = call.verify();
          printf("%-60s %s err %.2g %s\n", name.c_str(), call.algorithm.c_str(), v.max_error,
                 v.how.c_str());
        } catch (const std::exception& e) {
          printf("%-60s %s\n", name.c_str(), e.what());
        }
      }
}

}  // namespace
}  // namespace dlroof::onednn
