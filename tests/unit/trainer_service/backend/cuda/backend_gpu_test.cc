#include "trainer_service/backend/cuda/backend_gpu.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "tests/fakes/cuda/fake_cudart.h"
#include "tests/fakes/status_matchers.h"

namespace fgnn {
namespace {

class BackendGpuTest : public testing::Test {
 protected:
  BackendGpuTest() { simt::SetFakeDevice({.memory_bytes = kMemory}); }
  ~BackendGpuTest() override { simt::SetFakeDevice({}); }

  static constexpr size_t kMemory = 1 << 20;
  const absl::Status internal_ = absl::InternalError("a launch failed");
  std::vector<absl::Status> lost_;
  const BackendGpu gpu_{
      0, [this](const absl::Status& why) { lost_.push_back(why); }};
};

TEST_F(BackendGpuTest, ReturnsErrorsOfAGpuThatAnswers) {
  for (const absl::Status& status :
       {absl::OkStatus(), internal_, absl::ResourceExhaustedError("full")}) {
    EXPECT_EQ(gpu_.ReportIfLost(status), status);
    if (status.ok()) continue;
    const auto fails = [&] { return absl::StatusOr<int>(status); };
    EXPECT_EQ(gpu_.Use(fails).status(), status);
  }
  EXPECT_EQ(gpu_.Use([] { return absl::StatusOr<int>(7); }).value(), 7);
  EXPECT_EQ(gpu_.Memory()->free_bytes, kMemory);
  EXPECT_TRUE(lost_.empty());
}

// Whoever gets ResourceExhausted waits for a minute and tries again.
TEST_F(BackendGpuTest, ItsMemoryIsNotWaitedFor) {
  simt::FailAfter(0, cudaErrorMemoryAllocation, /*sticky=*/false);
  EXPECT_THAT(gpu_.Use([] { return absl::StatusOr<int>(7); }),
              FailedPrecondition("cuda:0"));
  EXPECT_TRUE(lost_.empty());
}

TEST_F(BackendGpuTest, ReportsAGpuThatIsLost) {
  simt::FailAfter(0, cudaErrorIllegalAddress, /*sticky=*/true);
  const auto is_lost =
      Internal("a launch failed; cuda:0", "has to end and be restarted");
  EXPECT_THAT(gpu_.ReportIfLost(internal_), is_lost);
  EXPECT_THAT(lost_, testing::ElementsAre(is_lost));
  // An error of another kind says nothing of the GPU.
  const absl::Status full = absl::ResourceExhaustedError("full");
  EXPECT_EQ(gpu_.ReportIfLost(full), full);
  EXPECT_THAT(lost_, testing::SizeIs(1));

  bool was_used = false;
  const auto work = [&] {
    was_used = true;
    return absl::StatusOr<int>(7);
  };
  EXPECT_THAT(gpu_.Use(work), Internal("cuda:0"));
  EXPECT_FALSE(was_used);
  EXPECT_THAT(lost_, testing::SizeIs(2));
}

}  // namespace
}  // namespace fgnn
