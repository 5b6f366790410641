#include "reporters/record/run_context.h"

#include <algorithm>
#include <cctype>

#include "counters/base/error.h"
#include "reporters/record/run_file.h"

namespace dlroof::record {
namespace {

using nlohmann::json;

// [byte] Longer values are cut in messages.
constexpr std::size_t kLongestQuote = 80;

const json& ConventionsOf(const json& context) {
  return Member(Member(context, "dlroof"), "conventions");
}

// Returns whether this is a convention of counting FLOPs: "flops", or of one operator:
// "flops.conv2d".
bool IsOfFlops(const std::string& convention) {
  return convention == "flops" || convention.starts_with("flops.");
}

}  // namespace

std::string Quoted(const json& value) {
  auto text = value.is_string() ? value.get<std::string>()
                                : value.dump(-1, ' ', false, json::error_handler_t::replace);
  if (text.size() > kLongestQuote) text = text.substr(0, kLongestQuote - 3) + "...";
  return text;
}

void RefuseDifference(const std::string& base, const std::string& contender,
                      const std::string& what, const std::string& in_base,
                      const std::string& in_contender) {
  throw BadInput("{} and {} cannot be compared: {} differs: '{}' and '{}'", base, contender, what,
                 in_base, in_contender);
}

void CheckMember(const std::string& base, const std::string& contender, const json& in_base,
                 const json& in_contender, const std::string& key, const std::string& what) {
  const auto &a = Member(in_base, key.c_str()), &b = Member(in_contender, key.c_str());
  if (!a.is_null() && !b.is_null() && a != b)
    RefuseDifference(base, contender, what, Quoted(a), Quoted(b));
}

void CheckConventions(const std::string& base_where, const json& base,
                      const std::string& contender_where, const json& contender, bool of_flops) {
  const auto& conventions = ConventionsOf(base);
  if (!conventions.is_object()) return;
  for (const auto& item : conventions.items())
    if (of_flops || !IsOfFlops(item.key()))
      CheckMember(base_where, contender_where, conventions, ConventionsOf(contender), item.key(),
                  "the convention " + item.key());
}

std::vector<std::string> OtherFlopConventions(const json& base, const json& contender) {
  std::vector<std::string> others;
  const auto& conventions = ConventionsOf(base);
  if (!conventions.is_object()) return others;
  for (const auto& item : conventions.items()) {
    const auto& other = Member(ConventionsOf(contender), item.key().c_str());
    if (IsOfFlops(item.key()) && !other.is_null() && other != item.value())
      others.push_back(item.key());
  }
  return others;
}

bool CountFlopsAlike(const json& base, const json& contender, const std::string& op) {
  std::string of_op = "flops.";
  for (const char c : op) of_op += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return std::ranges::none_of(OtherFlopConventions(base, contender), [&](const std::string& key) {
    return key == "flops" || key == "flops.fma" || key == of_op;
  });
}

}  // namespace dlroof::record
