// The loaded oneDNN: which versions this program can use, and how they run on threads.
#pragma once

#include <dnnl.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "counters/base/error.h"

namespace dlroof::onednn {

// How a library runs its loops on several threads: dnnl_version_t::cpu_runtime.
enum class Threading { kSequential, kOpenMp, kTbb, kThreadpool, kSycl, kUnknown };
Threading ThreadingOf(unsigned cpu_runtime);
std::string_view NameOf(Threading threading);  // "OpenMP"

// Returns why this program cannot use the version, nothing for 3.2 and every later 3.x: it calls
// only functions that all of these have.
std::optional<Reason> VersionRefusal(const dnnl_version_t& version);

// Returns why a call cannot use `threads` threads with this threading on `cpus` CPUs. Only the
// number of OpenMP's threads is ours to choose: TBB and SYCL use every CPU that the process may
// use, and a library without threads, or whose threads come from the caller's pool, uses one.
std::optional<Reason> ThreadsRefusal(Threading threading, int threads, int cpus);

// The threading of the library that this process uses.
Threading LoadedThreading();
// Throws Unsupported if the library that this process uses cannot use `threads` threads.
void RequireThreads(int threads);

// Returns whether the loaded version is 3.2. Some of the breakdown of an LSTM's time assumes how
// that version divides the work.
bool IsVersion32();

// Returns the loaded library's version: "3.2.0 (commit ...)".
std::string Version();

}  // namespace dlroof::onednn
