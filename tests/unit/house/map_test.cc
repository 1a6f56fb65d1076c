// What READMEs say of the house: every room has a line in its parent's README,
// and numbers that a README repeats are those of the code.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "shared/minibatch/task.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::IsEmpty;

class MapTest : public testing::Test {
 protected:
  void SetUp() override {
    const char* root = std::getenv("FGNN_SOURCE_DIR");
    ASSERT_NE(root, nullptr) << "set FGNN_SOURCE_DIR to the root of the tree";
    root_ = root;
  }

  std::string Readme(const fs::path& folder) const {
    std::ifstream in(root_ / folder / "README.md");
    EXPECT_TRUE(in.is_open()) << folder / "README.md";
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
  }

  // Folders below `part` with a header or a source, relative to the root.
  std::vector<fs::path> RoomsBelow(const fs::path& part) const {
    std::set<fs::path> rooms;
    for (const auto& file : fs::recursive_directory_iterator(root_ / part)) {
      const fs::path extension = file.path().extension();
      if (extension != ".h" && extension != ".cc") continue;
      const fs::path room = file.path().parent_path().lexically_relative(root_);
      if (room != part) rooms.insert(room);
    }
    return {rooms.begin(), rooms.end()};
  }

  fs::path root_;
};

// A folder with code is a room. The nearest folder above that has a README has
// to name it, as a word of code or as the beginning of a path.
TEST_F(MapTest, EveryRoomIsNamedInTheNearestReadmeAbove) {
  std::vector<std::string> missing;
  for (const char* part :
       {"shared", "sampler_service", "trainer_service", "scheduler", "tools"}) {
    for (const fs::path& room : RoomsBelow(part)) {
      fs::path above = room.parent_path();
      while (!fs::exists(root_ / above / "README.md") && !above.empty()) {
        above = above.parent_path();
      }
      const std::string readme = Readme(above);
      const std::string name = room.lexically_relative(above).string();
      if (readme.find(absl::StrCat("`", name, "`")) == std::string::npos &&
          readme.find(absl::StrCat("`", name, "/")) == std::string::npos) {
        missing.push_back(absl::StrCat(room.string(), " in ", above.string()));
      }
    }
  }
  EXPECT_THAT(missing, IsEmpty());
}

TEST_F(MapTest, TheTasksLayoutIsTheCodes) {
  const std::string readme = Readme("shared/minibatch");
  EXPECT_THAT(readme, HasSubstr(absl::StrCat("Version of this layout: ",
                                             kTaskLayoutVersion, " ")));
  EXPECT_THAT(readme, HasSubstr(absl::StrCat("TaskHeader, ", sizeof(TaskHeader),
                                             " bytes")));
  const struct {
    const char* field;
    size_t offset;
  } fields[] = {
      {"rank-order version", offsetof(TaskHeader, rank_order_version)},
      {"offsets u64 x 3", offsetof(TaskHeader, input_nodes_offset)},
      {"seconds f32 x 6", offsetof(TaskHeader, seconds)},
      {"finished_ns", offsetof(TaskHeader, finished_ns)},
      {"8 hops of", offsetof(TaskHeader, hops)}};
  for (const auto& [field, offset] : fields) {
    const size_t at = readme.find(field);
    ASSERT_NE(at, std::string::npos) << field;
    const size_t line = readme.rfind('\n', at) + 1;
    EXPECT_THAT(readme.substr(line, at - line),
                HasSubstr(absl::StrCat("+", offset)))
        << field;
  }
  EXPECT_THAT(readme,
              HasSubstr(absl::StrCat("8 hops of ", sizeof(TaskHop), " bytes")));
}

}  // namespace
}  // namespace fgnn
