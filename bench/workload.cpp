#include "bench/workload.h"

#include <fmt/format.h>

#include <array>
#include <set>

namespace dlroof {
namespace {

// Cells that exist in dlroof but need a library that a build may lack: told apart from a typing
// error.
struct OptionalCell {
  std::string_view op, device, library, needs;
};
constexpr std::array<OptionalCell, 2> kOptionalCells = {
    {{"Conv2D", "cpu", "onednn", "oneDNN 3.2 or newer"},
     {"LSTM", "cpu", "onednn", "oneDNN 3.2 or newer"}}};

std::vector<Cell>& Registry() {
  static std::vector<Cell> cells;
  return cells;
}

std::vector<Library>& LibraryRegistry() {
  static std::vector<Library> libraries;
  return libraries;
}

std::string Known() {
  std::set<std::string> names;
  for (const auto& cell : AllCells())
    names.insert(fmt::format("{}/{}/{}", cell.op, cell.device, cell.library));
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

bool RegisterCell(Cell cell) {
  Registry().push_back(std::move(cell));
  return true;
}

const std::vector<Cell>& AllCells() { return Registry(); }

bool RegisterLibrary(Library library) {
  LibraryRegistry().push_back(std::move(library));
  return true;
}

const std::vector<Library>& AllLibraries() { return LibraryRegistry(); }

int ColumnOfPart(const BenchmarkName& name, int index) {
  const std::array<const std::string*, 6> parts = {&name.op,        &name.device, &name.library,
                                                   &name.direction, &name.type,   &name.problem};
  size_t column = 1;
  for (int i = 0; i < index && i < 6; ++i) column += parts.at(i)->size() + 1;
  for (int i = 6; i < index; ++i) column += name.options.at(i - 6).size() + 1;
  return static_cast<int>(column);
}

Workload MakeWorkload(const std::string& text) {
  const BenchmarkName name = ParseBenchmarkName(text);
  for (const auto& cell : AllCells())
    if (cell.op == name.op && cell.device == name.device && cell.library == name.library)
      return cell.make(name);
  for (const auto& cell : kOptionalCells)
    if (cell.op == name.op && cell.device == name.device && cell.library == name.library)
      return {name, [needs = cell.needs](const RunSettings&) -> PreparedCall {
                throw Unsupported(fmt::format("this build of dlroof was made without {}", needs));
              }};
  throw BadInput(fmt::format("column 1: no benchmark {}/{}/{}; there are {}", name.op, name.device,
                             name.library, Known()));
}

}  // namespace dlroof
