#include "scheduler/status_page/status_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "scheduler/status_page/page_html.h"
#include "shared/base/json_text.h"
#include "tests/fakes/devices.h"

namespace fgnn {
namespace {

using nlohmann::ordered_json;
using testing::HasSubstr;
using testing::Not;

constexpr char kEvil[] = "<script>alert(1)</script>";

Job SomeJob() {
  Job job;
  job.id = "20260101-000000-abcd";
  job.options.name = kEvil;
  job.state = JobState::kRunning;
  job.progress.loss = 0.1 + 0.2;
  job.progress.epochs = 10;
  job.progress.epochs_done = 3;
  job.progress.valid.accuracy = 0.7;
  return job;
}

TEST(StatusJsonTest, NumbersAreThoseOfTheJob) {
  const ordered_json json =
      ordered_json::parse(JsonText(JobDetailsToJson(SomeJob())));
  EXPECT_EQ(json["state"], "running");
  EXPECT_EQ(json["name"], kEvil);
  EXPECT_EQ(json["progress"]["loss"].get<double>(), 0.1 + 0.2);
  EXPECT_EQ(json["progress"]["epochs_done"], 3);
  EXPECT_EQ(json["progress"]["valid"], ordered_json({{"accuracy", 0.7}}));
  EXPECT_TRUE(json["progress"]["test"].empty());
}

TEST(StatusJsonTest, DetailsHaveThePartsOfBatches) {
  Job job = SomeJob();
  EXPECT_EQ(JobDetailsToJson(job)["parts"], 1);
  JobSpec spec;
  spec.training.parts = 4;
  job.spec = std::make_shared<const JobSpec>(spec);
  EXPECT_EQ(JobDetailsToJson(job)["parts"], 4);
}

TEST(StatusJsonTest, TextsAreBoundedAndPrintable) {
  Job job = SomeJob();
  job.options.name = "\xff\x1b[2J\n";
  job.error = absl::InternalError(std::string(100'000, 'x'));
  job.devices.assign(10'000, Dev("cpu:0"));
  job.progress.loss = std::numeric_limits<double>::quiet_NaN();
  const std::string text = JsonText(JobToJson(job));
  EXPECT_LT(text.size(), 4'000U);
  const ordered_json json = ordered_json::parse(text);
  EXPECT_EQ(json["name"], R"(\xff\x1b[2J\n)");
  EXPECT_TRUE(json["progress"]["loss"].is_null());
}

TEST(StatusJsonTest, HostsHaveAStateAndLinks) {
  MemberView member;
  member.facts.name = "host1";
  member.facts.devices = {Dev("cpu:0")};
  member.job_id = "job";
  std::vector<MemberView> members(3, member);
  members[1].is_lost = true;
  members[1].silent_seconds = 7;
  members[2].is_lost = members[2].has_left = true;
  const ordered_json hosts = HostsToJson(members);
  EXPECT_EQ(hosts[0]["name"], "host1");
  EXPECT_EQ(hosts[0]["devices"], ordered_json({"cpu:0"}));
  EXPECT_EQ(hosts[0]["job_id"], "job");
  EXPECT_EQ(hosts[0]["state"], "here");
  EXPECT_EQ(hosts[1]["state"], "silent");
  EXPECT_EQ(hosts[1]["silent_seconds"], 7);
  EXPECT_EQ(hosts[2]["state"], "left");
  const ordered_json links = LinksToJson(
      {{.from = "head",
        .to = "host1",
        .link = {.round_trip_seconds = 0.25, .clock_offset_seconds = -1}},
       {.from = "host1", .to = "head", .error = kEvil}});
  EXPECT_EQ(links[0]["to"], "host1");
  EXPECT_EQ(links[0]["round_trip_ms"], 250);
  EXPECT_EQ(links[0]["clock_offset_ms"], -1000);
  EXPECT_EQ(links[1]["error"], kEvil);
}

TEST(StatusJsonTest, TheTableOfThePageShowsMarkupAsText) {
  const std::string html = PageHtml("<p><!--jobs--></p>", {SomeJob()});
  EXPECT_THAT(html, HasSubstr("&lt;script&gt;alert(1)&lt;/script&gt;"));
  EXPECT_THAT(html, Not(HasSubstr("<script>")));
  EXPECT_THAT(html, HasSubstr("<td>3 of 10</td>"));
  EXPECT_EQ(HtmlText("<a href='x' id=\"&\">"),
            "&lt;a href=&#39;x&#39; id=&quot;&amp;&quot;&gt;");
}

}  // namespace
}  // namespace fgnn
