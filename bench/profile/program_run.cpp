#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <ostream>
#include <set>
#include <utility>

#include "baselines/programs/program_report.h"
#include "baselines/programs/program_summary.h"
#include "bench/profile/profile.h"
#include "bench/profile/verbose_run.h"
#include "bench/suites/benchdnn.h"
#include "bench/suites/suite.h"
#include "bench/workload/library_rules.h"
#include "bench/workload/workload.h"
#include "ceilings/machine/rate.h"
#include "ceilings/machine_file/machine_cache.h"
#include "counters/base/error.h"
#include "counters/base/files.h"
#include "counters/base/json_text.h"
#include "counters/base/numbers.h"
#include "counters/energy/energy_meter.h"
#include "reporters/imports/import.h"
#include "reporters/logs/primitive.h"
#include "reporters/roofline/placed_run.h"
#include "reporters/text/text.h"

namespace dlroof::profile {
namespace {

// Returns whether the call uses a GPU. Reorders between CPU and GPU ("cpu2gpu") do.
bool IsOnGpu(const logs::PrimitiveText& text) {
  return text.engine.find("gpu") != std::string::npos;
}

// Returns the name of dlroof's benchmark of the primitive, or "" if there is none or the primitive
// ran on a GPU. `line` is benchdnn's command line for the primitive.
std::string BenchmarkOf(const logs::Primitive& primitive, const std::string& line) {
  if (line.empty() || IsOnGpu(primitive.text)) return "";
  try {
    const auto found = suites::ReadBenchdnn(line, "line");
    if (found.size() != 1 || !found[0].name) return "";
    auto name = workload::ParseBenchmarkName(*found[0].name);
    // benchdnn's inference has no bias, so `line` is one of training for a call with a bias.
    if (primitive.text.prop == "forward_inference") std::erase(name.options, "training");
    return workload::ToText(name);
  } catch (const BadInput&) {
    return "";
  }
}

// Replaces characters not allowed in names by '-'.
std::string NamePart(std::string_view text) {
  std::string part(text);
  for (char& c : part)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 &&
        std::string_view("_.:+-").find(c) == std::string_view::npos)
      c = '-';
  return part.empty() ? "none" : part;
}

// Returns a record name for a primitive without a benchmark:
// "reorder/cpu/onednn/undef/f32:f32/8x64x56x56/abcd:aBcd8b".
std::string OwnName(const logs::Primitive& primitive) {
  std::string types, tags;
  for (const auto& tensor : primitive.tensors) {
    if (tensor.type == "undef") continue;
    types += fmt::format("{}{}", types.empty() ? "" : ":", tensor.type);
    tags += fmt::format("{}{}", tags.empty() ? "" : ":", tensor.tag);
  }
  const auto& text = primitive.text;
  return fmt::format("{}/{}/onednn/{}/{}/{}/{}", NamePart(text.kind), IsOnGpu(text) ? "gpu" : "cpu",
                     NamePart(text.prop), NamePart(types), NamePart(text.problem), NamePart(tags));
}

// Returns a record name such as "aten::addmm/cpu/pytorch/operator/f32/768:512x3072:3072x768".
std::string OperatorName(const logs::PrimitiveText& text) {
  return fmt::format("{}/cpu/pytorch/operator/{}/{}", NamePart(text.kind), NamePart(text.auxiliary),
                     NamePart(text.problem));
}

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
    const auto name = primitive.is_operator ? OperatorName(primitive.text)
                                            : OwnName(logs::ReadPrimitive(primitive.text));
    primitive.record = name;
    for (int i = 2; !take(primitive.record); ++i) primitive.record = fmt::format("{}/{}", name, i);
  }
}

