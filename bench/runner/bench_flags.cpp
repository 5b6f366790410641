#include "bench/runner/bench_flags.h"

#include <benchmark/benchmark.h>
#include <regex.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <iterator>
#include <map>
#include <set>

#include "bench/runner/command.h"
#include "counters/base/error.h"
#include "counters/base/keys.h"
#include "counters/base/program.h"

namespace dlroof::runner {

std::optional<std::string> SetBenchmarkFlag(const std::vector<std::string>& args,
                                            const std::string& name) {
  std::string upper = "BENCHMARK_" + name;
  std::ranges::transform(upper, upper.begin(), [](unsigned char c) { return std::toupper(c); });
  const char* from_environment = std::getenv(upper.c_str());
  std::optional<std::string> value;
  if (from_environment != nullptr) value = from_environment;
  const std::string flag = "--benchmark_" + name, prefix = flag + "=";
  for (const auto& arg : args) {
    if (arg == flag) value = "";
    if (arg.starts_with(prefix)) value = arg.substr(prefix.size());
  }
  return value;
}

namespace {

std::string Lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

std::string BenchmarkFlag(const std::vector<std::string>& args, const std::string& name) {
  return SetBenchmarkFlag(args, name).value_or("");
}

// Returns whether a Boolean flag is on, as Google Benchmark decides.
bool IsOn(const std::vector<std::string>& args, const std::string& name) {
  const std::set<std::string> off = {"0", "f", "n", "false", "no", "off"};
  const auto value = SetBenchmarkFlag(args, name);
  return value && !off.contains(Lower(*value));
}

// Returns the time [s] in "0.03" or "0.03s"; nullopt for other text, e.g. "10x" (iterations).
std::optional<double> Seconds(std::string_view text) {
  if (text.ends_with('s')) text.remove_suffix(1);
  return ParseNumber<double>(text);
}

bool IsSince(std::string_view since, std::string_view version) {
  return strverscmp(std::string(since).c_str(), std::string(version).c_str()) <= 0;
}

// Returns whether --benchmark_min_time takes a unit: expected since 1.8, rejected before.
bool TimesHaveUnits(std::string_view version) { return IsSince("1.8", version); }

// A flag of Google Benchmark, which does not export a list of its flags.
struct GoogleBenchmarkFlag {
  std::string_view name;   // "--benchmark_filter"
  std::string_view type;   // type of its value
  std::string_view since;  // first version with the flag; empty: all versions that dlroof supports
  std::vector<std::string_view> choices = {};
};

const std::vector<std::string_view> kBoolean = {"true", "false"};

const std::vector<GoogleBenchmarkFlag> kGoogleBenchmarkFlags = {
    {"--benchmark_list_tests", "BOOLEAN", "", kBoolean},
    {"--benchmark_filter", "REGEX", ""},
    {"--benchmark_min_time", "SECONDS", ""},
    {"--benchmark_min_warmup_time", "SECONDS", "1.7"},
    {"--benchmark_dry_run", "BOOLEAN", "1.9.1", kBoolean},
    {"--benchmark_repetitions", "NUMBER", ""},
    {"--benchmark_enable_random_interleaving", "BOOLEAN", "", kBoolean},
    {"--benchmark_report_aggregates_only", "BOOLEAN", "", kBoolean},
    {"--benchmark_display_aggregates_only", "BOOLEAN", "", kBoolean},
    {"--benchmark_format", "FORMAT", "", {"console", "json", "csv"}},
    {"--benchmark_out", "FILE", ""},
    {"--benchmark_out_format", "FORMAT", "", {"json", "console", "csv"}},
    {"--benchmark_color", "CHOICE", "", {"auto", "true", "false"}},
    {"--benchmark_counters_tabular", "BOOLEAN", "", kBoolean},
    {"--benchmark_perf_counters", "LIST", ""},  // only if built with libpfm
    {"--benchmark_context", "LIST", ""},
    {"--benchmark_time_unit", "UNIT", "1.7", {"ns", "us", "ms", "s"}},
    {"--v", "LEVEL", ""}};

bool IsBenchmarkFlag(std::string_view arg) {
  return arg.starts_with("--benchmark_") || arg.starts_with("--v=") || arg == "--v";
}

constexpr KeyRow<OutputFormat> kFormats[] = {
    {OutputFormat::kJson, "json"}, {OutputFormat::kCsv, "csv"}, {OutputFormat::kTable, "console"}};

// Values in the command line's spelling, e.g. "keep"; ReadOwnFlags converts them to BenchFlags.
struct SpelledFlags {
  std::optional<bool> live_check;
  std::optional<double> max_noise;  // [%]
  std::string disturbed, cache, gpu_state;
  std::vector<int> turns;
};

std::vector<Option> PassOptions(BenchFlags& flags) {
  return {{"--dlroof_explain", &flags.explain,
           "profile the parallel regions of each CPU call in separate passes; the run file stores "
           "where the time goes, and dlroof explain FILE shows it"},
          Ruled("--dlroof_explain_seconds", {.type = "SECONDS", .limits = AboveZero{}},
                &flags.explain_seconds, "[s] with --dlroof_explain: limit for each benchmark"),
          {"--dlroof_energy", &flags.energy,
           "after all benchmarks, measure the energy of each call if the machine has energy "
           "counters (see dlroof doctor): 1.5 s more per benchmark, 6 s on a GPU"}};
}

std::vector<Option> DeviceOptions(BenchFlags& flags, SpelledFlags& spelled) {
  return {
      Ruled("--dlroof_device", {.type = "DEVICE"}, &flags.device,
            "devices to measure: auto (default: the CPU, and the first GPU if it can be used), "
            "cpu, gpu, gpu1 (the second GPU); with gpu, the problems of CPU suites run on the GPU"),
      Ruled("--dlroof_machine", {.type = kMachine}, &flags.machine_files,
            "machine file with the roofs of a device, one per device, or the name of a GPU that "
            "dlroof machine knows (default: cached ceilings, or measured now); none: results "
            "without roofs"),
      {"--dlroof_live_check", &spelled.live_check,
       "first measure the fastest fp32 ceiling, DRAM loads and the needed ceilings that are not "
       "validated again (at most 3 s); if one is faster than stored, measure all that are needed "
       "again (default true)"}};
}

std::vector<Option> SuiteOptions(BenchFlags& flags) {
  auto& choices = flags.choices;
  return {
      Ruled("--dlroof_suite", {.type = kSuite}, &flags.suites,
            "what to run instead of the default suites: built-in suites (--dlroof_suite=help "
            "lists them), names of benchmarks, files with one problem or name per line, or files "
            "of benchdnn; separated by commas"),
      Ruled("--dlroof_directions", {.type = "LIST"}, &choices.directions,
            "run the suites' problems in these directions (or with these prefixes of "
            "directions): fwd,bwd or bwd_data"),
      Ruled("--dlroof_types", {.type = "LIST"}, &choices.types,
            "... in these data types: f32,int8"),
      Ruled("--dlroof_batch", {.type = "LIST"}, &choices.batch,
            "... with these batch sizes, one suite for each: 1,64"),
      Ruled("--dlroof_algorithm", {.type = "OPTION"}, &flags.algorithm,
            "the algorithm of all benchmarks whose names may have this option: best (cuDNN: "
            "time all engines, use the fastest), winograd, persist-static, ...")};
}

std::vector<Option> RunOptions(BenchFlags& flags, SpelledFlags& spelled) {
  return {
      Ruled("--dlroof_onednn", {.type = kFile}, &flags.onednn,
            "file of the oneDNN to measure, any libdnnl.so.3 from 3.2 on (default: the one "
            "that this program was built with)"),
      Ruled("--dlroof_threads", {.limits = Range{1, 4096}}, &flags.threads,
            "threads per benchmark (default: all CPUs that the process may use)"),
      {"--dlroof_seed", &flags.seed, "seed of all input data (default 1)"},
      Ruled("--dlroof_html", {.type = kFile}, &flags.html_file, "also write the interactive page"),
      {"--dlroof_verbose,--verbose", &flags.verbose,
       "name each unsupported benchmark instead of one line per reason"},
      // Only other programs of dlroof set these two flags.
      Ruled("--dlroof_progress", {.hidden = true}, &flags.progress_pipe, ""),
      Ruled("--dlroof_turns", {.one_each = true, .comma = true, .hidden = true}, &spelled.turns,
            "")};
}

std::vector<Option> RepetitionOptions(BenchFlags& flags, SpelledFlags& spelled) {
  return {
      Ruled("--dlroof_max_noise", {.type = "PERCENT", .limits = AboveZero{}}, &spelled.max_noise,
            "[%] replace noisy repetitions and add more until half the width of the median's 95 % "
            "confidence interval is at most this share of the median (default 5)"),
      Ruled("--dlroof_max_seconds", {.type = "SECONDS", .limits = AtLeastZero{}},
            &flags.stop.max_seconds,
            "[s] stop adding repetitions to a benchmark after this time (default 2); with 0 run "
            "exactly the number of --benchmark_repetitions, noisy or not"),
      Ruled("--dlroof_disturbed", {.type = "CHOICE", .choices = {"replace", "keep"}},
            &spelled.disturbed,
            "repetitions with interference from other processes: replace them (default), or keep "
            "them and use all repetitions")};
}

std::vector<Option> CountingOptions(BenchFlags& flags, SpelledFlags& spelled) {
  return {
      Ruled("--dlroof_counters", {.type = "SOURCE", .choices = CounterChoices(AllCounterSources())},
            &flags.counters,
            "source of FLOPs and bytes: auto (default: hardware counters if available, else "
            "models), model (closed forms; on a GPU also a model of its traffic), perf, simulate "
            "(one call under valgrind's cache simulator; seconds to minutes per benchmark), cupti "
            "(on a GPU, in at most 3 passes), cupti:all (every pipe and PCIe, in more passes), off "
            "(closed forms only)"),
      Ruled("--dlroof_cache", {.type = "STATE", .choices = {"warm", "cold", "cold-weights"}},
            &spelled.cache,
            "cache state at the start of a call, for benchmarks whose name does not specify one: "
            "warm (default), cold, cold-weights"),
      Ruled("--dlroof_gpu_state", {.type = "STATE", .choices = {"burst", "steady"}},
            &spelled.gpu_state,
            "burst (default): the GPU's clock as it is after a pause; steady: each GPU benchmark "
            "first loads the GPU for 3 s or more, until the clock settles, and is judged by "
            "sustained roofs")};
}

Command OwnProgram(BenchFlags& flags, SpelledFlags& spelled) {
  Command program{.name = "dlroof_bench",
                  .about = "Flags of dlroof_bench beside Google Benchmark's:",
                  .options = PassOptions(flags),
                  .equals_sign = true};
  for (auto& more : {DeviceOptions(flags, spelled), SuiteOptions(flags), RunOptions(flags, spelled),
                     RepetitionOptions(flags, spelled), CountingOptions(flags, spelled)})
    std::ranges::move(more, std::back_inserter(program.options));
  return program;
}

// Returns e.g. "threads" for "--dlroof_threads".
std::string_view BareFlag(std::string_view flag) {
  for (const std::string_view prefix : {"--", "dlroof_"})
    if (flag.starts_with(prefix)) flag.remove_prefix(prefix.size());
  return flag;
}

void RefuseUnknownFlag(const Command& program, std::string_view arg) {
  const std::string flag(arg.substr(0, arg.find('=')));
  if (!flag.starts_with("--")) return;
  std::map<std::string, std::string> known;
  for (const auto& option : program.options)
    for (const auto& name : NamesOf(option)) {
      if (name == flag) return;
      if (!option.rules.hidden) known.emplace(BareFlag(name), name);
    }
  const auto bare = VectorOf<std::string>(known, [](const auto& row) { return row.first; });
  auto nearest = NearestName(BareFlag(flag), bare);
  if (nearest) nearest = known.at(*nearest);
  throw BadInput(UnknownName("flag", flag, nearest, "dlroof_bench"));
}

}  // namespace

void AddDefaultFlags(std::vector<std::string>& args) {
  if (BenchmarkFlag(args, "repetitions").empty()) args.emplace_back("--benchmark_repetitions=9");
  const bool unit = TimesHaveUnits(kGoogleBenchmarkVersion);
  const bool on_gpu = std::ranges::any_of(
      args, [](const auto& arg) { return arg.starts_with("--dlroof_device=gpu"); });
  if (BenchmarkFlag(args, "min_time").empty())
    args.push_back(
        fmt::format("--benchmark_min_time={}{}", on_gpu ? "0.005" : "0.03", unit ? "s" : ""));
}

void AdaptMinTime(std::vector<std::string>& args, std::string_view version) {
  if (TimesHaveUnits(version)) return;
  const auto value = BenchmarkFlag(args, "min_time");
  if (value.ends_with('x'))
    throw BadInput(
        "--benchmark_min_time={}: Google Benchmark {}, with which this program is built, knows no "
        "number of iterations (1.8 and newer do); expected a time such as 0.5 or 0.5s",
        value, version);
  const auto seconds = Seconds(value);
  if (!value.ends_with('s') || !seconds) return;
  constexpr std::string_view kMinTime = "--benchmark_min_time=";
  std::erase_if(args, [&](const auto& arg) { return arg.starts_with(kMinTime); });
  args.push_back(fmt::format("{}{}", kMinTime, value.substr(0, value.size() - 1)));
}

bool AsksForHelp(const std::vector<std::string>& args) {
  return std::ranges::find(args, "--help") != args.end();
}

std::vector<std::string> OwnArguments(const std::vector<std::string>& args) {
  std::vector<std::string> own(args.begin() + std::min<std::ptrdiff_t>(1, std::ssize(args)),
                               args.end());
  std::erase_if(own, IsBenchmarkFlag);
  return own;
}

void RefuseBenchmarkFlags(const std::vector<std::string>& args, std::string_view version) {
  for (const auto& arg : args) {
    if (!IsBenchmarkFlag(arg)) continue;
    const auto flag = arg.substr(0, arg.find('='));
    std::vector<std::string> names;
    for (const auto& known : kGoogleBenchmarkFlags) {
      const bool has = IsSince(known.since, version);
      if (has) names.emplace_back(known.name);
      if (flag != known.name) continue;
      if (has) throw BadInput("{}: Google Benchmark {} does not accept this value", arg, version);
      throw BadInput(
          "{}: Google Benchmark {}, with which this program is built, does not know this flag "
          "({} and newer do)",
          arg, version, known.since);
    }
    throw BadInput(UnknownName(fmt::format("flag of Google Benchmark {}", version), flag,
                               NearestName(flag, names), "dlroof_bench"));
  }
}

void RefuseEmptySelection(const BenchFlags& flags, std::size_t selected, std::size_t all) {
  if (flags.lists_only || selected > 0) return;
  if (all == 0) throw BadInput("there is no benchmark to measure");
  throw BadInput(
      "--benchmark_filter={}: selects none of the {} benchmarks (--dlroof_suite=NAME takes any "
      "name)",
      flags.filter, all);
}

void ProtectOutFile(std::vector<std::string>& args, BenchFlags& flags) {
  if (flags.lists_only) flags.out_file.reset();
  if (flags.out_file) flags.part = std::make_shared<PartFile>(*flags.out_file);
  args.push_back("--benchmark_out=" + (flags.part ? flags.part->part() : ""));
}

void ReadBenchmarkFlags(const std::vector<std::string>& args, BenchFlags& flags) {
  flags.filter = BenchmarkFlag(args, "filter");
  flags.interleaved = IsOn(args, "enable_random_interleaving");
  flags.lists_only = IsOn(args, "list_tests");
  flags.min_seconds = Seconds(BenchmarkFlag(args, "min_time"));
  const auto repetitions =
      BenchmarkFlag(args, "repetitions");  // Google Benchmark rejects invalid numbers
  std::from_chars(repetitions.data(), repetitions.data() + repetitions.size(), flags.repetitions);
  if (flags.repetitions < 1)
    throw BadInput("--benchmark_repetitions={}: expected a number of at least 1", repetitions);
  flags.display = ValueIn(kFormats, BenchmarkFlag(args, "format")).value_or(OutputFormat::kTable);
  flags.out_file = SetBenchmarkFlag(args, "out");
  if (flags.out_file == "") flags.out_file.reset();
  flags.out_format =
      ValueIn(kFormats, BenchmarkFlag(args, "out_format")).value_or(OutputFormat::kJson);
}

std::optional<StoppingRule> RuleFrom(const BenchFlags& flags) {
  // With CSV there is no rule: Google Benchmark would write a line for each skipped repetition.
  const bool csv = flags.display == OutputFormat::kCsv ||
                   (flags.out_format == OutputFormat::kCsv && flags.out_file);
  if (flags.repetitions < 2 || flags.stop.max_seconds <= 0 || flags.turn_pipes || csv)
    return std::nullopt;
  auto rule = flags.stop;
  rule.repetitions = flags.repetitions;
  return rule;
}

int OfferedRepetitions(const StoppingRule& rule, const BenchFlags& flags) {
  constexpr double kMax = 1000, kMinSeconds = 1e-3;
  const double in_time = rule.max_seconds / std::max(kMinSeconds, flags.min_seconds.value_or(0));
  return rule.repetitions + static_cast<int>(std::min(in_time, kMax));
}

void ReadOwnFlags(const std::vector<std::string>& args, BenchFlags& flags) {
  SpelledFlags spelled;
  const auto program = OwnProgram(flags, spelled);
  for (const auto& arg : args) RefuseUnknownFlag(program, arg);
  Parse(program, args);
  flags.live_check = spelled.live_check.value_or(flags.live_check);
  if (spelled.max_noise) flags.stop.max_noise = *spelled.max_noise / 100;
  if (!spelled.disturbed.empty()) flags.keep_noisy = spelled.disturbed == "keep";
  for (const auto state : {workload::CacheState::kWarm, workload::CacheState::kCold,
                           workload::CacheState::kColdWeights})
    if (Key(state) == spelled.cache) flags.cache = state;
  if (!spelled.gpu_state.empty()) flags.gpu_steady = spelled.gpu_state == "steady";
  if (!spelled.turns.empty() && spelled.turns.size() != 2)
    throw BadInput("flags: --dlroof_turns: expected two descriptors");
  if (!spelled.turns.empty()) flags.turn_pipes = {spelled.turns[0], spelled.turns[1]};
  if (flags.energy && flags.turn_pipes)
    throw BadInput(
        "--dlroof_energy: two interleaved programs share the energy counters: measure the energy "
        "of each in a run of its own");
}

std::string FilterOfShownNames(const std::string& filter) {
  constexpr std::string_view kSettings =
      "(/((min_time|min_warmup_time|iterations|repeats):[^/]*|(process|real|manual)_time))*";
  std::string shown;
  bool escaped = false, in_set = false;
  for (const char c : filter) {
    if (c == '$' && !escaped && !in_set) shown += kSettings;
    in_set = !escaped && (c == '[' || (in_set && c != ']'));
    escaped = !escaped && !in_set && c == '\\';
    shown += c;
  }
  return shown;
}

bool KeptByFilter(const std::string& filter, const std::string& name) {
  if (filter.empty() || filter == "all") return true;
  const bool negative = filter.front() == '-';
  regex_t expression;
  const int error =
      regcomp(&expression, FilterOfShownNames(filter.substr(negative ? 1 : 0)).c_str(),
              REG_EXTENDED | REG_NOSUB);
  if (error != 0) {
    std::array<char, 128> reason{};
    regerror(error, &expression, reason.data(), reason.size());
    throw BadInput("--benchmark_filter={}: expected an extended regular expression: {}", filter,
                   reason.data());
  }
  const bool found = regexec(&expression, name.c_str(), 0, nullptr, 0) == 0;
  regfree(&expression);
  return found != negative;
}

Command DescribeProgram(bool with_google_benchmark) {
  struct Targets {
    BenchFlags flags;
    SpelledFlags spelled;
    std::string of_google_benchmark;
  };
  auto targets = std::make_shared<Targets>();
  auto program = OwnProgram(targets->flags, targets->spelled);
  for (const auto& flag : kGoogleBenchmarkFlags)
    if (with_google_benchmark && IsSince(flag.since, kGoogleBenchmarkVersion))
      program.options.push_back({std::string(flag.name),
                                 &targets->of_google_benchmark,
                                 "",
                                 {.type = std::string(flag.type),
                                  .choices = {flag.choices.begin(), flag.choices.end()}}});
  program.run = [targets] { return 0; };
  return program;
}

void PrintHelp() {
  BenchFlags flags;
  SpelledFlags spelled;
  std::cout << Help(OwnProgram(flags, spelled)) << "\nFlags of Google Benchmark:\n";
  benchmark::PrintDefaultHelp();
}

}  // namespace dlroof::runner
