#include "scheduler/executors/executor_view.h"

#include "shared/base/enum_words.h"

namespace fgnn {
namespace {

constexpr EnumWord<DaemonState> kNames[] = {
    {DaemonState::kStarting, "starting"}, {DaemonState::kIdle, "idle"},
    {DaemonState::kWorking, "working"},   {DaemonState::kStandby, "standby"},
    {DaemonState::kLost, "lost"},         {DaemonState::kDead, "dead"}};

}  // namespace

std::string_view NameOf(DaemonState state) { return WordIn(kNames, state); }

}  // namespace fgnn
