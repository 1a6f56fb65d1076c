// A job with cores that sample beside a GPU: what is measured on which device.
#include <map>
#include <mutex>
#include <string>

#include "tests/fakes/devices.h"
#include "tests/unit/scheduler/run/job_run_fixture.h"

namespace fgnn {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

// The GPU samples too, and trains.
class MixedDevicesTest : public JobRunTest {
 protected:
  MixedDevicesTest() {
    spec_.training.evaluate_every = 0;
    spec_.devices = Devs({"cuda:0", "cpu:0"});
    spec_.samplers = 2;
    calls_.AddSampler("sampler.1");
    StartHost({});
    RegisterHere("sampler.0", "", kNoOwner, "cpu:0");
    RegisterHere("sampler.1", "", kNoOwner, "cuda:0");
    RegisterHere("trainer.0", "", kNoOwner, "cuda:0");
    calls_.profile_on = [this](const std::string& sampler) {
      return Profile(sampler);
    };
  }

  virtual absl::Status Profile(const std::string& sampler) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const int times = ++profiled_[sampler];
    if (sampler == failing_ && times == 1) return failure_;
    return absl::OkStatus();
  }

  std::mutex mutex_;
  std::map<std::string, int> profiled_;  // How often each sampler measured.
  std::string failing_;                  // Sampler that fails once.
  absl::Status failure_;
};

TEST_F(MixedDevicesTest, ASamplerOfEachKindMeasures) {
  EXPECT_EQ(Run().state, JobState::kCompleted);
  EXPECT_THAT(profiled_,
              ElementsAre(Pair("sampler.0", 1), Pair("sampler.1", 1)));
  ExpectEveryBatchOnce();
}

TEST_F(MixedDevicesTest, ALostSamplersKindIsMeasuredAgain) {
  failing_ = "sampler.1";
  failure_ = absl::UnavailableError("the socket is closed");
  EXPECT_EQ(Run().state, JobState::kCompleted);
  EXPECT_THAT(profiled_,
              ElementsAre(Pair("sampler.0", 1), Pair("sampler.1", 2)));
}

TEST_F(MixedDevicesTest, WhatAGpuLacksFailsTheJobWithItsName) {
  failing_ = "sampler.1";
  failure_ = absl::ResourceExhaustedError("cuda:0 has 1 KiB left");
  const Job job = Run();
  EXPECT_EQ(job.state, JobState::kFailed);
  EXPECT_THAT(job.error, StatusIs(absl::StatusCode::kResourceExhausted,
                                  HasSubstr("sampler.1: cuda:0 has 1 KiB")));
}

class GpuAloneTest : public JobRunTest {
 protected:
  GpuAloneTest() {
    spec_.training.evaluate_every = 0;
    spec_.devices = Devs({"cuda:0"});
    StartHost({});
    RegisterHere("sampler.0", "", kNoOwner, "cuda:0");
    RegisterHere("trainer.0", "", kNoOwner, "cuda:0");
  }
};

TEST_F(GpuAloneTest, WhatAnAttachmentLacksIsToldAtOnce) {
  calls_.attaches = {absl::ResourceExhaustedError("cuda:0 has 1 KiB left")};
  const Job job = Run();
  EXPECT_EQ(job.state, JobState::kFailed);
  EXPECT_THAT(job.error, StatusIs(absl::StatusCode::kResourceExhausted,
                                  HasSubstr("cuda:0 has 1 KiB left")));
}

class SideBySideTest : public MixedDevicesTest {
 protected:
  // Answers once both samplers measure.
  absl::Status Profile(const std::string& sampler) override {
    (sampler == "sampler.0" ? cores_ : gpu_).Notify();
    Notification& other = sampler == "sampler.0" ? gpu_ : cores_;
    if (other.WaitUntil(DeadlineIn(std::chrono::seconds(60)))) {
      return MixedDevicesTest::Profile(sampler);
    }
    return absl::InternalError("the other one does not measure meanwhile");
  }

  Notification cores_;
  Notification gpu_;
};

TEST_F(SideBySideTest, BothKindsMeasureAtOnce) {
  const Job job = Run();
  EXPECT_EQ(job.state, JobState::kCompleted) << job.error;
}

}  // namespace
}  // namespace fgnn
