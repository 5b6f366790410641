#include "bench/benchdnn/batch.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "counters/base/error.h"

namespace dlroof {
namespace {

namespace fs = std::filesystem;

constexpr std::streamsize kMostBytes = 16 << 20;
constexpr std::string_view kBatch = "--batch=";

std::string WholeFile(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  std::string text(static_cast<size_t>(kMostBytes) + 1, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (stream.bad() || !stream.eof())
    throw BadInput("{} cannot be read, or is longer than 16 MiB", ShownText(path));
  text.resize(static_cast<size_t>(stream.gcount()));
  return text;
}

// Looks for the first driver in files that include others; each file is looked at once.
class DriverSearch {
 public:
  explicit DriverSearch(BenchdnnFiles& files) : files_(files) {}

  const BenchdnnDriver* In(const BenchdnnFile& file) {
    constexpr size_t kMostFiles = 1000;
    if (seen_.size() == kMostFiles || !seen_.insert(file.path).second) return nullptr;
    for (const auto& token : file.tokens)
      if (const auto* driver = Of(token.text, file)) return driver;
    return nullptr;
  }

 private:
  const BenchdnnDriver* Of(std::string_view text, const BenchdnnFile& file) {
    if (text.starts_with("--"))
      if (const auto* driver = FindBenchdnnDriver(text.substr(2))) return driver;
    if (text.substr(0, kBatch.size()) != kBatch) return DriverOfProblem(text);
    try {
      return In(files_.Batch(file, text.substr(kBatch.size())));
    } catch (const BadInput&) {
      return nullptr;  // refused, with its place, when its turn comes
    }
  }

  BenchdnnFiles& files_;
  std::set<std::string> seen_;
};

}  // namespace

BenchdnnFiles::BenchdnnFiles(const std::string& path, std::string_view text)
    : first_{path, BenchdnnTokens(text)} {}

std::string BenchdnnFiles::Locate(const BenchdnnFile& from, std::string_view name) const {
  std::vector<std::string_view> folders;
  for (const auto* driver : BenchdnnDrivers()) folders.push_back(driver->name);
  for (const auto* including : {&from, &first_})
    for (size_t i = 0; i <= folders.size(); ++i) {
      const auto folder = i == 0 ? std::string_view() : folders[i - 1];
      const auto path =
          (fs::path(including->path).parent_path() / folder / name).lexically_normal();
      std::error_code error;
      if (fs::is_regular_file(path, error)) return path.string();
    }
  throw BadInput("no file {} beside {} or in its folders {}", ShownText(name), ShownText(from.path),
                 fmt::join(folders, " and "));
}

const BenchdnnFile& BenchdnnFiles::Batch(const BenchdnnFile& from, std::string_view name) {
  if (name.empty() || name.find('\0') != std::string_view::npos)
    throw BadInput("expected a file after --batch=");
  const auto path = Locate(from, name);
  if (path == fs::path(first_.path).lexically_normal()) return first_;
  auto& file = read_[path];
  if (file == nullptr)
    file = std::make_unique<BenchdnnFile>(BenchdnnFile{path, BenchdnnTokens(WholeFile(path))});
  return *file;
}

const BenchdnnDriver& BenchdnnFiles::FirstDriver() {
  const auto* const found = DriverSearch(*this).In(first_);
  return found != nullptr ? *found : *FindBenchdnnDriver("conv");  // benchdnn's default
}

}  // namespace dlroof
