// Text in XML.
#pragma once

#include <string>
#include <string_view>

namespace dlroof {

// Returns the text for an attribute's quotes or between tags. XML 1.0 (2.2) has no control
// characters but tab, newline and return, not even as references, and no U+FFFE and U+FFFF. These
// become
// "\u0001".
std::string XmlText(std::string_view text);

}  // namespace dlroof
