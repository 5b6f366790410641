// Compares what the contexts of two run files say: members that must be the same, and conventions
// (context.dlroof.conventions). Pure.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace dlroof::record {

// Returns a value for a message; long ones are cut.
std::string Quoted(const nlohmann::json& value);

// Throws BadInput: the two runs cannot be compared, because `what` differs.
[[noreturn]] void RefuseDifference(const std::string& base, const std::string& contender,
                                   const std::string& what, const std::string& in_base,
                                   const std::string& in_contender);

// Throws BadInput if both objects have the member `key`, with different values.
void CheckMember(const std::string& base, const std::string& contender,
                 const nlohmann::json& in_base, const nlohmann::json& in_contender,
                 const std::string& key, const std::string& what);

// Throws BadInput if a convention has different values in the two contexts; with `of_flops` also
// those of counting FLOPs.
void CheckConventions(const std::string& base_where, const nlohmann::json& base,
                      const std::string& contender_where, const nlohmann::json& contender,
                      bool of_flops = true);

// Returns the conventions of counting FLOPs, such as "flops.conv2d", whose values differ between
// the two contexts.
std::vector<std::string> OtherFlopConventions(const nlohmann::json& base,
                                              const nlohmann::json& contender);
// Returns whether both contexts count this operator's FLOPs alike (also if either does not say). If
// not, FLOPs, FLOP/s and percentages of roofs of the two are not comparable.
bool CountFlopsAlike(const nlohmann::json& base, const nlohmann::json& contender,
                     const std::string& op);

}  // namespace dlroof::record
