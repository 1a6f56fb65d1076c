#include "scheduler/rpc/port/client_certificate.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "shared/base/files/file.h"
#include "shared/base/files/private_file.h"
#include "shared/base/printable_text.h"
#include "shared/base/status.h"
#include "shared/telemetry/log.h"

namespace fgnn {
namespace {

constexpr size_t kMostBytes = 1 << 20;
constexpr size_t kMostShown = 80;
constexpr std::chrono::seconds kRemembered{1};

struct Free {
  void operator()(BIO* bio) const { ::BIO_free(bio); }
  void operator()(X509* certificate) const { ::X509_free(certificate); }
  void operator()(X509_STORE_CTX* context) const {
    ::X509_STORE_CTX_free(context);
  }
  void operator()(STACK_OF(X509) * chain) const {
    ::sk_X509_pop_free(chain, ::X509_free);
  }
};
template <typename T>
using Owned = std::unique_ptr<T, Free>;

std::vector<Owned<X509>> ReadPem(const std::string& text) {
  std::vector<Owned<X509>> read;
  const Owned<BIO> bio(
      ::BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
  if (bio == nullptr) return read;
  while (true) {
    Owned<X509> one(::PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr));
    if (one == nullptr) break;
    read.push_back(std::move(one));
  }
  ::ERR_clear_error();  // The end of the text is one.
  return read;
}

// Returns the only value of a part of the subject; empty if there is none, or
// more than one.
std::string SubjectPart(X509& certificate, int part) {
  X509_NAME* const subject = ::X509_get_subject_name(&certificate);
  const int at = ::X509_NAME_get_index_by_NID(subject, part, -1);
  if (at < 0 || ::X509_NAME_get_index_by_NID(subject, part, at) >= 0) return "";
  unsigned char* text = nullptr;
  const int size = ::ASN1_STRING_to_UTF8(
      &text, ::X509_NAME_ENTRY_get_data(::X509_NAME_get_entry(subject, at)));
  if (size < 0) return "";
  std::string value(reinterpret_cast<const char*>(text),
                    static_cast<size_t>(size));
  ::OPENSSL_free(text);
  return value;
}

absl::Status Refuse(const std::string& name, const std::string& why) {
  return absl::UnauthenticatedError(
      absl::StrCat("the certificate of '", PrintableText(name, kMostShown),
                   "' is refused: ", why));
}

std::string Explain(int error) {
  switch (error) {
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
      return "the service does not trust the authority that signed it";
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return "it has expired; ask for a new one";
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return "it is not valid yet; look at the clocks of both machines";
    case X509_V_ERR_INVALID_PURPOSE:
      return "it is not for clients";
    default:
      return ::X509_verify_cert_error_string(error);
  }
}

}  // namespace

ClientCertificates::ClientCertificates(const std::filesystem::path& ca_file)
    : file_(ca_file) {}

absl::StatusOr<std::unique_ptr<ClientCertificates>> ClientCertificates::Open(
    const std::filesystem::path& ca_file) {
  std::unique_ptr<ClientCertificates> made(new ClientCertificates(ca_file));
  const MutexLock lock(&made->mutex_);
  const absl::Status read = made->Refresh();
  if (!read.ok() && !absl::IsNotFound(read)) return read;
  return made;
}

absl::StatusOr<ClientCertificates::Store> ClientCertificates::ReadStore(
    const std::filesystem::path& ca_file) {
  // Whoever can write it can make operators.
  FGNN_RETURN_IF_ERROR(CheckTrustedFile(ca_file));
  FGNN_ASSIGN_OR_RETURN(const std::string text,
                        ReadSmallFile(ca_file, kMostBytes));
  const std::vector<Owned<X509>> read = ReadPem(text);
  if (read.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(ca_file.string(), " has no certificate in PEM"));
  }
  Store store(::X509_STORE_new());
  for (const Owned<X509>& one : read) {
    if (store == nullptr ||
        ::X509_STORE_add_cert(store.get(), one.get()) != 1) {
      return absl::InternalError(
          absl::StrCat("cannot take the certificates of ", ca_file.string()));
    }
  }
  return store;
}

absl::Status ClientCertificates::Refresh() {
  const absl::StatusOr<bool> has_changed = file_.HasChanged();
  if (has_changed.ok() && !*has_changed) return trusted_.status();
  const bool was_there = trusted_.ok();
  known_.clear();
  if (has_changed.ok()) {
    trusted_ = ReadStore(file_.path());
  } else {
    trusted_ = has_changed.status();
  }
  if (trusted_.ok()) return absl::OkStatus();
  // A text without a certificate stays so until the file changes.
  if (!absl::IsInvalidArgument(trusted_.status())) file_.Forget();
  const bool is_news = was_there || !absl::IsNotFound(trusted_.status());
  if (is_news && limit_.Ask(MonotonicClock::now()).has_value()) {
    LogError("no certificate is taken: {}", MessageOf(trusted_.status()));
  }
  return trusted_.status();
}

absl::StatusOr<Identity> ClientCertificates::Check(
    const std::string& certificate, const std::string& chain) {
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
  std::pair<std::string, std::string> key(certificate, chain);
  const auto found = known_.find(key);
  if (found != known_.end()) return found->second.identity;
  FGNN_ASSIGN_OR_RETURN(Identity identity, CheckLocked(certificate, chain));
  known_.emplace(std::move(key), Known{identity, now + kRemembered});
  return identity;
}

absl::StatusOr<Identity> ClientCertificates::CheckLocked(
    const std::string& certificate, const std::string& chain) {
  std::vector<Owned<X509>> leaf = ReadPem(certificate);
  if (leaf.empty()) {
    return absl::UnauthenticatedError("the certificate cannot be read");
  }
  const std::string name = SubjectPart(*leaf.front(), NID_commonName);
  const Owned<STACK_OF(X509)> between(sk_X509_new_null());
  for (Owned<X509>& one : ReadPem(chain)) {
    if (sk_X509_push(between.get(), one.get()) > 0) (void)one.release();
  }
  const Owned<X509_STORE_CTX> context(::X509_STORE_CTX_new());
  if (context == nullptr ||
      ::X509_STORE_CTX_init(context.get(), trusted_->get(), leaf.front().get(),
                            between.get()) != 1 ||
      ::X509_STORE_CTX_set_purpose(context.get(), X509_PURPOSE_SSL_CLIENT) !=
          1) {
    return absl::ResourceExhaustedError("cannot check a certificate");
  }
  if (::X509_verify_cert(context.get()) != 1) {
    const int error = ::X509_STORE_CTX_get_error(context.get());
    ::ERR_clear_error();
    return Refuse(name, Explain(error));
  }
  const absl::StatusOr<RemoteRole> role =
      ParseRemoteRole(SubjectPart(*leaf.front(), NID_organizationalUnitName));
  if (!role.ok()) return Refuse(name, "its OU names no role");
  if (name.empty()) return Refuse(name, "its CN names no user");
  return Identity{
      .name = name, .role = *role, .proof = CallerProof::kCertificate};
}

}  // namespace fgnn
