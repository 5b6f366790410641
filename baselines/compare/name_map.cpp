#include "baselines/compare/name_map.h"

#include <set>
#include <sstream>

#include "counters/base/error.h"
#include "counters/base/files.h"

namespace dlroof::compare {

NameMap ParseNameMap(const std::string& text, const std::string& where) {
  NameMap names;
  std::set<std::string> targets;
  std::istringstream lines(text);
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (line.find_first_not_of(" \t") == std::string::npos || line[0] == '#') continue;
    const char apart = line.find('\t') == std::string::npos ? ' ' : '\t';
    const auto cut = line.find(apart);
    if (cut == std::string::npos || cut == 0 || cut + 1 == line.size() ||
        line.find(apart, cut + 1) != std::string::npos)
      throw BadInput(
          "{}:{}: expected 'base-name new-name' (a tab between names that hold spaces), got '{}'",
          where, number, line);
    const auto target = line.substr(cut + 1);
    if (!names.emplace(line.substr(0, cut), target).second || !targets.insert(target).second)
      throw BadInput("{}:{}: a name of this line was mapped before", where, number);
  }
  return names;
}

NameMap ReadNameMap(const std::string& path) {
  return ParseNameMap(ReadFile(path, "lines 'base-name new-name'"), path);
}

}  // namespace dlroof::compare
