// A limit for tests that run out of memory on purpose, in a process of their own.
#pragma once

#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace dlroof::fakes {

// This process may map so many bytes more than it has.
inline void LimitAddressSpace(unsigned long room_bytes) {
  unsigned long pages = 0;
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr || std::fscanf(file, "%lu", &pages) != 1) std::_Exit(4);
  std::fclose(file);
  rlimit limit{};
  getrlimit(RLIMIT_AS, &limit);
  limit.rlim_cur = pages * static_cast<unsigned long>(sysconf(_SC_PAGESIZE)) + room_bytes;
  setrlimit(RLIMIT_AS, &limit);
}

}  // namespace dlroof::fakes
