#include "reporters/import/import.h"

#include <fmt/format.h>

#include <algorithm>

#include "reporters/text/text.h"

namespace dlroof {
namespace {

constexpr ImportFormat kFormats[] = {
    {"csv", "our own: name,seconds,launches,flops_<pipe>,bytes_<level> in base units",
     LooksLikeOwnCsv, ImportOwnCsv},
    {"ncu", "Nsight Compute --csv (--page raw or details)", LooksLikeNsightCompute,
     ImportNsightCompute},
    {"ert", "Empirical Roofline Toolkit, roofline.json: makes a machine file", LooksLikeErt,
     ImportErt},
    {"likwid", "likwid-perfctr -O", LooksLikeLikwid, ImportLikwid},
    {"nvbench", "nvbench --json", LooksLikeNvbench, ImportNvbench},
    {"trace", "a Chrome trace of PyTorch's or TensorFlow's profiler", LooksLikeTrace, ImportTrace}};

constexpr std::size_t kNamedColumns = 5;

}  // namespace

std::span<const ImportFormat> ImportFormats() { return kFormats; }

bool IsRunTime(double seconds) { return seconds >= 1e-12 && seconds <= 1e12; }

void AddUnknownColumns(const std::vector<std::string>& columns, const std::string& where,
                       Imported& imported) {
  if (columns.empty()) return;
  std::string names;
  for (std::size_t i = 0; i < std::min(columns.size(), kNamedColumns); ++i)
    names += fmt::format("{}'{}'", i == 0 ? "" : ", ", Printable(columns[i]));
  if (columns.size() > kNamedColumns)
    names += fmt::format(" and {} more", columns.size() - kNamedColumns);
  imported.remarks.push_back(fmt::format("{}: column{} {} {} not known and left out", where,
                                         columns.size() == 1 ? "" : "s", names,
                                         columns.size() == 1 ? "is" : "are"));
}

}  // namespace dlroof
