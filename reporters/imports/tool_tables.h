// Records from tables and JSON of other tools (import.h).
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "reporters/imports/import.h"

namespace dlroof::imports {

struct Gpu {
  std::string id, model;  // each empty if not known
};

// The place in a name where MoveTo inserts the GPU if the file has several; default: at the end.
inline constexpr char kGpuPlace = '\2';

// Collects records by name and GPU, in the order of the file.
class Records {
 public:
  void AddGpu(const Gpu& gpu) {
    if (!gpu.id.empty()) gpus_.insert(gpu.id);
  }
  std::size_t size() const { return records_.size(); }

  // Returns the record with the name and GPU; adds it if there is none. `alone`: always adds one,
  // named "NAME (2)" and so on if the name is taken.
  record::Record& Of(std::string name, const Gpu& gpu, bool alone);
  // Adds `launches` launches, which took `seconds` [s] together, to the kernel's record.
  record::Record& AddKernels(const std::string& name, const Gpu& gpu, double seconds,
                             double launches);
  void MoveTo(Imported& imported, const std::string& where);

 private:
  std::map<std::string, int> seen_;  // [1] number of records by name and GPU
  std::map<std::string, std::size_t> found_;
  std::vector<record::Record> records_;
  std::vector<std::string> ids_;  // GPU of each record
  std::set<std::string> gpus_;
  std::string repeated_;  // first name that two records have
};

// Returns `seconds` [s]. Throws BadInput ("`where`: ...") if it is no possible time (IsRunTime).
double RunTime(const std::string& where, double seconds);

// Returns the first 64 KiB of a text, in which words that identify its tool are searched for.
std::string_view FirstOf(std::string_view text);
bool HasAll(std::string_view text, const std::vector<std::string_view>& words);

inline constexpr std::size_t kLongestLine = 10000;  // [byte] longer ones overflow std::regex
// Parses a number as printf writes it: with a decimal point or comma, without groups of digits.
std::optional<double> PrintedNumber(std::string text);

// Parses JSON, also between other lines. If an object has a key twice, as in files edited by hand,
// leaves out the second member. Throws BadInput for a text without JSON.
nlohmann::json ParsedUniqueJson(const std::string& text, const std::string& where,
                                LeftOut& left_out);

}  // namespace dlroof::imports
