#include "bench/suites/choices.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "bench/workload/op.h"
#include "bench/workload/problem_text.h"
#include "bench/workload/workload.h"
#include "counters/base/error.h"
#include "reporters/verbose/verbose_line.h"

namespace dlroof::suites {
namespace {

bool IsChosen(std::string_view value, std::string_view choice) {
  return value.starts_with(choice) &&
         (value.size() == choice.size() || value[choice.size()] == '_');
}

bool AnyChosen(std::string_view value, const std::vector<std::string_view>& choices) {
  return std::ranges::any_of(choices,
                             [&](std::string_view choice) { return IsChosen(value, choice); });
}

// Returns the choice written out: all directions of the op that begin with it.
std::vector<std::string_view> ValuesOf(std::string_view op, NamePart part,
                                       std::string_view choice) {
  std::vector<std::string_view> values;
  if (part == kDirection && workload::FindOp(op) != nullptr)
    for (const std::string& direction : workload::FindOp(op)->directions)
      if (IsChosen(direction, choice)) values.emplace_back(direction);
  if (values.empty()) values.push_back(choice);
  return values;
}

// Returns a row's name up to its problem, without one part.
std::string Without(const NameRow& row, NamePart part) {
  std::string key;
  for (size_t i = 0; i <= kProblem; ++i)
    if (i != part) key.append(row.parts.at(i)) += '/';
  return key;
}

// A flag as it was given. Refusals name it and a column of its value.
struct Flag {
  std::string_view name;
  const std::string& value;

