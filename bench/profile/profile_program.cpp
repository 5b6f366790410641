#include "bench/profile/profile_program.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <ostream>
#include <set>
#include <sstream>
#include <utility>

#include "baselines/programs/operators.h"
#include "baselines/programs/program_report.h"
#include "baselines/programs/program_summary.h"
#include "baselines/programs/steps.h"
#include "bench/benchdnn/log_line.h"
#include "bench/library_rules/library_rules.h"
#include "bench/profile/cpu_sampler.h"
#include "bench/profile/line_cost.h"
#include "bench/profile/log_separator.h"
#include "bench/profile/torch_trace.h"
#include "bench/suites/benchdnn_suite.h"
#include "bench/workload/benchmark_name.h"
#include "ceilings/machine/rate.h"
#include "ceilings/machine_file/machine_cache.h"
#include "counters/base/error.h"
#include "counters/base/files.h"
#include "counters/base/json_text.h"
#include "counters/base/numbers.h"
#include "counters/base/version.h"
#include "reporters/imports/import.h"
#include "reporters/roofline/placed_run.h"
#include "reporters/text/gzip.h"
#include "reporters/text/text.h"
#include "reporters/verbose/primitive.h"
#include "reporters/verbose/primitive_work.h"

namespace dlroof::profile {
namespace {

// Maximum repetitions per record. With more calls, a repetition is the mean of adjacent calls.
constexpr std::size_t kMostRepetitions = 256;

// Cross-engine reorders ("cpu2gpu") are on the GPU, too.
bool IsOnGpu(const verbose::PrimitiveText& text) {
  return text.engine.find("gpu") != std::string::npos;
}

// Returns the name of the benchmark for `line`, the primitive in benchdnn's syntax. Returns "", as
// in ProgramPrimitive::benchmark, if there is no such benchmark.
std::string BenchmarkOf(const verbose::Primitive& primitive, const std::string& line) {
  if (line.empty() || IsOnGpu(primitive.text)) return "";
  try {
    const auto found = suites::ReadBenchdnn(line, "line");
    if (found.size() != 1 || !found[0].name) return "";
    auto name = workload::ParseBenchmarkName(*found[0].name);
    // benchdnn cannot express inference with a bias.
    if (primitive.text.prop == "forward_inference") std::erase(name.options, "training");
    return workload::ToText(name);
  } catch (const BadInput&) {
    return "";
  }
}

// Replaces characters that names cannot have by '-'.
std::string NamePart(std::string_view text) {
  std::string part(text);
  for (char& c : part) {
    const bool known = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '_' || c == '.' || c == ':' || c == '+' || c == '-';
    if (!known) c = '-';
  }
  return part.empty() ? "none" : part;
}

// Returns the record name of a primitive without a benchmark:
// "reorder/cpu/onednn/undef/f32:f32/8x64x56x56/abcd:aBcd8b".
std::string OwnName(const verbose::Primitive& primitive) {
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

// Returns "aten::addmm/cpu/pytorch/operator/f32/768:512x3072:3072x768".
std::string OperatorName(const verbose::PrimitiveText& text) {
  return fmt::format("{}/cpu/pytorch/operator/{}/{}", NamePart(text.kind), NamePart(text.auxiliary),
                     NamePart(text.problem));
}

// Gives each primitive a unique record name.
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
                                            : OwnName(verbose::ReadPrimitive(primitive.text));
    primitive.record = name;
    for (int i = 2; !take(primitive.record); ++i) primitive.record = fmt::format("{}/{}", name, i);
  }
}

// Returns the data type in which the library multiplies. With an fpmath attribute, the library may
// multiply f32 as bf16 if the CPU has the instructions.
std::optional<std::string> MultipliedType(const verbose::Primitive& primitive) {
  const auto type = verbose::ComputeTypeOf(primitive);
  const auto& text = primitive.text;
  const auto has = [&](std::string_view word) {
    return text.attributes.find(word) != std::string::npos;
  };
  const bool narrowed = type == "f32" && (has("fpmath:bf16") || has("fpmath:any")) &&
                        (text.implementation.find("amx") != std::string::npos ||
                         text.implementation.find("bf16") != std::string::npos);
  if (narrowed) return "bf16";
  if (type || !text.engine.empty()) return type;
  // MKL-DNN 0.x prints no types, but its implementations of narrower types are named after them.
  const bool named = std::ranges::any_of(
      std::initializer_list<std::string_view>{"int8", "s8", "u8", "bf16"},
      [&](std::string_view word) { return text.implementation.find(word) != std::string::npos; });
  const bool typed = std::ranges::any_of(primitive.tensors, [](const verbose::Tensor& tensor) {
    return !tensor.type.empty() && tensor.type != "undef";
  });
  if (!named && !typed) return "f32";
  return type;
}

// On a GPU, 16-bit floats and integers count as work of its matrix units, whose roof is the
// highest: the log does not name the unit.
std::optional<std::string> PipeOf(const verbose::Primitive& primitive, const std::string& isa) {
  const auto type = MultipliedType(primitive);
  if (!type) return std::nullopt;
  if (IsOnGpu(primitive.text))
    return *type == "f64"    ? "fp64.vector"
           : *type == "f32"  ? "fp32.vector"
           : *type == "bf16" ? "bf16.matrix"
           : *type == "f16"  ? "fp16.matrix"
                             : "int8.matrix";
  if (isa.empty()) return library_rules::NamedMatrixPipe(*type, primitive.text.implementation);
  return library_rules::MatrixPipe(*type, primitive.text.implementation, isa);
}

void AddWork(const verbose::Primitive& primitive, record::Record& record) {
  const auto found = verbose::WorkOf(primitive);
  Work& work = record.work[Provenance::kModelled];
  work.launches = 1;
  if (found.bytes) work.bytes[Level::kDram] = *found.bytes;
  if (found.reason) record.counting.push_back({.text = found.reason->text});
  if (!found.matrix) return;
  const auto pipe = PipeOf(primitive, record.isa);
  if (*found.matrix > 0 && !pipe) {
    record.counting.push_back(
        {.text = "FLOPs are not known: the log lacks the type or the instruction set that "
                 "determines the execution unit"});
    return;
  }
  if (*found.matrix > 0) work.flops[*pipe] += *found.matrix;
  const auto* vector = verbose::ComputeTypeOf(primitive) == "f64" ? "fp64.vector" : "fp32.vector";
  if (*found.elementwise > 0 || *found.matrix == 0) work.flops[vector] += *found.elementwise;
  if (*found.matrix > 0 && *found.elementwise > 0)
    work.parts = {{"matrix", *found.matrix}, {"elementwise", *found.elementwise}};
}

// Returns a repetition for each call, or for each group of adjacent calls.
std::vector<record::Repetition> RepetitionsOf(const std::vector<double>& seconds) {
  const std::size_t together = (seconds.size() + kMostRepetitions - 1) / kMostRepetitions;
  std::vector<record::Repetition> repetitions;
  for (std::size_t begin = 0; begin < seconds.size(); begin += together) {
    const std::size_t end = std::min(begin + together, seconds.size());
    double sum = 0;
    for (std::size_t i = begin; i < end; ++i) sum += seconds[i];
    if (!(sum > 0)) continue;  // shorter than the log's resolution
    const auto calls = static_cast<double>(end - begin);
    repetitions.push_back({.seconds = sum / calls, .iterations = calls});
  }
  return repetitions;
}

std::vector<record::Record> RecordsOf(const verbose::VerboseLog& log,
                                      const programs::ProgramSummary& summary) {
  std::vector<std::vector<double>> seconds(log.primitives.size());
  const auto call_seconds = programs::CallSeconds(log, programs::TimelineOf(log));
  for (std::size_t i = 0; i < log.executions.size(); ++i)
    seconds[log.executions[i].primitive].push_back(call_seconds[i]);
  const auto isa = verbose::IsaOf(log.isa_words).value_or("");
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
    if (verbose::IsUkernel(primitive.text))
      record.counting.push_back(
          {.text = "times are shares of the clock: threads call ukernels at the same time"});
    AddWork(verbose::ReadPrimitive(primitive.text), record);
    records.push_back(std::move(record));
  }
  return records;
}

