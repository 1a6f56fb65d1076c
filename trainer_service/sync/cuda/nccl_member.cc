#include "trainer_service/sync/cuda/nccl_member.h"

#include <cstring>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "shared/base/status.h"

namespace fgnn {
namespace {

// A single failure may be that of a member which is about to end.
constexpr int kMostFailures = 3;

}  // namespace

absl::StatusOr<std::unique_ptr<NcclMember>> NcclMember::Join(
    const nccl::Api& api, Segment* segment, OwnerIndex owner,
    std::chrono::milliseconds timeout) {
  MeetingTable table(segment, owner);
  const std::optional<uint32_t> rank = table.Join();
  if (!rank.has_value()) {
    return absl::FailedPreconditionError(
        absl::StrCat("all ", table.num_members(),
                     " places of trainers that exchange gradients are taken"));
  }
  return absl::WrapUnique(new NcclMember(api, table, *rank, timeout));
}

NcclMember::~NcclMember() { table_.Leave(); }

std::optional<uint64_t> NcclMember::group() const {
  const uint64_t group = table_.group();
  if (!table_.IsComplete()) return std::nullopt;
  return group;
}

absl::StatusOr<bool> NcclMember::SayReady(uint64_t group, StepNumber step) {
  table_.SayReady(rank_, group, step);
  if (ready_for_ != step) ready_.Restart();
  ready_for_ = step;
  if (table_.AllReady(group, step)) return true;
  FGNN_RETURN_IF_ERROR(CheckWait());
  return false;
}

absl::Status NcclMember::CheckWait() const {
  if (std::chrono::duration<double>(ready_.Seconds()) < timeout_) {
    return absl::OkStatus();
  }
  return absl::DeadlineExceededError(absl::StrCat(
      "a trainer was not ready for the exchange of gradients within ",
      timeout_.count(), " ms"));
}

absl::StatusOr<NcclGroup*> NcclMember::Find(uint64_t group) {
  if (group_ != nullptr && group_number_ == group) return group_.get();
  group_.reset();
  NcclGroupOptions options;
  options.rank = rank_;
  options.num_members = table_.num_members();
  options.timeout = timeout_;
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
    if (!found.has_value()) {
      FGNN_RETURN_IF_ERROR(CheckWait());
      return nullptr;
    }
    std::memcpy(&options.id, &*found, sizeof(id));
  }
  FGNN_ASSIGN_OR_RETURN(group_, NcclGroup::Join(api_, options));
  group_number_ = group;
  return group_.get();
}

absl::Status NcclMember::End(uint64_t group, const absl::Status& reason) {
  group_.reset();
  // Gone: the group has ended, and nothing has failed here.
  const bool failed = !absl::IsUnavailable(reason) && table_.GoesOn(group);
  table_.EndGroup(group);
  if (!failed || ++failures_ < kMostFailures) return absl::OkStatus();
  return absl::InternalError(absl::StrCat(
      MessageOf(reason), ", ", failures_,
      " times in a row; use training.sync: steps, which needs no NCCL"));
}

}  // namespace fgnn
