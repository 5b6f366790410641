#include "ceilings/machine/row_isa.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <vector>

namespace dlroof::machine {
namespace {

using Features = std::vector<std::string>;

struct PartRow {
  std::string_view isa;
  Features needs;
};

const std::vector<PartRow>& Parts() {
  static const std::vector<PartRow> table = {
      {"portable", {}},
      {"sse2", {"sse2"}},
      {"ssse3", {"ssse3"}},
      {"sse41", {"sse4.1"}},
      {"avx", {"avx"}},
      {"fma", {"fma"}},
      {"avx2", {"avx2"}},
      {"avx_vnni", {"avx2", "avx_vnni"}},
      {"avx512", {"avx512f"}},
      {"avx512_vnni", {"avx512f", "avx512_vnni"}},
      {"avx512_bf16", {"avx512f", "avx512_bf16"}},
      {"avx512_fp16", {"avx512f", "avx512_fp16"}},
      {"amx", {"amx_tile"}},
  };
  return table;
}

// oneDNN's ISAs, each with what it has beyond the one that it extends (dnnl_types.h, 3.x:
// dnnl_cpu_isa_t).
struct IsaRow {
  std::string_view name, extends;
  Features adds;
};

const std::vector<IsaRow>& Isas() {
  static const std::vector<IsaRow> table = {
      {"sse41", "", {"sse2", "ssse3", "sse4.1"}},
      {"avx", "sse41", {"avx"}},
      {"avx2", "avx", {"avx2", "fma"}},
      {"avx2_vnni", "avx2", {"avx_vnni"}},
      {"avx2_vnni_2", "avx2_vnni", {}},
      {"avx512_core", "avx2", {"avx512f", "avx512bw", "avx512dq", "avx512vl"}},
      {"avx512_core_vnni", "avx512_core", {"avx512_vnni"}},
      {"avx512_core_bf16", "avx512_core_vnni", {"avx512_bf16"}},
      {"avx512_core_fp16", "avx512_core_bf16", {"avx512_fp16", "avx_vnni"}},
      {"avx512_core_amx", "avx512_core_fp16", {"amx_tile", "amx_int8", "amx_bf16"}},
      {"avx512_core_amx_fp16", "avx512_core_amx", {"amx_fp16"}},
      {"avx10_1_512", "avx512_core_fp16", {}},
      {"avx10_1_512_amx", "avx512_core_amx", {}},
      {"avx10_1_512_amx_fp16", "avx512_core_amx_fp16", {}},
      {"avx10_2_512", "avx10_1_512", {}},
      {"avx10_2_512_amx_2", "avx10_1_512_amx_fp16", {}},
  };
  return table;
}

const IsaRow* FindIsa(std::string_view name) {
  const auto& table = Isas();
  const auto found =
      std::find_if(table.begin(), table.end(), [&](auto& row) { return row.name == name; });
  return found == table.end() ? nullptr : &*found;
}

struct RowKey {
  std::string_view type, isa, variant;
  const PartRow* part = nullptr;  // null: a plain pipe, or not in the table
};

RowKey Parse(std::string_view key) {
  constexpr std::array<std::string_view, 4> kVariants = {"_scalar", "_nofma", "_ymm", "_l1"};
  RowKey row;
  const auto unit = key.find('.');
  const auto part = unit == std::string_view::npos ? unit : key.find('.', unit + 1);
  if (part == std::string_view::npos) return row;
  row.type = key.substr(0, unit);
  row.isa = key.substr(part + 1);
  for (const auto variant : kVariants)
    if (row.isa.ends_with(variant)) {
      row.variant = variant;
      row.isa.remove_suffix(variant.size());
      break;
    }
  for (const auto& each : Parts())
    if (each.isa == row.isa) row.part = &each;
  return row;
}

}  // namespace

std::string_view IsaOfRow(std::string_view row_key) {
  const auto row = Parse(row_key);
  return row.part == nullptr ? std::string_view() : row.part->isa;
}

std::set<std::string> FeaturesOfRow(std::string_view row_key) {
  const auto row = Parse(row_key);
  if (row.part == nullptr) return {};
  std::set<std::string> needs(row.part->needs.begin(), row.part->needs.end());
  if (row.variant == "_ymm") needs.insert("avx512vl");
  if (row.isa == "amx") needs.insert(fmt::format("amx_{}", row.type));
  if (row.isa == "avx2" && row.type.starts_with("fp")) needs.insert("fma");
  if (row.isa == "avx512" && row.type == "int8") needs.insert("avx512bw");
  return needs;
}

bool RowAllowed(std::string_view row_key, std::string_view effective_isa) {
  const auto* isa = FindIsa(effective_isa);
  if (isa == nullptr) return true;
  // Asked for every row and record of a run, with few different answers.
  thread_local std::map<const IsaRow*, std::map<std::string, bool, std::less<>>> known;
  auto& of_isa = known[isa];
  if (const auto found = of_isa.find(row_key); found != of_isa.end()) return found->second;
  auto needs = FeaturesOfRow(row_key);
  for (; isa != nullptr; isa = FindIsa(isa->extends))
    for (const auto& feature : isa->adds) needs.erase(feature);
  return of_isa.emplace(row_key, needs.empty()).first->second;
}

}  // namespace dlroof::machine
