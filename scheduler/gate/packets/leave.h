// What a client is told in HTTP/2 whose connection is closed unheard.
#ifndef FGNN_SCHEDULER_GATE_PACKETS_LEAVE_H_
#define FGNN_SCHEDULER_GATE_PACKETS_LEAVE_H_

#include <string>

#include "absl/strings/string_view.h"

namespace fgnn {

// The words for a client whose user or address has no marks left.
inline constexpr absl::string_view kFloods =
    "too many calls that were taken back or refused, breaches of HTTP/2 or "
    "idle frames; wait ten seconds";

// The words for a client whose user or address connects too often.
inline constexpr absl::string_view kConnects =
    "more than 250 new connections a second; wait four seconds";

// Returns GOAWAY with these words, for a client that no session serves. There
// is no SETTINGS before it: a client of gRPC's would take the connection for
// one that stood, and connect again without a pause.
std::string MakeLeave(absl::string_view why);

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_GATE_PACKETS_LEAVE_H_
