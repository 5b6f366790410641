#include "counters/base/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <mutex>
#include <random>
#include <system_error>

#include "counters/base/error.h"

namespace dlroof {
namespace {

namespace fs = std::filesystem;

std::error_code SystemError() { return {errno, std::generic_category()}; }

// Writes an open file to the disk. Returns true for pipes and /dev/null too, which cannot be
// synchronized and need not be.
bool Synchronized(int fd) { return fsync(fd) == 0 || errno == EINVAL || errno == EROFS; }

std::error_code WriteTo(int fd, std::string_view text, OnDisk when) {
  std::FILE* file = fd < 0 ? nullptr : fdopen(fd, "wb");
  if (file == nullptr) return SystemError();
  std::error_code first;
  const auto note = [&](bool done) {
    if (!done && !first) first = SystemError();
  };
  note(std::fwrite(text.data(), 1, text.size(), file) == text.size());
  note(std::fflush(file) == 0);
  if (when == OnDisk::kNow) note(Synchronized(fileno(file)));
  note(std::fclose(file) == 0);
  return first;
}

std::error_code WriteInPlace(const fs::path& path, std::string_view text, OnDisk when) {
  return WriteTo(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666), text, when);
}

// Returns the regular file that a link leads to; of other paths the path itself. Does not follow
// links in /dev and /proc, which stand for open files.
fs::path Target(const fs::path& path) {
  std::error_code error;
  const auto absolute = fs::absolute(path, error).lexically_normal().string();
  if (!fs::is_symlink(path, error) || !fs::is_regular_file(path, error) ||
      absolute.starts_with("/dev/") || absolute.starts_with("/proc/"))
    return path;
  return fs::canonical(path, error);
}

// Returns whether the path is a regular file (no pipe, device or link) or does not exist.
bool CanBeReplaced(const fs::path& path) {
  std::error_code error;
  const auto kind = fs::symlink_status(path, error).type();
  return kind == fs::file_type::regular || kind == fs::file_type::not_found;
}

// Gives an open file the mode of the file `old`. Does nothing if `old` is missing or chmod fails.
void TakeMode(int fd, const fs::path& old) {
  struct stat facts = {};
  [[maybe_unused]] const bool taken =
      stat(old.c_str(), &facts) == 0 && fchmod(fd, facts.st_mode & 07777) == 0;
}

// Synchronizes the folder of `path`: only then does the file's name survive a power failure.
void SyncFolderOf(const fs::path& path) {
  const Descriptor folder(
      open(fs::absolute(path).parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.get() >= 0) fsync(folder.get());
}

// Writes a temporary file, then renames it to `path`. If the file system supports O_TMPFILE, the
// file has no name until it is complete, so that a killed program leaves no file; otherwise it has
// a random name. If `locked` is not null, locks the file before the renaming and stores a
// descriptor of it there.
std::error_code WriteAndRename(const fs::path& path, std::string_view text, OnDisk when,
                               Descriptor* locked = nullptr) {
  std::random_device random;
  const auto temporary = path.string() + fmt::format(".{:08x}{:08x}.tmp", random(), random());
  const auto folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  const Descriptor unnamed(open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666));
  const auto opened = fmt::format("/proc/self/fd/{}", unnamed.get());
  const bool has_name = access(opened.c_str(), F_OK) != 0;
  const int fd =
      has_name ? open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666)
               : fcntl(unnamed.get(), F_DUPFD_CLOEXEC, 0);
  if (fd < 0) return SystemError();
  TakeMode(fd, path);
  Descriptor lock(locked == nullptr ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 0));
  if (locked != nullptr) flock(fd, LOCK_EX | LOCK_NB);
  auto error = WriteTo(fd, text, when);
  if (!error && !has_name &&
      linkat(AT_FDCWD, opened.c_str(), AT_FDCWD, temporary.c_str(), AT_SYMLINK_FOLLOW) != 0)
    error = SystemError();
  if (!error) fs::rename(temporary, path, error);
  if (error)
    unlink(temporary.c_str());
  else if (when == OnDisk::kNow)
    SyncFolderOf(path);
  if (!error && locked != nullptr) *locked = std::move(lock);
  return error;
}

