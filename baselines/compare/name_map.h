// Names of the same benchmark in BASE and in NEW where they differ.
#pragma once

#include <map>
#include <string>

namespace dlroof::compare {

// BASE's name -> NEW's name.
using NameMap = std::map<std::string, std::string>;

// One "base-name new-name" per line, apart by one space, or by a tab where names hold spaces; empty
// lines and lines that begin with # are skipped. Throws BadInput, with `where` and the line, for
// anything else and for a name given twice on one side.
NameMap ParseNameMap(const std::string& text, const std::string& where);

// The same of a file. Throws BadInput also where it cannot be read.
NameMap ReadNameMap(const std::string& path);

}  // namespace dlroof::compare
