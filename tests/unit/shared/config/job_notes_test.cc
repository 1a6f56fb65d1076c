#include "shared/config/job_notes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "shared/config/job_spec_proto.h"
#include "tests/fakes/status_matchers.h"

namespace fgnn {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Optional;

// Returns the notes on a job file with these lines, of a service with two
// devices.
std::vector<std::string> NotesOn(const std::string& lines) {
  const absl::StatusOr<v1::JobSpec> written = ParseJobYaml(
      "dataset: /d\nsampling: {fanouts: [5, 5], batch_size: 1024}\n" + lines,
      "job.yaml");
  EXPECT_THAT(written, IsOk());
  const absl::StatusOr<v1::JobSpec> effective =
      MakeEffective(*written, {"cpu:0", "cpu:1"});
  EXPECT_THAT(effective, IsOk());
  return NotesOnJob(*written, *effective);
}

TEST(JobNotesTest, SaysTheStepThatSeveralDevicesMake) {
  const auto taken_as_two =
      ElementsAre(AllOf(HasSubstr("training.batches_per_step is not set"),
                        HasSubstr("taken as 2,"), HasSubstr("2 x 1,024 seeds"),
                        HasSubstr("Set the field")));
  EXPECT_THAT(NotesOn(""), taken_as_two);
  EXPECT_THAT(NotesOn("training: {batches_per_step: 0}"), taken_as_two);
  EXPECT_THAT(NotesOn("executors: time_sharing"), taken_as_two);
  EXPECT_THAT(NotesOn("executors: together"), taken_as_two);
  EXPECT_THAT(NotesOn("devices: {min: 1, max: 2}"), taken_as_two);
  EXPECT_THAT(NotesOn("devices: 2"), taken_as_two);
}

TEST(JobNotesTest, SaysThatDevicesWaitForShortSteps) {
  EXPECT_THAT(NotesOn("training: {batches_per_step: 1}"),
              ElementsAre(AllOf(HasSubstr("2 devices may train"),
                                HasSubstr("no more than 1 trains"))));
  // Each part has a device.
  EXPECT_THAT(
      NotesOn("executors: together\ntrainers: 4\n"
              "devices: [cpu:0, cpu:1, cpu:2, cpu:3]\n"
              "training: {parts: 2, batches_per_step: 1}"),
      ElementsAre(AllOf(HasSubstr("no more than 2 train at the same time"),
                        HasSubstr("Set the field to 2 to"))));
  // A preset has the field.
  EXPECT_THAT(NotesOn("preset: fgnn/graphsage"),
              ElementsAre(HasSubstr("training.batches_per_step is 1,")));
}

TEST(JobNotesTest, SaysThatHostsWaitForShortSteps) {
  EXPECT_THAT(NotesOn("training: {batches_per_step: 2}\nhosts: {max: 2}"),
              IsEmpty());
  EXPECT_THAT(NotesOn("training: {batches_per_step: 2}\nhosts: {max: 3}"),
              ElementsAre(AllOf(HasSubstr("hosts.max is 3"),
                                HasSubstr("no more than 2 hosts work"))));
}

TEST(JobNotesTest, SaysNothingWhereTheWeightsAreTheJobs) {
  EXPECT_THAT(NotesOn("training: {batches_per_step: 2}"), IsEmpty());
  EXPECT_THAT(NotesOn("training: {batches_per_step: 5}"), IsEmpty());
  EXPECT_THAT(NotesOn("devices: [cpu:0]"), IsEmpty());
  // One device samples, and the other one trains.
  EXPECT_THAT(NotesOn("samplers: 1\nswitching: false"), IsEmpty());
  EXPECT_THAT(NotesOn("training: {sync: bounded_staleness, "
                      "batches_per_step: 1}"),
              IsEmpty());
}

TEST(JobNotesTest, SaysThatABatchIsLargerThanTheTrainSet) {
  JobSpec spec;
  spec.sampling.batch_size = 1024;
  EXPECT_EQ(NoteOnBatchSize(spec, 1024), std::nullopt);
  EXPECT_THAT(NoteOnBatchSize(spec, 1023),
              Optional(AllOf(HasSubstr("batch_size is 1,024"),
                             HasSubstr("1,023 vertices"),
                             HasSubstr("sampling.batch_size=127"))));
  spec.training.task = "link_prediction";
  EXPECT_THAT(NoteOnBatchSize(spec, 3),
              Optional(AllOf(HasSubstr("3 edges"),
                             HasSubstr("sampling.batch_size=1"))));
}

}  // namespace
}  // namespace fgnn
