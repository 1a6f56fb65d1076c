// The page as HTML, with a table of the jobs for browsers without the script.
#ifndef FGNN_SCHEDULER_STATUS_PAGE_PAGE_HTML_H_
#define FGNN_SCHEDULER_STATUS_PAGE_PAGE_HTML_H_

#include <string>
#include <string_view>
#include <vector>

#include "scheduler/store/job.h"

namespace fgnn {

// Returns the text with the characters replaced that HTML gives a meaning to.
std::string HtmlText(std::string_view text);

// Returns `page` with the rows of a table for the jobs, running ones first, in
// the place of "<!--jobs-->".
std::string PageHtml(std::string_view page, const std::vector<Job>& jobs);

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_STATUS_PAGE_PAGE_HTML_H_
