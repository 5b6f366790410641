#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "bench/workload/library_rules.h"
#include "tests/fakes/refusal.h"

namespace dlroof::workload {
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

TEST(IsRefusal, IsWhatCudnnCannotDoAndNoBrokenInstallation) {
  const auto refused = [](int status) {
    return std::pair(IsRefusal(status, Stage::kDescribe), IsRefusal(status, Stage::kExecute));
  };
  for (const int cannot : {3000, 3002, 3007, 3010})
    EXPECT_EQ(refused(cannot), std::pair(true, true)) << cannot;
  for (const int bad_parameter : {2000, 2008})
    EXPECT_EQ(refused(bad_parameter), std::pair(true, false)) << bad_parameter;
  // A missing driver, runtime, NVRTC or part of cuDNN, a compiler that fails, a GPU that fails.
  for (const int broken : {1001, 1002, 1008, 3005, 3006, 3008, 3009, 4000, 4001, 5000, 5001})
    EXPECT_EQ(refused(broken), std::pair(false, false)) << broken;
}

TEST(CudnnMismatch, MinorVersionsAreCompatibleMajorVersionsAreNot) {
  EXPECT_FALSE(CudnnMismatch(90800, 9));
  EXPECT_FALSE(CudnnMismatch(92299, 9));
  EXPECT_EQ(CudnnMismatch(100000, 9).value().text,
            "cuDNN 10.0.0 was found, but this build needs 9: put the folder of cuDNN 9 first in "
            "LD_LIBRARY_PATH");
  EXPECT_THAT(CudnnMismatch(8907, 9).value().text, HasSubstr("cuDNN 8.9.7 was found"));
}

bool Accepted(std::string_view type, const char* value) {
  return fakes::RefusalOf<Unsupported>([&] { RequireTf32(type, value); }) == "accepted";
}

TEST(RequireTf32, RefusesWhatTheVariableWouldMakeAnotherType) {
  for (const char* value : {static_cast<const char*>(nullptr), ""})
    for (const char* type : {"tf32", "f32", "f16"}) EXPECT_TRUE(Accepted(type, value)) << type;
  EXPECT_FALSE(Accepted("tf32", "0"));
  EXPECT_TRUE(Accepted("f32", "0"));
  EXPECT_TRUE(Accepted("tf32", "1"));
  EXPECT_FALSE(Accepted("f32", "1"));
  EXPECT_TRUE(Accepted("f16", "0"));
  EXPECT_TRUE(Accepted("f16", "1"));
}

TEST(VectorLanes, AreThoseOfTheIsaThatTheImplementationNames) {
  EXPECT_EQ(VectorLanes("brgconv:avx2", "avx512_core"), 8);
  EXPECT_EQ(VectorLanes("brgconv:avx10_1_512", ""), 16);
  EXPECT_EQ(VectorLanes("jit:sse41", "avx2"), 4);
  EXPECT_EQ(VectorLanes("brgemm", "avx512_core_vnni"), 16);
}

struct PipeRow {
  const char *type, *implementation, *effective_isa, *pipe;
};
constexpr PipeRow kPipes[] = {
    {"bf16", "brgconv:avx512_core_amx_bf16", "avx512_core_amx", "bf16.matrix"},
    {"bf16", "brgconv:avx512_core_bf16", "avx512_core_amx", "bf16.vector"},
    // avx512_core has no bf16 instruction, so bf16 is emulated whatever the implementation's name.
    {"bf16", "jit_bf16:avx512_core", "avx512_core_amx", "fp32.vector"},
    {"int8", "brgconv:avx512_core_amx_int8", "avx512_core_amx", "int8.matrix"},
    {"int8", "jit_int8:avx512_core_vnni", "avx512_core_amx", "int8.vector"},
    {"s8s8f32", "brgconv:avx512_core_amx", "avx512_core_amx", "int8.matrix"},
    {"f32", "brgconv:avx512_core", "avx512_core_amx", "fp32.vector"},
    // The names of oneDNN 3.13.
    {"bf16", "brgconv:avx10_1_512_amx", "avx512_core_amx", "bf16.matrix"},
    {"bf16", "jit:avx10_1_512", "avx512_core_fp16", "bf16.vector"},
    {"f16", "brgconv:avx10_1_512_amx_fp16", "avx512_core_amx", "fp16.matrix"},
    {"f16", "brgconv:avx10_2_amx_2", "avx512_core_amx", "fp16.matrix"},
    // The effective ISA decides where the name has none.
    {"bf16", "brgemm", "avx512_core_amx", "bf16.matrix"},
    {"bf16", "brgemm", "avx512_core_bf16", "bf16.vector"},
    {"bf16", "gemm:jit", "avx512_core_fp16", "bf16.vector"},
    {"bf16", "ref", "avx2", "fp32.vector"},
    {"f64", "plain loops", "", "fp64.vector"},
    // Plain loops use no matrix unit.
    {"bf16", "ref:any", "avx512_core_amx", "fp32.vector"},
    {"int8", "ref_int8:any", "avx512_core_amx", "int8.vector"},
    // f16 is widened unless AMX has it: tiles of bf16 and int8 do not multiply f16.
    {"f16", "brgconv:avx512_core_fp16", "avx512_core_fp16", "fp32.vector"},
    {"f16", "brgconv:avx512_core_amx_fp16", "avx512_core_amx_fp16", "fp16.matrix"},
    {"f16", "brgemm", "avx512_core_amx", "fp32.vector"}};

TEST(MatrixPipe, FollowsTypeImplementationAndIsa) {
  for (const auto& [type, implementation, effective_isa, pipe] : kPipes)
    EXPECT_EQ(MatrixPipe(type, implementation, effective_isa), pipe)
        << type << ' ' << implementation << ' ' << effective_isa;
  EXPECT_THROW(MatrixPipe("f12", "jit:avx2", "avx2"), std::logic_error);
}

TEST(NamedMatrixPipe, IsAbsentWhereOnlyTheAllowedIsaWouldDecide) {
  EXPECT_EQ(NamedMatrixPipe("bf16", "brgemm:avx512_core_amx"), "bf16.matrix");
  EXPECT_EQ(NamedMatrixPipe("int8", "ref_int8:any"), "int8.vector");
  for (const char* type : {"bf16", "f16", "int8"})
    for (const char* implementation : {"brgemm", "ref", "gemm:jit", ""})
      EXPECT_FALSE(NamedMatrixPipe(type, implementation)) << type << " by " << implementation;
  EXPECT_EQ(NamedMatrixPipe("f64", ""), "fp64.vector");
}

}  // namespace
}  // namespace dlroof::workload
