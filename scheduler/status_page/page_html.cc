#include "scheduler/status_page/page_html.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "shared/base/printable_text.h"
#include "shared/base/status.h"
#include "shared/base/units.h"

namespace fgnn {
namespace {

constexpr std::string_view kJobs = "<!--jobs-->";
constexpr size_t kLongestCell = 200;

std::string Cell(std::string_view text) {
  return absl::StrCat("<td>", HtmlText(PrintableText(text, kLongestCell)),
                      "</td>");
}

// Returns why the job waits or failed, or what it does.
std::string NoteOf(const Job& job) {
  if (!job.waiting_for.empty()) return job.waiting_for;
  if (job.state == JobState::kFailed) return MessageOf(job.error);
  return IsFinal(job.state) ? "" : job.progress.phase;
}

std::string RowOf(const Job& job) {
  const JobProgress& progress = job.progress;
  return absl::StrCat(
      "<tr>", Cell(job.id), Cell(job.options.name), Cell(job.user),
      Cell(NameOf(job.state)),
      Cell(absl::StrCat(progress.epochs_done, " of ", progress.epochs)),
      Cell(absl::StrFormat("%.4f", progress.loss)),
      Cell(FormatSeconds(job.run_seconds)), Cell(NoteOf(job)), "</tr>\n");
}

}  // namespace

std::string HtmlText(std::string_view text) {
  std::string html;
  for (const char letter : text) {
    switch (letter) {
      case '&':
        html += "&amp;";
        break;
      case '<':
        html += "&lt;";
        break;
      case '>':
        html += "&gt;";
        break;
      case '"':
        html += "&quot;";
        break;
      case '\'':
        html += "&#39;";
        break;
      default:
        html += letter;
    }
  }
  return html;
}

std::string PageHtml(std::string_view page, const std::vector<Job>& jobs) {
  std::string rows;
  for (const Job& job : jobs) rows += RowOf(job);
  std::string html(page);
  const size_t at = html.find(kJobs);
  if (at != std::string::npos) html.replace(at, kJobs.size(), rows);
  return html;
}

}  // namespace fgnn
