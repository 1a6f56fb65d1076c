#include "shared/graph/folder_state.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "shared/base/files/file.h"
#include "shared/base/philox.h"
#include "shared/base/status.h"
#include "shared/graph/dataset.h"
#include "shared/graph/dataset_files.h"
#include "shared/graph/derived_files.h"
#include "shared/telemetry/log.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;

constexpr char kMark[] = "validated";

std::string FormatMark(const ValidatedFolder& validated) {
  return absl::StrCat(absl::Hex(validated.state, absl::kZeroPad16), " ",
                      absl::Hex(validated.content, absl::kZeroPad16), "\n");
}

// Returns nullopt if there is no mark, or none that can be read.
std::optional<ValidatedFolder> ReadMark(const DerivedFiles& files) {
  const absl::StatusOr<MappedFile> mark =
      files.Map(DerivedPlace::kService, kMark);
  ValidatedFolder validated;
  if (!mark.ok()) return std::nullopt;
  const std::vector<std::string> words = absl::StrSplit(
      std::string(reinterpret_cast<const char*>(mark->bytes().data()),
                  mark->bytes().size()),
      absl::ByAnyChar(" \n"), absl::SkipEmpty());
  if (words.size() != 2 || !absl::SimpleHexAtoi(words[0], &validated.state) ||
      !absl::SimpleHexAtoi(words[1], &validated.content)) {
    return std::nullopt;
  }
  return validated;
}

}  // namespace

FolderState StateOf(const fs::path& folder) {
  FolderState state;
  uint64_t& h = state.fingerprint;
  const auto mix = [&h, &folder, &state](const char* name) {
    struct stat stat {};
    if (::stat((folder / name).c_str(), &stat) != 0) return;
    for (const char* c = name; *c != '\0'; ++c) {
      h = Mix64(h ^ static_cast<unsigned char>(*c));
    }
    for (const auto field : {static_cast<uint64_t>(stat.st_size),
                             static_cast<uint64_t>(stat.st_mtim.tv_sec),
                             static_cast<uint64_t>(stat.st_mtim.tv_nsec),
                             static_cast<uint64_t>(stat.st_ctim.tv_sec),
                             static_cast<uint64_t>(stat.st_ctim.tv_nsec),
                             static_cast<uint64_t>(stat.st_ino)}) {
      h = Mix64(h ^ field);
    }
    if (std::string_view(name).ends_with(".npy")) {
      state.array_bytes += static_cast<uint64_t>(stat.st_size);
    }
  };
  for (const char* name : kDatasetFiles) mix(name);
  return state;
}

uint64_t FingerprintOf(const fs::path& folder) {
  return StateOf(folder).fingerprint;
}

absl::Status CheckFolder(const fs::path& folder) {
  struct stat stat {};
  const std::string what = absl::StrCat("dataset folder ", folder.string());
  if (::stat(folder.c_str(), &stat) != 0) {
    if (errno != ENOENT) return ErrnoToStatus(errno, what);
    return absl::NotFoundError(
        absl::StrCat(what,
                     ": does not exist; make it with 'fgnn dataset "
                     "import' or 'fgnn dataset generate'"));
  }
  if (!S_ISDIR(stat.st_mode)) {
    return absl::InvalidArgumentError(
        absl::StrCat(what,
                     ": is not a folder; name the folder that holds "
                     "metadata.yaml"));
  }
  if (::access(folder.c_str(), R_OK | X_OK) != 0) {
    const absl::Status status = ErrnoToStatus(errno, what);
    return absl::Status(
        status.code(),
        absl::StrCat(MessageOf(status), "; grant it with chmod -R a+rX"));
  }
  return absl::OkStatus();
}

absl::StatusOr<ValidatedFolder> ValidateOnce(
    const fs::path& folder, const fs::path& state_dir,
    absl::FunctionRef<absl::Status()> check) {
  FGNN_RETURN_IF_ERROR(CheckFolder(folder));
  const DerivedFiles files(folder, state_dir);
  const std::optional<ValidatedFolder> known = ReadMark(files);
  if (known.has_value() && known->state == FingerprintOf(folder)) {
    return *known;
  }
  FGNN_ASSIGN_OR_RETURN(const Dataset dataset,
                        Dataset::Open(folder, Validation::kEverything, check));
  ValidatedFolder validated = {.state = dataset.Fingerprint(), .content = 0};
  FGNN_ASSIGN_OR_RETURN(validated.content, dataset.ContentFingerprint(check));
  if (state_dir.empty()) return validated;
  const std::string mark = FormatMark(validated);
  const absl::Status kept =
      files.Write(DerivedPlace::kService, kMark, {std::string_view(mark)});
  if (!kept.ok()) {
    LogWarning("{} is validated again by the next job: {}", folder.string(),
               MessageOf(kept));
  }
  return validated;
}

}  // namespace fgnn
