// Processes of a program, as /proc shows them.
#pragma once

#include <sys/types.h>

#include <set>

namespace dlroof {

class Descendants {
 public:
  // Adds the process and all that it and its children have started and that are alive.
  void Look(pid_t pid);
  // [1] different processes that two looks saw, and the first: at least 1. A shell or launcher
  // that only starts others is seen once at most.
  int lasting() const { return 1 + static_cast<int>(lasting_.size()); }

 private:
  std::set<pid_t> before_, lasting_;
};

}  // namespace dlroof
