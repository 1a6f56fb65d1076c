// A dataset folder, memory-mapped: topology, features, labels or
// targets, and splits.
// The format is described in shared/graph/README.md.
#ifndef FGNN_SHARED_GRAPH_DATASET_H_
#define FGNN_SHARED_GRAPH_DATASET_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "shared/base/types.h"
#include "shared/graph/derived_files.h"
#include "shared/graph/feature_type.h"
#include "shared/graph/host_rows.h"
#include "shared/graph/target_view.h"

namespace fgnn {

size_t BytesOf(FeatureType type);
std::string_view NameOf(FeatureType type);  // "f32", "f16", "bf16".
// Returns nullopt if no type has this name.
std::optional<FeatureType> FeatureTypeOf(std::string_view name);

class ArrayPlaces;  // shared/graph/array_places.h

// The graph in compressed sparse columns: the in-neighbours of v are
// indices[indptr[v] .. indptr[v+1]). Borrowed from a Dataset. The files may
// change while they are mapped: edge_lists.h has reads that check.
struct CscView {
  absl::Span<const EdgeOffset> indptr;  // [num_nodes + 1], monotone, from 0.
  // [num_edges], each in [0, num_nodes). Datasets with 64-bit ids are read, but
  // never written.
  std::variant<absl::Span<const uint32_t>, absl::Span<const int64_t>> indices;
  // Names of the elements of the dataset's arrays; null: they have no files.
  const ArrayPlaces* places = nullptr;

  uint64_t num_nodes() const { return indptr.size() - 1; }
  // Returns the number of indices, which no change of the files changes.
  uint64_t num_edges() const {
    return std::visit([](auto span) { return span.size(); }, indices);
  }
};

struct Edge {
  uint64_t source = 0;
  uint64_t destination = 0;
  friend bool operator==(const Edge&, const Edge&) = default;
};

// Edges by their places. They are a file's edges or, without a file, all edges
// of a graph in the order of its CSC. Borrowed from a Dataset.
class EdgeView {
 public:
  EdgeView() = default;
  // [n, 2], (source, destination).
  explicit EdgeView(absl::Span<const uint32_t> ends,
                    const ArrayPlaces* places = nullptr)
      : pairs_(ends), places_(places) {}
  explicit EdgeView(absl::Span<const int64_t> ends,
                    const ArrayPlaces* places = nullptr)
      : pairs_(ends), places_(places) {}
  explicit EdgeView(const CscView* graph) : graph_(graph) {}

  uint64_t size() const;
  bool empty() const { return size() == 0; }
  // Returns the edge at `place`, in [0, size()). Takes O(log num_nodes) for a
  // graph's edges. Ends are as they were read: a negative one is beyond every
  // vertex.
  Edge operator[](uint64_t place) const;
  // Returns the same edge. InvalidArgument, naming file and element: an end is
  // not below num_nodes.
  absl::StatusOr<Edge> Read(uint64_t place, uint64_t num_nodes) const;

 private:
  absl::Status Changed(uint64_t place, const Edge& edge,
                       uint64_t num_nodes) const;

  std::variant<absl::Span<const uint32_t>, absl::Span<const int64_t>> pairs_;
  const ArrayPlaces* places_ = nullptr;
  const CscView* graph_ = nullptr;
};

// Returns the largest number of in-neighbours of a vertex. One pass over
// indptr. A list that falls counts as empty.
uint64_t MaxInDegree(const CscView& graph);

// Return element `place` of a list of vertices, below num_nodes, and the label
// of v, below num_classes. InvalidArgument, naming file and element if `places`
// knows it: it is out of range.
absl::StatusOr<GlobalId> ReadSplit(const ArrayPlaces* places,
                                   absl::Span<const int64_t> split,
                                   size_t place, uint64_t num_nodes);
absl::StatusOr<uint32_t> ReadLabelOf(const ArrayPlaces* places,
                                     absl::Span<const int64_t> labels,
                                     GlobalId v, uint32_t num_classes);

// [rows, columns] row-major. Borrowed from a Dataset.
struct FeatureView {
  const std::byte* data = nullptr;
  FeatureType type = FeatureType::kFloat32;
  uint64_t rows = 0;
  uint64_t columns = 0;

