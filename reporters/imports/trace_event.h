// Parts of the reader of traces: the members of one event, and what the threads of a trace are.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "reporters/imports/trace.h"
#include "reporters/record/large_json.h"

namespace dlroof::imports {

using ThreadId = std::pair<std::string, std::string>;  // process, thread

enum class ThreadKind {
  kOperators,  // calls on the host, which may contain each other
  kKernels,    // kernels, copies and fills of a GPU
  kSpans       // TensorFlow's summaries of other threads: steps, modules, scopes
};

// TensorFlow names a GPU's process after the device, and its threads after streams ("Stream #13")
// or summaries ("XLA Modules").
class ThreadNames {
 public:
  // Reads an event of names (phase M).
  void Read(const record::JsonObject& event);

  // Returns what the calls of a thread are. All names must be known: they may follow the calls.
  ThreadKind KindOf(const ThreadId& thread) const;
  // Returns whether this thread of the trace is in a GPU's process and has no name, though another
  // thread of that process has one.
  bool LacksName(const ThreadId& thread) const;

 private:
  std::set<std::string> processes_;  // of GPUs
  std::map<ThreadId, std::string> threads_;
};

ThreadId ThreadOf(const record::JsonObject& event);

// Returns whether the event has the member, and not null.
bool HasMember(const record::JsonObject& event, const char* key);

// Returns "ts" or "dur" [s]. Refuses what is no number of microseconds.
double EventSeconds(const record::JsonObject& event, const char* key);

// Reads the inputs of an operator. Returns the arguments that are not known; they may change its
// work.
std::vector<std::string> ReadInputs(const record::JsonObject& event, TraceOp& op);

// PyTorch's numbers of a call.
struct CallNumbers {
  double order = 0;  // rises from a call to the calls within it; 0 if the event has none
  std::string all;   // tells the call apart from others of the same time
};
CallNumbers NumbersOf(const record::JsonObject& event);

}  // namespace dlroof::imports
