// fgnn dataset import numpy.
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "shared/base/status.h"
#include "tools/dataset/importing/import.h"
#include "tools/dataset/importing/import_arrays.h"
#include "tools/dataset/importing/import_target.h"
#include "tools/dataset/reading/array_stream.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;

struct SplitFile {
  std::string split;  // "train", "valid", "test".
  fs::path path;
};

bool Exists(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error);
}

// Returns the first of `names` that is in the folder.
std::optional<fs::path> FindFile(const fs::path& folder,
                                 const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (Exists(folder / name)) return folder / name;
  }
  return std::nullopt;
}

absl::StatusOr<fs::path> RequireFile(const fs::path& folder,
                                     const std::vector<std::string>& names) {
  if (const auto found = FindFile(folder, names)) return *found;
  return absl::NotFoundError(absl::StrCat(
      folder.string(), ": has no ", names[0],
      "; a folder of arrays holds indptr.npy and indices.npy at least"));
}

// Returns true for "valid20_idx.npy" and "valid": a number stands before
// "_idx.npy".
bool IsNumberedSplit(const std::string& file, const std::string& split) {
  const std::string ending = "_idx.npy";
  if (!file.starts_with(split) || !file.ends_with(ending) ||
      file.size() <= split.size() + ending.size()) {
    return false;
  }
  for (size_t i = split.size(); i < file.size() - ending.size(); ++i) {
    if (std::isdigit(static_cast<unsigned char>(file[i])) == 0) return false;
  }
  return true;
}

// Returns the file of `split` that belongs to --split `name`. It has that name,
// or is the only numbered one: 60/20/20 is train60, valid20, test20.
absl::StatusOr<fs::path> FindNamedSplit(const fs::path& folder,
                                        const std::string& split,
                                        const std::string& name) {
  const std::string exact = absl::StrCat(split, name, "_idx.npy");
  if (Exists(folder / exact)) return folder / exact;
  std::vector<fs::path> found;
  if (split != "train") {
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(folder, error)) {
      if (IsNumberedSplit(entry.path().filename().string(), split)) {
        found.push_back(entry.path());
      }
    }
  }
  if (found.size() == 1) return found[0];
  return absl::NotFoundError(absl::StrCat(
      folder.string(), ": --split ", name, " needs ", exact, ", and ",
      found.empty() ? "there is none" : "there are several others",
      "; name the files with --train-file, --valid-file, --test-file"));
}

absl::StatusOr<std::vector<SplitFile>> FindSplits(const NumpySource& source) {
  const size_t num_named = (source.train_file.empty() ? 0 : 1) +
                           (source.valid_file.empty() ? 0 : 1) +
                           (source.test_file.empty() ? 0 : 1);
  if (num_named == 3) {
    return std::vector<SplitFile>{{"train", source.folder / source.train_file},
                                  {"valid", source.folder / source.valid_file},
                                  {"test", source.folder / source.test_file}};
  }
  if (num_named != 0) {
    return absl::InvalidArgumentError(
        "--train-file, --valid-file and --test-file go together; name all "
        "three");
  }
  std::vector<SplitFile> files;
  for (const std::string split : {"train", "valid", "test"}) {
    if (!source.split.empty()) {
      FGNN_ASSIGN_OR_RETURN(const fs::path path,
                            FindNamedSplit(source.folder, split, source.split));
      files.push_back({split, path});
    } else if (const auto path = FindFile(
                   source.folder, {split + "_idx.npy", split + ".npy"})) {
      files.push_back({split, *path});
    }
  }
  return files;
}

absl::Status ReadFeatures(const fs::path& folder, ImportTarget& target) {
  if (const auto dense = FindFile(folder, {"features.npy"})) {
    FGNN_ASSIGN_OR_RETURN(ArrayStream features, ArrayStream::OpenFile(*dense));
    return ImportDenseFeatures(std::move(features), target);
  }
  if (!Exists(folder / "features_indptr.npy")) return absl::OkStatus();
  FGNN_ASSIGN_OR_RETURN(ArrayStream shape,
                        ArrayStream::OpenFile(folder / "features_shape.npy"));
  FGNN_ASSIGN_OR_RETURN(ArrayStream indptr,
                        ArrayStream::OpenFile(folder / "features_indptr.npy"));
  FGNN_ASSIGN_OR_RETURN(ArrayStream indices,
                        ArrayStream::OpenFile(folder / "features_indices.npy"));
  FGNN_ASSIGN_OR_RETURN(ArrayStream values,
                        ArrayStream::OpenFile(folder / "features_values.npy"));
  return ImportSparseFeatures(
      {std::move(indptr), std::move(indices), std::move(values)},
      std::move(shape), target);
}

absl::StatusOr<uint64_t> ReadEdges(const fs::path& folder,
                                   ImportTarget& target) {
  FGNN_ASSIGN_OR_RETURN(const fs::path indptr_path,
                        RequireFile(folder, {"indptr.npy", "csc_indptr.npy"}));
  FGNN_ASSIGN_OR_RETURN(const fs::path indices_path,
                        RequireFile(folder, {"indices.npy"}));
  FGNN_ASSIGN_OR_RETURN(ArrayStream indptr, ArrayStream::OpenFile(indptr_path));
  FGNN_ASSIGN_OR_RETURN(ArrayStream indices,
                        ArrayStream::OpenFile(indices_path));
  CompressedArrays arrays{std::move(indptr), std::move(indices), std::nullopt};
  if (const auto weights = FindFile(folder, {"edge_weights.npy"})) {
    FGNN_ASSIGN_OR_RETURN(arrays.values, ArrayStream::OpenFile(*weights));
  }
  const uint64_t num_nodes = std::max<uint64_t>(arrays.indptr.rows(), 1) - 1;
  FGNN_RETURN_IF_ERROR(ImportCompressedEdges(
      std::move(arrays), /*rows_are_sources=*/false, target));
  return num_nodes;
}

}  // namespace

absl::StatusOr<ImportSummary> ImportNumpy(const NumpySource& source,
                                          const ImportOptions& options) {
  FGNN_ASSIGN_OR_RETURN(const std::vector<SplitFile> splits,
                        FindSplits(source));
  FGNN_ASSIGN_OR_RETURN(
      const std::unique_ptr<ImportTarget> target,
      ImportTarget::Create(options,
                           absl::StrCat("arrays ", source.folder.string())));
  FGNN_ASSIGN_OR_RETURN(const uint64_t num_nodes,
                        ReadEdges(source.folder, *target));
  FGNN_RETURN_IF_ERROR(ReadFeatures(source.folder, *target));
  if (const auto path = FindFile(source.folder, {"labels.npy"})) {
    FGNN_ASSIGN_OR_RETURN(ArrayStream labels, ArrayStream::OpenFile(*path));
    FGNN_ASSIGN_OR_RETURN(std::vector<int64_t> values,
                          ReadLabels(std::move(labels)));
    target->SetLabels(std::move(values), path->string());
  }
  for (const SplitFile& split : splits) {
    FGNN_ASSIGN_OR_RETURN(ArrayStream ids, ArrayStream::OpenFile(split.path));
    FGNN_ASSIGN_OR_RETURN(std::vector<int64_t> values, ReadIds(std::move(ids)));
    target->SetSplit(split.split, std::move(values), split.path.string());
  }
  return target->Finish(num_nodes);
}

}  // namespace fgnn
