// The part of OMPT's binary interface that is used here. OpenMP 5.1, chapter 4 "OMPT Interface":
// "Activating a First-Party Tool", "Monitoring Activity on the Host with OMPT", and of "OMPT Data
// Types" and "OMPT Tool Callback Signatures" the types of the same names. Runtimes have it without
// a header that each compiler finds.
#pragma once

#include <cstdint>

namespace dlroof::ompt {

// ompt_data_t: a value of ours that a runtime keeps with a region or a task, at first 0.
union Data {
  std::uint64_t value;
  void* pointer;
};

// ompt_callbacks_t
enum Event : int { kParallelBegin = 3, kParallelEnd = 4, kImplicitTask = 7, kSyncRegion = 23 };
// ompt_scope_endpoint_t
enum Endpoint : int { kBegin = 1, kEnd = 2 };
// ompt_set_result_t: the callback is called each time.
constexpr int kAlways = 5;
// ompt_sync_region_t: those that are no barriers.
enum SyncKind : int { kTaskwait = 5, kTaskgroup = 6, kReduction = 7 };

using Callback = void (*)();
using SetCallback = int (*)(Event, Callback);
using Lookup = Callback (*)(const char* name);

// ompt_start_tool_result_t
struct Tool {
  int (*initialize)(Lookup, int device, Data*);  // returns 0: the runtime calls it no more
  void (*finalize)(Data*);
  Data data;
};

// ompt_callback_parallel_begin_t, ompt_callback_parallel_end_t
using ParallelBegin = void (*)(Data* task, const void* frame, Data* region, unsigned asked,
                               int flags, const void* code);
using ParallelEnd = void (*)(Data* region, Data* task, int flags, const void* code);
// ompt_callback_implicit_task_t: `region` is null at the end.
using ImplicitTask = void (*)(Endpoint, Data* region, Data* task, unsigned team, unsigned thread,
                              int flags);
// ompt_callback_sync_region_t: `region` is null at the end of a region's last barrier.
using SyncRegion = void (*)(SyncKind, Endpoint, Data* region, Data* task, const void* code);

}  // namespace dlroof::ompt
