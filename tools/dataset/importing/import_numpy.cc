// fgnn dataset import numpy.
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "shared/base/status.h"
#include "tools/dataset/building/class_labels.h"
#include "tools/dataset/importing/import.h"
#include "tools/dataset/importing/import_arrays.h"
#include "tools/dataset/importing/import_target.h"
#include "tools/dataset/importing/split_array.h"
#include "tools/dataset/reading/array_stream.h"
#include "tools/dataset/reading/text_array.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;

// A folder of .npy files that remembers which of them were read.
class ArrayFolder {
 public:
  explicit ArrayFolder(fs::path path) : path_(std::move(path)) {}

  const fs::path& path() const { return path_; }
  // `file` is relative to the folder, as in "labels.npy".
  bool Has(const fs::path& file) const {
    std::error_code error;
    return fs::exists(path_ / file, error);
  }
  // Returns the first of `files` that is there.
  std::optional<fs::path> FirstOf(const std::vector<std::string>& files) const {
    for (const std::string& file : files) {
      if (Has(file)) return file;
    }
    return std::nullopt;
  }
  // Errors: those of ArrayStream::OpenFile().
  absl::StatusOr<ArrayStream> Open(const fs::path& file) {
    return ArrayStream::OpenFile(Opened(file));
  }
  // Returns true if the file is there and holds texts.
  bool HasText(const fs::path& file) const { return IsTextArray(path_ / file); }
  // Errors: those of ReadTextArray().
  absl::StatusOr<std::vector<std::string>> ReadText(const fs::path& file) {
    return ReadTextArray(Opened(file));
  }
  // Returns the names of the folder's .npy files that were not opened,
  // ascending.
  std::vector<std::string> Unopened() const {
    std::vector<std::string> names;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(path_, error)) {
      if (entry.path().extension() == ".npy" &&
          opened_.count(entry.path().lexically_normal()) == 0) {
        names.push_back(entry.path().filename().string());
      }
    }
    std::sort(names.begin(), names.end());
    return names;
  }

 private:
  fs::path Opened(const fs::path& file) {
    opened_.insert((path_ / file).lexically_normal());
    return path_ / file;
  }

  fs::path path_;
  std::set<fs::path> opened_;
};

struct SplitFile {
  std::string split;  // "train", "valid", "test".
  fs::path path;      // Relative to the folder.
};

absl::StatusOr<fs::path> RequireFile(const ArrayFolder& folder,
                                     const std::vector<std::string>& names) {
  if (const auto found = folder.FirstOf(names)) return *found;
  return absl::NotFoundError(absl::StrCat(
      folder.path().string(), ": has no ", names[0],
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
absl::StatusOr<fs::path> FindNamedSplit(const ArrayFolder& folder,
                                        const std::string& split,
                                        const std::string& name) {
  const std::string exact = absl::StrCat(split, name, "_idx.npy");
  if (folder.Has(exact)) return exact;
  std::vector<fs::path> found;
  if (split != "train") {
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(folder.path(), error)) {
      if (IsNumberedSplit(entry.path().filename().string(), split)) {
        found.push_back(entry.path().filename());
      }
    }
  }
  if (found.size() == 1) return found[0];
  return absl::NotFoundError(absl::StrCat(
      folder.path().string(), ": --split ", name, " needs ", exact, ", and ",
      found.empty() ? "there is none" : "there are several others",
      "; name the files with --train-file, --valid-file, --test-file"));
}

std::vector<std::string> SplitNames(const std::string& split) {
  std::vector<std::string> names = {split + "_idx.npy", split + ".npy",
                                    split + "_mask.npy"};
  if (split == "valid") {
    names.insert(names.end(), {"val_idx.npy", "val.npy", "val_mask.npy"});
  }
  return names;
}

absl::StatusOr<std::vector<SplitFile>> FindSplits(const NumpySource& source,
                                                  const ArrayFolder& folder) {
  const size_t num_named = (source.train_file.empty() ? 0 : 1) +
                           (source.valid_file.empty() ? 0 : 1) +
                           (source.test_file.empty() ? 0 : 1);
  if (num_named == 3) {
    return std::vector<SplitFile>{{"train", source.train_file},
                                  {"valid", source.valid_file},
                                  {"test", source.test_file}};
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
                            FindNamedSplit(folder, split, source.split));
      files.push_back({split, path});
    } else if (const auto path = folder.FirstOf(SplitNames(split))) {
      files.push_back({split, *path});
    }
  }
  return files;
}

