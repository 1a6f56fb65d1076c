#include "scheduler/store/job_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"

namespace fgnn {
namespace {

constexpr JobState kAll[] = {JobState::kQueued,    JobState::kPreparing,
                             JobState::kRunning,   JobState::kCancelling,
                             JobState::kCompleted, JobState::kFailed,
                             JobState::kCancelled, JobState::kPaused};

// Returns the steps of the first table of the README: in each row, each state
// of its first column to each state of its second.
std::set<std::pair<std::string, std::string>> StepsOfTheReadme() {
  const char* const root = std::getenv("FGNN_SOURCE_DIR");
  std::ifstream readme(std::filesystem::path(root == nullptr ? "" : root) /
                       "scheduler/jobs/README.md");
  std::set<std::pair<std::string, std::string>> steps;
  bool is_in_table = false;
  for (std::string line; std::getline(readme, line);) {
    const std::vector<std::string> cells = absl::StrSplit(line, " | ");
    if (line.starts_with("| from | to |")) is_in_table = true;
    if (is_in_table && line.empty()) break;
    if (!is_in_table || cells.size() != 5) continue;
    const std::string from = absl::AsciiStrToLower(cells[0].substr(2));
    for (const auto one : absl::StrSplit(from, ", ")) {
      for (const auto to :
           absl::StrSplit(absl::AsciiStrToLower(cells[1]), ", ")) {
        steps.emplace(one, to);
      }
    }
  }
  steps.erase({"from", "to"});
  steps.erase({"–", "queued"});  // The submission.
  return steps;
}

TEST(JobStateTest, TheStepsAreThoseOfTheReadmesTable) {
  std::set<std::pair<std::string, std::string>> steps;
  for (const JobState from : kAll) {
    for (const JobState to : kAll) {
      if (CanGo(from, to)) steps.emplace(NameOf(from), NameOf(to));
    }
  }
  EXPECT_THAT(StepsOfTheReadme(), testing::ContainerEq(steps));
}

TEST(JobStateTest, FromAFinalStateThereIsNoWay) {
  for (const JobState from : kAll) {
    for (const JobState to : kAll) {
      EXPECT_FALSE(IsFinal(from) && CanGo(from, to));
    }
  }
}

TEST(JobStateTest, NumbersThatAreNoStateAreNone) {
  for (const JobState state : kAll) {
    EXPECT_EQ(ParseJobState(static_cast<int64_t>(state)), state);
  }
  EXPECT_EQ(ParseJobState(0), std::nullopt);
  EXPECT_EQ(ParseJobState(9), std::nullopt);
  EXPECT_EQ(ParseJobState(-1), std::nullopt);
}

}  // namespace
}  // namespace fgnn
