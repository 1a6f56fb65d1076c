// Embeddings in memory. Private to this folder.
#ifndef FGNN_TRAINER_SERVICE_INFER_EMBEDDING_ROWS_H_
#define FGNN_TRAINER_SERVICE_INFER_EMBEDDING_ROWS_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "shared/base/types.h"
#include "trainer_service/compute/scratch.h"
#include "trainer_service/infer/layer_wise.h"

namespace fgnn {

// The embeddings of n vertices, [n, hidden]. Movable.
class EmbeddingRows {
 public:
  // Infers the rows of `vertices`, in their order. ResourceExhausted: they do
  // not fit into memory together with `more_bytes`, which the caller takes.
  // Other errors: those of InferEmbeddings().
  static absl::StatusOr<EmbeddingRows> Infer(
      const InferenceInput& input, absl::Span<const GlobalId> vertices,
      uint64_t more_bytes);

  // Returns row `place` of [0, n).
  const float* row(size_t place) const {
    return values_.data() + place * static_cast<size_t>(columns_);
  }
  // Returns the score of two rows: their dot product. NaN is -infinity.
  float Score(size_t place, size_t other) const;

 private:
  EmbeddingRows() = default;

  Scratch<float> values_;
  int64_t columns_ = 0;
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_INFER_EMBEDDING_ROWS_H_
