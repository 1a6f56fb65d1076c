#include "tools/fgnn/reports/progress.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "shared/base/json_text.h"
#include "shared/base/printable_text.h"
#include "shared/base/units.h"
#include "tools/fgnn/reports/job_text.h"
#include "tools/fgnn/reports/message_json.h"

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

// Returns true if the job is in training and an epoch has begun.
bool InEpoch(const v1::Job& job) {
  const v1::JobProgress& p = job.progress();
  return job.state() == v1::JOB_STATE_RUNNING && p.batches_per_epoch() > 0 &&
         p.epochs_done() < p.epochs();
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

}  // namespace

std::string ProgressLine(const v1::Job& job, int width) {
  const v1::JobProgress& p = job.progress();
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
  const auto number = [&epoch](const char* key) {
    const auto found = epoch.find(key);
    return found != epoch.end() && found->is_number() ? found->get<double>()
                                                      : -1.0;
  };
  std::string line = absl::StrFormat("epoch %d/%d  loss %.4f",
                                     static_cast<int>(number("epoch")),
                                     num_epochs, number("loss"));
  if (number("valid_accuracy") >= 0) {
    line += "  valid " + FormatShare(number("valid_accuracy"));
  }
  if (number("valid_mrr") >= 0) {
    line += absl::StrFormat("  valid MRR %.4f  mean rank %.2f",
                            number("valid_mrr"), number("valid_mean_rank"));
  }
  if (number("valid_macro_f1") >= 0) {
    line += absl::StrFormat("  F1 %.4f", number("valid_macro_f1"));
  }
  if (number("seconds") >= 0) line += "  " + FormatSeconds(number("seconds"));
  return line;
}

std::string TrendText(const EpochTrend& trend, bool predicts_links) {
  std::string text;
  if (trend.best().has_value()) {
    const auto& [score, epoch] = *trend.best();
    absl::StrAppend(
        &text, "  best ",
        predicts_links ? absl::StrFormat("%.4f", score) : FormatShare(score),
        " in epoch ", epoch);
  }
  if (trend.learning_rate().value_or(0) > 0) {
    absl::StrAppendFormat(&text, "  rate %.3g", *trend.learning_rate());
  }
  return text;
}

void ProgressReporter::Update(const v1::Job& job, int width) {
  const std::string& warning = job.progress().warning();
  const bool shows_warning =
      style_ != ProgressStyle::kJson && style_ != ProgressStyle::kNothing;
  if (shows_warning && warning != last_warning_) {
    Clear();
    out_ << "warning: " << PrintableText(warning) << std::endl;
    last_warning_ = warning;
  }
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
  const bool predicts_links = job.spec().training().task() == "link_prediction";
  out_ << EpochLine(epoch, job.progress().epochs())
       << TrendText(*trend_, predicts_links) << std::endl;
}

void ProgressReporter::Clear() {
  if (!bar_.empty()) out_ << kWipeLine << std::flush;
  bar_.clear();
}

}  // namespace fgnn
