// The versions and options of this build. The build generates version.cpp, so that a new commit
// recompiles only that file.
#pragma once

namespace dlroof {

// Hidden, so that the CUDA library has copies of its own: the program compares them with these.
#pragma GCC visibility push(hidden)
// kBuildId changes with every header of the tree, the compiler and its options.
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
