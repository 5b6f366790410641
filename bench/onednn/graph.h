// Calls by oneDNN Graph. The library divides a graph of operations into partitions, and compiles
// and runs each partition as one unit.
#pragma once

#include <map>
#include <oneapi/dnnl/dnnl_graph.hpp>
#include <string>
#include <utility>
#include <vector>

#include "bench/onednn/call.h"

namespace dlroof::onednn {

class Graph {
 public:
  using Tensor = dnnl::graph::logical_tensor;
  using Operation = dnnl::graph::op;
  using Partition = dnnl::graph::partition;

  // Tensors of the caller's have ids below `first_inner`, all others from there on. Throws
  // Unsupported if the library was built without oneDNN Graph.
  explicit Graph(size_t first_inner);

  // Returns a row-major tensor: one of the caller's, or one between two operations.
  static Tensor Strided(size_t id, dnnl::memory::data_type type, const dnnl::memory::dims& dims);
  Tensor Inner(dnnl::memory::data_type type, const dnnl::memory::dims& dims);
  Operation& Add(Operation::kind kind, const char* name, const std::vector<Tensor>& inputs,
                 const Tensor& result);
  void AddReshape(const Tensor& from, const Tensor& to);

  // Returns the partitions in order of execution. Throws dnnl::error with dnnl_invalid_graph_op if
  // an operation does not have these types.
  std::vector<Partition> Partitions() const;
  std::vector<std::string> NamesOf(const Partition& partition) const;  // of its operations

 private:
  size_t next_tensor_;
  std::vector<std::pair<Operation, std::string>> operations_;  // with names; the index is the id
};

// Compiled partitions in order of execution, with their tensors.
struct GraphCall {
  // Appends a partition, and returns what the library logs while it compiles it. `values`: of
  // inputs, by id. Other tensors are memory between partitions, or the result.
  std::string Add(const Graph::Partition& partition,
                  const std::map<size_t, std::vector<float>>& values);
  void Run() const;

  struct Step {
    dnnl::graph::compiled_partition compiled = {};
    std::vector<const_dnnl_graph_tensor_t> inputs = {}, outputs = {};  // handles of `tensors`
    std::vector<dnnl::graph::tensor> tensors = {};
  };
  Tensors owner{};
  std::vector<Step> steps{};
  Arguments arguments{};       // all tensors outside of partitions, by id
  std::vector<int> weights{};  // none
  std::string implementation{};
};

}  // namespace dlroof::onednn
