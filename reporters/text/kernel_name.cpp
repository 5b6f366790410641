#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/algorithm/string/erase.hpp>
#include <boost/algorithm/string/replace.hpp>
#include <boost/algorithm/string/trim.hpp>
#include <cctype>
#include <map>
#include <optional>
#include <utility>

#include "reporters/text/text.h"

namespace dlroof::text {
namespace {

constexpr std::string_view kUnnamed = "<unnamed>";
// Replaces <unnamed> while a name is analysed, so that its brackets are not read as a template's.
constexpr std::string_view kUnnamedAtom = "\x01";
constexpr std::string_view kRest = "…";  // replaces dropped template arguments
constexpr int kMinArgument = 12;         // [columns] minimum width of a shortened argument

bool IsWord(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

int DepthStep(char c) {
  if (c == '<' || c == '(' || c == '[' || c == '{') return 1;
  return c == '>' || c == ')' || c == ']' || c == '}' ? -1 : 0;
}

// Returns whether brackets open and close in pairs. "->" and operators in a name make this false.
bool IsBalanced(std::string_view text) {
  int depth = 0;
  for (const char c : text) {
    depth += DepthStep(c);
    if (depth < 0) return false;
  }
  return depth == 0;
}

// Closes the brackets of a name that a tool has cut off: "a<b<c..." -> "a<b<c...>>".
std::string Closed(std::string text) {
  std::string open;
  for (const char c : text) {
    if (DepthStep(c) > 0) open += c;
    if (DepthStep(c) >= 0) continue;
    if (open.empty()) return text;
    open.pop_back();
  }
  if (text.empty() || DepthStep(text.back()) > 0) return text;
  for (auto c = open.rbegin(); c != open.rend(); ++c)
    text += *c == '<' ? '>' : *c == '(' ? ')' : *c == '[' ? ']' : '}';
  return text;
}

// Returns the position after the bracket that closes the bracket at `begin`, or the text's end.
std::size_t EndOfGroup(std::string_view text, std::size_t begin) {
  int depth = 0;
  for (std::size_t at = begin; at < text.size(); ++at) {
    depth += DepthStep(text[at]);
    if (depth == 0) return at + 1;
  }
  return text.size();
}

// Replaces "[lambda(float) (instance 1)]" and "{lambda(float)#1}" by "lambda".
std::string WithoutLambdas(std::string text) {
  for (const std::string_view lambda : {"[lambda", "{lambda"})
    for (auto at = text.find(lambda); at != std::string::npos; at = text.find(lambda, at + 1))
      text.replace(at, EndOfGroup(text, at) - at, "lambda");
  return text;
}

// Returns a name to analyse: unnamed namespaces become kUnnamedAtom, lambdas "lambda", and brackets
// that were cut off are closed.
std::string Prepared(std::string_view name) {
  auto text = RepairedKernelName(name);
  boost::replace_all(text, "(anonymous namespace)", kUnnamed);
  boost::replace_all(text, kUnnamed, kUnnamedAtom);
  boost::replace_all(text, "> >", ">>");
  return Closed(WithoutLambdas(std::move(text)));
}

std::string Finished(std::string text) {
  boost::replace_all(text, kUnnamedAtom, kUnnamed);
  return text;
}

// Shortens a name that cannot be parsed. Removes anonymous namespaces, so that "…" splits none.
std::string Middle(std::string prepared, int width) {
  if (auto whole = Finished(prepared); TextWidth(whole) <= width) return whole;
  boost::erase_all(prepared, fmt::format("{}::", kUnnamedAtom));
  boost::erase_all(prepared, kUnnamedAtom);
  return ShortenMiddle(prepared, width);
}

// The parts of a kernel's name: path, e.g. "a::b::", function, e.g. "Name", template arguments.
struct Parts {
  std::string path, function;
  bool is_template = false;
  std::vector<std::string> arguments;
};

// Splits at the commas outside of brackets.
std::vector<std::string> SplitArguments(std::string_view text) {
  std::vector<std::string> arguments;
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t at = 0; at <= text.size(); ++at) {
    if (at < text.size()) depth += DepthStep(text[at]);
    if (at < text.size() && (text[at] != ',' || depth != 0)) continue;
    auto argument = boost::trim_copy(std::string(text.substr(begin, at - begin)));
    if (!argument.empty()) arguments.push_back(std::move(argument));
    begin = at + 1;
  }
  return arguments;
}

// Removes parameters, e.g. of "f(int)", and casts, e.g. of "(Mode)2", and replaces a lambda by the
// function that has it: "copy(T &)::lambda" -> "copy".
std::string WithoutParentheses(std::string text) {
  for (auto at = text.find('('); at != std::string::npos; at = text.find('(', at)) {
    text.erase(at, EndOfGroup(text, at) - at);
    if (text.compare(at, 6, " const") == 0) text.erase(at, 6);
  }
  for (const std::string_view inner : {"::operator ", "::operator", "::lambda"})
    for (auto found = text.find(inner); found != std::string::npos; found = text.find(inner, found))
      if (const auto end = found + inner.size(); end == text.size() || !IsWord(text[end]))
        text.erase(found, inner.size());
      else
        found = end;
  return text;
}

// Returns the position of the last `c` outside of brackets, or npos.
std::size_t LastOutside(std::string_view text, char c) {
  std::size_t found = std::string_view::npos;
  int depth = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    depth += DepthStep(text[at]);
    if (depth == 0 && text[at] == c) found = at;
  }
  return found;
}

// Splits a Prepared name that IsBalanced.
Parts PartsOf(std::string_view prepared) {
  std::string text(prepared);
  // The parameters are the first group in parentheses outside of template arguments.
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] == '(') {
      text.erase(at);
      break;
    }
    at = DepthStep(text[at]) > 0 ? EndOfGroup(text, at) : at + 1;
  }
  boost::trim_right(text);
  if (const auto space = LastOutside(text, ' '); space != std::string::npos)
    text.erase(0, space + 1);  // the return type
  Parts parts;
  if (text.ends_with('>')) {
    std::size_t begin = 0;
    for (std::size_t at = 0; at < text.size();)
      if (text[at] == '<') {
        begin = at;
        at = EndOfGroup(text, at);
      } else {
        ++at;
      }
    parts.is_template = true;
    parts.arguments =
        SplitArguments(std::string_view(text).substr(begin + 1, text.size() - begin - 2));
    text.erase(begin);
  }
  const auto colon = LastOutside(text, ':');
  const auto own = colon == std::string::npos ? 0 : colon + 1;
  parts.path = text.substr(0, own);
  parts.function = text.substr(own);
  return parts;
}

