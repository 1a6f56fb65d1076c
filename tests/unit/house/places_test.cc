// Where text becomes a value: a device is parsed where a flag or a message is
// read, and a job's spec where it arrives. From there on both are values.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <string>
#include <vector>

namespace fgnn {
namespace {

namespace fs = std::filesystem;

// Returns the product's sources that call a function of `calls`, but not those
// whose path begins with one of `allowed`.
std::vector<std::string> CallsOutside(const std::regex& calls,
                                      const std::regex& allowed) {
  const char* root = std::getenv("FGNN_SOURCE_DIR");
  if (root == nullptr) return {"set FGNN_SOURCE_DIR to the root of the tree"};
  std::vector<std::string> found;
  for (const char* const room :
       {"shared", "sampler_service", "trainer_service", "scheduler", "tools"}) {
    for (const auto& entry :
         fs::recursive_directory_iterator(fs::path(root) / room)) {
      const std::string path = fs::relative(entry.path(), root).string();
      if (entry.path().extension() != ".cc" ||
          std::regex_search(path, allowed)) {
        continue;
      }
      std::ifstream file(entry.path());
      const std::string text((std::istreambuf_iterator<char>(file)),
                             std::istreambuf_iterator<char>());
      if (std::regex_search(text, calls)) found.push_back(path);
    }
  }
  return found;
}

TEST(PlacesTest, ADeviceIsParsedWhereAFlagOrAMessageIsRead) {
  EXPECT_THAT(
      CallsOutside(
          std::regex(R"(\b(ParseDevice|ParseDeviceName|ParseCpuDevice)\()"),
          std::regex(R"(^shared/(config|rpc|device/device\.cc)|^scheduler/rpc/)"
                     R"(|^tools/fgnn/|^[a-z_]+/(main|commands)/)")),
      testing::IsEmpty());
}

TEST(PlacesTest, ASpecIsReadByItsFirstProcessTheStoreAndADaemon) {
  EXPECT_THAT(
      CallsOutside(
          std::regex(R"(\bSpecOfBytes\(|\bReadSpec\()"),
          std::regex(R"(^shared/config/|^shared/rpc/executor_proto\.cc)"
                     R"(|^scheduler/store/job_store\.cc|/rpc/profile_json\.cc)"
                     R"(|^scheduler/rpc/members/member_proto\.cc)")),
      testing::IsEmpty());
}

}  // namespace
}  // namespace fgnn
