// Synthetic datasets. They depend on the options alone, not on the number of
// threads: every choice is drawn from Philox, keyed by the seed and counted by
// edge or vertex.
#ifndef FGNN_TOOLS_DATASET_GENERATING_GENERATE_H_
#define FGNN_TOOLS_DATASET_GENERATING_GENERATE_H_

#include <cstdint>
#include <filesystem>

#include "absl/status/statusor.h"
#include "shared/graph/dataset.h"
#include "tools/dataset/building/csc_builder.h"
#include "tools/dataset/building/interrupt_cleanup.h"
#include "tools/dataset/building/progress.h"

namespace fgnn {

// Options of both kinds of graph.
struct GenerateOptions {
  std::filesystem::path out;
  uint64_t feature_columns = 100;  // 0: no features. At most 65536.
  FeatureType feature_type = FeatureType::kFloat32;
  uint32_t num_classes = 47;  // 0: no labels. At most 65536.
  // Share for training, in [0, 1]; the rest is halved.
  double train_fraction = 0.1;
  // Standard deviation of a row's distance from its class's centroid, per
  // column, in units of the centroids' length. Not negative. Above 0.5 a
  // vertex's own features tell little of its class; those of a neighbourhood
  // still tell much.
  double feature_noise = 0.5;
  uint64_t seed = 1;
  unsigned threads = 0;                   // 0: as many as there are cores.
  ProgressCallback progress;              // May be empty.
  InterruptCleanup* interrupt = nullptr;  // Borrowed; may be null.
};

// R-MAT (Chakrabarti et al., SDM 2004) with 2^scale vertices, whose ids are
// permuted, and edge_factor * 2^scale draws. Self-loops and duplicates are
// dropped. A vertex has the class of a neighbouring hub or one of its own, so
// labels follow in part from the structure.
struct RmatOptions {
  GenerateOptions common;
  uint32_t scale = 20;        // In [1, 31].
  uint32_t edge_factor = 16;  // In [1, 4096].
  // Whether edges keep their direction; false: the graph is made symmetric.
  bool directed = false;
  bool weights = false;  // Whether edges have weights, uniform in (0, 1].
  // Whether only vertices that an edge leads to have a label. The others have
  // -1, and are in no split. Of 2^20 vertices at edge factor 16, 38 % have no
  // edge.
  bool connected_labels = false;
  // Chances of three quadrants; positive, with a sum of at most 1.
  double a = 0.57, b = 0.19, c = 0.19;
};

// A stochastic block model of equal classes with average_degree * num_nodes / 2
// undirected edges. A share `homophily` of them is within a class, the others
// are between two.
struct SbmOptions {
  GenerateOptions common;
  // At least twice the number of classes, below 2^32.
  uint64_t num_nodes = 10000;
  double average_degree = 10;  // Above 0, below half of num_nodes.
  double homophily = 0.7;      // In [0, 1].
};

struct GenerateSummary {
  uint64_t num_nodes = 0;
  CscTotals edges;  // Totals of the edges; an undirected edge counts twice.
  uint64_t num_train = 0;
  uint64_t num_valid = 0;
  uint64_t num_test = 0;
};

// InvalidArgument names the flag. Other errors: those of DatasetWriter and
// CscBuilder.
absl::StatusOr<GenerateSummary> GenerateRmat(const RmatOptions& options);
absl::StatusOr<GenerateSummary> GenerateSbm(const SbmOptions& options);

}  // namespace fgnn

#endif  // FGNN_TOOLS_DATASET_GENERATING_GENERATE_H_
