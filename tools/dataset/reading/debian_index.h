// Debian's package indexes: the files of this machine, and their stanzas.
#ifndef FGNN_TOOLS_DATASET_READING_DEBIAN_INDEX_H_
#define FGNN_TOOLS_DATASET_READING_DEBIAN_INDEX_H_

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tools/dataset/reading/line_reader.h"

namespace fgnn {

// The fields of a stanza that an importer needs; fields that are not there are
// empty.
struct DebianPackage {
  std::string name;
  std::string section;  // Section without the archive area ("contrib/games").
  std::string description;  // The first line of the description.
  std::string provides;
  std::string relations;  // Pre-Depends, Depends, Recommends, Suggests; joined
                          // by commas.
};

// Reads the stanzas of a Packages file, one after the other. Not thread-safe.
class DebianIndexReader {
 public:
  // Opens a plain or gzip'ed file; any other compression is read through
  // apt-helper.
  static absl::StatusOr<DebianIndexReader> Open(
      const std::filesystem::path& path);

  // Fills *package; returns false after the last stanza. InvalidArgument,
  // naming file and line: a line is no field, or a stanza has no name.
  absl::StatusOr<bool> Next(DebianPackage* package);

  const LineReader& lines() const { return lines_; }

 private:
  explicit DebianIndexReader(LineReader lines) : lines_(std::move(lines)) {}
  absl::Status TakeLine(std::string_view line, DebianPackage* package);

  LineReader lines_;
  // The field that a continuation line belongs to.
  std::string* field_ = nullptr;
};

// Calls visit for each package name of a relation field: all alternatives,
// without versions, architectures and build profiles.
void ForEachRelation(std::string_view relations,
                     const std::function<void(std::string_view)>& visit);

// Returns the package indexes of this machine, as apt-get lists them: those of
// Debian's component main or, if there are none (a derivative), all. NotFound:
// there are none.
absl::StatusOr<std::vector<std::filesystem::path>> FindDebianIndexes();

}  // namespace fgnn

#endif  // FGNN_TOOLS_DATASET_READING_DEBIAN_INDEX_H_
