// One line of oneDNN's verbose mode, taken apart. Views point into the line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dlroof::verbose {

enum class VerboseKind {
  kInformation,  // version, threads, instruction set, templates, warnings
  kExecuted,     // a primitive ran
  kCreated,      // a primitive was made or taken from the cache, with its time
  kDispatch,     // a note on the choice of an implementation, without a time
  kGraph,        // a partition of oneDNN Graph; its primitives have lines of their own
  kOther,        // an operation that this reader does not know
};

struct VerboseLine {
  VerboseKind kind = VerboseKind::kOther;
  bool first_generation = false;             // of MKL-DNN ("mkldnn_verbose")
  std::string_view operation;                // "exec", "create:cache_miss"
  std::string_view fields;                   // behind the operation and its comma
  std::optional<double> stamp_milliseconds;  // [ms] of its begin; absent: not printed, or no time
};

// Returns the position of the first marker ("onednn_verbose,", "dnnl_verbose,", "mkldnn_verbose,")
// at or behind `from`; npos: there is none.
std::size_t FindMarker(std::string_view line, std::size_t from = 0);

// `line` begins with a marker and has no line end.
VerboseLine TakeApart(std::string_view line);

// Names of the fields of an executed primitive's line in their order, as a template line lists
// them, without the time stamp and the operation: "engine", "primitive", ..., "exec_time".
using VerboseTemplate = std::vector<std::string>;
// Returns the template that oneDNN has had since 1.0 where a log prints none.
VerboseTemplate UsualTemplate(bool first_generation);
// Returns the template of a line of information; absent: it is none of executed primitives, or it
// lacks "primitive" or "exec_time".
std::optional<VerboseTemplate> TemplateOf(const VerboseLine& line);

// Returns a number of at least 0 and at most 1e15 that fills the text.
std::optional<double> NumberFromZero(std::string_view text);

// Returns the parts between separators; one empty part for an empty text.
std::vector<std::string_view> SplitText(std::string_view text, char separator);

}  // namespace dlroof::verbose
