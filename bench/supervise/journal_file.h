// The journal on disk. Appended lines survive a kill of this program and of the machine.
#pragma once

#include <string>

#include "bench/supervise/journal.h"
#include "counters/base/process.h"

namespace dlroof {

class JournalFile {
 public:
  // Opens or creates the file, reads it and removes a line that a kill cut off. Throws BadInput if
  // the file cannot be opened, if another process has it open, and what ParseJournal throws.
  explicit JournalFile(const std::string& path);

  const std::string& path() const { return path_; }
  // Returns the content before the first Append.
  const Journal& found() const { return found_; }

  // Writes the line to the disk before it returns. Throws BadInput if the disk is full.
  void Append(const std::string& line);
  void Remove();

 private:
  std::string path_;
  Descriptor file_;
  Journal found_;
};

}  // namespace dlroof
