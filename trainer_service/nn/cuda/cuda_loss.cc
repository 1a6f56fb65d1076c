#include "trainer_service/nn/cuda/cuda_loss.h"

#include <cstring>

#include "shared/base/status.h"
#include "shared/device/cuda/status.h"
#include "trainer_service/nn/cuda/growing_array.h"
#include "trainer_service/nn/cuda/kernels/pair_loss.h"
#include "trainer_service/nn/cuda/kernels/target_losses.h"

namespace fgnn {

template <typename T>
absl::StatusOr<const T*> CudaLoss::Upload(const BatchRun& run,
                                          absl::Span<const T> values) {
  const uint64_t bytes = values.size() * sizeof(T);
  FGNN_RETURN_IF_ERROR(GrowArray(bytes, &staged_));
  FGNN_ASSIGN_OR_RETURN(T* const uploaded, run.Make<T>(values.size()));
  if (bytes == 0) return uploaded;
  std::memcpy(staged_.get(), values.data(), bytes);
  FGNN_RETURN_IF_ERROR(
      CudaStatus(cudaMemcpyAsync(uploaded, staged_.get(), bytes,
                                 cudaMemcpyHostToDevice, run.stream()),
                 "cannot copy the seeds' answers to the device"));
  return uploaded;
}

uint64_t CudaLoss::NumTerms(uint64_t num_examples) const {
  return num_examples * (options_.has_targets() ? options_.num_classes : 1);
}

absl::Status CudaLoss::OfClasses(const BatchRun& run,
                                 const LastOutputs& outputs) {
  const uint32_t rows = outputs.task->num_seeds;
  CrossEntropyArgs args;
  FGNN_ASSIGN_OR_RETURN(args.labels,
                        Upload<int64_t>(run, outputs.answers.labels));
  args.rows = rows;
  args.num_classes = options_.num_classes;
  args.scale = 1.0F / static_cast<float>(outputs.task->batch_examples);
  args.smoothing = static_cast<float>(options_.label_smoothing);
  args.logits = outputs.logits;
  FGNN_ASSIGN_OR_RETURN(args.of_rows, run.Make<CrossEntropySum>(rows));
  args.sum = run.parameters().loss();
  return CudaStatus(LaunchCrossEntropy(args, run.stream()),
                    "cannot compute the loss");
}

absl::Status CudaLoss::OfTargets(const BatchRun& run,
                                 const LastOutputs& outputs) {
  CrossEntropySum* const sum = run.parameters().loss();
  TargetLossArgs args;
  FGNN_ASSIGN_OR_RETURN(args.targets,
                        Upload<float>(run, outputs.answers.targets));
  args.count = NumTerms(outputs.task->num_seeds);
  args.scale =
      1.0F / static_cast<float>(NumTerms(outputs.task->batch_examples));
  args.outputs = outputs.logits;
  FGNN_ASSIGN_OR_RETURN(args.partials, run.Make<double>(kMostSumBlocks));
  args.sum = &sum->loss;
  FGNN_RETURN_IF_ERROR(CudaStatus(
      cudaMemsetAsync(sum, 0, sizeof(*sum), run.stream()), "cannot count"));
  return CudaStatus(options_.objective == Objective::kValues
                        ? LaunchSquaredError(args, run.stream())
                        : LaunchBinaryCrossEntropy(args, run.stream()),
                    "cannot compute the loss");
}

absl::StatusOr<float*> CudaLoss::OfPairs(const BatchRun& run,
                                         const LastOutputs& outputs) const {
  const DeviceTaskView& task = *outputs.task;
  PairLossArgs args;
  args.pairs = task.pairs;
  args.num_pairs = task.num_pairs;
  args.num_positives = task.num_positives;
  args.num_seeds = task.num_seeds;
  args.columns = static_cast<uint32_t>(options_.hidden);
  args.rows = outputs.logits;
  FGNN_ASSIGN_OR_RETURN(
      args.gradient, run.Make<float>(uint64_t{args.num_seeds} * args.columns));
  FGNN_ASSIGN_OR_RETURN(args.losses, run.Make<double>(kMostSumBlocks));
  FGNN_ASSIGN_OR_RETURN(args.counts, run.Make<uint64_t>(kMostSumBlocks));
  FGNN_ASSIGN_OR_RETURN(args.workspace, run.Make<uint32_t>(PairLossWords(
                                            args.num_pairs, args.num_seeds)));
  args.sum = run.parameters().loss();
  FGNN_RETURN_IF_ERROR(CudaStatus(LaunchPairLoss(args, run.stream()),
                                  "cannot compute the loss of pairs"));
  return args.gradient;
}

absl::StatusOr<void*> CudaLoss::Queue(const BatchRun& run,
                                      const LastOutputs& outputs) {
  const uint64_t rows = outputs.task->num_seeds;
  if (options_.predicts_links()) {
    FGNN_ASSIGN_OR_RETURN(float* const gradient, OfPairs(run, outputs));
    return run.AsNumbers(gradient, rows * options_.hidden);
  }
  FGNN_RETURN_IF_ERROR(options_.has_targets() ? OfTargets(run, outputs)
                                              : OfClasses(run, outputs));
  return run.AsNumbers(outputs.logits, rows * options_.num_classes);
}

BatchResult CudaLoss::ResultOf(const CrossEntropySum& sum,
                               const DeviceTaskView& task) const {
  BatchResult result;
  const uint64_t terms = NumTerms(task.num_examples());
  if (terms == 0) return result;
  result.loss = sum.loss / static_cast<double>(terms);
  result.num_correct = static_cast<uint32_t>(sum.num_correct);
  return result;
}

}  // namespace fgnn
