#include "scheduler/rpc/port/call_counts.h"

#include "absl/strings/str_cat.h"

namespace fgnn {

absl::StatusOr<std::unique_ptr<CallCounts::Place>> CallCounts::Take(
    const Identity& identity, CallHolds holds) {
  auto place = std::make_unique<Place>();
  if (identity.role != RemoteRole::kOperate) {
    place->of_user = of_user_.Take(identity.name);
    if (place->of_user == nullptr) {
      return absl::ResourceExhaustedError(
          absl::StrCat("the user has ", kMostCallsOfUser,
                       " calls on the port already; end some of them first"));
    }
    place->in_all = in_all_.Take("");
    if (place->in_all == nullptr) {
      return absl::ResourceExhaustedError(absl::StrCat(
          kMostCalls, " calls run on the port already; try again later"));
    }
  }
  if (holds == CallHolds::kThread) {
    place->with_thread = with_thread_.Take(identity.name);
    if (place->with_thread == nullptr) {
      return absl::ResourceExhaustedError(
          absl::StrCat("the user has ", kMostThreadsOfUser,
                       " calls at work already; end some of them first"));
    }
  }
  return place;
}

}  // namespace fgnn
