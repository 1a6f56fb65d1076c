// A job in which every field has its default.
#ifndef FGNN_TESTS_FAKES_DEFAULT_JOB_H_
#define FGNN_TESTS_FAKES_DEFAULT_JOB_H_

#include "shared/config/job_spec_proto.h"

namespace fgnn {

// Returns the effective spec of a job with the dataset /d and the device cpu:0.
inline JobSpec DefaultJob() {
  v1::JobSpec spec;
  spec.set_dataset("/d");
  return FromProto(MakeEffective(spec, {"cpu:0"}).value());
}

}  // namespace fgnn

#endif  // FGNN_TESTS_FAKES_DEFAULT_JOB_H_
