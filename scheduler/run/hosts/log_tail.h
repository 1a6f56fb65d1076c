// What the head lacks of the logs of a member.
#ifndef FGNN_SCHEDULER_RUN_HOSTS_LOG_TAIL_H_
#define FGNN_SCHEDULER_RUN_HOSTS_LOG_TAIL_H_

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "scheduler/members/member_messages.h"

namespace fgnn {

// Not thread-safe.
class LogTail {
 public:
  // `state_dir`: the member's state folder.
  explicit LogTail(std::filesystem::path state_dir);

  // Returns the next part of some log; nullopt: the head has all. Returns the
  // same part again until NoteTaken(). Logs take turns.
  std::optional<LogPart> Next();
  // Notes how many bytes the head has of that log.
  void NoteTaken(const std::string& name, uint64_t bytes);

 private:
  struct Log {
    uint64_t taken = 0;  // Bytes that the head has.
    ino_t file = 0;      // Another one once the log was rotated.
  };
  // Returns what the head lacks of this log; nullopt: nothing, or it cannot be
  // read now.
  std::optional<LogPart> NextOf(const std::filesystem::path& path);

  const std::filesystem::path folder_;
  std::map<std::string, Log> logs_;  // By name.
  std::string last_;                 // Name of the log of the last part.
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_RUN_HOSTS_LOG_TAIL_H_
