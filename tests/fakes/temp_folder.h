// A folder for one test, which is removed at the test's end.
#ifndef FGNN_TESTS_FAKES_TEMP_FOLDER_H_
#define FGNN_TESTS_FAKES_TEMP_FOLDER_H_

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <system_error>

namespace fgnn {

// The folder's name, "/tmp/fgnn-XXXXXX", is short enough for paths of sockets.
class TempFolder {
 public:
  TempFolder() {
    std::string name =
        (std::filesystem::temp_directory_path() / "fgnn-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) {
      throw std::runtime_error("cannot make " + name);
    }
    path_ = name;
  }
  ~TempFolder() {
    std::error_code ignored;  // A test may have removed it.
    std::filesystem::remove_all(path_, ignored);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(const std::string& name) const {
    return path_ / name;
  }

 private:
  std::filesystem::path path_;
};

}  // namespace fgnn

#endif  // FGNN_TESTS_FAKES_TEMP_FOLDER_H_
