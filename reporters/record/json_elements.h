// Cuts a JSON text of any size into pieces that a JSON library can take one by one. It knows
// brackets and strings only: the pieces' reader finds what is no JSON.
#pragma once

#include <functional>
#include <istream>
#include <string>
#include <string_view>

namespace dlroof {

// The text with {} for each object that is an element of a top-level array.
struct JsonSkeleton {
  std::string text;
  // The text ended within brackets or a string: it was cut off. `text` is then closed behind the
  // last whole element, and empty where there was none.
  bool cut = false;
};

// Calls element(key, index, text) for each object that is an element of the array `key`, itself a
// member of the top-level object. 64 bytes behind `text` may be read. Holds a window of the stream
// and the longest element, no more.
JsonSkeleton EachJsonElement(std::istream& in,
                             const std::function<void(std::string_view key, std::size_t index,
                                                      std::string_view text)>& element);

}  // namespace dlroof
