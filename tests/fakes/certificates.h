// Real certificates, made by tools/fgnn-certificates.
#ifndef FGNN_TESTS_FAKES_CERTIFICATES_H_
#define FGNN_TESTS_FAKES_CERTIFICATES_H_

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/fakes/temp_folder.h"

namespace fgnn {

// An authority, and the folders of those who have its certificates.
class Certificates {
 public:
  Certificates() { Make("ca"); }

  // Returns the folder of a host that is reached at 127.0.0.1.
  std::filesystem::path Host(const std::string& name) const {
    return Made(name, absl::StrCat("host ", name, " 127.0.0.1"));
  }
  // Returns the folder of a user with this role.
  std::filesystem::path User(const std::string& name,
                             const std::string& role) const {
    return Made(name, absl::StrCat("user ", name, " --role ", role));
  }

 private:
  std::filesystem::path Made(const std::string& name,
                             const std::string& words) const {
    Make(absl::StrCat(words, " --out ", (folder_ / name).string()));
    return folder_ / name;
  }
  void Make(const std::string& words) const {
    const std::string command = absl::StrCat(
        std::getenv("FGNN_SOURCE_DIR"), "/tools/fgnn-certificates --dir ",
        (folder_ / "tls").string(), " ", words, " >/dev/null");
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
  }

  const TempFolder folder_;
};

}  // namespace fgnn

#endif  // FGNN_TESTS_FAKES_CERTIFICATES_H_
