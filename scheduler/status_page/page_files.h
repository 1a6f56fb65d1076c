// The files of the folder page/, which the build puts into the program.
#ifndef FGNN_SCHEDULER_STATUS_PAGE_PAGE_FILES_H_
#define FGNN_SCHEDULER_STATUS_PAGE_PAGE_FILES_H_

#include <string_view>

#include "absl/types/span.h"

namespace fgnn {

struct PageFile {
  std::string_view path;  // Path of its URL, such as "/status.css".
  std::string_view content_type;
  std::string_view text;
};

// Returns all files but the page itself.
absl::Span<const PageFile> PageFiles();

// Returns the page itself, index.html.
std::string_view IndexHtml();

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_STATUS_PAGE_PAGE_FILES_H_
