#include "shared/rpc/job_hosts_proto.h"

namespace fgnn {

v1::JobHosts ToProto(const JobHosts& hosts) {
  v1::JobHosts message;
  for (const JobHost& host : hosts.all) {
    v1::JobHost* const added = message.add_all();
    added->set_name(host.name);
    added->set_exchange(host.exchange);
    added->set_num_places(host.num_places);
  }
  message.set_self(hosts.self);
  message.set_attempt(hosts.attempt);
  return message;
}

JobHosts FromProto(const v1::JobHosts& message) {
  JobHosts hosts = {
      .all = {}, .self = message.self(), .attempt = message.attempt()};
  for (const v1::JobHost& host : message.all()) {
    hosts.all.push_back({.name = host.name(),
                         .exchange = host.exchange(),
                         .num_places = host.num_places()});
  }
  return hosts;
}

v1::Arithmetic ToProto(const Arithmetic& arithmetic) {
  v1::Arithmetic message;
  message.set_kind(arithmetic.kind);
  message.set_gradient_crc(arithmetic.gradient_crc);
  message.set_step_crc(arithmetic.step_crc);
  return message;
}

Arithmetic FromProto(const v1::Arithmetic& message) {
  return {.kind = message.kind(),
          .gradient_crc = message.gradient_crc(),
          .step_crc = message.step_crc()};
}

HostReachMessages ToProto(const std::vector<HostReach>& reaches) {
  HostReachMessages messages;
  for (const HostReach& reach : reaches) {
    v1::HostReach* const added = messages.Add();
    added->set_host(reach.host);
    added->set_error(reach.error);
    added->set_round_trip_seconds(reach.link.round_trip_seconds);
    added->set_bytes_per_second(reach.link.bytes_per_second);
    added->set_clock_offset_seconds(reach.link.clock_offset_seconds);
  }
  return messages;
}

std::vector<HostReach> FromProto(const HostReachMessages& messages) {
  std::vector<HostReach> reaches;
  for (const v1::HostReach& message : messages) {
    reaches.push_back(
        {.host = message.host(),
         .error = message.error(),
         .link = {.round_trip_seconds = message.round_trip_seconds(),
                  .bytes_per_second = message.bytes_per_second(),
                  .clock_offset_seconds = message.clock_offset_seconds()}});
  }
  return reaches;
}

}  // namespace fgnn
