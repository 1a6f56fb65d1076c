#include <algorithm>
#include <cmath>

#include "trainer_service/nn/cpu/seed_losses.h"

namespace fgnn {

BatchResult CrossEntropyWithGradient(const int64_t* labels, int64_t rows,
                                     int64_t num_classes, float scale,
                                     float smoothing, float* logits) {
  BatchResult sum;
  const double spread = double{smoothing} / static_cast<double>(num_classes);
  const float for_all = static_cast<float>(double{scale} * spread);
  const float for_label = scale * (1 - smoothing);
  for (int64_t r = 0; r < rows; ++r) {
    float* row = logits + r * num_classes;
    const int64_t best = std::max_element(row, row + num_classes) - row;
    // Subtracted from every logit, so that no exponential overflows.
    const float largest = row[best];
    const float of_label = row[labels[r]] - largest;
    double total = 0;
    double logit_sum = 0;
    for (int64_t c = 0; c < num_classes; ++c) {
      logit_sum += static_cast<double>(row[c] - largest);
      row[c] = std::exp(row[c] - largest);
      total += static_cast<double>(row[c]);
    }
    sum.loss += std::log(total) - (1 - double{smoothing}) * double{of_label};
    if (spread > 0) sum.loss -= spread * logit_sum;
    sum.num_correct += best == labels[r] ? 1U : 0U;
    const float factor = static_cast<float>(static_cast<double>(scale) / total);
    for (int64_t c = 0; c < num_classes; ++c) {
      row[c] = row[c] * factor - for_all;
    }
    row[labels[r]] -= for_label;
  }
  return sum;
}

}  // namespace fgnn