// Returns the type in which the library multiplies, or nullopt if it is not known. With an fpmath
// mode f32 is multiplied as bf16 if the implementation uses bf16; on a GPU this is not known.
std::optional<std::string> MultipliedType(const logs::Primitive& primitive) {
  const auto type = logs::ComputeTypeOf(primitive);
  const auto& text = primitive.text;
  const auto has = [&](std::string_view word) {
    return text.attributes.find(word) != std::string::npos;
  };
  if (type == "f32" && IsOnGpu(text) && has("fpmath:")) return std::nullopt;
  const bool narrowed = type == "f32" && (has("fpmath:bf16") || has("fpmath:any")) &&
                        (text.implementation.find("amx") != std::string::npos ||
                         text.implementation.find("bf16") != std::string::npos);
  return narrowed ? "bf16" : type;
}

// Returns the pipe of the matrix work, or nullopt if unknown. On a GPU, 16-bit floats and integers
// get the matrix units, whose roof is the highest, because the log does not name the unit.
std::optional<std::string> PipeOf(const logs::Primitive& primitive, const std::string& isa) {
  const auto type = MultipliedType(primitive);
  if (!type) return std::nullopt;
  if (IsOnGpu(primitive.text))
    return *type == "f64"    ? "fp64.vector"
           : *type == "f32"  ? "fp32.vector"
           : *type == "bf16" ? "bf16.matrix"
           : *type == "f16"  ? "fp16.matrix"
                             : "int8.matrix";
  if (isa.empty()) return workload::NamedMatrixPipe(*type, primitive.text.implementation);
  return workload::MatrixPipe(*type, primitive.text.implementation, isa);
}

std::vector<record::Record> RecordsOf(const logs::VerboseLog& log,
                                      const programs::ProgramSummary& summary) {
  std::vector<std::vector<double>> seconds(log.primitives.size());
  const auto call_seconds = programs::CallSeconds(log, programs::TimelineOf(log));
  for (std::size_t i = 0; i < log.executions.size(); ++i)
    seconds[log.executions[i].primitive].push_back(call_seconds[i]);
  const auto isa = logs::IsaOf(log.isa_words).value_or("");
  std::vector<record::Record> records;
  for (std::size_t i = 0; i < log.primitives.size(); ++i) {
    const auto& primitive = summary.primitives[i];
    record::Record record{.name = primitive.record,
                          .algorithm = primitive.text.implementation,
                          .isa = IsOnGpu(primitive.text) ? "" : isa,
                          .threads = summary.threads};
    if (IsOnGpu(primitive.text)) record.threads.reset();
    if (!primitive.repro.empty()) record.repro = primitive.repro;
    record.repetitions = RepetitionsOf(seconds[i]);
    if (record.repetitions.empty())
      record.reason = "its calls are shorter than the log's time resolution";
    if (logs::IsUkernel(primitive.text))
      record.counting.push_back(
          {.text =
               "times are shares of wall time: several threads call ukernels at the same time"});
    const auto parsed = logs::ReadPrimitive(primitive.text);
    AddWork(logs::WorkOf(parsed), PipeOf(parsed, record.isa), logs::ComputeTypeOf(parsed) == "f64",
            "the log lacks the type or the instruction set that determines the execution unit",
            record);
    records.push_back(std::move(record));
  }
  return records;
}

// Appends the records of PyTorch's operators to those of the log's primitives.
void AddOperatorRecords(const imports::Trace& trace,
                        const std::vector<programs::OperatorTime>& operators,
                        const logs::VerboseLog& log, const programs::ProgramSummary& summary,
                        std::vector<record::Record>& records) {
  auto added =
      OperatorRecords(trace, operators, logs::IsaOf(log.isa_words).value_or(""), summary.threads);
  for (std::size_t i = 0; i < added.size(); ++i) {
    added[i].name = summary.primitives.at(log.primitives.size() + i).record;
    records.push_back(std::move(added[i]));
  }
}

std::optional<machine::Machine> MachineOf(const ProfileRequest& request, std::ostream& messages) {
  if (request.machine == "none") return std::nullopt;
  if (request.machine) return machine_file::ReadMachineFile(*request.machine);
  machine_file::MachineOptions options;
  options.needs.emplace();
  if (request.threads) options.threads = {*request.threads};
  machine::ProgressPrinter progress(messages, machine::StderrIsTerminal());
  options.progress = std::ref(progress);
  return machine_file::CachedOrMeasuredCpu(options, messages);
}

