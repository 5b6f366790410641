#include "bench/lstm_onednn.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <chrono>

#include "bench/onednn_support.h"

namespace dlroof::onednn {
namespace {

TEST(Probe, All) {
  for (const auto* type : {"f32", "bf16", "int8"})
    for (const auto* direction : {"fwd_inference", "fwd_training", "bwd"})
      for (const auto* problem :
           {"t3n2i5h7",  "t16n16i32h16", "t128n16i32h16",
            "t16n128i32h16", "t16n16i32h128", "t50n64i512h512"}) {
        const std::string name = fmt::format("LSTM/cpu/onednn/{}/{}/{}", direction, type, problem);
        try {
          auto t0 = std::chrono::steady_clock::now();
          auto el = [&] { auto t1 = std::chrono::steady_clock::now(); double d = std::chrono::duration<double>(t1 - t0).count(); t0 = t1; return d * 1e3; };
          const auto call = MakeWorkload(name).prepare({.threads = 1, .seed = 1});
          double prep = el(); const auto v = call.verify(); double ver = el();
          for (int i = 0; i < 3; ++i) call.run();
          el(); for (int i = 0; i < 20; ++i) call.run(); double run = el() / 20;
          printf("prep %.1f ms verify %.1f ms run %.4f ms ", prep, ver, run);
          printf("%-60s %s err %.2g %s\n", name.c_str(), call.algorithm.c_str(), v.max_error,
                 v.how.c_str());
        } catch (const std::exception& e) {
          printf("%-60s %s\n", name.c_str(), e.what());
        }
      }
}

}  // namespace
}  // namespace dlroof::onednn
