// JobExecutors with the daemons of a host that is not this one: all that it
// asks of a host goes through JobDaemons.
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "scheduler/executors/job_daemons.h"
#include "scheduler/executors/job_executors.h"
#include "tests/fakes/devices.h"
#include "tests/unit/scheduler/host/hosted_jobs_fixture.h"

namespace fgnn {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

// A host somewhere else: its daemons are rows of a table.
struct FarHost {
  struct FarDaemon {
    ExecutorPlacement placement;
    bool is_gone = false;
    OwnerIndex owner = kNoOwner;
    bool attached = false;
  };

  FarDaemon& Get(const std::string& name) {
    return *std::find_if(daemons.begin(), daemons.end(), [&](const auto& far) {
      return far.placement.name == name;
    });
  }

  HostTerms terms = {.generation = 7, .interrupted_jobs = {}};
  std::vector<FarDaemon> daemons;
  absl::Status failure;
  std::optional<UniqueFd> returned;
  JobSegment* segment = nullptr;
  bool is_wanted = false;
  std::vector<std::string> killed;
};

class FarJobDaemons final : public JobDaemons {
 public:
  explicit FarJobDaemons(FarHost* host) : host_(host) {}
  ~FarJobDaemons() override { FarJobDaemons::Leave(); }

  const HostTerms& terms() const override { return host_->terms; }
  bool WaitForSurvivors(Deadline) override { return true; }
  std::optional<ReturnedMemory> TakeReturned() override {
    std::optional<UniqueFd> segment =
        std::exchange(host_->returned, std::nullopt);
    if (!segment.has_value()) return std::nullopt;
    return ReturnedMemory{.segment = *std::move(segment), .table = UniqueFd()};
  }

  absl::Status Want(const std::vector<ExecutorPlacement>& placements, uint32_t,
                    const std::vector<uint32_t>&) override {
    host_->is_wanted = true;
    host_->daemons.clear();
    for (const ExecutorPlacement& placement : placements) {
      host_->daemons.push_back({.placement = placement});
    }
    return absl::OkStatus();
  }
  void Leave() override { host_->is_wanted = false; }
  absl::Status Failure() const override { return host_->failure; }
  std::vector<std::string> Unregistered(Deadline) const override { return {}; }
  bool LoseUnregistered(const std::string&) override { return false; }
  uint32_t restarts() const override { return 0; }
  std::vector<ExecutorView> Views() const override { return {}; }
  MemoryUse MeasureMemory() override { return {}; }

  void OpenSegment(JobSegment* segment) override { host_->segment = segment; }
  void TakeOverSegment(JobSegment* segment) override {
    host_->segment = segment;
  }
  void CloseSegment() override { host_->segment = nullptr; }

  std::vector<DaemonAddress> Find(ExecutorRole role,
                                  bool attached) const override {
    std::vector<DaemonAddress> found;
    for (const FarHost::FarDaemon& far : host_->daemons) {
      if (far.placement.role == role && !far.is_gone &&
          (far.attached || !attached)) {
        found.push_back(AddressOf(far));
      }
    }
    return found;
  }
  std::vector<std::string> Attachable() const override {
    std::vector<std::string> names;
    for (const FarHost::FarDaemon& far : host_->daemons) {
      if (host_->segment != nullptr && !far.is_gone && far.owner == kNoOwner) {
        names.push_back(far.placement.name);
      }
    }
    return names;
  }
  absl::StatusOr<AttachTicket> BeginAttach(const std::string& name) override {
    FarHost::FarDaemon& far = host_->Get(name);
    far.owner = host_->segment->TakeOwner().value();
    return AttachTicket{AddressOf(far), far.owner, far.placement.role};
  }
  void EndAttach(const AttachTicket& ticket) override {
    host_->Get(ticket.daemon.name).attached = true;
  }
  std::vector<DaemonAddress> Attached() const override {
    std::vector<DaemonAddress> attached;
    for (const FarHost::FarDaemon& far : host_->daemons) {
      if (far.owner != kNoOwner) attached.push_back(AddressOf(far));
    }
    return attached;
  }
  void EndDetach(const DaemonAddress& daemon) override {
    host_->Get(daemon.name).owner = kNoOwner;
  }
  bool WaitUntilDetached(Deadline) const override { return Attached().empty(); }
  void Kill(const DaemonAddress& daemon, const std::string& why) override {
    host_->killed.push_back(absl::StrCat(daemon.name, " ", why));
    host_->Get(daemon.name) = {.placement = host_->Get(daemon.name).placement,
                               .is_gone = true};
  }
  bool WaitUntilGone(const DaemonAddress& daemon, Deadline) const override {
    return host_->Get(daemon.name).is_gone;
  }

 private:
  static DaemonAddress AddressOf(const FarHost::FarDaemon& far) {
    return {far.placement.name, 1, "far/" + far.placement.name};
  }

  FarHost* const host_;
};

class FarCalls final : public StoppingCalls {
 public:
  absl::Status Attach(const std::string& socket, const AttachJobRequest& call,
                      const Patience&) override {
    EXPECT_EQ(call.job_id, "a");
    attached.emplace_back(socket, call.scheduler_generation);
    return absl::OkStatus();
  }
  absl::Status Detach(const std::string& socket, const std::string& job_id,
                      const Patience&) override {
    EXPECT_EQ(job_id, "a");
    detached.push_back(socket);
    return absl::OkStatus();
  }
  absl::Status SaveCheckpoint(const std::string& socket,
                              const SaveCheckpointRequest&,
                              const Patience& patience) override {
    saved.push_back(socket);
    if (on_save) on_save(socket);
    if (socket == broken) return absl::UnavailableError("reset");
    return patience.keep_going();
  }

