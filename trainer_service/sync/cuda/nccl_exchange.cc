#include "trainer_service/sync/cuda/nccl_exchange.h"

#include <cuda_runtime_api.h>

#include <utility>
#include <vector>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "shared/base/status.h"
#include "shared/device/cuda/status.h"
#include "shared/telemetry/log.h"

namespace fgnn {
namespace {

absl::Status ChooseDevice(int device) {
  return CudaStatus(cudaSetDevice(device), absl::StrCat("cuda:", device));
}

}  // namespace

absl::StatusOr<std::unique_ptr<NcclExchange>> NcclExchange::Join(
    const nccl::Api& api, const NcclExchangeOptions& options, Segment* segment,
    OwnerIndex owner) {
  const SegmentOptions& shape = segment->options();
  FGNN_RETURN_IF_ERROR(ChooseDevice(options.device));
  FGNN_ASSIGN_OR_RETURN(
      StepGradients gradients,
      StepGradients::Make(
          shape.num_parameters,
          static_cast<uint32_t>(shape.batches_per_step * shape.parts),
          options.ordered));
  FGNN_ASSIGN_OR_RETURN(std::unique_ptr<NcclMember> member,
                        NcclMember::Join(api, segment, owner, options.timeout));
  return absl::WrapUnique(new NcclExchange(
      options.device, segment, owner, std::move(member), std::move(gradients)));
}

NcclExchange::NcclExchange(int device, Segment* segment, OwnerIndex owner,
                           std::unique_ptr<NcclMember> member,
                           StepGradients gradients)
    : device_(device),
      parts_(static_cast<uint32_t>(segment->options().parts)),
      board_(segment, owner),
      on_board_(segment, owner),
      gradients_(std::move(gradients)),
      member_(std::move(member)) {}

NcclExchange::~NcclExchange() {
  LogInfo("gradients of {} steps were exchanged by NCCL", num_exchanged_);
}

absl::StatusOr<bool> NcclExchange::TryStep(Make make) {
  const std::optional<uint64_t> version = board_.version();
  if (!version.has_value()) return on_board_.TryStep(make);
  if (!board_.IsStepDue() || board_.version() != version) return false;
  const StepNumber step(*version);
  FGNN_ASSIGN_OR_RETURN(const Place place, PlaceOf(step));
  if (place == Place::kNotYet) return false;
  return MakeStep(step, place, make);
}

DevicePlaceFinder NcclExchange::DevicePlaces() {
  return [this](absl::Span<const float> host) -> float* {
    const StepNumber step(board_.version().value_or(0));
    size_t index = 0;
    for (const BatchPart& task : board_.TasksOf(step)) {
      if (board_.gradient(task).data() == host.data()) {
        return gradients_.PlaceOf(index, step);
      }
      ++index;
    }
    return nullptr;
  };
}

absl::StatusOr<bool> NcclExchange::MakeStep(StepNumber step, Place place,
                                            Make make) {
  std::optional<StepLease> lease = board_.TryLease();
  // Another trainer makes this step, or has made it meanwhile.
  if (!lease.has_value() || lease->new_version() != step.value() + 1) {
    return false;
  }
  StepTensors tensors = TensorsOf(*lease);
  if (place == Place::kDevice) tensors.adder = &gradients_;
  FGNN_RETURN_IF_ERROR(make(tensors));
  FGNN_RETURN_IF_ERROR((*std::move(lease)).Publish());
  return true;
}

// Exchanges the gradients of a step that is due, if all are ready. A step whose
// gradients cannot be exchanged is made from the board, by whoever is first.
absl::StatusOr<NcclExchange::Place> NcclExchange::PlaceOf(StepNumber step) {
  if (exchanged_ == step) return Place::kDevice;
  if (given_up_ == step) return Place::kBoard;
  const std::optional<uint64_t> group = member_->group();
  if (!group.has_value()) return Place::kBoard;
  const absl::StatusOr<bool> exchanged = Exchange(step, *group);
  if (!exchanged.ok()) {
    given_up_ = step;
    LogWarning("step {}: its gradients are added from the board: {}",
               step.value() + 1, MessageOf(exchanged.status()));
    FGNN_RETURN_IF_ERROR(member_->End(*group, exchanged.status()));
    return Place::kBoard;
  }
  if (!*exchanged) return Place::kNotYet;
  exchanged_ = step;
  member_->HasExchanged();
  ++num_exchanged_;
  return Place::kDevice;
}

// Returns false while the others are not ready.
absl::StatusOr<bool> NcclExchange::Exchange(StepNumber step, uint64_t group) {
  FGNN_ASSIGN_OR_RETURN(const bool all_ready, member_->SayReady(group, step));
  if (!all_ready) return false;
  FGNN_RETURN_IF_ERROR(ChooseDevice(device_));
  std::vector<uint32_t> roots;
  std::vector<uint32_t> batch_examples;
  std::vector<absl::Span<const float>> host;
  for (const BatchPart& task : board_.TasksOf(step)) {
    const std::optional<BatchRecord> record = board_.record(task);
    const std::optional<uint32_t> root =
        record.has_value() ? member_->RankOf(record->trainer) : std::nullopt;
    if (!root.has_value()) {
      return absl::UnavailableError(
          absl::StrCat("the trainer of batch ", task.seq.value(), " is gone"));
    }
    roots.push_back(*root);
    batch_examples.push_back(record->batch_examples);
    host.push_back(board_.gradient(task));
  }
  FGNN_ASSIGN_OR_RETURN(NcclGroup* const found, member_->Find(group));
  if (found == nullptr) return false;
  FGNN_RETURN_IF_ERROR(gradients_.Exchange({.number = step,
                                            .rank = member_->rank(),
                                            .roots = roots,
                                            .batch_examples = batch_examples,
                                            .parts = parts_,
                                            .host = host},
                                           *found));
  return true;
}

ExchangeFactory NcclExchangesWith(NcclOpener open, int device) {
  return [open = std::move(open), device](const ExchangeOfJob& job)
             -> absl::StatusOr<std::unique_ptr<StepExchange>> {
    if (job.training.sync != "nccl") {
      return std::make_unique<BoardExchange>(job.segment, job.owner);
    }
    FGNN_ASSIGN_OR_RETURN(const nccl::Api api, open());
    return NcclExchange::Join(
        api, {.device = device, .ordered = job.training.deterministic},
        job.segment, job.owner);
  };
}

}  // namespace fgnn
