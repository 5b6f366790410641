// benchdnn, oneDNN's benchmark program: its drivers, each of which times one op (the op's folder
// defines its driver and registers it in its Op); the options of drivers with their defaults and
// values, and those that conv, ip and matmul share; the words of its command lines and batch files;
// and its command line for a primitive of oneDNN's log.
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

#include "bench/workload/benchmark_name.h"
#include "bench/workload/products.h"
#include "counters/base/error.h"
#include "counters/base/work.h"
#include "reporters/logs/primitive.h"

namespace dlroof::suites {

struct BenchdnnDriver;

// An option that changes what a problem computes.
struct BenchdnnOption {
  std::string_view name;
  std::string_view default_value;
  // The values with which dlroof has benchmarks, in any case and separated by blanks, beside the
  // default; "*" for any value.
  std::string_view values;
  std::string (*read)(std::string_view value) = nullptr;  // returns the canonical spelling
};

inline constexpr std::string_view kBenchdnnAny = "*";
inline constexpr std::string_view kBenchdnnFpmath = "strict bf16 f16 tf32 any";
inline constexpr std::string_view kBenchdnnDirections = "FWD_B FWD_D FWD_I BWD_D BWD_W BWD_WB";

// The values of one driver's options, as a command sets them one by one.
class BenchdnnChoice {
 public:
  explicit BenchdnnChoice(const BenchdnnDriver& driver);

  // Sets an option to `value`, or to its default if `value` is empty. Returns false if the driver
  // has no such option. Throws BadInput, and sets the default, for a value without benchmarks.
  bool Set(std::string_view option, std::string_view value);
  const BenchdnnDriver& Driver() const { return *driver_; }
  // Returns an option's value in its canonical spelling: "FWD_B", "u8:s8:u8", "relu"; "" for an
  // option that the driver lacks.
  std::string_view operator[](std::string_view option) const;
  // Returns the value of an option that ReadCount has read.
  int64_t Count(std::string_view option) const;

