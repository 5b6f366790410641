#include "bench/onednn/library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/library_files/library_file.h"

namespace dlroof::onednn {
namespace {

dnnl_version_t VersionOf(int major, int minor, int patch) {
  return {.major = major, .minor = minor, .patch = patch};
}

TEST(OnednnLibrary, EveryVersionFrom3_2OnCanBeUsed) {
  EXPECT_FALSE(VersionRefusal(VersionOf(3, 2, 0)));
  EXPECT_FALSE(VersionRefusal(VersionOf(3, 14, 1)));
  EXPECT_EQ(VersionRefusal(VersionOf(2, 7, 1)).value().text,
            "oneDNN 2.7.1, expected 3.2 or a newer 3.x");
  EXPECT_TRUE(VersionRefusal(VersionOf(3, 1, 9)));
  EXPECT_TRUE(VersionRefusal(VersionOf(4, 3, 0)));
}

TEST(OnednnLibrary, OpenMpRunsOnAnyNumberOfThreads) {
  for (const int threads : {1, 2, 64}) EXPECT_FALSE(ThreadsRefusal(Threading::kOpenMp, threads, 4));
}

TEST(OnednnLibrary, OtherThreadingRunsOnItsOwnNumberOnly) {
  for (const auto threading : {Threading::kTbb, Threading::kSycl, Threading::kUnknown}) {
    EXPECT_FALSE(ThreadsRefusal(threading, 4, 4));
    EXPECT_THAT(ThreadsRefusal(threading, 1, 4).value().text,
                testing::HasSubstr("it runs on 4 threads here, and the number cannot be set to 1"));
  }
  for (const auto threading : {Threading::kSequential, Threading::kThreadpool}) {
    EXPECT_FALSE(ThreadsRefusal(threading, 1, 4));
    EXPECT_THAT(ThreadsRefusal(threading, 4, 4).value().text,
                testing::HasSubstr("it runs on 1 thread here"));
  }
}

// dnnl_config.h of every 3.x has these numbers.
TEST(OnednnLibrary, TellsItsThreadingByTheNumberOfItsRuntime) {
  const std::pair<unsigned, std::string_view> names[] = {
      {1, "sequential"}, {2, "OpenMP"}, {4, "TBB"}, {8, "threadpool"}, {512, "SYCL"}};
  for (const auto& [number, name] : names) EXPECT_EQ(NameOf(ThreadingOf(number)), name);
  EXPECT_EQ(NameOf(ThreadingOf(16)), "unknown threading");
}

TEST(OnednnLibrary, TheLoadedFileIsTheOneWhoseVersionIsTold) {
  const auto loaded = library_files::LoadedLibraries();
  const auto found = std::find_if(loaded.begin(), loaded.end(),
                                  [](const auto& library) { return library.name == "onednn"; });
  ASSERT_NE(found, loaded.end());
  EXPECT_THAT(found->file, testing::HasSubstr("libdnnl"));
  EXPECT_THAT(Version(), testing::StartsWith(found->facts.version + " (commit "));
  EXPECT_EQ(found->facts.threading, NameOf(LoadedThreading()));
}

}  // namespace
}  // namespace dlroof::onednn
