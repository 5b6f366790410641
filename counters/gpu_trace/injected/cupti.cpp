// libdlroof_gpu_trace.so: traces the GPU work of the program into which the CUDA driver and NVTX
// load it (CUDA_INJECTION64_PATH, NVTX_INJECTION64_PATH). Writes a file for each process
// (counters/gpu_trace/format.h); the program itself does not change. Environment variables:
//
//   DLROOF_GPU_TRACE_FOLDER    folder of the files; nothing is traced without it
//   DLROOF_GPU_TRACE_CUPTI     files to try as libcupti, separated by colons
//   DLROOF_GPU_TRACE_BYTES     [byte] maximum size of a file
//   DLROOF_GPU_TRACE_FLUSH_MS  [ms] period in which finished work is written to the file
//   DLROOF_GPU_TRACE_DETAIL    "calls": only CUDA calls that put work onto the GPU; "graphs": also
//                              the work, with each CUDA graph as a whole; otherwise the work with
//                              each node of a graph, which slows graphs down
//
// Objects are not destroyed at the end of the process: other threads may still launch work then.
#include <cuda.h>
#include <cupti.h>
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "counters/gpu_trace/injected/tracer.h"
#include "counters/gpu_trace/trace_file.h"

namespace dlroof::gpu_trace {
namespace {

constexpr std::size_t kBufferBytes = 1 << 20;  // [byte] of one buffer of CUPTI
constexpr std::size_t kMaxBuffers = 128;       // buffers that CUPTI owns at the same time
constexpr std::uint32_t kOldestCupti = 13;     // of CUDA 11.0; older records have other layouts
constexpr std::uint64_t kLeaveThreadNs = 2'000'000'000;

// The address of a function; converts to a pointer to any function type.
struct Symbol {
  void* address;
  template <class Function>
  operator Function*() const {  // NOLINT(google-explicit-constructor): takes the member's type
    return reinterpret_cast<Function*>(address);
  }
};

// The CUPTI functions that tracing uses; null if the library lacks them.
struct CuptiCalls {
  void* library = nullptr;
  decltype(&cuptiGetVersion) version = Find("cuptiGetVersion");
  decltype(&cuptiGetTimestamp) timestamp = Find("cuptiGetTimestamp");
  decltype(&cuptiActivityRegisterCallbacks) register_callbacks =
      Find("cuptiActivityRegisterCallbacks");
  decltype(&cuptiActivityEnable) enable = Find("cuptiActivityEnable");
  decltype(&cuptiActivityGetNextRecord) next_record = Find("cuptiActivityGetNextRecord");
  decltype(&cuptiActivityGetNumDroppedRecords) dropped_records =
      Find("cuptiActivityGetNumDroppedRecords");
  decltype(&cuptiActivityFlushAll) flush_all = Find("cuptiActivityFlushAll");
  decltype(&cuptiGetResultString) result_string = Find("cuptiGetResultString");
  // Older versions of CUPTI lack the following functions.
  decltype(&cuptiSetThreadIdType) set_thread_id_type = Find("cuptiSetThreadIdType");
  decltype(&cuptiGetCallbackName) callback_name = Find("cuptiGetCallbackName");
  decltype(&cuptiActivityEnableRuntimeApi) enable_runtime = Find("cuptiActivityEnableRuntimeApi");
  decltype(&cuptiActivityEnableDriverApi) enable_driver = Find("cuptiActivityEnableDriverApi");

