#include "tools/fgnn/reports/message_json.h"

#include <gtest/gtest.h>

#include "fgnn/v1/job_service.pb.h"

namespace fgnn {
namespace {

TEST(MessageJsonTest, WritesNumbersAsNumbersAndEnumsInShort) {
  v1::Job job;
  job.set_job_id("4f");
  job.set_state(v1::JOB_STATE_RUNNING);
  job.set_submitted_ms(int64_t{1} << 53);
  job.mutable_spec()->mutable_training()->set_seed(7);
  job.mutable_spec()->mutable_sampling()->add_fanouts(-1);
  job.mutable_progress()->set_loss(0.5);
  job.mutable_progress()->add_executors()->set_name("sampler.0");

  const auto json = ToJson(job);

  EXPECT_EQ(json["state"], "running");
  EXPECT_EQ(json["submitted_ms"], int64_t{1} << 53);
  EXPECT_EQ(json["spec"]["training"]["seed"], 7);
  EXPECT_EQ(json["spec"]["sampling"]["fanouts"].dump(), "[-1]");
  EXPECT_EQ(json["progress"]["loss"], 0.5);
  EXPECT_EQ(json["progress"]["executors"][0]["name"], "sampler.0");
}

TEST(MessageJsonTest, LeavesOutWhatIsOptionalAndNotSet) {
  v1::Job job;
  job.mutable_spec();
  const auto json = ToJson(job);
  EXPECT_FALSE(json["spec"].contains("dataset"));
  EXPECT_FALSE(json.contains("progress"));
  EXPECT_EQ(json["error_message"], "") << "a field without presence is there";
}

}  // namespace
}  // namespace fgnn
