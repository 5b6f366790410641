// The records of tables of other tools (import.h): tool_tables.cpp reads CSV, tool_json.cpp JSON.
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
  std::string id, model;  // empty: not known
};

// Marks the place in a name where its GPU is inserted if there are several; default: at the end.
inline constexpr char kGpuPlace = '\2';

// Records by name and GPU, in the order of the file.
class Records {
 public:
  void AddGpu(const Gpu& gpu) {
    if (!gpu.id.empty()) gpus_.insert(gpu.id);
  }
  std::size_t size() const { return records_.size(); }

  // Returns the record of the name and GPU. If `alone`, the record is always new, and its name gets
  // a number if there is another one.
  record::Record& Of(std::string name, const Gpu& gpu, bool alone);
  // Adds `launches` kernels that took `seconds` in all.
  record::Record& AddKernels(const std::string& name, const Gpu& gpu, double seconds,
                             double launches);
  void MoveTo(Imported& imported, const std::string& where);

 private:
  std::map<std::string, int> seen_;  // [1] records of a name
  std::map<std::string, std::size_t> found_;
  std::vector<record::Record> records_;
  std::vector<std::string> ids_;  // of the records' GPUs
  std::set<std::string> gpus_;
  std::string repeated_;  // the first name that occurs twice
};

// Returns `seconds` [s]. Throws BadInput ("`where`: ...") if it is no possible time (IsRunTime).
double RunTime(const std::string& where, double seconds);

// Returns the start of a text, where the words that identify its tool are searched for.
std::string_view FirstOf(std::string_view text);
bool HasAll(std::string_view text, const std::vector<std::string_view>& words);

inline constexpr std::size_t kLongestLine = 10000;  // [byte] std::regex recurses
// Returns a number as printf writes it, which may have a decimal comma but has no groups.
std::optional<double> PrintedNumber(std::string text);

// Parses a JSON text as ParsedJson (json_reader.h) does. Of a key that is twice in one object, as
// in files edited by hand, the first member is read; the second one is left out.
nlohmann::json ParsedUniqueJson(const std::string& text, const std::string& where,
                                LeftOut& left_out);

bool LooksLikeToolJson(std::string_view text);
void ReadToolJson(const std::string& text, const std::string& where, Records& records,
                  LeftOut& left_out);

}  // namespace dlroof::imports
