// Errors and counts of the fake runtime, as users of it see them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "shared/device/cuda/device_array.h"
#include "shared/device/cuda/stream.h"
#include "tests/fakes/cuda/fake_cudart.h"
#include "tests/fakes/status_matchers.h"

namespace fgnn {
namespace {

using absl::StatusCode;
using testing::HasSubstr;

class FakeErrorsTest : public testing::Test {
 protected:
  void SetUp() override { simt::SetFakeDevice({}); }
  void TearDown() override { simt::SetFakeDevice({}); }
};

TEST_F(FakeErrorsTest, AMachineWithoutADriverHasNoDevice) {
  simt::SetFakeDevice({.count = 0});
  int count = 77;
  EXPECT_EQ(cudaGetDeviceCount(&count), cudaErrorInsufficientDriver);
  EXPECT_EQ(count, 77) << "CUDA does not write the count either";
  EXPECT_THAT(CudaStream::Make().status(),
              StatusIs(StatusCode::kInternal,
                       HasSubstr("cudaErrorInsufficientDriver")));
}

TEST_F(FakeErrorsTest, NumbersOfOtherDevicesAreRefused) {
  int value = 0;
  EXPECT_EQ(cudaSetDevice(0), cudaSuccess);
  EXPECT_EQ(cudaSetDevice(1), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 1),
            cudaErrorInvalidDevice);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess) << "it was taken";
}

TEST_F(FakeErrorsTest, APlannedErrorComesOnceAtItsCall) {
  simt::FailAfter(1, cudaErrorMemoryAllocation, /*sticky=*/false);
  EXPECT_THAT(DeviceArray<char>::Make(1).status(), IsOk());
  EXPECT_THAT(DeviceArray<char>::Make(1).status(),
              StatusIs(StatusCode::kResourceExhausted,
                       HasSubstr("cannot allocate 1 bytes of device memory: "
                                 "cudaErrorMemoryAllocation, out of memory")));
  EXPECT_THAT(DeviceArray<char>::Make(1).status(), IsOk());
}

TEST_F(FakeErrorsTest, AStickyErrorAnswersAllCallsAndNothingRunsOn) {
  FGNN_ASSERT_OK_AND_ASSIGN(const CudaStream stream, CudaStream::Make());
  FGNN_ASSERT_OK_AND_ASSIGN(const auto array, PinnedArray<char>::Make(1));
  array.get()[0] = 1;
  ASSERT_EQ(cudaMemsetAsync(array.get(), 2, 1, stream.get()), cudaSuccess);

  FGNN_ASSERT_OK_AND_ASSIGN(CudaEvent event, CudaEvent::Make());
  FGNN_ASSERT_OK(event.Record(stream));

  simt::FailAfter(0, cudaErrorIllegalAddress, /*sticky=*/true);
  EXPECT_EQ(cudaStreamSynchronize(stream.get()), cudaErrorIllegalAddress);
  EXPECT_EQ(cudaStreamSynchronize(stream.get()), cudaErrorIllegalAddress);
  EXPECT_THAT(
      DeviceArray<char>::Make(1).status(),
      StatusIs(StatusCode::kInternal, HasSubstr("cudaErrorIllegalAddress")));
  EXPECT_EQ(cudaGetLastError(), cudaErrorIllegalAddress);
  EXPECT_EQ(cudaGetLastError(), cudaErrorIllegalAddress);
  EXPECT_EQ(array.get()[0], 1);
  EXPECT_FALSE(event.Wait(DeadlineIn(std::chrono::seconds(0))).ok());

  // The next test's device answers again, and has nothing to wait for.
  simt::SetFakeDevice({});
  EXPECT_THAT(event.Wait(DeadlineIn(std::chrono::seconds(0))), IsOk());
}

TEST_F(FakeErrorsTest, AFaultNowAnswersTheNextCallAndAllAfterIt) {
  EXPECT_THAT(DeviceArray<char>::Make(1).status(), IsOk());
  simt::FailNow();
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(
        DeviceArray<char>::Make(1).status(),
        StatusIs(StatusCode::kInternal, HasSubstr("cudaErrorIllegalAddress")));
  }
  simt::SetFakeDevice({});
  EXPECT_THAT(DeviceArray<char>::Make(1).status(), IsOk());
}

TEST_F(FakeErrorsTest, WaitsCopiesAndBytesAreCounted) {
  FGNN_ASSERT_OK_AND_ASSIGN(const CudaStream stream, CudaStream::Make());
  FGNN_ASSERT_OK_AND_ASSIGN(CudaEvent event, CudaEvent::Make());
  FGNN_ASSERT_OK_AND_ASSIGN(const auto host, PinnedArray<char>::Make(100));
  FGNN_ASSERT_OK_AND_ASSIGN(const auto device, DeviceArray<char>::Make(100));
  simt::SetFakeDevice({});  // Counts from here on.
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(cudaMemcpyAsync(device.get(), host.get(), 60,
                              cudaMemcpyHostToDevice, stream.get()),
              cudaSuccess);
  }
  ASSERT_THAT(event.Record(stream), IsOk());
  ASSERT_THAT(event.Wait(DeadlineIn(std::chrono::minutes(1))), IsOk());
  ASSERT_EQ(cudaStreamSynchronize(stream.get()), cudaSuccess);

  const simt::FakeCounts counts = simt::GetFakeCounts();
  EXPECT_EQ(counts.copies, 2u);
  EXPECT_EQ(counts.copied_bytes, 120u);
  EXPECT_EQ(counts.waits, 2u);
  EXPECT_EQ(counts.launches, 0u);
  EXPECT_EQ(counts.allocated_bytes, 100u);
}

}  // namespace
}  // namespace fgnn
