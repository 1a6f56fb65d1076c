// Weights of a graph's edges, made ready for draws in constant time: alias
// tables (Walker, 1977; built as Vose, 1991, does), one per adjacency list.
#ifndef FGNN_SAMPLER_SERVICE_SAMPLING_ALIAS_TABLES_H_
#define FGNN_SAMPLER_SERVICE_SAMPLING_ALIAS_TABLES_H_

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "shared/base/file.h"
#include "shared/base/types.h"
#include "shared/graph/dataset.h"

namespace fgnn {

// A draw hits a place of the list and tosses a coin of 32 bits: below the
// threshold it stays there, else it goes to `other`, a place of the same list.
// The vertices at both places stand in the cell, so that a draw costs one read
// at random.
struct AliasCell {
  uint32_t threshold;
  uint32_t other;
  GlobalId vertex;
  GlobalId other_vertex;
};

// Immutable; safe to read from any thread.
class AliasTables {
 public:
  // Weights are per edge, [num_edges], as are the cells. A weight of 0 is never
  // drawn; the odds of a place are off by less than 2^-31.
  // InvalidArgument: a weight that is negative or not finite, a vertex whose
  // in-edges all weigh 0, or that has 2^32 of them; it names edge and vertex;
  // an index that is not a vertex.
  static absl::StatusOr<AliasTables> Build(const CscView& graph,
                                           absl::Span<const float> weights,
                                           uint32_t num_threads);

  // Those of a dataset, from its folder derived/; built first, and saved there
  // if it can be written, where they are missing or of another state of the
  // folder. `weights_file`: edge_weights.npy, or a file of the folder with one
  // f32 per vertex: an edge weighs what its source vertex has.
  // Errors of Build(), naming the file; NotFound: there is none.
  static absl::StatusOr<AliasTables> Open(const Dataset& dataset,
                                          const std::string& weights_file,
                                          uint32_t num_threads);

  absl::Span<const AliasCell> cells() const { return cells_; }
  absl::Span<const float> weights() const { return weights_; }
  // That no weight is 0.
  bool all_positive() const { return all_positive_; }

 private:
  struct FileHeader;

  AliasTables() = default;

  // FailedPrecondition: the file is not of `expected`.key; DataLoss: damaged.
  static absl::StatusOr<AliasTables> Map(const std::filesystem::path& path,
                                         const FileHeader& expected,
                                         const Dataset& dataset);
  static absl::StatusOr<AliasTables> BuildFor(const Dataset& dataset,
                                              const std::string& weights_file,
                                              uint32_t num_threads);

  absl::Span<const AliasCell> cells_;
  absl::Span<const float> weights_;
  bool all_positive_ = false;
  // What the spans look at, if it is not the caller's.
  std::vector<AliasCell> built_cells_;
  std::vector<float> built_weights_;
  MappedFile file_;
};

}  // namespace fgnn

#endif  // FGNN_SAMPLER_SERVICE_SAMPLING_ALIAS_TABLES_H_
