#include "shared/rpc/job_hosts_proto.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

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
  if (hosts.seeds.are_own()) {
    v1::SeedShares& seeds = *message.mutable_seeds();
    seeds.set_book(hosts.seeds.book);
    seeds.mutable_places()->Add(hosts.seeds.places.begin(),
                                hosts.seeds.places.end());
    seeds.mutable_share_of_part()->assign(hosts.seeds.share_of_part.begin(),
                                          hosts.seeds.share_of_part.end());
  }
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
  if (message.has_seeds()) {
    const v1::SeedShares& seeds = message.seeds();
    hosts.seeds.book = seeds.book();
    hosts.seeds.places.assign(seeds.places().begin(), seeds.places().end());
    // CheckSeedShares() refuses shares in which a fine part has none.
    hosts.seeds.share_of_part.fill(UINT8_MAX);
    std::copy_n(seeds.share_of_part().begin(),
                std::min<size_t>(seeds.share_of_part().size(), kFineParts),
                hosts.seeds.share_of_part.begin());
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

v1::HostRows ToProto(const HostRows& rows) {
  v1::HostRows message;
  message.set_book(rows.book);
  message.set_owners(rows.owners);
  message.set_owner(rows.owner);
  return message;
}

absl::StatusOr<HostRows> FromProto(const v1::HostRows& message) {
  if (message.owners() == 0 || message.owners() > kMostOwners ||
      message.owner() >= message.owners()) {
    return absl::InvalidArgumentError("rows are those of no owner");
  }
  return HostRows{.book = message.book(),
                  .owners = message.owners(),
                  .owner = message.owner()};
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
