// A libcupti without a GPU. Its buffers are filled by FakeLaunch and the like, and go to the
// callbacks when they are full, as CUPTI's do, and when they are flushed.
//   FAKE_CUPTI_RECORDS  records that fit into a buffer (default: what fits by size)
//   FAKE_CUPTI_RESULT   what cuptiActivityEnable returns (default: success)
//   FAKE_CUPTI_VERSION  what cuptiGetVersion says
// libcupti_old.so.13 is the same without fake_cupti_choice.cpp.
#include "tests/fakes/gpu_trace/fake_cupti.h"

#include <cupti.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <mutex>

namespace {

std::mutex mutex;
CUpti_BuffersCallbackRequestFunc requested = nullptr;
CUpti_BuffersCallbackCompleteFunc completed = nullptr;
std::uint8_t* buffer = nullptr;
std::size_t size = 0, used = 0, records = 0, dropped = 0;
std::uint32_t correlation = 0, of_graph = 0;
bool traces_runtime = false, traces_launch = false, traces_graph = false, system_threads = false;
bool enabled[CUPTI_ACTIVITY_KIND_COUNT] = {};
// As libcupti 13.0 does: of functions that are wanted from after the context's begin on nothing is
// recorded, if none was wanted when it began. It begins with the first work.
bool has_context = false, records_functions = false;
std::uint64_t now_ns = 4'000'000'000'000'000'000;
CUpti_ActivityGraphTrace2 whole_graph{};  // whose nodes come; graphId 0: none

// Numbers of functions of CUDA's runtime, as cuptiGetCallbackName knows them.
constexpr CUpti_CallbackId kGetDevice = 7, kLaunchKernel = 9, kGraphLaunch = 11;

std::size_t Number(const char* name, std::size_t otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : std::strtoull(value, nullptr, 10);
}

void HandOver(std::unique_lock<std::mutex>& lock) {
  if (buffer == nullptr) return;
  std::uint8_t* full = buffer;
  const auto bytes = size, valid = used;
  buffer = nullptr;
  used = records = 0;
  lock.unlock();
  completed(nullptr, 0, full, bytes, valid);
  lock.lock();
}

// 8 bytes after each record hold its size, so that the next one can be found.
template <class Record>
void Put(const Record& record) {
  if (completed == nullptr) return;  // nobody traces
  std::unique_lock lock(mutex);
  if (buffer != nullptr &&
      (used + sizeof record + 8 > size || records >= Number("FAKE_CUPTI_RECORDS", ~0UL)))
    HandOver(lock);
  if (buffer == nullptr) {
    std::size_t most = 0;
    requested(&buffer, &size, &most);
    if (buffer == nullptr || size < sizeof record + 8) {
      ++dropped;
      return;
    }
  }
  const std::uint64_t bytes = sizeof record;
  std::memcpy(buffer + used, &bytes, sizeof bytes);
  std::memcpy(buffer + used + 8, &record, sizeof record);
  used += sizeof record + 8;
  ++records;
}

// The call of CUDA that launches what follows.
void PutCall(CUpti_CallbackId function, std::uint32_t number) {
  if (!traces_runtime && !(records_functions && ((function == kLaunchKernel && traces_launch) ||
                                                 (function == kGraphLaunch && traces_graph))))
    return;
  CUpti_ActivityAPI call{};
  call.kind = CUPTI_ACTIVITY_KIND_RUNTIME;
  call.cbid = function;
  cuptiGetTimestamp(&call.start);
  call.end = call.start + 1000;
  call.threadId = system_threads ? static_cast<std::uint32_t>(syscall(SYS_gettid)) : 1;
  call.correlationId = number;
  Put(call);
}

void BeginWork() {
  if (!has_context) records_functions = traces_launch || traces_graph;
  has_context = true;
}

void PutWholeGraph() {
  if (whole_graph.graphId != 0) Put(whole_graph);
  whole_graph = {};
}

}  // namespace