  Symbol Find(const char* name) const {
    return {library == nullptr ? nullptr : dlsym(library, name)};
  }
  bool CanTrace() const {
    return version != nullptr && timestamp != nullptr && register_callbacks != nullptr &&
           enable != nullptr && next_record != nullptr && dropped_records != nullptr &&
           flush_all != nullptr && result_string != nullptr;
  }
};

// CUPTI's result for a request; becomes an AnswerRecord.
struct Answer {
  const char* what;
  CUptiResult result;
};

// State of the callbacks. Set before the first callback, valid until the process ends.
struct Activity {
  CuptiCalls calls;
  std::atomic<std::size_t> buffers{0};
  std::vector<Answer> answers;
};
Activity* activity = nullptr;

std::string ResultText(CUptiResult result) {
  const char* text = nullptr;
  activity->calls.result_string(result, &text);
  return text == nullptr ? "unknown error" : text;
}

// Sets the members that all records of GPU work have.
template <class Activity, class Record>
void SetTimeAndPlace(const Activity& from, Record& record) {
  record.begin_ns = from.start;
  record.duration_ns = from.end > from.start ? from.end - from.start : 0;
  record.device = from.deviceId;
  record.context = from.contextId;
  record.stream = from.streamId;
}

template <class Activity>
bool AddLaunch(const Activity& from, const KernelRecord& kernel, TraceFile& file) {
  LaunchRecord launch{.header = {Kind::kLaunch, 0},
                      .kernel = file.KernelNumber(kernel),
                      .correlation = from.correlationId,
                      .graph = from.graphId};
  SetTimeAndPlace(from, launch);
  return file.AddWork(launch);
}

// Adds a launch. Reads `from` in the layout of this build's CUPTI headers: since CUDA 11.0 all
// versions of the record begin with the same members.
bool AddKernel(const CUpti_ActivityKernel10& from, TraceFile& file) {
  const auto size = [](std::int32_t number) { return static_cast<std::uint32_t>(number); };
  const KernelRecord kernel{.name = file.TextNumber(from.name),
                            .grid = {size(from.gridX), size(from.gridY), size(from.gridZ)},
                            .block = {size(from.blockX), size(from.blockY), size(from.blockZ)}};
  return AddLaunch(from, kernel, file);
}

template <class Activity>
bool AddCopy(const Activity& from, bool peer, TraceFile& file) {
  CopyRecord copy{.header = {Kind::kCopy, 0},
                  .kind = from.copyKind,
                  .source = from.srcKind,
                  .destination = from.dstKind,
                  .peer = static_cast<std::uint8_t>(peer),
                  .bytes = from.bytes};
  SetTimeAndPlace(from, copy);
  return file.AddWork(copy);
}

// Adds the launch of a graph that is traced as a whole: a launch of a kernel without a grid.
bool AddGraph(const CUpti_ActivityGraphTrace2& from, TraceFile& file) {
  const auto name = "CUDA graph " + std::to_string(from.graphId);
  return AddLaunch(from, {.name = file.TextNumber(name.c_str())}, file);
}

bool AddFill(const CUpti_ActivityMemset4& from, TraceFile& file) {
  FillRecord fill{.header = {Kind::kFill, 0}, .bytes = from.bytes};
  SetTimeAndPlace(from, fill);
  return file.AddWork(fill);
}

// Adds a call. Does not report a full file: without the call, only its NVTX range is unknown.
void AddCall(const CUpti_ActivityAPI& from, TraceFile& file) {
  if (from.start == 0) return;  // not measured
  file.AddWork(CallRecord{.header = {Kind::kCall, 0},
                          .correlation = from.correlationId,
                          .begin_ns = from.start,
                          .thread = from.threadId});
}

void AddDevice(const CUpti_ActivityDevice5& from, TraceFile& file) {
  file.Add(DeviceRecord{
      .header = {Kind::kDevice, 0},
      .number = from.id,
      .name = file.TextNumber(from.name),
      .compute_capability = from.computeCapabilityMajor * 10 + from.computeCapabilityMinor});
}

// Adds CUPTI's record to the file. Returns false if the file has no room for it.
bool AddActivity(const CUpti_Activity* record, TraceFile& file) {
  switch (record->kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
    case CUPTI_ACTIVITY_KIND_KERNEL:
      return AddKernel(*reinterpret_cast<const CUpti_ActivityKernel10*>(record), file);
    case CUPTI_ACTIVITY_KIND_GRAPH_TRACE:
      return AddGraph(*reinterpret_cast<const CUpti_ActivityGraphTrace2*>(record), file);
    case CUPTI_ACTIVITY_KIND_MEMCPY:
      return AddCopy(*reinterpret_cast<const CUpti_ActivityMemcpy6*>(record), false, file);
    case CUPTI_ACTIVITY_KIND_MEMCPY2:
      return AddCopy(*reinterpret_cast<const CUpti_ActivityMemcpyPtoP4*>(record), true, file);
    case CUPTI_ACTIVITY_KIND_MEMSET:
      return AddFill(*reinterpret_cast<const CUpti_ActivityMemset4*>(record), file);
    case CUPTI_ACTIVITY_KIND_RUNTIME:
    case CUPTI_ACTIVITY_KIND_DRIVER:
      AddCall(*reinterpret_cast<const CUpti_ActivityAPI*>(record), file);
      return true;
    case CUPTI_ACTIVITY_KIND_DEVICE:
      AddDevice(*reinterpret_cast<const CUpti_ActivityDevice5*>(record), file);
      return true;
    default:
      return true;
  }
}

void CUPTIAPI BufferRequested(std::uint8_t** buffer, std::size_t* bytes, std::size_t* records) {
  *records = 0;
  *bytes = 0;
  *buffer = nullptr;  // CUPTI drops records then, and counts them
  if (activity->buffers.fetch_add(1) >= kMaxBuffers) {
    --activity->buffers;
    return;
  }
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(8, kBufferBytes));
  if (*buffer == nullptr)
    --activity->buffers;
  else
    *bytes = kBufferBytes;
}

void CUPTIAPI BufferCompleted(CUcontext context, std::uint32_t stream, std::uint8_t* buffer,
                              std::size_t, std::size_t valid_bytes) {
  Tracer::Get().WithFile([&](TraceFile& file) {
    std::size_t dropped = 0;
    CUpti_Activity* record = nullptr;
    while (valid_bytes > 0 &&
           activity->calls.next_record(buffer, valid_bytes, &record) == CUPTI_SUCCESS)
      if (!AddActivity(record, file)) ++dropped;
    std::size_t of_cupti = 0;
    if (activity->calls.dropped_records(context, stream, &of_cupti) == CUPTI_SUCCESS)
      dropped += of_cupti;
    if (dropped > 0) file.Add(DroppedRecord{{Kind::kDropped, 0}, 0, dropped});
    file.WriteBlock();
  });
  std::free(buffer);
  --activity->buffers;
}

bool PutsWork(const char* name) {
  for (const char* word : {"Launch", "Memcpy", "Memset"})
    if (std::strstr(name, word) != nullptr) return true;
  return false;
}

// Enables records of the domain's functions that put work onto the GPU. Returns the first refusal.
template <class Enable>
Answer EnableCalls(const CuptiCalls& calls, const char* what, CUpti_CallbackDomain domain,
                   Enable enable) {
  constexpr CUpti_CallbackId kMax = 4096;  // above every callback id
  Answer answer{what, CUPTI_SUCCESS};
  for (CUpti_CallbackId id = 1; id < kMax; ++id) {
    const char* name = nullptr;
    if (calls.callback_name(domain, id, &name) != CUPTI_SUCCESS || name == nullptr ||
        !PutsWork(name))
      continue;
    const auto result = enable(id, 1);
    if (answer.result == CUPTI_SUCCESS) answer.result = result;
  }
  return answer;
}

// Enables records of CUDA calls, which show in which NVTX range and when each kernel was launched.
// Must run before the program calls CUDA (NVIDIA, CUPTI User's Guide, "CUPTI Initialization"). If
// the first function is enabled later, CUPTI returns success but records nothing (CUDA 13.0).
void TraceCalls(const CuptiCalls& calls, std::vector<Answer>& answers) {
  if (calls.callback_name == nullptr || calls.enable_runtime == nullptr ||
      calls.enable_driver == nullptr || calls.set_thread_id_type == nullptr)  // before CUDA 12.6
    return answers.push_back({"calls", CUPTI_ERROR_NOT_SUPPORTED});
  // Threads get the system's numbers in records of calls. CUPTI cannot change this later.
  answers.push_back(
      {"thread numbers", calls.set_thread_id_type(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM)});
  answers.push_back(EnableCalls(calls, "calls of the runtime", CUPTI_CB_DOMAIN_RUNTIME_API,
                                calls.enable_runtime));
  answers.push_back(
      EnableCalls(calls, "calls of the driver", CUPTI_CB_DOMAIN_DRIVER_API, calls.enable_driver));
}

void TraceWork(const CuptiCalls& calls, bool whole_graphs, std::vector<Answer>& answers) {
  constexpr std::pair<const char*, CUpti_ActivityKind> kKinds[] = {
      {"graphs", CUPTI_ACTIVITY_KIND_GRAPH_TRACE},
      {"kernels", CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL},
      {"copies", CUPTI_ACTIVITY_KIND_MEMCPY},
      {"copies between GPUs", CUPTI_ACTIVITY_KIND_MEMCPY2},
      {"fills", CUPTI_ACTIVITY_KIND_MEMSET},
      {"devices", CUPTI_ACTIVITY_KIND_DEVICE}};
  for (const auto& [what, kind] : kKinds)
    if (whole_graphs || kind != CUPTI_ACTIVITY_KIND_GRAPH_TRACE)
      answers.push_back({what, calls.enable(kind)});
}

// Starts tracing. Returns a sentence with the error, or "" on success.
std::string Start(const CuptiCalls& calls) {
  std::uint32_t version = 0;
  if (calls.version(&version) != CUPTI_SUCCESS || version < kOldestCupti)
    return "CUPTI is older than that of CUDA 11";
  activity->calls = calls;
  auto& answers = activity->answers;
  answers = {{"buffers", calls.register_callbacks(BufferRequested, BufferCompleted)}};
  TraceCalls(calls, answers);
  const std::string_view detail = Setting("DLROOF_GPU_TRACE_DETAIL");
  if (detail != "calls") TraceWork(calls, detail == "graphs", answers);
  for (const auto& [what, result] : answers)
    if (result != CUPTI_SUCCESS &&
        (what == std::string_view("buffers") || what == std::string_view("kernels")))
      return "CUPTI refuses to trace: " + ResultText(result);
  return "";
}

// Tries to trace with each libcupti: first libraries that the program has loaded, then those in
// DLROOF_GPU_TRACE_CUPTI, then those that the dynamic linker finds. Returns the error, or "".
std::string StartAny() {
  const std::vector<std::string> names = {"libcupti.so.13",   "libcupti.so.12",   "libcupti.so.14",
                                          "libcupti.so.11.8", "libcupti.so.11.7", "libcupti.so"};
  std::string first_error;  // of the program's own CUPTI, if it has one
  const auto started = [&](void* library) {
    const CuptiCalls calls{library};
    if (!calls.CanTrace()) return false;
    const std::string error = Start(calls);
    if (first_error.empty()) first_error = error;
    return error.empty();
  };
  for (const auto& name : names)
    if (started(dlopen(name.c_str(), RTLD_LAZY | RTLD_NOLOAD))) return "";
  for (std::string_view rest = Setting("DLROOF_GPU_TRACE_CUPTI"); !rest.empty();) {
    const auto end = std::min(rest.find(':'), rest.size());
    if (started(dlopen(std::string(rest.substr(0, end)).c_str(), RTLD_LAZY | RTLD_LOCAL)))
      return "";
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  for (const auto& name : names)
    if (started(dlopen(name.c_str(), RTLD_LAZY | RTLD_LOCAL))) return "";
  return first_error.empty() ? "no libcupti was found: add its folder to LD_LIBRARY_PATH"
                             : first_error;
}

// Periodically writes finished work to the file, so that a kill loses little. Never destroyed.
class Flusher {
 public:
  explicit Flusher(std::uint64_t period_ms) : period_ns_(period_ms * 1'000'000) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);  // the program's threads must handle signals
    running_ = pthread_create(&thread_, nullptr, &Flusher::Loop, this) == 0;
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }
  void Stop() {
    if (!running_) return;
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
    }
    wake_.notify_all();
    timespec until{};
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += kLeaveThreadNs / 1'000'000'000;
    pthread_timedjoin_np(thread_, nullptr, &until);
    running_ = false;
  }

 private:
  static void* Loop(void* self) {
    static_cast<Flusher*>(self)->Run();
    return nullptr;
  }
  void Run() {
    std::unique_lock lock(mutex_);
    while (!wake_.wait_for(lock, std::chrono::nanoseconds(period_ns_), [&] { return ending_; })) {
      lock.unlock();
      activity->calls.flush_all(0);
      Tracer::Get().WithFile([](TraceFile& file) { file.WriteBlock(); });
      lock.lock();
    }
  }

  std::uint64_t period_ns_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool ending_ = false, running_ = false;
  pthread_t thread_{};
};
Flusher* flusher = nullptr;
pid_t traced_pid = 0;

