// A small model, and the comparison of its numbers bit by bit.
#ifndef FGNN_TESTS_UNIT_TRAINER_SERVICE_NN_SMALL_MODEL_H_
#define FGNN_TESTS_UNIT_TRAINER_SERVICE_NN_SMALL_MODEL_H_

#include <cstring>
#include <vector>

#include "trainer_service/nn/model.h"

namespace fgnn {

inline ModelOptions SmallModel() {
  ModelOptions options;
  options.layers = 3;
  options.hidden = 24;
  options.input_columns = 19;
  options.num_classes = 5;
  options.dropout = 0.4;
  options.input_dropout = 0.2;
  options.attention_dropout = 0.3;
  return options;
}

inline bool SameBits(const std::vector<float>& a, const std::vector<float>& b) {
  // memcmp() takes no null pointer, which an empty vector may have.
  return a.size() == b.size() &&
         (a.empty() ||
          std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

}  // namespace fgnn

#endif  // FGNN_TESTS_UNIT_TRAINER_SERVICE_NN_SMALL_MODEL_H_
