#include "tools/fgnn/reports/exchange_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace fgnn {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr uint64_t kParameters = 250'000;  // A gradient is 1 MB.

// Three places on the service's own host, one on host1, none on host2.
std::vector<HostShare> Hosts() {
  return {{.name = "", .num_training = 1, .num_places = 3},
          {.name = "host1", .num_training = 1, .num_places = 1},
          {.name = "host2", .num_training = 2, .num_places = 0}};
}

void AddLink(v1::ListDevicesResponse& links, const std::string& from,
             const std::string& to, double bytes_per_second) {
  v1::HostLink& link = *links.add_links();
  link.set_from(from);
  link.set_to(to);
  link.set_bytes_per_second(bytes_per_second);
}

// Each host gets 100 MB/s of each other one.
v1::ListDevicesResponse Links() {
  v1::ListDevicesResponse links;
  links.set_host("head");
  const std::vector<std::string> names = {"head", "host1", "host2"};
  for (const std::string& from : names) {
    for (const std::string& to : names) {
      if (from != to) AddLink(links, from, to, 100e6);
    }
  }
  return links;
}

TEST(ExchangeReportTest, EachHostGetsWhatItLacksAndSendsToAllOthers) {
  const ExchangeReport report = ReportExchange(Hosts(), kParameters, 0.5, {});
  ASSERT_EQ(report.hosts.size(), 3U);
  EXPECT_EQ(report.batches_per_step, 4U);
  EXPECT_EQ(report.hosts[0].sent_bytes, 6'000'000U);
  EXPECT_EQ(report.hosts[0].received_bytes, 1'000'000U);
  EXPECT_EQ(report.hosts[1].sent_bytes, 2'000'000U);
  EXPECT_EQ(report.hosts[1].received_bytes, 3'000'000U);
  EXPECT_EQ(report.hosts[2].sent_bytes, 0U);
  EXPECT_EQ(report.hosts[2].received_bytes, 4'000'000U);
  EXPECT_EQ(report.seconds, std::nullopt);
  EXPECT_EQ(report.training_seconds, 1.5);
  EXPECT_THAT(ToText(report), HasSubstr("is known once a job has run"));
  EXPECT_TRUE(ToJson(report)["seconds"].is_null());
}

TEST(ExchangeReportTest, TheSlowestHostSetsTheTime) {
  const ExchangeReport report =
      ReportExchange(Hosts(), kParameters, 0.5, Links());
  EXPECT_DOUBLE_EQ(report.hosts[0].seconds.value(), 0.06);
  EXPECT_DOUBLE_EQ(report.hosts[1].seconds.value(), 0.03);
  EXPECT_DOUBLE_EQ(report.hosts[2].seconds.value(), 0.04);
  EXPECT_DOUBLE_EQ(report.seconds.value(), 0.06);
  EXPECT_FALSE(report.network_is_slower());
  EXPECT_THAT(ToText(report), Not(HasSubstr("lower model.hidden")));
}

TEST(ExchangeReportTest, TheDelayCounts) {
  v1::ListDevicesResponse links = Links();
  for (v1::HostLink& link : *links.mutable_links()) link.set_round_trip_ms(40);
  const ExchangeReport report =
      ReportExchange(Hosts(), kParameters, 0.5, links);
  EXPECT_DOUBLE_EQ(report.hosts[1].seconds.value(), 0.05);
}

TEST(ExchangeReportTest, ASlowNetworkIsToldWithWhatToChange) {
  const ExchangeReport report =
      ReportExchange(Hosts(), kParameters, 0.01, Links());
  EXPECT_TRUE(report.network_is_slower());
  EXPECT_THAT(ToText(report), HasSubstr("take 2.0 times as long"));
  EXPECT_THAT(ToText(report), HasSubstr("lower model.hidden"));
  EXPECT_TRUE(ToJson(report)["network_is_slower"].get<bool>());
}

// A direction in which nothing goes need not be known.
TEST(ExchangeReportTest, OneLinkThatIsNotKnownLeavesTheTimeOpen) {
  v1::ListDevicesResponse links = Links();
  links.mutable_links()->DeleteSubrange(0, 1);  // What head gets of host1.
  const ExchangeReport report =
      ReportExchange(Hosts(), kParameters, 0.5, links);
  EXPECT_EQ(report.hosts[0].seconds, std::nullopt);
  EXPECT_EQ(report.hosts[1].seconds, std::nullopt);
  EXPECT_TRUE(report.hosts[2].seconds.has_value());
  EXPECT_EQ(report.seconds, std::nullopt);
}

}  // namespace
}  // namespace fgnn