// Appends the records of operators, whose entries follow those of the log's primitives.
void AddOperatorRecords(const imports::Trace& trace,
                        const std::vector<programs::OperatorTime>& operators,
                        const verbose::VerboseLog& log, const programs::ProgramSummary& summary,
                        std::vector<record::Record>& records) {
  auto added = OperatorRecords(trace, operators, verbose::IsaOf(log.isa_words).value_or(""),
                               summary.threads);
  for (std::size_t i = 0; i < added.size(); ++i) {
    added[i].name = summary.primitives.at(log.primitives.size() + i).record;
    records.push_back(std::move(added[i]));
  }
}

// Returns how the main thread spent the time outside oneDNN, in the mean step or in the program.
std::optional<programs::OutsideTimes> OutsideOf(const verbose::VerboseLog& log,
                                                const ProgramFacts& facts,
                                                const programs::ProgramSummary& summary) {
  if (facts.cpu_samples.size() < 2 || log.executions.empty()) return std::nullopt;
  programs::TimeRange range{facts.cpu_samples.front().at, facts.cpu_samples.back().at};
  int steps = 1;
  if (summary.steps.count > 0) {
    const auto found = programs::StepsOf(log, facts.steps).ranges;
    const auto timed = [](const auto& step) { return step.begin_seconds && step.end_seconds; };
    const auto first = std::ranges::find_if(found, timed);
    if (first == found.end()) return std::nullopt;
    const auto last = std::ranges::find_if(found.rbegin(), found.rend(), timed);
    range = {*first->begin_seconds, *last->end_seconds};
    steps = static_cast<int>(std::ranges::count_if(found, timed));
  }
  return programs::SplitOutside(facts.cpu_samples, range,
                                programs::SecondsWithin(programs::PrimitiveRanges(log), range),
                                summary.threads.value_or(1), steps);
}

}  // namespace

