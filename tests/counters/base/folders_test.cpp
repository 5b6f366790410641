#include "counters/base/folders.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace dlroof {
namespace {

namespace fs = std::filesystem;

// The variables are put back: other tests of this process may read them.
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
  cache.Set("relative");  // the specification: must be ignored
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
