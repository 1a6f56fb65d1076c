#include "scheduler/figures/epoch_sum.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "nlohmann/json.hpp"
#include "shared/base/json_text.h"
#include "shared/measured/score_fields.h"

namespace fgnn {
namespace {

constexpr BatchStage kStages[] = {
    {"order", &StageSeconds::order, &BatchRecord::order},
    {"sample", &StageSeconds::sample, &BatchRecord::sample},
    {"id_map", &StageSeconds::id_map, &BatchRecord::id_map},
    {"mark", &StageSeconds::mark, &BatchRecord::mark},
    {"copy", &StageSeconds::copy, &BatchRecord::copy},
    {"split", &StageSeconds::split, &BatchRecord::split},
    {"wait", &StageSeconds::wait, &BatchRecord::wait},
    {"extract", &StageSeconds::extract, &BatchRecord::extract},
    {"train", &StageSeconds::train, &BatchRecord::train},
    {"sync", &StageSeconds::sync, &BatchRecord::sync},
    {"shuffle", &StageSeconds::shuffle, &BatchRecord::shuffle}};

nlohmann::ordered_json DevicesToJson(const std::vector<DeviceFacts>& devices) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const DeviceFacts& device : devices) {
    json.push_back({{"device", device.device},
                    {"plan", device.plan},
                    {"sample_ms", device.times.sample * 1e3},
                    {"sample_deviation_ms", device.sample_deviation_ms},
                    {"train_ms", device.times.train * 1e3},
                    {"train_deviation_ms", device.train_deviation_ms},
                    {"standby_ms", device.times.standby * 1e3},
                    {"wake_ms", device.wake_ms},
                    {"sampled", device.sampled},
                    {"trained", device.trained},
                    {"cache_hit_rate", device.cache_hit_rate}});
  }
  return json;
}

}  // namespace

absl::Span<const BatchStage> BatchStages() { return kStages; }

void EpochSum::Add(const BatchRecord& record) {
  batches_ += record.part == 0 ? 1 : 0;
  seeds_ += record.num_seeds;
  edges_ += record.num_edges;
  input_nodes_ += record.num_input_nodes;
  cache_hits_ += record.num_cache_hits;
  matched_ += record.num_matched;
  remote_ += record.num_remote;
  staleness_ += record.staleness;
  staleness_max_ = std::max(staleness_max_, record.staleness);
  loss_sum_ += double{record.loss} * record.num_seeds;
  message_bytes_ += record.message_bytes;
  for (const BatchStage& stage : kStages) {
    stages_.*stage.seconds += double{record.*stage.of_task};
  }
}

double EpochSum::loss() const {
  return seeds_ == 0 ? 0 : loss_sum_ / static_cast<double>(seeds_);
}

double EpochSum::cache_hit_rate() const {
  return input_nodes_ == 0 ? 0
                           : static_cast<double>(cache_hits_) /
                                 static_cast<double>(input_nodes_);
}

double EpochSum::match_rate() const {
  const uint64_t missed = input_nodes_ - cache_hits_;
  return missed == 0
             ? 0
             : static_cast<double>(matched_) / static_cast<double>(missed);
}

double EpochSum::staleness_mean() const {
  return batches_ == 0
             ? 0
             : static_cast<double>(staleness_) / static_cast<double>(batches_);
}

std::string EpochSum::ToJson() const {
  nlohmann::ordered_json json = {{"batches", batches_},
                                 {"seeds", seeds_},
                                 {"edges", edges_},
                                 {"input_nodes", input_nodes_},
                                 {"cache_hits", cache_hits_},
                                 {"matched", matched_},
                                 {"remote", remote_},
                                 {"loss_sum", loss_sum_},
                                 {"staleness", staleness_},
                                 {"staleness_max", staleness_max_},
                                 {"message_bytes", message_bytes_}};
  for (const BatchStage& stage : kStages)
    json[stage.name] = stages_.*stage.seconds;
  return json.dump();
}

absl::StatusOr<EpochSum> EpochSum::FromJson(const std::string& text) {
  const auto json = nlohmann::json::parse(text, nullptr,
                                          /*allow_exceptions=*/false);
  EpochSum sum;
  bool complete = json.is_object();
  const auto read = [&](const char* name, auto& value) {
    complete = complete && json.contains(name) && json[name].is_number();
    if (complete) json[name].get_to(value);
  };
  read("batches", sum.batches_);
  read("seeds", sum.seeds_);
  read("edges", sum.edges_);
  read("input_nodes", sum.input_nodes_);
  read("cache_hits", sum.cache_hits_);
  read("matched", sum.matched_);
  // A checkpoint of release 0.1.0 does not have all of the numbers.
  const auto read_newer = [&](const char* name, auto& value) {
    if (!complete || json.contains(name)) read(name, value);
  };
  read_newer("remote", sum.remote_);
  read_newer("message_bytes", sum.message_bytes_);
  read("loss_sum", sum.loss_sum_);
  read("staleness", sum.staleness_);
  read("staleness_max", sum.staleness_max_);
  for (const auto& [name, seconds, of_task] : kStages) {
    const bool is_newer =
        seconds == &StageSeconds::shuffle || seconds == &StageSeconds::split;
    if (is_newer) {
      read_newer(name, sum.stages_.*seconds);
    } else {
      read(name, sum.stages_.*seconds);
    }
  }
  if (complete) return sum;
  return absl::DataLossError("the sums of an epoch are incomplete");
}

std::string MetricsLine(const EpochFacts& facts, const EpochSum& sum) {
  nlohmann::ordered_json seconds;
  for (const BatchStage& stage : kStages) {
    seconds[stage.name] = sum.stages().*stage.seconds;
  }
  nlohmann::ordered_json line = {{"epoch", facts.epoch}, {"loss", sum.loss()}};
  for (const ScoreField& field : ScoreFields(facts.objective)) {
    line[absl::StrCat("valid_", field.key)] = OrNull(facts.valid.*field.score);
  }
  line.update(
      nlohmann::ordered_json{{"seconds", facts.seconds},
                             {"batches", sum.batches()},
                             {"edges", sum.edges()},
                             {"input_nodes", sum.input_nodes()},
                             {"cache_hit_rate", sum.cache_hit_rate()},
                             {"match_rate", sum.match_rate()},
                             {"rows_loaded", sum.rows_loaded()},
                             {"rows_remote", sum.rows_remote()},
                             {"message_bytes", sum.message_bytes()},
                             {"samplers", facts.samplers},
                             {"trainers", facts.trainers},
                             {"switches", facts.switches},
                             {"staleness_max", sum.staleness_max()},
                             {"staleness_mean", sum.staleness_mean()},
                             {"stages", seconds},
                             {"evaluate_seconds", facts.evaluate_seconds}});
  if (!facts.devices.empty()) line["devices"] = DevicesToJson(facts.devices);
  return line.dump() + "\n";
}

std::string DigestLine(const BatchRecord& record) {
  return absl::StrFormat("%d %08x\n", record.seq_plus_one - 1, record.digest);
}

uint64_t DigestBytes(uint64_t num_batches) {
  // Bytes of a space, eight digits and a newline.
  constexpr uint64_t kBesideTheSeq = 10;
  uint64_t bytes = num_batches * (kBesideTheSeq + 1);
  for (uint64_t longer = 10; longer < num_batches; longer *= 10) {
    bytes += num_batches - longer;  // Each of these seqs has one more digit.
    if (longer > UINT64_MAX / 10) break;
  }
  return bytes;
}

}  // namespace fgnn
