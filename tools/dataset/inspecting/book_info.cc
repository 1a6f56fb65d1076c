#include "tools/dataset/inspecting/book_info.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "shared/base/status.h"
#include "shared/base/units.h"

namespace fgnn {
namespace {

constexpr uint32_t kOwnersShown[] = {2, 3, 4, 6, 8};

std::string FormatAmounts(const OwnedAmounts& amounts) {
  return absl::StrFormat("%s to %s (skew %.3f)", FormatCount(amounts.least),
                         FormatCount(amounts.most), amounts.skew());
}

nlohmann::ordered_json AmountsToJson(const OwnedAmounts& amounts) {
  return {{"least", amounts.least},
          {"most", amounts.most},
          {"skew", amounts.skew()}};
}

}  // namespace

std::string InfoLine(std::string_view what, const std::string& text) {
  return absl::StrFormat("%-10s %s\n", std::string(what), text);
}

absl::StatusOr<BookInfo> ReadBookInfo(const Dataset& dataset,
                                      const PartitionBook& book) {
  FGNN_ASSIGN_OR_RETURN(const BookCounts counts, CountByParts(dataset, book));
  BookInfo info = {.key = book.key()};
  for (const uint32_t owners : kOwnersShown) {
    info.owners[owners] = FiguresOf(counts, owners);
  }
  return info;
}

std::string OwnersWarning(uint32_t owners, const OwnerFigures& figures) {
  std::string text;
  if (figures.without_vertex > 0) {
    absl::StrAppend(&text, ", without a vertex: ", figures.without_vertex);
  }
  if (figures.without_train > 0 && figures.train.most > 0) {
    absl::StrAppend(&text, ", without a train vertex: ", figures.without_train);
  }
  return text.empty() ? "" : absl::StrCat("of ", owners, " owners", text);
}

std::string FormatBook(const BookInfo& info) {
  if (!info.damage.empty()) return InfoLine("book", info.damage);
  std::string text =
      InfoLine("book", absl::StrCat(kFineParts, " fine parts, key ",
                                    absl::Hex(info.key, absl::kZeroPad16)));
  std::string warnings;
  for (const auto& [owners, figures] : info.owners) {
    text += InfoLine(
        absl::StrCat("  ", owners, " owners"),
        absl::StrFormat(
            "local edges %.1f %%, vertices %s, work %s, train %s",
            100 * figures.local_edges, FormatAmounts(figures.vertices),
            FormatAmounts(figures.work), FormatAmounts(figures.train)));
    const std::string warning = OwnersWarning(owners, figures);
    if (!warning.empty()) warnings += InfoLine("warning", warning);
  }
  return text + warnings;
}

nlohmann::ordered_json BookToJson(const BookInfo& info) {
  if (!info.damage.empty()) return {{"damage", info.damage}};
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const auto& [owners, figures] : info.owners) {
    all.push_back({{"owners", owners},
                   {"local_edges", figures.local_edges},
                   {"vertices", AmountsToJson(figures.vertices)},
                   {"work", AmountsToJson(figures.work)},
                   {"train", AmountsToJson(figures.train)},
                   {"without_vertex", figures.without_vertex},
                   {"without_train", figures.without_train}});
  }
  return {{"key", absl::StrCat(absl::Hex(info.key, absl::kZeroPad16))},
          {"owners", std::move(all)}};
}

}  // namespace fgnn
