#include "scheduler/rpc/port/call_counts.h"

#include "absl/strings/str_cat.h"

namespace fgnn {

CallCounts::Place::~Place() {
  if (counts_ != nullptr) counts_->GiveBack(user_);
}

absl::StatusOr<std::unique_ptr<CallCounts::Place>> CallCounts::Take(
    const Identity& identity) {
  if (identity.role == RemoteRole::kOperate) {
    return std::make_unique<Place>(nullptr, identity.name);
  }
  const MutexLock lock(&mutex_);
  const auto found = by_user_.find(identity.name);
  if (found != by_user_.end() && found->second >= kMostCallsOfUser) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the user has ", kMostCallsOfUser,
                     " calls on the port already; end some of them first"));
  }
  if (num_calls_ >= kMostCalls) {
    return absl::ResourceExhaustedError(absl::StrCat(
        kMostCalls, " calls run on the port already; try again later"));
  }
  ++num_calls_;
  ++by_user_[identity.name];
  return std::make_unique<Place>(this, identity.name);
}

void CallCounts::GiveBack(const std::string& user) {
  const MutexLock lock(&mutex_);
  --num_calls_;
  const auto found = by_user_.find(user);
  if (--found->second == 0) by_user_.erase(found);
}

}  // namespace fgnn
