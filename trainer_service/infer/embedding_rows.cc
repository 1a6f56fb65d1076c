#include "trainer_service/infer/embedding_rows.h"

#include <algorithm>
#include <cmath>
#include <new>
#include <string>

#include "absl/strings/str_cat.h"
#include "shared/base/status.h"
#include "shared/base/units.h"
#include "shared/device/memory.h"
#include "trainer_service/compute/dot_product.h"

namespace fgnn {
namespace {

constexpr char kAdvice[] =
    "choose fewer pairs or vertices, or a smaller --top-k";

}  // namespace

absl::StatusOr<EmbeddingRows> EmbeddingRows::Infer(
    const InferenceInput& input, absl::Span<const GlobalId> vertices,
    uint64_t more_bytes) {
  const size_t columns = input.model->options().hidden;
  const size_t count = vertices.size() * columns;
  const uint64_t need = count * sizeof(float) + more_bytes;
  const std::string what = absl::StrCat("the scores of the embeddings of ",
                                        vertices.size(), " vertices need");
  FGNN_RETURN_IF_ERROR(CheckMemory(need, what, kAdvice));
  EmbeddingRows rows;
  rows.columns_ = static_cast<int64_t>(columns);
  float* values = nullptr;
  try {
    values = rows.values_.Reserve(count);
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError(
        absl::StrCat(what, " ", FormatBytes(need), "; ", kAdvice));
  }
  FGNN_RETURN_IF_ERROR(InferEmbeddings(
      input, vertices, [&](size_t first, int64_t num_rows, const float* from) {
        std::copy_n(from, static_cast<size_t>(num_rows) * columns,
                    values + first * columns);
      }));
  return rows;
}

float EmbeddingRows::Score(size_t place, size_t other) const {
  const float score = DotProduct(row(place), row(other), columns_);
  return std::isnan(score) ? -INFINITY : score;
}

}  // namespace fgnn