  std::vector<std::pair<std::string, uint64_t>> attached;
  std::vector<std::string> detached;
  std::vector<std::string> saved;
  std::function<void(const std::string&)> on_save;
  std::string broken;  // A socket that nobody answers at.
};

class SecondHostTest : public testing::Test {
 protected:
  std::unique_ptr<JobExecutors> MakeExecutors() {
    return std::make_unique<JobExecutors>(
        std::make_unique<FarJobDaemons>(&host_), &calls_,
        ExecutorsOfJob{
            .job_id = "a",
            .spec = WithRestarts(3),
            .placements =
                {{"sampler.0", ExecutorRole::kSampler, Dev("host1/cpu:0")},
                 {"trainer.0", ExecutorRole::kTrainer, Dev("host1/cpu:1")},
                 {"trainer.1", ExecutorRole::kTrainer, Dev("host1/cpu:2")}}},
        [] { return absl::OkStatus(); });
  }
  // Its daemons are attached.
  std::unique_ptr<JobExecutors> StartJob() {
    std::unique_ptr<JobExecutors> executors = MakeExecutors();
    EXPECT_THAT(executors->Start(), IsOk());
    EXPECT_THAT(executors->WaitUntilRegistered(), IsOk());
    EXPECT_THAT(executors->OpenSegment(SegmentOf("a")->options()), IsOk());
    EXPECT_THAT(executors->Tick(), IsOk());
    return executors;
  }
  static absl::Status Save(JobExecutors& executors) {
    return executors.calls().SaveCheckpoint("checkpoint", FolderId(),
                                            /*version=*/1, /*epochs_done=*/1,
                                            "state");
  }

  FarHost host_;
  FarCalls calls_;
};

TEST_F(SecondHostTest, ItsDaemonsAreAttachedCalledAndLetGo) {
  const std::unique_ptr<JobExecutors> executors = StartJob();
  EXPECT_TRUE(host_.is_wanted);
  EXPECT_EQ(host_.segment, &executors->segment());
  EXPECT_THAT(calls_.attached,
              ElementsAre(Pair("far/sampler.0", 7), Pair("far/trainer.0", 7),
                          Pair("far/trainer.1", 7)));
  EXPECT_THAT(Save(*executors), IsOk());
  EXPECT_THAT(calls_.saved, ElementsAre("far/trainer.0"));
  executors->Release();
  EXPECT_THAT(calls_.detached,
              ElementsAre("far/sampler.0", "far/trainer.0", "far/trainer.1"));
  for (const FarHost::FarDaemon& far : host_.daemons) {
    EXPECT_EQ(far.owner, kNoOwner) << far.placement.name;
  }
  EXPECT_THAT(host_.killed, IsEmpty());
  EXPECT_EQ(host_.segment, nullptr);
  EXPECT_FALSE(host_.is_wanted);
}

TEST_F(SecondHostTest, ACallThatIsLostIsMadeAgainOfAnotherDaemon) {
  const std::unique_ptr<JobExecutors> executors = StartJob();
  calls_.broken = "far/trainer.0";
  calls_.on_save = [this](const std::string& socket) {
    if (socket == calls_.broken) host_.Get("trainer.0").is_gone = true;
  };
  EXPECT_THAT(Save(*executors), IsOk());
  EXPECT_THAT(calls_.saved, ElementsAre("far/trainer.0", "far/trainer.1"));
  EXPECT_THAT(host_.killed, IsEmpty());
}

TEST_F(SecondHostTest, ADaemonThatCannotBeReachedTwiceIsKilled) {
  const std::unique_ptr<JobExecutors> executors = StartJob();
  calls_.broken = "far/trainer.0";
  EXPECT_THAT(Save(*executors), IsOk());
  EXPECT_THAT(calls_.saved,
              ElementsAre("far/trainer.0", "far/trainer.0", "far/trainer.1"));
  EXPECT_THAT(host_.killed, ElementsAre("trainer.0 cannot be reached"));
}

TEST_F(SecondHostTest, ItsFailureEndsACall) {
  const std::unique_ptr<JobExecutors> executors = StartJob();
  calls_.on_save = [this](const std::string&) {
    host_.failure = absl::InternalError("it died too often");
  };
  EXPECT_THAT(Save(*executors), StatusIs(absl::StatusCode::kInternal,
                                         HasSubstr("it died too often")));
}

// The job did not take its daemons over.
TEST_F(SecondHostTest, AKeptSegmentIsLetGoOfWithoutWant) {
  const std::unique_ptr<JobSegment> before = SegmentOf("a");
  host_.returned = UniqueFd(::dup(before->fd()));
  host_.daemons = {
      {.placement = {"trainer.0", ExecutorRole::kTrainer, Dev("host1/cpu:1")},
       .owner = OwnerIndex{3},
       .attached = true}};
  const std::unique_ptr<JobExecutors> executors = MakeExecutors();
  FGNN_ASSERT_OK_AND_ASSIGN(JobSegment* const kept,
                            executors->FindKeptSegment());
  ASSERT_NE(kept, nullptr);
  EXPECT_FALSE(host_.is_wanted);
  executors->Release();
  EXPECT_TRUE(before->queue().stopped());
  EXPECT_THAT(calls_.detached, ElementsAre("far/trainer.0"));
}

}  // namespace
}  // namespace fgnn
