// Functions that all fuzzed programs use.
#ifndef FGNN_TESTS_FUZZ_FUZZ_TARGET_H_
#define FGNN_TESTS_FUZZ_FUZZ_TARGET_H_

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

// The function that libFuzzer calls with one input after the other.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace fgnn {

// Reports a finding that no sanitizer detects, if `holds` is false.
inline void Require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "fuzz: %s\n", what);
  std::abort();
}

// Bytes in the form of a file, without a disk.
class FuzzedFile {
 public:
  FuzzedFile() : fd_(::memfd_create("fuzz", MFD_CLOEXEC)) {
    Require(fd_ >= 0, "memfd_create");
  }
  ~FuzzedFile() { ::close(fd_); }
  FuzzedFile(const FuzzedFile&) = delete;
  FuzzedFile& operator=(const FuzzedFile&) = delete;

  std::filesystem::path Hold(std::string_view bytes) {
    const auto size = static_cast<ssize_t>(bytes.size());
    Require(::ftruncate(fd_, 0) == 0, "ftruncate");
    Require(::pwrite(fd_, bytes.data(), bytes.size(), 0) == size, "pwrite");
    return "/proc/self/fd/" + std::to_string(fd_);
  }

 private:
  int fd_;
};

}  // namespace fgnn

#endif  // FGNN_TESTS_FUZZ_FUZZ_TARGET_H_
