// A badge: a small picture for a README, a label and a verdict.
#pragma once

#include <string>
#include <string_view>

#include "baselines/compare/compare.h"

namespace dlroof::formats {

enum class BadgeMood { kGood, kBad, kUnknown };

// SVG with its text as text and as a title; nothing is loaded.
std::string BadgeSvg(std::string_view label, std::string_view text, BadgeMood mood);

// "3 slower" (bad), "no regression" or "2 faster" (good), "cannot say" (unknown).
std::string BadgeSvg(const compare::CompareResult& result);

}  // namespace dlroof::formats
