#include "bench/library_files/library_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dlroof::library_files {
namespace {

using testing::HasSubstr;

std::string Refusal(const std::string& name, const std::string& file) {
  try {
    UseLibraryFile(name, file, "--flag");
  } catch (const BadInput& error) {
    return error.what();
  }
  return "";
}

TEST(PreloadValue, ThisProgramsChoiceFollowsTheUsers) {
  EXPECT_EQ(PreloadValue(nullptr, {"/a/libdnnl.so.3"}), "/a/libdnnl.so.3");
  EXPECT_EQ(PreloadValue("", {"/a/libdnnl.so.3"}), "/a/libdnnl.so.3");
  EXPECT_EQ(PreloadValue("/b/libjemalloc.so", {"/a/libiomp5.so", "/a/libdnnl.so.3"}),
            "/b/libjemalloc.so:/a/libiomp5.so:/a/libdnnl.so.3");
}

TEST(PreloadValue, APathThatWouldBeSplitIsRefused) {
  EXPECT_THROW(PreloadValue(nullptr, {"/my libraries/libdnnl.so.3"}), BadInput);
  EXPECT_THROW(PreloadValue(nullptr, {"/a:b/libdnnl.so.3"}), BadInput);
}

TEST(UseLibraryFile, ALibraryThatTheBuildLacksIsRefused) {
  EXPECT_THAT(Refusal("no_such_library", "/proc/self/exe"),
              HasSubstr("this build of dlroof was made without no_such_library"));
}

TEST(UseLibraryFile, NamesAFileThatDoesNotExist) {
  RegisterChoosableLibrary({.name = "of_this_test",
                            .title = "the C library's mathematics",
                            .function = "of_this_test_version",
                            .facts = [](void*) { return LibraryFacts(); },
                            .refusal = [](void*) { return std::nullopt; },
                            .shared_function = ""});
  EXPECT_EQ(Refusal("of_this_test", "/no/such/libdnnl.so.3"),
            "--flag: /no/such/libdnnl.so.3: No such file or directory");
  // A program is no shared library.
  EXPECT_THAT(Refusal("of_this_test", "/proc/self/exe"), HasSubstr("cannot be loaded"));
}

}  // namespace
}  // namespace dlroof::library_files
