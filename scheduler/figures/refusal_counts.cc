#include "scheduler/figures/refusal_counts.h"

namespace fgnn {

std::string_view WordOf(RefusalReason reason) {
  switch (reason) {
    case RefusalReason::kNoCredentials:
      return "no_credentials";
    case RefusalReason::kWrongCredentials:
      return "wrong_credentials";
    case RefusalReason::kRole:
      return "role";
    case RefusalReason::kDeadline:
      return "deadline";
    case RefusalReason::kTooManyCalls:
      return "too_many_calls";
    case RefusalReason::kNoAccount:
      return "no_account";
    case RefusalReason::kTooManyConnections:
      return "too_many_connections";
    case RefusalReason::kFlood:
      return "flood";
  }
  return "unknown";
}

}  // namespace fgnn
