#include "scheduler/run/hosts/log_tail.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstddef>
#include <set>
#include <system_error>
#include <utility>

#include "absl/types/span.h"
#include "shared/base/files/file.h"
#include "shared/base/files/unique_fd.h"
#include "shared/config/state_dir.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;

// With ten reports a second, 320 KB/s of logs.
constexpr uint64_t kMostBytes = 32 << 10;

}  // namespace

LogTail::LogTail(fs::path state_dir)
    : folder_(LogPath(state_dir, "x").parent_path()) {}

std::optional<LogPart> LogTail::Next() {
  std::error_code error;  // A folder that cannot be read has no log for now.
  std::set<fs::path> paths;
  for (const auto& entry : fs::directory_iterator(folder_, error)) {
    if (entry.path().extension() == ".log") paths.insert(entry.path());
  }
  // The log after the last one, and that one at the end.
  const auto first = paths.upper_bound(LogPath(folder_.parent_path(), last_));
  for (auto [one, left] = std::pair(first, paths.size()); left > 0; --left) {
    if (one == paths.end()) one = paths.begin();
    std::optional<LogPart> part = NextOf(*one++);
    if (part.has_value()) return part;
  }
  return std::nullopt;
}

std::optional<LogPart> LogTail::NextOf(const fs::path& path) {
  const absl::StatusOr<UniqueFd> file = OpenPlainFile(path);
  struct stat info = {};
  if (!file.ok() || ::fstat(file->get(), &info) != 0) return std::nullopt;
  const std::string name = path.stem().string();
  Log& log = logs_[name];
  const auto size = static_cast<uint64_t>(info.st_size);
  // The copy of another file begins anew.
  if (info.st_ino != log.file || size < log.taken) {
    log = {.taken = 0, .file = info.st_ino};
  }
  if (size == log.taken) return std::nullopt;
  LogPart part = {.name = name, .offset = log.taken, .bytes = {}};
  part.bytes.resize(std::min(size - log.taken, kMostBytes));
  const absl::StatusOr<size_t> read =
      ReadAt(file->get(),
             absl::MakeSpan(reinterpret_cast<std::byte*>(part.bytes.data()),
                            part.bytes.size()),
             part.offset, path.string());
  if (!read.ok() || *read == 0) return std::nullopt;
  part.bytes.resize(*read);
  return part;
}

void LogTail::NoteTaken(const std::string& name, uint64_t bytes) {
  logs_[name].taken = bytes;
  last_ = name;
}

}  // namespace fgnn
