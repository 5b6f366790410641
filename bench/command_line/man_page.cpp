#include "bench/command_line/man_page.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <map>

namespace dlroof::command_line {
namespace {

// The sections of a text that follow the options, in this order.
constexpr std::string_view kLast[] = {"EXIT STATUS", "ENVIRONMENT", "FILES", "EXAMPLES"};

// Returns the text with the characters escaped that roff would replace by typographic ones. Of
// hyphens only those of flags are minus signs, in code all.
std::string Escaped(std::string_view text, bool is_code = false) {
  static const std::map<char, std::string_view> escapes = {
      {'\\', "\\e"}, {'^', "\\(ha"}, {'~', "\\(ti"}, {'`', "\\(ga"}, {'\'', "\\(aq"}};
  std::string out;
  bool in_flag = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const auto begins_word = [&](std::size_t at) {
      return at == 0 || !(std::isalnum(static_cast<unsigned char>(text[at - 1])));
    };
    if (c == '-') {
      in_flag = in_flag || begins_word(i);
      out += is_code || in_flag ? "\\-" : "-";
      continue;
    }
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '_') in_flag = false;
    const auto escape = escapes.find(c);
    if (escape == escapes.end())
      out += c;
    else
      out += escape->second;
  }
  // A line that begins so would be a request.
  if (!out.empty() && (out.front() == '.' || out.front() == '\\')) out.insert(0, "\\&");
  return out;
}

std::string Bold(std::string_view text) { return "\\fB" + Escaped(text, true) + "\\fR"; }
std::string Italic(std::string_view text) { return "\\fI" + Escaped(text, true) + "\\fR"; }

std::string Capitals(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::toupper(c); });
  return text;
}

// Returns the text with a full stop at its end.
std::string Sentence(std::string text) {
  if (!text.empty() && text.back() != '.') text += '.';
  return text;
}

std::string Synopsis(const Command& command) {
  std::string text = Bold(command.Path());
  bool flags = false, after_dashes = false;
  std::string positionals, behind;
  for (const auto& argument : command.arguments) {
    if (!argument.positional) {
      flags = true;
      continue;
    }
    const bool behind_dashes = argument.type == kFlag || argument.type == kProgram;
    after_dashes = after_dashes || behind_dashes;
    auto name = Italic(argument.Name()) + (argument.many ? "..." : "");
    if (!argument.required && !behind_dashes) name = "[" + name + "]";
    (behind_dashes ? behind : positionals) += " " + name;
  }
  if (flags) text += fmt::format(" [{}...]", Italic("OPTION"));
  if (!command.subcommands.empty()) text += " " + Italic("COMMAND");
  text += positionals;
  if (after_dashes) text += fmt::format(" [{}{}]", Bold("--"), behind);
  return text + "\n";
}

// Returns what is to be known about an argument beside its help.
std::vector<std::string> Remarks(const Argument& argument) {
  std::vector<std::string> remarks;
  if (!argument.choices.empty())
    remarks.push_back(fmt::format("One of: {}.", fmt::join(argument.choices, ", ")));
  static const std::map<std::string, std::string, std::less<>> limits = {
      {"POSITIVE", "More than 0."}, {"NONNEGATIVE", "At least 0."}};
  const auto found = limits.find(argument.limits);
  if (found != limits.end())
    remarks.push_back(found->second);
  else if (argument.limits.find(" in [") != argument.limits.npos)
    remarks.push_back("Range: " + argument.limits.substr(argument.limits.find('[')) + ".");
  if (!argument.default_value.empty())
    remarks.push_back("Default: " + argument.default_value + ".");
  if (argument.required && !argument.positional) remarks.emplace_back("Required.");
  if (!argument.not_with.empty())
    remarks.push_back(fmt::format("Not with {}.", fmt::join(argument.not_with, ", ")));
  if (!argument.only_with.empty())
    remarks.push_back(fmt::format("Only with {}.", fmt::join(argument.only_with, ", ")));
  return remarks;
}

