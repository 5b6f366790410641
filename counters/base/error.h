// Errors that a user can mend, apart from defects of the program.
#pragma once

#include <fmt/core.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace dlroof {

// One sentence for people: why something is refused, unavailable or not validated. Functions return
// std::optional<Reason>: a reason, or nothing where there is nothing to explain. No program reads
// it.
struct Reason {
  std::string text;

  bool operator==(const Reason&) const = default;
};

// Input that cannot be used: a flag, a name, a file. `what()` is one sentence: its place, the fault
// and the expectation. The programs print it and exit with 2.
struct BadInput : std::runtime_error {
  struct Place {
    std::string where = {};  // a file or a flag; empty: the catcher knows it
    int line = 0;            // from 1; 0: unknown
    int column = 0;          // from 1; 0: unknown
  };

  // The text names its place itself, or has none.
  explicit BadInput(const std::string& all) : runtime_error(all), text(all) {}
  template <class First, class... More>
  explicit BadInput(fmt::format_string<First, More...> words, First&& first, More&&... more)
      : BadInput(fmt::format(words, std::forward<First>(first), std::forward<More>(more)...)) {}
  // what() is "WHERE:LINE: column COLUMN: TEXT" without the unknown parts.
  BadInput(const Place& at, const std::string& why);
  template <class First, class... More>
  BadInput(const Place& at, fmt::format_string<First, More...> why, First&& first, More&&... more)
      : BadInput(at, fmt::format(why, std::forward<First>(first), std::forward<More>(more)...)) {}

  Place place;
  std::string text;
};

// This problem cannot run here (library, CPU or type). Recorded with its reason; the run goes on.
struct Unsupported : std::runtime_error {
  using std::runtime_error::runtime_error;
  template <class First, class... More>
  explicit Unsupported(fmt::format_string<First, More...> why, First&& first, More&&... more)
      : runtime_error(fmt::format(why, std::forward<First>(first), std::forward<More>(more)...)) {}
};

}  // namespace dlroof
