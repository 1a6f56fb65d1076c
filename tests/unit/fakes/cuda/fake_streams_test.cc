// Order of the fake runtime's streams.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "shared/device/cuda/device_array.h"
#include "shared/device/cuda/stream.h"
#include "tests/fakes/cuda/fake_cudart.h"
#include "tests/fakes/status_matchers.h"

namespace fgnn {
namespace {

class FakeStreamsTest : public testing::Test {
 protected:
  void SetUp() override { simt::SetFakeDevice({}); }

  static void Set(char* at, int value, const CudaStream& stream) {
    ASSERT_EQ(cudaMemsetAsync(at, value, 1, stream.get()), cudaSuccess);
  }
};

TEST_F(FakeStreamsTest, NothingRunsBeforeAWait) {
  FGNN_ASSERT_OK_AND_ASSIGN(const CudaStream stream, CudaStream::Make());
  FGNN_ASSERT_OK_AND_ASSIGN(const auto array, PinnedArray<char>::Make(1));
  array.get()[0] = 1;
  Set(array.get(), 2, stream);
  EXPECT_EQ(array.get()[0], 1);
  ASSERT_EQ(cudaStreamSynchronize(stream.get()), cudaSuccess);
  EXPECT_EQ(array.get()[0], 2);

  simt::SetFakeDevice({.lazy = false});
  Set(array.get(), 3, stream);
  EXPECT_EQ(array.get()[0], 3);
}

// The copy of one stream reads what another one writes.
TEST_F(FakeStreamsTest, AnEventThatIsLeftOutIsSeenWithSomeSeed) {
  const auto wrong_results = [](bool with_event) {
    int wrong = 0;
    for (uint64_t seed = 0; seed < 10; ++seed) {
      simt::SetFakeDevice({.seed = seed});
      const CudaStream writer = CudaStream::Make().value();
      const CudaStream reader = CudaStream::Make().value();
      CudaEvent written = CudaEvent::Make().value();
      const auto words = PinnedArray<char>::Make(2).value();
      words.get()[0] = 1;
      Set(words.get(), 5, writer);
      EXPECT_THAT(written.Record(writer), IsOk());
      if (with_event) {
        EXPECT_THAT(written.HoldBack(reader), IsOk());
      }
      EXPECT_EQ(cudaMemcpyAsync(words.get() + 1, words.get(), 1,
                                cudaMemcpyHostToHost, reader.get()),
                cudaSuccess);
      EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
      wrong += words.get()[1] != 5 ? 1 : 0;
    }
    return wrong;
  };
  EXPECT_GT(wrong_results(false), 0);
  EXPECT_EQ(wrong_results(true), 0);
}

TEST_F(FakeStreamsTest, APinnedBufferThatChangesTooEarlyIsSeen) {
  FGNN_ASSERT_OK_AND_ASSIGN(const CudaStream stream, CudaStream::Make());
  FGNN_ASSERT_OK_AND_ASSIGN(const auto pinned, PinnedArray<char>::Make(2));
  FGNN_ASSERT_OK_AND_ASSIGN(const auto device, DeviceArray<char>::Make(2));
  char pageable = 1;
  pinned.get()[0] = 1;
  const auto copy = [&](void* to, const void* from, cudaMemcpyKind kind) {
    ASSERT_EQ(cudaMemcpyAsync(to, from, 1, kind, stream.get()), cudaSuccess);
  };
  copy(device.get(), pinned.get(), cudaMemcpyHostToDevice);
  copy(device.get() + 1, &pageable, cudaMemcpyHostToDevice);
  pinned.get()[0] = 9;
  pageable = 9;
  copy(pinned.get(), device.get(), cudaMemcpyDeviceToHost);
  copy(pinned.get() + 1, device.get() + 1, cudaMemcpyDeviceToHost);
  ASSERT_EQ(cudaStreamSynchronize(stream.get()), cudaSuccess);
  EXPECT_EQ(pinned.get()[0], 9) << "read when its turn came";
  EXPECT_EQ(pinned.get()[1], 1) << "staged at the call";
}

TEST_F(FakeStreamsTest, EventsHaveTheTimeOfTheirTurn) {
  FGNN_ASSERT_OK_AND_ASSIGN(const CudaStream stream, CudaStream::Make());
  FGNN_ASSERT_OK_AND_ASSIGN(CudaEvent from,
                            CudaEvent::Make(CudaEvent::Times::kYes));
  FGNN_ASSERT_OK_AND_ASSIGN(CudaEvent to,
                            CudaEvent::Make(CudaEvent::Times::kYes));
  FGNN_ASSERT_OK_AND_ASSIGN(const CudaEvent timeless, CudaEvent::Make());
  ASSERT_THAT(from.Record(stream), IsOk());
  ASSERT_THAT(to.Record(stream), IsOk());
  EXPECT_FALSE(to.MillisecondsSince(from).ok()) << "neither has come";
  ASSERT_THAT(to.Wait(DeadlineIn(std::chrono::minutes(1))), IsOk());
  FGNN_ASSERT_OK_AND_ASSIGN(const float milliseconds,
                            to.MillisecondsSince(from));
  EXPECT_GE(milliseconds, 0);
  EXPECT_FALSE(to.MillisecondsSince(timeless).ok());
}

TEST_F(FakeStreamsTest, AWaitKeepsItsDeadline) {
  FGNN_ASSERT_OK_AND_ASSIGN(const CudaStream stream, CudaStream::Make());
  FGNN_ASSERT_OK_AND_ASSIGN(const auto array, PinnedArray<char>::Make(1));
  FGNN_ASSERT_OK_AND_ASSIGN(CudaEvent event, CudaEvent::Make());
  EXPECT_THAT(event.Wait(DeadlineIn(std::chrono::seconds(0))), IsOk())
      << "nothing is marked";
  for (int i = 0; i < 10; ++i) Set(array.get(), i, stream);
  ASSERT_THAT(event.Record(stream), IsOk());
  // Each question of the wait lets the fake do one piece of work.
  EXPECT_THAT(event.Wait(DeadlineIn(std::chrono::seconds(0))),
              StatusIs(absl::StatusCode::kDeadlineExceeded));
  EXPECT_THAT(event.Wait(DeadlineIn(std::chrono::minutes(1))), IsOk());
  EXPECT_EQ(array.get()[0], 9);
}

TEST_F(FakeStreamsTest, AnEventMayEndBeforeTheWorkThatWaitsForIt) {
  FGNN_ASSERT_OK_AND_ASSIGN(const CudaStream first, CudaStream::Make());
  FGNN_ASSERT_OK_AND_ASSIGN(const CudaStream second, CudaStream::Make());
  FGNN_ASSERT_OK_AND_ASSIGN(const auto array, PinnedArray<char>::Make(1));
  {
    FGNN_ASSERT_OK_AND_ASSIGN(CudaEvent event, CudaEvent::Make());
    Set(array.get(), 1, first);
    ASSERT_THAT(event.Record(first), IsOk());
    ASSERT_THAT(event.HoldBack(second), IsOk());
  }
  Set(array.get(), 2, second);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(array.get()[0], 2);
}

TEST(FakeStreamsDeathTest, WorkForTheNullStreamEndsTheProgram) {
  char byte = 0;
  EXPECT_DEATH(cudaMemsetAsync(&byte, 1, 1, nullptr),
               "work for the null stream");
}

}  // namespace
}  // namespace fgnn
