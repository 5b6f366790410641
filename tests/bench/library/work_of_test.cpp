// The work that a program gives for a call.
#include <gmock/gmock.h>

#include "bench/library/program.h"
#include "tests/fakes/refusal.h"

namespace dlroof::library {
namespace {

using testing::HasSubstr, testing::Pair, testing::UnorderedElementsAre;

std::string Refusal(const Call& call) { return fakes::RefusalOf(WorkOf, call); }

TEST(WorkOf, ATypeAloneIsItsVectorUnitAndBytesAreByLevelAndRefusesWhatIsNoWork) {
  auto work = WorkOf({.flops = {{"fp32", 5}, {"fp64", 0}, {"fp16.matrix", 4}}});
  EXPECT_THAT(work.flops, UnorderedElementsAre(Pair("fp32.vector", 5), Pair("fp16.matrix", 4)));
  EXPECT_TRUE(work.bytes.empty());
  EXPECT_FALSE(work.launches.has_value());
  work = WorkOf({.bytes = {{"l1", 1}, {"l2", 2}, {"l3", 3}, {"dram", 4}, {"host", 0}}});
  EXPECT_THAT(work.bytes,
              UnorderedElementsAre(Pair(Level::kL1, 1), Pair(Level::kL2, 2), Pair(Level::kL3, 3),
                                   Pair(Level::kDram, 4), Pair(Level::kHost, 0)));
  EXPECT_THAT(Refusal({.flops = {{"fp32.", 1}}}), HasSubstr("is no pipe"));
  EXPECT_THAT(Refusal({.flops = {{"fp32", 2}, {"fp32.vector", 3}}}), HasSubstr("is given twice"));
  EXPECT_THAT(Refusal({.flops = {{"fp32", 1e19}}}), HasSubstr("is no amount of work"));
  EXPECT_THAT(Refusal({.bytes = {{"l1", std::nan("")}}}), HasSubstr("l1: nan is no amount"));
}

}  // namespace
}  // namespace dlroof::library
