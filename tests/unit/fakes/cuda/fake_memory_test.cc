// Memory of the fake runtime, also of several processes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

#include "shared/device/cuda/device_array.h"
#include "shared/device/cuda/pinned_range.h"
#include "shared/device/cuda/stream.h"
#include "tests/fakes/cuda/fake_cudart.h"
#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"
#include "tests/unit/simt/sanitizer.h"

namespace fgnn {
namespace {

using absl::StatusCode;
using simt::kSanitizer;
using simt::Sanitizer;
using testing::HasSubstr;

class FakeMemoryTest : public testing::Test {
 protected:
  void SetUp() override { simt::SetFakeDevice({}); }
  void TearDown() override { simt::SetFakeDevice({}); }
};

TEST_F(FakeMemoryTest, ADeviceHasItsBytesAndNoMore) {
  simt::SetFakeDevice({.memory_bytes = 1000});
  FGNN_ASSERT_OK_AND_ASSIGN(auto first, DeviceArray<char>::Make(600));
  EXPECT_THAT(DeviceArray<char>::Make(401).status(),
              StatusIs(StatusCode::kResourceExhausted));
  size_t free = 0, total = 0;
  ASSERT_EQ(cudaMemGetInfo(&free, &total), cudaSuccess);
  EXPECT_EQ(free, 400u);
  EXPECT_EQ(total, 1000u);
  EXPECT_EQ(DeviceBytesInArrays(), 600u);
  DeviceArray<char> moved = std::move(first);
  EXPECT_EQ(DeviceBytesInArrays(), 600u);
  moved = {};
  EXPECT_EQ(DeviceBytesInArrays(), 0u);
  EXPECT_THAT(DeviceArray<char>::Make(1000).status(), IsOk());
  EXPECT_EQ(simt::GetFakeCounts().allocated_bytes, 0u);
}

TEST_F(FakeMemoryTest, AnArrayThatNoAddressReachesIsRefused) {
  EXPECT_THAT(DeviceArray<uint64_t>::Make(UINT64_MAX / 4).status(),
              StatusIs(StatusCode::kResourceExhausted));
  FGNN_ASSERT_OK_AND_ASSIGN(const auto none, DeviceArray<uint64_t>::Make(0));
  EXPECT_EQ(none.get(), nullptr);
}

TEST_F(FakeMemoryTest, NewMemoryIsNoZeros) {
  FGNN_ASSERT_OK_AND_ASSIGN(const auto pinned, PinnedArray<uint32_t>::Make(3));
  EXPECT_THAT(pinned.span(), testing::Each(~0u));
}

TEST_F(FakeMemoryTest, ACopyHasToSayWhereItsEndsAre) {
  FGNN_ASSERT_OK_AND_ASSIGN(const CudaStream stream, CudaStream::Make());
  FGNN_ASSERT_OK_AND_ASSIGN(const auto device, DeviceArray<char>::Make(1));
  char byte = 0;
  EXPECT_EQ(cudaMemcpyAsync(&byte, device.get(), 1, cudaMemcpyHostToDevice,
                            stream.get()),
            cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpyAsync(&byte, device.get(), 1, cudaMemcpyDeviceToHost,
                            stream.get()),
            cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(stream.get()), cudaSuccess);
}

TEST_F(FakeMemoryTest, ARangeIsRegisteredOnceAndForItsLifetime) {
  std::vector<char> memory(100);
  char* const begin = memory.data();
  {
    FGNN_ASSERT_OK_AND_ASSIGN(
        const PinnedRange range,
        PinnedRange::Make(begin, begin + 50, PinnedRange::Access::kRead));
    EXPECT_EQ(range.bytes(), 50u);
    EXPECT_EQ(range.DevicePointer(), begin);
    EXPECT_THAT(
        PinnedRange::Make(begin + 49, begin + 60,
                          PinnedRange::Access::kReadWrite)
            .status(),
        StatusIs(StatusCode::kInternal, HasSubstr("cannot register 11 bytes")));
  }
  EXPECT_THAT(
      PinnedRange::Make(begin, begin + 100, PinnedRange::Access::kReadWrite)
          .status(),
      IsOk());
  EXPECT_THAT(
      PinnedRange::Make(begin, begin, PinnedRange::Access::kRead).status(),
      IsOk());
}

// Another process that has `bytes`, until it is killed.
pid_t ForkHolder(const simt::FakeDevice& device, size_t bytes) {
  int ready[2];
  EXPECT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    simt::SetFakeDevice(device);
    const auto held = DeviceArray<char>::Make(bytes);
    const char ok = held.ok() ? 1 : 0;
    EXPECT_EQ(::write(ready[1], &ok, 1), 1);
    for (;;) ::pause();
  }
  char ok = 0;
  EXPECT_EQ(::read(ready[0], &ok, 1), 1);
  EXPECT_EQ(ok, 1);
  ::close(ready[0]);
  ::close(ready[1]);
  return child;
}

TEST_F(FakeMemoryTest, ProcessesShareADeviceAndTheDeadHaveNothing) {
  const TempFolder folder;
  const simt::FakeDevice device = {
      .memory_bytes = 100, .shared_accounts = folder.path() / "accounts"};
  simt::SetFakeDevice(device);
  const pid_t holder = ForkHolder(device, 70);
  EXPECT_THAT(DeviceArray<char>::Make(60).status(),
              StatusIs(StatusCode::kResourceExhausted));
  size_t free = 0, total = 0;
  ASSERT_EQ(cudaMemGetInfo(&free, &total), cudaSuccess);
  EXPECT_EQ(free, 30u);

  ASSERT_EQ(::kill(holder, SIGKILL), 0);
  siginfo_t gone = {};
  // It is dead, but nobody has asked for its end.
  ASSERT_EQ(
      ::waitid(P_PID, static_cast<id_t>(holder), &gone, WEXITED | WNOWAIT), 0);
  EXPECT_THAT(DeviceArray<char>::Make(60).status(), IsOk());
  ASSERT_EQ(::waitpid(holder, nullptr, 0), holder);
}

TEST_F(FakeMemoryTest, EveryDeviceHasMemoryOfItsOwn) {
  const TempFolder folder;
  for (const std::string& accounts :
       {std::string(), std::string(folder.path() / "accounts")}) {
    SCOPED_TRACE(accounts);
    simt::SetFakeDevice(
        {.count = 2, .memory_bytes = 100, .shared_accounts = accounts});
    FGNN_ASSERT_OK_AND_ASSIGN(auto of_first, DeviceArray<char>::Make(70));
    int device = 77;
    ASSERT_EQ(cudaSetDevice(1), cudaSuccess);
    ASSERT_EQ(cudaGetDevice(&device), cudaSuccess);
    EXPECT_EQ(device, 1);
    FGNN_ASSERT_OK_AND_ASSIGN(const auto of_second,
                              DeviceArray<char>::Make(60));
    EXPECT_THAT(DeviceArray<char>::Make(41).status(),
                StatusIs(StatusCode::kResourceExhausted));
    of_first = {};  // Of the device that is not the thread's.
    size_t free = 0, total = 0;
    ASSERT_EQ(cudaMemGetInfo(&free, &total), cudaSuccess);
    EXPECT_EQ(free, 40u);
    ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
    EXPECT_THAT(DeviceArray<char>::Make(100).status(), IsOk());
  }
}

TEST(FakeMemoryDeathTest, TheHostMayNotTouchDeviceMemory) {
  if (kSanitizer != Sanitizer::kAddress) {
    GTEST_SKIP() << "needs AddressSanitizer: the preset asan";
  }
  FGNN_ASSERT_OK_AND_ASSIGN(const auto device, DeviceArray<char>::Make(1));
  EXPECT_DEATH(device.get()[0] = 1, "use-after-poison");
}

TEST(FakeMemoryDeathTest, WhatItDidNotAllocateEndsTheProgram) {
  char byte = 0;
  EXPECT_DEATH(cudaFree(&byte), "frees what it did not allocate");
}

}  // namespace
}  // namespace fgnn
