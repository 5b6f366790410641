#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <utility>
#include <variant>

#include "bench/suites/benchdnn.h"
#include "bench/suites/suite.h"
#include "counters/base/error.h"
#include "reporters/text/text.h"

namespace dlroof::suites {
namespace {

std::string TagOf(const logs::Tensor& tensor) {
  const bool blocked = std::ranges::any_of(
      tensor.tag, [](unsigned char c) { return std::isupper(c) != 0 || std::isdigit(c) != 0; });
  return tensor.Chosen() || blocked || tensor.tag.empty() ? "any" : tensor.tag;
}

// Returns "--alg=wino ", "--alg=auto ", or "" for the direct algorithm, benchdnn's default.
std::string AlgorithmArgument(const logs::Primitive& primitive) {
  const auto algorithm = logs::WordOf(primitive.text.auxiliary, "alg");
  if (algorithm.ends_with("winograd")) return "--alg=wino ";
  return algorithm.ends_with("auto") ? "--alg=auto " : "";
}

std::optional<std::string> ReorderLine(const logs::Primitive& primitive) {
  const auto* source = primitive.Find("src");
  const auto* destination = primitive.Find("dst");
  if (source == nullptr || destination == nullptr || source->tag.empty() ||
      destination->tag.empty())
    return std::nullopt;
  return fmt::format("--reorder --mode=P --sdt={} --ddt={} --stag={} --dtag={} {}", source->type,
                     destination->type, source->tag, destination->tag, primitive.text.problem);
}

// Returns the line for primitives whose log has benchdnn's problem and algorithm (after `prefix`).
std::string PlainLine(const logs::Primitive& primitive, std::string_view driver,
                      std::string_view prefix) {
  auto algorithm = logs::WordOf(primitive.text.auxiliary, "alg");
  if (algorithm.starts_with(prefix)) algorithm.remove_prefix(prefix.size());
  const auto axis = logs::WordOf(primitive.text.auxiliary, "axis");
  const auto flags = logs::WordOf(primitive.text.auxiliary, "flags");
  return fmt::format("--{} --mode=P {}{}{}{}{}", driver,
                     primitive.text.prop == "undef" ? "" : DirArgument(primitive),
                     algorithm.empty() ? "" : fmt::format("--alg={} ", algorithm),
                     axis.empty() ? "" : fmt::format("--axis={} ", axis),
                     flags.empty() ? "" : fmt::format("--flags={} ", flags),
                     primitive.text.problem);
}

// A primitive kind for which PlainLine works.
struct PlainForm {
  std::string_view kind, driver, prefix;
};
constexpr PlainForm kPlainLines[] = {
    {"pooling", "pool", "pooling_"},          {"pooling_v2", "pool", "pooling_"},
    {"batch_normalization", "bnorm", ""},     {"binary", "binary", "binary_"},
    {"reduction", "reduction", "reduction_"}, {"resampling", "resampling", "resampling_"}};

}  // namespace

std::string TypeOf(const logs::Primitive& primitive, std::string_view role) {
  const auto* tensor = primitive.Find(role);
  return tensor == nullptr || tensor->type.empty() ? "f32" : tensor->type;
}

std::string LayoutArgument(const logs::Primitive& primitive, std::string_view role,
                           std::string_view option) {
  const auto* tensor = primitive.Find(role);
  const auto tag = tensor == nullptr ? "any" : TagOf(*tensor);
  return tag == "any" ? "" : fmt::format("--{}={} ", option, tag);
}

std::string PostOpsArgument(const logs::Primitive& primitive) {
  std::string list;
  for (const auto post_op : logs::PostOpsOf(primitive.text.attributes))
    list += fmt::format("{}{}", list.empty() ? "" : "+", post_op);
  return list.empty() ? "" : fmt::format("--attr-post-ops={} ", list);
}

std::string DirArgument(const logs::Primitive& primitive) {
  const bool bias = primitive.HasBias();
  const auto& prop = primitive.text.prop;
  std::string dir;
  if (prop == "forward_inference") dir = bias ? "FWD_B" : "FWD_I";
  if (prop == "forward_training" || prop == "forward") dir = bias ? "FWD_B" : "FWD_D";
  if (prop == "backward_data") dir = "BWD_D";
  if (prop == "backward_weights") dir = bias ? "BWD_WB" : "BWD_W";
  if (prop == "backward") dir = "BWD_DW";
  return dir.empty() ? "" : fmt::format("--dir={} ", dir);
}

std::string TypesArgument(const logs::Primitive& primitive) {
  const auto types = fmt::format("{}:{}:{}", TypeOf(primitive, "src"), TypeOf(primitive, "wei"),
                                 TypeOf(primitive, "dst"));
  return types == "f32:f32:f32" ? "" : fmt::format("--dt={} ", types);
}

std::string SourceRole(const logs::Primitive& primitive) {
  return primitive.Find("src") == nullptr ? "data" : "src";
}

std::string TypePair(const logs::Primitive& primitive) {
  const auto source = TypeOf(primitive, SourceRole(primitive));
  const bool both = primitive.Find("dst") == nullptr;
  return fmt::format("{}:{}", source, both ? source : TypeOf(primitive, "dst"));
}

std::string InAndOutArguments(const logs::Primitive& primitive) {
  const auto source = SourceRole(primitive);
  const auto destination = primitive.Find("dst") == nullptr ? source : "dst";
  std::string text;
  for (const auto& [role, option] : {std::pair(source, "sdt"), std::pair(destination, "ddt")})
    if (const auto type = TypeOf(primitive, role); type != "f32")
      text += fmt::format("--{}={} ", option, type);
  return text + LayoutArgument(primitive, source, "stag") +
         LayoutArgument(primitive, destination, "dtag");
}

std::string FilterLine(const logs::Primitive& primitive, std::string_view driver) {
  return fmt::format("--{} --mode=P {}{}{}{}{}{}{}", driver, DirArgument(primitive),
                     TypesArgument(primitive), LayoutArgument(primitive, "src", "stag"),
                     LayoutArgument(primitive, "dst", "dtag"), AlgorithmArgument(primitive),
                     PostOpsArgument(primitive), primitive.text.problem);
}

namespace {

std::optional<std::string> LineOf(const logs::Primitive& primitive) {
  const auto& kind = primitive.text.kind;
  for (const BenchdnnDriver* driver : BenchdnnDrivers())
    if (std::ranges::count(driver->kinds, kind) > 0) return driver->line(primitive);
  for (const auto& [plain, driver, prefix] : kPlainLines)
    if (kind == plain) return PlainLine(primitive, driver, prefix);
  if (kind == "deconvolution") return FilterLine(primitive, "deconv");
  return kind == "reorder" ? ReorderLine(primitive) : std::nullopt;
}

}  // namespace

std::optional<std::string> BenchdnnLine(const logs::Primitive& primitive) {
  auto line = LineOf(primitive);
  const auto mode = line ? line->find(" --mode=P") : std::string::npos;
  if (mode != std::string::npos && primitive.text.engine == "gpu")
    line->insert(mode, " --engine=gpu");
  return line;
}

namespace {

constexpr const char* kDriver = "driver";  // key in reasons_ for an unknown driver
constexpr size_t kMaxBenchmarks = 500'000;

// Returns whether the word is a path of benchdnn ("./benchdnn"), which may begin a command.
bool IsProgram(std::string_view text) { return text.substr(text.rfind('/') + 1) == "benchdnn"; }

const BenchdnnDriver* NamedDriver(std::string_view text) {
  return text.starts_with("--") ? FindBenchdnnDriver(text.substr(2)) : nullptr;
}

// Returns the driver of the first option --DRIVER or problem; otherwise conv, benchdnn's default.
const BenchdnnDriver& FirstDriver(const std::vector<BenchdnnToken>& tokens) {
  for (const auto& token : tokens) {
    if (const auto* named = NamedDriver(token.text)) return *named;
    if (const auto* found = DriverOfProblem(token.text)) return *found;
  }
  return *FindBenchdnnDriver("conv");
}

class Reader {
 public:
  Reader(const std::string& file, const std::vector<BenchdnnToken>& tokens)
      : file_(file), choice_(FirstDriver(tokens)) {
    for (const auto& token : tokens) ReadToken(token);
  }

