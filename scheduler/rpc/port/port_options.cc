#include "scheduler/rpc/port/port_options.h"

#include <system_error>

#include "absl/strings/str_cat.h"
#include "shared/base/status.h"

namespace fgnn {
namespace {

bool IsThere(const std::filesystem::path& path) {
  std::error_code error;
  return std::filesystem::exists(path, error);
}

absl::Status CheckMaySpeakInTheClear(const PortOptions& options,
                                     bool insecure) {
  FGNN_ASSIGN_OR_RETURN(const bool is_loopback,
                        IsLoopback(options.address.host));
  if (is_loopback || insecure) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "--listen ", options.address.Text(),
      " would speak in the clear beyond this machine; name a folder of "
      "certificates with --tls-dir ('fgnn-certificates --help' makes one), or "
      "add --insecure if the network itself is closed"));
}

absl::Status CheckCallersCanShowThemselves(const PortOptions& options) {
  if (options.tokens.empty()) {
    return absl::InvalidArgumentError(
        "--listen without --tls-dir needs --tokens: nothing else would tell "
        "who calls; 'fgnn-certificates token' makes the file");
  }
  if (IsThere(options.tokens) || options.tls_dir.empty() ||
      IsThere(options.tls_dir / "ca.pem")) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      options.tls_dir.string(),
      " has neither ca.pem nor tokens, so no caller could show who it is; "
      "'fgnn-certificates --help' says how to make them"));
}

}  // namespace

absl::StatusOr<std::optional<PortOptions>> ReadPortOptions(
    const PortWords& words) {
  if (words.listen == "") return std::nullopt;
  if (!words.listen.has_value()) {
    if (words.tls_dir.empty() && words.tokens.empty() && !words.insecure) {
      return std::nullopt;
    }
    return absl::InvalidArgumentError(
        "--tls-dir, --tokens and --insecure go with --listen HOST:PORT");
  }
  PortOptions options;
  const absl::StatusOr<HostPort> address = ParseHostPort(*words.listen);
  if (!address.ok()) return Annotate(address.status(), "--listen");
  options.address = *address;
  options.tokens = words.tokens;
  if (!words.tokens.empty() && !IsThere(words.tokens)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--tokens ", words.tokens,
                     " is not there; 'fgnn-certificates token' makes it"));
  }
  if (words.tls_dir.empty()) {
    FGNN_RETURN_IF_ERROR(CheckMaySpeakInTheClear(options, words.insecure));
  } else if (words.insecure) {
    return absl::InvalidArgumentError("--insecure contradicts --tls-dir");
  } else {
    options.tls_dir = words.tls_dir;
    if (options.tokens.empty()) options.tokens = options.tls_dir / "tokens";
  }
  FGNN_RETURN_IF_ERROR(CheckCallersCanShowThemselves(options));
  return options;
}

}  // namespace fgnn
