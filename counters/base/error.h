// Errors that a user can fix, as opposed to defects of the program, and reasons for people to read.
#pragma once

#include <fmt/core.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace dlroof {

// One sentence for people: why something is refused, unavailable or not validated. A function that
// returns std::optional<Reason> returns nullopt if nothing needs an explanation. No program parses
// the text.
struct Reason {
  std::string text;

  bool operator==(const Reason&) const = default;
};

// Input that cannot be used: a flag, a name, a file. `what()` is one sentence that names the place,
// the fault and what was expected. The programs print it and exit with 2.
struct BadInput : std::runtime_error {
  struct Place {
    std::string where = {};  // a file or a flag; may be empty if the catcher adds it
    int line = 0;            // from 1, or 0 if unknown
    int column = 0;          // from 1, or 0 if unknown
  };

  // For a text that names its place itself, or that needs none.
  explicit BadInput(const std::string& all) : runtime_error(all), text(all) {}
  template <class First, class... More>
  explicit BadInput(fmt::format_string<First, More...> words, First&& first, More&&... more)
      : BadInput(fmt::format(words, std::forward<First>(first), std::forward<More>(more)...)) {}
  // what() is "WHERE:LINE: column COLUMN: TEXT" without the unknown parts.
  BadInput(const Place& at, const std::string& fault);
  template <class First, class... More>
  BadInput(const Place& at, fmt::format_string<First, More...> fault, First&& first, More&&... more)
      : BadInput(at, fmt::format(fault, std::forward<First>(first), std::forward<More>(more)...)) {}

  Place place;
  std::string text;
};

// This problem cannot run with this library, on this CPU or in this type. The run records the
// reason and goes on.
struct Unsupported : std::runtime_error {
  using std::runtime_error::runtime_error;
  template <class First, class... More>
  explicit Unsupported(fmt::format_string<First, More...> words, First&& first, More&&... more)
      : runtime_error(fmt::format(words, std::forward<First>(first), std::forward<More>(more)...)) {
  }
};

}  // namespace dlroof
