// The files of tests/data.
#pragma once

#include <string>

namespace dlroof::fakes {

// Returns the absolute path of `name` in tests/data; "" is the folder.
std::string TestData(const std::string& name);

}  // namespace dlroof::fakes