// Reads a file into `text`. Stops when the text has more than `most_bytes` bytes.
std::error_code ReadAll(const fs::path& path, std::uintmax_t most_bytes, std::string& text) {
  const Descriptor file(open(InputPath(path).c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) return SystemError();
  char buffer[1 << 16];
  while (text.size() <= most_bytes) {
    const auto got = read(file.get(), buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return SystemError();
    if (got == 0) break;
    text.append(buffer, static_cast<std::size_t>(got));
  }
  return {};
}

std::optional<fs::path> AbsolutePathIn(const char* variable) {
  const char* text = std::getenv(variable);
  if (text == nullptr || !fs::path(text).is_absolute()) return std::nullopt;
  return fs::path(text);
}

constexpr std::string_view kOurFolders = "dlroof.";  // prefix; in 1.x: "dlroof-", without locks

fs::path TemporaryFiles() {
  std::error_code error;
  auto path = fs::temp_directory_path(error);
  if (!error) return path;
  const char* named = std::getenv("TMPDIR");
  throw BadInput("{}: no folder for temporary files: {}; set TMPDIR to a writable folder",
                 named == nullptr ? "TMPDIR" : named, error.message());
}

// Opens and locks a folder. Returns no descriptor if the folder is not this user's, cannot be
// opened, or is locked by another process.
Descriptor LockedFolder(const fs::path& path) {
  Descriptor folder(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat facts = {};
  if (fstat(folder.get(), &facts) != 0 || facts.st_uid != geteuid() ||
      flock(folder.get(), LOCK_EX | LOCK_NB) != 0)
    return Descriptor();
  return folder;
}

// Removes the folders that killed processes left: no process has locked these.
void RemoveStaleFolders(const fs::path& where) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(where, ignored))
    if (entry.path().filename().string().starts_with(kOurFolders))
      if (const auto lock = LockedFolder(entry.path()); lock.get() >= 0)
        fs::remove_all(entry.path(), ignored);
}

}  // namespace

void WriteFile(const fs::path& to, std::string_view text, OnDisk when) {
  const auto path = Target(to);
  const bool plain = CanBeReplaced(path);
  auto error = plain ? WriteAndRename(path, text, when) : WriteInPlace(path, text, when);
  // rename cannot replace a mount point.
  if (plain && error == std::errc::device_or_resource_busy) error = WriteInPlace(path, text, when);
  if (error) throw BadInput("{}: cannot be written: {}", to.string(), error.message());
}

void ReplaceFile(const fs::path& path, std::string_view text, OnDisk when) {
  if (const auto error = WriteAndRename(path, text, when))
    throw BadInput("{}: cannot be written: {}", path.string(), error.message());
}

void LockForWriting(int fd, const std::string& path) {
  if (flock(fd, LOCK_EX | LOCK_NB) == 0) return;
  // Finds the lock's owner, 1234 in "1: FLOCK ADVISORY WRITE 1234 fe:00:5678 0 EOF".
  struct stat facts = {};
  std::ifstream locks("/proc/locks");
  for (std::string line; fstat(fd, &facts) == 0 && std::getline(locks, line);) {
    const auto inode = line.find(fmt::format(":{} ", facts.st_ino));
    const auto device = line.rfind(' ', inode), id = line.rfind(' ', device - 1);
    if (inode != line.npos && line.find("FLOCK") != line.npos)
      throw BadInput("{}: the process {} is writing it", path,
                     line.substr(id + 1, device - id - 1));
  }
  throw BadInput("{}: another process is writing it", path);
}

