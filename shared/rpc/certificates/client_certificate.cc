#include "shared/rpc/certificates/client_certificate.h"

#include <openssl/objects.h>

#include <utility>
#include <vector>

#include "shared/base/status.h"
#include "shared/telemetry/log.h"

namespace fgnn {
namespace {

constexpr std::chrono::seconds kRemembered{1};

}  // namespace

ClientCertificates::ClientCertificates(const std::filesystem::path& ca_file)
    : authorities_(ca_file) {}

absl::StatusOr<std::unique_ptr<ClientCertificates>> ClientCertificates::Open(
    const std::filesystem::path& ca_file) {
  std::unique_ptr<ClientCertificates> made(new ClientCertificates(ca_file));
  const MutexLock lock(&made->mutex_);
  const absl::Status read = made->Refresh();
  if (!read.ok() && !absl::IsNotFound(read)) return read;
  return made;
}

absl::Status ClientCertificates::Refresh() {
  const absl::StatusOr<bool> is_new = authorities_.Refresh();
  if (!is_new.ok() || *is_new) known_.clear();
  const bool were_there = std::exchange(were_there_, is_new.ok());
  if (is_new.ok()) return absl::OkStatus();
  const bool is_news = were_there || !absl::IsNotFound(is_new.status());
  if (is_news && limit_.Ask(MonotonicClock::now()).has_value()) {
    LogError("no certificate is taken: {}", MessageOf(is_new.status()));
  }
  return is_new.status();
}

absl::StatusOr<Identity> ClientCertificates::Check(const std::string& chain) {
  const MutexLock lock(&mutex_);
  const absl::Status read = Refresh();
  if (!read.ok()) {
    return absl::UnauthenticatedError(
        absl::IsNotFound(read)
            ? "the service takes tokens only: it has no ca.pem"
            : "the service cannot read its authorities; its log says why");
  }
  const Deadline now = MonotonicClock::now();
  std::erase_if(known_,
                [&](const auto& one) { return one.second.until < now; });
  const auto found = known_.find(chain);
  if (found != known_.end()) return found->second.identity;
  FGNN_ASSIGN_OR_RETURN(Identity identity, CheckLocked(chain));
  known_.emplace(chain, Known{identity, now + kRemembered});
  return identity;
}

absl::StatusOr<Identity> ClientCertificates::CheckLocked(
    const std::string& chain) {
  const std::vector<Certificate> shown = ReadPem(chain);
  FGNN_RETURN_IF_ERROR(authorities_.Check(shown));
  const std::string name = SubjectPart(*shown.front(), NID_commonName);
  const absl::StatusOr<RemoteRole> role =
      ParseRemoteRole(SubjectPart(*shown.front(), NID_organizationalUnitName));
  if (!role.ok()) return RefuseCertificate(name, "its OU names no role");
  if (name.empty()) return RefuseCertificate(name, "its CN names no user");
  return Identity{
      .name = name, .role = *role, .proof = CallerProof::kCertificate};
}

}  // namespace fgnn
