// A job in which every field has its default.
#ifndef FGNN_TESTS_FAKES_DEFAULT_JOB_H_
#define FGNN_TESTS_FAKES_DEFAULT_JOB_H_

#include <memory>
#include <string>
#include <utility>

#include "shared/config/job_spec_proto.h"

namespace fgnn {

// Returns the effective spec of a job with the dataset /d and the device cpu:0.
inline JobSpec DefaultJob() {
  v1::JobSpec spec;
  spec.set_dataset("/d");
  return FromProto(MakeEffective(spec, {"cpu:0"}).value());
}

// Returns such a spec as a job of the scheduler has it: without devices, it
// gets all that the service has.
inline std::shared_ptr<const JobSpec> SharedJob(
    const std::string& dataset = "/d") {
  JobSpec spec = DefaultJob();
  spec.dataset = dataset;
  spec.devices.clear();
  return std::make_shared<const JobSpec>(std::move(spec));
}

}  // namespace fgnn

#endif  // FGNN_TESTS_FAKES_DEFAULT_JOB_H_
