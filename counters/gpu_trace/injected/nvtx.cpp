// Records the program's NVTX ranges. NVTX is header-only code in each library that uses it. That
// code loads this library (NVTX_INJECTION64_PATH) and calls the functions that Attach registers.
#include <nvtx3/nvToolsExt.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "counters/gpu_trace/injected/tracer.h"

namespace dlroof::gpu_trace {
namespace {

struct OpenRange {
  const void* domain;
  std::string name;
  std::uint64_t begin_ns;
};

thread_local std::vector<OpenRange> open_ranges;

struct StartedRanges {
  std::mutex mutex;
  std::unordered_map<std::uint64_t, OpenRange> by_id;
  std::uint64_t next = 1;
};
StartedRanges& Started() {
  static auto* const ranges = new StartedRanges;
  return *ranges;
}

std::string NameOf(const nvtxEventAttributes_t* attributes) {
  if (attributes == nullptr) return "";
  if (attributes->messageType == NVTX_MESSAGE_TYPE_ASCII && attributes->message.ascii != nullptr)
    return attributes->message.ascii;
  // The handle of a registered string is a pointer to a copy of its text (see Attach).
  if (attributes->messageType == NVTX_MESSAGE_TYPE_REGISTERED &&
      attributes->message.registered != nullptr)
    return reinterpret_cast<const char*>(attributes->message.registered);
  return "";
}

void Write(const OpenRange& range, std::size_t depth) {
  auto& tracer = Tracer::Get();
  const std::uint64_t now = tracer.Now();
  tracer.WithFile([&](TraceFile& file) {
    file.AddWork(RangeRecord{.header = {Kind::kRange, 0},
                             .name = file.TextNumber(range.name.c_str()),
                             .begin_ns = range.begin_ns,
                             .duration_ns = now > range.begin_ns ? now - range.begin_ns : 0,
                             .thread = static_cast<std::uint32_t>(syscall(SYS_gettid)),
                             .depth = static_cast<std::uint32_t>(depth)});
  });
}

int Push(const void* domain, std::string name) {
  int depth = 0;
  for (const auto& range : open_ranges) depth += range.domain == domain ? 1 : 0;
  open_ranges.push_back({domain, std::move(name), Tracer::Get().Now()});
  return depth;
}

int Pop(const void* domain) {
  for (std::size_t i = open_ranges.size(); i-- > 0;) {
    if (open_ranges[i].domain != domain) continue;
    int depth = -1;
    for (std::size_t j = 0; j <= i; ++j) depth += open_ranges[j].domain == domain ? 1 : 0;
    Write(open_ranges[i], i);
    open_ranges.erase(open_ranges.begin() + static_cast<std::ptrdiff_t>(i));
    return depth;
  }
  return -2;  // NVTX_NO_PUSH_POP_TRACKING: there is no open range
}

nvtxRangeId_t StartRange(std::string name) {
  auto& started = Started();
  const std::uint64_t now = Tracer::Get().Now();
  const std::lock_guard lock(started.mutex);
  started.by_id.try_emplace(started.next, OpenRange{nullptr, std::move(name), now});
  return started.next++;
}

void EndRange(nvtxRangeId_t id) {
  auto& started = Started();
  std::unique_lock lock(started.mutex);
  const auto found = started.by_id.find(id);
  if (found == started.by_id.end()) return;
  const OpenRange range = std::move(found->second);
  started.by_id.erase(found);
  lock.unlock();
  Write(range, 0);
}

std::string TextOf(const char* text) { return text == nullptr ? "" : text; }

class FunctionTable {
 public:
  FunctionTable(const NvtxExportTableCallbacks& callbacks, NvtxCallbackModule module) {
    if (callbacks.GetModuleFunctionTable(module, &table_, &size_) == 0) size_ = 0;
  }
  template <class Function>
  void Set(unsigned id, Function* function) {
    if (id < size_ && table_[id] != nullptr)
      *table_[id] = reinterpret_cast<NvtxFunctionPointer>(function);
  }

 private:
  NvtxFunctionTable table_ = nullptr;
  unsigned size_ = 0;
};

int Attach(NvtxGetExportTableFunc_t export_table) {
  if (!Tracer::Get().IsActive() || export_table == nullptr) return 0;
  const auto* callbacks =
      static_cast<const NvtxExportTableCallbacks*>(export_table(NVTX_ETID_CALLBACKS));
  if (callbacks == nullptr || callbacks->struct_size < sizeof *callbacks) return 0;
  FunctionTable core(*callbacks, NVTX_CB_MODULE_CORE);
  using Attributes = const nvtxEventAttributes_t*;
  using Domain = nvtxDomainHandle_t;
  core.Set(
      NVTX_CBID_CORE_RangePushA, +[](const char* name) { return Push(nullptr, TextOf(name)); });
  core.Set(
      NVTX_CBID_CORE_RangePushEx, +[](Attributes range) { return Push(nullptr, NameOf(range)); });
  core.Set(
      NVTX_CBID_CORE_RangePop, +[] { return Pop(nullptr); });
  core.Set(
      NVTX_CBID_CORE_RangeStartA, +[](const char* name) { return StartRange(TextOf(name)); });
  core.Set(
      NVTX_CBID_CORE_RangeStartEx, +[](Attributes range) { return StartRange(NameOf(range)); });
  core.Set(NVTX_CBID_CORE_RangeEnd, EndRange);
  FunctionTable core2(*callbacks, NVTX_CB_MODULE_CORE2);
  core2.Set(
      NVTX_CBID_CORE2_DomainRangePushEx,
      +[](Domain domain, Attributes range) { return Push(domain, NameOf(range)); });
  core2.Set(
      NVTX_CBID_CORE2_DomainRangePop, +[](Domain domain) { return Pop(domain); });
  core2.Set(
      NVTX_CBID_CORE2_DomainRangeStartEx,
      +[](Domain, Attributes range) { return StartRange(NameOf(range)); });
  core2.Set(
      NVTX_CBID_CORE2_DomainRangeEnd, +[](Domain, nvtxRangeId_t id) { EndRange(id); });
  // Handles of registered strings and domains are pointers to copies of their texts.
  core2.Set(
      NVTX_CBID_CORE2_DomainRegisterStringA, +[](Domain, const char* text) {
        return reinterpret_cast<nvtxStringHandle_t>(strdup(TextOf(text).c_str()));
      });
  core2.Set(
      NVTX_CBID_CORE2_DomainCreateA,
      +[](const char* name) { return reinterpret_cast<Domain>(strdup(TextOf(name).c_str())); });
  return 1;
}

}  // namespace
}  // namespace dlroof::gpu_trace

extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtx2(
    NvtxGetExportTableFunc_t export_table) {
  try {
    return dlroof::gpu_trace::Attach(export_table);
  } catch (...) {  // the program's ranges are not recorded
    return 0;
  }
}
