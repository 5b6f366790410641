#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "bench/workload/library_file.h"
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

TEST(IsRefusal, WhatCudnnCannotDo) {
  for (const int status : {3000, 3002, 3007, 3010})
    for (const auto stage : {Stage::kDescribe, Stage::kExecute})
      EXPECT_TRUE(IsRefusal(status, stage)) << status;
}

TEST(IsRefusal, ABadParameterIsARefusalOnlyDuringDescription) {
  for (const int status : {2000, 2008}) {
    EXPECT_TRUE(IsRefusal(status, Stage::kDescribe)) << status;
    EXPECT_FALSE(IsRefusal(status, Stage::kExecute)) << status;
  }
}

// A missing driver, runtime, NVRTC or part of cuDNN, a compiler that fails, a GPU that fails.
TEST(IsRefusal, ABrokenInstallationIsNotARefusal) {
  for (const int status : {1001, 1002, 1008, 3005, 3006, 3008, 3009, 4000, 4001, 5000, 5001})
    for (const auto stage : {Stage::kDescribe, Stage::kExecute})
      EXPECT_FALSE(IsRefusal(status, stage)) << status;
}

TEST(VersionText, IsWrittenAsNvidiaWritesIt) {
  EXPECT_EQ(VersionText(91900), "9.19.0");
  EXPECT_EQ(VersionText(91002), "9.10.2");
  EXPECT_EQ(VersionText(90800), "9.8.0");
  EXPECT_EQ(VersionText(8907), "8.9.7");
}

TEST(CudnnMismatch, MinorVersionsAreCompatibleMajorVersionsAreNot) {
  EXPECT_FALSE(CudnnMismatch(90800, 9));
  EXPECT_FALSE(CudnnMismatch(92299, 9));
  EXPECT_EQ(CudnnMismatch(100000, 9).value().text,
            "cuDNN 10.0.0 was found, but this build needs 9: put the folder of cuDNN 9 first in "
            "LD_LIBRARY_PATH");
  EXPECT_TRUE(CudnnMismatch(8907, 9));
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

TEST(MatrixPipe, FollowsTheIsaThatTheImplementationNames) {
  EXPECT_EQ(MatrixPipe("bf16", "brgconv:avx512_core_amx_bf16", "avx512_core_amx"), "bf16.matrix");
  EXPECT_EQ(MatrixPipe("bf16", "brgconv:avx512_core_bf16", "avx512_core_amx"), "bf16.vector");
  // avx512_core has no bf16 instruction, so bf16 is emulated whatever the implementation's name.
  EXPECT_EQ(MatrixPipe("bf16", "jit_bf16:avx512_core", "avx512_core_amx"), "fp32.vector");
  EXPECT_EQ(MatrixPipe("bf16", "jit:avx512_core", "avx512_core_vnni"), "fp32.vector");
  EXPECT_EQ(MatrixPipe("int8", "brgconv:avx512_core_amx_int8", "avx512_core_amx"), "int8.matrix");
  EXPECT_EQ(MatrixPipe("int8", "jit_int8:avx512_core_vnni", "avx512_core_amx"), "int8.vector");
  EXPECT_EQ(MatrixPipe("s8s8f32", "brgconv:avx512_core_amx", "avx512_core_amx"), "int8.matrix");
  EXPECT_EQ(MatrixPipe("f32", "brgconv:avx512_core", "avx512_core_amx"), "fp32.vector");
  // The names of oneDNN 3.13.
  EXPECT_EQ(MatrixPipe("bf16", "brgconv:avx10_1_512_amx", "avx512_core_amx"), "bf16.matrix");
  EXPECT_EQ(MatrixPipe("bf16", "jit:avx10_1_512", "avx512_core_fp16"), "bf16.vector");
  EXPECT_EQ(MatrixPipe("f16", "brgconv:avx10_1_512_amx_fp16", "avx512_core_amx"), "fp16.matrix");
  EXPECT_EQ(MatrixPipe("f16", "brgconv:avx10_2_amx_2", "avx512_core_amx"), "fp16.matrix");
}

TEST(MatrixPipe, FollowsTheEffectiveIsaWhereTheNameHasNone) {
  EXPECT_EQ(MatrixPipe("bf16", "brgemm", "avx512_core_amx"), "bf16.matrix");
  EXPECT_EQ(MatrixPipe("bf16", "brgemm", "avx512_core_bf16"), "bf16.vector");
  EXPECT_EQ(MatrixPipe("bf16", "gemm:jit", "avx512_core_fp16"), "bf16.vector");
  EXPECT_EQ(MatrixPipe("bf16", "ref", "avx512_core_vnni"), "fp32.vector");
  EXPECT_EQ(MatrixPipe("bf16", "ref", "avx2"), "fp32.vector");
  EXPECT_EQ(MatrixPipe("f64", "plain loops", ""), "fp64.vector");
}

TEST(MatrixPipe, PlainLoopsUseNoMatrixUnit) {
  EXPECT_EQ(MatrixPipe("bf16", "ref:any", "avx512_core_amx"), "fp32.vector");
  EXPECT_EQ(MatrixPipe("int8", "ref_int8:any", "avx512_core_amx"), "int8.vector");
}

TEST(MatrixPipe, F16IsWidenedUnlessAmxHasIt) {
  EXPECT_EQ(MatrixPipe("f16", "brgconv:avx512_core_fp16", "avx512_core_fp16"), "fp32.vector");
  EXPECT_EQ(MatrixPipe("f16", "brgconv:avx512_core_amx_fp16", "avx512_core_amx_fp16"),
            "fp16.matrix");
  // bf16 and int8 tiles do not multiply f16.
  EXPECT_EQ(MatrixPipe("f16", "brgemm", "avx512_core_amx"), "fp32.vector");
}

TEST(NamedMatrixPipe, IsAbsentWhereOnlyTheAllowedIsaWouldDecide) {
  EXPECT_EQ(NamedMatrixPipe("bf16", "brgemm:avx512_core_amx"), "bf16.matrix");
  EXPECT_EQ(NamedMatrixPipe("int8", "brgemm:avx512_core_vnni"), "int8.vector");
  EXPECT_EQ(NamedMatrixPipe("int8", "ref_int8:any"), "int8.vector");
  for (const char* type : {"bf16", "f16", "int8"})
    for (const char* implementation : {"brgemm", "ref", "gemm:jit", ""})
      EXPECT_FALSE(NamedMatrixPipe(type, implementation)) << type << " by " << implementation;
  EXPECT_EQ(NamedMatrixPipe("f32", "brgemm"), "fp32.vector");
  EXPECT_EQ(NamedMatrixPipe("f64", ""), "fp64.vector");
}

TEST(MatrixPipe, RefusesAnUnknownType) {
  EXPECT_THROW(MatrixPipe("f12", "jit:avx2", "avx2"), std::logic_error);
}

}  // namespace
}  // namespace dlroof::workload
