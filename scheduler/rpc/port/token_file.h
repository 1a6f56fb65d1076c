// The tokens that remote callers may show. The file holds their hashes:
//
//   # user  role    SHA-256 of the token
//   ann     submit
//   9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0...
#ifndef FGNN_SCHEDULER_RPC_PORT_TOKEN_FILE_H_
#define FGNN_SCHEDULER_RPC_PORT_TOKEN_FILE_H_

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "shared/base/files/watched_file.h"
#include "shared/base/threads/mutex.h"
#include "shared/rpc/certificates/identity.h"
#include "shared/telemetry/line_limit.h"

namespace fgnn {

using TokenHash = std::array<uint8_t, 32>;

struct TokenEntry {
  Identity identity;
  TokenHash hash = {};
};

// Reads the text of such a file. InvalidArgument, with the line's number: a
// line is wrong.
absl::StatusOr<std::vector<TokenEntry>> ParseTokens(const std::string& text);

// Returns the SHA-256 of a token.
TokenHash HashToken(const std::string& token);

// Thread-safe.
class TokenFile {
 public:
  // Reads the file, which only its user may read. It may be made later.
  // PermissionDenied: others can read it. Also InvalidArgument of
  // ParseTokens().
  static absl::StatusOr<std::unique_ptr<TokenFile>> Open(
      const std::filesystem::path& path);

  // Returns who has the token. Reads the file again when it has changed. The
  // time that this takes tells nothing of the tokens. Unauthenticated: nobody
  // has it, or the file is not there or cannot be read.
  absl::StatusOr<Identity> Find(const std::string& token);

 private:
  explicit TokenFile(std::filesystem::path path);
  // Reads the file again if it has changed, or could not be read. Returns the
  // error of the last read, and logs it, unless the file was never there.
  absl::Status Refresh() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Mutex mutex_;
  WatchedFile file_ ABSL_GUARDED_BY(mutex_);
  absl::StatusOr<std::vector<TokenEntry>> entries_ ABSL_GUARDED_BY(mutex_);
  LineLimit limit_;  // Limit of lines about errors.
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_RPC_PORT_TOKEN_FILE_H_
