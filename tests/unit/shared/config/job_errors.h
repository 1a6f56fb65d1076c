// A job that sets many fields, effective specs, and error messages for wrong
// jobs.
#ifndef FGNN_TESTS_UNIT_SHARED_CONFIG_JOB_ERRORS_H_
#define FGNN_TESTS_UNIT_SHARED_CONFIG_JOB_ERRORS_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/status/statusor.h"
#include "shared/config/job_spec_proto.h"
#include "tests/fakes/status_matchers.h"

namespace fgnn {

inline constexpr char kJob[] = R"(dataset: /data/packages
model: {kind: graphsage, layers: 3, hidden: 64, dropout: 0.25}
sampling:
  kind: khop
  fanouts: [15, 10, -1]
  batch_size: 512
training: {epochs: 4, learning_rate: 1e-2, seed: 18446744073709551615}
cache: {policy: degree, capacity: 0.25}
devices: [cpu:0-1, "cpu:2"]
samplers: 2
limits: {memory: 2GiB}
)";

// Returns the error message of reading `yaml` and making it effective.
inline std::string ErrorOf(const std::string& yaml) {
  absl::StatusOr<v1::JobSpec> spec = ParseJobYaml(yaml, "job.yaml");
  if (spec.ok()) spec = MakeEffective(*spec, {"cpu:0"});
  EXPECT_THAT(spec, StatusIs(absl::StatusCode::kInvalidArgument)) << yaml;
  const std::string message(spec.status().message());
  EXPECT_THAT(message, testing::Not(testing::HasSubstr("\n")));
  return message;
}

// Returns the error message of a job that is right except for `lines`.
inline std::string ErrorIn(const std::string& lines) {
  return ErrorOf("dataset: /d\n" + lines);
}

// Returns the effective spec of a job that is right but for what `lines` add.
inline JobSpec EffectiveOf(const std::string& lines) {
  absl::StatusOr<v1::JobSpec> spec =
      ParseJobYaml("dataset: /d\n" + lines, "job.yaml");
  if (spec.ok()) spec = MakeEffective(*spec, {"cpu:0"});
  EXPECT_THAT(spec, IsOk()) << lines;
  return spec.ok() ? FromProto(*spec) : JobSpec();
}

}  // namespace fgnn

#endif  // FGNN_TESTS_UNIT_SHARED_CONFIG_JOB_ERRORS_H_
