// What the supervisor needs of dlroof_bench: command lines, results and interleaved processes.
#pragma once

#include <cmath>
#include <cstdint>
#include <iosfwd>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "ceilings/machine/rate.h"
#include "counters/base/error.h"
#include "counters/base/files.h"
#include "counters/base/process.h"
#include "reporters/roofline/placed_run.h"

// The journal of a supervised run: the request and every result, one JSON line each. A killed run
// resumes from its journal. MergedRun joins the run files of single processes.
namespace dlroof::supervise {

// A benchmark, by its names in the output of the programs' --benchmark_list_tests.
struct ListedPair {
  std::optional<std::string> base;  // name in BASE, in runs of two programs
  std::string contender;            // name in NEW, or in the only program

  bool operator==(const ListedPair&) const = default;
};

// The first line of a journal.
struct JournalHeader {
  std::vector<std::string> programs;   // paths: of one program, or of BASE and NEW
  std::vector<std::string> builds;     // BuildOf() of each program
  std::vector<std::string> arguments;  // for the programs
  std::vector<std::string> settings;   // other settings that influence results
  std::vector<ListedPair> benchmarks;  // in the order of the run file
  std::uint64_t seed = 0;              // of the random order of the benchmarks
  // For each program, whether it is a Google Benchmark program without dlroof; empty: none is.
  std::vector<bool> plain;
  std::string id;  // identifies this run

  bool operator==(const JournalHeader&) const = default;
};

// The result of one process for one benchmark.
struct Outcome {
  std::optional<Reason> failure;  // why there is no result
  nlohmann::json result;          // the process's run file without its machines

  bool operator==(const Outcome&) const = default;
};

// A finished benchmark, or one block of it.
struct JournalEntry {
  ListedPair benchmark;
  int block = 0;                  // number of the block or process, from 0
  double seconds = 0;             // [s] duration of the measurement
  std::vector<Outcome> outcomes;  // one, or BASE's and NEW's

  bool operator==(const JournalEntry&) const = default;
};

// Return the argument as a line of the journal, with its newline.
std::string JournalLine(const JournalHeader& header);
std::string JournalLine(const nlohmann::json& machines);
std::string JournalLine(const JournalEntry& entry);

struct Journal {
  std::optional<JournalHeader> header;  // absent if a kill left no complete line
  nlohmann::json machines;              // a JSON array; null while no result has machines
  std::vector<JournalEntry> entries;
  std::size_t complete_bytes = 0;  // [byte] size of all complete lines
};

// Parses the text of a journal. Ignores an incomplete last line. Throws BadInput for an invalid
// line and for a journal of a newer version; the message begins with `where`.
Journal ParseJournal(const std::string& text, const std::string& where);

// The journal on disk. Appended lines survive a kill of this process and a crash of the machine.
class JournalFile {
 public:
  // Opens or creates the file, reads it and removes an incomplete last line. Throws BadInput if the
  // file cannot be opened, is open in another process, or is not a valid journal.
  explicit JournalFile(const std::string& path);

  const std::string& path() const { return path_; }
  // Returns the content that the file had when it was opened.
  const Journal& found() const { return found_; }

  // Writes the line to the disk before it returns. Throws BadInput if the disk is full.
  void Append(const std::string& line);
  void Remove();

