// The daemons of this host as users and programs see them.
#ifndef FGNN_SCHEDULER_HOST_BOOK_DAEMON_VIEWS_H_
#define FGNN_SCHEDULER_HOST_BOOK_DAEMON_VIEWS_H_

#include <string>
#include <vector>

#include "scheduler/executors/executor_view.h"
#include "scheduler/host/book/daemon_table.h"

namespace fgnn {

std::vector<ExecutorView> AllViews(const DaemonTable& table);
// Returns views of the job's daemons; with an empty id, of the daemons without
// a job.
std::vector<ExecutorView> ViewsOf(const DaemonTable& table,
                                  const std::string& job_id);

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_HOST_BOOK_DAEMON_VIEWS_H_
