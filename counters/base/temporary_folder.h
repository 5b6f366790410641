// A place for files that only this process needs.
#pragma once

#include <string>

namespace dlroof {

// A folder of its own in the system's place for temporary files; gone, with all in it, when this
// object is.
class TemporaryFolder {
 public:
  // Throws BadInput: it cannot be made.
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  // The path of a file in it.
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace dlroof