bool LooksLikeOneDnnLog(std::string_view text) { return verbose::HasVerboseLine(text); }

record::RunFile ProgramRun(const std::string& log_path, const ProgramFacts& facts,
                           const std::optional<machine::Machine>& machine, std::ostream& warnings) {
  const auto text = text::ReadUnpacked(log_path, "a log of oneDNN");
  const auto log = verbose::ReadVerboseLog(text);
  if (log.executions.empty() && facts.trace == nullptr)
    throw BadInput(
        "{}:1: no executed primitive in {} lines, expected lines like "
        "'onednn_verbose,...,exec,...' (ONEDNN_VERBOSE=profile_exec makes oneDNN print them)",
        log_path, log.lines.all);
  if (log.lines.used > 0 && text.back() != '\n')
    warnings << fmt::format(
        "dlroof: {}: the last line has no line end: the log may be cut off there\n", log_path);
  auto summary = programs::SummarizeProgram(log, facts.steps);
  summary.log = log_path;
  summary.command = facts.command.value_or("");
  summary.wall_seconds = facts.wall_seconds;
  summary.line_seconds = facts.line_seconds;
  if (facts.threads) summary.threads = facts.threads;
  for (auto& primitive : summary.primitives) {
    const auto parsed = verbose::ReadPrimitive(primitive.text);
    primitive.repro = benchdnn::BenchdnnLine(parsed).value_or("");
    primitive.benchmark = BenchmarkOf(parsed, primitive.repro);
  }
  const auto operators = facts.trace == nullptr
                             ? std::vector<programs::OperatorTime>()
                             : programs::AddOperators(*facts.trace, log, facts.steps, summary);
  summary.outside_times = OutsideOf(log, facts, summary);
  NameRecords(summary);
  auto records = RecordsOf(log, summary);
  if (facts.trace != nullptr) AddOperatorRecords(*facts.trace, operators, log, summary, records);
  record::RunFile run = imports::ImportedRun(std::move(records), machine, {}, warnings);
  run.context["dlroof"] = {{"schema", record::kSchema},
                           {"version", kVersion},
                           {"commit", kCommit},
                           {"program", programs::ToJson(summary)}};
  return run;
}

namespace {

// [s] Time of the first progress line, doubled for each further one up to a longest interval.
constexpr double kFirstProgress = 10, kMostBetween = 300;
constexpr int kNoSuchProgram = 127, kNotExecutable = 126;

// Returns the ancestors of a process that are this process's descendants, the parent first. Returns
// none if the process has ended.
std::vector<std::int64_t> AncestorsOf(std::int64_t process) {
  constexpr std::size_t kMost = 100;
  std::vector<std::int64_t> ancestors;
  while (ancestors.size() < kMost) {
    std::ifstream status(fmt::format("/proc/{}/stat", process));
    std::string text;
    std::getline(status, text);
    // "1240 (name of the program) S 1200 ..."
    std::istringstream rest(text.substr(std::min(text.rfind(')') + 1, text.size())));
    char state = 0;
    if (!(rest >> state >> process) || process <= 1 || process == getpid()) break;
    ancestors.push_back(process);
  }
  return ancestors;
}

class VerboseProgram {
 public:
  explicit VerboseProgram(const VerboseRequest& request) : request_(request) {
    if (!request.log) return;
    log_.open(*request.log, std::ios::binary | std::ios::trunc);
    if (!log_) throw BadInput("{}: {}", *request.log, std::strerror(errno));
  }

