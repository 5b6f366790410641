#include "bench/program/descendants.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <utility>
#include <vector>

namespace dlroof {

void Descendants::Look(pid_t pid) {
  std::vector<pid_t> open = {pid};
  std::set<pid_t> now;  // a chain that the system changes meanwhile cannot become a circle
  while (!open.empty()) {
    const auto one = open.back();
    open.pop_back();
    if (!now.insert(one).second) continue;
    std::error_code error;
    const auto tasks = fmt::format("/proc/{}/task", one);
    // A process may end while it is looked at.
    for (std::filesystem::directory_iterator task(tasks, error), end; !error && task != end;
         task.increment(error)) {
      std::ifstream children(task->path() / "children");
      for (pid_t child = 0; children >> child;) open.push_back(child);
    }
  }
  now.erase(pid);
  for (const auto child : now)
    if (before_.count(child) > 0) lasting_.insert(child);
  before_ = std::move(now);
}

}  // namespace dlroof
