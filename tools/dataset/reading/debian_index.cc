#include "tools/dataset/reading/debian_index.h"

#include <fstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "shared/base/status.h"
#include "tools/dataset/reading/number_text.h"

namespace fgnn {
namespace {

constexpr char kAptHelper[] = "/usr/lib/apt/apt-helper";

bool SameField(std::string_view name, const char* wanted) {
  return absl::EqualsIgnoreCase({name.data(), name.size()}, wanted);
}

// Returns true for formats that zlib does not read: xz, lz4, zstd, bzip2.
bool IsForeignCompression(const std::filesystem::path& path) {
  char head[4] = {};
  std::ifstream(path, std::ios::binary).read(head, sizeof(head));
  for (const std::string_view magic :
       {std::string_view("\xFD\x37\x7A\x58"),
        std::string_view("\x04\x22\x4D\x18"),
        std::string_view("\x28\xB5\x2F\xFD"), std::string_view("BZh")}) {
    if (std::string_view(head, magic.size()) == magic) return true;
  }
  return false;
}

void StripArchiveArea(std::string* section) {
  const size_t slash = section->rfind('/');
  if (slash != std::string::npos) section->erase(0, slash + 1);
}

// Returns the file names that apt-get gives for its Packages indexes and
// `filters`.
absl::StatusOr<std::vector<std::filesystem::path>> ListIndexes(
    const std::vector<std::string>& filters) {
  std::vector<std::string> argv = {"apt-get", "indextargets", "--format",
                                   "$(FILENAME)", "Created-By: Packages"};
  argv.insert(argv.end(), filters.begin(), filters.end());
  absl::StatusOr<LineReader> lines = LineReader::OpenCommand(argv);
  if (!lines.ok()) {
    return absl::NotFoundError(
        absl::StrCat(MessageOf(lines.status()),
                     "; on a machine without apt name a Packages file"));
  }
  std::vector<std::filesystem::path> paths;
  std::string_view line;
  for (;;) {
    FGNN_ASSIGN_OR_RETURN(const bool more, lines->Next(&line));
    if (!more) return paths;
    if (!line.empty()) paths.emplace_back(std::string(line));
  }
}

}  // namespace

absl::StatusOr<DebianIndexReader> DebianIndexReader::Open(
    const std::filesystem::path& path) {
  absl::StatusOr<LineReader> lines =
      IsForeignCompression(path)
          ? LineReader::OpenCommand({kAptHelper, "cat-file", path.string()})
          : LineReader::OpenFile(path);
  if (!lines.ok()) return lines.status();
  return DebianIndexReader(*std::move(lines));
}

absl::Status DebianIndexReader::TakeLine(std::string_view line,
                                         DebianPackage* package) {
  if (line.front() == ' ' || line.front() == '\t') {
    if (field_ != nullptr) {
      absl::StrAppend(field_, " ", std::string(TrimBlanks(line)));
    }
    return absl::OkStatus();
  }
  field_ = nullptr;
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos || colon == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(lines_.Place(), ": '", std::string(line.substr(0, 60)),
                     "' is not 'Field: value'; is this a Packages file?"));
  }
  const std::string_view name = line.substr(0, colon);
  const std::string value(TrimBlanks(line.substr(colon + 1)));
  if (SameField(name, "Package")) {
    package->name = value;
  } else if (SameField(name, "Section")) {
    package->section = value;
  } else if (SameField(name, "Description")) {
    // The field's other lines are the long description.
    package->description = value;
  } else if (SameField(name, "Provides")) {
    package->provides = value;
    field_ = &package->provides;
  } else if (SameField(name, "Pre-Depends") || SameField(name, "Depends") ||
             SameField(name, "Recommends") || SameField(name, "Suggests")) {
    absl::StrAppend(&package->relations, package->relations.empty() ? "" : ", ",
                    value);
    field_ = &package->relations;
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> DebianIndexReader::Next(DebianPackage* package) {
  *package = DebianPackage();
  field_ = nullptr;
  bool in_stanza = false;
  std::string_view line;
  for (;;) {
    FGNN_ASSIGN_OR_RETURN(const bool more, lines_.Next(&line));
    if (more && !TrimBlanks(line).empty()) {
      in_stanza = true;
      FGNN_RETURN_IF_ERROR(TakeLine(line, package));
      continue;
    }
    if (!in_stanza && more) continue;
    if (!in_stanza) return false;
    if (package->name.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat(lines_.Place(),
                       ": the stanza that ends here has no Package field; "
                       "is this a Packages file?"));
    }
    StripArchiveArea(&package->section);
    return true;
  }
}

void ForEachRelation(std::string_view relations,
                     const std::function<void(std::string_view)>& visit) {
  while (!relations.empty()) {
    const size_t end = relations.find_first_of(",|");
    std::string_view name = TrimBlanks(relations.substr(0, end));
    name = name.substr(0, name.find_first_of(" \t(:[<"));
    if (!name.empty()) visit(name);
    if (end == std::string_view::npos) return;
    relations.remove_prefix(end + 1);
  }
}

absl::StatusOr<std::vector<std::filesystem::path>> FindDebianIndexes() {
  FGNN_ASSIGN_OR_RETURN(std::vector<std::filesystem::path> paths,
                        ListIndexes({"Origin: Debian", "Component: main"}));
  if (paths.empty()) {
    FGNN_ASSIGN_OR_RETURN(paths, ListIndexes({}));
  }
  if (paths.empty()) {
    return absl::NotFoundError(
        "this machine has no package index; run apt-get update, or name a "
        "Packages file");
  }
  return paths;
}

}  // namespace fgnn