absl::Status ReadFeatures(ArrayFolder& folder, ImportTarget& target) {
  if (folder.Has("features.npy")) {
    FGNN_ASSIGN_OR_RETURN(ArrayStream features, folder.Open("features.npy"));
    return ImportDenseFeatures(std::move(features), target);
  }
  if (!folder.Has("features_indptr.npy")) return absl::OkStatus();
  FGNN_ASSIGN_OR_RETURN(ArrayStream shape, folder.Open("features_shape.npy"));
  FGNN_ASSIGN_OR_RETURN(ArrayStream indptr, folder.Open("features_indptr.npy"));
  FGNN_ASSIGN_OR_RETURN(ArrayStream indices,
                        folder.Open("features_indices.npy"));
  FGNN_ASSIGN_OR_RETURN(ArrayStream values, folder.Open("features_values.npy"));
  return ImportSparseFeatures(
      {std::move(indptr), std::move(indices), std::move(values)},
      std::move(shape), target);
}

absl::StatusOr<uint64_t> ReadEdges(ArrayFolder& folder, ImportTarget& target) {
  FGNN_ASSIGN_OR_RETURN(const fs::path indptr_file,
                        RequireFile(folder, {"indptr.npy", "csc_indptr.npy"}));
  FGNN_ASSIGN_OR_RETURN(const fs::path indices_file,
                        RequireFile(folder, {"indices.npy"}));
  FGNN_ASSIGN_OR_RETURN(ArrayStream indptr, folder.Open(indptr_file));
  FGNN_ASSIGN_OR_RETURN(ArrayStream indices, folder.Open(indices_file));
  CompressedArrays arrays{std::move(indptr), std::move(indices), std::nullopt};
  if (folder.Has("edge_weights.npy")) {
    FGNN_ASSIGN_OR_RETURN(arrays.values, folder.Open("edge_weights.npy"));
  }
  const uint64_t num_nodes = std::max<uint64_t>(arrays.indptr.rows(), 1) - 1;
  FGNN_RETURN_IF_ERROR(ImportCompressedEdges(
      std::move(arrays), /*rows_are_sources=*/false, target));
  return num_nodes;
}

// Labels are numbers, or names of classes.
absl::Status ReadLabelFiles(ArrayFolder& folder, ImportTarget& target) {
  constexpr char kLabels[] = "labels.npy";
  if (!folder.Has(kLabels)) return absl::OkStatus();
  if (folder.HasText(kLabels)) {
    FGNN_ASSIGN_OR_RETURN(const std::vector<std::string> texts,
                          folder.ReadText(kLabels));
    ClassLabels labels;
    for (const std::string& text : texts) {
      target.options().missing.Has(text) ? labels.AddNone() : labels.Add(text);
    }
    ClassLabels::Result classes = labels.Take(/*integers_count=*/true);
    target.labels().SetClasses(std::move(classes.labels),
                               (folder.path() / kLabels).string());
    target.labels().SetNames(std::move(classes.class_names));
    return absl::OkStatus();
  }
  FGNN_ASSIGN_OR_RETURN(ArrayStream labels, folder.Open(kLabels));
  FGNN_RETURN_IF_ERROR(ImportLabels(std::move(labels), target));
  for (const char* const file : {"class_names.npy", "target_names.npy"}) {
    if (!folder.HasText(file)) continue;
    FGNN_ASSIGN_OR_RETURN(std::vector<std::string> names,
                          folder.ReadText(file));
    target.labels().SetNames(std::move(names));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ImportSummary> ImportNumpy(const NumpySource& source,
                                          const ImportOptions& options) {
  ArrayFolder folder(source.folder);
  FGNN_ASSIGN_OR_RETURN(const std::vector<SplitFile> splits,
                        FindSplits(source, folder));
  FGNN_ASSIGN_OR_RETURN(
      const std::unique_ptr<ImportTarget> target,
      ImportTarget::Create(options,
                           absl::StrCat("arrays ", source.folder.string())));
  FGNN_ASSIGN_OR_RETURN(const uint64_t num_nodes, ReadEdges(folder, *target));
  FGNN_RETURN_IF_ERROR(ReadFeatures(folder, *target));
  FGNN_RETURN_IF_ERROR(ReadLabelFiles(folder, *target));
  for (const SplitFile& split : splits) {
    FGNN_ASSIGN_OR_RETURN(ArrayStream array, folder.Open(split.path));
    const std::string what = array.what();
    FGNN_ASSIGN_OR_RETURN(
        std::vector<int64_t> values,
        ReadSplit(std::move(array), split.path.stem().string(), num_nodes));
    target->SetSplit(split.split, std::move(values), what);
  }
  target->LeaveOut(
      absl::StrCat(source.folder.string(), ": left out, nothing reads them"),
      folder.Unopened());
  return target->Finish(num_nodes);
}

}  // namespace fgnn
