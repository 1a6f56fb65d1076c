#include "shared/executors/executor_messages.h"

namespace fgnn {

std::optional<Scores> Evaluation::ScoresOf(const std::string& split) const {
  for (const SplitScore& score : scores) {
    if (score.split == split && score.num_vertices > 0) return score.scores;
  }
  return std::nullopt;
}

}  // namespace fgnn
