#include "baselines/history/builds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "counters/base/error.h"
#include "counters/base/files.h"

namespace dlroof::history {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;

TEST(OwnLibraries, AreThoseOutsideOfTheSystemsFolders) {
  EXPECT_THAT(OwnLibraries("\tlinux-vdso.so.1 (0x00007ffc)\n"
                           "\tlibz.so.1 => /lib/x86_64-linux-gnu/libz.so.1 (0x00007f01)\n"
                           "\tlibdnnl.so.3 => /opt/a b/libdnnl.so.3 (0x00007f02)\n"
                           "\tlibgone.so => not found\n"
                           "\t/lib64/ld-linux-x86-64.so.2 (0x00007f03)\n"),
              ElementsAre("/opt/a b/libdnnl.so.3"));
  EXPECT_THAT(OwnLibraries("\tnot a dynamic executable\n"), IsEmpty());
}

TEST(ParseSize, TakesDecimalUnits) {
  EXPECT_EQ(ParseSize("--limit", "0"), 0);
  EXPECT_EQ(ParseSize("--limit", "1500"), 1500);
  EXPECT_EQ(ParseSize("--limit", "2k"), 2000);
  EXPECT_EQ(ParseSize("--limit", "0.5M"), 500'000);
  EXPECT_EQ(ParseSize("--limit", "2G"), 2'000'000'000);
  for (const char* bad : {"", "G", "2g", "-1", "2 G", "1e30", "nan"})
    EXPECT_THROW(ParseSize("--limit", bad), BadInput) << bad;
}

// Writes a program (a script) of this size [byte].
std::string WriteProgram(const TemporaryFolder& folder, const std::string& name, char fill,
                         std::size_t bytes) {
  const auto path = folder / name;
  WriteFile(path, std::string(bytes, fill));
  return path;
}

TEST(Builds, FindsWhatItKeepsAlsoByAnAbbreviation) {
  const TemporaryFolder folder;
  const Builds builds(folder / "builds");
  EXPECT_FALSE(builds.Find("0123456789ab"));
  const auto kept = builds.Keep("0123456789ab", WriteProgram(folder, "p", 'a', 100), 1000);
  EXPECT_EQ(kept.added_bytes, 100);
  EXPECT_EQ(kept.all_bytes, 100);
  EXPECT_THAT(kept.program.files, ElementsAre("p"));
  EXPECT_TRUE(fs::exists(kept.program.run));
  for (const char* name : {"0123456789ab", "0123456", "0123456789abcdef"}) {
    const auto found = builds.Find(name);
    ASSERT_TRUE(found) << name;
    EXPECT_EQ(found->commit, "0123456789ab");
  }
  for (const char* name : {"012345", "1123456", "", "objects", "../x"})
    EXPECT_FALSE(builds.Find(name)) << name;
}

TEST(Builds, KeepsEqualFilesOnce) {
  const TemporaryFolder folder;
  const Builds builds(folder / "builds");
  const auto program = WriteProgram(folder, "p", 'a', 100);
  builds.Keep("one", program, 1000);
  const auto kept = builds.Keep("two", program, 1000);
  EXPECT_EQ(kept.added_bytes, 0);
  EXPECT_EQ(kept.all_bytes, 100);
  EXPECT_THAT(builds.Commits(), ElementsAre("one", "two"));
}

TEST(Builds, RemovesTheLeastRecentlyUsed) {
  const TemporaryFolder folder;
  const Builds builds(folder / "builds");
  builds.Keep("one", WriteProgram(folder, "p", 'a', 100), 250);
  builds.Keep("two", WriteProgram(folder, "p", 'b', 100), 250);
  fs::last_write_time(folder / "builds/one/program.json",
                      fs::file_time_type::clock::now() + std::chrono::hours(1));  // used later
  const auto kept = builds.Keep("three", WriteProgram(folder, "p", 'c', 100), 250);
  EXPECT_THAT(kept.evicted, ElementsAre("two"));
  EXPECT_EQ(kept.all_bytes, 200);
  EXPECT_THAT(builds.Commits(), ElementsAre("one", "three"));
}

TEST(Builds, RefusesAProgramThatIsLargerThanAll) {
  const TemporaryFolder folder;
  const Builds builds(folder / "builds");
  EXPECT_THROW(builds.Keep("one", WriteProgram(folder, "p", 'a', 100), 99), BadInput);
  EXPECT_THAT(builds.Commits(), IsEmpty());
  EXPECT_THROW(builds.Keep("one", folder / "none", 99), BadInput);
  for (const char* name : {"", "a/b", ".", "..", "objects"})
    EXPECT_THROW(builds.Keep(name, folder / "p", 1000), BadInput) << name;
}

TEST(Builds, ReplacesAProgramAndForgetsWhatAKilledProcessLeft) {
  const TemporaryFolder folder;
  const Builds builds(folder / "builds");
  builds.Keep("one", WriteProgram(folder, "p", 'a', 100), 1000);
  fs::create_directories(folder / "builds/.two");
  fs::create_hard_link(folder / "builds/one/p", folder / "builds/.two/p");
  const auto kept = builds.Keep("one", WriteProgram(folder, "q", 'b', 50), 1000);
  EXPECT_THAT(kept.program.files, ElementsAre("q"));
  EXPECT_EQ(kept.all_bytes, 50);
  EXPECT_FALSE(fs::exists(folder / "builds/.two"));
}

}  // namespace
}  // namespace dlroof::history