std::string LinesText(std::size_t count) {
  return fmt::format("{} line{} of oneDNN", count, count == 1 ? "" : "s");
}

void ReportEnd(const VerboseRun& run, const std::string& program, std::ostream& messages) {
  const auto& end = run.end;
  if (end.out_of_time)
    Say(messages, "{} was ended after {:.3g} s, as --duration says; the report uses {} until then",
        program, end.wall_seconds, LinesText(run.lines));
  else if (end.end.signal != 0)
    Say(messages, "{} was ended by {} after {:.3g} s; the report uses {} until then", program,
        Describe(end.end), end.wall_seconds, LinesText(run.lines));
  else if (end.end.exit_code != 0)
    Say(messages, "{} ended with {} after {:.3g} s", program, Describe(end.end), end.wall_seconds);
  if (run.cut_lines > 0)
    Say(messages, "{} of oneDNN's lines were cut and have no end", run.cut_lines);
  if (end.left_open)
    Say(messages,
        "another process that {} started keeps its output open; its later output is not passed on",
        program);
  if (!end.names_processes && run.versions > 1)
    Say(messages,
        "{} processes of {} wrote lines of oneDNN: all are counted together, because a line does "
        "not name its process (it does in a socket: redirect standard output to a file or pipe, "
        "without --pipe)",
        run.versions, program);
}

void ReportMissingLines(const VerboseRun& run, const std::string& program, std::ostream& messages) {
  if (run.lines > 0)
    Say(messages, "{} uses oneDNN, but executed none of its primitives ({}): there are no results",
        program, LinesText(run.lines));
  else if (run.own_bytes == 0)
    Say(messages,
        "{} printed neither output nor a line of oneDNN: it does not use oneDNN, or its standard "
        "output goes elsewhere{}",
        program,
        run.end.names_processes && run.end.end.exit_code != 0
            ? ", or it wants to open /dev/stdout, which --pipe allows"
            : "");
  else
    Say(messages,
        "{} printed {} bytes, but no line of oneDNN: it does not use oneDNN, never calls it "
        "(TensorFlow: TF_ENABLE_ONEDNN_OPTS=1), or uses one that was built without verbose mode",
        program, run.own_bytes);
}

void WriteReport(const ProfileRequest& request, const VerboseRun& run, const std::string& log,
                 const TorchTrace& torch, const std::optional<machine::Machine>& machine,
                 std::ostream& messages) {
  const ProgramFacts facts{.command = fmt::format("{}", fmt::join(request.command, " ")),
                           .wall_seconds = run.end.wall_seconds,
                           .others_share = run.others_share,
                           .threads = request.threads,
                           .steps = request.steps,
                           .trace = torch.trace ? &*torch.trace : nullptr};
  auto file = ProgramRun(ReadFile(log, "a log of oneDNN"), log, facts, machine, messages);
  WriteFile(request.output, JsonText(roofline::ToJson(file)) + '\n');
  programs::WriteProgram(roofline::PlaceRun(file), MessageColumns(), messages);
  Say(messages, "wrote {}", request.output);
  Say(messages, "{} ({})", LinesText(run.lines),
      text::WithPrefix(static_cast<double>(run.log_bytes), "B"));
}

void ReportRun(const ProfileRequest& request, const VerboseRun& run, const std::string& log,
               const std::string& traces, const std::optional<machine::Machine>& machine,
               std::ostream& messages) {
  TorchTrace torch;
  if (request.torch) torch = ReadTorchTrace(traces);
  for (const auto& sentence : torch.remarks) Say(messages, "{}", sentence);
  if (run.executed > 0 || torch.trace)
    WriteReport(request, run, log, torch, machine, messages);
  else
    ReportMissingLines(run, request.command.front(), messages);
}

}  // namespace

bool LooksLikeOneDnnLog(std::string_view text) { return logs::HasVerboseLine(text); }

