// Translates between dlroof's benchmarks and benchdnn, oneDNN's benchmark program. benchdnn has a
// driver per kind of operator, which the operator's folder registers. Reads command lines and batch
// files, and writes the command line for a primitive in oneDNN's log.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "bench/workload/products.h"
#include "bench/workload/workload.h"
#include "counters/base/error.h"
#include "counters/base/work.h"
#include "reporters/logs/primitive.h"

namespace dlroof::suites {

struct BenchdnnDriver;

// An option that changes what a problem computes.
struct BenchdnnOption {
  std::string_view name;
  std::string_view default_value;
  // Other values for which dlroof has benchmarks, separated by blanks. Case is ignored. "*": all.
  std::string_view values;
  std::string (*read)(std::string_view value) = nullptr;  // returns canonical spelling
};

inline constexpr std::string_view kBenchdnnAny = "*";
inline constexpr std::string_view kBenchdnnFpmath = "strict bf16 f16 tf32 any";
inline constexpr std::string_view kBenchdnnDirections = "FWD_B FWD_D FWD_I BWD_D BWD_W BWD_WB";

// Values of a driver's options, set one by one by a command line.
class BenchdnnChoice {
 public:
  explicit BenchdnnChoice(const BenchdnnDriver& driver);

  // Sets an option to `value`, or to its default if `value` is empty. Returns false if the driver
  // lacks the option. For a value without benchmarks sets the default and throws BadInput.
  bool Set(std::string_view option, std::string_view value);
  const BenchdnnDriver& Driver() const { return *driver_; }
  // Returns an option's canonical value ("FWD_B", "u8:s8:u8", "relu"), or "" if there is none.
  std::string_view operator[](std::string_view option) const;
  // Returns the value of an option that ReadCount reads, or 0 if the driver lacks the option.
  int64_t Count(std::string_view option) const;

