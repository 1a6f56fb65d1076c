// Importers make a dataset folder from other formats, in bounded memory.
//
// Each writes the folder options.out whole or not at all. Errors are one line:
// the file, the line or element in it, the reason, and the way out.
//   NotFound, InvalidArgument  about the source.
//   DataLoss                   the source is cut or damaged.
//   AlreadyExists              options.out is there and not an empty folder.
//   ResourceExhausted          the disk is full.
#ifndef FGNN_TOOLS_DATASET_IMPORTING_IMPORT_H_
#define FGNN_TOOLS_DATASET_IMPORTING_IMPORT_H_

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "shared/graph/dataset.h"
#include "shared/graph/metadata.h"
#include "tools/dataset/building/csc_builder.h"
#include "tools/dataset/building/feature_sink.h"
#include "tools/dataset/building/feature_table.h"
#include "tools/dataset/building/interrupt_cleanup.h"
#include "tools/dataset/building/progress.h"
#include "tools/dataset/inspecting/import_account.h"
#include "tools/dataset/reading/missing_words.h"

namespace fgnn {

// What the labels of a source are. kAuto: whole numbers in one column are
// classes. Several columns of 0 and 1 are sets. Other numbers are numbers.
enum class LabelKind : uint8_t { kAuto, kClasses, kNumbers, kSets };

struct ImportOptions {
  std::filesystem::path out;
  std::string name;  // Empty: the last component of `out`.
  // Adds (v, u), of the same weight, for every (u, v) whose reverse the source
  // does not have.
  bool symmetric = false;
  // Whether the user said that edges have a direction. Changes no edge; a note
  // says so of a graph that is symmetric.
  bool directed = false;
  // Keeps equal edges; false: one of them stays.
  bool keep_duplicates = false;
  EqualEdges equal_edges = EqualEdges::kFirst;  // Weight of the one that stays.
  bool drop_self_loops = false;
  MissingWords missing;  // Words of texts that stand for a missing value.
  // What becomes of missing features and weights.
  GapFill fill;
  FeatureType feature_type = FeatureType::kFloat32;
  RowNorm feature_norm = RowNorm::kNone;
  uint32_t num_classes = 0;  // 0: one more than the highest label.
  LabelKind labels_are = LabelKind::kAuto;
  // Share for training, in (0, 1). If set, a split is drawn from the labelled
  // vertices, keyed by `seed`, instead of the source's split. Half of the rest
  // is for validation, half for test.
  std::optional<double> train_fraction;
  uint64_t seed = 1;
  // Called from the importing thread. May be empty.
  ProgressCallback progress;
  InterruptCleanup* interrupt = nullptr;  // Borrowed; may be null.
};

// What metadata.yaml says of the dataset, and what else there is to say.
struct ImportSummary : DatasetMetadata {
  CscTotals edges;            // Totals of the edges.
  uint64_t num_labelled = 0;  // Number of vertices of a label, or all targets.
  uint64_t num_train = 0;
  uint64_t num_valid = 0;
  uint64_t num_test = 0;
  std::vector<std::string> notes;  // Notes for the user, a line each.
  ImportAccount account;
};

// Returns the last part of the path that `what` names, for accounts. What
// stands behind the path stays: "data.npz (x)".
std::string SourceName(const std::string& what);

// The packages of Debian. Vertices are packages. Edges are Pre-Depends,
// Depends, Recommends and Suggests, to every alternative. A name that is no
// package stands for its providers. The label is the section (class_names.txt
// has the names). Features are the words of the one-line description, hashed
// with a sign into columns, rows of length 1. The graph is made symmetric,
// without self-loops.
struct DebianSource {
  // A Packages file, plain or compressed. Empty: the package indexes of this
  // machine that apt-get names, of Debian's main if there are any.
  std::filesystem::path path;
  uint32_t feature_columns = 256;
};
absl::StatusOr<ImportSummary> ImportDebian(const DebianSource& source,
                                           const ImportOptions& options);

// Lines "source destination [weight]", separated by blanks. The file may be
// gzip'ed.
struct EdgeListSource {
  std::filesystem::path path;
  // Lines that begin with one of these bytes are left out. nullopt: # and %,
  // with string_ids only before a blank, since names may begin so.
  std::optional<std::string> comments;
  bool string_ids = false;  // Ids are any text; names.txt keeps them.
  // Whether the two columns are of two kinds of vertices that count apart. They
  // have the names "source:ID" and "destination:ID" then.
  bool bipartite = false;
  bool one_based = false;  // Integers count from 1.
  bool ignore_weights = false;
  std::filesystem::path features;  // An .npy file [N, F]; empty: none.
  // An .npy file [N] or [N, columns]; empty: none.
  std::filesystem::path labels;
};
absl::StatusOr<ImportSummary> ImportEdgeList(const EdgeListSource& source,
                                             const ImportOptions& options);

// Edges as CSV with a header row, and optionally vertices as a second file.
struct CsvSource {
  std::filesystem::path edges;
  char separator = ',';
  // Lines of both files that begin with one of these bytes are left out.
  std::string comments;
  std::string source_column = "source";
  std::string destination_column = "destination";
  std::string weight_column;  // Empty: none.
  bool string_ids = false;    // Without `nodes`: ids are any text.
  // Whether the two columns of ids are of two kinds of vertices that count
  // apart. Vertices have the names "KIND:ID" then, with the columns as kinds.
  bool bipartite = false;
  // Files of vertices. One, or with `bipartite` up to two: see NodesByKind().
  std::vector<std::string> nodes;
  // Columns of `nodes`. Empty: "id", "label" and "split", if there are such
  // columns. Several columns of labels are numbers, or sets.
  std::string id_column;
  std::vector<std::string> label_columns;
  // Values are train, valid, test, or empty for none.
  std::string split_column;
  // Empty: all other columns of which at least half of the values are numbers.
  std::vector<std::string> feature_columns;
};
absl::StatusOr<ImportSummary> ImportCsv(const CsvSource& source,
                                        const ImportOptions& options);

// An .npz archive of plain arrays. adj_{indptr,indices,data,shape} (row u,
// column v is the edge u -> v) or edge_index; attr_{indptr,indices,data,shape}
// or a dense attr_matrix or x; labels or y; {train,val,valid,test}_{mask,idx}.
struct NpzSource {
  std::filesystem::path path;
};
absl::StatusOr<ImportSummary> ImportNpz(const NpzSource& source,
                                        const ImportOptions& options);

// A folder of NumPy arrays: indptr.npy and indices.npy (in-neighbours).
// Optional are features.npy or features_{indptr,indices,values,shape}.npy,
// labels.npy, [N] or [N, columns], class_names.npy or target_names.npy,
// {train,valid,test}_{idx,mask}.npy and edge_weights.npy.
struct NumpySource {
  std::filesystem::path folder;
  // "60": train60_idx.npy, and the other splits with a number in their name.
  std::string split;
  // Files that are used instead of `split`, relative to the folder. All three
  // or none.
  std::filesystem::path train_file, valid_file, test_file;
};
absl::StatusOr<ImportSummary> ImportNumpy(const NumpySource& source,
                                          const ImportOptions& options);

// The folder of an OGB node property dataset as it is downloaded: raw/ with
// edge.csv.gz, node-feat.csv.gz, … or data.npz, and split/.
struct OgbSource {
  std::filesystem::path folder;
  std::string split;  // Name of one of several folders in split/.
  // Number of one of several columns, from 0. -1: all of them.
  int32_t label_column = -1;
};
absl::StatusOr<ImportSummary> ImportOgb(const OgbSource& source,
                                        const ImportOptions& options);

// The folder of a GraphBolt OnDiskDataset, homogeneous, with arrays as .npy.
struct GraphBoltSource {
  std::filesystem::path folder;
  std::string feature;  // Empty: "feat", or the only one.
  std::string task;     // Empty: the first.
};
absl::StatusOr<ImportSummary> ImportGraphBolt(const GraphBoltSource& source,
                                              const ImportOptions& options);

}  // namespace fgnn

#endif  // FGNN_TOOLS_DATASET_IMPORTING_IMPORT_H_
