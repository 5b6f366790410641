// Exceptions for faults that users can correct (bad input, unsupported problems), and Reason.
#pragma once

#include <fmt/core.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace dlroof {

// One sentence for the user: why an input is rejected, a feature is unavailable or a ceiling is not
// validated. A function that returns an optional Reason returns nullopt if all is well.
struct Reason {
  std::string text;

  bool operator==(const Reason&) const = default;
};

// Thrown for an invalid flag, name or file. what() is one sentence with the position, the error and
// the expected value. The programs print it and exit with code 2.
struct BadInput : std::runtime_error {
  struct Place {
    std::string where = {};  // a file or a flag; may be empty if the caller adds it
    int line = 0;            // counted from 1; 0 if unknown
    int column = 0;          // counted from 1; 0 if unknown
  };

  // The message is `all`, which contains the position if there is one.
  explicit BadInput(const std::string& all) : runtime_error(all), text(all) {}
  template <class First, class... More>
  explicit BadInput(fmt::format_string<First, More...> words, First&& first, More&&... more)
      : BadInput(fmt::format(words, std::forward<First>(first), std::forward<More>(more)...)) {}
  // what() is "WHERE:LINE: column COLUMN: FAULT"; unknown parts are omitted.
  BadInput(const Place& at, const std::string& fault);
  template <class First, class... More>
  BadInput(const Place& at, fmt::format_string<First, More...> fault, First&& first, More&&... more)
      : BadInput(at, fmt::format(fault, std::forward<First>(first), std::forward<More>(more)...)) {}

  Place place;
  std::string text;
};

// Thrown if a problem cannot run with a library, CPU or type. The run records why and continues.
struct Unsupported : std::runtime_error {
  using std::runtime_error::runtime_error;
  template <class First, class... More>
  explicit Unsupported(fmt::format_string<First, More...> words, First&& first, More&&... more)
      : runtime_error(fmt::format(words, std::forward<First>(first), std::forward<More>(more)...)) {
  }
};

}  // namespace dlroof
