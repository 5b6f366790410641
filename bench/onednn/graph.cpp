#include "bench/onednn/graph.h"

#include <dlfcn.h>

namespace dlroof::onednn {

using dnnl::memory;

Graph::Graph(size_t first_inner) : next_tensor_(first_inner) {
  if (dlsym(RTLD_DEFAULT, "dnnl_graph_graph_create") == nullptr)
    throw Unsupported("oneDNN {} was built without oneDNN Graph", Version());
}

Graph::Tensor Graph::Strided(size_t id, memory::data_type type, const memory::dims& dims) {
  return {id, static_cast<Tensor::data_type>(type), dims, Tensor::layout_type::strided};
}

Graph::Tensor Graph::Inner(memory::data_type type, const memory::dims& dims) {
  return Strided(next_tensor_++, type, dims);
}

Graph::Operation& Graph::Add(Operation::kind kind, const char* name,
                             const std::vector<Tensor>& inputs, const Tensor& result) {
  operations_.emplace_back(Operation(operations_.size(), kind, inputs, std::vector{result}, name),
                           name);
  return operations_.back().first;
}

void Graph::AddReshape(const Tensor& from, const Tensor& to) {
  Add(Operation::kind::StaticReshape, "StaticReshape", {from}, to)
      .set_attr(Operation::attr::shape, to.get_dims())
      .set_attr(Operation::attr::special_zero, false);
}

std::vector<Graph::Partition> Graph::Partitions() const {
  dnnl::graph::graph graph(dnnl::engine::kind::cpu);
  for (const auto& [operation, name] : operations_) graph.add_op(operation);
  graph.finalize();
  return graph.get_partitions();
}

std::vector<std::string> Graph::NamesOf(const Partition& partition) const {
  std::vector<std::string> names;
  for (const size_t id : partition.get_ops()) names.push_back(operations_.at(id).second);
  return names;
}

std::string GraphCall::Add(const Graph::Partition& partition,
                           const std::map<size_t, std::vector<float>>& values) {
  const auto inputs = partition.get_input_ports(), outputs = partition.get_output_ports();
  auto& step = steps.emplace_back();
  // If a partition came from the cache, the log would have no line about its primitives.
  dnnl::graph::set_compiled_partition_cache_capacity(0);
  auto log = CreationLog([&] { step.compiled = partition.compile(inputs, outputs, CpuEngine()); });
  const auto bind = [&](const std::vector<Graph::Tensor>& ports, auto& handles) {
    for (const auto& port : ports) {
      auto& tensor = arguments[static_cast<int>(port.get_id())];
      const auto type = static_cast<memory::data_type>(port.get_data_type());
      const auto desc = PlainDesc(port.get_dims(), type);
      if (const auto given = values.find(port.get_id()); !tensor)
        tensor = given == values.end() ? owner.Poisoned(desc) : owner.Filled(desc, given->second);
      handles.push_back(
          step.tensors.emplace_back(port, CpuEngine(), tensor.get_data_handle()).get());
    }
  };
  bind(inputs, step.inputs);
  bind(outputs, step.outputs);
  return log;
}

// dnnl's C++ interface would list the handles in each call, within the measured time. The C
// interface has no const pointers, but does not write the lists.
void GraphCall::Run() const {
  const auto list = [](const std::vector<const_dnnl_graph_tensor_t>& handles) {
    return const_cast<const_dnnl_graph_tensor_t*>(handles.data());
  };
  for (const auto& [compiled, inputs, outputs, tensors] : steps) {
    dnnl::error::wrap_c_api(
        dnnl_graph_compiled_partition_execute(compiled.get(), CpuStream().get(), inputs.size(),
                                              list(inputs), outputs.size(), list(outputs)),
        "could not execute a partition");
    CpuStream().wait();
  }
}

}  // namespace dlroof::onednn
