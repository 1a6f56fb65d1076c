// What proto/README.md promises to write down: every call and every code.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

namespace fgnn {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> LinesOf(const fs::path& path) {
  std::ifstream in(path);
  std::vector<std::string> lines;
  std::string line;
  while (std::getline(in, line)) lines.push_back(line);
  return lines;
}

std::set<std::string> CodesIn(const std::string& text) {
  static const std::regex pattern(
      "\\b(INVALID_ARGUMENT|NOT_FOUND|ALREADY_EXISTS|PERMISSION_DENIED|"
      "FAILED_PRECONDITION|RESOURCE_EXHAUSTED|UNIMPLEMENTED|UNAVAILABLE|"
      "DEADLINE_EXCEEDED|DATA_LOSS|ABORTED|INTERNAL|CANCELLED|OUT_OF_RANGE|"
      "UNAUTHENTICATED|UNKNOWN)\\b");
  std::set<std::string> codes;
  for (std::sregex_iterator i(text.begin(), text.end(), pattern), end; i != end;
       ++i) {
    codes.insert(i->str());
  }
  return codes;
}

// "DataLoss" is DATA_LOSS.
std::string CodeOf(const std::string& name) {
  std::string code;
  for (const char c : name) {
    const bool upper = c >= 'A' && c <= 'Z';
    if (upper && !code.empty()) code += '_';
    code += upper ? c : static_cast<char>(c - 'a' + 'A');
  }
  return code;
}

class ProtoTest : public testing::Test {
 protected:
  void SetUp() override {
    const char* root = std::getenv("FGNN_SOURCE_DIR");
    ASSERT_NE(root, nullptr) << "set FGNN_SOURCE_DIR to the root of the tree";
    root_ = root;
    const std::regex row(R"(^\| (`?)(\w+)`? \| (.*)$)");
    for (const std::string& line : LinesOf(root_ / "proto/README.md")) {
      std::smatch match;
      if (!std::regex_match(line, match, row)) continue;
      const bool is_code = match[1].length() == 0;
      (is_code ? codes_ : calls_)[match[2]] = match[3];
    }
  }

  // The comment above each call, in all files.
  std::map<std::string, std::string> CommentsOfCalls() const {
    std::map<std::string, std::string> comments;
    const std::regex comment(R"(^\s*//(.*)$)");
    const std::regex call(R"(^\s*rpc (\w+)\(.*$)");
    for (const auto& file : fs::directory_iterator(root_ / "proto/fgnn/v1")) {
      std::string above;
      for (const std::string& line : LinesOf(file.path())) {
        std::smatch match;
        if (std::regex_match(line, match, comment)) {
          above += match[1].str();
        } else {
          if (std::regex_match(line, match, call)) comments[match[1]] = above;
          above.clear();
        }
      }
    }
    return comments;
  }

  fs::path root_;
  std::map<std::string, std::string> calls_;  // Name and row of the README.
  std::map<std::string, std::string> codes_;
};

TEST_F(ProtoTest, EveryCallHasACommentAndARowWithItsCodes) {
  const std::map<std::string, std::string> comments = CommentsOfCalls();
  ASSERT_GT(comments.size(), 20U);
  for (const auto& [call, comment] : comments) {
    SCOPED_TRACE(call);
    EXPECT_NE(comment, "") << "say what it does, above it";
    ASSERT_TRUE(calls_.contains(call)) << "has no row in proto/README.md";
    const std::set<std::string> said = CodesIn(calls_[call]);
    for (const std::string& code : CodesIn(comment)) {
      // What is said of every call that names a job.
      if (code == "NOT_FOUND") continue;
      EXPECT_TRUE(said.contains(code)) << code;
    }
  }
  for (const auto& [call, row] : calls_) {
    EXPECT_TRUE(comments.contains(call)) << call << " is no call";
  }
}

TEST_F(ProtoTest, EveryCodeThatIsMadeIsWrittenDownAndNoOther) {
  std::map<std::string, std::string> made;
  const std::regex error(R"(absl::(\w+)Error\()");
  for (const char* room :
       {"scheduler", "shared", "sampler_service", "trainer_service"}) {
    for (const auto& entry : fs::recursive_directory_iterator(root_ / room)) {
      const fs::path extension = entry.path().extension();
      if (extension != ".cc" && extension != ".h") continue;
      for (const std::string& line : LinesOf(entry.path())) {
        for (std::sregex_iterator i(line.begin(), line.end(), error), end;
             i != end; ++i) {
          made[CodeOf((*i)[1])] = entry.path().string();
        }
      }
    }
  }
  ASSERT_GT(made.size(), 8U);
  for (const auto& [code, file] : made) {
    EXPECT_TRUE(codes_.contains(code))
        << file << " makes " << code << ", which proto/README.md has not";
  }
  for (const auto& [code, row] : codes_) {
    if (CodesIn(code).empty()) continue;  // The heading of a table.
    EXPECT_TRUE(made.contains(code)) << "nothing makes " << code;
  }
  for (const auto& [call, row] : calls_) {
    for (const std::string& code : CodesIn(row)) {
      EXPECT_TRUE(codes_.contains(code)) << call << " answers with " << code;
    }
  }
}

}  // namespace
}  // namespace fgnn
