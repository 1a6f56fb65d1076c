// Converts job specs between YAML, protobuf and JobSpec. The conversion follows
// the fields' documentation in proto/fgnn/v1/job.proto. Only the rules that
// span several fields name fields.
#ifndef FGNN_SHARED_CONFIG_JOB_SPEC_PROTO_H_
#define FGNN_SHARED_CONFIG_JOB_SPEC_PROTO_H_

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "fgnn/v1/job.pb.h"
#include "shared/config/job_spec.h"

namespace fgnn {

// Reads a job file. `dataset` becomes absolute, relative to the file's folder.
// Overrides are KEY=VALUE with dotted keys ("training.epochs=3") and VALUE as
// YAML. A dataset in an override is relative to the working folder. Returns the
// fields that were written, without defaults. InvalidArgument: "FILE:LINE:
// unknown key 'fanout' in sampling; did you mean 'fanouts'?", a wrong type, a
// value out of range (naming field, value and range), or an override without
// '='. NotFound, PermissionDenied: the file.
absl::StatusOr<v1::JobSpec> ReadJobFile(
    const std::filesystem::path& path,
    const std::vector<std::string>& overrides);

// Sets fields of the spec as the overrides of ReadJobFile() do, but leaves
// paths as they are written.
absl::Status ApplyOverrides(const std::vector<std::string>& overrides,
                            v1::JobSpec* spec);

// Reads job.yaml in a run's folder in the same way. The folder may belong to
// another user: a link there is InvalidArgument.
absl::StatusOr<v1::JobSpec> ReadRunsJobFile(
    const std::filesystem::path& run_dir);

// Reads a job from text in the same way; `origin` stands for the file's name in
// messages.
absl::StatusOr<v1::JobSpec> ParseJobYaml(std::string_view yaml,
                                         std::string_view origin);

// Fills in the fields of the spec's preset (shared/config/presets.h), then
// every default. Checks every range and the rules that span fields (a model has
// as many layers as there are hops; fanouts not 0; …). `default_devices` fill
// an empty devices list, unless devices are asked for by number.
// batches_per_step 0 becomes the number of devices, or the most that are asked
// for. Idempotent. InvalidArgument names the field.
absl::StatusOr<v1::JobSpec> MakeEffective(
    v1::JobSpec spec, const std::vector<std::string>& default_devices);

// Converts an effective spec.
JobSpec FromProto(const v1::JobSpec& spec);

// Converts back. The request for devices is left out once the spec has devices.
// Bytes of memory get the largest unit that leaves a whole number.
v1::JobSpec ToProto(const JobSpec& spec);

// Fills in, checks and converts a spec that comes from another process. An
// effective spec stays as it is. Errors: those of MakeEffective().
absl::StatusOr<JobSpec> ReadSpec(const v1::JobSpec& spec);

// Returns the YAML of a spec, in the order of the proto. `with_help` puts each
// field's help, unit, range and default beside it as a comment.
std::string ToYaml(const v1::JobSpec& spec, bool with_help);

}  // namespace fgnn

#endif  // FGNN_SHARED_CONFIG_JOB_SPEC_PROTO_H_