  uint64_t row_bytes() const { return columns * BytesOf(type); }
  const std::byte* row(uint64_t v) const { return data + v * row_bytes(); }
};

// The same rows as they lie in their file.
struct FeatureFile {
  std::filesystem::path path;
  uint64_t offset = 0;  // Offset of the first row in bytes.
  FeatureType type = FeatureType::kFloat32;
  uint64_t rows = 0;
  uint64_t columns = 0;

  uint64_t row_bytes() const { return columns * BytesOf(type); }
};

// How much Open() checks.
enum class Validation : uint8_t {
  // Checks that files are present and that types and shapes agree. Split ids,
  // labels and indices must be in range; vertices of splits must have a label
  // or all targets; indptr must be monotone and end at the number of edges.
  // Costs one pass over the topology.
  kStructure,
  // Also checks that features are finite, edge weights finite and not negative,
  // and targets numbers or NaN, or 0, 1 or 255. Costs one more pass over the
  // features and targets.
  kEverything,
  // Checks types and shapes only. For tools that read a folder's metadata, and
  // for daemons of a service whose scheduler has validated the folder.
  kShapes,
};

struct SplitSizes {
  uint64_t train = 0;
  uint64_t valid = 0;
  uint64_t test = 0;
};

// The sizes in the headers of a dataset's files.
struct DatasetSizes {
  uint64_t num_nodes = 0;
  uint64_t num_edges = 0;
  uint32_t num_classes = 0;
  bool has_labels = false;
  bool has_train_edges = false;
  uint32_t target_columns = 0;  // 0: no targets.
  TargetType target_type = TargetType::kFloat32;
  uint64_t topology_bytes = 0;
  uint64_t feature_columns = 0;                      // 0: no features.
  uint64_t feature_row_bytes = 0;                    // 0: no features.
  uint64_t num_feature_rows = 0;                     // Rows of features.npy.
  std::optional<HostRows> host_rows = std::nullopt;  // Dataset::host_rows().
  SplitSizes vertices;                               // Numbers of vertices.
  // Numbers of edges. Without train_edges.npy all edges train.
  SplitSizes edges;
};

// An open dataset. Immutable; safe to read from any thread. Owns its mappings.
//
// Errors name the file, the place in it and the reason:
//   NotFound         the folder or a file of it is missing.
//   InvalidArgument  anything that validation finds.
//   PermissionDenied a file cannot be read.
class Dataset {
 public:
  // Calls `check` between the files that are validated, and returns its error.
  static absl::StatusOr<Dataset> Open(
      const std::filesystem::path& folder, Validation validation,
      absl::FunctionRef<absl::Status()> check = absl::OkStatus);
  // Returns the sizes of a folder that Open() accepts with kShapes. Maps
  // nothing, so that a file that shrinks meanwhile does no harm to this
  // process.
  static absl::StatusOr<DatasetSizes> ReadSizes(
      const std::filesystem::path& folder);
  Dataset(Dataset&&) noexcept;
  Dataset& operator=(Dataset&&) noexcept;
  ~Dataset();

  DatasetSizes sizes() const;
  const std::string& name() const;
  const std::filesystem::path& folder() const;
  uint64_t num_nodes() const;
  uint64_t num_edges() const;
  // Number of classes of the labels: metadata.yaml's num_classes. 0 without
  // labels.
  uint32_t num_classes() const;

