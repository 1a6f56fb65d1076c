#include "trainer_service/nn/python/trusted_code.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;

class TrustedCodeTest : public testing::Test {
 protected:
  TrustedCodeTest() {
    fs::create_directories(folder_ / "code");
    fs::create_directories(folder_ / "venv/bin");
    std::ofstream(folder_ / "code/sage.py");
    std::ofstream(folder_ / "python3.11");
    fs::create_symlink(folder_ / "python3.11", folder_ / "venv/bin/python");
    options_.kind = "python";
    options_.file = folder_ / "code/sage.py";
    options_.python = folder_ / "venv/bin/python";
  }

  const TempFolder folder_;
  ModelOptions options_;
};

TEST_F(TrustedCodeTest, IsWhatNobodyElseMayWrite) {
  EXPECT_THAT(CheckTrustedCode(options_), IsOk());
  for (const std::string name :
       {"code/sage.py", "code", "venv/bin", "venv", "python3.11"}) {
    const fs::path path = folder_ / name;
    const fs::perms before = fs::status(path).permissions();
    for (const fs::perms more :
         {fs::perms::group_write, fs::perms::others_write}) {
      fs::permissions(path, more, fs::perm_options::add);
      EXPECT_THAT(CheckTrustedCode(options_),
                  PermissionDenied("model.", "chmod go-w"))
          << name;
      fs::permissions(path, before);
    }
  }
  EXPECT_THAT(CheckTrustedCode(options_), IsOk());
}

TEST_F(TrustedCodeTest, IsRunByPython) {
  options_.python = "/bin/sh";
  EXPECT_THAT(CheckTrustedCode(options_),
              InvalidArgument("model.python /bin/sh", "no interpreter"));
}

TEST_F(TrustedCodeTest, Exists) {
  options_.python = folder_ / "none";
  EXPECT_THAT(CheckTrustedCode(options_),
              NotFound("model.python " + options_.python + " does not exist"));
  options_.file = folder_ / "none.py";
  EXPECT_THAT(CheckTrustedCode(options_),
              NotFound("model.file " + options_.file + " does not exist"));
}

}  // namespace
}  // namespace fgnn
