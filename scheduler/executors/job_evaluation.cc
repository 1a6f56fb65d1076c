#include "scheduler/executors/job_evaluation.h"

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <optional>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "scheduler/executors/call_together.h"
#include "shared/base/status.h"

namespace fgnn {
namespace {

// Daemons that evaluate together: trainers, and the exchange behind them if
// hosts do.
class Callees {
 public:
  Callees(std::vector<DaemonAddress> daemons, size_t num_trainers,
          const HostEvaluation* over)
      : daemons_(std::move(daemons)),
        num_trainers_(num_trainers),
        over_(over),
        first_failed_(daemons_.size()) {}

  const DaemonAddress& operator[](size_t i) const { return daemons_[i]; }
  size_t size() const { return daemons_.size(); }
  bool is_trainer(size_t i) const { return i < num_trainers_; }

  // Returns an error once the call of daemon `i` is to end.
  absl::Status MayGoOn(size_t i) const {
    // The others would wait for the part of the failed one.
    if (first_failed_ != daemons_.size()) {
      return absl::CancelledError("another daemon failed");
    }
    if (!is_trainer(i) && is_done()) {
      return absl::CancelledError("all scores are here");
    }
    return absl::OkStatus();
  }
  void NoteEnd(size_t i, const absl::Status& status) {
    if (is_trainer(i) && status.ok()) ++num_done_;
    if (status.ok() || (!is_trainer(i) && is_done())) return;
    size_t expected = daemons_.size();
    first_failed_.compare_exchange_strong(expected, i);
  }
  // Returns the daemon that failed first; nullopt: none did.
  std::optional<size_t> failed() const {
    return first_failed_ == daemons_.size()
               ? std::nullopt
               : std::optional<size_t>(first_failed_);
  }

 private:
  // Whether this host needs no more of the others, nor they of it.
  bool is_done() const {
    return num_done_ == num_trainers_ && !over_->serves_others;
  }

  const std::vector<DaemonAddress> daemons_;
  const size_t num_trainers_;
  const HostEvaluation* const over_;
  std::atomic<size_t> num_done_ = 0;  // Trainers that have all scores.
  std::atomic<size_t> first_failed_;
};

}  // namespace

absl::StatusOr<Evaluation> JobEvaluation::Evaluate(
    const std::string& checkpoint, const std::vector<std::string>& splits,
    const HostEvaluation* over) {
  const EvaluateRequest request = {.job_id = caller_->job().job_id,
                                   .checkpoint = checkpoint,
                                   .splits = splits};
  pid_t unreachable = 0;
  for (int lost = 0;; ++lost) {
    FGNN_ASSIGN_OR_RETURN(const std::vector<DaemonAddress> trainers,
                          caller_->WaitForSome(ExecutorRole::kTrainer,
                                               /*attached=*/true));
    DaemonAddress failed = trainers.front();
    absl::StatusOr<Evaluation> evaluation =
        trainers.size() == 1 && over == nullptr
            ? EvaluateAlone(trainers.front(), request)
            : EvaluateTogether(trainers, request, over, &failed);
    if (evaluation.ok()) return evaluation;
    if (over != nullptr) FGNN_RETURN_IF_ERROR(over->goes_on());
    // The daemons that are left repeat the whole evaluation. A layer's outputs
    // overwrite its inputs, so the dead trainer's unfinished part cannot be
    // told apart.
    FGNN_RETURN_IF_ERROR(
        caller_->AfterLoss(failed, evaluation.status(), lost, &unreachable));
  }
}

absl::StatusOr<Evaluation> JobEvaluation::EvaluateAlone(
    const DaemonAddress& trainer, const EvaluateRequest& request) {
  return caller_->calls().Evaluate(trainer.socket, request,
                                   caller_->WhileTicking());
}

absl::StatusOr<Evaluation> JobEvaluation::EvaluateTogether(
    const std::vector<DaemonAddress>& trainers, EvaluateRequest request,
    const HostEvaluation* over, DaemonAddress* failed) {
  std::vector<DaemonAddress> daemons = trainers;
  if (over != nullptr) {
    FGNN_ASSIGN_OR_RETURN(const std::vector<DaemonAddress> exchanges,
                          caller_->WaitForSome(ExecutorRole::kExchange,
                                               /*attached=*/true));
    daemons.push_back(exchanges.front());
  }
  FGNN_ASSIGN_OR_RETURN(
      request.scratch, segment_->OpenScratch(
                           over != nullptr ? over->division : ChunkDivision()));
  const absl::Cleanup close = [this] { segment_->CloseScratch(); };
  Callees callees(std::move(daemons), trainers.size(), over);
  std::vector<absl::StatusOr<Evaluation>> answers(callees.size());
  const auto call = [&](size_t i, const KeepGoing& keep_going) {
    const Patience patience = {.timeout = kLongCall,
                               .keep_going = [&]() -> absl::Status {
                                 const absl::Status may = callees.MayGoOn(i);
                                 return may.ok() ? keep_going() : may;
                               }};
    if (callees.is_trainer(i)) {
      answers[i] =
          caller_->calls().Evaluate(callees[i].socket, request, patience);
    } else {
      absl::Status traded = caller_->calls().TradeChunks(
          callees[i].socket, request.job_id, request.scratch, patience);
      // It ends no call by itself.
      if (traded.ok()) traded = absl::UnavailableError("it traded no more");
      answers[i] = std::move(traded);
    }
    callees.NoteEnd(i, answers[i].status());
  };
  const auto goes_on = [this, over] {
    const absl::Status may =
        over == nullptr ? absl::OkStatus() : over->goes_on();
    return may.ok() ? caller_->Tick() : may;
  };
  FGNN_RETURN_IF_ERROR(CallTogether(callees.size(), call, goes_on));
  if (callees.failed().has_value()) {
    *failed = callees[*callees.failed()];
    return answers[*callees.failed()].status();
  }
  // All trainers return the same scores.
  Evaluation evaluation = *std::move(answers.front());
  for (size_t i = 1; i < trainers.size(); ++i) {
    evaluation.seconds += answers[i]->seconds;
  }
  return evaluation;
}

}  // namespace fgnn
