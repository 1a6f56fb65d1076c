#include "scheduler/run/hosts/preflight.h"

#include <algorithm>
#include <chrono>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "shared/base/printable_text.h"
#include "shared/base/status.h"
#include "shared/graph/host_rows.h"

namespace fgnn {
namespace {

// Time that the exchanges of two hosts have to reach each other.
constexpr std::chrono::seconds kReachWithin{10};
constexpr size_t kMostError = 300;  // Bytes of another host's error.

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

bool ReachesAll(const HostFindings& findings, size_t num_hosts) {
  return findings.reaches.size() + 1 >= num_hosts &&
         std::all_of(
             findings.reaches.begin(), findings.reaches.end(),
             [](const HostReach& reach) { return reach.error.empty(); });
}

void Preflight::Take(const std::string& host, const HostFindings& findings,
                     Deadline now) {
  for (Host& one : hosts_) {
    if (one.host.name != host) continue;
    one.findings = findings;
    if (!one.runs_since.has_value() && !findings.reaches.empty()) {
      one.runs_since = now;
    }
  }
}

absl::Status Preflight::Check(Deadline now, std::string* misfit) const {
  FGNN_RETURN_IF_ERROR(CheckArithmetic(misfit));
  FGNN_RETURN_IF_ERROR(CheckBooks(misfit));
  const std::string unreached = UnreachedSince(now - kReachWithin, misfit);
  if (unreached.empty()) return absl::OkStatus();
  // gRPC tells it in words alone.
  const bool is_certificate =
      unreached.find("ertificate") != std::string::npos ||
      unreached.find("andshake") != std::string::npos;
  return absl::FailedPreconditionError(absl::StrCat(
      "hosts: ", unreached,
      is_certificate ? "; make that host's certificate for this address with "
                       "'fgnn-certificates host'"
                     : "; open this port, or give that host's scheduler "
                       "another --exchange"));
}

absl::Status Preflight::CheckBooks(std::string* misfit) const {
  const Host* first = nullptr;
  for (const Host& host : hosts_) {
    const std::optional<HostRows>& rows = host.findings.rows;
    if (!rows.has_value() || rows->is_whole()) continue;
    if (first == nullptr) first = &host;
    const HostRows& others = *first->findings.rows;
    if (rows->book == others.book && rows->owners == others.owners) continue;
    *misfit = host.host.name;
    return absl::FailedPreconditionError(
        absl::StrCat("hosts: host ", first->host.name, " has ",
                     Describe(others), ", but host ", host.host.name, " has ",
                     Describe(*rows), "; ", HowToCut(others.owners)));
  }
  return absl::OkStatus();
}

std::string Preflight::Lacks(const std::string& without) const {
  std::vector<HostRows> hosts;
  for (const Host& host : hosts_) {
    if (!without.empty() && host.host.name == without) continue;
    if (!host.findings.rows.has_value()) return "";
    hosts.push_back(*host.findings.rows);
  }
  const std::optional<HostRows> missing = MissingRows(hosts);
  if (!missing.has_value()) return "";
  return absl::StrCat("no host of the job ",
                      without.empty() ? "" : absl::StrCat("but ", without, " "),
                      "has ", Describe(*missing));
}

std::string Preflight::Unreached() const {
  std::string misfit;
  return UnreachedSince(Deadline::max(), &misfit);
}

std::string Preflight::UnreachedSince(Deadline since,
                                      std::string* misfit) const {
  for (const Host& from : hosts_) {
    if (!from.runs_since.has_value() || *from.runs_since > since) continue;
    for (const HostReach& reach : from.findings.reaches) {
      if (reach.error.empty() || reach.host >= hosts_.size()) continue;
      const Host& to = hosts_[reach.host];
      if (!to.runs_since.has_value() || *to.runs_since > since) continue;
      const auto index = static_cast<size_t>(&from - hosts_.data());
      *misfit = hosts_[std::max<size_t>(index, reach.host)].host.name;
      return absl::StrCat("host ", from.host.name, " cannot reach host ",
                          to.host.name, " at ", to.host.exchange, ": ",
                          PrintableText(reach.error, kMostError));
    }
  }
  return "";
}

absl::Status Preflight::CheckArithmetic(std::string* misfit) const {
  const Host* any = nullptr;
  const Host* with_places = nullptr;
  for (const Host& host : hosts_) {
    const Arithmetic& own = host.findings.arithmetic;
    if (own.kind.empty()) continue;
    if (any == nullptr) any = &host;
    const Arithmetic& first = any->findings.arithmetic;
    if (own.step_crc != first.step_crc) {
      *misfit = host.host.name;
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
    *misfit = host.host.name;
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
