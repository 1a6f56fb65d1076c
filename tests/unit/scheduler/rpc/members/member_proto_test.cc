#include "scheduler/rpc/members/member_proto.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fakes/devices.h"
#include "tests/fakes/status_matchers.h"

namespace fgnn {
namespace {

TEST(MemberProtoTest, WhatAHostFoundOutComesBack) {
  MemberReport report;
  report.facts = {.name = "host1",
                  .exchange = "host1:7071",
                  .version = "1.0",
                  .devices = Devs({"cpu:0"})};
  report.job = {.job_id = "job", .attempt = 3};
  report.job->findings = {
      .arithmetic = {.kind = "cores", .gradient_crc = 4, .step_crc = 5},
      .reaches = {{.host = 0, .error = "refused"},
                  {.host = 2,
                   .link = {.round_trip_seconds = 0.5,
                            .bytes_per_second = 6,
                            .clock_offset_seconds = -7}}},
      .batches_per_second = 8.5,
      .rows = HostRows{.book = 11, .owners = 4, .owner = 3}};
  ExecutorView sampler;
  sampler.placement = {.name = "sampler.0",
                       .role = ExecutorRole::kSampler,
                       .device = Dev("cpu:0")};
  sampler.state = DaemonState::kStandby;
  sampler.restarts = 8;
  report.job->executors = {
      .views = {sampler}, .restarts = 9, .clock_start = 10.5};
  FGNN_ASSERT_OK_AND_ASSIGN(const MemberReport back,
                            FromProto(ToProto(report)));
  ASSERT_TRUE(back.job.has_value());
  EXPECT_EQ(back.job->findings.arithmetic, report.job->findings.arithmetic);
  EXPECT_EQ(back.job->findings.reaches, report.job->findings.reaches);
  EXPECT_EQ(back.job->findings.batches_per_second, 8.5);
  EXPECT_EQ(back.job->findings.rows, report.job->findings.rows);
  const HostExecutors& executors = back.job->executors;
  EXPECT_EQ(executors.restarts, 9U);
  EXPECT_EQ(executors.clock_start, 10.5);
  ASSERT_EQ(executors.views.size(), 1U);
  EXPECT_EQ(executors.views[0].placement, sampler.placement);
  EXPECT_EQ(executors.views[0].state, DaemonState::kStandby);
  EXPECT_EQ(executors.views[0].restarts, 8U);
}

TEST(MemberProtoTest, RowsOfNoOwnerAreRefused) {
  v1::ReportMemberRequest message;
  message.set_exchange("host1:7071");
  message.mutable_job();
  EXPECT_EQ(FromProto(message)->job->findings.rows, std::nullopt);
  v1::HostRows& rows = *message.mutable_job()->mutable_rows();
  EXPECT_THAT(FromProto(message).status(), InvalidArgument("no owner"));
  rows.set_owners(65);
  EXPECT_THAT(FromProto(message).status(), InvalidArgument("no owner"));
  rows.set_owners(2);
  rows.set_owner(2);
  EXPECT_THAT(FromProto(message).status(), InvalidArgument("no owner"));
  rows.set_owner(1);
  EXPECT_THAT(FromProto(message), IsOk());
}

TEST(MemberProtoTest, AnExecutorWithoutARoleOrAStateIsRefused) {
  v1::ReportMemberRequest message;
  message.set_exchange("host1:7071");
  v1::Executor& executor = *message.mutable_job()->add_executors();
  executor.set_role("sampler");
  executor.set_device("cpu:0");
  executor.set_state("idle");
  EXPECT_THAT(FromProto(message), IsOk());
  executor.set_state("gone");
  EXPECT_THAT(FromProto(message).status(), InvalidArgument("'gone'"));
  executor.set_state("idle");
  executor.set_role("cook");
  EXPECT_THAT(FromProto(message).status(), InvalidArgument("cook"));
}

}  // namespace
}  // namespace fgnn