 private:
  std::string path_;
  Descriptor file_;
  Journal found_;
};

// [1] Number of repetitions that each process of an interleaved comparison runs before the measured
// windows (see InterleavedProcess::Settle). Results do not contain them.
inline constexpr std::size_t kSettlingRepetitions = 2;

// The result of one process for one benchmark: of a whole run, or a block of an interleaved run.
struct Part {
  std::string name;  // name of the record
  // For record::Repetition::block: number of the block (interleaved runs) or of the process
  // (several processes per benchmark); absent for one process per benchmark.
  std::optional<int> block;
  std::size_t settling = 0;       // [1] number of first repetitions, which are not used
  std::optional<Reason> failure;  // why the members below are empty
  nlohmann::json context;         // "context" of the process's run file
  nlohmann::json benchmarks;      // Google Benchmark's entries
  record::Record record;
};

// Returns the result of a process for the benchmark (or benchmarks) that the program lists as
// `listed`. A part has failed if the process's run file has no record of its benchmark. `plain`: a
// Google Benchmark program without dlroof, whose records have the names that it lists.
Part PartFrom(const std::string& listed, const Outcome& outcome, std::optional<int> block,
              bool plain = false);
std::vector<Part> PartsFrom(const std::vector<std::string>& listed, const Outcome& outcome,
                            std::optional<int> block, bool plain = false);

// Joins a benchmark's parts (at least one) to a record with the repetitions of all parts, each with
// its block number. Marks noisy windows of blocks. If a part has failed, the record has failed.
record::Record RecordOf(const std::string& listed, const std::vector<Part>& parts);

struct Supervised {
  std::string listed;
  std::vector<Part> parts;
};

struct Merged {
  roofline::PlacedRun run;
  nlohmann::json benchmarks;  // Google Benchmark's entries
};

// Merges all results as if of one process. The run has `machines` (a JSON array, or null), the
// first part's context, and all records and entries. Merges `about` into context.dlroof.
Merged MergedRun(const std::vector<Supervised>& supervised, const nlohmann::json& machines,
                 const nlohmann::json& about);

nlohmann::json ToJson(const Merged& merged);

// Draws whether BASE comes first in each of `count` windows. `stream`: number of the block.
std::vector<bool> DrawBaseFirst(std::size_t count, std::uint64_t seed, std::uint64_t stream);

// Returns the estimated remaining time as text ("3 s", "2 min 10 s", "1 h 5 min"): `left` times the
// mean of `seconds`, which must not be empty, but not more than `most` [s].
std::string LeftText(const std::vector<double>& seconds, double left, double most = HUGE_VAL);

// Returns the last `count` lines of a text that are not blank, joined by `separator`.
std::string LastLines(const std::string& text, std::size_t count, const char* separator);

// Returns `specified`, the path that the user chose, or the dlroof_bench beside this executable.
std::string BenchProgram(const std::optional<std::string>& specified = std::nullopt);

// Throws BadInput for flags that the supervisor sets itself, such as --benchmark_out.
void CheckArguments(const std::vector<std::string>& arguments);

// Returns VALUE of the last argument --NAME=VALUE, or nullopt if there is none.
std::optional<std::string> FlagValue(const std::vector<std::string>& arguments,
                                     const std::string& name);

// Returns size and modification time of the program's file as text, which identify a build. Throws
// BadInput if the file does not exist.
std::string BuildOf(const std::string& program);

struct ListedBenchmarks {
  std::vector<std::string> names;  // without duplicates
  bool plain = false;              // a Google Benchmark program without dlroof
};

// Runs `program` to list its benchmarks. Throws BadInput if the list is empty or the program fails;
// the message contains the program's last messages.
ListedBenchmarks ListBenchmarks(const std::string& program,
                                const std::vector<std::string>& arguments,
                                const TemporaryFolder& folder);

// Returns the --benchmark_filter for the one benchmark that the program lists as `listed`.
std::string ExactFilter(const std::string& listed);

// Returns the thread counts up to `allowed` (the number of CPUs) for which the benchmarks need
// ceilings: 1, --dlroof_threads or else `allowed`, and those in benchmark names.
std::vector<int> ThreadsOf(const std::vector<std::string>& listed,
                           const std::vector<std::string>& arguments, int allowed);

// The files that one process writes.
struct ProcessPaths {
  std::string run_file, out, err;
};
ProcessPaths PathsIn(const TemporaryFolder& folder, const std::string& process);

// Returns the command line that measures the benchmark `listed`. `plain`: without dlroof's flags.
std::vector<std::string> CommandFor(const std::string& program,
                                    const std::vector<std::string>& arguments,
                                    const std::string& listed,
                                    const std::optional<std::string>& machine_file,
                                    const ProcessPaths& paths, bool plain = false);

// Reads the result of a process. `end`: nullopt if the process was killed after `timeout_seconds`.
// If `machines` is null, copies the run file's machines to it.
Outcome OutcomeOf(const std::optional<ProcessEnd>& end, double timeout_seconds,
                  const ProcessPaths& paths, nlohmann::json& machines);

// A run of dlroof_bench that measures the named benchmarks.
struct NamedRunRequest {
  std::string command;                      // the dlroof command, for messages: "explain"
  std::vector<std::string> names;           // names of benchmarks
  std::optional<std::string> bench = {};    // path of dlroof_bench; absent: BenchProgram finds it
  std::optional<std::string> machine = {};  // machine file; absent: this machine's ceilings
  std::optional<std::string> output = {};   // run file to write; absent: a temporary one
  std::vector<std::string> arguments = {};  // further arguments for dlroof_bench
};

// Measures the benchmarks with --dlroof_explain. Announces the run in `log` and shows its progress
// there (machine::ProgressPrinter). Returns the run, or nullopt after an interrupt
// (StopOnInterrupt). Throws BadInput for an invalid benchmark name and if dlroof_bench fails.
std::optional<record::RunFile> MeasureExplained(const NamedRunRequest& request, std::ostream& log);

// Number of windows (timed repetitions) of each program in one block.
inline constexpr int kWindows = 5;

// Returns the flags that set the number and length of an interleaved process's windows. A window is
// so short that most slow periods of a shared machine affect both programs, and so long that
// switching processes (refilling caches, waking threads) costs little. Blocks are short because the
// precision depends on their number. `brief`: shorter windows, for processes that do not alternate
// by window: those of plain programs and of tuning on a GPU.
std::vector<std::string> WindowFlags(bool brief = false);

// A process of dlroof_bench that is stopped (SIGSTOP) except while it measures a window. This class
// is the supervisor's side of the protocol of runner::TurnClient.
class InterleavedProcess {
 public:
  // Starts `command`, which runs one benchmark, with WindowFlags() appended. Each answer of the
  // process may take `timeout_seconds` [s].
  InterleavedProcess(std::vector<std::string> command, ProcessPaths paths, double timeout_seconds,
                     const Variables& variables = {});

  // Returns whether the process has answered every request in time. If not, Turn does nothing.
  bool answers() const { return answers_; }
  // Waits until the process is ready to measure.
  void Ready();
  // Lets the process run repetitions until two in a row have the same number of iterations.
  void Settle();
  // Lets the process measure one window.
  void Turn();
  // Waits for the end of the process. Returns nullopt if it does not end in time.
  std::optional<ProcessEnd> End();

  const ProcessPaths& paths() const { return paths_; }

 private:
  ProcessPaths paths_;
  double timeout_seconds_;
  bool answers_ = true;
  std::string iterations_;  // of the last window, as the process reported
  std::unique_ptr<WatchedProcess> process_;
};

}  // namespace dlroof::supervise
