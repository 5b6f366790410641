#include "bench/runner/bench_flags.h"

#include <regex.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <map>
#include <set>
#include <string_view>
#include <tuple>

#include "counters/base/error.h"
#include "counters/base/version.h"

namespace dlroof::runner {
namespace {

// The value of --benchmark_NAME=VALUE, its last mention; Google Benchmark reads BENCHMARK_NAME from
// the environment too.
std::string BenchmarkFlag(const std::vector<std::string>& args, const std::string& name) {
  std::string upper = "BENCHMARK_" + name;
  std::transform(upper.begin(), upper.end(), upper.begin(),
                 [](unsigned char c) { return std::toupper(c); });
  const char* from_environment = std::getenv(upper.c_str());
  std::string value = from_environment == nullptr ? "" : from_environment;
  const std::string prefix = "--benchmark_" + name + "=";
  for (const auto& arg : args)
    if (arg.compare(0, prefix.size(), prefix) == 0) value = arg.substr(prefix.size());
  return value;
}

// "0.03", "0.03s"; "10x" is no time.
std::optional<double> Seconds(const std::string& text) {
  double seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  const std::string_view rest(end, static_cast<size_t>(text.data() + text.size() - end));
  if (error != std::errc() || !(rest.empty() || rest == "s")) return std::nullopt;
  return seconds;
}

OutputFormat FormatNamed(const std::string& name, OutputFormat otherwise) {
  if (name == "json") return OutputFormat::kJson;
  if (name == "csv") return OutputFormat::kCsv;
  if (name == "console") return OutputFormat::kTable;
  return otherwise;
}

// Parses the choice of counters and of the caches' state.
void AddCountingOptions(CLI::App& app, BenchFlags& flags) {
  app.add_option("--dlroof_counters", flags.counters,
                 "where FLOPs and bytes come from: auto (hardware counters where there are any, "
                 "else a model of the loops), model, perf, simulate (one call under valgrind's "
                 "cache simulator, seconds to minutes each), cupti, off (closed forms only)")
      ->check(CLI::IsMember(CounterChoices(AllCounterSources())))
      ->type_name("SOURCE")
      ->default_str("");
  static const std::map<std::string, workload::CacheState> states = {
      {"warm", workload::CacheState::kWarm},
      {"cold", workload::CacheState::kCold},
      {"cold-weights", workload::CacheState::kColdWeights}};
  app.add_option("--dlroof_cache", flags.cache,
                 "what caches hold when a call begins, where a name does not say: warm (default), "
                 "cold, cold-weights")
      ->transform(CLI::CheckedTransformer(states))
      ->type_name("STATE")
      ->default_str("");
}

// Adds the flags that choose benchmarks.
void AddSuiteOptions(CLI::App& app, BenchFlags& flags) {
  app.add_option("--dlroof_suite", flags.suites,
                 "what to run instead of the default suites: built-in suites (--dlroof_suite=help "
                 "lists them), or files with one problem or benchmark name per line, or files of "
                 "benchdnn; separated by commas")
      ->take_all();
  auto& choices = flags.choices;
  const std::tuple<const char*, std::string&, const char*> lists[] = {
      {"--dlroof_library", choices.library, "the suites' problems by these libraries: onednn"},
      {"--dlroof_directions", choices.directions,
       "... in these directions: fwd,bwd (all that begin so), bwd_data"},
      {"--dlroof_types", choices.types, "... in these types: f32,int8"},
      {"--dlroof_batch", choices.batch, "... with these batch sizes, a suite of each: 1,64"}};
  for (const auto& [name, list, help] : lists)
    app.add_option(name, list, help)->type_name("LIST")->default_str("");
}

// When a benchmark has been repeated enough.
void AddRepetitionOptions(CLI::App& app, BenchFlags& flags) {
  app.add_option_function<double>(
         "--dlroof_max_noise", [&](double percent) { flags.stop.max_noise = percent / 100; },
         "[%] repeat until the median's 95 % interval reaches no farther from it (default 5), "
         "after "
         "noisy repetitions were replaced")
      ->check(CLI::PositiveNumber)
      ->type_name("PERCENT");
  app.add_option("--dlroof_max_seconds", flags.stop.max_seconds,
                 "[s] of one benchmark's repetitions, beyond which only the number asked for are "
                 "made (default 2); 0: as many as asked for, noisy or not")
      ->check(CLI::NonNegativeNumber)
      ->type_name("SECONDS")
      ->default_str("");
  app.add_option_function<std::string>(
         "--dlroof_disturbed",
         [&](const std::string& choice) { flags.keep_noisy = choice == "keep"; },
         "repetitions during which other programs had the CPUs: replace (default), or keep: trust "
         "the clock, judge none")
      ->check(CLI::IsMember({"replace", "keep"}))
      ->type_name("CHOICE");
}

void AddOptions(CLI::App& app, BenchFlags& flags) {
  app.add_flag("--dlroof_explain", flags.explain,
               "watch the parallel regions of each call of the CPU, outside of its times: where "
               "the time goes is in the file, and dlroof explain FILE shows it");
  app.add_flag("--dlroof_instructions", flags.instructions,
               "with --dlroof_explain: count each call's instructions where no hardware does, by "
               "single steps or callgrind, in some 10 s");
  app.add_flag("--dlroof_energy", flags.energy,
               "measure the energy of a call in a pass of its own after all were timed, where the "
               "machine has counters (dlroof doctor): 1.5 s more per benchmark, 6 s on a GPU");
  app.add_option("--dlroof_meter_seconds", flags.meter_seconds,
                 "[s] repeat each call for so long after all were timed, and keep begin and end: "
                 "for a log of the node's meter (dlroof cluster gather --meter)")
      ->check(CLI::Range(1.0, 3600.0))
      ->type_name("SECONDS");
  app.add_option(
      "--dlroof_device", flags.device,
      "whose benchmarks run: auto (default: the CPU, and the first GPU where one can be "
      "used), cpu, gpu, gpu1 (the second GPU); with gpu, suites of the CPU are run there");
  app.add_option("--dlroof_machine", flags.machine_files,
                 "machine file to place results on, one per device, or a GPU's name as in dlroof "
                 "machine (default: cached, or measured now); none: results without roofs")
      ->take_all();
  app.add_option("--dlroof_live_check", flags.live_check,
                 "look at two of the stored ceilings first, a second's work, and measure all again "
                 "where they no longer hold (default true)");
  AddSuiteOptions(app, flags);
  app.add_option("--dlroof_threads", flags.threads,
                 "threads per benchmark (default: all CPUs allowed)")
      ->check(CLI::Range(1, 4096));
  app.add_option("--dlroof_seed", flags.seed, "seed of all input data (default 1)");
  app.add_option("--dlroof_html", flags.html_file, "also write the interactive page");
  app.add_flag("--dlroof_verbose,--verbose", flags.verbose,
               "name each unsupported benchmark; without it, a line for each reason");
  // Given by `dlroof run --ab` only, so --help does not list it.
  app.add_option("--dlroof_turns", flags.turns)->delimiter(',')->expected(2)->group("");
  AddRepetitionOptions(app, flags);
  AddCountingOptions(app, flags);
}

}  // namespace

void AddDefaultFlags(std::vector<std::string>& args) {
  if (BenchmarkFlag(args, "repetitions").empty()) args.emplace_back("--benchmark_repetitions=9");
  // 1.8 wants a unit, which 1.7 refuses.
  const bool unit = std::string(kGoogleBenchmarkVersion).rfind("1.7", 0) != 0;
  if (BenchmarkFlag(args, "min_time").empty())
    args.emplace_back(std::string("--benchmark_min_time=0.03") + (unit ? "s" : ""));
}

void ReadBenchmarkFlags(const std::vector<std::string>& args, BenchFlags& flags) {
  flags.filter = BenchmarkFlag(args, "filter");
  const std::set<std::string> off = {"false", "no", "off", "0"};
  for (const auto& arg : args)
    if (arg.starts_with("--benchmark_list_tests"))
      flags.lists_only = off.count(arg.substr(arg.find('=') + 1)) == 0;
  flags.min_seconds = Seconds(BenchmarkFlag(args, "min_time"));
  const auto repetitions = BenchmarkFlag(args, "repetitions");  // Google Benchmark refuses others
  std::from_chars(repetitions.data(), repetitions.data() + repetitions.size(), flags.repetitions);
  flags.display = FormatNamed(BenchmarkFlag(args, "format"), OutputFormat::kTable);
  flags.out_file = BenchmarkFlag(args, "out");
  flags.out_format = FormatNamed(BenchmarkFlag(args, "out_format"), OutputFormat::kJson);
}

std::optional<timing::StoppingRule> RuleFrom(const BenchFlags& flags) {
  // Google Benchmark's CSV would list what was skipped.
  const bool csv = flags.display == OutputFormat::kCsv ||
                   (flags.out_format == OutputFormat::kCsv && !flags.out_file.empty());
  if (flags.repetitions < 2 || flags.stop.max_seconds <= 0 || !flags.turns.empty() || csv)
    return std::nullopt;
  auto rule = flags.stop;
  rule.repetitions = flags.repetitions;
  return rule;
}

int OfferedRepetitions(const timing::StoppingRule& rule, const BenchFlags& flags) {
  constexpr double kMost = 1000, kLeastSeconds = 1e-3;
  const double in_time = rule.max_seconds / std::max(kLeastSeconds, flags.min_seconds.value_or(0));
  return rule.repetitions + static_cast<int>(std::min(in_time, kMost));
}

void ReadOwnFlags(const std::vector<std::string>& args, BenchFlags& flags) {
  CLI::App app;
  app.set_help_flag();
  AddOptions(app, flags);
  std::vector<std::string> reversed(args.rbegin(), args.rend());
  try {
    app.parse(reversed);
  } catch (const CLI::ParseError& error) {
    throw BadInput("flags: {}", error.what());
  }
  if (flags.energy && !flags.turns.empty())
    throw BadInput(
        "--dlroof_energy: two programs interleaved share the counters: measure the energy of each "
        "by itself");
  if (flags.meter_seconds && !flags.turns.empty())
    throw BadInput("--dlroof_meter_seconds: two programs interleaved share the node's meter");
}

bool KeptByFilter(const std::string& filter, const std::string& name) {
  if (filter.empty() || filter == "all") return true;
  const bool negative = filter.front() == '-';
  regex_t expression;
  if (regcomp(&expression, filter.c_str() + (negative ? 1 : 0), REG_EXTENDED | REG_NOSUB) != 0)
    return true;
  const bool found = regexec(&expression, name.c_str(), 0, nullptr, 0) == 0;
  regfree(&expression);
  return found != negative;
}

std::string OwnHelp() {
  CLI::App app("Flags of dlroof_bench beside Google Benchmark's:");
  app.set_help_flag();
  BenchFlags flags;
  AddOptions(app, flags);
  return app.help();
}

}  // namespace dlroof::runner
