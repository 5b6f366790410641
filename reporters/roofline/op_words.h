// Words for ops that reports use. Each op registers its own; context.dlroof.ops of a run file holds
// those of the program that wrote the file.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace dlroof::roofline {

// A parameter of an op's problems, as people call it.
struct SweepWord {
  std::string name;         // "image"
  std::string key;          // letters in a problem's text: "h"; "_s" follows the underscore
  std::string follow = {};  // keys that change with it, separated by blanks: a square kernel's
                            // width, padding that keeps the image's size
};

struct OpWords {
  std::string noun;              // one call of the op: "convolution"
  std::vector<SweepWord> sweep;  // in the order in which reports list them
};
using OpVocabulary = std::map<std::string, OpWords, std::less<>>;  // by the op's name

// Adds an op of this program. Returns true.
bool RegisterOpWords(const std::string& op, OpWords words);

// Returns the words of this program's ops, and those that `context` of a run file has for others.
// Takes any JSON: what is none of ours is passed over.
OpVocabulary WordsOf(const nlohmann::json& context);
// Returns what a call of the op is, by `words` or, where they are empty, by this program's. Returns
// "call" for an op that they lack.
std::string_view NounOf(std::string_view op, const OpVocabulary& words);
// Returns context.dlroof.ops.
nlohmann::json ToJson(const OpVocabulary& words);

// A parameter of one name, and the ops that have it under the same letters.
struct SweepParameter {
  SweepWord word;
  std::vector<std::string> ops;
};
// Returns each parameter once, in the order of the ops' names and of their lists.
std::vector<SweepParameter> SweepParameters(const OpVocabulary& words);
// Returns the names of the parameters, each once.
std::vector<std::string> SweepNames(const OpVocabulary& words);

// The text of a problem as keys and values: "n16c64_s2p0:1x0:1" has n 16, c 64, _s 2, _p 0:1x0:1.
struct ProblemPart {
  std::string key, value;
  std::size_t begin = 0, value_begin = 0, end = 0;  // in the text; the key's without its underscore
};
std::vector<ProblemPart> ProblemParts(std::string_view problem);

// Returns the texts that the problem may have with another value of this parameter, the likeliest
// first: an op has one text per problem, and leaves 1 out of some. A square image or kernel stays
// square, padding stays as it is.
std::vector<std::string> WithValue(std::string_view problem, const SweepWord& word,
                                   const std::string& value);

// Returns the keys that follow the parameter.
std::vector<std::string> Followers(const SweepWord& word);

}  // namespace dlroof::roofline
