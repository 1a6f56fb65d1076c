// The loader for programs in other languages: C functions and plain structs.
//
// A function that can fail returns the number of an absl::StatusCode, 0 for OK.
// fgnn_loader_error() has the message then. No exception leaves a function.
// Python's side is tools/python/src/fgnn/native.py.
#ifndef FGNN_TOOLS_PYTHON_NATIVE_C_API_H_
#define FGNN_TOOLS_PYTHON_NATIVE_C_API_H_

// NOLINTBEGIN: C has no namespaces, using declarations or <cstdint>.
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// Number of this interface. A change of a struct or function raises it.
#define FGNN_LOADER_INTERFACE 2
#define FGNN_LOADER_MOST_HOPS 8

typedef struct fgnn_loader fgnn_loader;
typedef struct fgnn_batch fgnn_batch;

// One hop of a batch: edges from sources [0, num_sources) to destinations
// [0, num_destinations), both local ids.
typedef struct fgnn_hop {
  uint64_t num_destinations;
  uint64_t num_sources;
  uint64_t num_edges;
  const uint32_t* indptr;   // [num_destinations + 1]
  const uint32_t* indices;  // [num_edges]
  const float* weights;     // [num_edges], or null.
} fgnn_hop;

// A batch's arrays. They belong to the batch.
typedef struct fgnn_batch_view {
  uint64_t seq;                // Number of the batch in its job.
  uint64_t digest;             // CRC32C, as in batches.crc.
  uint64_t num_seeds;          // B
  uint64_t num_nodes;          // U, the seeds first.
  uint64_t num_pairs;          // Pairs of link prediction; 0: there are none.
  uint64_t num_positives;      // The first pairs, which are edges.
  uint64_t num_edges;          // E, of the last hop.
  uint64_t num_hops;           // Hops; hop 0 is next to the seeds.
  const int64_t* nodes;        // [U] Global ids.
  const float* features;       // [U, columns], or null.
  const int64_t* labels;       // [B], or null; -1: none.
  const float* targets;        // [B, targets], or null; NaN: none.
  const int64_t* edges;        // [2, E] Local ids, or null.
  const int64_t* edge_places;  // [E] Places in the dataset, or null.
  const uint32_t* pairs;       // [num_pairs, 2] Local ids, or null.
  fgnn_hop hops[FGNN_LOADER_MOST_HOPS];
} fgnn_batch_view;

// Returns FGNN_LOADER_INTERFACE of the library.
int fgnn_loader_interface(void);

// Returns the message of the last error on this thread. Valid until its next
// call.
const char* fgnn_loader_error(void);

// Opens a loader. `request` is JSON:
//   job        text of a job file, or
//   job_file   its path, with
//   overrides  a list of KEY=VALUE;
//   split, shuffle, reads_features, lists_edges, state_dir   as in
//   JobBatchesOptions;
//   threads, ahead, rank, world, drops_last   as in BatchLoaderOptions.
// `seeds` [num_seeds]: vertices of the user's own; null: those of the split.
int fgnn_loader_open(const char* request, const int64_t* seeds,
                     uint64_t num_seeds, fgnn_loader** loader);
// Ends the loader's threads. Batches stay valid.
void fgnn_loader_close(fgnn_loader* loader);

// Returns facts about the loader as JSON: `spec` (YAML of the effective spec),
// `dataset` (hexadecimal checksum of what a job reads of it), `num_nodes`,
// `num_edges`, `num_classes`, `num_examples`, `batches_per_epoch`, `columns`,
// `has_labels`, `targets`. Belongs to the loader.
const char* fgnn_loader_facts(fgnn_loader* loader);

// Goes to a batch of all ranks. Sets the number of batches that this rank has
// of its epoch from there on.
int fgnn_loader_seek(fgnn_loader* loader, uint64_t batch,
                     uint64_t* num_batches);
// Waits at most so long for the next batch. DEADLINE_EXCEEDED: it is being
// made.
int fgnn_loader_next(fgnn_loader* loader, uint32_t milliseconds,
                     fgnn_batch** batch, fgnn_batch_view* view);
// Gives a batch back, whose arrays are not read any more. Any thread.
void fgnn_loader_release(fgnn_batch* batch);

#ifdef __cplusplus
}
#endif
// NOLINTEND

#endif  // FGNN_TOOLS_PYTHON_NATIVE_C_API_H_
