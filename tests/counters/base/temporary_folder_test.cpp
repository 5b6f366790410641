#include "counters/base/temporary_folder.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace dlroof {
namespace {

namespace fs = std::filesystem;

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
