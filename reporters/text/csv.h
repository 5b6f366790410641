// CSV as other tools write it (RFC 4180), each field knowing where it stands.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dlroof::text {

struct CsvField {
  std::string text;
  int line = 0, column = 0;  // of its first character, from 1
};

using CsvRow = std::vector<CsvField>;  // never empty

// The rows of `text`, empty lines left out. Fields may be quoted ("" is a quote in them) and then
// hold commas and line ends. Throws BadInput ("WHERE:LINE: column N: ...") for a quote that is not
// closed or not alone in its field, and for text that is not UTF-8.
// `line` is the number of the text's first line: of a part of a long file.
std::vector<CsvRow> ReadCsv(std::string_view text, const std::string& where, int line = 1);

// "FILE:3: column 17", the start of every message about a field.
std::string PlaceOf(const CsvField& field, const std::string& where);

// A number of at most 1e30 that fills the field; absent where it is empty. Throws BadInput
// otherwise.
std::optional<double> CsvNumber(const CsvField& field, const std::string& where);
// The same of a number that cannot be below 0.
std::optional<double> CsvNumberFromZero(const CsvField& field, const std::string& where);

// Returns the index of each of `names` in the header, in the order of `names`; absent: the header
// lacks it. Throws BadInput for another column, one that stands twice, and where one of the first
// `needed` names lacks.
std::vector<std::optional<std::size_t>> CsvColumns(const CsvRow& header,
                                                   std::span<const std::string_view> names,
                                                   std::size_t needed, const std::string& where);

// Throws BadInput unless a row has as many fields as the header.
void RequireFields(const CsvRow& row, const CsvRow& header, const std::string& where);

}  // namespace dlroof::text
