#include "tools/fgnn/reports/exchange_report.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "shared/base/units.h"
#include "tools/fgnn/reports/text_table.h"

namespace fgnn {
namespace {

// Links whose rate is known, by the host that measured and the one that it
// called.
using Links = std::map<std::pair<std::string, std::string>, v1::HostLink>;

Links LinksOf(const v1::ListDevicesResponse& listed) {
  Links links;
  for (const v1::HostLink& link : listed.links()) {
    if (link.bytes_per_second() > 0) links[{link.from(), link.to()}] = link;
  }
  return links;
}

// What goes to one host, or from one: one host after the other, all on their
// way at once.
class Traffic {
 public:
  explicit Traffic(const Links* links) : links_(*links) {}

  void Add(const std::string& from, const std::string& to, uint64_t bytes) {
    if (bytes == 0) return;
    bytes_ += bytes;
    const auto link = links_.find({to, from});
    is_known_ = is_known_ && link != links_.end();
    if (link == links_.end()) return;
    sending_ += static_cast<double>(bytes) / link->second.bytes_per_second();
    delay_ = std::max(delay_, link->second.round_trip_ms() * 1e-3 / 2);
  }
  uint64_t bytes() const { return bytes_; }
  // Returns nullopt if one of the links was not measured.
  std::optional<double> seconds() const {
    return is_known_ ? std::optional(sending_ + delay_) : std::nullopt;
  }

 private:
  const Links& links_;
  uint64_t bytes_ = 0;
  double sending_ = 0;
  double delay_ = 0;
  bool is_known_ = true;
};

// Returns the larger one; nullopt: one of both is not known.
std::optional<double> Larger(std::optional<double> one,
                             std::optional<double> another) {
  if (!one.has_value() || !another.has_value()) return std::nullopt;
  return std::max(*one, *another);
}

std::string OptionalMilliseconds(std::optional<double> seconds) {
  return seconds.has_value() ? absl::StrFormat("%.2f ms", *seconds * 1e3) : "-";
}

}  // namespace

ExchangeReport ReportExchange(const std::vector<HostShare>& hosts,
                              uint64_t num_parameters, double seconds_per_batch,
                              const v1::ListDevicesResponse& links) {
  const Links known = LinksOf(links);
  const uint64_t gradient = num_parameters * sizeof(float);
  const auto name_of = [&](const HostShare& host) {
    return host.name.empty() ? links.host() : host.name;
  };
  ExchangeReport report;
  report.seconds = 0;
  for (const HostShare& host : hosts) {
    report.batches_per_step += host.num_places;
    Traffic sent(&known);
    Traffic received(&known);
    for (const HostShare& other : hosts) {
      if (other.name == host.name) continue;
      sent.Add(name_of(host), name_of(other), host.num_places * gradient);
      received.Add(name_of(other), name_of(host), other.num_places * gradient);
    }
    const uint64_t devices = std::max<uint64_t>(host.num_training, 1);
    const uint64_t rounds = (host.num_places + devices - 1) / devices;
    HostExchange one = {
        .host = name_of(host),
        .num_places = host.num_places,
        .sent_bytes = sent.bytes(),
        .received_bytes = received.bytes(),
        .seconds = Larger(sent.seconds(), received.seconds()),
        .training_seconds = static_cast<double>(rounds) * seconds_per_batch};
    report.training_seconds =
        std::max(report.training_seconds, one.training_seconds);
    report.seconds = Larger(report.seconds, one.seconds);
    report.hosts.push_back(std::move(one));
  }
  return report;
}

nlohmann::ordered_json ToJson(const ExchangeReport& report) {
  const auto known = [](std::optional<double> seconds) {
    return seconds.has_value() ? nlohmann::ordered_json(*seconds)
                               : nlohmann::ordered_json(nullptr);
  };
  nlohmann::ordered_json hosts = nlohmann::ordered_json::array();
  for (const HostExchange& host : report.hosts) {
    hosts.push_back({{"host", host.host},
                     {"places", host.num_places},
                     {"sent_bytes", host.sent_bytes},
                     {"received_bytes", host.received_bytes},
                     {"seconds", known(host.seconds)},
                     {"training_seconds", host.training_seconds}});
  }
  return {{"hosts", hosts},
          {"seconds", known(report.seconds)},
          {"training_seconds", report.training_seconds},
          {"network_is_slower", report.network_is_slower()}};
}

std::string ToText(const ExchangeReport& report) {
  TextTable table(
      {"host", "batches a step", "sends", "gets", "takes", "trains them in"},
      {1, 2, 3, 4, 5});
  for (const HostExchange& host : report.hosts) {
    table.AddRow({host.host.empty() ? "this host" : host.host,
                  absl::StrCat(host.num_places), FormatBytes(host.sent_bytes),
                  FormatBytes(host.received_bytes),
                  OptionalMilliseconds(host.seconds),
                  OptionalMilliseconds(host.training_seconds)});
  }
  std::string text = absl::StrCat("\n", table.ToString());
  if (!report.seconds.has_value()) {
    absl::StrAppend(&text,
                    "how long that takes is known once a job has run over "
                    "these hosts: 'fgnn devices' shows their links\n");
  } else if (report.network_is_slower()) {
    absl::StrAppend(
        &text, "the gradients of a step take ",
        absl::StrFormat(
            "%.1f", *report.seconds / std::max(report.training_seconds, 1e-9)),
        " times as long as its training: lower model.hidden or "
        "training.batches_per_step, which is ",
        report.batches_per_step,
        ", raise sampling.batch_size, or use fewer hosts\n");
  } else {
    absl::StrAppend(&text,
                    "the gradients of a step take less long than its "
                    "training\n");
  }
  return text;
}

}  // namespace fgnn
