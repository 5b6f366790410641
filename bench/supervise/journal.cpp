#include "bench/supervise/journal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "counters/base/error.h"
#include "counters/base/files.h"
#include "counters/base/json_reader.h"

namespace dlroof::supervise {
namespace {

using nlohmann::json;

constexpr int kVersion = 1;

std::string Line(const json& object) {
  // Foreign programs may have said anything on stderr.
  return object.dump(-1, ' ', false, json::error_handler_t::replace) + '\n';
}

json ToJson(const ListedPair& pair) {
  json object = {{"new", pair.fresh}};
  if (!pair.base.empty()) object["base"] = pair.base;
  return object;
}

ListedPair PairFrom(const JsonReader& at) { return {at.TextOr("base", ""), at.Text("new")}; }

json ToJson(const Outcome& outcome) {
  if (!outcome.failed.empty()) return {{"failed", outcome.failed}};
  return {{"result", outcome.result}};
}

std::vector<std::string> Texts(const JsonReader& at, const char* key) {
  std::vector<std::string> texts;
  for (const auto& text : at.Array(key)) {
    if (!text.is_string()) at.Refuse(key, "texts");
    texts.push_back(text.get<std::string>());
  }
  return texts;
}

JournalHeader HeaderFrom(const JsonReader& at) {
  at.Schema("dlroof_journal", kVersion);
  JournalHeader header{.programs = Texts(at, "programs"),
                       .builds = Texts(at, "builds"),
                       .arguments = Texts(at, "arguments"),
                       .settings = Texts(at, "settings"),
                       .id = at.Text("id")};
  const json& seed = at.json().at("seed");
  if (!seed.is_number_unsigned()) at.Refuse("seed", "a whole number");
  header.seed = seed.get<std::uint64_t>();
  for (std::size_t i = 0; i < at.Array("benchmarks").size(); ++i)
    header.benchmarks.push_back(PairFrom(at.Item("benchmarks", i)));
  if (header.programs.empty() || header.programs.size() > 2) at.Refuse("programs", "one or two");
  return header;
}

JournalEntry EntryFrom(const JsonReader& at, std::size_t programs) {
  JournalEntry entry{.benchmark = PairFrom(at.Object("benchmark")),
                     .block = static_cast<int>(at.Number("block")),
                     .seconds = at.Number("seconds")};
  for (std::size_t i = 0; i < at.Array("outcomes").size(); ++i) {
    const JsonReader outcome = at.Item("outcomes", i);
    entry.outcomes.push_back({outcome.TextOr("failed", ""), {}});
    if (outcome.Has("result")) entry.outcomes.back().result = outcome.Object("result").json();
  }
  if (entry.outcomes.size() != programs) at.Refuse("outcomes", "one of each program");
  return entry;
}

void ReadLine(const std::string& line, const std::string& where, Journal& journal) {
  const json object = json::parse(line, nullptr, false);
  if (!object.is_object()) throw BadInput(where + ": not a line of a run's journal");
  const JsonReader at(object, where);
  if (!journal.header) {
    if (!at.Has("dlroof_journal")) throw BadInput(where + ": not the journal of a run");
    if (!at.Has("seed")) at.Refuse("seed", "a whole number");
    journal.header = HeaderFrom(at);
  } else if (at.Has("machines")) {
    journal.machines = at.Array("machines");
  } else {
    journal.entries.push_back(EntryFrom(at, journal.header->programs.size()));
  }
}

[[noreturn]] void RefuseFile(const std::string& path, const char* what) {
  throw BadInput("{}: {}: {}", path, what, std::strerror(errno));
}

void WriteAll(int fd, const std::string& text, const std::string& path) {
  for (std::size_t done = 0; done < text.size();) {
    const auto written = write(fd, text.data() + done, text.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) RefuseFile(path, "cannot be written");
    done += static_cast<std::size_t>(written);
  }
  // A pipe or /dev/null cannot be synchronized, and need not be.
  if (fsync(fd) != 0 && errno != EINVAL && errno != EROFS) RefuseFile(path, "cannot be written");
}

// The name itself survives a loss of power only when its folder is on disk.
void SyncFolderOf(const std::string& path) {
  const auto folder = std::filesystem::absolute(path).parent_path();
  const Descriptor opened(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (opened.get() >= 0) fsync(opened.get());
}

}  // namespace

std::string JournalLine(const JournalHeader& header) {
  json object = {{"dlroof_journal", kVersion},  {"programs", header.programs},
                 {"builds", header.builds},     {"arguments", header.arguments},
                 {"settings", header.settings}, {"seed", header.seed},
                 {"benchmarks", json::array()}, {"id", header.id}};
  for (const auto& pair : header.benchmarks) object["benchmarks"].push_back(ToJson(pair));
  return Line(object);
}

std::string JournalLine(const json& machines) { return Line({{"machines", machines}}); }

std::string JournalLine(const JournalEntry& entry) {
  json object = {{"benchmark", ToJson(entry.benchmark)},
                 {"block", entry.block},
                 {"seconds", entry.seconds},
                 {"outcomes", json::array()}};
  for (const auto& outcome : entry.outcomes) object["outcomes"].push_back(ToJson(outcome));
  return Line(object);
}

Journal ParseJournal(const std::string& text, const std::string& where) {
  Journal journal;
  int number = 0;
  for (std::size_t end = 0; (end = text.find('\n', journal.whole_bytes)) != std::string::npos;) {
    ReadLine(text.substr(journal.whole_bytes, end - journal.whole_bytes),
             fmt::format("{}:{}", where, ++number), journal);
    journal.whole_bytes = end + 1;
  }
  return journal;
}

JournalFile::JournalFile(const std::string& path)
    : path_(path), file_(open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644)) {
  if (file_.get() < 0) RefuseFile(path, "cannot be written");
  if (flock(file_.get(), LOCK_EX | LOCK_NB) != 0)
    throw BadInput(path + ": another run is writing it");
  found_ = ParseJournal(ReadFileIfAny(path), path);
  if (ftruncate(file_.get(), static_cast<off_t>(found_.whole_bytes)) != 0)
    RefuseFile(path, "cannot be written");
  SyncFolderOf(path);
}

void JournalFile::Append(const std::string& line) { WriteAll(file_.get(), line, path_); }

void JournalFile::Remove() { unlink(path_.c_str()); }

}  // namespace dlroof::supervise