void AtExit() {
  if (getpid() != traced_pid) return;  // a forked child runs its parent's handlers
  flusher->Stop();
  activity->calls.flush_all(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  Tracer::Get().WithFile([](TraceFile& file) {
    file.Add(EndRecord{{Kind::kEnd, 0}, 0, Tracer::Get().Now()});
    file.WriteBlock();
  });
}

std::uint64_t CuptiNow() {
  std::uint64_t now = 0;
  activity->calls.timestamp(&now);
  return now;
}

}  // namespace

void StartTracing() {
  auto& tracer = Tracer::Get();
  if (!tracer.IsActive() || traced_pid == getpid()) return;
  traced_pid = getpid();
  activity = new Activity;
  const std::string error = StartAny();
  if (error.empty()) tracer.UseClock(CuptiNow);
  tracer.WithFile([&](TraceFile& file) {
    file.Add(ProcessRecord{.header = {Kind::kProcess, 0},
                           .pid = static_cast<std::uint32_t>(getpid()),
                           .command = file.TextNumber(CommandLine().c_str()),
                           .begin_ns = tracer.Now()});
    for (const auto& [what, result] : activity->answers)
      file.Add(AnswerRecord{{Kind::kAnswer, 0},
                            file.TextNumber(what),
                            file.TextNumber(ResultText(result).c_str()),
                            0});
    if (!error.empty())
      file.Add(FailureRecord{{Kind::kFailure, 0}, file.TextNumber(error.c_str())});
    file.WriteBlock();
  });
  if (!error.empty()) return;
  flusher = new Flusher(Number("DLROOF_GPU_TRACE_FLUSH_MS", 200));
  std::atexit(AtExit);
}

}  // namespace dlroof::gpu_trace

// The CUDA driver calls this function in cuInit, and reports an error if it returns 0.
extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
  try {
    dlroof::gpu_trace::StartTracing();
  } catch (...) {  // the program runs on without a trace
  }
  return 1;
}
