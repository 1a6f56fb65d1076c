#include "trainer_service/sync/cuda/nccl_group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

#include "shared/device/cuda/device_array.h"
#include "tests/fakes/cuda/fake_cudart.h"
#include "tests/fakes/cuda/fake_nccl.h"
#include "tests/fakes/status_matchers.h"

namespace fgnn {
namespace {

using std::chrono::milliseconds;

// A group of two, whose other member never comes.
class NcclGroupTest : public testing::Test {
 protected:
  void SetUp() override {
    simt::SetFakeDevice({});
    simt::SetFakeNccl({});
    ASSERT_EQ(api_.get_unique_id(&options_.id), nccl::kSuccess);
    options_.num_members = 2;
    options_.timeout = milliseconds(30);
    options_.goes_on = [] { return true; };
  }

  const nccl::Api api_ = simt::FakeNcclApi();
  NcclGroupOptions options_;
};

TEST_F(NcclGroupTest, WaitsForAMemberUntilTheDeadline) {
  EXPECT_THAT(NcclGroup::Join(api_, options_),
              DeadlineExceeded("join the trainers' group", "within 30 ms"));
  EXPECT_EQ(simt::GetFakeNcclCounts().aborts, 1U);
}

TEST_F(NcclGroupTest, StopsWaitingOnceAMemberIsGone) {
  options_.timeout = milliseconds(600'000);
  int asked = 0;
  options_.goes_on = [&asked] { return ++asked < 3; };
  EXPECT_THAT(NcclGroup::Join(api_, options_), Unavailable("is gone"));
  EXPECT_EQ(simt::GetFakeNcclCounts().aborts, 1U);
}

TEST_F(NcclGroupTest, SaysWhatNcclSays) {
  simt::SetFakeNccl({.init = nccl::kRemoteError});
  EXPECT_THAT(NcclGroup::Join(api_, options_),
              Internal("remote process exited", "planned by a test"));
}

TEST_F(NcclGroupTest, AbortsAnExchangeThatFails) {
  options_.num_members = 1;
  FGNN_ASSERT_OK_AND_ASSIGN(const std::unique_ptr<NcclGroup> group,
                            NcclGroup::Join(api_, options_));
  FGNN_ASSERT_OK_AND_ASSIGN(const CudaStream stream, CudaStream::Make());
  simt::SetFakeNccl({.exchange = nccl::kUnhandledCudaError});
  float* const nothing = nullptr;
  EXPECT_THAT(group->Sum(nothing, 0, stream), Internal());
  EXPECT_EQ(simt::GetFakeNcclCounts().aborts, 1U);
  // The communicator is gone.
  EXPECT_THAT(group->Share({0}, nothing, 0, nothing, stream),
              Internal("failed before"));
  EXPECT_EQ(simt::GetFakeNcclCounts().broadcasts, 0U);
}

// Who has all arrays needs nobody's, and waits all the same.
TEST_F(NcclGroupTest, NobodyHasSharedBeforeAllHaveCalled) {
  NcclGroupOptions of_other = options_;
  of_other.rank = 1;
  options_.timeout = of_other.timeout = milliseconds(600'000);
  std::unique_ptr<NcclGroup> other;
  std::thread joins([&] { other = NcclGroup::Join(api_, of_other).value(); });
  std::atomic<bool> goes_on = true;
  options_.goes_on = [&goes_on] { return goes_on.load(); };
  FGNN_ASSERT_OK_AND_ASSIGN(const std::unique_ptr<NcclGroup> group,
                            NcclGroup::Join(api_, options_));
  joins.join();
  FGNN_ASSERT_OK_AND_ASSIGN(const CudaStream stream, CudaStream::Make());
  FGNN_ASSERT_OK_AND_ASSIGN(const auto array, DeviceArray<float>::Make(2));
  goes_on = false;
  EXPECT_THAT(group->Share({0}, array.get(), 1, array.get() + 1, stream),
              Unavailable("share gradients"));
}

}  // namespace
}  // namespace fgnn
