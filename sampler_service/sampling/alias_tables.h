// Weights of a graph's edges, prepared for draws in constant time: alias tables
// (Walker, 1977; built as Vose, 1991, does), one per adjacency list.
#ifndef FGNN_SAMPLER_SERVICE_SAMPLING_ALIAS_TABLES_H_
#define FGNN_SAMPLER_SERVICE_SAMPLING_ALIAS_TABLES_H_

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "sampler_service/sampling/laws/weighted_law.h"
#include "shared/base/files/file.h"
#include "shared/base/types.h"
#include "shared/graph/dataset.h"

namespace fgnn {

// Immutable; safe to read from any thread.
class AliasTables {
 public:
  // Builds tables from weights per edge, [num_edges]; there is a cell per edge.
  // An edge of weight 0 is never drawn. The odds of a place are off by less
  // than 2^-31. InvalidArgument, naming edge and vertex: a weight is negative
  // or not finite, all in-edges of a vertex weigh 0, or a vertex has 2^32
  // in-edges. Also InvalidArgument: an index is not a vertex.
  static absl::StatusOr<AliasTables> Build(const CscView& graph,
                                           absl::Span<const float> weights,
                                           uint32_t num_threads);

  // Opens the tables of a dataset from its DerivedFiles. Where they are missing
  // or of another state of the folder, they are built first, and saved if they
  // can be. `weights_file` is edge_weights.npy, or a file
  // of the folder with one f32 per vertex: an edge has the weight of its source
  // vertex. Errors: those of Build(), naming the file. NotFound: there is no
  // such file.
  static absl::StatusOr<AliasTables> Open(const Dataset& dataset,
                                          const std::string& weights_file,
                                          uint32_t num_threads);

  absl::Span<const AliasCell> cells() const { return cells_; }
  absl::Span<const float> weights() const { return weights_; }
  // Returns true if no weight is 0.
  bool all_positive() const { return all_positive_; }

 private:
  struct FileHeader;

  AliasTables() = default;

  // FailedPrecondition: the file's key is not `expected`.key. DataLoss: the
  // file is damaged.
  static absl::StatusOr<AliasTables> Read(const std::string& name,
                                          const FileHeader& expected,
                                          const Dataset& dataset,
                                          MappedFile file);
  // Does the same with the file of this name in either place. NotFound: there
  // is none that may be read.
  static absl::StatusOr<AliasTables> Find(const std::string& name,
                                          const FileHeader& expected,
                                          const Dataset& dataset);
  static absl::StatusOr<AliasTables> BuildFor(const Dataset& dataset,
                                              const std::string& weights_file,
                                              uint32_t num_threads);

  absl::Span<const AliasCell> cells_;
  absl::Span<const float> weights_;
  bool all_positive_ = false;
  // The memory of the spans, where it is not the caller's.
  std::vector<AliasCell> built_cells_;
  std::vector<float> built_weights_;
  MappedFile file_;
};

}  // namespace fgnn

#endif  // FGNN_SAMPLER_SERVICE_SAMPLING_ALIAS_TABLES_H_
