#include "shared/base/threads/end_limit.h"

#include <unistd.h>

#include <utility>

#include "shared/base/clock.h"

namespace fgnn {

EndLimit::EndLimit(std::chrono::milliseconds limit,
                   std::function<void()> on_late)
    : thread_("end-limit", [this, deadline = DeadlineIn(limit),
                            on_late = std::move(on_late)] {
        if (in_time_.WaitUntil(deadline)) return;
        on_late();
        ::_exit(1);
      }) {}

EndLimit::~EndLimit() { in_time_.Notify(); }

}  // namespace fgnn
