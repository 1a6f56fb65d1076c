// The hosts of a job. They are those of its devices.
#ifndef FGNN_SHARED_CONFIG_JOB_HOSTS_H_
#define FGNN_SHARED_CONFIG_JOB_HOSTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "shared/config/job_spec.h"

namespace fgnn {

// A host, and its share of each step.
struct HostShare {
  std::string name = {};      // Empty: the service's own host.
  uint64_t num_training = 0;  // Number of its devices that train.
  uint64_t num_places = 0;    // Number of places of each step that it has.
  // Batches of the job that it has measured its devices to do in a second; 0:
  // not known.
  double batches_per_second = 0;
};

// Returns the hosts of an effective spec that has devices: the service's own
// one first, if the job has devices of it, then the others in the order in
// which the devices name them. Shares by speed are in proportion to the devices
// here: no speed is known.
std::vector<HostShare> HostSharesOf(const JobSpec& spec);

// Returns the spec as the host of this name sees it: with its devices alone,
// without its name before them.
JobSpec OnHost(JobSpec spec, const std::string& host);

}  // namespace fgnn

#endif  // FGNN_SHARED_CONFIG_JOB_HOSTS_H_
