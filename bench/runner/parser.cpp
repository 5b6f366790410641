#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <map>
#include <sstream>
#include <type_traits>

#include "bench/runner/command.h"
#include "counters/base/error.h"
#include "counters/base/keys.h"
#include "counters/base/program.h"

namespace dlroof::runner {
namespace {

// Returns a check of numbers from 0 on, 0 itself included or not; `name` is shown in the help.
CLI::Validator NumberCheck(bool allows_zero, const std::string& name) {
  const auto check = [allows_zero](const std::string& text) -> std::string {
    double number = 0;
    if (CLI::detail::lexical_cast(text, number) && (number > 0 || (allows_zero && number == 0)))
      return "";
    return fmt::format("expected a number {} 0, not '{}'", allows_zero ? "of at least" : "above",
                       text);
  };
  return {check, name};
}

void SetLimits(const Option& option, CLI::Option& added) {
  const auto& limits = option.rules.limits;
  const bool real = std::holds_alternative<double*>(option.target) ||
                    std::holds_alternative<std::optional<double>*>(option.target);
  if (std::holds_alternative<AboveZero>(limits)) added.check(NumberCheck(false, "POSITIVE"));
  if (std::holds_alternative<AtLeastZero>(limits)) added.check(NumberCheck(true, "NONNEGATIVE"));
  const auto* range = std::get_if<Range>(&limits);
  if (range == nullptr) return;
  if (real)
    added.check(CLI::Range(range->least, range->most));
  else
    added.check(CLI::Range(static_cast<std::int64_t>(range->least),
                           static_cast<std::int64_t>(range->most)));
}

CLI::Option* Add(const Option& option, CLI::App& app) {
  auto* added = std::visit(
      [&](auto* target) -> CLI::Option* {
        if constexpr (std::is_same_v<decltype(target), bool*>)
          return app.add_flag(option.names, *target, option.help);
        else
          return app.add_option(option.names, *target, option.help);
      },
      option.target);
  const auto& rules = option.rules;
  if (!rules.type.empty()) added->type_name(rules.type);
  if (rules.words > 1) added->type_size(rules.words)->expected(1);
  if (rules.one_each) added->allow_extra_args(false);
  if (rules.comma) added->delimiter(',');
  if (!rules.choices.empty()) added->check(CLI::IsMember(rules.choices));
  SetLimits(option, *added);
  if (rules.required) added->required();
  if (rules.hidden) added->group("");
  return added;
}

void Add(const Command& command, CLI::App& app) {
  std::map<std::string, CLI::Option*> by_name;
  for (const auto& option : command.options) by_name[NamesOf(option).back()] = Add(option, app);
  for (const auto& option : command.options)
    for (const auto& other : option.rules.excludes)
      by_name.at(NamesOf(option).back())->excludes(by_name.at(other));
  for (const auto& below : command.commands)
    Add(below, *app.add_subcommand(below.name, below.about));
  if (!command.commands.empty()) app.require_subcommand(1);
}

// Returns the command that the words name, at any level. Throws BadInput for an unknown command.
const Command& Find(const Command& program, const std::vector<std::string>& words) {
  const Command* command = &program;
  std::string path;  // the commands found so far, each followed by a space
  for (const auto& word : words) {
    if (command->commands.empty() || word.starts_with('-')) break;
    const auto found = std::ranges::find(command->commands, word, &Command::name);
    if (found == command->commands.end()) {
      auto nearest = NearestName(word, VectorOf<std::string>(command->commands, &Command::name));
      if (nearest) nearest = path + *nearest;
      const auto lister =
          program.name + (path.empty() ? "" : " " + path.substr(0, path.size() - 1));
      throw BadInput(UnknownName("command", path + word, nearest, lister));
    }
    command = &*found;
    path += word + ' ';
  }
  return *command;
}

const Option* AfterDashes(const Command& command) {
  return FindIf(command.options, [](const Option& option) {
    return option.rules.type == kFlag || option.rules.type == kProgram;
  });
}

}  // namespace

std::vector<std::string> NamesOf(const Option& option) {
  std::vector<std::string> names;
  std::istringstream in(option.names);
  for (std::string name; std::getline(in, name, ',');) names.push_back(name);
  return names;
}

int Run(const Command& program, const std::string& version, int argc, char** argv) {
  std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  const Command& command = Find(program, words);
  CLI::App app(program.about, program.name);
  app.set_version_flag("--version", version);
  Add(program, app);
  // Removes the words after "--": CLI11 would give them to the first positional argument.
  std::vector<std::string> after;
  const auto dashes = std::ranges::find(words, "--");
  const Option* after_dashes = AfterDashes(command);
  if (after_dashes != nullptr && dashes != words.end()) {
    after.assign(dashes + 1, words.end());
    words.erase(dashes, words.end());
  }
  std::ranges::reverse(words);
  try {
    app.parse(std::move(words));
  } catch (const CLI::Success& help_or_version) {
    return app.exit(help_or_version);
  } catch (const CLI::ParseError& error) {
    std::cerr << fmt::format("{0}: {1} ({0} --help lists commands and flags)\n", program.name,
                             error.what());
    return 2;
  }
  if (!after.empty()) {
    auto& target = *std::get<std::vector<std::string>*>(after_dashes->target);
    target.insert(target.end(), after.begin(), after.end());
  }
  return command.run();
}

void Parse(const Command& program, const std::vector<std::string>& words) {
  CLI::App app;
  app.set_help_flag();
  Add(program, app);
  try {
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
  } catch (const CLI::ParseError& error) {
    throw BadInput("flags: {}", error.what());
  }
}

std::string Help(const Command& program) {
  CLI::App app(program.about);
  app.set_help_flag();
  Add(program, app);
  return app.help();
}

}  // namespace dlroof::runner