  std::vector<ForeignProblem> Take() { return std::move(benchmarks_); }

 private:
  // Why problems after an option have no benchmark, and the option's line.
  struct OptionReason {
    std::string text;
    int line = 0;
  };

  void ReadToken(const BenchdnnToken& token) {
    const std::string_view text = token.text;
    const auto equals = text.find('=');
    if (const auto* driver = NamedDriver(text)) {
      choice_ = BenchdnnChoice(*driver);
      // Keeps the reasons of options on the line of --DRIVER: they belong to the same command.
      std::erase_if(reasons_, [&](const auto& reason) {
        return reason.first == kDriver || reason.second.line != token.line;
      });
    } else if (text == "--reset") {
      choice_ = BenchdnnChoice(choice_.Driver());
      reasons_.clear();
    } else if (text.starts_with("--batch=")) {
      Add(token).reason = "--batch: name that file itself instead of this option";
    } else if (text.starts_with("--") && equals != std::string_view::npos) {
      ReadOption(text.substr(2, equals - 2), text.substr(equals + 1), token.line);
    } else if (text.starts_with('-') && !text.starts_with("-v")) {
      // An unknown option may be a driver that dlroof lacks.
      reasons_[kDriver] = {fmt::format("unknown option '{}'", ShownText(text)), token.line};
    } else if (!text.starts_with('-') && !IsProgram(text)) {
      ReadProblem(token);
    }
  }