// Removes the namespaces before every word: "std::array<a::B *, 2>" -> "array<B *, 2>".
std::string WithoutNamespaces(std::string_view text) {
  std::string plain;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text.substr(at, 2) != "::") {
      plain += text[at];
      continue;
    }
    ++at;
    // A class before "::" is dropped with its template arguments.
    if (plain.ends_with('>')) {
      int depth = 0;
      auto begin = plain.size();
      do depth -= DepthStep(plain[--begin]);
      while (depth != 0 && begin > 0);
      plain.erase(begin);
    }
    while (!plain.empty() && (IsWord(plain.back()) || plain.back() == kUnnamedAtom[0]))
      plain.pop_back();
  }
  return plain;
}

// Replaces the template arguments in a template argument: "B<C, 2>" -> "B<…>".
std::string WithoutNested(std::string_view text) {
  std::string plain;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] != '<') {
      plain += text[at++];
      continue;
    }
    plain += fmt::format("<{}>", kRest);
    at = EndOfGroup(text, at);
  }
  return plain;
}

std::string Assembled(const Parts& parts, std::string_view path) {
  std::string text = fmt::format("{}{}", path, parts.function);
  if (parts.is_template) text += fmt::format("<{}>", fmt::join(parts.arguments, ", "));
  return Finished(std::move(text));
}

bool Fits(const std::string& text, int width) { return TextWidth(text) <= width; }

