#include "scheduler/executors/job_evaluation.h"

#include <sys/types.h>

#include <atomic>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "scheduler/executors/call_together.h"
#include "shared/base/status.h"

namespace fgnn {

absl::StatusOr<Evaluation> JobEvaluation::Evaluate(
    const std::string& checkpoint, const std::vector<std::string>& splits) {
  const EvaluateRequest request = {.job_id = caller_->job().job_id,
                                   .checkpoint = checkpoint,
                                   .splits = splits};
  pid_t unreachable = 0;
  for (int lost = 0;; ++lost) {
    FGNN_ASSIGN_OR_RETURN(const std::vector<DaemonAddress> trainers,
                          caller_->WaitForSome(ExecutorRole::kTrainer,
                                               /*attached=*/true));
    size_t failed = 0;
    absl::StatusOr<Evaluation> evaluation =
        trainers.size() == 1 ? EvaluateAlone(trainers.front(), request)
                             : EvaluateTogether(trainers, request, &failed);
    if (evaluation.ok()) return evaluation;
    // The trainers that are left repeat the whole evaluation. A layer's outputs
    // overwrite its inputs, so the dead trainer's unfinished part cannot be
    // told apart.
    FGNN_RETURN_IF_ERROR(caller_->AfterLoss(
        trainers[failed], evaluation.status(), lost, &unreachable));
  }
}

absl::StatusOr<Evaluation> JobEvaluation::EvaluateAlone(
    const DaemonAddress& trainer, const EvaluateRequest& request) {
  return caller_->calls().Evaluate(trainer.socket, request,
                                   caller_->WhileTicking());
}

absl::StatusOr<Evaluation> JobEvaluation::EvaluateTogether(
    const std::vector<DaemonAddress>& trainers, EvaluateRequest request,
    size_t* failed) {
  FGNN_ASSIGN_OR_RETURN(request.scratch, segment_->OpenScratch());
  const absl::Cleanup close = [this] { segment_->CloseScratch(); };
  std::vector<absl::StatusOr<Evaluation>> answers(trainers.size());
  const size_t nobody = trainers.size();
  std::atomic<size_t> first_failed = nobody;
  FGNN_RETURN_IF_ERROR(CallTogether(
      trainers.size(),
      [&](size_t i, const KeepGoing& keep_going) {
        answers[i] = caller_->calls().Evaluate(
            trainers[i].socket, request,
            {.timeout = kLongCall, .keep_going = [&]() -> absl::Status {
               // The other trainers would wait for the part of the failed one.
               if (first_failed != nobody) {
                 return absl::CancelledError("another trainer failed");
               }
               return keep_going();
             }});
        size_t expected = nobody;
        if (!answers[i].ok()) first_failed.compare_exchange_strong(expected, i);
      },
      [this] { return caller_->Tick(); }));
  if (first_failed != nobody) {
    *failed = first_failed;
    return answers[*failed].status();
  }
  // All trainers return the same scores.
  Evaluation evaluation = *std::move(answers.front());
  for (size_t i = 1; i < answers.size(); ++i) {
    evaluation.seconds += answers[i]->seconds;
  }
  return evaluation;
}

}  // namespace fgnn