  void ReadOption(std::string_view option, std::string_view value, int line) {
    std::string name(option);
    std::ranges::replace(name, '_', '-');  // older versions of benchdnn
    reasons_.erase(name);
    try {
      if (!choice_.Set(name, value) && !IsIgnoredOption(name) && !value.empty())
        throw BadInput("unknown option --{} of benchdnn's driver {}", ShownText(name),
                       choice_.Driver().name);
    } catch (const BadInput& error) {
      reasons_[name] = {error.text, line};
    }
  }

  ForeignProblem& Add(const BenchdnnToken& token) {
    if (benchmarks_.size() == kMaxBenchmarks)
      throw BadInput({file_, token.line}, "the file has more than {} benchmarks", kMaxBenchmarks);
    return benchmarks_.emplace_back(
        ForeignProblem{{file_, token.line, token.text, ""}, std::nullopt});
  }

  void ReadProblem(const BenchdnnToken& token) {
    auto& made = Add(token);
    if (!reasons_.empty()) {
      made.reason = reasons_.begin()->second.text;
      return;
    }
    try {
      const auto name = choice_.Driver().name_of(token.text, choice_);
      if (const auto* reason = std::get_if<Reason>(&name))
        made.reason = reason->text;
      else if (workload::InvalidReason(std::get<std::string>(name)))
        made.reason = "impossible shape";
      else
        made.name = std::get<std::string>(name);
    } catch (const BadInput& error) {
      made.reason = fmt::format("'{}': {}", ShownText(token.text), error.text);
    }
  }

  const std::string& file_;
  BenchdnnChoice choice_;
  std::map<std::string, OptionReason> reasons_;  // by option name
  std::vector<ForeignProblem> benchmarks_;
};

}  // namespace

bool LooksLikeBenchdnn(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const auto end = std::min(text.find('\n', at), text.size());
    const auto tokens = BenchdnnTokens(text.substr(at, end - at));
    at = end + 1;
    if (tokens.empty()) continue;
    const std::string& word = tokens.front().text;
    return word.front() == '-' || IsProgram(word) || DriverOfProblem(word) != nullptr;
  }
  return false;
}

std::vector<ForeignProblem> ReadBenchdnn(std::string_view text, const std::string& file) {
  return Reader(file, BenchdnnTokens(text)).Take();
}

}  // namespace dlroof::suites