std::string WriteArgument(const Argument& argument, bool equals_sign) {
  std::vector<std::string> names;
  for (const auto& name : argument.names)
    names.push_back(argument.positional ? Italic(name) : Bold(name));
  std::string text = fmt::format(".TP\n{}", fmt::join(names, ", "));
  if (!argument.positional && !argument.type.empty())
    text += (equals_sign ? "=" : " ") + Italic(argument.type);
  if (argument.many) text += " ...";
  text += '\n' + Escaped(Sentence(argument.help)) + '\n';
  if (const auto remarks = Remarks(argument); !remarks.empty())
    text += Escaped(fmt::format("{}", fmt::join(remarks, " "))) + '\n';
  return text;
}

// Writes the arguments of a kind, with a heading for each group of flags after the first.
std::string WriteArguments(const Command& command, bool positional) {
  std::string text, group;
  for (const auto& argument : command.arguments) {
    if (argument.positional != positional) continue;
    if (!positional && !group.empty() && argument.group != group)
      text += ".SS " + Escaped(argument.group) + '\n';
    group = argument.group;
    text += WriteArgument(argument, command.equals_sign);
  }
  return text;
}

std::string WriteEntries(const ManualSection& section) {
  const bool examples = section.title == "EXAMPLES";
  std::string text;
  for (const auto& [term, paragraphs] : section.entries) {
    const char* before = ".PP\n";
    if (!term.empty()) {
      text += fmt::format(".TP\n{}\n", examples ? Bold(term) : Escaped(term, true));
      before = ".IP\n";
    }
    for (std::size_t i = 0; i < paragraphs.size(); ++i) {
      if (i > 0) text += before;
      text += Escaped(paragraphs[i]) + '\n';
    }
  }
  return text;
}

std::string WriteSection(std::string_view title, const std::string& body) {
  return body.empty() ? "" : fmt::format(".SH {}\n{}", title, body);
}

std::string WriteSubcommands(const Command& command) {
  std::string text;
  for (const auto& subcommand : command.subcommands)
    text += fmt::format(".TP\n{}(1)\n{}\n", Bold(PageName(subcommand)),
                        Escaped(Sentence(subcommand.about)));
  return text;
}

std::string WriteReferences(const std::vector<std::string>& pages) {
  std::vector<std::string> references;
  for (const auto& page : pages) references.push_back(Bold(page) + "(1)");
  return references.empty() ? "" : fmt::format("{}\n", fmt::join(references, ",\n"));
}

// Returns what the command does in one line.
std::string About(const ManPage& page) {
  for (const auto& section : page.sections)
    if (section.title == "NAME") return section.entries.at(0).paragraphs.at(0);
  return page.command.about;
}

}  // namespace

std::string PageName(const Command& command) { return command.Path("-"); }

std::string WriteManPage(const ManPage& page, const Release& release) {
  const auto& command = page.command;
  const auto title = PageName(command);
  const auto section = [&](std::string_view name) {
    const auto found = std::ranges::find(page.sections, name, &ManualSection::title);
    return found == page.sections.end() ? "" : WriteSection(name, WriteEntries(*found));
  };
  std::string text = fmt::format(".TH {} 1 {} \"dlroof {}\" \"User Commands\"\n",
                                 Escaped(Capitals(title), true), release.date, release.version);
  text +=
      WriteSection("NAME", fmt::format("{} \\- {}\n", Escaped(title, true), Escaped(About(page))));
  text += WriteSection("SYNOPSIS", Synopsis(command));
  text += section("DESCRIPTION");
  text += WriteSection("COMMANDS", WriteSubcommands(command));
  text += WriteSection("ARGUMENTS", WriteArguments(command, true));
  text += WriteSection("OPTIONS", WriteArguments(command, false));
  for (const auto name : kLast) text += section(name);
  return text + WriteSection("SEE ALSO", WriteReferences(page.see_also));
}

}  // namespace dlroof::command_line
