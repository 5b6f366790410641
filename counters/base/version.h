// What this build was made of. version.cpp is generated: it alone is compiled for a new commit.
#pragma once

namespace dlroof {

// Hidden: the CUDA module compares its own build with that of the program that opens it.
#pragma GCC visibility push(hidden)
// Changes with every header of the tree, the compiler and its options.
// NOLINTBEGIN(readability-identifier-naming): constants, whose values version.cpp has
extern const unsigned long long kBuildId;
extern const char* const kVersion;
extern const char* const kCommit;
extern const char* const kCompiler;
extern const char* const kBuildType;
extern const char* const kGoogleBenchmarkVersion;
// NOLINTEND(readability-identifier-naming)
#pragma GCC visibility pop

}  // namespace dlroof
