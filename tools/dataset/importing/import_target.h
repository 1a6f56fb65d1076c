// The common end of all importers: the dataset folder being made, its checks
// and its totals.
#ifndef FGNN_TOOLS_DATASET_IMPORTING_IMPORT_TARGET_H_
#define FGNN_TOOLS_DATASET_IMPORTING_IMPORT_TARGET_H_

#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "shared/base/clock.h"
#include "shared/base/types.h"
#include "tools/dataset/building/csc_builder.h"
#include "tools/dataset/building/dataset_writer.h"
#include "tools/dataset/importing/feature_store.h"
#include "tools/dataset/importing/import.h"
#include "tools/dataset/importing/label_store.h"

namespace fgnn {

// Not thread-safe. `options` must outlive this object. Nothing stays on the
// disk unless Finish() succeeded.
class ImportTarget {
 public:
  // `source` is one line about the origin of the data, for metadata.yaml.
  static absl::StatusOr<std::unique_ptr<ImportTarget>> Create(
      const ImportOptions& options, std::string source);

  // Call it once, before the edges. `source_bytes` is the size of the file that
  // they come from (0: not known); it bounds the memory for sorting them.
  absl::Status BeginEdges(bool with_weights, uint64_t source_bytes);
  // A weight of NaN is missing; see AccountForWeights().
  absl::Status AddEdge(GlobalId source, GlobalId destination,
                       float weight = 1.0F) {
    ++num_edges_added_;
    if (!std::isnan(weight)) weight_sum_ += double{weight};
    return edges_->Add(source, destination, weight);
  }
  uint64_t num_edges_added() const { return num_edges_added_; }
  // Adds what edges were read from to the account: a table that lacks what was
  // made and merged. Call it once, before Finish().
  void AccountForEdges(AccountTable table);
  // Adds the column of the weights to the account, once all edges were added,
  // and fills those that are missing. InvalidArgument: options.fill refuses
  // that.
  absl::Status AccountForWeights(const std::string& what, AccountColumn column);

  const ImportOptions& options() const { return options_; }
  const DatasetWriter& writer() const { return writer_; }
  FeatureStore& features() { return features_; }
  LabelStore& labels() { return labels_; }
  ImportAccount& account() { return summary_.account; }
  // Global ids. `split` is "train", "valid" or "test".
  void SetSplit(const std::string& split, std::vector<int64_t> ids,
                std::string what);

  // States that the source has an entry of its own for each of this many
  // vertices, apart from features and labels: the number is not a mere claim.
  void VouchForNodes(uint64_t num_nodes) { num_vouched_for_ = num_nodes; }
  // InvalidArgument if the edges are too few for `num_nodes` vertices and
  // nothing else proves them. Finish() calls it. A caller that allocates by a
  // number of vertices calls it before.
  absl::Status CheckDense(uint64_t num_nodes) const;

  void Note(std::string note) { summary_.notes.push_back(std::move(note)); }
  // Notes that arrays, columns or files of the source are left out, if there
  // are any, and keeps their names in metadata.yaml. `why` begins the line.
  void LeaveOut(std::string_view why, const std::vector<std::string>& names);
  // Passes the progress on, but at most some fifty times a second in one stage.
  void Progress(std::string_view stage, uint64_t done, uint64_t total);

  // Checks that all parts agree on the number of vertices, draws splits if
  // asked to, sorts the edges, and makes the folder appear. `kinds`: see
  // DatasetMetadata::kinds.
  absl::StatusOr<ImportSummary> Finish(uint64_t num_nodes,
                                       std::vector<std::string> kinds = {});

 private:
  struct Split {
    std::string name;
    std::vector<int64_t> ids;
    std::string what;
  };

  ImportTarget(const ImportOptions& options, std::string source,
               DatasetWriter writer);
  absl::Status FinishAccount();
  absl::Status FinishSplits(uint64_t num_nodes);
  absl::Status FinishEdges(uint64_t num_nodes);
  absl::Status FindSymmetry();
  absl::Status CheckSplit(const Split& split, uint64_t num_nodes) const;
  void DrawSplits();

  const ImportOptions& options_;
  std::string source_;
  DatasetWriter writer_;
  std::unique_ptr<CscBuilder> edges_;
  uint64_t num_edges_added_ = 0;
  uint64_t num_vouched_for_ = 0;  // Number of vertices; see VouchForNodes().
  double weight_sum_ = 0;         // Sum of the weights that are not missing.
  FeatureStore features_;
  LabelStore labels_;
  std::vector<Split> splits_;
  ImportSummary summary_;
  std::string stage_;  // The stage whose progress was reported last.
  bool stage_at_end_ = false;
  Stopwatch since_progress_;
};

}  // namespace fgnn

#endif  // FGNN_TOOLS_DATASET_IMPORTING_IMPORT_TARGET_H_
