#include "bench/supervise/journal_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "counters/base/error.h"
#include "counters/base/files.h"

namespace dlroof {
namespace {

[[noreturn]] void Refuse(const std::string& path, const char* what) {
  throw BadInput("{}: {}: {}", path, what, std::strerror(errno));
}

void WriteAll(int fd, const std::string& text, const std::string& path) {
  for (std::size_t done = 0; done < text.size();) {
    const auto written = write(fd, text.data() + done, text.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) Refuse(path, "cannot be written");
    done += static_cast<std::size_t>(written);
  }
  // A pipe or /dev/null cannot be synchronized, and need not be.
  if (fsync(fd) != 0 && errno != EINVAL && errno != EROFS) Refuse(path, "cannot be written");
}

// The name itself survives a loss of power only when its folder is on disk.
void SyncFolderOf(const std::string& path) {
  const auto folder = std::filesystem::absolute(path).parent_path();
  const Descriptor opened(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (opened.get() >= 0) fsync(opened.get());
}

}  // namespace

JournalFile::JournalFile(const std::string& path)
    : path_(path), file_(open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644)) {
  if (file_.get() < 0) Refuse(path, "cannot be written");
  if (flock(file_.get(), LOCK_EX | LOCK_NB) != 0)
    throw BadInput(path + ": another run is writing it");
  found_ = ParseJournal(ReadFileIfAny(path), path);
  if (ftruncate(file_.get(), static_cast<off_t>(found_.whole_bytes)) != 0)
    Refuse(path, "cannot be written");
  SyncFolderOf(path);
}

void JournalFile::Append(const std::string& line) { WriteAll(file_.get(), line, path_); }

void JournalFile::Remove() { unlink(path_.c_str()); }

}  // namespace dlroof
