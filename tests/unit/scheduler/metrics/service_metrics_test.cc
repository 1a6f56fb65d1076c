#include "scheduler/metrics/service_metrics.h"

#include "nlohmann/json.hpp"
#include "scheduler/members/member_table.h"
#include "tests/fakes/devices.h"
#include "tests/unit/scheduler/host/hosted_jobs_fixture.h"

namespace fgnn {
namespace {

using testing::HasSubstr;

// Answers for the daemon that is reached, and for no other.
class MetricCalls final : public StoppingCalls {
 public:
  absl::StatusOr<std::string> ReadMetrics(const std::string& socket,
                                          const Patience&) override {
    if (socket == "/run/sampler.0") return "fgnn_x 1\n";
    return absl::UnavailableError("it hangs");
  }
};

class ServiceMetricsTest : public HostedJobsTest {
 protected:
  void SetUp() override {
    StartHost(/*spawn=*/false);
    Run("sampler.0", "cpu:0");
    Run("trainer.0", "cpu:0");
    FGNN_ASSERT_OK_AND_ASSIGN(JobStore store,
                              JobStore::Open(temp_ / "jobs.sqlite"));
    FGNN_ASSERT_OK_AND_ASSIGN(table_,
                              JobTable::Open(std::move(store), temp_.path(),
                                             {.devices = Devs({"cpu:0"})}));
    metrics_.emplace("/state", MetricSources{.table = table_.get(),
                                             .host = host_.get(),
                                             .calls = &calls_of_metrics_,
                                             .totals = &totals_,
                                             .refusals = &refusals_});
  }

  MetricCalls calls_of_metrics_;
  RunTotals totals_;
  RefusalCounts refusals_;
  std::unique_ptr<JobTable> table_;
  std::optional<ServiceMetrics> metrics_;
};

TEST_F(ServiceMetricsTest, EveryDaemonIsATargetByTheNameOfItsService) {
  const HttpResponse answer = metrics_->Targets("localhost:9470");
  EXPECT_EQ(answer.content_type, "application/json");
  const nlohmann::json targets = nlohmann::json::parse(answer.body);
  ASSERT_EQ(targets.size(), 3U);
  EXPECT_EQ(targets[0], nlohmann::json::parse(R"({
    "targets": ["localhost:9470"],
    "labels": {"__metrics_path__": "/metrics", "service": "/state",
               "role": "scheduler"}})"));
  EXPECT_EQ(targets[1], nlohmann::json::parse(R"({
    "targets": ["localhost:9470"],
    "labels": {"__metrics_path__": "/metrics/daemon", "service": "/state",
               "role": "sampler", "__param_name": "sampler.0",
               "daemon": "sampler.0", "device": "cpu:0"}})"));
}

TEST_F(ServiceMetricsTest, ADaemonThatDoesNotAnswerIsDown) {
  const HttpResponse answers = metrics_->OfDaemon("sampler.0");
  EXPECT_EQ(answers.status, 200);
  EXPECT_EQ(answers.body, "fgnn_x 1\n");
  const HttpResponse hangs = metrics_->OfDaemon("trainer.0");
  EXPECT_EQ(hangs.status, 503);
  EXPECT_THAT(hangs.body, HasSubstr("trainer.0: it hangs"));
  EXPECT_EQ(metrics_->OfDaemon("trainer.1").status, 404);
  Kill("sampler.0");
  EXPECT_EQ(metrics_->OfDaemon("sampler.0").status, 404);
}

TEST_F(ServiceMetricsTest, TheSchedulerTellsOfWorkAndFaults) {
  BatchRecord record;
  record.num_edges = 30;
  record.num_input_nodes = 10;
  record.num_cache_hits = 4;
  record.num_matched = 1;
  record.extract = 0.5;
  totals_.AddBatch(record);
  totals_.AddBatch(record);
  totals_.AddEpoch(/*switches=*/3);
  totals_.AddFailedCheckpoint();
  refusals_.Add(RefusalReason::kRole);
  refusals_.SetExpiry(1'800'000'000);
  Run("exchange.0", "cpu:0");
  std::vector<ExecutorPlacement> placements = PairPerDevice(Devs({"cpu:0"}));
  placements.push_back({"exchange.0", ExecutorRole::kExchange, Dev("cpu:0")});
  FGNN_ASSERT_OK(Daemons("a").Want(placements, /*restarts=*/3, {}));
  const std::unique_ptr<JobSegment> segment = SegmentOf("a");
  Daemons("a").OpenSegment(segment.get());
  Kill("trainer.0");
  Kill("exchange.0");
  const std::string text = metrics_->OfScheduler().body;
  for (const char* line :
       {"fgnn_committed_epochs_total 1",
        "fgnn_committed_batches_total 2",
        "fgnn_committed_edges_total 60",
        "fgnn_committed_cache_hits_total 8",
        "fgnn_committed_cache_misses_total 12",
        "fgnn_committed_matched_rows_total 2",
        "fgnn_switches_total 3",
        "fgnn_committed_stage_seconds_total{stage=\"extract\"} 1",
        "fgnn_queue_slots{state=\"free\"} 4",
        "fgnn_queue_slots{state=\"ready\"} 0",
        "fgnn_daemons{device=\"cpu:0\",role=\"trainer\",state=\"dead\"} 1",
        "fgnn_daemon_restarts_total{role=\"trainer\"} 1",
        "fgnn_daemon_restarts_total{role=\"exchange\"} 1",
        "fgnn_faults_total{kind=\"daemon_died\"} 2",
        "fgnn_faults_total{kind=\"checkpoint_failed\"} 1",
        "fgnn_port_refusals_total{reason=\"role\"} 1",
        "fgnn_port_refusals_total{reason=\"too_many_connections\"} 0",
        "fgnn_port_certificate_expiry_seconds 1800000000",
        "fgnn_jobs{state=\"running\"} 0",
        "fgnn_jobs_ended_total{state=\"failed\"} 0"}) {
    EXPECT_THAT(text, HasSubstr(std::string(line) + "\n"));
  }
  Daemons("a").CloseSegment();
  EXPECT_THAT(metrics_->OfScheduler().body,
              HasSubstr("fgnn_queue_slots{state=\"free\"} 0\n"));
}

TEST_F(ServiceMetricsTest, AHostThatHasLeftIsNotUp) {
  MemberFacts facts;
  facts.name = "head";
  MemberTable members({.head = facts});
  facts.name = "host1";
  facts.generation = 1;
  const auto report = [&](bool leaves) {
    MemberReport said;
    said.facts = facts;
    said.leaves = leaves;
    FGNN_ASSERT_OK(members.Report(said, Deadline::min()).status());
  };
  const ServiceMetrics metrics("/state", {.table = table_.get(),
                                          .host = host_.get(),
                                          .calls = &calls_of_metrics_,
                                          .totals = &totals_,
                                          .refusals = &refusals_,
                                          .members = &members});
  report(false);
  members.pairs().Note({.from = "host1", .to = "head", .error = "refused"});
  const std::string page = metrics.OfScheduler().body;
  EXPECT_THAT(page, HasSubstr("fgnn_host_up{host=\"host1\"} 1"));
  EXPECT_THAT(page,
              HasSubstr("fgnn_host_reached{host=\"host1\",other=\"head\"} 0"));
  report(true);
  EXPECT_THAT(metrics.OfScheduler().body,
              HasSubstr("fgnn_host_up{host=\"host1\"} 0"));
}

}  // namespace
}  // namespace fgnn
