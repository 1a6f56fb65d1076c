#include "trainer_service/nn/cpu/pair_loss.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "shared/base/status.h"
#include "trainer_service/compute/dot_product.h"
#include "trainer_service/compute/target_clones.h"
#include "trainer_service/nn/cpu/seed_losses.h"

namespace fgnn {
namespace {

constexpr int64_t kPairsPerTask = 512;
constexpr int64_t kRowsPerTask = 64;

FGNN_TARGET_CLONES
void AddScaled(float scale, const float* __restrict from, int64_t count,
               float* __restrict to) {
  for (int64_t i = 0; i < count; ++i) to[i] += scale * from[i];
}

}  // namespace

absl::StatusOr<BatchResult> PairLoss::Compute(const TaskView& task,
                                              const float* rows,
                                              int64_t columns) {
  ListPairs(task);
  FGNN_ASSIGN_OR_RETURN(const BatchResult result,
                        ScorePairs(task, rows, columns));
  FGNN_RETURN_IF_ERROR(AddUp(task, rows, columns));
  return result;
}

void PairLoss::ListPairs(const TaskView& task) {
  uint32_t* const begins = begins_.Reserve(size_t{task.num_seeds} + 2);
  uint32_t* const ends = ends_.Reserve(task.pairs.size());
  // During the counting each count stands two places to the right; then each
  // begin stands one place to the right. Once all ends are written, the begins
  // are in their places.
  std::fill_n(begins, size_t{task.num_seeds} + 2, 0);
  for (const uint32_t seed : task.pairs) ++begins[seed + 2];
  for (size_t s = 2; s < size_t{task.num_seeds} + 2; ++s) {
    begins[s] += begins[s - 1];
  }
  for (size_t end = 0; end < task.pairs.size(); ++end) {
    ends[begins[task.pairs[end] + 1]++] = static_cast<uint32_t>(end);
  }
}

absl::StatusOr<BatchResult> PairLoss::ScorePairs(const TaskView& task,
                                                 const float* rows,
                                                 int64_t columns) {
  const int64_t num_pairs = task.num_pairs();
  const int64_t num_tasks = NumTasks(num_pairs, kPairsPerTask);
  float* const slopes = slopes_.Reserve(task.num_pairs());
  std::vector<BatchResult> sums(static_cast<size_t>(num_tasks));
  FGNN_RETURN_IF_ERROR(team_->Run(num_tasks, [&](int64_t index, int) {
    BatchResult& sum = sums[static_cast<size_t>(index)];
    const int64_t last = std::min(num_pairs, (index + 1) * kPairsPerTask);
    for (int64_t p = index * kPairsPerTask; p < last; ++p) {
      const uint32_t* const pair = task.pairs.data() + 2 * p;
      const double logit = DotProduct(rows + pair[0] * columns,
                                      rows + pair[1] * columns, columns);
      const bool is_edge = p < int64_t{task.num_positives};
      // The logit's sign is chosen so that no exponential overflows.
      const double against = is_edge ? -logit : logit;
      const double decay = std::exp(-std::abs(logit));
      sum.loss += std::max(against, 0.0) + std::log1p(decay);
      sum.num_correct += (logit > 0) == is_edge ? 1U : 0U;
      const double share = against >= 0 ? 1 / (1 + decay) : decay / (1 + decay);
      slopes[p] = static_cast<float>((is_edge ? -share : share) /
                                     static_cast<double>(num_pairs));
    }
  }));
  return MeanOf(sums, num_pairs);
}

absl::Status PairLoss::AddUp(const TaskView& task, const float* rows,
                             int64_t columns) {
  const int64_t num_seeds = task.num_seeds;
  float* const gradient = gradient_.Reserve(num_seeds * columns);
  const float* const slopes = slopes_.data();
  const uint32_t* const begins = begins_.data();
  const uint32_t* const ends = ends_.data();
  return team_->Run(NumTasks(num_seeds, kRowsPerTask), [&](int64_t index, int) {
    const int64_t last = std::min(num_seeds, (index + 1) * kRowsPerTask);
    for (int64_t s = index * kRowsPerTask; s < last; ++s) {
      float* const row = gradient + s * columns;
      std::fill_n(row, columns, 0.0F);
      for (uint32_t i = begins[s]; i < begins[s + 1]; ++i) {
        const uint32_t end = ends[i];
        const uint32_t other = task.pairs[end ^ 1U];
        AddScaled(slopes[end / 2], rows + other * columns, columns, row);
      }
    }
  });
}

}  // namespace fgnn
