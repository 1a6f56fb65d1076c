#include "tools/dataset/building/host_folders.h"

#include <string>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "shared/base/files/file.h"
#include "shared/base/status.h"
#include "shared/graph/book/own_rows.h"
#include "shared/graph/host_rows.h"
#include "shared/graph/metadata.h"
#include "shared/graph/npy.h"
#include "tools/dataset/building/dataset_writer.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;

constexpr char kFeatures[] = "features.npy";
constexpr char kMetadata[] = "metadata.yaml";
constexpr uint64_t kRowsPerReport = uint64_t{1} << 16;

class Cutter {
 public:
  Cutter(const Dataset& dataset, const PartitionBook& book,
         const CutOptions& options, const fs::path& folder)
      : dataset_(dataset), book_(book), options_(options) {
    hosts_.resize(options.owners);
    for (uint32_t owner = 0; owner < options.owners; ++owner) {
      hosts_[owner].folder = folder / absl::StrCat("host", owner);
    }
  }

  absl::Status Cut() {
    FGNN_ASSIGN_OR_RETURN(metadata_, ReadMetadata(dataset_.folder()));
    FGNN_ASSIGN_OR_RETURN(content_, dataset_.ContentFingerprint());
    std::vector<uint8_t> parts(book_.num_nodes());
    for (uint64_t v = 0; v < parts.size(); ++v) {
      parts[v] = static_cast<uint8_t>(book_.PartOf(static_cast<GlobalId>(v)));
    }
    FGNN_ASSIGN_OR_RETURN(book_bytes_, PartitionBook::ToBytes(parts));
    FGNN_RETURN_IF_ERROR(CopyFiles());
    FGNN_RETURN_IF_ERROR(WriteFeatures());
    for (const int64_t v : dataset_.train()) {
      ++hosts_[OwnerOf(static_cast<GlobalId>(v))].num_train;
    }
    for (uint32_t owner = 0; owner < options_.owners; ++owner) {
      FGNN_RETURN_IF_ERROR(Finish(owner));
    }
    return absl::OkStatus();
  }
  std::vector<HostFolderSummary> hosts() && { return std::move(hosts_); }

 private:
  uint32_t OwnerOf(GlobalId v) const {
    return OwnerOfPart(book_.PartOf(v), options_.owners);
  }
  void Report(std::string_view stage, uint64_t done, uint64_t total) const {
    if (options_.progress) options_.progress(stage, done, total);
  }
  absl::Status CopyFiles();
  absl::Status WriteFeatures();
  // Writes the book and metadata.yaml, and checks the folder.
  absl::Status Finish(uint32_t owner);

  const Dataset& dataset_;
  const PartitionBook& book_;
  const CutOptions& options_;
  DatasetMetadata metadata_;
  uint64_t content_ = 0;
  std::string book_bytes_;  // The file of each folder.
  std::vector<HostFolderSummary> hosts_;
};

absl::Status Cutter::CopyFiles() {
  std::vector<fs::path> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(dataset_.folder(), error)) {
    const fs::path name = entry.path().filename();
    std::error_code ignored;
    if (entry.is_regular_file(ignored) && name != kFeatures &&
        name != kMetadata && name != kBookFile) {
      files.push_back(entry.path());
    }
  }
  if (error) {
    return ErrnoToStatus(error.value(),
                         absl::StrCat("list ", dataset_.folder().string()));
  }
  for (uint32_t owner = 0; owner < options_.owners; ++owner) {
    Report("files", owner, options_.owners);
    fs::create_directory(hosts_[owner].folder, error);
    for (const fs::path& file : files) {
      if (error) break;
      fs::copy_file(file, hosts_[owner].folder / file.filename(), error);
    }
    if (error) {
      return ErrnoToStatus(error.value(),
                           absl::StrCat("copy ", dataset_.folder().string(),
                                        " to ", hosts_[owner].folder.string()));
    }
  }
  return absl::OkStatus();
}

absl::Status Cutter::WriteFeatures() {
  const FeatureView& features = dataset_.features();
  std::vector<NpyWriter> writers;
  for (const HostFolderSummary& host : hosts_) {
    FGNN_ASSIGN_OR_RETURN(
        NpyWriter writer,
        NpyWriter::Create(host.folder / kFeatures, StoredType(features.type),
                          {features.columns}));
    writers.push_back(std::move(writer));
  }
  for (uint64_t v = 0; v < features.rows; ++v) {
    const uint32_t owner = OwnerOf(static_cast<GlobalId>(v));
    FGNN_RETURN_IF_ERROR(
        writers[owner].Append(features.row(v), features.row_bytes()));
    ++hosts_[owner].num_rows;
    if (v % kRowsPerReport == 0) Report("features", v, features.rows);
  }
  for (NpyWriter& writer : writers) FGNN_RETURN_IF_ERROR(writer.Close());
  return absl::OkStatus();
}

absl::Status Cutter::Finish(uint32_t owner) {
  const fs::path& folder = hosts_[owner].folder;
  Report("checking", owner, options_.owners);
  FGNN_RETURN_IF_ERROR(WriteFileAtomically(folder / kBookFile, book_bytes_));
  HostFolder host = {
      .host = {.book = book_.key(), .owners = options_.owners, .owner = owner},
      .num_rows = hosts_[owner].num_rows,
      .content = content_,
      .own_content = 0};
  // The checksum is that of the files as they can be read back.
  metadata_.host_rows = host;
  FGNN_RETURN_IF_ERROR(
      WriteFileAtomically(folder / kMetadata, FormatMetadata(metadata_)));
  FGNN_ASSIGN_OR_RETURN(const Dataset cut,
                        Dataset::Open(folder, Validation::kStructure));
  FGNN_RETURN_IF_ERROR(CheckHostFolder(cut));
  FGNN_ASSIGN_OR_RETURN(host.own_content, cut.OwnFingerprint());
  metadata_.host_rows = host;
  return WriteFileAtomically(folder / kMetadata, FormatMetadata(metadata_));
}

}  // namespace

absl::StatusOr<std::vector<HostFolderSummary>> CutHostFolders(
    const Dataset& dataset, const PartitionBook& book,
    const CutOptions& options) {
  FGNN_RETURN_IF_ERROR(CheckHasAllRows(dataset));
  if (dataset.features().columns == 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        dataset.folder().string(),
        ": has no features.npy, and so nothing that hosts could share out; "
        "copy the whole folder to each host"));
  }
  FGNN_ASSIGN_OR_RETURN(DatasetWriter writer,
                        DatasetWriter::Create(options.out, options.interrupt));
  Cutter cutter(dataset, book, options, writer.folder());
  FGNN_RETURN_IF_ERROR(cutter.Cut());
  FGNN_RETURN_IF_ERROR(writer.CommitAsItIs());
  std::vector<HostFolderSummary> hosts = std::move(cutter).hosts();
  for (HostFolderSummary& host : hosts) {
    host.folder = options.out / host.folder.filename();
  }
  return hosts;
}

}  // namespace fgnn
