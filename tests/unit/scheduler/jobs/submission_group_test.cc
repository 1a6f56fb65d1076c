#include "scheduler/jobs/submission_group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "shared/base/threads/notification.h"
#include "tests/fakes/status_matchers.h"

namespace fgnn {
namespace {

using testing::ElementsAre;
using testing::UnorderedElementsAre;

// Answers each with a job of the request's name, and keeps who came together.
class Commits {
 public:
  void SubmitAll(const std::vector<Submission*>& all) {
    std::vector<std::string> names;
    for (Submission* const one : all) {
      names.push_back(one->request->options.name);
      Job job;
      job.id = one->request->options.name;
      one->job = job;
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    names_.push_back(names);
  }
  std::vector<std::vector<std::string>> names() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return names_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::vector<std::string>> names_;
};

TEST(SubmissionGroupTest, WhoComesDuringACommitSharesTheNextOne) {
  SubmissionGroup group;
  Commits commits;
  Notification is_committing;
  Notification others_came;
  const auto submit = [&](const std::string& name, auto before) {
    const JobRequest request = {.options = {.name = name}};
    const auto job = group.Submit({.request = &request},
                                  [&](const std::vector<Submission*>& all) {
                                    before();
                                    commits.SubmitAll(all);
                                  });
    EXPECT_THAT(job, IsOk());
    EXPECT_EQ(job->id, name);
  };
  std::thread first([&] {
    submit("first", [&] {
      is_committing.Notify();
      EXPECT_TRUE(others_came.WaitUntil(DeadlineIn(std::chrono::seconds(60))));
    });
  });
  ASSERT_TRUE(is_committing.WaitUntil(DeadlineIn(std::chrono::seconds(60))));
  std::vector<std::thread> others;
  for (const char* name : {"second", "third"}) {
    others.emplace_back([&, name] { submit(name, [] {}); });
  }
  const Deadline deadline = DeadlineIn(std::chrono::seconds(60));
  while (group.num_waiting() < 2 && MonotonicClock::now() < deadline) {
    std::this_thread::yield();
  }
  EXPECT_EQ(commits.names().size(), 0U);
  others_came.Notify();
  first.join();
  for (std::thread& other : others) other.join();
  ASSERT_EQ(commits.names().size(), 2U);
  EXPECT_THAT(commits.names()[0], ElementsAre("first"));
  EXPECT_THAT(commits.names()[1], UnorderedElementsAre("second", "third"));
}

}  // namespace
}  // namespace fgnn
