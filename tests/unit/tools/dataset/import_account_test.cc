// The account of each importer is compared with that of its source's generator.
// `--sources=2000` draws so many sources of each format.
#include "tests/unit/tools/dataset/import_account_fixture.h"

namespace fgnn {

std::string ImportAccountTest::CsvNodesText(
    Draw& draw, const std::vector<std::string>& ids,
    const std::vector<std::string>& comments, Expected* vertices) {
  GeneratedText text(draw, comments);
  text.AddHeader("remark,label,x,id,y,split");
  for (const std::string& id : ids) {
    std::string label = draw.OneOf(2) ? "red" : "blue";
    // In quotes it is the name of a class.
    if (draw.OneOf(6)) label = Quoted(draw, "NA", /*always=*/true);
    const uint64_t before = missing_["label"];
    label = OrMissing(draw, "label", label);
    const bool has_label = missing_["label"] == before;
    labelled_ += static_cast<uint64_t>(has_label);
    std::string split = draw.Of(std::vector<std::string>{"train", "val"});
    if (!has_label || draw.OneOf(3)) {
      split = draw.Missing();
      ++missing_["split"];
    }
    const bool two_lines = draw.OneOf(6);
    text.Add((two_lines ? "\"a\nb, c\"" : "text") + ("," + label) + "," +
             OrMissing(draw, "x", std::to_string(draw.Below(100))) + "," + id +
             "," + std::to_string(draw.Below(9)) + "," + split);
    text.CountContinuations(static_cast<uint64_t>(two_lines));
  }
  std::erase_if(missing_,
                [](const auto& column) { return column.second == 0; });
  vertices->made = ids.size();
  return text.Take(vertices);
}

Result ImportAccountTest::Csv(Draw& draw, Expected* edges, Expected* vertices) {
  CsvSource source;
  const uint64_t num_nodes = 3 + draw.Below(20);
  const Edges drawn = draw.MakeEdges(num_nodes);
  const bool has_nodes = draw.OneOf(2);
  const bool has_weights = draw.OneOf(2);
  std::vector<std::string> comments;
  if (draw.OneOf(2)) {
    source.comments = "#%";
    comments = {"# made by hand", "%", "#,\"an open quote",
                "  # behind blanks"};
  }
  source.string_ids = !has_nodes && draw.OneOf(2);
  source.bipartite = !has_nodes && draw.OneOf(4);
  // Names that look like comments, missing values or numbers.
  std::vector<std::string> ids;
  for (uint64_t v = 0; v < num_nodes; ++v) {
    const std::string number = std::to_string(v);
    const bool any_text = has_nodes || source.string_ids;
    const bool marked = any_text && draw.OneOf(4);
    ids.push_back(!any_text ? number
                  : v == 0  ? Quoted(draw, "NA", /*always=*/true)
                  : marked
                      ? Quoted(draw, "#" + number, !source.comments.empty())
                      : Quoted(draw, number));
  }
  if (has_weights) {
    source.weight_column = "w";
    options_.fill = {GapFill::Kind::kValue, 2};
  }
  if (draw.OneOf(2)) options_.fill = {GapFill::Kind::kMean, 0};
  // Half of the sources without gaps need no fill.
  GeneratedText text(draw, comments);
  text.AddHeader("note,source,w,destination");
  bool has_number = false;
  for (const auto& [from, to] : drawn) {
    const bool two_lines = draw.OneOf(8);
    std::string weight = std::to_string(1 + draw.Below(3));
    if (has_weights && has_number) weight = OrMissing(draw, "w", weight);
    has_number = true;
    text.Add(std::string(two_lines ? "\"1\n2\"" : "") + "," +
             ids[static_cast<size_t>(from)] + "," + weight + "," +
             ids[static_cast<size_t>(to)]);
    text.CountContinuations(static_cast<uint64_t>(two_lines));
  }
  source.edges = Write("edges.csv", text.Take(edges));
  if (has_nodes) {
    if (options_.fill.kind == GapFill::Kind::kRefuse) {
      options_.fill = {GapFill::Kind::kValue, -1};
      if (has_weights) options_.fill.value = 3;
    }
    source.nodes = {
        Write("nodes.csv", CsvNodesText(draw, ids, comments, vertices))};
  }
  if (source.bipartite) {
    Edges apart = drawn;
    for (auto& edge : apart) edge.second += static_cast<int64_t>(num_nodes);
    CountEdges(apart, options_, edges);
  } else {
    CountEdges(drawn, options_, edges);
  }
  return From(ImportCsv, source);
}

Result ImportAccountTest::EdgeList(Draw& draw, Expected* edges) {
  EdgeListSource source;
  const uint64_t num_nodes = 3 + draw.Below(20);
  Edges drawn = draw.MakeEdges(num_nodes);
  source.string_ids = draw.OneOf(2);
  source.bipartite = draw.OneOf(4);
  std::vector<std::string> comments = {"# made by hand", "%", "## two marks"};
  if (!source.string_ids) comments.push_back("#no blank");
  if (draw.OneOf(4)) {
    source.comments = ";";
    comments = {"; made by hand", ";"};
  }
  const bool has_weights = draw.OneOf(2);
  if (has_weights) options_.fill = {GapFill::Kind::kValue, 2};
  GeneratedText text(draw, comments);
  if (draw.OneOf(2)) text.AddHeader("source target");
  const auto name = [&](int64_t v) {
    const bool marked = source.string_ids && v % 3 == 0;
    return (marked ? "#" : "") + std::to_string(v);
  };
  for (const auto& [from, to] : drawn) {
    std::string line = name(from) + draw.Of(separators_) + name(to);
    if (has_weights) {
      std::string weight = std::to_string(draw.Below(3));
      if (draw.OneOf(5)) {
        weight = draw.OneOf(2) ? "NA" : "null";
        ++missing_["word 3"];
      }
      line += draw.Of(separators_) + weight;
    }
    text.Add(draw.OneOf(4) ? " " + line + " " : line);
  }
  source.path = Write("edges.txt", text.Take(edges));
  if (source.bipartite) {
    for (auto& edge : drawn) edge.second += static_cast<int64_t>(num_nodes);
  }
  CountEdges(drawn, options_, edges);
  return From(ImportEdgeList, source);
}

TEST_F(ImportAccountTest, OfCsvAddsUp) {
  ForEachSource([this](Draw& draw, Expected* edges, Expected* vertices) {
    return Csv(draw, edges, vertices);
  });
}

TEST_F(ImportAccountTest, OfAnEdgeListAddsUp) {
  ForEachSource([this](Draw& draw, Expected* edges, Expected*) {
    return EdgeList(draw, edges);
  });
}

TEST(ImportAccountCheckTest, AnAccountThatDoesNotAddUpIsAnError) {
  ImportAccount account;
  account.tables.push_back({.source = "edges.csv",
                            .unit = "lines",
                            .read = 5,
                            .product = "edges",
                            .made = 3});
  EXPECT_THAT(CheckAccount(account, 2, 3),
              StatusIs(absl::StatusCode::kInternal,
                       testing::HasSubstr("5 lines went in, 3 came out")));
  AddReason("blank", 2, "line 2", account.tables[0].left_out);
  EXPECT_THAT(CheckAccount(account, 2, 3), IsOk());
  EXPECT_THAT(CheckAccount(account, 2, 4),
              StatusIs(absl::StatusCode::kInternal));
}

}  // namespace fgnn