  [[noreturn]] void Refuse(int column, const std::string& why) const {
    throw BadInput({.where = fmt::format("{}={}", name, value), .column = column}, why);
  }
  int ColumnOf(std::string_view item) const {
    return static_cast<int>(item.data() - value.data()) + 1;
  }
  std::vector<std::string_view> Items() const {
    if (value.empty()) return {};
    auto items = verbose::SplitText(value, ',');
    for (const auto item : items)
      if (item.empty()) Refuse(ColumnOf(item), "an empty choice");
    return items;
  }
  std::vector<int64_t> Sizes() const {
    std::vector<int64_t> sizes;
    workload::TextCursor cursor(value);
    try {
      while (!value.empty()) {
        const auto size = cursor.Integer(1, "a batch size");
        if (std::ranges::find(sizes, size) == sizes.end()) sizes.push_back(size);
        if (cursor.AtEnd()) break;
        cursor.Expect(",");
      }
    } catch (const BadInput& error) {
      Refuse(error.place.column, error.text);
    }
    return sizes;
  }
};

// Returns why the name cannot be; empty: it can.
std::string WhyNot(const std::string& name) {
  try {
    workload::MakeWorkload(name);
  } catch (const BadInput& error) {
    return error.text;
  }
  return "";
}

std::string NameOf(const NameRow& row) { return fmt::format("{}", fmt::join(row.parts, "/")); }

std::vector<NameRow> RowsOf(const Suite& suite) {
  std::vector<NameRow> rows;
  for (const auto& layer : suite.layers) rows.push_back({verbose::SplitText(layer.name, '/'), layer.count});
  return rows;
}

void CheckLibraries(const Flag& flag) {
  std::set<std::string_view> known;
  for (const auto& cell : workload::AllCells()) known.insert(cell.library);
  for (const auto item : flag.Items())
    if (known.count(item) == 0)
      flag.Refuse(flag.ColumnOf(item),
                  fmt::format("no library '{}'; there are {}", item, fmt::join(known, ", ")));
}

void CheckDirections(const Flag& flag) {
  std::vector<std::string_view> known;
  for (const workload::Op* op : workload::AllOps())
    for (const std::string& direction : op->directions)
      if (std::ranges::find(known, direction) == known.end()) known.emplace_back(direction);
  for (const auto item : flag.Items())
    if (std::ranges::none_of(known,
                             [&](std::string_view direction) { return IsChosen(direction, item); }))
      flag.Refuse(flag.ColumnOf(item),
                  fmt::format("no direction '{}'; there are {}", item, fmt::join(known, ", ")));
}

// Returns whether any library of the row's op has the type, on any device, in any direction.
bool HasType(const NameRow& row, std::string_view type) {
  const std::string op(row.parts.at(kOp));
  for (const auto& cell : workload::AllCells())
    for (const auto& direction : workload::FindOp(op)->directions)
      if (cell.op == op && WhyNot(workload::ToText({op,
                                          cell.device,
                                          cell.library,
                                          direction,
                                          std::string(type),
                                          std::string(row.parts.at(kProblem)),
                                          {}}))
                               .empty())
        return true;
  return false;
}

void CheckTypes(const Flag& flag, const std::vector<Suite>& suites) {
  std::map<std::string, NameRow> first;  // of each op
  for (const auto& suite : suites)
    for (auto& row : RowsOf(suite)) first.emplace(row.parts.at(kOp), row);
  if (first.empty()) return;
  for (const auto item : flag.Items()) {
    if (std::ranges::any_of(first, [&](const auto& one) { return HasType(one.second, item); }))
      continue;
    auto row = first.begin()->second;
    row.parts.at(kType) = item;
    flag.Refuse(flag.ColumnOf(item), WhyNot(NameOf(row)));
  }
}

// Returns the row's name with that batch size; empty where the row is skipped.
std::string WithBatch(const NameRow& row, int64_t batch, const Flag& flag, Suite& suite) {
  auto name = workload::ParseBenchmarkName(NameOf(row));
  try {
    const workload::Op& op = *workload::FindOp(name.op);
    if (!op.with_batch) throw Unsupported("{} has no batch size", op.name);
    name.problem = op.with_batch(name, batch);
    return workload::ToText(name);
  } catch (const Unsupported& error) {
    suite.skipped.push_back({suite.name, 0, workload::ToText(name), error.what()});
    return "";
  } catch (const BadInput& error) {
    flag.Refuse(
        flag.ColumnOf(std::string_view(flag.value)
                          .substr(("," + flag.value + ",").find(fmt::format(",{},", batch)))),
        fmt::format("{} (in {} of {})", error.text, workload::ToText(name), suite.name));
  }
}

void AddLayer(std::string name, int64_t count, Suite& suite,
              std::unordered_map<std::string, size_t>& place) {
  if (auto why = WhyNot(name); !why.empty()) {
    suite.skipped.push_back({suite.name, 0, std::move(name), std::move(why)});
    return;
  }
  const auto [found, is_new] = place.emplace(name, suite.layers.size());
  if (is_new)
    suite.layers.push_back({std::move(name), count});
  else if (suite.counted)  // layers that only their batch sizes told apart
    suite.layers[found->second].count += count;
}

// Throws BadInput where no problem took the batch sizes.
void CheckTaken(const Flag& batch, const std::vector<Suite>& suites) {
  const auto refused =
      std::ranges::find_if(suites, [](const Suite& suite) { return !suite.skipped.empty(); });
  if (refused == suites.end()) return;
  const auto& [file, line, text, reason] = refused->skipped.back();
  batch.Refuse(1, fmt::format("no chosen problem takes it: {} (such as {})", reason, text));
}

}  // namespace

std::vector<NameRow> Choose(const std::vector<NameRow>& rows, NamePart part,
                            const std::vector<std::string_view>& choices) {
  const auto owner = [](const NameRow& row) {
    return std::pair(row.parts.at(kOp), row.parts.at(kDevice));
  };
  std::map<std::pair<std::string_view, std::string_view>, std::set<std::string_view>> found;
  for (const auto& row : rows)
    for (const auto choice : choices)
      if (IsChosen(row.parts.at(part), choice)) found[owner(row)].insert(choice);
  std::unordered_map<std::string, std::string_view> first_value;
  std::vector<NameRow> chosen;
  for (const auto& row : rows) {
    const auto value = row.parts.at(part);
    if (AnyChosen(value, choices)) chosen.push_back(row);
    if (first_value.emplace(Without(row, part), value).first->second != value) continue;
    for (const auto choice : choices) {
      if (found[owner(row)].count(choice) > 0) continue;
      for (const auto made : ValuesOf(row.parts.at(kOp), part, choice)) {
        chosen.push_back(row);
        chosen.back().parts.at(part) = made;
      }
    }
  }
  return chosen;
}

std::vector<Suite> Chosen(std::vector<Suite> suites, const SuiteChoices& choices) {
  const Flag library{"--dlroof_library", choices.library};
  const Flag directions{"--dlroof_directions", choices.directions};
  const Flag types{"--dlroof_types", choices.types};
  const Flag batch{"--dlroof_batch", choices.batch};
  CheckLibraries(library);
  CheckDirections(directions);
  CheckTypes(types, suites);
  const auto sizes = batch.Sizes();
  const std::pair<NamePart, std::vector<std::string_view>> parts[] = {
      {kLibrary, library.Items()}, {kDirection, directions.Items()}, {kType, types.Items()}};
  if (sizes.empty() &&
      std::ranges::all_of(parts, [](const auto& one) { return one.second.empty(); }))
    return suites;
  std::vector<Suite> chosen;
  bool taken = sizes.empty();
  for (const auto& suite : suites) {
    auto rows = RowsOf(suite);
    for (const auto& [part, items] : parts)
      if (!items.empty()) rows = Choose(rows, part, items);
    for (size_t i = 0; i < std::max<size_t>(1, sizes.size()); ++i) {
      Suite& one = chosen.emplace_back(Suite{.name = suite.name, .counted = suite.counted});
      if (!sizes.empty()) one.name += fmt::format(" batch {}", sizes[i]);
      if (i == 0) one.skipped = suite.skipped;
      std::unordered_map<std::string, size_t> place;
      for (const auto& row : rows) {
        auto name = sizes.empty() ? NameOf(row) : WithBatch(row, sizes[i], batch, one);
        if (name.empty()) continue;
        taken = true;
        AddLayer(std::move(name), row.count, one, place);
      }
    }
  }
  if (!taken) CheckTaken(batch, chosen);
  return chosen;
}

}  // namespace dlroof::suites