PartFile::PartFile(const fs::path& path) : path_(Target(path)), part_(path_.string() + ".part") {
  std::error_code error;
  if (fs::is_directory(path_, error))
    throw BadInput("{}: cannot be written: Is a directory", path.string());
  if (!CanBeReplaced(path_)) {
    part_ = path.string();
    return;
  }
  for (struct stat open_one = {}, named = {};;) {
    file_ = Descriptor(
        open(part_.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666));
    if (file_.get() < 0 && errno != ELOOP)
      throw BadInput("{}: cannot be written: {}", path.string(), std::strerror(errno));
    if (fstat(file_.get(), &open_one) != 0 || !S_ISREG(open_one.st_mode))
      throw BadInput("{}: expected a regular file, or none", part_);
    LockForWriting(file_.get(), path.string());
    // Tries again if another process has renamed or removed the file before it was locked.
    if (lstat(part_.c_str(), &named) == 0 && named.st_ino == open_one.st_ino) return;
  }
}

PartFile::~PartFile() {
  if (IsEmpty()) unlink(part_.c_str());
}

bool PartFile::IsEmpty() const {
  struct stat facts = {};
  return file_.get() >= 0 && fstat(file_.get(), &facts) == 0 && facts.st_size == 0;
}

void PartFile::Write(std::string_view text) {
  if (file_.get() < 0) return WriteFile(path_, text);
  if (const auto error = WriteAndRename(part_, text, OnDisk::kLater, &file_))
    throw BadInput("{}: cannot be written: {}", part_, error.message());
}

void PartFile::End(bool complete, std::ostream& log) {
  if (complete) return Replace();
  if (file_.get() >= 0 && !IsEmpty())
    log << fmt::format("interrupted: the results so far are in {}\n", part_);
}

void PartFile::Replace() {
  if (file_.get() < 0 || IsEmpty()) return;
  TakeMode(file_.get(), path_);
  if (!Synchronized(file_.get()))
    throw BadInput("{}: cannot be written: {}", part_, std::strerror(errno));
  if (rename(part_.c_str(), path_.c_str()) != 0) {  // for example, a mount point
    WriteFile(path_, ReadFile(part_, "results"), OnDisk::kNow);
    unlink(part_.c_str());
  }
  SyncFolderOf(path_);
  file_ = Descriptor();
}

std::string ReadFile(const fs::path& path, std::string_view expected, std::uintmax_t most_bytes) {
  std::string text;
  if (const auto error = ReadAll(path, most_bytes, text))
    throw BadInput("{}: cannot be read: {}; expected {}", path.string(), error.message(), expected);
  if (text.size() > most_bytes)
    throw BadInput("{}: has more than {} bytes; expected {}", path.string(), most_bytes, expected);
  return text;
}

void RefuseInputs(const std::vector<std::string>& outputs, const std::vector<std::string>& inputs) {
  std::error_code error;
  for (const auto& output : outputs)
    for (const auto& input : inputs)
      if (std::filesystem::equivalent(output, input, error))
        throw BadInput("-o {}: this file is read, too; expected another one", output);
}

std::string ReadFileIfAny(const fs::path& path) {
  std::string text;
  std::error_code none;
  return fs::is_regular_file(path, none) && !ReadAll(path, kMaxReadBytes, text) ? text : "";
}

std::optional<fs::path> CacheDirectory() {
  if (const auto cache = AbsolutePathIn("XDG_CACHE_HOME")) return *cache / "dlroof";
  if (const auto home = AbsolutePathIn("HOME")) return *home / ".cache" / "dlroof";
  return std::nullopt;
}

TemporaryFolder::TemporaryFolder() {
  const auto where = TemporaryFiles();
  static std::once_flag removed;
  std::call_once(removed, RemoveStaleFolders, where);
  do {
    path_ = (where / kOurFolders).string() + std::string(6, 'X');  // mkdtemp replaces the Xs
    if (mkdtemp(path_.data()) == nullptr)
      throw BadInput(
          "{}: this temporary folder cannot be made: {}; set TMPDIR to a writable folder", path_,
          std::strerror(errno));
    lock_ = LockedFolder(path_);
    // Another process's RemoveStaleFolders may have found the folder before it was locked.
  } while ((lock_.get() < 0 && errno == EWOULDBLOCK) || !fs::exists(path_));
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace dlroof
