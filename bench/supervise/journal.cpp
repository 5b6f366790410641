#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <numeric>
#include <random>
#include <sstream>

#include "bench/supervise/supervised_program.h"
#include "counters/base/files.h"
#include "counters/base/json_members.h"
#include "counters/base/json_text.h"
#include "counters/base/keys.h"

namespace dlroof::supervise {

void Members(auto& all, ListedPair& pair) {
  all(Required("new", pair.contender), Field("base", pair.base));
}
// Lists the members of JournalHeader except `seed`, which must not be rounded to a double.
void Members(auto& all, JournalHeader& header) {
  all(Required("programs", header.programs), Required("builds", header.builds),
      Required("arguments", header.arguments), Required("settings", header.settings),
      Required("benchmarks", header.benchmarks), Required("id", header.id),
      Field("plain", header.plain));
}
void Members(auto& all, Outcome& outcome) {
  all(Field("failed", outcome.failure), Field("result", outcome.result));
}
void Members(auto& all, JournalEntry& entry) {
  all(Required("benchmark", entry.benchmark), Required("block", entry.block),
      Required("seconds", entry.seconds), Required("outcomes", entry.outcomes));
}

namespace {

using nlohmann::json;

constexpr int kVersion = 1;
constexpr const char* kNoJournal = ": not the journal of a run";
constexpr const char* kBegin = R"({"dlroof_journal":)";  // of a journal: its first member

std::string Line(const json& object) {
  // Replaces invalid UTF-8, which a program's error messages may contain.
  return object.dump(-1, ' ', false, json::error_handler_t::replace) + '\n';
}

JournalHeader HeaderFrom(const JsonReader& at) {
  at.Schema("dlroof_journal", kVersion);
  auto header = FromMembers<JournalHeader>(at);
  const json seed = at.json().value("seed", json());
  if (!seed.is_number_unsigned()) at.Refuse("seed", "a whole number");
  header.seed = seed.get<std::uint64_t>();
  if (!header.plain.empty() && header.plain.size() != header.programs.size())
    at.Refuse("plain", "true or false for each program");
  if (header.programs.empty() || header.programs.size() > 2) at.Refuse("programs", "one or two");
  return header;
}

void ReadLine(const std::string& line, const std::string& where, Journal& journal) {
  RefuseDeepJson(line, where);
  const json object = json::parse(line, nullptr, false);
  if (!object.is_object()) throw BadInput(where + ": not a line of a run's journal");
  const JsonReader at(object, where);
  if (!journal.header) {
    if (!at.Has("dlroof_journal")) throw BadInput(where + kNoJournal);
    journal.header = HeaderFrom(at);
  } else if (at.Has("machines")) {
    journal.machines = at.Array("machines");
    for (std::size_t i = 0; i < journal.machines.size(); ++i) at.Item("machines", i).Text("device");
  } else {
    const auto& entry = journal.entries.emplace_back(FromMembers<JournalEntry>(at));
    if (entry.outcomes.size() != journal.header->programs.size())
      at.Refuse("outcomes", "one of each program");
  }
}

[[noreturn]] void RefuseFile(const std::string& path) {
  throw BadInput("{}: cannot be written: {}", path, std::strerror(errno));
}

void WriteAll(int fd, const std::string& text, const std::string& path) {
  for (std::size_t done = 0; done < text.size();) {
    const auto written = write(fd, text.data() + done, text.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) RefuseFile(path);
    done += static_cast<std::size_t>(written);
  }
  // fsync fails for pipes and /dev/null (EINVAL, EROFS), which do not need it.
  if (fsync(fd) != 0 && errno != EINVAL && errno != EROFS) RefuseFile(path);
}

// Writes a file's folder to the disk: otherwise a loss of power may remove the name of a new file.
void SyncFolderOf(const std::string& path) {
  const auto folder = std::filesystem::absolute(path).parent_path();
  const Descriptor opened(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (opened.get() >= 0) fsync(opened.get());
}

}  // namespace

std::string JournalLine(const JournalHeader& header) {
  auto object = MembersJson(header);
  object["seed"] = header.seed;
  if (std::ranges::count(header.plain, true) == 0) object.erase("plain");
  return fmt::format("{}{},{}", kBegin, kVersion, Line(object).substr(1));
}

std::string JournalLine(const json& machines) { return Line({{"machines", machines}}); }

std::string JournalLine(const JournalEntry& entry) { return Line(MembersJson(entry)); }

Journal ParseJournal(const std::string& text, const std::string& where) {
  Journal journal;
  int number = 0;
  for (std::size_t end = 0; (end = text.find('\n', journal.complete_bytes)) != std::string::npos;) {
    ReadLine(text.substr(journal.complete_bytes, end - journal.complete_bytes),
             fmt::format("{}:{}", where, ++number), journal);
    journal.complete_bytes = end + 1;
  }
  return journal;
}

JournalFile::JournalFile(const std::string& path)
    : path_(path),
      file_(open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0644)) {
  if (file_.get() < 0) RefuseFile(path);
  LockForWriting(file_.get(), path);
  const auto text = ReadFileIfAny(path);
  // A killed run may have left an incomplete first line. It is removed only if it is certainly that
  // of a journal. Journals of dlroof 2.0.0 begin with "arguments".
  const bool old = text.starts_with(R"({"arguments":[)") && text.find('\n') != std::string::npos;
  if (!text.empty() && !text.starts_with(kBegin) && !old) throw BadInput(path + kNoJournal);
  found_ = ParseJournal(text, path);
  if (ftruncate(file_.get(), static_cast<off_t>(found_.complete_bytes)) != 0) RefuseFile(path);
  SyncFolderOf(path);
}

void JournalFile::Append(const std::string& line) { WriteAll(file_.get(), line, path_); }

void JournalFile::Remove() { unlink(path_.c_str()); }

namespace {

const Part* FailureIn(const std::vector<Part>& parts) {
  return FindIf(parts, [](const Part& part) { return part.failure.has_value(); });
}

// Returns the entry that Google Benchmark writes for a failed benchmark.
json FailedEntry(const std::string& listed, const std::string& reason) {
  return {{"name", listed},         {"run_name", listed},     {"run_type", "iteration"},
          {"repetitions", 1},       {"repetition_index", 0},  {"threads", 1},
          {"error_occurred", true}, {"error_message", reason}};
}

bool IsRepetition(const json& entry) {
  const auto type = record::Text(entry, "run_type");
  return type.empty() || type == "iteration";
}

// Returns the entries of all blocks' windows, without aggregates and settling repetitions.
json EntriesOfBlocks(const std::vector<Part>& parts) {
  json entries = json::array();
  for (const auto& part : parts) {
    std::size_t seen = 0;
    for (const auto& entry : part.benchmarks)
      if (IsRepetition(entry) && ++seen > part.settling) entries.push_back(entry);
  }
  for (std::size_t i = 0; i < entries.size(); ++i) {
    entries[i]["repetitions"] = entries.size();
    entries[i]["repetition_index"] = i;
  }
  return entries;
}

json EntriesOf(const std::string& listed, const std::vector<Part>& parts,
               const record::Record& record) {
  if (FailureIn(parts)) return json::array({FailedEntry(listed, record.reason)});
  return parts.front().block && record.status == record::Status::kOk ? EntriesOfBlocks(parts)
                                                                     : parts.front().benchmarks;
}

// Returns whether noisy repetitions are to be marked: not with --dlroof_disturbed=keep, and not for
// programs without dlroof, which report wall times only.
bool TellsNoisy(const json& context) {
  const auto& ours = record::Member(context, "dlroof");
  return ours.is_object() && record::Text(ours, "disturbed") != "keep";
}

}  // namespace

Part PartFrom(const std::string& listed, const Outcome& outcome, std::optional<int> block,
              bool plain) {
  return std::move(PartsFrom({listed}, outcome, block, plain).front());
}

std::vector<Part> PartsFrom(const std::vector<std::string>& listed, const Outcome& outcome,
                            std::optional<int> block, bool plain) {
  std::optional<record::RunFile> run;
  auto failure = outcome.failure;
  std::ostringstream warnings;
  if (!failure) try {
      run = record::ParseRunFile(JsonText(outcome.result), "its run file", warnings);
    } catch (const std::exception& error) {
      failure = Reason{error.what()};
    }
  std::vector<Part> parts;
  for (const auto& name : listed) {
    auto& part = parts.emplace_back(Part{.name = plain ? name : record::BareName(name),
                                         .block = block,
                                         .settling = block ? kSettlingRepetitions : 0,
                                         .failure = failure});
    if (!run) continue;
    const auto found = std::ranges::find(run->records, part.name, &record::Record::name);
    if (found == run->records.end()) {
      part.failure = Reason{"the process succeeded, but left no result of this benchmark"};
      continue;
    }
    part.record = *found;
    part.context = run->context;
    part.benchmarks = json::array();
    for (const auto& entry : record::Member(outcome.result, "benchmarks"))
      if (entry.is_object()) part.benchmarks.push_back(entry);
  }
  return parts;
}

record::Record RecordOf(const std::string& listed, const std::vector<Part>& parts) {
  if (const auto* part = FailureIn(parts)) {
    record::Record failed{.name = part->name.empty() ? record::BareName(listed) : part->name};
    record::SplitName(failed);
    failed.status = record::Status::kFailed;
    failed.reason = part->failure->text;
    return failed;
  }
  for (const auto& part : parts)
    if (!part.block || part.record.status != record::Status::kOk) return part.record;
  record::Record record = parts.front().record;
  record.reason.clear();
  record.repetitions.clear();
  for (const auto& part : parts) {
    const auto& windows = part.record.repetitions;
    for (std::size_t i = part.settling; i < windows.size(); ++i) {
      record.repetitions.push_back(windows[i]);
      record.repetitions.back().block = part.block;
    }
  }
  // Marks noisy windows now: they are so short that only a comparison of all windows shows noise.
  if (parts.front().settling > 0 && TellsNoisy(parts.front().context))
    record::MarkNoisy(record.repetitions);
  return record;
}

Merged MergedRun(const std::vector<Supervised>& supervised, const json& machines,
                 const json& about) {
  record::RunFile run;
  if (machines.is_array())
    for (const auto& machine : machines)
      run.machines.push_back(machine::MachineFromJson(machine, "machine"));
  json entries = json::array();
  for (std::size_t i = 0; i < supervised.size(); ++i) {
    const auto& [listed, parts] = supervised[i];
    for (const auto& part : parts)
      if (run.context.empty() && part.context.is_object()) run.context = part.context;
    run.records.push_back(RecordOf(listed, parts));
    for (json& entry : EntriesOf(listed, parts, run.records.back())) {
      entry["family_index"] = i;
      entries.push_back(std::move(entry));
    }
  }
  json& context = run.context["dlroof"];
  if (!context.is_object()) context = json::object();
  context["schema"] = record::kSchema;
  context.update(about);
  return {roofline::PlaceRun(std::move(run)), std::move(entries)};
}

json ToJson(const Merged& merged) {
  json file = roofline::ToJson(merged.run);
  file["benchmarks"] = merged.benchmarks;
  return file;
}

std::vector<bool> DrawBaseFirst(std::size_t count, std::uint64_t seed, std::uint64_t stream) {
  std::seed_seq both{seed, seed >> 32, stream, stream >> 32};
  std::mt19937_64 engine(both);
  std::vector<bool> base_first(count);
  for (std::size_t i = 0; i < count; ++i) base_first[i] = (engine() >> 40) % 2 == 0;
  return base_first;
}

std::string LeftText(const std::vector<double>& seconds, double left, double most) {
  const double sum = std::accumulate(seconds.begin(), seconds.end(), 0.0);
  const auto rounded = static_cast<long long>(
      std::llround(std::min(left * sum / static_cast<double>(seconds.size()), most)));
  if (rounded < 60) return fmt::format("{} s", rounded);
  if (rounded < 3600) return fmt::format("{} min {} s", rounded / 60, rounded % 60);
  return fmt::format("{} h {} min", rounded / 3600, rounded % 3600 / 60);
}

}  // namespace dlroof::supervise