 private:
  const BenchdnnDriver* driver_;
  std::map<std::string_view, std::string> values_;  // by option name
};

// Returns whether the option changes only benchdnn's run (duration, output, skips), not the call.
bool IsIgnoredOption(std::string_view option);

// Read option values. Return dlroof's spelling. Throw BadInput for a malformed value.
std::string ReadThree(std::string_view value);   // "u8:s8:u8"; "u8" means "u8:u8:u8"
std::string ReadTypes(std::string_view value);   // as ReadThree; also reads "u8s8f32" (old)
std::string ReadLayout(std::string_view value);  // abx, abcd: "nchw"; axb, acdb: "nhwc"; or as is
std::string ReadCount(std::string_view value);   // an integer >= 0
// Returns "src:common+wei:per_oc+dst:common", in this order. Omits scales of 1 for the whole
// tensor, which benchdnn does not set, and the values of all scales, which change no call.
std::string ReadScales(std::string_view value);
// Returns short lower-case names, "sum+relu", without default arguments.
std::string ReadPostOps(std::string_view value);

// One value of --dir and its meaning.
struct BenchdnnDirection {
  std::string_view dir;  // "FWD_I"
  ProductDirection direction;
  bool training, bias;
};
// Returns the meaning of --dir. Its value is one of kBenchdnnDirections.
const BenchdnnDirection& DirectionOf(const BenchdnnChoice& choice);
// Returns the value of --dir for a case ("FWD_I"), or nullopt if benchdnn has none.
std::optional<std::string_view> DirOf(const workload::ProductCase& product);

// Returns the types of --cfg (an old option: "u8s8f32", or one type for all), else of --dt.
workload::ProductTypes TypesOf(const BenchdnnChoice& choice);
// Returns "u8:s8:u8".
std::string DataTypesOf(const workload::ProductTypes& types);
// Returns "--dt=u8:s8:u8 ", or "" for benchdnn's default types.
std::string TypesArgument(const workload::ProductTypes& types);

// Returns benchdnn's argument for dlroof's option `scales`, with a blank at the end. Its scale
// values (any but 1) do not matter, because calls read them as data.
std::string ScalesArgument(const workload::ProductTypes& types);

// Returns "--attr-post-ops=... " for a case, or "" if it has none.
std::string PostOpsArgument(const workload::ProductCase& product);

// Returns why dlroof has no benchmark with these scales or post-ops, or nullopt. `post_ops`: those
// supported by the operator's benchmarks, spelled as by ReadPostOps.
std::optional<Reason> AttributeReason(const BenchdnnChoice& choice,
                                      const workload::ProductTypes& types, bool forward,
                                      std::span<const std::string_view> post_ops);

// Returns training, bias, post-ops and scales as options of a benchmark name, in canonical order.
std::vector<std::string> ProductOptionsOf(const BenchdnnChoice& choice, bool training, bool bias);
// Appends the option fpmath-TYPE if f32 may be computed in a narrower type.
void AddFpmathOption(const BenchdnnChoice& choice, std::vector<std::string>& options);

// The name of dlroof's benchmark, or why there is none ("1-D convolution").
using BenchdnnName = std::variant<std::string, Reason>;

// What benchdnn does not report of a call's work. It reports FLOPs.
struct BenchdnnWork {
  std::map<Level, double> bytes;  // [byte] compulsory traffic; known levels only
  std::string type;               // element type; determines the pipe of the matrix work
};

struct BenchdnnDriver {
  std::string_view name;  // "conv"
  std::span<const BenchdnnOption> options;
  // Returns whether the text begins like a problem of this driver. Null: problems need --DRIVER.
  bool (*begins_problem)(std::string_view text) = nullptr;
  // Returns the benchmark of the problem with these options. Its name may be invalid because of the
  // sizes: they overflow 64 bits or do not fit each other. Throws BadInput for other text.
  std::function<BenchdnnName(std::string_view problem, const BenchdnnChoice& choice)> name_of = {};
  // Returns the work of a benchmark returned by `name_of`.
  std::function<BenchdnnWork(const workload::BenchmarkName& name)> work = {};
  // Primitive kinds in oneDNN's logs that this driver times: "convolution".
  std::span<const std::string_view> kinds = {};
  // Returns BenchdnnLine of a primitive of these kinds.
  std::optional<std::string> (*line)(const logs::Primitive& primitive) = nullptr;
};

// Returns the drivers of all operators, sorted by operator name.
std::vector<const BenchdnnDriver*> BenchdnnDrivers();
// Returns the driver with this name, or null.
const BenchdnnDriver* FindBenchdnnDriver(std::string_view name);
// Returns the driver whose begins_problem accepts the text, or null.
const BenchdnnDriver* DriverOfProblem(std::string_view text);

struct BenchdnnToken {
  std::string text;
  int line;  // from 1
};

// Splits a text into words at blanks and line ends. A word that begins with "#" starts a comment
// that extends to the end of the line. "\" alone or at the end of a word joins the words around it.
std::vector<BenchdnnToken> BenchdnnTokens(std::string_view text);

// Returns the text for a message: shortened, and without control characters (of malicious files).
std::string ShownText(std::string_view text, size_t max_shown = 80);

// A field of a problem descriptor, such as "ic64": its key, and where to store the number.
// Descriptors consist of fields followed by "n" and the problem's name (mb16_g1ic64n"name").
struct BenchdnnLetter {
  std::string_view key;
  int64_t* value;
};

// Parses a descriptor up to its end, or to the "n" before the problem's name. The last number of a
// repeated key counts. Throws BadInput for an unknown key and a number above 2^31-1.
void ReadLetters(std::string_view text, std::span<const BenchdnnLetter> letters);

// Throws BadInput, which names the key, unless the number is above 0.
void RequireLetter(int64_t value, std::string_view key);

// Parses sizes such as "12x128x64" from index `at` to the first character that is neither a digit
// nor x, and moves `at` there. Throws BadInput unless each is between 1 and 2^31-1.
std::vector<int64_t> ReadSizes(std::string_view text, size_t& at);

// Throws BadInput unless the sizes end at index `at`: with the text, before the problem's name ("n"
// or, in batch files, a quotation mark), or before "_" and text that benchdnn ignores.
void ExpectName(std::string_view text, size_t at);

// Returns whether a descriptor begins with one of the keys, perhaps after "mb" and its number. The
// key "mb" itself does not count, because all drivers have it.
bool BeginsWithLetter(std::string_view text, std::span<const BenchdnnLetter> letters);

// Returns benchdnn's arguments that time the logged primitive: "--conv --mode=P --dir=FWD_D ...".
// Layouts chosen by the library and blocked layouts become "any". Returns nullopt if benchdnn has
// no driver for the kind of primitive, or no options for its attributes.
std::optional<std::string> BenchdnnLine(const logs::Primitive& primitive);

// The parts of BenchdnnLine's text. Each ends with a blank, or is empty for benchdnn's default.
// Returns "--dir=FWD_D ". Inference with bias becomes FWD_B, because FWD_I has no bias.
std::string DirArgument(const logs::Primitive& primitive);
// Returns the types of source, weights and destination: "--dt=u8:s8:u8 ".
std::string TypesArgument(const logs::Primitive& primitive);
// Returns the layout of the tensor with this role ("src", ...) as the option: "--stag=acdb ".
std::string LayoutArgument(const logs::Primitive& primitive, std::string_view role,
                           std::string_view option);
// Returns "--attr-post-ops=sum+eltwise_relu ".
std::string PostOpsArgument(const logs::Primitive& primitive);

// Returns the type of the tensor with this role; "f32" if the log does not contain it.
std::string TypeOf(const logs::Primitive& primitive, std::string_view role);
// Returns the role of the source: "src", or "data" in logs of oneDNN 2 without a destination.
std::string SourceRole(const logs::Primitive& primitive);
// Returns the types of source and destination: "bf16:bf16".
std::string TypePair(const logs::Primitive& primitive);
// Returns types and layouts of source and destination for a primitive without weights: "--sdt=bf16
// --ddt=bf16 --stag=ab ", without benchdnn's defaults. oneDNN 2 logs one tensor "data" for both.
std::string InAndOutArguments(const logs::Primitive& primitive);

// Returns the line for drivers whose problems are filters on images: conv, deconv.
std::string FilterLine(const logs::Primitive& primitive, std::string_view driver);

}  // namespace dlroof::suites