// Drops trailing template arguments until the name fits. Shortens the last remaining argument in
// its middle if at least kMinArgument columns of it remain. Returns nullopt if no such name fits.
std::optional<std::string> WithFewerArguments(Parts parts, int width) {
  if (!parts.is_template) return std::nullopt;
  const auto all = parts.arguments;
  for (std::size_t left = all.size(); left > 0; --left) {
    parts.arguments.assign(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(left));
    if (left < all.size()) parts.arguments.emplace_back(kRest);
    if (auto text = Assembled(parts, ""); Fits(text, width)) return text;
    auto& last = parts.arguments[left - 1];
    last = Finished(last);
    const int room = width - (TextWidth(Assembled(parts, "")) - TextWidth(last));
    if (room < kMinArgument) continue;
    last = ShortenMiddle(last, room);
    return Assembled(parts, "");
  }
  parts.arguments = {std::string(kRest)};
  auto text = Assembled(parts, "");
  return Fits(text, width) ? std::optional(std::move(text)) : std::nullopt;
}

}  // namespace

std::string RepairedKernelName(std::string_view name) {
  constexpr std::string_view kEnd = "unnamed>::";
  std::string repaired(name);
  for (auto at = repaired.find(kEnd); at != std::string::npos; at = repaired.find(kEnd, at)) {
    // A "<" after a word begins template arguments and is not part of "<unnamed>".
    const bool own = at > 0 && repaired[at - 1] == '<' && (at < 2 || !IsWord(repaired[at - 2]));
    const bool of_word = at > 0 && IsWord(repaired[at - 1]);
    if (!own && !of_word) repaired.insert(at++, 1, '<');
    at += kEnd.size();
  }
  return repaired;
}

std::string KernelFunction(std::string_view name) {
  const auto prepared = Prepared(name);
  if (!IsBalanced(prepared)) return RepairedKernelName(name);
  const auto parts = PartsOf(prepared);
  return Finished(parts.path + parts.function);
}

std::string ShortKernelName(std::string_view name, int width) {
  // Keeps the sizes of a record's name, "gemm [128, 256]".
  if (const auto sizes = name.rfind(" [");
      sizes != std::string_view::npos && sizes > 0 && name.ends_with(']') &&
      sizes + 2 < name.size() && std::isdigit(static_cast<unsigned char>(name[sizes + 2])))
    return ShortKernelName(name.substr(0, sizes), width) + std::string(name.substr(sizes));
  const auto prepared = Prepared(Printable(name));
  if (!IsBalanced(prepared)) return Middle(prepared, width);
  auto parts = PartsOf(prepared);
  if (parts.function.empty()) return Middle(prepared, width);
  const auto path = parts.path;
  if (auto text = Assembled(parts, path); Fits(text, width)) return text;
  for (auto& argument : parts.arguments)
    argument = WithoutNamespaces(WithoutParentheses(std::move(argument)));
  if (auto text = Assembled(parts, path); Fits(text, width)) return text;
  if (auto text = Assembled(parts, ""); Fits(text, width)) return text;
  for (auto& argument : parts.arguments) argument = WithoutNested(argument);
  if (auto text = WithFewerArguments(parts, width)) return *text;
  // Drops an end "_execute_segment_k_off_kernel__5x_cudnn", which most cuDNN kernels' names have.
  const auto function = Finished(parts.function);
  return ShortenMiddle(function.substr(0, function.find("_execute_")), width);
}

std::vector<std::string> ShortKernelNames(const std::vector<std::string>& names, int width) {
  std::vector<std::string> texts;
  texts.reserve(names.size());
  std::map<std::string, std::map<std::string, int>> known;  // by short name: its names' numbers
  for (const auto& name : names) {
    auto text = ShortKernelName(name, width);
    auto& numbers = known[text];
    const int number =
        numbers.try_emplace(name, static_cast<int>(numbers.size()) + 1).first->second;
    if (number > 1) {
      const auto mark = fmt::format(" #{}", number);
      text = ShortenMiddle(text, std::max(1, width - TextWidth(mark)));
      text += mark;
    }
    texts.push_back(std::move(text));
  }
  return texts;
}

}  // namespace dlroof::text
