// Logs and counts the calls and connections that the port refuses.
#ifndef FGNN_SCHEDULER_RPC_PORT_REFUSAL_LOG_H_
#define FGNN_SCHEDULER_RPC_PORT_REFUSAL_LOG_H_

#include <string>

#include "absl/status/status.h"
#include "scheduler/figures/refusal_counts.h"
#include "shared/telemetry/line_limit.h"

namespace fgnn {

struct Refusal {
  std::string who;      // The name that was claimed; empty: none.
  std::string address;  // Address of the caller.
  std::string method;   // As on the wire; empty: a connection was refused.
  absl::Status why;
  RefusalReason reason = RefusalReason::kNoCredentials;
};

// Thread-safe. Writes no more lines than LineLimit allows. The next line tells
// how many were left out.
class RefusalLog {
 public:
  // Borrows `counts`.
  explicit RefusalLog(RefusalCounts* counts) : counts_(counts) {}

  void Write(const Refusal& refusal);

 private:
  RefusalCounts* const counts_;
  LineLimit limit_;
};

// Returns the text of a line: "refused ann from 10.0.0.7, /fgnn.v1…: why".
std::string TextOf(const Refusal& refusal);

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_RPC_PORT_REFUSAL_LOG_H_
