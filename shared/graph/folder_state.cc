#include "shared/graph/folder_state.h"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "shared/base/file.h"
#include "shared/base/philox.h"
#include "shared/base/status.h"
#include "shared/graph/dataset.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;

constexpr std::array<const char*, 13> kFiles = {
    "metadata.yaml",    "csc_indptr.npy", "indices.npy",     "features.npy",
    "labels.npy",       "train.npy",      "valid.npy",       "test.npy",
    "edge_weights.npy", "names.txt",      "train_edges.npy", "valid_edges.npy",
    "test_edges.npy"};

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
                             static_cast<uint64_t>(stat.st_ino)}) {
      h = Mix64(h ^ field);
    }
    if (std::string_view(name).ends_with(".npy")) {
      state.array_bytes += static_cast<uint64_t>(stat.st_size);
    }
  };
  for (const char* name : kFiles) mix(name);
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

absl::Status ValidateOnce(const fs::path& folder) {
  FGNN_RETURN_IF_ERROR(CheckFolder(folder));
  const fs::path mark = folder / "derived" / "validated";
  const std::string state = absl::StrCat(
      absl::Hex(StateOf(folder).fingerprint, absl::kZeroPad16), "\n");
  const absl::StatusOr<std::string> known = ReadSmallFile(mark);
  if (known.ok() && *known == state) return absl::OkStatus();
  FGNN_ASSIGN_OR_RETURN(const Dataset dataset,
                        Dataset::Open(folder, Validation::kEverything));
  // A folder that cannot be written is validated each time, and that is all.
  std::error_code ignored;
  fs::create_directory(mark.parent_path(), ignored);
  WriteFileAtomically(
      mark,
      absl::StrCat(absl::Hex(dataset.Fingerprint(), absl::kZeroPad16), "\n"))
      .IgnoreError();
  return absl::OkStatus();
}

}  // namespace fgnn
