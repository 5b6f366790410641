// Reads profiles of Proton, Triton's profiler (import.h).
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "counters/base/error.h"
#include "counters/base/json_reader.h"
#include "counters/base/keys.h"
#include "reporters/imports/import.h"
#include "reporters/text/text.h"

namespace dlroof::imports {
namespace {

using nlohmann::json;

const std::map<std::string, std::string> kProtonFlops = {{"flops8", "fp8.matrix"},
                                                         {"flops16", "fp16.matrix"},
                                                         {"flops32", "fp32.vector"},
                                                         {"flops64", "fp64.vector"}};

// Adds the kernel of a frame of Proton's profile, with the work that the program's author declared.
void AddKernel(const JsonReader& frame, Records& records) {
  const auto metrics = frame.Object("metrics");
  const double count = metrics.OptionalNumber("count").value_or(1);
  const auto keys = metrics.Keys();
  const bool timed = std::ranges::any_of(keys, [](auto& key) { return key.starts_with("time "); });
  if (!timed || count == 0) return;  // a scope, no kernel
  const auto name = frame.Object("frame").NonEmptyText("name");
  const double seconds = 1e-9 * metrics.Number("time (ns)");
  if (!IsRunTime(seconds))
    throw BadInput("{}: expected a time above 0, got {:g} s", metrics.where(), seconds);
  const json id = metrics.Has("device_id") ? metrics.json().at("device_id") : json("");
  const auto gpu = id.is_string() ? id.get<std::string>() : id.dump();
  Work own;
  std::string unknown;
  for (const auto& key : keys) {
    if (const auto* pipe = FindValue(kProtonFlops, key))
      own.flops[*pipe] = metrics.Number(key);
    else if (key.starts_with("flops"))
      unknown = fmt::format("'{}' is not known", text::Printable(key));
  }
  if (!unknown.empty()) own.flops.clear();
  if (const auto bytes = metrics.OptionalNumber("bytes")) own.bytes[Level::kDram] = *bytes;
  const auto known = records.size();
  auto& record = records.AddKernels(name, {gpu, ""}, seconds, count);
  auto& work = record.work[Provenance::kModelled];
  const bool first = records.size() > known;
  if (AddCommon(own.flops, first, work.flops) | AddCommon(own.bytes, first, work.bytes))
    unknown = "a launch lacks FLOPs or bytes that another one has";
  if (!unknown.empty())
    throw BadInput("{}: FLOPs of '{}': {}", metrics.where(), text::Printable(name), unknown);
}

void AddFrames(const json& frame, const std::string& where, Records& records, LeftOut& left_out) {
  if (!frame.is_object() || !frame.contains("metrics")) return;
  left_out.Try([&] { AddKernel(JsonReader(frame, where), records); });
  if (frame.contains("children") && frame.at("children").is_array())
    for (const auto& child : frame.at("children")) AddFrames(child, where, records, left_out);
}

}  // namespace

Imported ImportProton(const std::string& text, const std::string& where) {
  Imported imported;
  Records records;
  LeftOut left_out;
  for (const auto& root : ParsedUniqueJson(text, where, left_out))
    AddFrames(root, where, records, left_out);
  records.MoveTo(imported, where);
  left_out.AddTo(imported, "kernels or FLOPs are");
  if (imported.records.empty()) throw BadInput("{}: expected a kernel with a time", where);
  return imported;
}

}  // namespace dlroof::imports
