#include "shared/graph/dataset_arrays.h"

#include <algorithm>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "shared/base/status.h"
#include "shared/graph/dataset.h"
#include "shared/graph/dataset_names.h"
#include "shared/graph/host_rows.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;

// The type and shape that an array of the folder must have.
struct Wanted {
  std::vector<NpyType> types;
  std::vector<uint64_t> shape;
  std::string because;  // Reason for the shape, for messages.
};

absl::Status CheckKind(const fs::path& path, const NpyHeader& header,
                       const Wanted& wanted) {
  if (std::find(wanted.types.begin(), wanted.types.end(), header.type) ==
      wanted.types.end()) {
    std::vector<std::string> names;
    for (const NpyType type : wanted.types) {
      names.push_back(absl::StrCat("'", std::string(DescrOf(type)), "'"));
    }
    return absl::InvalidArgumentError(absl::StrCat(
        path.string(), ": its elements are '",
        std::string(DescrOf(header.type)), "', but ",
        absl::StrJoin(names, " or "), " is wanted; convert it with astype()"));
  }
  if (header.shape != wanted.shape) {
    return absl::InvalidArgumentError(absl::StrCat(
        path.string(), ": its shape is (", absl::StrJoin(header.shape, ", "),
        "), but (", absl::StrJoin(wanted.shape, ", "), ") is wanted by ",
        wanted.because, "; rebuild the dataset"));
  }
  return absl::OkStatus();
}

absl::StatusOr<NpyArray> OpenArray(const fs::path& path, Access access) {
  return access == Access::kMap ? NpyArray::Open(path)
                                : NpyArray::OpenHeader(path);
}

absl::StatusOr<NpyArray> OpenWanted(const fs::path& path, Access access,
                                    const Wanted& wanted) {
  absl::StatusOr<NpyArray> array = OpenArray(path, access);
  if (absl::IsNotFound(array.status())) {
    return absl::NotFoundError(absl::StrCat(path.string(), ": missing, but ",
                                            wanted.because,
                                            " wants it; rebuild the dataset"));
  }
  if (!array.ok()) return array.status();
  FGNN_RETURN_IF_ERROR(CheckKind(path, array->header(), wanted));
  return array;
}

bool Exists(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

// The file is not there, or metadata.yaml should say so.
absl::Status CheckAbsent(const fs::path& path, const char* field,
                         const char* value) {
  if (!Exists(path)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(path.string(), ": is there, but metadata.yaml says ", field,
                   " 0; set it to ", value, " or remove the file"));
}

absl::Status OpenTopology(Access access, DatasetArrays& arrays) {
  FGNN_ASSIGN_OR_RETURN(
      arrays.indptr,
      OpenWanted(arrays.folder / "csc_indptr.npy", access,
                 {{NpyType::kI64},
                  {arrays.metadata.num_nodes + 1},
                  absl::StrCat("metadata.yaml's num_nodes (",
                               arrays.metadata.num_nodes, ") + 1")}));
  FGNN_ASSIGN_OR_RETURN(
      arrays.indices,
      OpenWanted(arrays.folder / "indices.npy", access,
                 {{NpyType::kU32, NpyType::kI32, NpyType::kI64},
                  {arrays.metadata.num_edges},
                  absl::StrCat("metadata.yaml's num_edges (",
                               arrays.metadata.num_edges, ")")}));
  return absl::OkStatus();
}

absl::Status OpenFeatures(Access access, DatasetArrays& arrays) {
  const fs::path path = arrays.folder / kFeaturesFile;
  if (arrays.metadata.feature_columns == 0) {
    return CheckAbsent(path, "feature_columns", "the array's columns");
  }
  const std::optional<HostFolder>& host = arrays.metadata.host_rows;
  FGNN_ASSIGN_OR_RETURN(
      arrays.features,
      OpenWanted(
          path, access,
          {{StoredType(arrays.metadata.feature_type)},
           {host.has_value() ? host->num_rows : arrays.metadata.num_nodes,
            arrays.metadata.feature_columns},
           absl::StrCat("metadata.yaml's ",
                        host.has_value() ? "host_rows.rows" : "num_nodes",
                        ", feature_columns and feature_type ",
                        std::string(NameOf(arrays.metadata.feature_type)))}));
  if (!host.has_value() || Exists(arrays.folder / kBookFile)) {
    return absl::OkStatus();
  }
  return absl::NotFoundError(
      absl::StrCat((arrays.folder / kBookFile).string(),
                   ": missing, but metadata.yaml's host_rows wants it; ",
                   HowToCut(host->host.owners)));
}

absl::Status OpenLabels(Access access, DatasetArrays& arrays) {
  const fs::path path = arrays.folder / "labels.npy";
  if (arrays.metadata.num_classes == 0) {
    return CheckAbsent(path, "num_classes", "the number of classes");
  }
  FGNN_ASSIGN_OR_RETURN(
      arrays.labels, OpenWanted(path, access,
                                {{NpyType::kI64},
                                 {arrays.metadata.num_nodes},
                                 "metadata.yaml's num_nodes and num_classes"}));
  return absl::OkStatus();
}

absl::Status OpenTargets(Access access, DatasetArrays& arrays) {
  const fs::path path = arrays.folder / kTargetsFile;
  const DatasetMetadata& metadata = arrays.metadata;
  if (metadata.target_columns == 0) {
    return CheckAbsent(path, "target_columns", "the array's columns");
  }
  if (metadata.num_classes > 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        path.string(),
        ": is there with labels.npy, but a dataset has one of the two; remove "
        "labels.npy and metadata.yaml's num_classes, or targets.npy and "
        "target_columns"));
  }
  FGNN_ASSIGN_OR_RETURN(
      arrays.targets,
      OpenWanted(path, access,
                 {{StoredType(metadata.target_type)},
                  {metadata.num_nodes, metadata.target_columns},
                  absl::StrCat("metadata.yaml's num_nodes, target_columns and "
                               "target_type ",
                               std::string(NameOf(metadata.target_type)))}));
  FGNN_ASSIGN_OR_RETURN(
      arrays.target_names,
      ReadTargetNames(arrays.folder, metadata.target_columns));
  return absl::OkStatus();
}

