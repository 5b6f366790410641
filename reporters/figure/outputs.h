// The files that a command writes: the extension of `-o PATH` chooses the format.
#pragma once

#include <functional>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "counters/base/error.h"
#include "counters/base/files.h"
#include "reporters/figure/figure.h"

namespace dlroof::figure {

// Writes values of types `Of` as files. For each extension, e.g. "html", a function makes the text.
template <class... Of>
class Outputs {
 public:
  using Text = std::function<std::string(const Of&..., const std::string& extension)>;

  // `script` returns the gnuplot script that draws the figure for .svg, .pdf and .png.
  Outputs(std::vector<std::pair<std::string, Text>> texts, const Text& script)
      : texts_(std::move(texts)) {
    for (const char* drawn : {"svg", "pdf", "png"})
      texts_.emplace_back(drawn, [script](const Of&... of, const std::string& extension) {
        return RunGnuplot(script(of..., extension));
      });
  }

  // Throws BadInput for a path with an unknown extension, and for one of the `inputs`.
  void Check(const std::vector<std::string>& paths,
             const std::vector<std::string>& inputs = {}) const {
    for (const auto& path : paths) TextOf(path);
    RefuseInputs(paths, inputs);
  }
  // Writes the files. Throws BadInput as Check does, and if a text or a file cannot be written.
  void Write(const std::vector<std::string>& paths, const Of&... of) const {
    for (const auto& path : paths) {
      const auto& [extension, text] = TextOf(path);
      WriteFile(path, text(of..., extension));
      std::cerr << "wrote " << path << '\n';
    }
  }

 private:
  const std::pair<std::string, Text>& TextOf(const std::string& path) const {
    std::string known;
    for (const auto& row : texts_) {
      if (path.ends_with("." + row.first)) return row;
      known += (known.empty() ? "." : &row == &texts_.back() ? " or ." : ", .") + row.first;
    }
    throw BadInput("-o {}: unknown extension, expected {}", path, known);
  }

  std::vector<std::pair<std::string, Text>> texts_;
};

}  // namespace dlroof::figure
