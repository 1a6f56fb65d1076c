#include "trainer_service/infer/row_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "shared/base/status.h"
#include "shared/graph/npy.h"

namespace fgnn {

absl::StatusOr<std::unique_ptr<RowFile>> RowFile::Create(
    const std::filesystem::path& path, uint64_t rows, uint64_t columns) {
  std::string temporary = path.string() + ".XXXXXX";
  UniqueFd fd(::mkostemp(temporary.data(), O_CLOEXEC));
  if (!fd.valid()) {
    return ErrnoToStatus(errno, absl::StrCat("write ", path.string()));
  }
  std::unique_ptr<RowFile> file = absl::WrapUnique(
      new RowFile(std::move(fd), path, std::move(temporary), columns));
  const uint64_t shape[] = {rows, columns};
  const std::string header = MakeNpyHeader(NpyType::kF32, shape);
  file->data_offset_ = header.size();
  const uint64_t bytes = header.size() + rows * columns * sizeof(float);
  const int error =
      ::posix_fallocate(file->fd_.get(), 0, static_cast<off_t>(bytes));
  if (error != 0) return file->Error(error);
  FGNN_RETURN_IF_ERROR(file->WriteAt(0, header));
  return file;
}

RowFile::~RowFile() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

absl::Status RowFile::Write(uint64_t first,
                            absl::Span<const float> rows) const {
  return WriteAt(data_offset_ + first * columns_ * sizeof(float),
                 {reinterpret_cast<const char*>(rows.data()),
                  rows.size() * sizeof(float)});
}

absl::Status RowFile::Commit() {
  if (::fchmod(fd_.get(), 0644) != 0 || ::fsync(fd_.get()) != 0 ||
      ::rename(temporary_.c_str(), path_.c_str()) != 0) {
    return Error(errno);
  }
  temporary_.clear();
  return absl::OkStatus();
}

absl::Status RowFile::WriteAt(uint64_t offset,
                              absl::Span<const char> bytes) const {
  while (!bytes.empty()) {
    const ssize_t written = ::pwrite(fd_.get(), bytes.data(), bytes.size(),
                                     static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return Error(errno);
    offset += static_cast<uint64_t>(written);
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return absl::OkStatus();
}

absl::Status RowFile::Error(int error) const {
  return ErrnoToStatus(error, absl::StrCat("write ", path_.string()));
}

}  // namespace fgnn