  const CscView& graph() const;
  // Has no columns if the folder has no features. A host folder has the rows of
  // own vertices alone, in the order of their global ids: see OwnRows.
  const FeatureView& features() const;
  FeatureFile feature_file() const;
  // Whose rows of the features the folder has; nullopt: it has all.
  std::optional<HostRows> host_rows() const;
  // [num_nodes], each in [0, num_classes), or -1 for "has none"; may be empty.
  absl::Span<const int64_t> labels() const;
  // Has no rows if the folder has no targets. A dataset has labels or targets,
  // never both.
  const TargetView& targets() const;
  // Number of columns of the targets: metadata.yaml's target_columns. 0 without
  // targets.
  uint32_t num_targets() const;
  // Returns the name of a column of the targets, in [0, num_targets()); empty:
  // it has none.
  std::string_view TargetName(uint32_t column) const;
  // Global ids in any order. Every one of them has a label or all its targets.
  absl::Span<const int64_t> train() const;
  absl::Span<const int64_t> valid() const;
  absl::Span<const int64_t> test() const;
  // Edges that link prediction trains on: train_edges.npy or, without that
  // file, all edges of the graph. The edges that it is scored on are empty
  // without their files.
  EdgeView train_edges() const;
  EdgeView valid_edges() const;
  EdgeView test_edges() const;
  // Returns true if the dataset has train_edges.npy.
  bool has_train_edges() const;
  // [num_edges] or empty.
  absl::Span<const float> edge_weights() const;
  // Returns the v-th line of names.txt; empty if there is no such file.
  std::string_view NodeName(GlobalId v) const;
  bool has_names() const;
  // Kinds of vertices that count apart. Each name is "KIND:ID" then;
  // vertex_names.h has its parts. Empty: there is one kind, or no names.
  absl::Span<const std::string> kinds() const;

  // Returns a number that changes whenever a file of the folder changes (names,
  // sizes, inodes, times of changes, which no user can set back). It is the key
  // of files that are derived from the dataset.
  uint64_t Fingerprint() const;

  // The files that are derived from the dataset. Those of a service are also in
  // its folder, once FindDerivedIn() has named it; call it before threads read
  // this object.
  const DerivedFiles& derived() const;
  void FindDerivedIn(const std::filesystem::path& state_dir);

  // Returns a checksum of everything that a job reads of the dataset. It is
  // never 0, and equal for copies, and for the host folders that were cut from
  // it. Reads all arrays once; `check` as in Open(). InvalidArgument: a host
  // folder has other contents than those that were cut.
  absl::StatusOr<uint64_t> ContentFingerprint(
      absl::FunctionRef<absl::Status()> check = absl::OkStatus) const;
  // Returns the same of what this folder has.
  absl::StatusOr<uint64_t> OwnFingerprint(
      absl::FunctionRef<absl::Status()> check = absl::OkStatus) const;

  // Bytes of all arrays on disk.
  uint64_t total_bytes() const;

 private:
  struct Contents;
  explicit Dataset(std::unique_ptr<Contents> contents);
  std::unique_ptr<Contents> contents_;
};

// Returns OK for a folder that has the features of all vertices.
// InvalidArgument, with the way out: it is a host folder.
absl::Status CheckHasAllRows(const Dataset& dataset);

// Returns the fingerprint of the files of `folder` as they are now, without
// opening them. A dataset that is opened then has the same Fingerprint().
uint64_t FingerprintOf(const std::filesystem::path& folder);

struct ValidatedFolder {
  uint64_t state = 0;    // FingerprintOf() before the files were read.
  uint64_t content = 0;  // ContentFingerprint() of the dataset.
};

// Validates everything, once per state of the folder. A success is saved in the
// service's folder, which no owner of a dataset can write. `state_dir`: the
// service's folder; empty: nothing is saved. `check` as in Dataset::Open().
absl::StatusOr<ValidatedFolder> ValidateOnce(
    const std::filesystem::path& folder, const std::filesystem::path& state_dir,
    absl::FunctionRef<absl::Status()> check = absl::OkStatus);

}  // namespace fgnn

#endif  // FGNN_SHARED_GRAPH_DATASET_H_
