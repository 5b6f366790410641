// Separates the lines that oneDNN writes from the program's own output around them. Pure.
//
// Numbers in the output of a program. Pure.
#pragma once

#include <cstddef>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

namespace dlroof::profile {

// oneDNN writes to standard output, as the program does: a line of it may begin after the beginning
// of a line of the program, whose rest follows it. A line begins with a marker (onednn_verbose,
// dnnl_verbose or mkldnn_verbose), a comma, and a word that oneDNN writes there; it ends with its
// newline. All other bytes are the program's own, in their order.
//
// A line of the program that begins with DLROOF_MARK (verbose_log.h) stays its own and is copied to
// the log, where it says between which calls it was written.
//
// Lines of two processes may cut each other: the first half of a line that another marker ends is
// kept until a text follows that ends as lines of oneDNN do, with a comma and a time.
class LogSeparator {
 public:
  struct Output {
    std::string own;  // of the program
    std::string log;  // whole lines
  };

  // Returns the parts that are certain. Holds back bytes that may be the beginning of a line.
  Output Add(std::string_view bytes);
  // Returns the bytes that were held back and are no line yet, as the program's own: a prompt that
  // ends like a marker begins is not kept from its reader.
  Output Release();
  // Returns the rest. A line of oneDNN without its end gets one.
  Output End();

  std::size_t lines() const { return lines_; }          // [1] of oneDNN, ended
  std::size_t executed() const { return executed_; }    // [1] of these, of an executed primitive
  std::size_t cut_lines() const { return cut_lines_; }  // [1] whose end was not found
  // [1] lines with oneDNN's version: a process writes one, those that it forks do not.
  std::size_t versions() const { return versions_; }

 private:
  enum class State { kOwn, kLine, kTail };

  void Drain(Output& output);
  void TakeOwn(std::string_view bytes, Output& output);
  bool DrainOwn(Output& output);
  bool DrainLine(Output& output);
  bool DrainTail(Output& output);
  void BeginLine(std::size_t marker);
  void EndLine(const std::string& line, Output& output);
  void GiveUpTails(Output& output);
  std::string_view Rest() const { return std::string_view(held_).substr(at_); }

  State state_ = State::kOwn;
  std::string held_;              // bytes that are not told apart yet, from at_ on
  std::size_t at_ = 0;            // in held_
  std::string line_;              // of oneDNN, so far
  std::string own_line_;          // the beginning of the program's own line, so far
  std::vector<std::string> cut_;  // first halves of lines, the newest last
  std::size_t lines_ = 0, executed_ = 0, cut_lines_ = 0, versions_ = 0;
};

// Returns the expression (ECMAScript). Throws BadInput, which names `flag`: it is none, or has not
// exactly one group, which is the number.
std::regex NumberPattern(const std::string& flag, const std::string& text);

// Returns the numbers of all matches in the lines of the text, in their order. A match whose group
// is no finite number is left out, as is all beyond the first 4096 characters of a line.
std::vector<double> NumbersIn(std::string_view text, const std::regex& pattern);

}  // namespace dlroof::profile
