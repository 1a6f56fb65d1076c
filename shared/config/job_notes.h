// Notes on what a job leaves to the service and that changes its result.
#ifndef FGNN_SHARED_CONFIG_JOB_NOTES_H_
#define FGNN_SHARED_CONFIG_JOB_NOTES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fgnn/v1/job.pb.h"
#include "shared/config/job_spec.h"

namespace fgnn {

// Returns notes for the job's user, a line each, about batches_per_step (W), on
// which the weights depend. There is none if fewer than two devices may train.
// Else there is a note if the job does not say W, or if W is less than the
// number of these devices and weights are not stale, or if hosts.max is more
// than W. `written` is the spec as
// the user wrote it, `effective` what MakeEffective() made of it.
std::vector<std::string> NotesOnJob(const v1::JobSpec& written,
                                    const v1::JobSpec& effective);

// Returns a note if a batch of the job is larger than its train set, which has
// `num_train` vertices or, with link prediction, edges. nullopt: it is not.
std::optional<std::string> NoteOnBatchSize(const JobSpec& spec,
                                           uint64_t num_train);

}  // namespace fgnn

#endif  // FGNN_SHARED_CONFIG_JOB_NOTES_H_
