#include "trainer_service/exchange/first_weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "tests/fakes/status_matchers.h"
#include "tests/unit/shared/queue/segment_for_tests.h"
#include "tests/unit/trainer_service/exchange/fake_host_links.h"

namespace fgnn {
namespace {

constexpr uint64_t kVersion = 2;
constexpr OwnerIndex kTrainer{2};
constexpr OwnerIndex kExchange{3};

// Links that change what comes.
class ChangingLinks final : public HostLinks {
 public:
  explicit ChangingLinks(const std::vector<FakeFarHost>* hosts)
      : links_(1, hosts, {}) {}

  absl::StatusOr<std::unique_ptr<EntryStream>> Ask(
      uint32_t host, uint64_t version,
      const std::vector<BatchPart>& tasks) override {
    return links_.Ask(host, version, tasks);
  }
  absl::Status CopyWeights(uint32_t host, uint64_t version,
                           TakeWeights take) override {
    return links_.CopyWeights(host, version, [&](const WeightsPart& part) {
      WeightsPart changed = part;
      if (change) change(changed);
      return take(changed);
    });
  }
  absl::StatusOr<LinkQuality> Probe(
      uint32_t host, const std::function<bool()>& is_stopped) override {
    return links_.Probe(host, is_stopped);
  }

  std::function<void(WeightsPart& part)> change;

 private:
  FakeHostLinks links_;
};

// Host 0 has the weights of kVersion once the test publishes them, host 1 needs
// them.
class FirstWeightsTest : public testing::Test {
 protected:
  static SegmentOptions Options() {
    SegmentOptions options = SmallOptions();
    options.first_version = kVersion;
    return options;
  }

  void Publish() {
    GradientBoard board(far_.get(), kTrainer);
    std::optional<StepLease> lease = board.TryLease();
    ASSERT_TRUE(lease.has_value());
    std::iota(lease->new_weights().begin(), lease->new_weights().end(), 1.0F);
    std::iota(lease->new_optimizer_state().begin(),
              lease->new_optimizer_state().end(), 100.0F);
    FGNN_ASSERT_OK(std::move(*lease).Publish());
  }

  absl::Status Fetch(bool is_stopped = false) {
    return FetchFirstWeights(near_.get(), kExchange, &links_, /*host=*/0,
                             [is_stopped] { return is_stopped; });
  }

  // Whether host 1 has the weights of host 0.
  bool HasTheSame() {
    const GradientBoard here(near_.get(), kNoOwner);
    const GradientBoard there(far_.get(), kNoOwner);
    return here.version() == kVersion &&
           here.weights(kVersion) == there.weights(kVersion) &&
           here.optimizer_state(kVersion) == there.optimizer_state(kVersion);
  }

  const std::unique_ptr<Segment> far_ = MakeSegment(Options());
  const std::unique_ptr<Segment> near_ = MakeSegment(Options());
  const std::vector<FakeFarHost> hosts_ = {{far_.get(), nullptr}};
  ChangingLinks links_{&hosts_};
};

TEST_F(FirstWeightsTest, AreThoseOfTheOtherHost) {
  EXPECT_TRUE(NeedsFirstWeights(near_.get()));
  Publish();
  FGNN_ASSERT_OK(Fetch());
  EXPECT_TRUE(HasTheSame());
  EXPECT_FALSE(NeedsFirstWeights(near_.get()));
  FGNN_ASSERT_OK(Fetch());
}

TEST_F(FirstWeightsTest, AJobThatBeginsNeedsNone) {
  EXPECT_FALSE(NeedsFirstWeights(MakeSegment(SmallOptions()).get()));
}

// Else a trainer that loads a checkpoint could not publish it.
TEST_F(FirstWeightsTest, TakeNoLeaseBeforeTheyCome) {
  EXPECT_THAT(Fetch(), Unavailable("not here yet"));
  Publish();
  EXPECT_TRUE(GradientBoard(near_.get(), kTrainer).TryLease().has_value());
}

TEST_F(FirstWeightsTest, AreNotPublishedDamaged) {
  Publish();
  for (const bool weights : {true, false}) {
    links_.change = [weights](WeightsPart& part) {
      if (!part.crcs.has_value()) return;
      ++(weights ? part.crcs->weights : part.crcs->optimizer_state);
    };
    EXPECT_THAT(Fetch(), Unavailable("damaged"));
    EXPECT_TRUE(NeedsFirstWeights(near_.get()));
  }
  links_.change = nullptr;
  FGNN_ASSERT_OK(Fetch());
  EXPECT_TRUE(HasTheSame());
}

TEST_F(FirstWeightsTest, OfAnotherSizeAreRefused) {
  Publish();
  links_.change = [](WeightsPart& part) { part.floats.remove_suffix(1); };
  EXPECT_THAT(Fetch(), InvalidArgument("fewer weights"));
  std::vector<float> more;
  links_.change = [&more](WeightsPart& part) {
    more.assign(part.floats.begin(), part.floats.end());
    more.push_back(0);
    part.floats = more;
  };
  EXPECT_THAT(Fetch(), InvalidArgument("more weights"));
  EXPECT_TRUE(NeedsFirstWeights(near_.get()));
}

TEST_F(FirstWeightsTest, ALinkThatEndsEarlyOrAStopPublishesNothing) {
  Publish();
  links_.change = [](WeightsPart& part) { part.crcs.reset(); };
  EXPECT_THAT(Fetch(), Unavailable("before their checksum"));
  EXPECT_THAT(Fetch(/*is_stopped=*/true), Cancelled("stopped"));
  EXPECT_TRUE(NeedsFirstWeights(near_.get()));
}

TEST_F(FirstWeightsTest, AVersionThatHasGoneIsNotSent) {
  Publish();
  EXPECT_THAT(FindWeights(far_.get(), kVersion - 1).status(),
              FailedPrecondition("not here any more"));
  FGNN_ASSERT_OK_AND_ASSIGN(const SentWeights sent,
                            FindWeights(far_.get(), kVersion));
  EXPECT_EQ(sent.weights.front(), 1.0F);
}

}  // namespace
}  // namespace fgnn
