#include "tests/test_data.h"

namespace dlroof::fakes {

std::string TestData(const std::string& name) { return DLROOF_TEST_DATA "/" + name; }

}  // namespace dlroof::fakes
