#include "scheduler/figures/run_state.h"

#include "nlohmann/json.hpp"
#include "shared/base/json_text.h"
#include "shared/base/status.h"

namespace fgnn {
namespace {

using Json = nlohmann::ordered_json;

// Keys of the compared scores, whichever scores they are.
constexpr char kValidScore[] = "valid_accuracy";
constexpr char kBestValidScore[] = "best_valid_accuracy";
constexpr char kSeedShares[] = "seed_shares";

// Reads fields, and remembers whether all of them were there.
class Reader {
 public:
  explicit Reader(const Json& json) : json_(json), ok_(json.is_object()) {}

  void Read(const char* name, uint64_t& value) {
    ok_ = ok_ && json_.contains(name) && json_[name].is_number_unsigned();
    if (ok_) json_[name].get_to(value);
  }
  template <typename T>
  void Read(const char* name, std::optional<T>& value) {
    ok_ = ok_ && json_.contains(name) &&
          (json_[name].is_null() || json_[name].is_number());
    if (ok_ && !json_[name].is_null()) value = json_[name].template get<T>();
  }
  std::string Object(const char* name) {
    ok_ = ok_ && json_.contains(name) && json_[name].is_object();
    return ok_ ? json_[name].dump() : std::string();
  }
  // Shares that are absent are those of training.seeds global.
  void ReadIfThere(const char* name, SeedShares& shares) {
    if (!ok_ || !json_.contains(name)) return;
    std::optional<SeedShares> read;
    if (json_[name].is_string()) {
      read = SeedSharesFromText(json_[name].get<std::string>());
    }
    ok_ = read.has_value();
    if (ok_) shares = *read;
  }
  bool ok() const { return ok_; }

 private:
  const Json& json_;
  bool ok_;
};

}  // namespace

std::string RunStateToJson(const RunState& state) {
  Json json = {{"batches_per_epoch", state.batches_per_epoch},
               {"next_seq", state.next_seq.value()},
               {"dataset_content", state.dataset_content},
               {"batch_dependency", state.batch_dependency},
               {"matched_window", state.matched_window},
               {"sum", Json::parse(state.sum.ToJson())},
               {kValidScore, OrNull(state.valid_score)},
               {kBestValidScore, OrNull(state.best_valid_score)},
               {"best_epoch", OrNull(state.best_epoch)},
               {"metrics_bytes", state.metrics_bytes},
               {"digests_bytes", state.digests_bytes}};
  if (state.seeds.are_own()) json[kSeedShares] = ToText(state.seeds);
  if (state.parts > 1) {
    json["parts"] = state.parts;
    json["book"] = state.book;
  }
  return json.dump();
}

absl::StatusOr<RunState> RunStateFromJson(const std::string& text) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  RunState state;
  Reader reader(json);
  reader.Read("batches_per_epoch", state.batches_per_epoch);
  uint64_t next_seq = 0;
  reader.Read("next_seq", next_seq);
  state.next_seq = BatchSeq(next_seq);
  reader.Read("dataset_content", state.dataset_content);
  reader.Read("batch_dependency", state.batch_dependency);
  reader.Read("matched_window", state.matched_window);
  const std::string sum = reader.Object("sum");
  reader.Read(kValidScore, state.valid_score);
  reader.Read(kBestValidScore, state.best_valid_score);
  reader.Read("best_epoch", state.best_epoch);
  reader.Read("metrics_bytes", state.metrics_bytes);
  reader.Read("digests_bytes", state.digests_bytes);
  reader.ReadIfThere(kSeedShares, state.seeds);
  if (json.is_object() && json.contains("parts")) {
    reader.Read("parts", state.parts);
    reader.Read("book", state.book);
  }
  if (!reader.ok()) {
    return absl::DataLossError("its state of the run cannot be read");
  }
  FGNN_ASSIGN_OR_RETURN(state.sum, EpochSum::FromJson(sum));
  return state;
}

}  // namespace fgnn
