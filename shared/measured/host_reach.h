// What a host of a job found out about its link to another host.
#ifndef FGNN_SHARED_MEASURED_HOST_REACH_H_
#define FGNN_SHARED_MEASURED_HOST_REACH_H_

#include <cstdint>
#include <string>

namespace fgnn {

// How good a link is. Measured once, beside what else used it then.
struct LinkQuality {
  double round_trip_seconds = 0;  // The least of some.
  // Bytes that came from the other host in a second; 0: not known.
  double bytes_per_second = 0;
  // Seconds by which the other host's clock is ahead of this one's, to within
  // half a round trip.
  double clock_offset_seconds = 0;

  friend bool operator==(const LinkQuality&, const LinkQuality&) = default;
};

struct HostReach {
  uint32_t host = 0;       // Index of the other host among the job's.
  std::string error = {};  // Why it cannot be reached; empty: it can be.
  LinkQuality link = {};

  friend bool operator==(const HostReach&, const HostReach&) = default;
};

}  // namespace fgnn

#endif  // FGNN_SHARED_MEASURED_HOST_REACH_H_
