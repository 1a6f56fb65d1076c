#include "tools/fgnn/reports/progress.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "shared/base/json_text.h"
#include "shared/base/printable_text.h"
#include "shared/base/units.h"
#include "tools/fgnn/reports/job_text.h"
#include "tools/fgnn/reports/message_json.h"
#include "tools/fgnn/reports/score_text.h"

namespace fgnn {
namespace {

constexpr int kWidestBar = 30;
constexpr int kNarrowestBar = 5;
// Returns to the first column and wipes the line.
constexpr char kWipeLine[] = "\r\x1b[K";

std::string FormatRate(double per_second) {
  if (per_second >= 1e9) return absl::StrFormat("%.1f G ", per_second / 1e9);
  if (per_second >= 1e6) return absl::StrFormat("%.1f M ", per_second / 1e6);
  if (per_second >= 1e3) return absl::StrFormat("%.1f k ", per_second / 1e3);
  return absl::StrFormat("%.0f ", per_second);
}

std::string Bar(double share, int width) {
  const int done = static_cast<int>(std::clamp(share, 0.0, 1.0) *
                                    static_cast<double>(width));
  std::string bar(static_cast<size_t>(width), ' ');
  std::fill_n(bar.begin(), done, '=');
  if (done < width) bar[static_cast<size_t>(done)] = '>';
  return "[" + bar + "]";
}

std::string Clip(std::string line, int width) {
  if (static_cast<int>(line.size()) > width) {
    line.resize(static_cast<size_t>(std::max(width, 0)));
  }
  return line;
}

// Returns true if the job evaluates an epoch, or its last weights.
bool Evaluates(const v1::Job& job) {
  const v1::JobProgress& p = job.progress();
  return job.state() == v1::JOB_STATE_RUNNING &&
         (p.has_evaluated() || absl::StartsWith(p.phase(), "evaluating"));
}

// Returns true if the job is in training and an epoch has begun.
bool InEpoch(const v1::Job& job) {
  const v1::JobProgress& p = job.progress();
  return job.state() == v1::JOB_STATE_RUNNING && p.batches_per_epoch() > 0 &&
         p.epochs_done() < p.epochs() && !Evaluates(job);
}

std::string Phase(const v1::Job& job) {
  const std::string state = StateName(job.state());
  const std::string& phase = job.progress().phase();
  if (!job.waiting_for().empty()) {
    return state + ": " + PrintableText(job.waiting_for());
  }
  if (HasEnded(job.state()) || phase.empty() || phase == state) return state;
  return state + ": " + phase;
}

std::string EvaluationLine(const v1::JobProgress& progress, int width) {
  const std::string phase = PrintableText(progress.phase());
  if (!progress.has_evaluated()) return Clip(phase, width);
  const std::string tail =
      absl::StrFormat(" %d %%", static_cast<int>(100 * progress.evaluated()));
  const int left = width - static_cast<int>(phase.size() + tail.size()) - 3;
  if (left < kNarrowestBar) return Clip(phase + tail, width);
  return absl::StrCat(
      phase, " ", Bar(progress.evaluated(), std::min(left, kWidestBar)), tail);
}

std::string FormatRank(double rank) { return absl::StrFormat("%.2f", rank); }

// Appends "  NAME 0.5000" if the score is known.
void AppendScore(const char* name, const std::optional<double>& score,
                 std::string (*format)(double), std::string* text) {
  if (score.has_value()) {
    absl::StrAppend(text, "  ", name, " ", format(*score));
  }
}

// Returns the scores of the epoch's validation.
std::string ScoresText(const EpochMetrics& epoch) {
  std::string text;
  const auto append = [&](const char* name, const char* key,
                          std::string (*format)(double)) {
    AppendScore(name, NumberIn(epoch, key), format, &text);
  };
  append("valid", "valid_accuracy", FormatShare);
  append("valid MRR", "valid_mrr", FormatScore);
  append("mean rank", "valid_mean_rank", FormatRank);
  append("valid RMSE", "valid_rmse", FormatError);
  append("MAE", "valid_mae", FormatError);
  append("R2", "valid_r2", FormatScore);
  append("valid micro-F1", "valid_micro_f1", FormatScore);
  append(epoch.contains("valid_micro_f1") ? "macro-F1" : "F1", "valid_macro_f1",
         FormatScore);
  return text;
}

}  // namespace

std::string ProgressLine(const v1::Job& job, int width) {
  const v1::JobProgress& p = job.progress();
  if (Evaluates(job)) return EvaluationLine(p, width);
  if (!InEpoch(job)) return Clip(Phase(job), width);
  const uint64_t before = uint64_t{p.epochs_done()} * p.batches_per_epoch();
  const uint64_t batch =
      std::min(p.batches_committed() - std::min(before, p.batches_committed()),
               p.batches_per_epoch());
  const std::string head =
      absl::StrFormat("epoch %d/%d ", p.epochs_done() + 1, p.epochs());
  std::string tail = absl::StrCat(" ", batch, "/", p.batches_per_epoch());
  std::vector<std::string> parts = {absl::StrFormat("loss %.4f", p.loss())};
  if (p.edges_per_second() > 0) {
    parts.push_back(FormatRate(p.edges_per_second()) + "edges/s");
  }
  if (p.seconds_left() >= 0) {
    parts.push_back(FormatSeconds(p.seconds_left()) + " left");
  }
  for (const std::string& part : parts) {
    if (static_cast<int>(head.size() + tail.size() + part.size()) + 2 <=
        width) {
      tail += "  " + part;
    }
  }
  const int left = width - static_cast<int>(head.size() + tail.size()) - 2;
  if (left < kNarrowestBar) return Clip(head + tail.substr(1), width);
  const double share =
      static_cast<double>(batch) / static_cast<double>(p.batches_per_epoch());
  return head + Bar(share, std::min(left, kWidestBar)) + tail;
}

std::string EpochLine(const EpochMetrics& epoch, uint32_t num_epochs) {
  std::string line = absl::StrFormat(
      "epoch %d/%d", static_cast<int>(NumberIn(epoch, "epoch").value_or(0)),
      num_epochs);
  if (const auto loss = NumberIn(epoch, "loss"); loss.has_value()) {
    absl::StrAppendFormat(&line, "  loss %.4f", *loss);
  }
  line += ScoresText(epoch);
  if (const auto seconds = NumberIn(epoch, "seconds"); seconds.has_value()) {
    line += "  " + FormatSeconds(*seconds);
  }
  return line;
}

std::string TrendText(const EpochTrend& trend, Objective objective) {
  std::string text;
  if (trend.best().has_value()) {
    const auto& [score, epoch] = *trend.best();
    absl::StrAppend(&text, "  best ", FormatCompared(objective, score),
                    " in epoch ", epoch);
  }
  if (trend.learning_rate().value_or(0) > 0) {
    absl::StrAppendFormat(&text, "  rate %.3g", *trend.learning_rate());
  }
  return text;
}

void ProgressReporter::Warn(const std::string& warning, std::string* last) {
  const bool shows_warnings =
      style_ != ProgressStyle::kJson && style_ != ProgressStyle::kNothing;
  if (!shows_warnings || warning == *last) return;
  *last = warning;
  if (warning.empty()) return;
  Clear();
  out_ << "warning: " << PrintableText(warning) << std::endl;
}

void ProgressReporter::TellWarnings(const v1::Job& job) {
  Warn(job.progress().warning(), &last_warning_);
  Warn(job.progress().checkpoint_warning(), &last_checkpoint_warning_);
}

void ProgressReporter::Update(const v1::Job& job, int width) {
  TellWarnings(job);
  switch (style_) {
    case ProgressStyle::kTerminal: {
      // One column is kept: a full line makes some terminals wrap.
      const std::string bar = ProgressLine(job, width - 1);
      if (bar != bar_) out_ << kWipeLine << bar << std::flush;
      bar_ = bar;
      return;
    }
    case ProgressStyle::kPlain: {
      if (InEpoch(job) || HasEnded(job.state())) return;
      // A quick evaluation is told of by the line of its epoch.
      if (Evaluates(job) && !job.progress().has_evaluated()) return;
      const std::string phase = Phase(job);
      if (phase != last_phase_) out_ << phase << std::endl;
      last_phase_ = phase;
      return;
    }
    case ProgressStyle::kJson: {
      nlohmann::ordered_json line = {{"type", "progress"},
                                     {"job_id", job.job_id()},
                                     {"state", StateName(job.state())},
                                     {"waiting_for", job.waiting_for()}};
      const nlohmann::ordered_json progress = ToJson(job.progress());
      for (const auto& [key, value] : progress.items()) {
        if (key != "executors") line[key] = value;
      }
      out_ << JsonText(line) << std::endl;
      return;
    }
    case ProgressStyle::kWarnings:
    case ProgressStyle::kNothing:
      return;
  }
}

void ProgressReporter::FinishEpoch(const EpochMetrics& epoch,
                                   const v1::Job& job) {
  if (style_ == ProgressStyle::kWarnings || style_ == ProgressStyle::kNothing) {
    return;
  }
  if (style_ == ProgressStyle::kJson) {
    nlohmann::ordered_json line = {{"type", "epoch"}};
    for (const auto& [key, value] : epoch.items()) line[key] = value;
    out_ << JsonText(line) << std::endl;
    return;
  }
  Clear();
  if (!trend_.has_value()) trend_.emplace(job.spec());
  trend_->Add(epoch);
  out_ << EpochLine(epoch, job.progress().epochs())
       << TrendText(*trend_, ObjectiveOfJob(job)) << std::endl;
}

void ProgressReporter::Clear() {
  if (!bar_.empty()) out_ << kWipeLine << std::flush;
  bar_.clear();
}

}  // namespace fgnn
