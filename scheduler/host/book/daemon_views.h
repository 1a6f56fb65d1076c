// The daemons of this host as people and programs see them.
#ifndef FGNN_SCHEDULER_HOST_BOOK_DAEMON_VIEWS_H_
#define FGNN_SCHEDULER_HOST_BOOK_DAEMON_VIEWS_H_

#include <string>
#include <vector>

#include "scheduler/executors/executor_view.h"
#include "scheduler/host/book/daemon_table.h"

namespace fgnn {

std::vector<ExecutorView> AllViews(const DaemonTable& table);
// Returns views of the daemons that are the job's; an empty id: that are
// nobody's.
std::vector<ExecutorView> ViewsOf(const DaemonTable& table,
                                  const std::string& job_id);

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_HOST_BOOK_DAEMON_VIEWS_H_
