// Models whose layers two clusters or many nodes run: by the suites that a user names, or by those
// that the runs name.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "baselines/scale/measured_steps.h"
#include "baselines/versus/versus_models.h"

namespace dlroof::cluster_run {

// Returns whether an option says how a library works: its layout, algorithm or threads.
bool IsMannerOption(std::string_view option);

// Returns the models of the suites, or of both runs where `suites` is empty. Throws BadInput as
// SelectSuites.
std::vector<cluster::Model> ModelsOfSuites(const std::vector<std::string>& suites, const cluster::VersusCluster& a,
                                  const cluster::VersusCluster& b);

// Returns how many devices a node of the run has, by the run itself; absent where it does not say.
std::optional<int> DevicesPerNode(const record::RunFile& file);

// Returns the shape of a record by its op's row; absent where its op has none, or its problem is
// none of ours.
std::optional<scaling::LayerShape> ShapeOfRecord(const record::Record& record);

}  // namespace dlroof::cluster_run
