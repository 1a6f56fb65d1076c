// R-MAT graphs in memory, for programs that have no data files.
#ifndef FGNN_TESTS_GPU_SAMPLE_RMAT_H_
#define FGNN_TESTS_GPU_SAMPLE_RMAT_H_

#include <cstdint>
#include <vector>

#include "shared/graph/dataset.h"

namespace fgnn {

// A graph of 2^scale vertices in CSC, and a train set.
class RmatGraph {
 public:
  // Draws edge_factor * 2^scale edges (a, b, c = .57 .19 .19) and adds their
  // reverses. Vertices are renamed, so that hubs lie anywhere. Lists are
  // sorted: each run makes the same graph. Uses `num_threads` threads.
  RmatGraph(uint32_t scale, uint32_t edge_factor, uint32_t num_threads);

  CscView view() const {
    return {indptr_, absl::Span<const uint32_t>(indices_)};
  }
  // The same with 64-bit indices, made at the first call.
  CscView wide_view();
  // Vertices with in-neighbours, every tenth of them.
  const std::vector<int64_t>& train() const { return train_; }
  uint64_t num_nodes() const { return indptr_.size() - 1; }

 private:
  std::vector<int64_t> indptr_;
  std::vector<uint32_t> indices_;
  std::vector<int64_t> wide_;
  std::vector<int64_t> train_;
};

}  // namespace fgnn

#endif  // FGNN_TESTS_GPU_SAMPLE_RMAT_H_
