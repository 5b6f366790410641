// The journal on disk: what was appended is there after a kill, of this program or of the machine.
#pragma once

#include <string>

#include "bench/supervise/journal.h"
#include "counters/base/process.h"

namespace dlroof {

class JournalFile {
 public:
  // Opens it, or makes it, and reads what there is; a line that a kill cut off is cut away. Throws
  // BadInput: it cannot be opened, another process has it open, what ParseJournal refuses.
  explicit JournalFile(const std::string& path);

  const std::string& path() const { return path_; }
  // What was there.
  const Journal& found() const { return found_; }

  // On disk when it returns. Throws BadInput: disk full.
  void Append(const std::string& line);
  void Remove();

 private:
  std::string path_;
  Descriptor file_;
  Journal found_;
};

}  // namespace dlroof
