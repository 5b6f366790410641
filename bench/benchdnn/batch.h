// The files that --batch=FILE includes.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bench/benchdnn/driver.h"
#include "bench/benchdnn/tokens.h"

namespace dlroof {

// A file of benchdnn, read once however often it is included.
struct BenchdnnFile {
  std::string path;  // as messages name it
  std::vector<BenchdnnToken> tokens;
};

class BenchdnnFiles {
 public:
  // `path` and `text` of the file that all begins with.
  BenchdnnFiles(const std::string& path, std::string_view text);

  const BenchdnnFile& First() const { return first_; }
  // Returns the file that --batch=`name` in `from` names. Throws BadInput (without a place) when
  // there is no such file, it is no regular file or longer than 16 MiB.
  const BenchdnnFile& Batch(const BenchdnnFile& from, std::string_view name);
  // Returns the driver of the first option --DRIVER or problem; without either conv, benchdnn's own
  // default.
  const BenchdnnDriver& FirstDriver();

 private:
  std::string Locate(const BenchdnnFile& from, std::string_view name) const;

  BenchdnnFile first_;
  std::map<std::string, std::unique_ptr<BenchdnnFile>> read_;  // by path
};

}  // namespace dlroof