record::RunFile ProgramRun(const std::string& text, const std::string& log_path,
                           const ProgramFacts& facts,
                           const std::optional<machine::Machine>& machine, std::ostream& warnings) {
  const auto log = logs::ReadVerboseLog(text);
  const auto refused = std::ranges::max_element(log.lines.refused, {}, &logs::RefusedLines::count);
  if (log.executions.empty() && facts.trace == nullptr && log.lines.executed > 0)
    throw BadInput("{}:{}: none of {} lines of executed primitives can be used: {}", log_path,
                   refused->first_line, log.lines.executed, refused->reason);
  if (log.executions.empty() && facts.trace == nullptr)
    throw BadInput(
        "{}:1: no executed primitive in {} lines, expected lines like "
        "'onednn_verbose,...,exec,...' (ONEDNN_VERBOSE=profile_exec makes oneDNN print them)",
        log_path, log.lines.all);
  if (log.lines.used > 0 && text.back() != '\n')
    warnings << fmt::format(
        "dlroof: {}: the last line has no line end: the log may be cut off there\n", log_path);
  const auto steps = programs::StepsOf(log, facts.steps);
  auto summary = programs::SummarizeProgram(log, steps);
  summary.log = log_path;
  summary.command = facts.command.value_or("");
  summary.wall_seconds = facts.wall_seconds;
  summary.others_share = facts.others_share;
  if (facts.threads) summary.threads = facts.threads;
  for (auto& primitive : summary.primitives) {
    const auto parsed = logs::ReadPrimitive(primitive.text);
    primitive.repro = suites::BenchdnnLine(parsed).value_or("");
    primitive.benchmark = BenchmarkOf(parsed, primitive.repro);
  }
  const auto operators = facts.trace == nullptr
                             ? std::vector<programs::OperatorTime>()
                             : programs::AddOperators(*facts.trace, log, steps, summary);
  NameRecords(summary);
  auto records = RecordsOf(log, summary);
  if (facts.trace != nullptr) AddOperatorRecords(*facts.trace, operators, log, summary, records);
  record::RunFile run = imports::ImportedRun(std::move(records), machine, {}, warnings);
  run.context["dlroof"]["program"] = programs::ToJson(summary);
  return run;
}

int ProfileProgram(const ProfileRequest& request, std::ostream& messages) {
  { const PartFile probe(request.output); }  // refuses a file that cannot be written
  const auto machine = MachineOf(request, messages);
  const TemporaryFolder folder;
  const auto log = request.log.value_or(folder / "onednn.log");
  auto [variables, remark] = VerboseModeOn();
  const auto traces = folder / "torch";
  if (request.torch) variables.merge(PrepareTorchHook(HookTask::kProfile, traces));
  const auto& program = request.command.front();
  VerboseRun run;
  const auto before = energy::CpuSecondsOfOthers();
  try {
    run = RunVerbose({.command = request.command,
                      .variables = variables,
                      .most_seconds = request.most_seconds,
                      .pipe = request.pipe},
                     log, machine::StderrIsTerminal() ? &messages : nullptr);
  } catch (const CannotStart& error) {
    Say(messages, "profile: {}", error.what());
    return ExitCodeOf(error);
  }
  if (const auto after = energy::CpuSecondsOfOthers(); before && after && run.end.wall_seconds > 0)
    run.others_share = std::clamp((*after - *before) / run.end.wall_seconds /
                                      static_cast<double>(sysconf(_SC_NPROCESSORS_ONLN)),
                                  0.0, 1.0);
  ReportEnd(run, program, messages);
  try {
    if (!run.log_complete) throw BadInput("{}: not all could be written (disk full?)", log);
    ReportRun(request, run, log, traces, machine, messages);
    if (remark) Say(messages, "{}", *remark);
  } catch (const BadInput& error) {
    Say(messages, "profile: {}", error.what());
  }
  return ExitCodeOf(run.end);
}

}  // namespace dlroof::profile
