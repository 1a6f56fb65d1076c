#include "trainer_service/nn/cpu/cross_entropy.h"

#include <algorithm>
#include <cmath>

namespace fgnn {

LossSum CrossEntropyWithGradient(const int64_t* labels, int64_t rows,
                                 int64_t num_classes, float scale,
                                 float* logits) {
  LossSum sum;
  for (int64_t r = 0; r < rows; ++r) {
    float* row = logits + r * num_classes;
    const int64_t best = std::max_element(row, row + num_classes) - row;
    // Taken from every logit, so that no exponential overflows.
    const float largest = row[best];
    const float of_label = row[labels[r]] - largest;
    double total = 0;
    for (int64_t c = 0; c < num_classes; ++c) {
      row[c] = std::exp(row[c] - largest);
      total += static_cast<double>(row[c]);
    }
    sum.loss += std::log(total) - static_cast<double>(of_label);
    sum.num_correct += best == labels[r] ? 1U : 0U;
    const float factor = static_cast<float>(static_cast<double>(scale) / total);
    for (int64_t c = 0; c < num_classes; ++c) row[c] *= factor;
    row[labels[r]] -= scale;
  }
  return sum;
}

}  // namespace fgnn
