// What `fgnn dataset info` and `partition` say of a partition book.
#ifndef FGNN_TOOLS_DATASET_INSPECTING_BOOK_INFO_H_
#define FGNN_TOOLS_DATASET_INSPECTING_BOOK_INFO_H_

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "shared/graph/book/book_figures.h"
#include "shared/graph/book/partition_book.h"
#include "shared/graph/dataset.h"

namespace fgnn {

struct BookInfo {
  uint64_t key = 0;
  // By the number of owners.
  std::map<uint32_t, OwnerFigures> owners = {};
  // Reason why the book cannot be read, with the way out; empty: it was.
  std::string damage = {};
};

// Reads the figures for 2, 3, 4, 6 and 8 owners. Errors: CountByParts().
absl::StatusOr<BookInfo> ReadBookInfo(const Dataset& dataset,
                                      const PartitionBook& book);

// Returns how many owners have no vertex, and how many no train vertex although
// the dataset has some. Empty: none.
std::string OwnersWarning(uint32_t owners, const OwnerFigures& figures);

// Returns a line of `fgnn dataset info`, with its end.
std::string InfoLine(std::string_view what, const std::string& text);
// Returns several lines for people.
std::string FormatBook(const BookInfo& info);
nlohmann::ordered_json BookToJson(const BookInfo& info);

}  // namespace fgnn

#endif  // FGNN_TOOLS_DATASET_INSPECTING_BOOK_INFO_H_
