#include "trainer_service/backend/cpu/planned_cache.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "shared/base/status.h"
#include "shared/base/units.h"
#include "shared/telemetry/log.h"

namespace fgnn {
namespace {

// Returns the rows of a table that are there now.
FeatureCache CacheIn(const FeatureStore* store,
                     const std::shared_ptr<HotTable>& table) {
  return FeatureCache(store,
                      std::shared_ptr<const std::byte>(table, table->rows()),
                      table->filled_rows());
}

}  // namespace

BatchMisses LoadedCache::MissesOf(const TaskView& task) const {
  // Ranks of another order do not fit this cache.
  const bool is_marked =
      task.rank_order_version == rank_order_version && !task.hot_rank.empty();
  const size_t count = task.num_loaded_nodes();
  return {task.input_nodes.first(count),
          is_marked ? task.hot_rank.first(count) : task.hot_rank.first(0),
          cache.capacity()};
}

PlannedCache::PlannedCache(const FeatureStore* store, bool looks_ahead,
                           std::chrono::milliseconds patience)
    : store_(store),
      looks_ahead_(looks_ahead),
      patience_(patience),
      now_(std::make_shared<const LoadedCache>(
          LoadedCache{.plan = {}, .cache = FeatureCache(store)})) {}

std::shared_ptr<const LoadedCache> PlannedCache::now() const {
  const MutexLock lock(&mutex_);
  if (now_->table != nullptr &&
      now_->cache.capacity() < now_->table->filled_rows()) {
    LoadedCache more = *now_;
    more.cache = CacheIn(store_, more.table);
    now_ = std::make_shared<const LoadedCache>(std::move(more));
  }
  return now_;
}

void PlannedCache::Set(LoadedCache cache) {
  auto next = std::make_shared<const LoadedCache>(std::move(cache));
  const MutexLock lock(&mutex_);
  now_ = std::move(next);
}

UniqueFd PlannedCache::SharedTable() const {
  const std::shared_ptr<HotTable> table = now()->table;
  return table == nullptr ? UniqueFd() : Duplicate(table->fd());
}

bool PlannedCache::IsFollowed(const TrainerCache& plan) const {
  const std::shared_ptr<const LoadedCache> cached = now();
  if (cached->plan != plan) return false;
  return cached->table == nullptr || cached->table->is_full() ||
         cached->table->num_reclaims() == cached->num_reclaims;
}

void PlannedCache::CacheNothing(const TrainerCache& plan,
                                const absl::Status& why) {
  const bool try_again = plan.table != 0 && (absl::IsUnavailable(why) ||
                                             absl::IsDeadlineExceeded(why));
  if (!try_again || !was_told_) {
    LogWarning("no features are cached{}: {}", try_again ? " yet" : "",
               MessageOf(why));
  }
  was_told_ = try_again;
  Set({.plan = try_again ? TrainerCache{} : plan,
       .cache = FeatureCache(store_)});
}

absl::Status PlannedCache::Follow(const TrainerCache& plan,
                                  const Dataset& dataset, ThreadTeam& team) {
  if (IsFollowed(plan)) return absl::OkStatus();
  if (plan.rank_order_key == 0 || plan.rows == 0) {
    Set({.plan = plan, .cache = FeatureCache(store_)});
    return absl::OkStatus();
  }
  // The old cache is freed first, since there may be no room for both.
  if (now()->plan != plan) Set({.plan = {}, .cache = FeatureCache(store_)});
  const absl::StatusOr<RankOrder> order =
      RankOrder::Open(dataset, plan.rank_order_key);
  if (!order.ok()) {
    CacheNothing(plan, order.status());
    return absl::OkStatus();
  }
  return plan.table == 0 ? FollowOwn(plan, *order, team)
                         : FollowShared(plan, *order, team);
}

absl::Status PlannedCache::FollowOwn(const TrainerCache& plan,
                                     const RankOrder& order, ThreadTeam& team) {
  const uint64_t of_window =
      looks_ahead_ ? RowWindow::ShareOf(plan.rows, store_->num_rows()) : 0;
  const uint64_t in_window =
      RowWindow::RowsIn(of_window * store_->row_bytes(), store_->num_rows(),
                        store_->num_columns());
  std::shared_ptr<RowWindow> window;
  if (in_window > 0) {
    FGNN_ASSIGN_OR_RETURN(window, RowWindow::Make(in_window, store_->num_rows(),
                                                  store_->num_columns()));
  }
  const uint64_t rows = in_window > 0 ? plan.rows - of_window : plan.rows;
  FGNN_ASSIGN_OR_RETURN(FeatureCache loaded,
                        FeatureCache::Load(store_, order.Hottest(rows), team));
  LogInfo("cached the features of {} vertices, {}{}", loaded.capacity(),
          FormatBytes(loaded.bytes()),
          in_window > 0 ? absl::StrCat(", and keeps ", in_window,
                                       " rows that the next batches need")
                        : "");
  Set({.plan = plan,
       .cache = std::move(loaded),
       .rank_order_version = order.version(),
       .window = std::move(window)});
  return absl::OkStatus();
}

absl::Status PlannedCache::FollowShared(const TrainerCache& plan,
                                        const RankOrder& order,
                                        ThreadTeam& team) {
  // A table of which something was given back is filled again as it is.
  absl::StatusOr<std::shared_ptr<HotTable>> table = now()->table;
  if (*table == nullptr) table = OpenTable(plan);
  if (!table.ok()) {
    CacheNothing(plan, table.status());
    return absl::OkStatus();
  }
  was_told_ = false;
  LoadedCache cached = {.plan = {},
                        .cache = CacheIn(store_, *table),
                        .rank_order_version = order.version(),
                        .table = *table,
                        .num_reclaims = (*table)->num_reclaims()};
  // A scheduler that is started again gets the table also while it is filled.
  if (now()->table == nullptr) Set(cached);
  FGNN_ASSIGN_OR_RETURN(const uint64_t rows,
                        FillHotTable(*store_, order.Hottest(plan.rows),
                                     source_.owner, team, **table, patience_));
  LogInfo(
      "caches the features of {} vertices in table {} of all trainers, {}; {} "
      "were read here",
      (*table)->filled_rows(), plan.table,
      FormatBytes(plan.rows * store_->row_bytes()), rows);
  cached.plan = plan;
  cached.cache = CacheIn(store_, *table);
  Set(std::move(cached));
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<HotTable>> PlannedCache::OpenTable(
    const TrainerCache& plan) {
  if (source_.open == nullptr) {
    return absl::FailedPreconditionError("this trainer shares no tables");
  }
  FGNN_ASSIGN_OR_RETURN(UniqueFd fd, source_.open(plan.table));
  FGNN_ASSIGN_OR_RETURN(
      std::shared_ptr<HotTable> table,
      HotTable::Open(std::move(fd), source_.job_key, HotTablePart::kAll));
  const HotTableShape& shape = table->shape();
  if (shape.number == plan.table && shape.rows == plan.rows &&
      shape.rank_order_key == plan.rank_order_key &&
      shape.row_bytes == store_->row_bytes()) {
    return table;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("table ", shape.number, " has ", shape.rows, " rows of ",
                   shape.row_bytes, " bytes; table ", plan.table,
                   " is to have ", plan.rows, " of ", store_->row_bytes()));
}

void PlannedCache::GiveUpMoreThan(const TrainerCache& plan) {
  const std::shared_ptr<const LoadedCache> cached = now();
  const bool is_of_another_table =
      cached->table != nullptr && cached->plan.table != plan.table;
  if (!is_of_another_table && cached->cache.capacity() <= plan.rows) return;
  Set({.plan = {}, .cache = FeatureCache(store_)});
}

}  // namespace fgnn
