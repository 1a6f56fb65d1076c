#include "tools/python/native/c_api.h"

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/types/span.h"
#include "nlohmann/json.hpp"
#include "shared/base/clock.h"
#include "shared/base/status.h"
#include "shared/base/threads/exceptions.h"
#include "shared/config/job_spec_proto.h"
#include "shared/telemetry/log_level.h"
#include "tools/python/native/batch_loader.h"

static_assert(FGNN_LOADER_MOST_HOPS == fgnn::kMaxHops);

struct fgnn_loader {
  std::unique_ptr<fgnn::BatchLoader> loader;
  std::string facts;
};

struct fgnn_batch {
  std::unique_ptr<fgnn::LoadedBatch> batch;
  std::shared_ptr<fgnn::BatchPool> pool;
};

namespace fgnn {
namespace {

// A thread's last error, which stays after the call.
std::string& LastError() {
  thread_local std::string message;
  return message;
}

int Call(absl::FunctionRef<absl::Status()> body) {
  const absl::Status status = InOneLine(CatchExceptions(body));
  LastError() = MessageOf(status);
  return static_cast<int>(status.code());
}

absl::StatusOr<v1::JobSpec> ReadJob(const nlohmann::json& request) {
  if (request.contains("job_file")) {
    return ReadJobFile(request.at("job_file").get<std::string>(),
                       request.at("overrides").get<std::vector<std::string>>());
  }
  return ParseJobYaml(request.at("job").get<std::string>(), "fgnn.loader");
}

// The process is the user's: nothing but warnings belongs on its stderr.
void InitLogOnce() {
  static const bool done = [] {
    InitLog("fgnn.loader");
    SetLeastLogLevel(LogLevel::kWarning);
    return true;
  }();
  static_cast<void>(done);
}

absl::Status Open(const nlohmann::json& request,
                  absl::Span<const int64_t> seeds, fgnn_loader* opened) {
  FGNN_ASSIGN_OR_RETURN(const v1::JobSpec written, ReadJob(request));
  // The devices are the service's; a loader has threads.
  FGNN_ASSIGN_OR_RETURN(const v1::JobSpec effective,
                        MakeEffective(written, {"cpu:0"}));
  JobBatchesOptions source_options = {
      .spec = FromProto(effective),
      .split = request.at("split").get<std::string>(),
      .seeds = {seeds.begin(), seeds.end()},
      .shuffle = request.at("shuffle").get<bool>(),
      .reads_features = request.at("reads_features").get<bool>(),
      .lists_edges = request.at("lists_edges").get<bool>(),
      .num_threads = request.at("threads").get<uint32_t>(),
      .state_dir = request.at("state_dir").get<std::string>()};
  const BatchLoaderOptions options = {
      .num_threads = source_options.num_threads,
      .ahead = request.at("ahead").get<uint32_t>(),
      .rank = request.at("rank").get<uint32_t>(),
      .world = request.at("world").get<uint32_t>(),
      .drops_last = request.at("drops_last").get<bool>()};
  FGNN_ASSIGN_OR_RETURN(std::unique_ptr<JobBatches> source,
                        JobBatches::Open(std::move(source_options)));
  const Dataset& dataset = source->dataset();
  opened->facts =
      nlohmann::json{
          {"spec", ToYaml(effective, false)},
          {"dataset", absl::StrFormat("%016x", source->content_fingerprint())},
          {"num_nodes", dataset.num_nodes()},
          {"num_edges", dataset.num_edges()},
          {"num_classes", dataset.num_classes()},
          {"num_examples", source->num_examples()},
          {"batches_per_epoch", source->batches_per_epoch()},
          {"columns", source->num_columns()},
          {"has_labels", source->has_labels()},
          {"targets", source->num_targets()}}
          .dump();
  FGNN_ASSIGN_OR_RETURN(opened->loader,
                        BatchLoader::Start(std::move(source), options));
  return absl::OkStatus();
}

void ShowHops(const TaskView& task, fgnn_batch_view* view) {
  view->num_hops = static_cast<uint64_t>(task.num_hops);
  for (size_t h = 0; h < view->num_hops; ++h) {
    const BlockView& hop = task.hops[h];
    view->hops[h] = {
        .num_destinations = hop.num_destinations,
        .num_sources = hop.num_sources,
        .num_edges = hop.indices.size(),
        .indptr = hop.indptr.data(),
        .indices = hop.indices.data(),
        .weights = hop.weights.empty() ? nullptr : hop.weights.data()};
  }
}

void Show(const JobBatches& source, const LoadedBatch& batch,
          fgnn_batch_view* view) {
  const TaskView& task = batch.task;
  *view = {};
  ShowHops(task, view);
  view->seq = task.seq.value();
  view->digest = task.digest;
  view->num_seeds = task.num_seeds;
  view->num_nodes = task.input_nodes.size();
  view->num_pairs = task.num_pairs();
  view->num_positives = task.num_positives;
  view->num_edges = view->hops[view->num_hops - 1].num_edges;
  view->nodes = batch.nodes.data();
  view->features = source.num_columns() > 0 ? batch.features.data() : nullptr;
  view->labels = source.has_labels() ? batch.labels.data() : nullptr;
  view->targets = source.num_targets() > 0 ? batch.targets.data() : nullptr;
  view->edges = batch.edges.data();
  view->edge_places =
      batch.has_edge_places ? batch.edge_places.data() : nullptr;
  view->pairs = task.pairs.empty() ? nullptr : task.pairs.data();
}

}  // namespace
}  // namespace fgnn

int fgnn_loader_interface(void) { return FGNN_LOADER_INTERFACE; }

const char* fgnn_loader_error(void) { return fgnn::LastError().c_str(); }

int fgnn_loader_open(const char* request, const int64_t* seeds,
                     uint64_t num_seeds, fgnn_loader** loader) {
  return fgnn::Call([&] {
    fgnn::InitLogOnce();
    auto opened = std::make_unique<fgnn_loader>();
    FGNN_RETURN_IF_ERROR(fgnn::Open(nlohmann::json::parse(request),
                                    absl::MakeConstSpan(seeds, num_seeds),
                                    opened.get()));
    *loader = opened.release();
    return absl::OkStatus();
  });
}

void fgnn_loader_close(fgnn_loader* loader) { delete loader; }

const char* fgnn_loader_facts(fgnn_loader* loader) {
  return loader->facts.c_str();
}

int fgnn_loader_seek(fgnn_loader* loader, uint64_t batch,
                     uint64_t* num_batches) {
  return fgnn::Call([&] {
    FGNN_ASSIGN_OR_RETURN(*num_batches,
                          loader->loader->Seek(fgnn::BatchSeq(batch)));
    return absl::OkStatus();
  });
}

int fgnn_loader_next(fgnn_loader* loader, uint32_t milliseconds,
                     fgnn_batch** batch, fgnn_batch_view* view) {
  return fgnn::Call([&] {
    const fgnn::Deadline deadline =
        fgnn::DeadlineIn(std::chrono::milliseconds(milliseconds));
    fgnn::BatchLoader& from = *loader->loader;
    auto taken = std::make_unique<fgnn_batch>();
    FGNN_ASSIGN_OR_RETURN(taken->batch, from.Next(deadline));
    taken->pool = from.pool();
    fgnn::Show(from.source(), *taken->batch, view);
    *batch = taken.release();
    return absl::OkStatus();
  });
}

void fgnn_loader_release(fgnn_batch* batch) {
  batch->pool->GiveBack(std::move(batch->batch));
  delete batch;
}
