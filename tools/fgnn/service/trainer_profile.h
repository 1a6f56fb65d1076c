// Measures a job by the daemons' programs: training by the one that links
// torch, and what runs on a GPU by those that link CUDA.
#ifndef FGNN_TOOLS_FGNN_SERVICE_TRAINER_PROFILE_H_
#define FGNN_TOOLS_FGNN_SERVICE_TRAINER_PROFILE_H_

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "fgnn/v1/job.pb.h"
#include "shared/measured/profiles.h"
#include "shared/minibatch/hop_size.h"

namespace fgnn {

// Runs `trainer`, which is fgnn-trainer or fgnn-sampler, with one of its
// commands and the service's folder, which has the user's plugins. Returns the
// last line that it prints. Errors: those that the program tells (ErrorJson());
// those of RunProgram(). Internal, with its last line: it ended otherwise.
absl::StatusOr<std::string> AskTrainer(const std::filesystem::path& trainer,
                                       const std::filesystem::path& state_dir,
                                       const std::vector<std::string>& args);

// Returns a ProfileTrainingCommand for an effective spec and batches of these
// sizes, as the trainer's --request takes it.
absl::StatusOr<std::string> ProfileRequestJson(
    const v1::JobSpec& spec, const std::vector<HopSize>& hops);

// Asks the trainer for the profile of an effective spec, batches of these sizes
// and the device that it is to use.
absl::StatusOr<TrainingProfile> AskForTrainingProfile(
    const std::filesystem::path& trainer,
    const std::filesystem::path& state_dir, const v1::JobSpec& spec,
    const std::vector<HopSize>& hops, const std::string& device);

// Asks `sampler`, which is fgnn-sampler, for the profile of an effective spec
// on this device.
absl::StatusOr<SamplingProfile> AskForSamplingProfile(
    const std::filesystem::path& sampler,
    const std::filesystem::path& state_dir, const v1::JobSpec& spec,
    uint32_t num_batches, const std::string& device);

// Returns the number of this machine's GPUs. Unavailable says why none can be
// used, in the words of `sampler`, which is fgnn-sampler.
absl::StatusOr<size_t> CountGpus(const std::filesystem::path& sampler);

}  // namespace fgnn

#endif  // FGNN_TOOLS_FGNN_SERVICE_TRAINER_PROFILE_H_
