#include "counters/base/installation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "counters/base/files.h"

namespace dlroof {
namespace {

namespace fs = std::filesystem;

// Sets an environment variable, and restores it at the end.
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

class InstallationTest : public testing::Test {
 protected:
  fs::path At(const char* name) const { return fs::canonical(folder_ / "") / name; }
  fs::path Program(const char* name) const {
    fs::create_directories(At(name).parent_path());
    std::ofstream(At(name)) << "#!/bin/sh\n";
    fs::permissions(At(name), fs::perms::owner_all);
    return At(name);
  }
  TemporaryFolder folder_;
  Variable data_{"DLROOF_DATA"}, path_{"PATH"};
};

TEST_F(InstallationTest, AProgramInBinBelongsToItsPrefix) {
  fs::create_directories(At("opt/share/dlroof"));
  const auto found = InstallationOf(At("opt/bin/dlroof"));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->programs, At("opt/bin"));
  EXPECT_EQ(found->libraries, At("opt/lib/dlroof"));
  EXPECT_EQ(found->data, At("opt/share/dlroof"));
}

TEST_F(InstallationTest, AProgramOfABuildFolderFindsEverythingThere) {
  fs::create_directories(At("build/share/dlroof"));
  const auto found = InstallationOf(At("build/dlroof_bench"));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->programs, At("build"));
  EXPECT_EQ(found->libraries, At("build"));
  EXPECT_EQ(found->data, At("build/share/dlroof"));
}

// A build folder may be called "bin", and then its parent is no prefix.
TEST_F(InstallationTest, ABuildFolderCalledBinIsOne) {
  fs::create_directories(At("bin/share/dlroof"));
  EXPECT_EQ(InstallationOf(At("bin/dlroof")).value().libraries, At("bin"));
}

TEST_F(InstallationTest, OtherProgramsBelongToNone) {
  fs::create_directories(At("opt/share/other"));
  std::ofstream(At("opt/share/dlroof")) << "a file\n";
  EXPECT_FALSE(InstallationOf(At("opt/bin/dlroof")));
  EXPECT_FALSE(InstallationOf(At("mybench")));
  EXPECT_FALSE(InstallationOf(""));
}

TEST_F(InstallationTest, TheVariableNamesTheData) {
  data_.Set("/some/folder");
  EXPECT_EQ(DataFolder(), fs::path("/some/folder"));
}

TEST(ProgramPath, IsAnAbsolutePathOfAFile) {
  EXPECT_TRUE(ProgramPath().is_absolute());
  EXPECT_TRUE(fs::is_regular_file(ProgramPath()));
}

// The tests' program is in no installation, as a user's own benchmark program.
TEST_F(InstallationTest, AProgramOfAUserFindsTheDlroofInPath) {
  ASSERT_FALSE(InstallationOf(ProgramPath()));
  data_.Set(std::nullopt);
  path_.Set(At("links").string() + "::" + At("nowhere").string());
  EXPECT_FALSE(ThisInstallation());
  EXPECT_FALSE(DataFolder());

  fs::create_directories(At("opt/share/dlroof"));
  fs::create_directories(At("links"));
  fs::create_symlink(Program("opt/bin/dlroof"), At("links/dlroof"));
  ASSERT_TRUE(ThisInstallation());
  EXPECT_EQ(ThisInstallation()->programs, At("opt/bin"));
  EXPECT_EQ(DataFolder(), At("opt/share/dlroof"));

  data_.Set("");
  EXPECT_EQ(DataFolder(), At("opt/share/dlroof"));
}

}  // namespace
}  // namespace dlroof