  VerboseRun Run() {
    ForegroundRequest foreground{.command = request_.command, .variables = request_.variables};
    foreground.no_input = !request_.shown;
    std::optional<CpuSampler> sampler;
    if (request_.sampled) foreground.started = [&](int pid) { sampler.emplace(pid); };
    foreground.pipe = request_.pipe;
    foreground.most_seconds = request_.most_seconds;
    foreground.from = [this](std::int64_t process) { process_ = process; };
    foreground.take = [this](std::string_view bytes) {
      return Pass(separators_[process_].Add(bytes));
    };
    foreground.idle = [this](double seconds) {
      ShowProgress(seconds);
      return PassAll(&LogSeparator::Release);
    };
    run_.end = RunInForeground(foreground);
    if (sampler) run_.samples = sampler->Stop();
    PassAll(&LogSeparator::End);
    log_.flush();
    if (request_.log && !log_)
      throw BadInput("{}: not all could be written (disk full?)", *request_.log);
    for (const auto& [process, separator] : separators_) {
      run_.lines += separator.lines();
      run_.executed += separator.executed();
      run_.cut_lines += separator.cut_lines();
      run_.versions += separator.versions();
    }
    return std::move(run_);
  }

 private:
  bool PassAll(LogSeparator::Output (LogSeparator::*give)()) {
    bool read = true;
    for (auto& [process, separator] : separators_) {
      process_ = process;
      read = Pass((separator.*give)()) && read;
    }
    return read;
  }

  // Names the process of the next lines in the log, and before its first line its ancestors up to
  // the program.
  void NameProcess() {
    if (process_ == logged_process_) return;
    const bool known = !named_.insert(process_).second;
    logged_process_ = process_;
    log_ << verbose::kProcessLine << process_;
    if (!known)
      for (const auto ancestor : AncestorsOf(process_)) log_ << ',' << ancestor;
    log_ << '\n';
  }

  // Returns false if nobody reads this process's output any more.
  bool Pass(const LogSeparator::Output& output) {
    if (!output.log.empty()) NameProcess();
    log_ << output.log;
    run_.log_bytes += output.log.size();
    run_.own_bytes += output.own.size();
    run_.own_hash = HashOf(output.own, run_.own_hash);
    if (request_.keep_own) run_.own += output.own;
    return !request_.shown || WriteToStdout(output.own);
  }

  void ShowProgress(double seconds) {
    if (request_.progress == nullptr || seconds < next_progress_) return;
    next_progress_ += std::min(next_progress_, kMostBetween);
    std::size_t lines = 0;
    for (const auto& [process, separator] : separators_) lines += separator.lines();
    *request_.progress << fmt::format("dlroof: {:.0f} s, {} lines of oneDNN\n", seconds, lines)
                       << std::flush;
  }

  const VerboseRequest& request_;
  std::ofstream log_;
  std::map<std::int64_t, LogSeparator> separators_;  // by process; 0 if that is not known
  std::int64_t process_ = 0;                         // of the bytes that are read
  std::int64_t logged_process_ = 0;                  // of the last lines in the log
  std::set<std::int64_t> named_;                     // processes in the log
  double next_progress_ = kFirstProgress;
  VerboseRun run_;
};

bool IsSet(const char* variable) { return std::getenv(variable) != nullptr; }

}  // namespace

