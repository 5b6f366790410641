// benchdnn's drivers (each times one op; the op's folder defines its driver and registers it in its
// Op row), the options of drivers with their defaults and values, and the options that the drivers
// conv, ip and matmul share, for cases of bench/products.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "bench/products/case.h"
#include "bench/workload/benchmark_name.h"
#include "counters/base/error.h"
#include "counters/work.h"

namespace dlroof::benchdnn {

struct BenchdnnDriver;

// An option that changes which call a problem stands for. benchdnn runs every combination of the
// values of all options.
struct BenchdnnOption {
  std::string_view name;
  std::string_view default_value;
  std::string_view words;  // the allowed values, separated by blanks, in any case, if not `read`
  std::string (*read)(std::string_view value) = nullptr;  // returns the canonical spelling
};

inline constexpr std::string_view kBenchdnnFpmath = "strict bf16 f16 tf32 any";

// One value of each option of a driver.
class BenchdnnChoice {
 public:
  BenchdnnChoice(std::span<const BenchdnnOption> options, std::vector<std::string_view> values)
      : options_(options), values_(std::move(values)) {}

  // Returns the value in its canonical spelling: "FWD_B", "u8:s8:u8", "relu".
  std::string_view operator[](std::string_view option) const;
  // Returns the value of an integer option.
  int64_t Count(std::string_view option) const;
  bool IsDefault(std::string_view option) const;
  // Returns the options that differ from their defaults: "--dir=FWD_I --alg=wino ".
  std::string Arguments() const;

 private:
  std::span<const BenchdnnOption> options_;
  std::vector<std::string_view> values_;
};

// The values of one driver's options.
class BenchdnnSettings {
 public:
  explicit BenchdnnSettings(const BenchdnnDriver& driver);

  // Sets an option to `values`, which are separated by commas, or to its default if there are none.
  // Returns false if the driver has no such option. Throws BenchdnnRefusal (offset within `values`)
  // for an invalid value.
  bool Set(std::string_view option, std::string_view values);
  const BenchdnnDriver& Driver() const { return *driver_; }
  uint64_t Combinations() const;  // of all values, at most 2^32
  BenchdnnChoice Choice(uint64_t index) const;

 private:
  const BenchdnnDriver* driver_;
  std::vector<std::vector<std::string>> values_;  // of each option
};

// Returns whether an option of benchdnn does not change what is computed: how long it measures,
// what it prints, which of the library's implementations it skips. Throws BenchdnnRefusal (offset
// within `value`) for an invalid value.
bool IsIgnoredOption(std::string_view option, std::string_view value);

// Returns the member of `words` that equals `value` in any case, or throws BenchdnnRefusal.
std::string_view OneOf(std::string_view words, std::string_view value);

// Returns why the options that all drivers share prevent a benchmark.
std::optional<Reason> CommonReason(const BenchdnnChoice& choice);

// Readers of the values of options. Each returns the canonical spelling, which the mapping to our
// names uses, and throws BenchdnnRefusal (offset within the value) for what benchdnn would refuse.
std::string ReadDataTypes(std::string_view value);  // "u8:s8:u8", also if one type is for all three
std::string ReadLayout(std::string_view value);   // "any", "nchw", "nhwc" (axb, acdb), or unchanged
std::string ReadCount(std::string_view value);    // an integer from 0
std::string ReadBool(std::string_view value);     // "true", "false"
std::string ReadThreads(std::string_view value);  // "auto", or unchanged
// Returns "src:common+wei:per_oc+dst:common", in this order, without scales of 1 for the whole
// tensor, which benchdnn does not set, and without the values, which a call gets as data.
std::string ReadScales(std::string_view value);
std::string ReadZeroPoints(std::string_view value);  // as ReadScales
// Returns the short names, "sum+relu", with "relu:slope" for a ReLU with a slope.
std::string ReadPostOps(std::string_view value);

// The value of --dir.
struct BenchdnnDirection {
  std::string_view dir;  // "FWD_I"
  ProductDirection direction;
  bool training, bias;
};
// Returns null if dlroof does not have the direction.
const BenchdnnDirection* FindDirection(const BenchdnnChoice& choice);
// Returns the value of --dir for a case ("FWD_I"), if benchdnn has one.
std::optional<std::string_view> DirOf(const products::ProductCase& one);

// Returns the types of --cfg (an older spelling, "u8s8f32", or one type for all) if it is set,
// otherwise those of --dt.
products::ProductTypes TypesOf(const BenchdnnChoice& choice);
// Returns "u8:s8:u8".
std::string DataTypesOf(const products::ProductTypes& types);
// Returns "--dt=u8:s8:u8 ", or "" for benchdnn's default.
std::string TypesArgument(const products::ProductTypes& types);

// Returns benchdnn's argument for the option `scales`, followed by a blank. Calls get the scales as
// data, so the argument may contain any values but 1.
std::string ScalesArgument(const products::ProductTypes& types);

// Returns why scales, zero points, post-ops or the context prevent a benchmark.
std::optional<Reason> AttributeReason(const BenchdnnChoice& choice,
                                      const products::ProductTypes& types, bool forward);

// Returns the first options of a name, in its order: those from --dir, relu and scales.
std::vector<std::string> ProductOptionsOf(const BenchdnnChoice& choice, bool training, bool bias);
// Appends the option that lets f32 be computed in a narrower type.
void AddFpmathOption(const BenchdnnChoice& choice, std::vector<std::string>& options);

// The name of our benchmark, or the reason why there is none ("3-D convolution").
using BenchdnnName = std::variant<std::string, Reason>;

struct BenchdnnProblem {
  std::string listed;  // as benchdnn lists it, without its name
  // Returns the benchmark that times the problem with these options.
  std::function<BenchdnnName(const BenchdnnChoice&)> name;
};

// What benchdnn does not report about a call (it reports the FLOPs).
struct BenchdnnWork {
  std::map<Level, double> bytes;  // [byte] compulsory, at the levels where the op knows them
  std::string type;               // determines the pipe of the matrix part
};

struct BenchdnnDriver {
  std::string_view name;  // "conv"
  // In the order in which the driver nests its loops over them, the last one innermost.
  std::span<const BenchdnnOption> options;
  bool has_match = false;  // the driver has --match, which filters problems
  // Returns whether a text begins like a problem of this driver and of no other one.
  bool (*begins_problem)(std::string_view text);
  // Throws BenchdnnRefusal.
  BenchdnnProblem (*read)(const std::string& text);
  // `name` is of a benchmark from BenchdnnProblem::name of this or another driver of the same op.
  BenchdnnWork (*work)(const workload::BenchmarkName& name);
};

// Returns the drivers of all ops, in the order of the ops' names.
std::vector<const BenchdnnDriver*> BenchdnnDrivers();
// Returns null if there is no driver of this name.
const BenchdnnDriver* FindBenchdnnDriver(std::string_view name);
// Returns the driver for which begins_problem is true, or null.
const BenchdnnDriver* DriverOfProblem(std::string_view text);

}  // namespace dlroof::benchdnn
