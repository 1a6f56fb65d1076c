// The defaults that shared/config/README.md lists are those of job.proto.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "shared/config/field_reader.h"
#include "shared/config/job_spec_proto.h"
#include "tests/fakes/status_matchers.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;

TEST(JobDefaultsTest, TheReadmeListsThoseOfTheProto) {
  const char* root = std::getenv("FGNN_SOURCE_DIR");
  ASSERT_NE(root, nullptr) << "set FGNN_SOURCE_DIR to the root of the tree";
  std::ifstream in(fs::path(root) / "shared/config/README.md");
  ASSERT_TRUE(in.is_open());
  std::ostringstream readme;
  readme << in.rdbuf();

  v1::JobSpec spec;
  spec.set_dataset("/d");
  FGNN_ASSERT_OK(FillDefaults("", &spec));
  spec.clear_dataset();  // Required, so without a default.
  EXPECT_THAT(readme.str(),
              testing::HasSubstr(absl::StrCat(
                  "```yaml\n", ToYaml(spec, /*with_help=*/false), "```\n")));
}

}  // namespace
}  // namespace fgnn