VerboseMode VerboseModeOn(bool creations) {
  VerboseMode mode;
  for (const char* known : {"ONEDNN_VERBOSE", "DNNL_VERBOSE"})
    if (IsSet(known))
      mode.remark = fmt::format("{}={} is set already and stays; unset it and profile sets its own",
                                known, std::getenv(known));
  // 3.2 and later read the first variable. 2.4 to 3.1 take no value of more than 11 characters and
  // then read the second one, the only one that older versions know.
  if (!mode.remark)
    mode.variables = {
        {"ONEDNN_VERBOSE", creations ? "profile_exec,profile_create" : "profile_exec"},
        {"DNNL_VERBOSE", creations ? "2" : "1"}};
  if (!IsSet("ONEDNN_VERBOSE_TIMESTAMP") && !IsSet("DNNL_VERBOSE_TIMESTAMP"))
    for (const char* stamp : {"ONEDNN_VERBOSE_TIMESTAMP", "DNNL_VERBOSE_TIMESTAMP"})
      mode.variables[stamp] = "1";
  return mode;
}

VerboseRun RunVerbose(const VerboseRequest& request) { return VerboseProgram(request).Run(); }

namespace {

// Returns the width of the terminal on standard error, or 0 if it is not a terminal. [columns]
int MessageColumns() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
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

int ExitCodeOf(const ProcessEnd& end) { return end.signal == 0 ? end.exit_code : 128 + end.signal; }

std::string LinesText(std::size_t count) {
  return fmt::format("{} line{} of oneDNN", count, count == 1 ? "" : "s");
}

// Writes messages with the program's name in front.
class Messages {
 public:
  explicit Messages(std::ostream& out) : out_(out) {}
  template <class... Parts>
  void Say(fmt::format_string<Parts...> sentence, Parts&&... parts) {
    out_ << "dlroof: " << text::Printable(fmt::format(sentence, std::forward<Parts>(parts)...))
         << '\n';
  }
  std::ostream& out() { return out_; }

 private:
  std::ostream& out_;
};

void ReportEnd(const VerboseRun& run, const std::string& program, Messages& messages) {
  const auto& end = run.end;
  if (end.out_of_time)
    messages.Say("{} was ended after {:.3g} s, as --duration says; the report uses {} until then",
                 program, end.wall_seconds, LinesText(run.lines));
  else if (end.end.signal != 0)
    messages.Say("{} was ended by {} after {:.3g} s; the report uses {} until then", program,
                 Describe(end.end), end.wall_seconds, LinesText(run.lines));
  else if (end.end.exit_code != 0)
    messages.Say("{} ended with {} after {:.3g} s", program, Describe(end.end), end.wall_seconds);
  if (run.cut_lines > 0)
    messages.Say("{} of oneDNN's lines were cut and have no end", run.cut_lines);
  if (end.left_open)
    messages.Say(
        "another process that {} started keeps its output open; its later output is not passed on",
        program);
  if (!end.names_processes && (end.processes > 1 || run.versions > 1))
    messages.Say(
        "{} ran as {} processes, of which {} began to write lines of oneDNN: all lines are counted "
        "together, because a line does not name its process (it does in a socket: redirect "
        "standard "
        "output to a file or pipe, without --pipe)",
        program, std::max<std::size_t>(static_cast<std::size_t>(end.processes), run.versions),
        run.versions);
}

// Reports why there are no results.
void ReportMissingLines(const VerboseRun& run, const std::string& program, Messages& messages) {
  if (run.lines > 0)
    messages.Say("{} uses oneDNN, but executed none of its primitives ({}): there are no results",
                 program, LinesText(run.lines));
  else if (run.own_bytes == 0)
    messages.Say(
        "{} printed neither output nor a line of oneDNN: it does not use oneDNN, or its standard "
        "output goes elsewhere{}",
        program,
        run.end.names_processes && run.end.end.exit_code != 0
            ? ", or it wants to open /dev/stdout, which --pipe allows"
            : "");
  else
    messages.Say(
        "{} printed {} bytes, but no line of oneDNN: it does not use oneDNN, never calls it "
        "(TensorFlow: TF_ENABLE_ONEDNN_OPTS=1), or uses one that was built without verbose mode",
        program, run.own_bytes);
}

// Returns the time that a line takes the program [s], if it can be measured.
std::optional<double> LineSecondsOf(const VerboseRun& run) {
  if (run.lines == 0) return std::nullopt;
  return MeasureLineSeconds(run.log_bytes / run.lines, 1, !run.end.names_processes);
}

void ReportOverhead(const VerboseRun& run, std::optional<double> line_seconds, Messages& messages) {
  const double wall = std::max(run.end.wall_seconds, 1e-9);
  const auto share = [&](double seconds) {
    return fmt::format("{}, {:.2g} % of {:.3g} s", text::WithPrefix(seconds, "s"),
                       100 * seconds / wall, run.end.wall_seconds);
  };
  std::string cost = "what writing them cost the program is not known";
  if (line_seconds)
    cost = fmt::format("writing them took the program about {} ({} a line, as measured here)",
                       share(static_cast<double>(run.lines) * *line_seconds),
                       text::WithPrefix(*line_seconds, "s"));
  messages.Say("{} ({}); {}; reading them took dlroof {} of CPU time", LinesText(run.lines),
               text::WithPrefix(static_cast<double>(run.log_bytes), "B"), cost,
               text::WithPrefix(run.end.reader_seconds, "s"));
}

// Measures the overhead of verbose mode by interleaved runs of the program with and without it.
class OverheadTurns {
 public:
  OverheadTurns(const ProfileRequest& request, Messages& messages)
      : request_(request), messages_(messages) {
    if (request.read) pattern_ = NumberPattern("--read", *request.read);
  }

