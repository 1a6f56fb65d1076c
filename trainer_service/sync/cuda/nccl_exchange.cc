#include "trainer_service/sync/cuda/nccl_exchange.h"

#include <cuda_runtime_api.h>

#include <cstring>
#include <utility>
#include <vector>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "shared/base/status.h"
#include "shared/device/cuda/status.h"
#include "shared/telemetry/log.h"

namespace fgnn {
namespace {

// A single failure may be that of a member which is about to end.
constexpr int kMostFailures = 3;

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
      StepGradients::Make(shape.num_parameters, shape.batches_per_step,
                          options.ordered));
  const std::optional<uint32_t> rank = MeetingTable(segment, owner).Join();
  if (!rank.has_value()) {
    return absl::FailedPreconditionError(
        absl::StrCat("all ", shape.num_members,
                     " places of trainers that exchange gradients are taken"));
  }
  return absl::WrapUnique(new NcclExchange(api, options, segment, owner, *rank,
                                           std::move(gradients)));
}

NcclExchange::NcclExchange(const nccl::Api& api,
                           const NcclExchangeOptions& options, Segment* segment,
                           OwnerIndex owner, uint32_t rank,
                           StepGradients gradients)
    : api_(api),
      options_(options),
      segment_(segment),
      board_(segment, owner),
      on_board_(segment, owner),
      table_(segment, owner),
      rank_(rank),
      gradients_(std::move(gradients)) {}

NcclExchange::~NcclExchange() {
  table_.Leave();
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
    const BatchRange batches = segment_->shape().BatchesOfStep(step);
    for (BatchSeq seq = batches.begin; seq < batches.end; ++seq) {
      if (board_.gradient(seq).data() != host.data()) continue;
      return gradients_.PlaceOf(seq - batches.begin, step);
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

// Exchanges the gradients of a step that is due, if all are ready.
absl::StatusOr<NcclExchange::Place> NcclExchange::PlaceOf(StepNumber step) {
  if (exchanged_ == step) return Place::kDevice;
  if (given_up_ == step) return Place::kBoard;
  const uint64_t group = table_.group();
  if (!table_.IsComplete()) return Place::kBoard;
  table_.SayReady(rank_, group, step);
  if (ready_for_ != step) ready_.Restart();
  ready_for_ = step;
  const absl::StatusOr<bool> gathered =
      table_.AllReady(group, step) ? Gather(step, group) : false;
  if (!gathered.ok()) return GiveUp(step, group, gathered.status());
  if (!*gathered) {
    if (std::chrono::duration<double>(ready_.Seconds()) < options_.timeout) {
      return Place::kNotYet;
    }
    return GiveUp(step, group,
                  absl::DeadlineExceededError(absl::StrCat(
                      "a trainer was not ready for the exchange of gradients "
                      "within ",
                      options_.timeout.count(), " ms")));
  }
  exchanged_ = step;
  failures_ = 0;
  ++num_exchanged_;
  return Place::kDevice;
}

// Returns false if the group's id is not known yet.
absl::StatusOr<bool> NcclExchange::FindGroup(uint64_t group) {
  if (group_ != nullptr && group_number_ == group) return true;
  group_.reset();
  NcclGroupOptions options;
  options.rank = rank_;
  options.num_members = table_.num_members();
  options.timeout = options_.timeout;
  options.goes_on = [this, group] { return table_.GoesOn(group); };
  GroupId id = {};
  static_assert(sizeof(id) == sizeof(options.id));
  if (rank_ == 0) {
    const nccl::Result result = api_.get_unique_id(&options.id);
    if (result != nccl::kSuccess) {
      return absl::InternalError(absl::StrCat("NCCL cannot make a group: ",
                                              api_.get_error_string(result)));
    }
    std::memcpy(&id, &options.id, sizeof(id));
    table_.PublishId(group, id);
  } else {
    const std::optional<GroupId> found = table_.FindId(group);
    if (!found.has_value()) return false;
    std::memcpy(&options.id, &*found, sizeof(id));
  }
  FGNN_ASSIGN_OR_RETURN(group_, NcclGroup::Join(api_, options));
  group_number_ = group;
  return true;
}

absl::StatusOr<bool> NcclExchange::Gather(StepNumber step, uint64_t group) {
  FGNN_RETURN_IF_ERROR(ChooseDevice(options_.device));
  const BatchRange batches = segment_->shape().BatchesOfStep(step);
  std::vector<uint32_t> roots;
  std::vector<uint32_t> num_seeds;
  std::vector<absl::Span<const float>> host;
  for (BatchSeq seq = batches.begin; seq < batches.end; ++seq) {
    const std::optional<BatchRecord> record = board_.record(seq);
    const std::optional<uint32_t> root =
        record.has_value() ? table_.RankOf(record->trainer) : std::nullopt;
    if (!root.has_value()) {
      return absl::UnavailableError(
          absl::StrCat("the trainer of batch ", seq.value(), " is gone"));
    }
    roots.push_back(*root);
    num_seeds.push_back(record->num_seeds);
    host.push_back(board_.gradient(seq));
  }
  FGNN_ASSIGN_OR_RETURN(const bool found, FindGroup(group));
  if (!found) return false;
  FGNN_RETURN_IF_ERROR(gradients_.Exchange({.number = step,
                                            .rank = rank_,
                                            .roots = roots,
                                            .num_seeds = num_seeds,
                                            .host = host},
                                           *group_));
  return true;
}

// Ends the group. The step is made from the board, by whoever is first.
absl::StatusOr<NcclExchange::Place> NcclExchange::GiveUp(
    StepNumber step, uint64_t group, const absl::Status& reason) {
  group_.reset();
  // Gone: the group has ended, and nothing has failed here.
  const bool failed = !absl::IsUnavailable(reason) && table_.GoesOn(group);
  table_.EndGroup(group);
  given_up_ = step;
  LogWarning("step {}: its gradients are added from the board: {}",
             step.value() + 1, MessageOf(reason));
  if (!failed || ++failures_ < kMostFailures) return Place::kBoard;
  return absl::InternalError(absl::StrCat(
      MessageOf(reason), ", ", failures_,
      " times in a row; use training.sync: steps, which needs no NCCL"));
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
