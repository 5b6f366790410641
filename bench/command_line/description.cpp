#include "bench/command_line/description.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>

namespace dlroof::command_line {
namespace {

// Returns the choices that CLI11's IsMember describes as "{a,b}". Other validators have none: a
// validator can only be asked for its description.
std::vector<std::string> ChoicesIn(std::string_view description) {
  std::vector<std::string> choices;
  if (description.size() < 2 || description.front() != '{' || description.back() != '}')
    return choices;
  description = description.substr(1, description.size() - 2);
  while (true) {
    const auto comma = description.find(',');
    choices.emplace_back(description.substr(0, comma));
    if (comma == description.npos) return choices;
    description.remove_prefix(comma + 1);
  }
}

// Adds the type of the option's value, and its choices.
void AddValue(CLI::Option& option, Argument& argument) {
  std::string all = option.get_type_name();  // the type's name and the validators', by colons
  argument.type = all.substr(0, all.find(':'));
  for (int index = 0;; ++index) {
    CLI::Validator* validator = nullptr;
    try {
      validator = option.get_validator(index);
    } catch (const CLI::OptionNotFound&) {
      return;
    }
    if (auto choices = ChoicesIn(validator->get_description()); !choices.empty())
      argument.choices = std::move(choices);
  }
}

Argument DescribeOption(CLI::Option& option) {
  Argument argument{.positional = option.get_positional(),
                    .required = option.get_required(),
                    .comma = option.get_delimiter() == ','};
  if (argument.positional) {
    argument.names = {option.get_name(true)};
  } else {
    for (const auto& name : option.get_snames()) argument.names.push_back("-" + name);
    for (const auto& name : option.get_lnames()) argument.names.push_back("--" + name);
  }
  if (option.get_items_expected_max() == 0) return argument;  // a flag without a value
  argument.many = option.get_items_expected_max() > 1;
  AddValue(option, argument);
  return argument;
}

}  // namespace

std::string Command::Path() const { return fmt::format("{}", fmt::join(path, " ")); }

Command Describe(CLI::App& app, std::vector<std::string> path) {
  Command command{.path = std::move(path)};
  for (CLI::Option* option : app.get_options())
    if (!option->get_group().empty()) command.arguments.push_back(DescribeOption(*option));
  for (CLI::App* subcommand : app.get_subcommands([](CLI::App*) { return true; })) {
    auto below = command.path;
    below.push_back(subcommand->get_name());
    command.subcommands.push_back(Describe(*subcommand, std::move(below)));
  }
  return command;
}

std::vector<const Command*> WithSubcommands(const Command& command) {
  std::vector<const Command*> all = {&command};
  for (const auto& subcommand : command.subcommands) {
    const auto below = WithSubcommands(subcommand);
    all.insert(all.end(), below.begin(), below.end());
  }
  return all;
}

Completion CompletionOf(const Argument& argument, const TypeCompletions& types) {
  if (!argument.choices.empty()) return {.words = argument.choices, .comma = argument.comma};
  const auto found = types.find(argument.type);
  return found == types.end() ? Completion{} : found->second;
}

}  // namespace dlroof::command_line
