// hwloc -> Topology; nothing else.
#include <hwloc.h>

#include <memory>

#include "counters/cpu/cpu.h"

namespace dlroof::cpu {
namespace {

struct Destroy {
  void operator()(hwloc_topology* topology) const { hwloc_topology_destroy(topology); }
};
using Handle = std::unique_ptr<hwloc_topology, Destroy>;

Handle Load() {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return nullptr;
  Handle handle(raw);
  if (hwloc_topology_set_flags(raw, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED) != 0) return nullptr;
  if (hwloc_topology_load(raw) != 0) return nullptr;
  return handle;
}

int Count(hwloc_topology_t topology, hwloc_obj_type_t type) {
  const int count = hwloc_get_nbobjs_by_type(topology, type);
  return count > 0 ? count : 0;
}

std::optional<Level> CacheLevel(hwloc_obj_type_t type) {
  if (type == HWLOC_OBJ_L1CACHE) return Level::kL1;
  if (type == HWLOC_OBJ_L2CACHE) return Level::kL2;
  if (type == HWLOC_OBJ_L3CACHE) return Level::kL3;
  return std::nullopt;
}

void AddCpu(const hwloc_obj& pu, Topology& result) {
  const int cpu = static_cast<int>(pu.os_index);
  for (hwloc_obj_t above = pu.parent; above != nullptr; above = above->parent) {
    if (above->type == HWLOC_OBJ_CORE)
      result.core_of_cpu[cpu] = static_cast<int>(above->logical_index);
    const auto level = CacheLevel(above->type);
    if (level && above->attr->cache.size > 0)
      result.cache_of_cpu[*level][cpu] = {static_cast<int>(above->logical_index),
                                          static_cast<double>(above->attr->cache.size)};
  }
}

void AddNode(const hwloc_obj& node, Topology& result) {
  for (int cpu = hwloc_bitmap_first(node.cpuset); cpu >= 0;
       cpu = hwloc_bitmap_next(node.cpuset, cpu))
    result.node_of_cpu[cpu] = static_cast<int>(node.os_index);
}

}  // namespace

Topology ReadTopology() {
  Topology result;
  const Handle handle = Load();
  if (!handle) return result;
  hwloc_topology_t topology = handle.get();
  result.packages = Count(topology, HWLOC_OBJ_PACKAGE);
  result.cores = Count(topology, HWLOC_OBJ_CORE);
  result.cpus = Count(topology, HWLOC_OBJ_PU);
  result.numa_nodes = Count(topology, HWLOC_OBJ_NUMANODE);
  hwloc_obj_t pu = nullptr;
  while ((pu = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_PU, pu)) != nullptr)
    AddCpu(*pu, result);
  hwloc_obj_t node = nullptr;
  while ((node = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, node)) != nullptr)
    AddNode(*node, result);
  return result;
}

}  // namespace dlroof::cpu