  bool KeepsOwn() const { return pattern_.has_value(); }

  void Run(const VerboseRun& first, const Variables& variables) {
    std::vector<double> ratios, cpu_ratios;
    auto verbose = ValueOf(first);
    double verbose_cpu = first.end.cpu_seconds;
    VerboseRun plain_run;
    // Variables that the user has set stay in effect.
    const bool set_by_user = variables.count("ONEDNN_VERBOSE") == 0;
    const auto plain_variables =
        set_by_user ? Variables{{"ONEDNN_VERBOSE", "0"}, {"DNNL_VERBOSE", "0"}} : Variables{};
    const auto run_verbose = [&] {
      const auto run = Once(variables);
      verbose = ValueOf(run);
      verbose_cpu = run.end.cpu_seconds;
    };
    for (int turn = 0; turn < request_.overhead_turns.value_or(0); ++turn) {
      // The order alternates, so that a drift of the machine's speed cancels out.
      if (turn % 2 == 1) run_verbose();
      plain_run = Once(plain_variables);
      if (turn > 0 && turn % 2 == 0) run_verbose();
      const auto plain = ValueOf(plain_run);
      if (plain_run.end.passed_signal)
        return messages_.Say("interrupted: the overhead is not known");
      if (!verbose || !plain)
        return messages_.Say(
            "the overhead is not known: --read '{}' matches no number above 0 in the output",
            *request_.read);
      ratios.push_back(*verbose / *plain);
      if (verbose_cpu > 0 && plain_run.end.cpu_seconds > 0)
        cpu_ratios.push_back(verbose_cpu / plain_run.end.cpu_seconds);
    }
    ReportRatios(pattern_ ? "number read" : "wall time", ratios);
    // System load changes the wall time, but hardly the CPU time.
    ReportRatios("CPU time", cpu_ratios);
    ReportOutput(first, plain_run);
  }

 private:
  void ReportRatios(const char* what, const std::vector<double>& ratios) {
    if (ratios.empty()) return;
    const auto [least, most] = std::ranges::minmax(ratios);
    messages_.Say("{} with oneDNN's lines{} over without, {} turn{}: {:.3f} ({:.3f} to {:.3f})",
                  what, request_.torch ? " and torch.profiler" : "", ratios.size(),
                  ratios.size() == 1 ? "" : "s", Median(ratios), least, most);
  }

  void ReportOutput(const VerboseRun& first, const VerboseRun& plain_run) {
    const bool same =
        first.own_bytes == plain_run.own_bytes && first.own_hash == plain_run.own_hash;
    messages_.Say("its own output is {} as without profile ({} and {} bytes)",
                  same ? "the same, byte for byte," : "not the same (times? random numbers?)",
                  first.own_bytes, plain_run.own_bytes);
  }

  VerboseRun Once(const Variables& variables) const {
    return RunVerbose({.command = request_.command,
                       .variables = variables,
                       .shown = false,
                       .keep_own = KeepsOwn(),
                       .pipe = request_.pipe,
                       .most_seconds = request_.most_seconds});
  }

  // Returns the wall time, or the number that --read finds if it is above 0.
  std::optional<double> ValueOf(const VerboseRun& run) const {
    if (!pattern_) return run.end.wall_seconds;
    const auto numbers = NumbersIn(run.own, *pattern_);
    if (numbers.empty() || Median(numbers) <= 0) return std::nullopt;
    return Median(numbers);
  }

