// Small sources of every importer, in memory. As they are, they are imported
// without an error.
#ifndef FGNN_TESTS_FUZZ_IMPORTERS_SOUND_SOURCES_H_
#define FGNN_TESTS_FUZZ_IMPORTERS_SOUND_SOURCES_H_

#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace fgnn {

struct ImportSource {
  std::string kind;  // The importer's name on the command line.
  // Bytes by path. "in.npz/x.npy" is a member of an archive. A file whose name
  // ends with ".gz" is compressed when it is written.
  std::map<std::string, std::string> files;
  // Flags of the files on the command line, with their paths. The flag "" means
  // the source itself, the path "" the folder.
  std::vector<std::pair<std::string, std::string>> paths;
  // Optional flags with their values. Some of them exclude each other.
  std::vector<std::vector<std::string>> flags;
  // Flags without which the source is not imported.
  std::vector<std::string> needed = {};
};

std::vector<ImportSource> SoundSources();

// Writes the files into `folder`, which is empty.
void WriteSource(const ImportSource& source,
                 const std::filesystem::path& folder);

}  // namespace fgnn

#endif  // FGNN_TESTS_FUZZ_IMPORTERS_SOUND_SOURCES_H_
