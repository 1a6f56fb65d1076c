#include "scheduler/store/progress_json.h"

#include "nlohmann/json.hpp"

namespace fgnn {
namespace {

template <typename T>
void Read(const nlohmann::json& json, const char* key, T& value) {
  const auto found = json.find(key);
  if (found != json.end() && found->is_number()) value = found->get<T>();
}

void ReadText(const nlohmann::json& json, const char* key, std::string& value) {
  const auto found = json.find(key);
  if (found != json.end() && found->is_string()) {
    value = found->get<std::string>();
  }
}

}  // namespace

std::string ProgressToJson(const JobProgress& progress) {
  return nlohmann::json{{"phase", progress.phase},
                        {"warning", progress.warning},
                        {"epochs", progress.epochs},
                        {"epochs_done", progress.epochs_done},
                        {"batches_per_epoch", progress.batches_per_epoch},
                        {"batches_committed", progress.batches_committed},
                        {"batches_expected", progress.batches_expected},
                        {"loss", progress.loss},
                        {"valid_accuracy", progress.valid_accuracy},
                        {"test_accuracy", progress.test_accuracy},
                        {"test_macro_f1", progress.test_macro_f1},
                        {"test_roc_auc", progress.test_roc_auc},
                        {"valid_mrr", progress.valid_mrr},
                        {"test_mrr", progress.test_mrr},
                        {"test_mean_rank", progress.test_mean_rank},
                        {"restarts", progress.restarts},
                        {"deaths_in_preparing", progress.deaths_in_preparing},
                        {"dataset_content", progress.dataset_content}}
      .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

JobProgress ProgressFromJson(const std::string& text) {
  JobProgress progress;
  const auto json = nlohmann::json::parse(text, nullptr,
                                          /*allow_exceptions=*/false);
  if (!json.is_object()) return progress;
  ReadText(json, "phase", progress.phase);
  ReadText(json, "warning", progress.warning);
  Read(json, "epochs", progress.epochs);
  Read(json, "epochs_done", progress.epochs_done);
  Read(json, "batches_per_epoch", progress.batches_per_epoch);
  Read(json, "batches_committed", progress.batches_committed);
  Read(json, "batches_expected", progress.batches_expected);
  Read(json, "loss", progress.loss);
  Read(json, "valid_accuracy", progress.valid_accuracy);
  Read(json, "test_accuracy", progress.test_accuracy);
  Read(json, "test_macro_f1", progress.test_macro_f1);
  Read(json, "test_roc_auc", progress.test_roc_auc);
  Read(json, "valid_mrr", progress.valid_mrr);
  Read(json, "test_mrr", progress.test_mrr);
  Read(json, "test_mean_rank", progress.test_mean_rank);
  Read(json, "restarts", progress.restarts);
  Read(json, "deaths_in_preparing", progress.deaths_in_preparing);
  Read(json, "dataset_content", progress.dataset_content);
  return progress;
}

}  // namespace fgnn
