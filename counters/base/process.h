// Runs another program and waits for it.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace dlroof {

struct ChildResult {
  int exit_code = 0;  // 128 + signal where one ended it
  std::string out;    // standard output
  std::string err;    // standard error
};

// `command[0]` is looked for in PATH. `environment` is set beside ours. Throws std::runtime_error
// when it cannot be started.
ChildResult RunChild(const std::vector<std::string>& command,
                     const std::map<std::string, std::string>& environment);

// Returns whether `program` is an executable file in PATH.
bool IsInPath(const std::string& program);

}  // namespace dlroof
