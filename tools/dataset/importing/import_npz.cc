// fgnn dataset import npz.
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "shared/base/status.h"
#include "tools/dataset/importing/import.h"
#include "tools/dataset/importing/import_arrays.h"
#include "tools/dataset/importing/import_target.h"
#include "tools/dataset/importing/split_array.h"
#include "tools/dataset/reading/array_stream.h"

namespace fgnn {
namespace {

std::optional<std::string> FirstOf(const NpzArchive& archive,
                                   const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (archive.Has(name)) return name;
  }
  return std::nullopt;
}

// Returns true if all values are 1. Sparse matrices hold values even then;
// these are not weights.
absl::StatusOr<bool> AllOnes(ArrayStream values) {
  std::vector<float> chunk;
  for (uint64_t left = values.num_elements(); left > 0; left -= chunk.size()) {
    chunk.resize(std::min<uint64_t>(left, kChunkElements));
    FGNN_RETURN_IF_ERROR(values.Read(absl::MakeSpan(chunk)));
    if (std::any_of(chunk.begin(), chunk.end(),
                    [](float value) { return value != 1.0F; })) {
      return false;
    }
  }
  return true;
}

absl::StatusOr<CompressedArrays> OpenMatrix(const NpzArchive& archive,
                                            const std::string& prefix) {
  FGNN_ASSIGN_OR_RETURN(ArrayStream indptr,
                        archive.OpenArray(prefix + "_indptr"));
  FGNN_ASSIGN_OR_RETURN(ArrayStream indices,
                        archive.OpenArray(prefix + "_indices"));
  CompressedArrays arrays{std::move(indptr), std::move(indices), std::nullopt};
  if (archive.Has(prefix + "_data")) {
    FGNN_ASSIGN_OR_RETURN(arrays.values, archive.OpenArray(prefix + "_data"));
  }
  return arrays;
}

absl::StatusOr<uint64_t> ReadAdjacency(const NpzArchive& archive,
                                       ImportTarget& target) {
  FGNN_ASSIGN_OR_RETURN(CompressedArrays arrays, OpenMatrix(archive, "adj"));
  if (arrays.values.has_value()) {
    FGNN_ASSIGN_OR_RETURN(ArrayStream values, archive.OpenArray("adj_data"));
    FGNN_ASSIGN_OR_RETURN(const bool no_weights, AllOnes(std::move(values)));
    if (no_weights) arrays.values.reset();
  }
  const uint64_t num_nodes = std::max<uint64_t>(arrays.indptr.rows(), 1) - 1;
  if (archive.Has("adj_shape")) {
    FGNN_ASSIGN_OR_RETURN(ArrayStream array, archive.OpenArray("adj_shape"));
    FGNN_ASSIGN_OR_RETURN(const auto shape, ReadMatrixShape(std::move(array)));
    if (shape[0] != shape[1] || shape[0] != num_nodes) {
      return absl::InvalidArgumentError(
          absl::StrCat(archive.what(), " (adj_shape): says [", shape[0], ", ",
                       shape[1], "], but adj_indptr has ", num_nodes,
                       " rows; a graph's matrix is square"));
    }
  }
  FGNN_RETURN_IF_ERROR(ImportCompressedEdges(
      std::move(arrays), /*rows_are_sources=*/true, target));
  return num_nodes;
}

// Returns the rows of the first of these arrays that exists, or 0.
absl::StatusOr<uint64_t> RowsOf(const NpzArchive& archive,
                                const std::vector<std::string>& names) {
  const auto name = FirstOf(archive, names);
  if (!name.has_value()) return 0;
  FGNN_ASSIGN_OR_RETURN(const ArrayStream array, archive.OpenArray(*name));
  return array.rows();
}

const std::vector<std::string>& FeatureNames() {
  static const auto* const kNames =
      new std::vector<std::string>{"attr_matrix", "x", "features", "node_feat"};
  return *kNames;
}

const std::vector<std::string>& LabelNames() {
  static const auto* const kNames =
      new std::vector<std::string>{"labels", "y", "label", "node_label"};
  return *kNames;
}

absl::StatusOr<uint64_t> ReadEdgeIndex(const NpzArchive& archive,
                                       ImportTarget& target) {
  FGNN_ASSIGN_OR_RETURN(uint64_t num_nodes, RowsOf(archive, FeatureNames()));
  if (num_nodes == 0) {
    FGNN_ASSIGN_OR_RETURN(num_nodes, RowsOf(archive, LabelNames()));
  }
  FGNN_ASSIGN_OR_RETURN(ArrayStream sources, archive.OpenArray("edge_index"));
  FGNN_ASSIGN_OR_RETURN(ArrayStream destinations,
                        archive.OpenArray("edge_index"));
  FGNN_ASSIGN_OR_RETURN(
      const uint64_t reached,
      ImportEdgeIndex(std::move(sources), std::move(destinations), num_nodes,
                      target));
  return num_nodes == 0 ? reached : num_nodes;
}

absl::StatusOr<uint64_t> ReadEdges(const NpzArchive& archive,
                                   ImportTarget& target) {
  if (archive.Has("adj_indptr")) return ReadAdjacency(archive, target);
  if (archive.Has("edge_index")) return ReadEdgeIndex(archive, target);
  return absl::NotFoundError(absl::StrCat(
      archive.what(), ": has neither adj_indptr nor edge_index but ",
      absl::StrJoin(archive.Names(), ", "),
      archive.Has("adj_matrix")
          ? "; its matrices are pickled: save their indptr, indices and data"
          : ""));
}

absl::Status ReadFeatures(const NpzArchive& archive, ImportTarget& target) {
  if (archive.Has("attr_indptr")) {
    FGNN_ASSIGN_OR_RETURN(ArrayStream shape, archive.OpenArray("attr_shape"));
    FGNN_ASSIGN_OR_RETURN(CompressedArrays arrays, OpenMatrix(archive, "attr"));
    return ImportSparseFeatures(std::move(arrays), std::move(shape), target);
  }
  const auto name = FirstOf(archive, FeatureNames());
  if (!name.has_value()) return absl::OkStatus();
  FGNN_ASSIGN_OR_RETURN(ArrayStream features, archive.OpenArray(*name));
  return ImportDenseFeatures(std::move(features), target);
}

absl::Status ReadLabelsAndSplits(const NpzArchive& archive, uint64_t num_nodes,
                                 ImportTarget& target) {
  if (const auto name = FirstOf(archive, LabelNames())) {
    FGNN_ASSIGN_OR_RETURN(ArrayStream labels, archive.OpenArray(*name));
    FGNN_RETURN_IF_ERROR(ImportLabels(std::move(labels), target));
  } else if (archive.Has("labels_indptr")) {
    return absl::InvalidArgumentError(
        absl::StrCat(archive.what(),
                     ": several labels a vertex (labels_indptr) cannot be "
                     "trained on; save one as 'labels'"));
  }
  // Memory holds a mark for every vertex.
  FGNN_RETURN_IF_ERROR(target.CheckDense(num_nodes));
  for (const std::string split : {"train", "valid", "test"}) {
    std::vector<std::string> names = {split + "_mask", split + "_idx"};
    if (split == "valid") names.insert(names.end(), {"val_mask", "val_idx"});
    const auto name = FirstOf(archive, names);
    if (!name.has_value()) continue;
    FGNN_ASSIGN_OR_RETURN(ArrayStream ids, archive.OpenArray(*name));
    const std::string what = ids.what();
    FGNN_ASSIGN_OR_RETURN(std::vector<int64_t> values,
                          ReadSplit(std::move(ids), *name, num_nodes));
    target.SetSplit(split, std::move(values), what);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ImportSummary> ImportNpz(const NpzSource& source,
                                        const ImportOptions& options) {
  FGNN_ASSIGN_OR_RETURN(const NpzArchive archive,
                        NpzArchive::Open(source.path));
  FGNN_ASSIGN_OR_RETURN(
      const std::unique_ptr<ImportTarget> target,
      ImportTarget::Create(options,
                           absl::StrCat("npz ", source.path.string())));
  FGNN_ASSIGN_OR_RETURN(const uint64_t num_nodes, ReadEdges(archive, *target));
  FGNN_RETURN_IF_ERROR(ReadFeatures(archive, *target));
  FGNN_RETURN_IF_ERROR(ReadLabelsAndSplits(archive, num_nodes, *target));
  target->LeaveOut(
      absl::StrCat(archive.what(), ": left out, nothing reads them"),
      archive.Unopened());
  return target->Finish(num_nodes);
}

}  // namespace fgnn
