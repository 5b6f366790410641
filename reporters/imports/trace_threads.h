// The names of the processes and threads of a trace, which tell what its calls are.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace dlroof::imports {

using ThreadId = std::pair<std::string, std::string>;  // process, thread

enum class ThreadKind {
  kOperators,  // calls on the host, which may contain each other
  kKernels,    // kernels, copies and fills of a GPU
  kSpans,      // TensorFlow's summaries of other threads: steps, modules, scopes
  kRepeated    // a stream of TensorFlow 1, whose kernels are also in the process of all streams
};

// TensorFlow names a GPU's process after the device, and its threads after streams ("Stream #13")
// or summaries ("XLA Modules"). TensorFlow 1 has a process per stream, one of all streams
// ("/gpu:0/stream:all Compute") and one of the host's calls for the device.
class ThreadNames {
 public:
  void NameProcess(const std::string& process, const std::string& name);
  void NameThread(const ThreadId& thread, const std::string& name);

  // Returns what the calls of a thread are. All names must be known: they may follow the calls.
  ThreadKind KindOf(const ThreadId& thread) const;

  // Returns whether a thread of a GPU has no name, though others of its process have one.
  bool LacksName(const ThreadId& thread) const;

 private:
  std::map<std::string, std::string> processes_;  // names of all processes for GPUs
  std::map<ThreadId, std::string> threads_;
  bool streams_ = false, all_streams_ = false;  // processes of TensorFlow 1
};

}  // namespace dlroof::imports
