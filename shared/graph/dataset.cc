#include "shared/graph/dataset.h"

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "shared/base/philox.h"
#include "shared/base/status.h"
#include "shared/graph/array_places.h"
#include "shared/graph/dataset_arrays.h"
#include "shared/graph/dataset_names.h"
#include "shared/graph/npy.h"
#include "shared/graph/validate.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;

absl::Span<const int64_t> IdsOf(const NpyArray& array) {
  if (array.header().shape.empty()) return {};
  return array.As<int64_t>();
}

EdgeView EdgesOf(const NpyArray& array, const ArrayPlaces& places) {
  if (array.header().shape.empty()) return EdgeView();
  return array.header().type == NpyType::kI64
             ? EdgeView(array.As<int64_t>(), &places)
             : EdgeView(array.As<uint32_t>(), &places);
}

std::optional<HostRows> HostOf(const DatasetMetadata& metadata) {
  if (!metadata.host_rows.has_value()) return std::nullopt;
  return metadata.host_rows->host;
}

std::string_view TextOf(const MappedFile& file) {
  const auto bytes = file.bytes();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::vector<std::string_view> SplitLines(std::string_view text,
                                         uint64_t num_nodes) {
  std::vector<std::string_view> lines;
  lines.reserve(std::min<uint64_t>(num_nodes, text.size()));
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

}  // namespace

// The arrays and the views of them that callers get.
struct Dataset::Contents {
  explicit Contents(DatasetArrays opened);
  absl::Status Validate(Validation validation,
                        absl::FunctionRef<absl::Status()> check) const;
  absl::Status ValidateSplits(absl::FunctionRef<absl::Status()> check) const;
  DatasetSizes Sizes() const;

  std::string PathOf(const char* file) const {
    return (arrays.folder / file).string();
  }
  void AddPlaces();
  bool has_train_edges() const {
    return !arrays.edges.train.header().shape.empty();
  }

  const DatasetArrays arrays;
  DerivedFiles derived;
  ArrayPlaces places;
  CscView graph;
  FeatureView features;
  absl::Span<const int64_t> labels;
  TargetView targets;
  absl::Span<const float> weights;

  // Few callers ask for names, so the first call finds the lines.
  mutable std::once_flag lines_once;
  mutable std::vector<std::string_view> lines;
};

void Dataset::Contents::AddPlaces() {
  places.Add(PathOf("csc_indptr.npy"), arrays.indptr);
  places.Add(PathOf("indices.npy"), arrays.indices);
  places.Add(PathOf("labels.npy"), arrays.labels);
  places.Add(PathOf(kTargetsFile), arrays.targets);
  places.Add(PathOf("edge_weights.npy"), arrays.edge_weights);
  places.Add(PathOf("train.npy"), arrays.vertices.train);
  places.Add(PathOf("valid.npy"), arrays.vertices.valid);
  places.Add(PathOf("test.npy"), arrays.vertices.test);
  places.Add(PathOf("train_edges.npy"), arrays.edges.train);
  places.Add(PathOf("valid_edges.npy"), arrays.edges.valid);
  places.Add(PathOf("test_edges.npy"), arrays.edges.test);
}

Dataset::Contents::Contents(DatasetArrays opened) : arrays(std::move(opened)) {
  derived = DerivedFiles(arrays.folder, /*state_dir=*/{});
  AddPlaces();
  graph.places = &places;
  graph.indptr = arrays.indptr.As<EdgeOffset>();
  if (arrays.indices.header().type == NpyType::kI64) {
    graph.indices = arrays.indices.As<int64_t>();
  } else {
    graph.indices = arrays.indices.As<uint32_t>();
  }
  const DatasetMetadata& metadata = arrays.metadata;
  if (metadata.feature_columns > 0) {
    features = {arrays.features.data(), metadata.feature_type,
                arrays.features.header().shape.front(),
                metadata.feature_columns};
  }
  labels = IdsOf(arrays.labels);
  if (metadata.target_columns > 0) {
    targets = {arrays.targets.data(), metadata.target_type, metadata.num_nodes,
               metadata.target_columns};
  }
  if (!arrays.edge_weights.header().shape.empty()) {
    weights = arrays.edge_weights.As<float>();
  }
}

DatasetSizes Dataset::Contents::Sizes() const {
  const DatasetMetadata& metadata = arrays.metadata;
  const uint64_t index_bytes = BytesOf(arrays.indices.header().type);
  return {.num_nodes = metadata.num_nodes,
          .num_edges = metadata.num_edges,
          .num_classes = metadata.num_classes,
          .has_labels = !labels.empty(),
          .has_train_edges = has_train_edges(),
          .target_columns = metadata.target_columns,
          .target_type = metadata.target_type,
          .topology_bytes = graph.indptr.size() * sizeof(EdgeOffset) +
                            metadata.num_edges * index_bytes,
          .feature_columns = features.columns,
          .feature_row_bytes = features.row_bytes(),
          .num_feature_rows = features.rows,
          .host_rows = HostOf(metadata),
          .vertices = {.train = IdsOf(arrays.vertices.train).size(),
                       .valid = IdsOf(arrays.vertices.valid).size(),
                       .test = IdsOf(arrays.vertices.test).size()},
          .edges = {.train = has_train_edges()
                                 ? EdgesOf(arrays.edges.train, places).size()
                                 : metadata.num_edges,
                    .valid = EdgesOf(arrays.edges.valid, places).size(),
                    .test = EdgesOf(arrays.edges.test, places).size()}};
}

absl::Status Dataset::Contents::Validate(
    Validation validation, absl::FunctionRef<absl::Status()> check) const {
  if (validation == Validation::kShapes) return absl::OkStatus();
  const DatasetMetadata& metadata = arrays.metadata;
  FGNN_RETURN_IF_ERROR(
      CheckIndptr(PathOf("csc_indptr.npy"), graph.indptr, metadata.num_edges));
  FGNN_RETURN_IF_ERROR(check());
  FGNN_RETURN_IF_ERROR(
      CheckIndices(PathOf("indices.npy"), graph,
                   arrays.indices.header().type == NpyType::kI32));
  FGNN_RETURN_IF_ERROR(check());
  FGNN_RETURN_IF_ERROR(
      CheckLabels(PathOf("labels.npy"), labels, metadata.num_classes));
  FGNN_RETURN_IF_ERROR(ValidateSplits(check));
  FGNN_RETURN_IF_ERROR(check());
  FGNN_RETURN_IF_ERROR(ReadDatasetNames(arrays.folder, metadata.num_classes,
                                        metadata.feature_columns,
                                        metadata.target_columns)
                           .status());
  if (arrays.names.has_value()) {
    FGNN_RETURN_IF_ERROR(CheckNames(PathOf(kNamesFile), TextOf(*arrays.names),
                                    metadata.num_nodes));
  }
  if (validation != Validation::kEverything) return absl::OkStatus();
  FGNN_RETURN_IF_ERROR(check());
  FGNN_RETURN_IF_ERROR(CheckFeatures(PathOf(kFeaturesFile), features));
  FGNN_RETURN_IF_ERROR(check());
  FGNN_RETURN_IF_ERROR(CheckTargets(PathOf(kTargetsFile), targets));
  FGNN_RETURN_IF_ERROR(check());
  return CheckEdgeWeights(PathOf("edge_weights.npy"), weights);
}

absl::Status Dataset::Contents::ValidateSplits(
    absl::FunctionRef<absl::Status()> check) const {
  const std::pair<const char*, const NpyArray*> splits[] = {
      {"train.npy", &arrays.vertices.train},
      {"valid.npy", &arrays.vertices.valid},
      {"test.npy", &arrays.vertices.test}};
  for (const auto& [file, array] : splits) {
    FGNN_RETURN_IF_ERROR(check());
    FGNN_RETURN_IF_ERROR(CheckSplit(PathOf(file), IdsOf(*array), labels,
                                    targets, arrays.metadata.num_nodes));
  }
  const std::pair<const char*, const NpyArray*> edge_splits[] = {
      {"train_edges.npy", &arrays.edges.train},
      {"valid_edges.npy", &arrays.edges.valid},
      {"test_edges.npy", &arrays.edges.test}};
  for (const auto& [file, array] : edge_splits) {
    FGNN_RETURN_IF_ERROR(check());
    FGNN_RETURN_IF_ERROR(CheckEdges(PathOf(file), EdgesOf(*array, places),
                                    arrays.metadata.num_nodes));
  }
  return absl::OkStatus();
}

absl::StatusOr<Dataset> Dataset::Open(const fs::path& folder,
                                      Validation validation,
                                      absl::FunctionRef<absl::Status()> check) {
  FGNN_ASSIGN_OR_RETURN(DatasetArrays arrays,
                        DatasetArrays::Open(folder, Access::kMap));
  auto contents = std::make_unique<Contents>(std::move(arrays));
  FGNN_RETURN_IF_ERROR(contents->Validate(validation, check));
  return Dataset(std::move(contents));
}

absl::StatusOr<DatasetSizes> Dataset::ReadSizes(const fs::path& folder) {
  FGNN_ASSIGN_OR_RETURN(DatasetArrays arrays,
                        DatasetArrays::Open(folder, Access::kHeaders));
  return Contents(std::move(arrays)).Sizes();
}

absl::StatusOr<uint64_t> Dataset::ContentFingerprint(
    absl::FunctionRef<absl::Status()> check) const {
  FGNN_ASSIGN_OR_RETURN(const uint64_t own, OwnFingerprint(check));
  const std::optional<HostFolder>& host = contents_->arrays.metadata.host_rows;
  if (!host.has_value()) return own;
  if (own == host->own_content) return host->content;
  return absl::InvalidArgumentError(absl::StrCat(
      contents_->PathOf("metadata.yaml"), ": host_rows.own_content is ",
      absl::Hex(host->own_content, absl::kZeroPad16),
      ", but the folder's arrays have ", absl::Hex(own, absl::kZeroPad16),
      ": a file has changed since it was cut; ", HowToCut(host->host.owners)));
}

// Names do not count, and metadata.yaml counts only by the fields that a job
// uses.
absl::StatusOr<uint64_t> Dataset::OwnFingerprint(
    absl::FunctionRef<absl::Status()> check) const {
  const DatasetArrays& arrays = contents_->arrays;
  uint64_t hash = Mix64(arrays.metadata.num_classes);
  hash = Mix64(hash ^ static_cast<uint64_t>(arrays.metadata.feature_type));
  std::vector<const NpyArray*> read = {
      &arrays.indptr,        &arrays.indices,        &arrays.features,
      &arrays.labels,        &arrays.vertices.train, &arrays.vertices.valid,
      &arrays.vertices.test, &arrays.edge_weights,   &arrays.edges.train,
      &arrays.edges.valid,   &arrays.edges.test};
  // A dataset without targets keeps the checksum that it had before there were
  // any.
  if (num_targets() > 0) read.push_back(&arrays.targets);
  if (const std::optional<HostRows> host = host_rows(); host.has_value()) {
    hash = Mix64(hash ^ host->book);
    hash = Mix64(hash ^ (uint64_t{host->owners} << 32 | host->owner));
  }
  for (const NpyArray* array : read) {
    FGNN_RETURN_IF_ERROR(check());
    const NpyHeader& header = array->header();
    const uint64_t bytes =
        header.shape.empty() ? 0 : header.num_elements() * BytesOf(header.type);
    hash = Mix64(hash ^ static_cast<uint64_t>(header.type));
    hash = Mix64(hash ^ bytes);
    hash = Mix64(hash ^ CrcOfMapped({array->data(), bytes}));
  }
  return std::max<uint64_t>(hash, 1);
}

DatasetSizes Dataset::sizes() const { return contents_->Sizes(); }

Dataset::Dataset(std::unique_ptr<Contents> contents)
    : contents_(std::move(contents)) {}
Dataset::Dataset(Dataset&&) noexcept = default;
Dataset& Dataset::operator=(Dataset&&) noexcept = default;
Dataset::~Dataset() = default;

const std::string& Dataset::name() const {
  return contents_->arrays.metadata.name;
}
const fs::path& Dataset::folder() const { return contents_->arrays.folder; }
uint64_t Dataset::num_nodes() const {
  return contents_->arrays.metadata.num_nodes;
}
uint64_t Dataset::num_edges() const {
  return contents_->arrays.metadata.num_edges;
}
uint32_t Dataset::num_classes() const {
  return contents_->arrays.metadata.num_classes;
}
const CscView& Dataset::graph() const { return contents_->graph; }
const FeatureView& Dataset::features() const { return contents_->features; }
FeatureFile Dataset::feature_file() const {
  const FeatureView& view = features();
  return {contents_->arrays.folder / kFeaturesFile,
          contents_->arrays.features.header().data_offset, view.type, view.rows,
          view.columns};
}
std::optional<HostRows> Dataset::host_rows() const {
  return HostOf(contents_->arrays.metadata);
}
absl::Status CheckHasAllRows(const Dataset& dataset) {
  const std::optional<HostRows> host = dataset.host_rows();
  if (!host.has_value()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      (dataset.folder() / kFeaturesFile).string(), ": has ", Describe(*host),
      " alone; name the whole dataset, of which 'fgnn dataset partition' cut "
      "it"));
}
absl::Span<const int64_t> Dataset::labels() const { return contents_->labels; }
const TargetView& Dataset::targets() const { return contents_->targets; }
uint32_t Dataset::num_targets() const { return targets().columns; }
std::string_view Dataset::TargetName(uint32_t column) const {
  const std::vector<std::string>& names = contents_->arrays.target_names;
  return column < names.size() ? names[column] : std::string_view();
}
absl::Span<const int64_t> Dataset::train() const {
  return IdsOf(contents_->arrays.vertices.train);
}
absl::Span<const int64_t> Dataset::valid() const {
  return IdsOf(contents_->arrays.vertices.valid);
}
absl::Span<const int64_t> Dataset::test() const {
  return IdsOf(contents_->arrays.vertices.test);
}
bool Dataset::has_train_edges() const { return contents_->has_train_edges(); }
EdgeView Dataset::train_edges() const {
  return has_train_edges()
             ? EdgesOf(contents_->arrays.edges.train, contents_->places)
             : EdgeView(&contents_->graph);
}
EdgeView Dataset::valid_edges() const {
  return EdgesOf(contents_->arrays.edges.valid, contents_->places);
}
EdgeView Dataset::test_edges() const {
  return EdgesOf(contents_->arrays.edges.test, contents_->places);
}
absl::Span<const float> Dataset::edge_weights() const {
  return contents_->weights;
}
bool Dataset::has_names() const { return contents_->arrays.names.has_value(); }
absl::Span<const std::string> Dataset::kinds() const {
  if (!has_names()) return {};
  return contents_->arrays.metadata.kinds;
}
uint64_t Dataset::Fingerprint() const {
  return contents_->arrays.state.fingerprint;
}
const DerivedFiles& Dataset::derived() const { return contents_->derived; }
void Dataset::FindDerivedIn(const fs::path& state_dir) {
  contents_->derived = DerivedFiles(folder(), state_dir);
}
uint64_t Dataset::total_bytes() const {
  return contents_->arrays.state.array_bytes;
}

std::string_view Dataset::NodeName(GlobalId v) const {
  if (!has_names()) return {};
  const Contents& c = *contents_;
  std::call_once(c.lines_once, [&c] {
    c.lines = SplitLines(TextOf(*c.arrays.names), c.arrays.metadata.num_nodes);
  });
  return v < c.lines.size() ? c.lines[v] : std::string_view();
}

}  // namespace fgnn
