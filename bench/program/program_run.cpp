#include "bench/program/program_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "bench/library_rules/pipe_choice.h"
#include "bench/suites/benchdnn_suite.h"
#include "bench/workload/benchmark_name.h"
#include "counters/base/error.h"
#include "counters/base/version.h"
#include "reporters/gzip/gzip.h"
#include "reporters/import/run.h"
#include "reporters/program/program_summary.h"
#include "reporters/verbose/benchdnn_line.h"
#include "reporters/verbose/primitive_work.h"

namespace dlroof::profile {
namespace {

constexpr std::size_t kMostRepetitions = 256;  // of a record; more calls are means of neighbours

// Returns the name of the benchmark that benchdnn's line is here; empty: none.
std::string BenchmarkOf(const verbose::Primitive& primitive, const std::string& line) {
  if (line.empty()) return "";
  try {
    const auto found = suites::ReadBenchdnn(line, "line");
    if (found.size() != 1 || found[0].name.empty()) return "";
    auto name = workload::ParseBenchmarkName(found[0].name);
    // benchdnn has no word for inference with a bias.
    if (primitive.text.prop == "forward_inference") std::erase(name.options, "training");
    return workload::ToText(name);
  } catch (const BadInput&) {
    return "";
  }
}

// Characters that names have; the others become '-'.
std::string NamePart(std::string_view text) {
  std::string part(text);
  for (char& c : part) {
    const bool known = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '_' || c == '.' || c == ':' || c == '+' || c == '-';
    if (!known) c = '-';
  }
  return part.empty() ? "none" : part;
}

// "reorder/cpu/onednn/undef/f32:f32/8x64x56x56/abcd:aBcd8b" of a primitive without a benchmark.
std::string OwnName(const verbose::Primitive& primitive) {
  std::string types, tags;
  for (const auto& tensor : primitive.tensors) {
    if (tensor.type == "undef") continue;
    types += fmt::format("{}{}", types.empty() ? "" : ":", tensor.type);
    tags += fmt::format("{}{}", tags.empty() ? "" : ":", tensor.tag);
  }
  const auto& text = primitive.text;
  return fmt::format("{}/cpu/onednn/{}/{}/{}/{}", NamePart(text.kind), NamePart(text.prop),
                     NamePart(types), NamePart(text.problem), NamePart(tags));
}

// Gives each primitive a record's name of its own.
void NameRecords(programs::ProgramSummary& summary) {
  std::set<std::string> taken;
  const auto take = [&](const std::string& name) {
    return !name.empty() && taken.insert(name).second;
  };
  for (auto& primitive : summary.primitives) {
    if (take(primitive.benchmark)) {
      primitive.record = primitive.benchmark;
      continue;
    }
    const auto name = OwnName(verbose::ReadPrimitive(primitive.text));
    primitive.record = name;
    for (int i = 2; !take(primitive.record); ++i) primitive.record = fmt::format("{}/{}", name, i);
  }
}

// The type that the library multiplies in: f32 may be allowed bf16, where it has the instructions.
std::string MultipliedType(const verbose::Primitive& primitive) {
  const auto type = verbose::ComputeTypeOf(primitive);
  const auto& text = primitive.text;
  const bool narrowed = type == "f32" && text.attributes.find("fpmath:") != std::string::npos &&
                        (text.implementation.find("amx") != std::string::npos ||
                         text.implementation.find("bf16") != std::string::npos);
  return narrowed ? "bf16" : type;
}

std::optional<std::string> PipeOf(const verbose::Primitive& primitive, const std::string& isa) {
  const auto type = MultipliedType(primitive);
  if (type.empty()) return std::nullopt;
  if (isa.empty()) return library_rules::NamedMatrixPipe(type, primitive.text.implementation);
  return library_rules::MatrixPipe(type, primitive.text.implementation, isa);
}

void AddWork(const verbose::Primitive& primitive, record::Record& record) {
  const auto found = verbose::WorkOf(primitive);
  Work& work = record.work[Provenance::kModelled];
  work.launches = 1;
  if (found.bytes) work.bytes[Level::kDram] = *found.bytes;
  if (!found.reason.empty()) record.counting.push_back({.text = found.reason});
  if (!found.matrix) return;
  const auto pipe = PipeOf(primitive, record.isa);
  if (*found.matrix > 0 && !pipe) {
    record.counting.push_back(
        {.text = "FLOPs left out: the type or the instruction set that would tell the unit is not "
                 "printed"});
    return;
  }
  if (*found.matrix > 0) work.flops[*pipe] += *found.matrix;
  const auto* vector = verbose::ComputeTypeOf(primitive) == "f64" ? "fp64.vector" : "fp32.vector";
  if (*found.elementwise > 0 || *found.matrix == 0) work.flops[vector] += *found.elementwise;
  if (*found.matrix > 0 && *found.elementwise > 0)
    work.parts = {{"matrix", *found.matrix}, {"elementwise", *found.elementwise}};
}

// Every call once, as itself or within the mean of neighbours.
std::vector<record::Repetition> RepetitionsOf(const std::vector<double>& seconds) {
  const std::size_t together = (seconds.size() + kMostRepetitions - 1) / kMostRepetitions;
  std::vector<record::Repetition> repetitions;
  for (std::size_t begin = 0; begin < seconds.size(); begin += together) {
    const std::size_t end = std::min(begin + together, seconds.size());
    double sum = 0;
    for (std::size_t i = begin; i < end; ++i) sum += seconds[i];
    if (!(sum > 0)) continue;  // faster than its clock
    const auto calls = static_cast<double>(end - begin);
    repetitions.push_back({.seconds = sum / calls, .iterations = calls});
  }
  return repetitions;
}

std::vector<record::Record> RecordsOf(const verbose::VerboseLog& log, const programs::ProgramSummary& summary) {
  std::vector<std::vector<double>> seconds(log.primitives.size());
  for (const auto& execution : log.executions)
    seconds[execution.primitive].push_back(execution.seconds);
  const auto isa = verbose::IsaOf(log.isa_words);
  std::vector<record::Record> records;
  for (std::size_t i = 0; i < log.primitives.size(); ++i) {
    const auto& one = summary.primitives[i];
    record::Record record{.name = one.record,
                  .algorithm = one.text.implementation,
                  .isa = isa,
                  .repro = one.repro,
                  .threads = summary.threads.value_or(0)};
    record.repetitions = RepetitionsOf(seconds[i]);
    if (record.repetitions.empty()) record.reason = "its calls took no time that the log resolves";
    AddWork(verbose::ReadPrimitive(one.text), record);
    records.push_back(std::move(record));
  }
  return records;
}

}  // namespace

bool LooksLikeOneDnnLog(std::string_view text) { return verbose::HasVerboseLine(text); }

record::RunFile ProgramRun(const std::string& log_path, const ProgramFacts& facts,
                   const std::optional<machine::Machine>& machine, std::ostream& warnings) {
  const auto text = text::ReadUnpacked(log_path, "a log of oneDNN");
  const auto log = verbose::ReadVerboseLog(text);
  if (log.executions.empty())
    throw BadInput(
        "{}:1: no executed primitive in {} lines, expected lines like "
        "'onednn_verbose,...,exec,...' (ONEDNN_VERBOSE=profile_exec makes oneDNN print them)",
        log_path, log.lines.all);
  auto summary = programs::SummarizeProgram(log, facts.steps);
  summary.log = log_path;
  summary.command = facts.command;
  summary.wall_seconds = facts.wall_seconds;
  if (facts.threads) summary.threads = facts.threads;
  for (auto& primitive : summary.primitives) {
    const auto parsed = verbose::ReadPrimitive(primitive.text);
    primitive.repro = verbose::BenchdnnLine(parsed);
    primitive.benchmark = BenchmarkOf(parsed, primitive.repro);
  }
  NameRecords(summary);
  record::RunFile run = imports::ImportedRun(RecordsOf(log, summary), machine, {}, warnings);
  run.context["dlroof"] = {{"schema", record::kSchema},
                           {"version", kVersion},
                           {"commit", kCommit},
                           {"program", programs::ToJson(summary)}};
  return run;
}

}  // namespace dlroof::profile
