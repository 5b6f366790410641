#include "counters/base/files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "tests/fakes/refusal.h"

namespace dlroof {
namespace {

namespace fs = std::filesystem;
using testing::EndsWith;

class WriteFileTest : public testing::Test {
 protected:
  fs::path At(const char* name) const { return folder_ / name; }
  static std::string Read(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::ptrdiff_t Entries() const { return std::distance(fs::directory_iterator(At("")), {}); }

  TemporaryFolder folder_;
};

TEST_F(WriteFileTest, ReplacesWhatWasThere) {
  for (const auto when : {OnDisk::kLater, OnDisk::kNow})
    for (const char* text : {"long text\n", "short", ""}) {
      WriteFile(At("f"), text, when);
      EXPECT_EQ(Read(At("f")), text);
    }
  EXPECT_EQ(Entries(), 1);
}

// A program that has the old file open can still read all of it.
TEST_F(WriteFileTest, APlainFileIsOldOrNew) {
  WriteFile(At("f"), "old");
  std::ifstream reader(At("f"));
  WriteFile(At("f"), "new, and longer");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(reader), {}), "old");
}

TEST_F(WriteFileTest, ALinkStaysOne) {
  WriteFile(At("f"), "old");
  fs::create_symlink(At("f"), At("link"));
  WriteFile(At("link"), "new");
  EXPECT_TRUE(fs::is_symlink(At("link")));
  EXPECT_EQ(Read(At("f")), "new");
}

TEST_F(WriteFileTest, WhatCannotBeWrittenIsOneSentence) {
  const auto refusal = [](const fs::path& path) {
    return fakes::RefusalOf([&] { WriteFile(path, "text"); });
  };
  EXPECT_EQ(refusal("/dev/full"), "/dev/full: cannot be written: No space left on device");
  EXPECT_THAT(refusal(At("no/f")), EndsWith("/no/f: cannot be written: No such file or directory"));
  fs::create_directory(At("folder"));
  EXPECT_THAT(refusal(At("folder")), EndsWith("/folder: cannot be written: Is a directory"));
  EXPECT_EQ(Entries(), 1);  // no temporary file is left
}

using ReadFileTest = WriteFileTest;

TEST_F(ReadFileTest, ReturnsEveryByte) {
  const std::string text("a\0\r\n", 4);
  WriteFile(At("f"), text);
  EXPECT_EQ(ReadFile(At("f"), "text"), text);
  EXPECT_EQ(ReadFile(At("f"), "text", 4), text);
  EXPECT_EQ(ReadFile("/dev/null", "text"), "");
  EXPECT_GT(ReadFile("/proc/self/smaps", "text").size(), 0);  // stat reports a size of 0
}

TEST_F(ReadFileTest, OneSentenceSaysWhyNot) {
  WriteFile(At("f"), "12345");
  EXPECT_EQ(fakes::RefusalOf([&] { ReadFile(At("none"), "a suite"); }),
            At("none").string() + ": cannot be read: No such file or directory; expected a suite");
  EXPECT_EQ(fakes::RefusalOf([] { ReadFile("/", "a suite"); }),
            "/: cannot be read: Is a directory; expected a suite");
  EXPECT_EQ(fakes::RefusalOf([&] { ReadFile(At("f"), "a suite", 4); }),
            At("f").string() + ": has more than 4 bytes; expected a suite");
  EXPECT_EQ(ReadFileIfAny(At("none")), "");
}

// Restores the variables, which other tests of this process may read.
class Variable {
 public:
  explicit Variable(const char* name) : name_(name) {
    if (const char* text = std::getenv(name)) before_ = text;
  }
  ~Variable() { Set(before_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;
  void Set(const std::optional<std::string>& text) const {
    if (text)
      setenv(name_, text->c_str(), 1);
    else
      unsetenv(name_);
  }

 private:
  const char* name_;
  std::optional<std::string> before_;
};

TEST(CacheDirectory, FollowsTheXdgSpecification) {
  const Variable cache("XDG_CACHE_HOME"), home("HOME");
  cache.Set("/c");
  home.Set("/h");
  EXPECT_EQ(CacheDirectory(), fs::path("/c/dlroof"));
  cache.Set("relative");  // the XDG specification says to ignore it
  EXPECT_EQ(CacheDirectory(), fs::path("/h/.cache/dlroof"));
  cache.Set(std::nullopt);
  EXPECT_EQ(CacheDirectory(), fs::path("/h/.cache/dlroof"));
  home.Set(std::nullopt);
  EXPECT_EQ(CacheDirectory(), std::nullopt);
}

TEST(TemporaryFolder, IsGoneWithAllInItAndSharedWithNobody) {
  std::string file;
  {
    const TemporaryFolder folder, other;
    file = folder / "a";
    EXPECT_NE(file, other / "a");
    std::ofstream(file) << "text";
    EXPECT_TRUE(fs::exists(file));
  }
  EXPECT_FALSE(fs::exists(fs::path(file).parent_path()));
}

}  // namespace
}  // namespace dlroof