 private:
  const BenchdnnDriver* driver_;
  std::map<std::string_view, std::string> values_;  // of each option
};

// Returns whether an option of benchdnn does not change what a call computes: the option sets the
// measuring time, the output, or the implementations to skip.
bool IsIgnoredOption(std::string_view option);

// Readers of option values. Each returns the canonical spelling, from which names are made, and
// throws BadInput for a value of another form.
std::string ReadThree(std::string_view value);   // "u8:s8:u8"; one word is repeated for all
std::string ReadTypes(std::string_view value);   // as ReadThree, of an older spelling, "u8s8f32"
std::string ReadLayout(std::string_view value);  // "any", "nchw", "nhwc" (axb, acdb), or unchanged
std::string ReadCount(std::string_view value);   // an integer of at least 0
// Returns "src:common+wei:per_oc+dst:common", in this order, without scales of 1 for the whole
// tensor, which benchdnn does not set, and without the values, which are data of a call.
std::string ReadScales(std::string_view value);
// Returns short names in lower case, "sum+relu", without arguments that are the default.
std::string ReadPostOps(std::string_view value);

// One value of --dir and its meaning.
struct BenchdnnDirection {
  std::string_view dir;  // "FWD_I"
  ProductDirection direction;
  bool training, bias;
};
// Returns the meaning of --dir, which is one of kBenchdnnDirections.
const BenchdnnDirection& DirectionOf(const BenchdnnChoice& choice);
// Returns the value of --dir for a case ("FWD_I"), or nothing if benchdnn has none.
std::optional<std::string_view> DirOf(const workload::ProductCase& product);

// Returns the element types of --cfg (an older option: "u8s8f32", or one type for all tensors) if
// it is set, otherwise those of --dt.
workload::ProductTypes TypesOf(const BenchdnnChoice& choice);
// Returns "u8:s8:u8".
std::string DataTypesOf(const workload::ProductTypes& types);
// Returns "--dt=u8:s8:u8 ", or "" for the types that are benchdnn's default.
std::string TypesArgument(const workload::ProductTypes& types);

// Returns benchdnn's argument for the option `scales`, followed by a blank. The values in it may be
// any but 1, because a call reads its scales as data.
std::string ScalesArgument(const workload::ProductTypes& types);

// Returns --attr-post-ops for a case, followed by a blank, or nothing if it has none.
std::string PostOpsArgument(const workload::ProductCase& product);

// Returns why dlroof has no benchmark for these scales or post-ops. `post_ops` are those that the
// operator's benchmarks can have, as ReadPostOps writes them.
std::optional<Reason> AttributeReason(const BenchdnnChoice& choice,
                                      const workload::ProductTypes& types, bool forward,
                                      std::span<const std::string_view> post_ops);

// Returns training, bias, post-ops and scales as options of a name, in the order of names.
std::vector<std::string> ProductOptionsOf(const BenchdnnChoice& choice, bool training, bool bias);
// Appends the option fpmath-TYPE if the choice allows computing f32 in a narrower type.
void AddFpmathOption(const BenchdnnChoice& choice, std::vector<std::string>& options);

// The name of dlroof's benchmark, or the reason why it has none ("1-D convolution").
using BenchdnnName = std::variant<std::string, Reason>;

// The part of a call's work that benchdnn does not report (it reports FLOPs).
struct BenchdnnWork {
  std::map<Level, double> bytes;  // [byte] compulsory, at the levels that the op knows
  std::string type;               // element type, which determines the pipe of the matrix work
};

struct BenchdnnDriver {
  std::string_view name;  // "conv"
  std::span<const BenchdnnOption> options;
  // Returns whether the beginning of a text shows that it is a problem of this driver. Null: none
  // does, and the command needs the option --DRIVER.
  bool (*begins_problem)(std::string_view text);
  // Returns the benchmark that times a problem with the options. Throws BadInput for a text that is
  // no problem.
  std::function<BenchdnnName(std::string_view problem, const BenchdnnChoice& choice)> name_of;
  // Returns the work of a benchmark that `name_of` has returned.
  std::function<BenchdnnWork(const workload::BenchmarkName& name)> work;
  // The kinds of primitives in oneDNN's logs that this driver times: "convolution".
  std::span<const std::string_view> kinds;
  // Returns benchdnn's arguments for such a primitive (log_line.h), or nothing if it has none.
  std::optional<std::string> (*line)(const logs::Primitive& primitive);
};

// Returns the drivers of all ops, in the order of the ops' names.
std::vector<const BenchdnnDriver*> BenchdnnDrivers();
// Returns null for an unknown name.
const BenchdnnDriver* FindBenchdnnDriver(std::string_view name);
// Returns the driver whose begins_problem returns true, or null.
const BenchdnnDriver* DriverOfProblem(std::string_view text);

struct BenchdnnToken {
  std::string text;
  int line;  // from 1
};

// Splits a text into words at blanks and line ends. A word that begins with "#" begins a comment up
// to the line's end. A "\" alone or at the end of a word joins the words around it.
std::vector<BenchdnnToken> BenchdnnTokens(std::string_view text);

// Returns text for a message: shortened and without control characters, because a malicious file
// may contain long or unprintable text.
std::string ShownText(std::string_view text, size_t max_shown = 80);

// One field of a problem descriptor, such as "ic64": its key, and where to store its number. All
// drivers write descriptors as fields and then the problem's name after n (mb16_g1ic64n"name").
struct BenchdnnLetter {
  std::string_view key;
  int64_t* value;
};

// Parses a descriptor up to its end, or up to the "n" that begins the problem's name. If a key is
// repeated, its last number counts. Throws BadInput for an unknown key and for a number
// above 2^31-1.
void ReadLetters(std::string_view text, std::span<const BenchdnnLetter> letters);

// Throws BadInput with the field's key unless its number is above 0.
void RequireLetter(int64_t value, std::string_view key);

// Parses sizes with x between them, "12x128x64", from index `at` to the first character that is
// neither a digit nor x, and moves `at` there. Throws BadInput unless each is from 1 to
// 2^31-1.
std::vector<int64_t> ReadSizes(std::string_view text, size_t& at);

// Throws BadInput unless the problem's name or the text's end follows its sizes. benchdnn
// ignores what follows a size up to the name, and its batch files have names without n.
void ExpectName(std::string_view text, size_t at);

// Returns whether a descriptor begins with a field of one of the keys. Skips a field "mb" before
// it, because the descriptors of all drivers have that field.
bool BeginsWithLetter(std::string_view text, std::span<const std::string_view> keys);

// Returns the arguments of benchdnn that time the same call: "--conv --mode=P --dir=FWD_D ...".
// Layouts that the library chose, and blocked layouts, are "any". Returns nullopt if benchdnn has
// no driver for the kind, or no options for the attributes.
std::optional<std::string> BenchdnnLine(const logs::Primitive& primitive);

// The parts of a line. Each ends with a blank, or is empty where benchdnn's default is right.
// Returns "--dir=FWD_D ". With a bias, a forward call is FWD_B: benchdnn's inference has none.
std::string DirArgument(const logs::Primitive& primitive);
// Returns the types of source, weights and destination: "--dt=u8:s8:u8 ".
std::string TypesArgument(const logs::Primitive& primitive);
// Returns the layout of the role's tensor as the option: "--stag=acdb ".
std::string LayoutArgument(const logs::Primitive& primitive, std::string_view role,
                           std::string_view option);
// Returns "--attr-post-ops=sum+eltwise_relu ".
std::string PostOpsArgument(const logs::Primitive& primitive);

// Returns the type of the role's tensor; "f32" if the log does not print it.
std::string TypeOf(const logs::Primitive& primitive, std::string_view role);
// Returns the role of the source: "src", or "data" where the log has one tensor for source and
// destination (oneDNN 2).
std::string SourceRole(const logs::Primitive& primitive);
// Returns the types of source and destination: "bf16:bf16".
std::string TypePair(const logs::Primitive& primitive);
// Returns the arguments for source and destination of a kind without weights: types and layouts,
// "--sdt=bf16 --ddt=bf16 --stag=ab ", without benchdnn's defaults. Logs of oneDNN 2 have one tensor
// for both ("data").
std::string InAndOutArguments(const logs::Primitive& primitive);

// Returns the line of a driver for filters on images: conv, deconv.
std::string FilterLine(const logs::Primitive& primitive, std::string_view driver);

}  // namespace dlroof::suites
