#include "scheduler/figures/refusal_counts.h"

#include "shared/base/enum_words.h"

namespace fgnn {
namespace {

constexpr EnumWord<RefusalReason> kWords[] = {
    {RefusalReason::kNoCredentials, "no_credentials"},
    {RefusalReason::kWrongCredentials, "wrong_credentials"},
    {RefusalReason::kRole, "role"},
    {RefusalReason::kDeadline, "deadline"},
    {RefusalReason::kTooManyCalls, "too_many_calls"},
    {RefusalReason::kNoAccount, "no_account"},
    {RefusalReason::kTooManyConnections, "too_many_connections"},
    {RefusalReason::kFlood, "flood"}};

}  // namespace

std::string_view WordOf(RefusalReason reason) { return WordIn(kWords, reason); }

}  // namespace fgnn