  const ProfileRequest& request_;
  Messages& messages_;
  std::optional<std::regex> pattern_;
};

void WriteReport(const ProfileRequest& request, const VerboseRun& run, const std::string& log,
                 const imports::Trace* trace, const std::optional<machine::Machine>& machine,
                 Messages& messages) {
  const auto line_seconds = LineSecondsOf(run);
  const ProgramFacts facts{.command = fmt::format("{}", fmt::join(request.command, " ")),
                           .wall_seconds = run.end.wall_seconds,
                           .threads = request.threads,
                           .steps = request.steps,
                           .line_seconds = line_seconds,
                           .cpu_samples = run.samples,
                           .trace = trace};
  auto file = ProgramRun(log, facts, machine, messages.out());
  if (request.complete && !run.end.passed_signal) request.complete(file, messages.out());
  WriteFile(request.output, JsonText(roofline::ToJson(file)) + '\n');
  programs::WriteProgram(roofline::PlaceRun(file), MessageColumns(), messages.out());
  messages.Say("wrote {}", request.output);
  ReportOverhead(run, line_seconds, messages);
}

}  // namespace

int ProfileProgram(const ProfileRequest& request, std::ostream& out) {
  Messages messages(out);
  OverheadTurns turns(request, messages);
  const auto machine = MachineOf(request, out);
  const TemporaryFolder folder;
  const auto log = request.log.value_or(folder / "onednn.log");
  auto [variables, remark] = VerboseModeOn(request.creations);
  const auto traces = folder / "torch";
  if (request.torch) {
    const auto hook = TorchHookFolder();
    std::filesystem::create_directory(traces);
    const char* const before = std::getenv("PYTHONPATH");
    for (const auto& variable : TorchVariables(hook, traces, before == nullptr ? "" : before))
      variables.insert(variable);
  }
  const auto& program = request.command.front();
  VerboseRun run;
  try {
    run = RunVerbose({.command = request.command,
                      .variables = variables,
                      .keep_own = turns.KeepsOwn(),
                      .log = log,
                      .progress = machine::StderrIsTerminal() ? &out : nullptr,
                      .pipe = request.pipe,
                      .most_seconds = request.most_seconds,
                      .sampled = true});
  } catch (const CannotStart& error) {
    messages.Say("profile: {}", error.what());
    return error.error == ENOENT ? kNoSuchProgram : kNotExecutable;
  }
  ReportEnd(run, program, messages);
  try {
    TorchTrace torch;
    if (request.torch) torch = ReadTorchTrace(traces);
    for (const auto& sentence : torch.remarks) messages.Say("{}", text::Printable(sentence));
    if (run.executed > 0 || torch.trace)
      WriteReport(request, run, log, torch.trace ? &*torch.trace : nullptr, machine, messages);
    else
      ReportMissingLines(run, program, messages);
    if (remark) messages.Say("{}", *remark);
  } catch (const BadInput& error) {
    messages.Say("profile: {}", error.what());
  }
  if (request.overhead_turns && !run.end.passed_signal) turns.Run(run, variables);
  return run.end.out_of_time ? 0 : ExitCodeOf(run.end.end);
}

std::optional<programs::ProgramBreakdown> RunForBreakdown(const std::vector<std::string>& command) {
  const TemporaryFolder folder;
  const auto log = folder / "onednn.log";
  const auto run = RunVerbose(
      {.command = command, .variables = VerboseModeOn().variables, .shown = false, .log = log});
  const auto& end = run.end;
  if (end.passed_signal || end.end.signal != 0 || end.end.exit_code != 0) return std::nullopt;
  if (run.executed == 0) return std::nullopt;
  std::ostringstream unused;
  try {
    const auto placed = roofline::PlaceRun(
        ProgramRun(log, {.wall_seconds = end.wall_seconds}, std::nullopt, unused));
    const auto summary = programs::ProgramOf(placed.file.context);
    if (!summary) return std::nullopt;
    return programs::BreakdownOf(programs::UsesOf(placed, *summary), *summary);
  } catch (const BadInput&) {  // a version of oneDNN whose lines cannot be read
    return std::nullopt;
  }
}

}  // namespace dlroof::profile
