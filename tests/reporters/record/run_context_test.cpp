#include "reporters/record/run_context.h"

#include <gmock/gmock.h>

namespace dlroof::record {
namespace {

using testing::ElementsAre;

TEST(ContextChanges, NamesWhatElseDiffers) {
  RunFile base, contender;
  base.context["dlroof"] = {{"commit", "a"}, {"libraries", {{"onednn", "3.2"}}}};
  contender.context["dlroof"] = {{"commit", "b"},
                                 {"libraries", {{"onednn", "3.3"}}},
                                 {"environment", {{"OMP_NUM_THREADS", "2"}}}};
  EXPECT_THAT(ContextChanges(base, contender),
              ElementsAre("commit: a -> b", "libraries onednn: 3.2 -> 3.3",
                          "environment OMP_NUM_THREADS: none -> 2"));
}

TEST(ContextChanges, NamesWhatAFileOfGoogleBenchmarkSays) {
  RunFile base, contender;
  base.context = {{"library_build_type", "release"},
                  {"mhz_per_cpu", 2600},
                  {"host_name", "a"},
                  {"CXX", "gcc 12"},
                  {"date", "1"}};
  contender.context = {
      {"library_build_type", "debug"}, {"CXX", "clang 17"}, {"date", "2"},
      {"mhz_per_cpu", 2601},           {"host_name", "a"},  {"library_version", "v1.9.5"}};
  EXPECT_THAT(ContextChanges(base, contender),
              ElementsAre("CXX: gcc 12 -> clang 17", "library_build_type: release -> debug",
                          "library_version: none -> v1.9.5"));
}

}  // namespace
}  // namespace dlroof::record