absl::Status OpenSplit(const fs::path& path, Access access, NpyArray& array) {
  if (!Exists(path)) return absl::OkStatus();
  FGNN_ASSIGN_OR_RETURN(NpyArray opened, OpenArray(path, access));
  if (opened.header().shape.size() != 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        path.string(), ": has ", opened.header().shape.size(),
        " dimensions, but a list of global ids has one; save it flat"));
  }
  FGNN_RETURN_IF_ERROR(CheckKind(path, opened.header(),
                                 {{NpyType::kI64}, opened.header().shape, ""}));
  array = std::move(opened);
  return absl::OkStatus();
}

absl::Status OpenEdges(const fs::path& path, Access access, NpyArray& array) {
  if (!Exists(path)) return absl::OkStatus();
  FGNN_ASSIGN_OR_RETURN(NpyArray opened, OpenArray(path, access));
  const std::vector<uint64_t>& shape = opened.header().shape;
  if (shape.size() != 2 || shape[1] != 2) {
    return absl::InvalidArgumentError(absl::StrCat(
        path.string(), ": its shape is (", absl::StrJoin(shape, ", "),
        "), but a list of edges has (n, 2): a source and a destination each"));
  }
  FGNN_RETURN_IF_ERROR(CheckKind(path, opened.header(),
                                 {{NpyType::kU32, NpyType::kI64}, shape, ""}));
  array = std::move(opened);
  return absl::OkStatus();
}

absl::Status OpenOptional(Access access, DatasetArrays& arrays) {
  const fs::path& folder = arrays.folder;
  SplitArrays& edges = arrays.edges;
  FGNN_RETURN_IF_ERROR(
      OpenEdges(folder / "train_edges.npy", access, edges.train));
  FGNN_RETURN_IF_ERROR(
      OpenEdges(folder / "valid_edges.npy", access, edges.valid));
  FGNN_RETURN_IF_ERROR(
      OpenEdges(folder / "test_edges.npy", access, edges.test));
  SplitArrays& vertices = arrays.vertices;
  FGNN_RETURN_IF_ERROR(OpenSplit(folder / "train.npy", access, vertices.train));
  FGNN_RETURN_IF_ERROR(OpenSplit(folder / "valid.npy", access, vertices.valid));
  FGNN_RETURN_IF_ERROR(OpenSplit(folder / "test.npy", access, vertices.test));
  if (Exists(folder / "edge_weights.npy")) {
    FGNN_ASSIGN_OR_RETURN(arrays.edge_weights,
                          OpenWanted(folder / "edge_weights.npy", access,
                                     {{NpyType::kF32},
                                      {arrays.metadata.num_edges},
                                      "metadata.yaml's num_edges"}));
  }
  if (Exists(folder / kNamesFile)) {
    if (access == Access::kHeaders) {
      return OpenPlainFile(folder / kNamesFile).status();
    }
    FGNN_ASSIGN_OR_RETURN(arrays.names, MappedFile::Open(folder / kNamesFile));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<DatasetArrays> DatasetArrays::Open(const fs::path& folder,
                                                  Access access) {
  FGNN_RETURN_IF_ERROR(CheckFolder(folder));
  DatasetArrays arrays;
  arrays.folder = folder;
  // The state is read before any file: a file that changes meanwhile changes
  // the key.
  arrays.state = StateOf(folder);
  FGNN_ASSIGN_OR_RETURN(arrays.metadata, ReadMetadata(folder));
  FGNN_RETURN_IF_ERROR(OpenTopology(access, arrays));
  FGNN_RETURN_IF_ERROR(OpenFeatures(access, arrays));
  FGNN_RETURN_IF_ERROR(OpenLabels(access, arrays));
  FGNN_RETURN_IF_ERROR(OpenTargets(access, arrays));
  FGNN_RETURN_IF_ERROR(OpenOptional(access, arrays));
  return arrays;
}

}  // namespace fgnn
