// benchdnn's options: their defaults and their values. Each driver has a table of its own.
//
// Words of benchdnn's drivers conv, ip and matmul for what bench/products has in a case.
//
// Drivers of benchdnn, each of which times one op. An op's folder has its driver's options,
// problems and names, and hands them over in its Op row.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/products/case.h"
#include "bench/workload/benchmark_name.h"
#include "counters/work.h"

namespace dlroof::benchdnn {

struct BenchdnnDriver;

// An option whose values say which call a problem stands for; benchdnn runs every combination of
// the values of all of them.
struct BenchdnnOption {
  std::string_view name;
  std::string_view default_value;
  std::string_view words;  // that a value may be, separated by blanks, in any case; else `read`
  std::string (*read)(std::string_view value) = nullptr;  // to its one spelling; or refuses
};

inline constexpr std::string_view kBenchdnnFpmath = "strict bf16 f16 tf32 any";

// One value of each option of a driver.
class BenchdnnChoice {
 public:
  BenchdnnChoice(std::span<const BenchdnnOption> options, std::vector<std::string_view> values)
      : options_(options), values_(std::move(values)) {}

  // In its one spelling: "FWD_B", "u8:s8:u8", "relu"; see the readers in the .cpp.
  std::string_view operator[](std::string_view option) const;
  // The value of an integer option.
  int64_t Count(std::string_view option) const;
  bool IsDefault(std::string_view option) const;
  // "--dir=FWD_I --alg=wino ": the options that are not at their defaults.
  std::string Arguments() const;

 private:
  std::span<const BenchdnnOption> options_;
  std::vector<std::string_view> values_;
};

// The values of one driver's options.
class BenchdnnSettings {
 public:
  explicit BenchdnnSettings(const BenchdnnDriver& driver);

  // False where the driver has no such option. `values`: separated by commas; nothing stands for
  // the default. Throws BenchdnnRefusal (offset within `values`) for a value that is none.
  bool Set(std::string_view option, std::string_view values);
  const BenchdnnDriver& Driver() const { return *driver_; }
  uint64_t Combinations() const;  // as a problem has them; stops counting at 2^32
  BenchdnnChoice Choice(uint64_t index) const;

 private:
  const BenchdnnDriver* driver_;
  std::vector<std::vector<std::string>> values_;  // of each option
};

// True for an option of benchdnn that does not change what is computed: how long it measures, what
// it prints, which of the library's implementations it passes over. Its value is checked: throws
// BenchdnnRefusal (offset within `value`).
bool IsIgnoredOption(std::string_view option, std::string_view value);

// Throws BenchdnnRefusal unless `value` is one of `words` (any case); its spelling there.
std::string_view OneOf(std::string_view words, std::string_view value);

// Returns why options that drivers share lead to no benchmark; empty where they do not stand in the
// way.
std::string CommonReason(const BenchdnnChoice& choice);

// Readers of the values of options: each gives the one spelling that the mapping to our names
// compares with, and throws BenchdnnRefusal (offset within the value) for what benchdnn would not
// take.
std::string ReadDataTypes(std::string_view value);  // "u8:s8:u8"; "f32" stands for all three
std::string ReadLayout(std::string_view value);  // "any", "nhwc" for axb and acdb, "nchw", or as is
std::string ReadCount(std::string_view value);   // an integer from 0
std::string ReadBool(std::string_view value);    // "true", "false"
std::string ReadThreads(std::string_view value);  // "auto", or as it is
// "src:common+wei:per_oc+dst:common": in this order, without scales of 1 for the whole tensor,
// which benchdnn does not set, and without their values, which a call gets as data.
std::string ReadScales(std::string_view value);
std::string ReadZeroPoints(std::string_view value);  // likewise
// "relu", "sum+relu": kinds under their short names, "relu:slope" where it has one.
std::string ReadPostOps(std::string_view value);

// The value of --dir.
struct BenchdnnDirection {
  std::string_view dir;  // "FWD_I"
  ProductDirection direction;
  bool training, bias;
};
// Returns null for a direction that is none of ours.
const BenchdnnDirection* FindDirection(const BenchdnnChoice& choice);
// Returns "FWD_I"; empty where there is none.
std::string_view DirOf(const products::ProductCase& one);

// Returns the types of --cfg, an older spelling ("u8s8f32", or one for all), else those of --dt.
products::ProductTypes TypesOf(const BenchdnnChoice& choice);
// Returns "u8:s8:u8".
std::string DataTypesOf(const products::ProductTypes& types);
// Returns "--dt=u8:s8:u8 ", without what is benchdnn's default.
std::string TypesArgument(const products::ProductTypes& types);

// Returns the argument of the option `scales` with a blank behind it. Calls get the scales as data:
// any value but 1 will do.
std::string ScalesArgument(const products::ProductTypes& types);

// Returns why scales, zero points, post-ops or the context lead to no benchmark; empty: they do.
std::string AttributeReason(const BenchdnnChoice& choice, const products::ProductTypes& types,
                            bool forward);

// The options of a name, in its order: those that --dir says, relu and scales.
std::vector<std::string> ProductOptionsOf(const BenchdnnChoice& choice, bool training, bool bias);
// Appends the option by which f32 may be computed in a narrower type.
void AddFpmathOption(const BenchdnnChoice& choice, std::vector<std::string>& options);

struct BenchdnnName {
  std::string name;    // of our benchmark; empty: there is none
  std::string reason;  // why not: "3-D convolution"
};

struct BenchdnnProblem {
  std::string listed;  // as benchdnn lists it, without its name
  // Returns the benchmark that times the problem with these options.
  std::function<BenchdnnName(const BenchdnnChoice&)> name;
};

// A call of which benchdnn tells the FLOPs alone.
struct BenchdnnWork {
  std::map<Level, double> bytes;  // [byte] compulsory; empty: not known
  std::string type;               // that decides the pipe of its matrix part
};

struct BenchdnnDriver {
  std::string_view name;  // "conv"
  // In the order in which the driver nests its loops over them, the last innermost.
  std::span<const BenchdnnOption> options;
  bool has_match = false;  // --match leaves problems out
  // Returns true for a text that begins as a problem of this driver alone.
  bool (*begins_problem)(std::string_view text);
  // Throws BenchdnnRefusal.
  BenchdnnProblem (*read)(const std::string& text);
  // `name`: of a benchmark that BenchdnnProblem::name gave, or another driver of the same op.
  BenchdnnWork (*work)(const workload::BenchmarkName& name);
};

// Returns the drivers of all ops, in the order of the ops' names.
std::vector<const BenchdnnDriver*> BenchdnnDrivers();
// Returns null where there is none of this name.
const BenchdnnDriver* FindBenchdnnDriver(std::string_view name);
// Returns the driver whose problem a text begins like, else null.
const BenchdnnDriver* DriverOfProblem(std::string_view text);

}  // namespace dlroof::benchdnn