extern "C" {

void FakeNow(std::uint64_t ns) { now_ns = std::max(now_ns, ns); }

CUptiResult cuptiSetThreadIdType(CUpti_ActivityThreadIdType type) {
  system_threads = type == CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetCallbackName(CUpti_CallbackDomain domain, std::uint32_t function,
                                 const char** name) {
  *name = domain != CUPTI_CB_DOMAIN_RUNTIME_API ? nullptr
          : function == kGetDevice              ? "cudaGetDevice_v3020"
          : function == kLaunchKernel           ? "cudaLaunchKernel_v7000"
          : function == kGraphLaunch            ? "cudaGraphLaunch_v10000"
                                                : nullptr;
  return *name == nullptr ? CUPTI_ERROR_INVALID_PARAMETER : CUPTI_SUCCESS;
}

void FakeTraceCall(std::uint32_t function, bool traced) {
  if (function == kLaunchKernel) traces_launch = traced;
  if (function == kGraphLaunch) traces_graph = traced;
}

bool FakeTracesKernels() { return enabled[CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL]; }
bool FakeTracesNodes() { return FakeTracesKernels() && !enabled[CUPTI_ACTIVITY_KIND_GRAPH_TRACE]; }

CUptiResult cuptiGetVersion(std::uint32_t* version) {
  *version = static_cast<std::uint32_t>(Number("FAKE_CUPTI_VERSION", CUPTI_API_VERSION));
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetTimestamp(std::uint64_t* now) {
  *now = now_ns++;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetResultString(CUptiResult result, const char** text) {
  *text = result == CUPTI_SUCCESS ? "CUPTI_SUCCESS"
          : result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED
              ? "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED"
              : "CUPTI_ERROR_UNKNOWN";
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc request,
                                           CUpti_BuffersCallbackCompleteFunc complete) {
  requested = request;
  completed = complete;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind) {
  const auto result = static_cast<CUptiResult>(Number("FAKE_CUPTI_RESULT", CUPTI_SUCCESS));
  if (result == CUPTI_SUCCESS) enabled[kind] = true;
  if (result == CUPTI_SUCCESS && kind == CUPTI_ACTIVITY_KIND_RUNTIME) traces_runtime = true;
  if (result == CUPTI_SUCCESS && kind == CUPTI_ACTIVITY_KIND_DEVICE) {
    CUpti_ActivityDevice5 device{};
    device.kind = CUPTI_ACTIVITY_KIND_DEVICE;
    device.name = "Fake H200";
    device.computeCapabilityMajor = 9;
    device.numMultiprocessors = 132;
    device.globalMemorySize = 141'000'000'000;
    Put(device);
  }
  return result;
}

CUptiResult cuptiActivityGetNextRecord(std::uint8_t* from, std::size_t valid,
                                       CUpti_Activity** record) {
  auto* next = from;
  if (*record != nullptr) {
    auto* current = reinterpret_cast<std::uint8_t*>(*record) - 8;
    std::uint64_t bytes = 0;
    std::memcpy(&bytes, current, sizeof bytes);
    next = current + 8 + bytes;
  }
  if (next >= from + valid) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  *record = reinterpret_cast<CUpti_Activity*>(next + 8);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext, std::uint32_t, std::size_t* number) {
  const std::lock_guard lock(mutex);
  *number = dropped;
  dropped = 0;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityFlushAll(std::uint32_t) {
  PutWholeGraph();
  std::unique_lock lock(mutex);
  HandOver(lock);
  return CUPTI_SUCCESS;
}

void FakeLaunch(const FakeKernel* kernel) {
  CUpti_ActivityKernel10 record{};
  record.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  record.name = kernel->name;
  record.gridX = kernel->grid[0];
  record.gridY = kernel->grid[1];
  record.gridZ = kernel->grid[2];
  record.blockX = kernel->block[0];
  record.blockY = kernel->block[1];
  record.blockZ = kernel->block[2];
  record.registersPerThread = 32;
  record.dynamicSharedMemory = kernel->shared_bytes;
  record.start = kernel->begin_ns;
  record.end = kernel->begin_ns + kernel->duration_ns;
  record.contextId = 1;
  record.streamId = kernel->stream;
  BeginWork();
  if (kernel->graph == 0 || kernel->graph_node == 1) PutWholeGraph();
  // The nodes of a graph have the number of its launch. Node 1 is its first.
  if (kernel->graph == 0 || kernel->graph_node == 1) {
    PutCall(kGetDevice, ++correlation);
    PutCall(kernel->graph == 0 ? kLaunchKernel : kGraphLaunch, ++correlation);
    if (kernel->graph != 0) of_graph = correlation;
  }
  record.correlationId = kernel->graph == 0 ? correlation : of_graph;
  record.graphId = kernel->graph;
  record.graphNodeId = kernel->graph_node;
  record.clusterX = record.clusterY = record.clusterZ = 1;
  if (kernel->graph != 0 && enabled[CUPTI_ACTIVITY_KIND_GRAPH_TRACE]) {
    if (whole_graph.graphId == 0) whole_graph.start = record.start;
    whole_graph.kind = CUPTI_ACTIVITY_KIND_GRAPH_TRACE;
    whole_graph.graphId = kernel->graph;
    whole_graph.correlationId = record.correlationId;
    whole_graph.contextId = 1;
    whole_graph.streamId = kernel->stream;
    whole_graph.end = record.end;
  } else if (enabled[CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL]) {
    Put(record);
  }
}

void FakeCopyMemory(const FakeCopy* copy) {
  CUpti_ActivityMemcpy6 record{};
  record.kind = CUPTI_ACTIVITY_KIND_MEMCPY;
  record.copyKind = static_cast<std::uint8_t>(copy->kind);
  record.srcKind =
      copy->pageable != 0 ? CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE : CUPTI_ACTIVITY_MEMORY_KIND_PINNED;
  record.dstKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
  record.bytes = copy->bytes;
  record.start = copy->begin_ns;
  record.end = copy->begin_ns + copy->duration_ns;
  record.contextId = 1;
  record.streamId = copy->stream;
  record.correlationId = ++correlation;
  BeginWork();
  if (enabled[CUPTI_ACTIVITY_KIND_MEMCPY]) Put(record);
}

void FakeFill(std::uint64_t bytes, std::uint64_t begin_ns, std::uint64_t duration_ns,
              std::uint32_t stream) {
  CUpti_ActivityMemset4 record{};
  record.kind = CUPTI_ACTIVITY_KIND_MEMSET;
  record.bytes = bytes;
  record.start = begin_ns;
  record.end = begin_ns + duration_ns;
  record.contextId = 1;
  record.streamId = stream;
  record.correlationId = ++correlation;
  BeginWork();
  if (enabled[CUPTI_ACTIVITY_KIND_MEMSET]) Put(record);
}

void FakeDrop(std::uint64_t number) {
  const std::lock_guard lock(mutex);
  dropped += number;
}
}
