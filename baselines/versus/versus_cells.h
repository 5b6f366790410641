// The cells of the tables that show two clusters: the same in the terminal, in Markdown and on the
// page.
#pragma once

#include <string>
#include <vector>

#include "baselines/formats/page_text.h"
#include "baselines/versus/write_versus.h"

namespace dlroof::cluster {

formats::Cells OperatorCells(const VersusReport& report);
formats::Cells ModelCells(const VersusReport& report);
// Sentences: A, B, what a node is, prices, coverage, marks, what bounds the starting of calls.
std::vector<std::string> VersusNotes(const VersusReport& report);
// Each kind of difference once, in order: "library: onednn | cudnn". A row's last cell has their
// numbers, from 1.
std::vector<std::string> DifferenceKinds(const Versus& versus);
// "AMD EPYC (2 threads)": the machines of a cluster.
std::string MachinesText(const VersusCluster& cluster);

}  // namespace dlroof::cluster
