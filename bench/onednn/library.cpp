#include "bench/onednn/library.h"

#include <fmt/format.h>

#include <array>

#include "bench/library_files/library_file.h"
#include "counters/cpu/cpu.h"

namespace dlroof::onednn {
namespace {

constexpr int kMajor = 3, kMinMinor = 2;

struct ThreadingRow {
  unsigned cpu_runtime;  // dnnl_version_t's
  Threading threading;
  std::string_view name;
};

constexpr std::array<ThreadingRow, 5> kThreadings = {
    {{DNNL_RUNTIME_SEQ, Threading::kSequential, "sequential"},
     {DNNL_RUNTIME_OMP, Threading::kOpenMp, "OpenMP"},
     {DNNL_RUNTIME_TBB, Threading::kTbb, "TBB"},
     {DNNL_RUNTIME_THREADPOOL, Threading::kThreadpool, "threadpool"},
     {DNNL_RUNTIME_SYCL, Threading::kSycl, "SYCL"}}};

std::string NumberOf(const dnnl_version_t& version) {
  return fmt::format("{}.{}.{}", version.major, version.minor, version.patch);
}

const dnnl_version_t& VersionBy(void* dnnl_version_function) {
  return *reinterpret_cast<const dnnl_version_t* (*)()>(dnnl_version_function)();
}

library_files::LibraryFacts FactsOf(void* function) {
  const auto& version = VersionBy(function);
  const auto threading = ThreadingOf(version.cpu_runtime);
  return {.version = NumberOf(version),
          .commit = version.hash,
          .threading = std::string(NameOf(threading)),
          .threads_controlled = threading == Threading::kOpenMp};
}

[[maybe_unused]] const bool choosable_registered = library_files::RegisterChoosableLibrary(
    {.name = "onednn",
     .title = "oneDNN",
     .function = "dnnl_version",
     .facts = FactsOf,
     .refusal = [](void* function) { return VersionRefusal(VersionBy(function)); },
     .shared_function = "omp_get_max_threads"});

}  // namespace

Threading ThreadingOf(unsigned cpu_runtime) {
  for (const auto& row : kThreadings)
    if (row.cpu_runtime == cpu_runtime) return row.threading;
  return Threading::kUnknown;
}

std::string_view NameOf(Threading threading) {
  for (const auto& row : kThreadings)
    if (row.threading == threading) return row.name;
  return "unknown threading";
}

std::optional<Reason> VersionRefusal(const dnnl_version_t& version) {
  if (version.major == kMajor && version.minor >= kMinMinor) return std::nullopt;
  return Reason{fmt::format("oneDNN {}, expected {}.{} or a newer {}.x", NumberOf(version), kMajor,
                            kMinMinor, kMajor)};
}

std::optional<Reason> ThreadsRefusal(Threading threading, int threads, int cpus) {
  if (threading == Threading::kOpenMp) return std::nullopt;
  const bool single = threading == Threading::kSequential || threading == Threading::kThreadpool;
  const int used = single ? 1 : cpus;
  if (threads == used) return std::nullopt;
  const auto cure = single ? std::string("use --dlroof_threads=1")
                           : std::string("start the program on that many CPUs: taskset --cpu-list");
  return Reason{fmt::format(
      "this oneDNN's threading is {}, not OpenMP: it runs on {} thread{} here, and the number "
      "cannot be set to {} ({})",
      NameOf(threading), used, used == 1 ? "" : "s", threads, cure)};
}

Threading LoadedThreading() { return ThreadingOf(dnnl::version()->cpu_runtime); }

void RequireThreads(int threads) {
  if (LoadedThreading() == Threading::kOpenMp) return;
  const int cpus = static_cast<int>(cpu::ThisCpu().allowed.size());
  if (const auto reason = ThreadsRefusal(LoadedThreading(), threads, cpus))
    throw Unsupported(reason->text);
}

bool IsVersion32() {
  const auto* version = dnnl::version();
  return version->major == 3 && version->minor == 2;
}

std::string Version() {
  const auto* version = dnnl::version();
  return fmt::format("{} (commit {})", NumberOf(*version), version->hash);
}

}  // namespace dlroof::onednn
