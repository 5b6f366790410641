#include "reporters/text/text.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <ostream>

namespace dlroof {
namespace {

using Row = std::vector<std::string>;

constexpr int kLeastName = 40;  // columns; less does not tell benchmarks apart
constexpr int kGap = 2;         // [columns] between two cells

// Bytes of the character that starts at text[at]; 0 when it is not valid UTF-8.
std::size_t CharacterLength(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
  };
  const unsigned first = byte(at);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(at + i) & 0xC0) != 0x80) return 0;
  // Overlong forms, surrogates and what lies beyond U+10FFFF.
  const unsigned second = byte(at + 1);
  const bool outside = (first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F) ||
                       (first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F);
  return outside ? 0 : length;
}

std::vector<std::string_view> Characters(std::string_view text) {
  std::vector<std::string_view> characters;
  for (std::size_t at = 0; at < text.size();) {
    const auto length = std::max<std::size_t>(1, CharacterLength(text, at));
    characters.push_back(text.substr(at, length));
    at += length;
  }
  return characters;
}

void AddSpaces(int count, std::string& line) {
  line.append(static_cast<std::size_t>(std::max(0, count)), ' ');
}

void AddNumbers(const Row& row, const std::vector<int>& widths, std::string& line) {
  for (std::size_t i = 1; i < row.size(); ++i) {
    AddSpaces(kGap + widths[i] - TextWidth(row[i]), line);
    line += row[i];
  }
  line.resize(line.find_last_not_of(" \n") + 1);
}

}  // namespace

std::string AlignedLine(const Row& row, const std::vector<int>& widths) {
  std::string line = row[0];
  AddSpaces(widths[0] - TextWidth(line), line);
  AddNumbers(row, widths, line);
  return line;
}

void WriteAligned(const std::vector<Row>& rows, int width, std::ostream& out) {
  std::vector<int> widths(rows.front().size(), 0);
  for (const Row& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], TextWidth(row[i]));
  int numbers = 0;
  for (std::size_t i = 1; i < widths.size(); ++i) numbers += widths[i] + kGap;
  const int room = width > 0 ? width - numbers : widths[0];
  const bool own_line = room < std::min(widths[0], kLeastName);
  const int name_width = own_line ? std::max(kLeastName, width) : std::min(widths[0], room);
  widths[0] = name_width;
  for (Row row : rows) {
    row[0] = ShortenMiddle(row[0], name_width);
    if (own_line) {
      std::string line = row[0] + '\n';
      AddNumbers(row, widths, line);
      out << line << '\n';
    } else {
      out << AlignedLine(row, widths) << '\n';
    }
  }
}

int TextWidth(std::string_view utf8) {
  const bool ascii = std::all_of(utf8.begin(), utf8.end(),
                                 [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  if (ascii) return static_cast<int>(utf8.size());
  return static_cast<int>(Characters(utf8).size());
}

std::string ShortenMiddle(const std::string& utf8, int width) {
  if (utf8.size() <= static_cast<std::size_t>(std::max(0, width))) return utf8;
  const auto characters = Characters(utf8);
  const auto count = static_cast<int>(characters.size());
  if (count <= width || width < 1) return utf8;
  // The end tells benchmarks apart more often than the start: it gets the odd one.
  const int head = (width - 1) / 2, tail = width - 1 - head;
  std::string text;
  for (int i = 0; i < head; ++i) text += characters[i];
  text += "…";
  for (int i = count - tail; i < count; ++i) text += characters[i];
  return text;
}

bool IsUtf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const auto length = CharacterLength(text, at);
    if (length == 0) return false;
    at += length;
  }
  return true;
}

std::string Printable(std::string_view text) {
  const bool plain =
      std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c < 0x7F; });
  if (plain) return std::string(text);
  std::string printable;
  for (std::size_t at = 0; at < text.size();) {
    const auto length = CharacterLength(text, at);
    const auto first = static_cast<unsigned char>(text[at]);
    // C0, DEL, and C1 (U+0080 to U+009F), which some terminals obey too.
    const bool control =
        first < 0x20 || first == 0x7F ||
        (first == 0xC2 && length == 2 && static_cast<unsigned char>(text[at + 1]) < 0xA0);
    if (length == 0 || control)
      printable += '?';
    else
      printable += text.substr(at, length);
    at += std::max<std::size_t>(1, length);
  }
  return printable;
}

int TerminalColumns() {
  winsize size = {};
  if (isatty(STDOUT_FILENO) == 0 || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return 0;
  return size.ws_col;
}

}  // namespace dlroof
