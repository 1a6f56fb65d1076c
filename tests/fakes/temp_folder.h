// A folder of a test's own, gone with it.
#ifndef FGNN_TESTS_FAKES_TEMP_FOLDER_H_
#define FGNN_TESTS_FAKES_TEMP_FOLDER_H_

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <system_error>

namespace fgnn {

// Its name is short, so that sockets fit: "/tmp/fgnn-XXXXXX".
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
