// Files that programs derive from a dataset and keep for the next job.
#ifndef FGNN_SHARED_GRAPH_DERIVED_FILES_H_
#define FGNN_SHARED_GRAPH_DERIVED_FILES_H_

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "shared/base/files/file.h"
#include "shared/base/files/guarded_path.h"

namespace fgnn {

// The folders that a derived file may be in.
enum class DerivedPlace : uint8_t {
  kBeside,   // derived/ of the dataset's folder.
  kService,  // A folder for the dataset in the service's folder.
};
inline constexpr std::array<DerivedPlace, 2> kDerivedPlaces = {
    DerivedPlace::kBeside, DerivedPlace::kService};

// Most bytes in the service's folder, for all datasets together. It has room
// for the tables of a graph with 2 billion weighted edges. Without it, whoever
// has datasets could fill the disk of the service's state.
inline constexpr uint64_t kMostDerivedBytes = uint64_t{64} << 30;

// The derived files of one dataset. Whoever owns the dataset may forge what is
// beside it. So a file is read only if no user but this process's own and root
// can have written it: file and folder belong to one of the two, nobody else
// may write them, and neither is a link. Immutable; safe to use from any
// thread.
class DerivedFiles {
 public:
  // No file is found, and none is kept.
  DerivedFiles() = default;
  // `state_dir`: the service's folder. Empty: this process serves nobody, and
  // files are kept beside the dataset alone.
  DerivedFiles(const std::filesystem::path& dataset,
               const std::filesystem::path& state_dir);

  // Maps a file. NotFound: it is not there. PermissionDenied: another user may
  // have written it.
  absl::StatusOr<MappedFile> Map(DerivedPlace place,
                                 std::string_view name) const;

  // Writes a file of one place, and makes its folder. In the service's folder,
  // what is kept of datasets that are gone is removed first. What is beside a
  // dataset of another user is left as it is: PermissionDenied.
  // ResourceExhausted: the disk is full, or kMostDerivedBytes are reached.
  // Other errors name the folder, which cannot be written.
  absl::Status Write(DerivedPlace place, std::string_view name,
                     absl::Span<const std::string_view> pieces) const;

  // Writes a file beside the dataset, or else into the service's folder, which
  // the log then says. Errors: the last one of Write().
  absl::Status Keep(std::string_view name,
                    absl::Span<const std::string_view> pieces) const;

  // Removes the files of both places whose names begin with `prefix`, but not
  // with `current`.
  void RemoveOthers(std::string_view prefix, std::string_view current) const;

 private:
  // Returns the folder of a place that this process may trust, and write if
  // `writes` is set; a folder that is missing is made then.
  absl::StatusOr<HeldFolder> Open(DerivedPlace place, bool writes) const;
  absl::StatusOr<HeldFolder> OpenBeside(bool writes) const;
  absl::StatusOr<HeldFolder> OpenInService(bool writes) const;
  // Notes in the dataset's folder `own`, which is the service's, whose it is.
  // Then makes room for so many bytes.
  absl::Status MakeRoom(const HeldFolder& own, uint64_t bytes) const;

  std::filesystem::path dataset_;     // Real path; empty: there is none.
  std::filesystem::path in_service_;  // Empty: there is no service.
};

}  // namespace fgnn

#endif  // FGNN_SHARED_GRAPH_DERIVED_FILES_H_
