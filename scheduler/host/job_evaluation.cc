// JobExecutors: an evaluation by all of the job's trainers.
#include <atomic>
#include <string>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "scheduler/host/job_executors.h"
#include "shared/base/status.h"
#include "shared/telemetry/log.h"

namespace fgnn {

absl::StatusOr<Evaluation> JobExecutors::Evaluate(
    const std::string& checkpoint, const std::vector<std::string>& splits) {
  const EvaluateCall call = {.job_id = job_.job_id,
                             .spec_bytes = job_.spec_bytes,
                             .checkpoint = checkpoint,
                             .splits = splits};
  pid_t unreachable = 0;
  for (int lost = 0;; ++lost) {
    FGNN_ASSIGN_OR_RETURN(const std::vector<DaemonAddress> trainers,
                          WaitForSome(ExecutorRole::kTrainer,
                                      /*attached=*/true));
    size_t failed = 0;
    absl::StatusOr<Evaluation> evaluation =
        trainers.size() == 1 ? EvaluateAlone(trainers.front(), call)
                             : EvaluateTogether(trainers, call, &failed);
    if (evaluation.ok()) return evaluation;
    // Those that are left do all of it again: a layer's outputs take the place
    // of its inputs, so what the dead one had begun cannot be told apart.
    FGNN_RETURN_IF_ERROR(
        AfterLoss(trainers[failed], evaluation.status(), lost, &unreachable));
  }
}

absl::StatusOr<Evaluation> JobExecutors::EvaluateAlone(
    const DaemonAddress& trainer, const EvaluateCall& call) {
  return calls_->Evaluate(
      trainer.socket, call,
      {.timeout = kLongCall, .keep_going = [this] { return Tick(); }});
}

absl::StatusOr<Evaluation> JobExecutors::EvaluateTogether(
    const std::vector<DaemonAddress>& trainers, EvaluateCall call,
    size_t* failed) {
  FGNN_ASSIGN_OR_RETURN(call.scratch, segment_->OpenScratch());
  const absl::Cleanup close = [this] { segment_->CloseScratch(); };
  std::vector<absl::StatusOr<Evaluation>> answers(trainers.size());
  const size_t nobody = trainers.size();
  std::atomic<size_t> first_failed = nobody;
  FGNN_RETURN_IF_ERROR(CallTogether(
      trainers.size(),
      [&](size_t i, const KeepGoing& keep_going) {
        answers[i] = calls_->Evaluate(
            trainers[i].socket, call,
            {.timeout = kLongCall, .keep_going = [&]() -> absl::Status {
               // The others would wait for its part.
               if (first_failed != nobody) {
                 return absl::CancelledError("another trainer failed");
               }
               return keep_going();
             }});
        size_t expected = nobody;
        if (!answers[i].ok()) first_failed.compare_exchange_strong(expected, i);
      },
      [this] { return Tick(); }));
  if (first_failed != nobody) {
    *failed = first_failed;
    return answers[*failed].status();
  }
  // They all have the same scores.
  Evaluation evaluation = *std::move(answers.front());
  for (size_t i = 1; i < answers.size(); ++i) {
    evaluation.seconds += answers[i]->seconds;
  }
  return evaluation;
}

}  // namespace fgnn
