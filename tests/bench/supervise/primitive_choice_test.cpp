#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/supervise/supervised_program.h"

namespace dlroof::supervise {
namespace {

using testing::ElementsAre;

// Lines of oneDNN 3.2 and 3.6 (shortened), between other output.
constexpr const char* kOld =
    "onednn_verbose,info,oneDNN v3.2.0 (commit a1)\n"
    "onednn_verbose,info,prim_template:operation,engine,primitive,implementation,prop_kind,"
    "memory_descriptors,attributes,auxiliary,problem_desc,exec_time\n"
    "onednn_verbose,create:cache_miss,cpu,convolution,jit:avx2,forward_inference,"
    "src_f32::blocked:aBcd8b:f0 wei_f32::blocked:ABcd8b8a:f0 bia_undef::undef::: "
    "dst_f32::blocked:aBcd8b:f0,,alg:convolution_direct,mb1_ic16oc32,0.5\n"
    "Benchmark   Time\n"
    "onednn_verbose,create:cache_miss,cpu,reorder,jit:uni,undef,src_f32::blocked:abcd:f0 "
    "dst_f32::blocked:aBcd8b:f0,,,1x16x14x14,0.1\n";
constexpr const char* kNew =
    "onednn_verbose,v1,info,template:operation,engine,primitive,implementation,prop_kind,"
    "memory_descriptors,attributes,auxiliary,problem_desc,exec_time\n"
    "onednn_verbose,v1,primitive,create:cache_miss,cpu,convolution,brgconv:avx2,forward_inference,"
    "src:f32::blocked:acdb::f0 wei:f32::blocked:Acdb24a::f0 bia:undef::undef::: "
    "dst:f32::blocked:acdb::f0,,alg:convolution_direct,mb1_ic16oc32,0.5\n"
    "onednn_verbose,v1,primitive,create:cache_miss,cpu,reorder,jit:uni,undef,"
    "src:f32::blocked:abcd::f0 dst:f32::blocked:acdb::f0,,,1x16x14x14,0.1\n";

TEST(PrimitiveChoice, IsTheImplementationAndTheLayoutOfEachTensor) {
  const auto choice = ChoiceIn(kOld).value();
  EXPECT_EQ(choice["implementation"], "jit:avx2");
  EXPECT_EQ(choice["layouts"].dump(),
            R"({"dst":"f32 aBcd8b","src":"f32 aBcd8b","wei":"f32 ABcd8b8a"})");
}

TEST(PrimitiveChoice, OfTwoVersionsIsComparedTensorByTensor) {
  EXPECT_THAT(
      ChangesBetween(ChoiceIn(kOld).value(), ChoiceIn(kNew).value()),
      ElementsAre("implementation: jit:avx2 -> brgconv:avx2",
                  "layout of dst: f32 aBcd8b -> f32 acdb", "layout of src: f32 aBcd8b -> f32 acdb",
                  "layout of wei: f32 ABcd8b8a -> f32 Acdb24a"));
  EXPECT_THAT(ChangesBetween(ChoiceIn(kNew).value(), ChoiceIn(kNew).value()), ElementsAre());
}

TEST(PrimitiveChoice, ATensorOfOneVersionOnlyIsAChange) {
  const nlohmann::json base = {{"implementation", "ref"}, {"layouts", {{"src", "f32 ab"}}}};
  auto contender = base;
  contender["layouts"]["scratchpad"] = "u8 a";
  EXPECT_THAT(ChangesBetween(base, contender), ElementsAre("layout of scratchpad: none -> u8 a"));
}

std::string Created(const std::string& kind, const std::string& implementation) {
  return "onednn_verbose,create:cache_miss,cpu," + kind + "," + implementation +
         ",backward,src_f32::blocked:ab:f0,,,1,0.1\n";
}

// A backward LSTM needs a forward primitive; what an explanation times comes later.
TEST(PrimitiveChoice, IsTheLastOneOfTheFirstKind) {
  const auto log = Created("reorder", "r") + Created("rnn", "forward") +
                   Created("rnn", "backward") + Created("eltwise", "e") + Created("reorder", "r");
  EXPECT_EQ(ChoiceIn(log).value()["implementation"], "backward");
}

TEST(PrimitiveChoice, IsUnknownWithoutAPrimitive) {
  EXPECT_FALSE(ChoiceIn(""));
  EXPECT_FALSE(ChoiceIn("Benchmark   Time\n" + Created("reorder", "r")));
}

}  // namespace
}  // namespace dlroof::supervise
