// The kinds that a job may name are those that samplers have.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "fgnn/v1/job.pb.h"
#include "sampler_service/presample/hotness.h"
#include "sampler_service/sampling/sampler.h"
#include "shared/config/job_spec.h"
#include "tests/fakes/status_matchers.h"

namespace fgnn {
namespace {

std::vector<std::string> ChoicesOf(const google::protobuf::Descriptor& message,
                                   const char* field) {
  const auto& choices =
      message.FindFieldByName(field)->options().GetExtension(v1::doc).choices();
  return {choices.begin(), choices.end()};
}

TEST(KindsOfAJobTest, AreThoseThatSamplersHave) {
  EXPECT_EQ(ChoicesOf(*v1::SamplingSpec::descriptor(), "kind"),
            SamplingKinds());
  std::vector<std::string> policies = HotnessPolicies();
  policies.emplace_back("none");
  EXPECT_THAT(ChoicesOf(*v1::CacheSpec::descriptor(), "policy"),
              testing::UnorderedElementsAreArray(policies));
}

// Trainers plan their memory by the job's word.
TEST(KindsOfAJobTest, WeighEdgesWhereSamplersDo) {
  SamplingSpec job;
  SamplerOptions options;
  for (const std::string& kind : SamplingKinds()) {
    job.kind = kind;
    FGNN_ASSERT_OK_AND_ASSIGN(options.algorithm, SamplingAlgorithmOf(kind));
    EXPECT_EQ(job.weighs_edges(), HasWeights(options)) << kind;
  }
}

}  // namespace
}  // namespace fgnn
