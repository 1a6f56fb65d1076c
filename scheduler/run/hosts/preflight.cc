#include "scheduler/run/hosts/preflight.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "shared/base/printable_text.h"
#include "shared/base/status.h"

namespace fgnn {
namespace {

// Returns "host1 has cores, 0x1234abcd".
std::string Has(const JobHost& host, const Arithmetic& arithmetic,
                uint32_t crc) {
  return absl::StrCat(host.name, " has ", PrintableText(arithmetic.kind), ", ",
                      absl::StrFormat("%#010x", crc));
}

}  // namespace

Preflight::Preflight(const JobHosts& hosts) {
  for (const JobHost& host : hosts.all) hosts_.push_back({.host = host});
}

void Preflight::Take(const std::string& host, const HostFindings& findings) {
  for (Host& one : hosts_) {
    if (one.host.name == host) one.findings = findings;
  }
}

absl::Status Preflight::Check() const { return CheckArithmetic(); }

absl::Status Preflight::CheckArithmetic() const {
  const Host* any = nullptr;
  const Host* with_places = nullptr;
  for (const Host& host : hosts_) {
    const Arithmetic& own = host.findings.arithmetic;
    if (own.kind.empty()) continue;
    if (any == nullptr) any = &host;
    const Arithmetic& first = any->findings.arithmetic;
    if (own.step_crc != first.step_crc) {
      return absl::FailedPreconditionError(absl::StrCat(
          "trainers: a made-up step of the optimizer has other bits on two "
          "hosts: ",
          Has(any->host, first, first.step_crc), ", but ",
          Has(host.host, own, own.step_crc),
          ". Each host makes all steps; leave the devices of one of them "
          "out"));
    }
    if (host.host.num_places == 0) continue;
    if (with_places == nullptr) with_places = &host;
    const Arithmetic& trains = with_places->findings.arithmetic;
    if (own.kind == trains.kind && own.gradient_crc == trains.gradient_crc) {
      continue;
    }
    return absl::FailedPreconditionError(absl::StrCat(
        "trainers: a made-up gradient has other bits on two hosts: ",
        Has(with_places->host, trains, trains.gradient_crc), ", but ",
        Has(host.host, own, own.gradient_crc),
        ". The weights would depend on which of them trains a batch; give one "
        "of them no places by hosts.shares, or leave its devices out"));
  }
  return absl::OkStatus();
}

}  // namespace fgnn
