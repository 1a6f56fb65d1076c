// The same as import_account_test.cc for arrays and for folders of them.
#include "tests/unit/tools/dataset/import_account_fixture.h"

namespace fgnn {

std::string ImportAccountTest::Features(Draw& draw, uint64_t num_nodes) {
  options_.fill = {draw.OneOf(2) ? GapFill::Kind::kMean : GapFill::Kind::kValue,
                   0};
  std::vector<float> values;
  for (uint64_t i = 0; i < 2 * num_nodes; ++i) {
    values.push_back(static_cast<float>(draw.Below(9)));
    if (i < 2 || !draw.OneOf(5)) continue;  // A mean needs a number.
    values.back() = NAN;
    ++missing_["column " + std::to_string(i % 2)];
  }
  return Npy<float>({num_nodes, 2}, values);
}

std::string ImportAccountTest::Labels(Draw& draw, uint64_t num_nodes) {
  std::vector<int64_t> labels;
  for (uint64_t v = 0; v < num_nodes; ++v) {
    labels.push_back(v == 0 ? 0 : static_cast<int64_t>(draw.Below(3)) - 1);
    labelled_ += static_cast<uint64_t>(labels.back() >= 0);
  }
  return Npy(labels);
}

Result ImportAccountTest::Arrays(Draw& draw, Expected* edges,
                                 Expected* vertices, bool npz) {
  const uint64_t num_nodes = 3 + draw.Below(20);
  const Edges drawn = draw.MakeEdges(num_nodes);
  CountEdges(drawn, options_, edges);
  edges->read = drawn.size();
  std::map<std::string, std::string> arrays;
  const bool pairs = npz && draw.OneOf(2);
  if (!pairs) {
    vertices->read = vertices->made = num_nodes;
    for (const auto& [name, array] : CompressedLists(drawn, num_nodes, npz)) {
      arrays[(npz ? "adj_" : "") + name] = array;
    }
  } else {
    arrays["edge_index"] = EdgeIndex(drawn);
  }
  if (pairs || draw.OneOf(2)) {
    arrays[npz ? "x" : "features"] = Features(draw, num_nodes);
  }
  if (draw.OneOf(2)) arrays["labels"] = Labels(draw, num_nodes);
  if (npz) return From(ImportNpz, {WriteNpz("in.npz", arrays)});
  NumpySource source;
  source.folder = folder_ / "numpy";
  for (const auto& [name, array] : arrays) {
    Write("numpy/" + name + ".npy", array);
  }
  return From(ImportNumpy, source);
}

std::string ImportAccountTest::PairsText(Draw& draw, const Edges& drawn,
                                         Expected* edges) {
  GeneratedText text(draw, {});
  for (const auto& [from, to] : drawn) {
    text.Add(Quoted(draw, std::to_string(from)) + "," + std::to_string(to));
  }
  return text.Take(edges);
}

Result ImportAccountTest::Ogb(Draw& draw, Expected* edges) {
  const uint64_t num_nodes = 3 + draw.Below(20);
  const Edges drawn = draw.MakeEdges(num_nodes);
  CountEdges(drawn, options_, edges);
  Write("ogb/raw/num-node-list.csv", std::to_string(num_nodes) + "\n");
  WriteGz("ogb/raw/edge.csv.gz", PairsText(draw, drawn, edges));
  std::string features;
  std::string labels;
  options_.fill = {GapFill::Kind::kMean, 0};
  for (uint64_t v = 0; v < num_nodes; ++v) {
    features += v == 0 ? "1,2" : "3," + OrMissing(draw, "column 1", "0.5");
    features += "\n";
    const bool known = v == 0 || !draw.OneOf(4);
    labels += known ? "1\n" : draw.OneOf(2) ? "nan\n" : "\"\"\n";
    labelled_ += static_cast<uint64_t>(known);
  }
  Write("ogb/raw/node-feat.csv", features);
  WriteGz("ogb/raw/node-label.csv.gz", labels);
  return From(ImportOgb, {folder_ / "ogb", {}, -1});
}

Result ImportAccountTest::GraphBolt(Draw& draw, Expected* edges) {
  const uint64_t num_nodes = 3 + draw.Below(20);
  const Edges drawn = draw.MakeEdges(num_nodes);
  CountEdges(drawn, options_, edges);
  const bool text = draw.OneOf(2);
  if (text) {
    Write("bolt/edges", PairsText(draw, drawn, edges));
  } else {
    Write("bolt/edges", EdgeIndex(drawn));
    edges->read = drawn.size();
  }
  Write("bolt/feat.npy", Features(draw, num_nodes));
  Write("bolt/metadata.yaml",
        "graph:\n  nodes: [{num: " + std::to_string(num_nodes) +
            "}]\n  edges: [{format: " + (text ? "csv" : "numpy") +
            ", path: edges}]\nfeature_data: [{domain: node, name: feat, "
            "format: numpy, path: feat.npy}]\n");
  return From(ImportGraphBolt, {folder_ / "bolt", {}, {}});
}

Result ImportAccountTest::Debian(Draw& draw, Expected* edges,
                                 Expected* vertices) {
  options_ = ImportOptions();
  options_.out = folder_ / "out";
  const uint64_t num_packages = 3 + draw.Below(10);
  std::vector<uint64_t> given;  // Packages in the order of their stanzas.
  std::set<uint64_t> provided;  // Packages that provide "mail".
  std::string text = draw.OneOf(3) ? "\xEF\xBB\xBF" : "";
  Edges drawn;
  uint64_t mail_relations = 0;
  std::vector<int64_t> mail_users;
  const auto relate = [&](int64_t from) {
    const uint64_t to = draw.Below(num_packages);
    ++edges->read;
    drawn.emplace_back(static_cast<int64_t>(to), from);
    return "p" + std::to_string(to);
  };
  for (uint64_t p = 0; p < num_packages || draw.OneOf(2); ++p) {
    const uint64_t package = p < num_packages ? p : draw.Below(num_packages);
    ++vertices->read;
    text += "Package: p" + std::to_string(package) + "\n";
    if (p >= num_packages) {
      ++vertices->left_out["of a package that was there before"];
      text += "Depends: p0\n\n\n";
      continue;
    }
    const auto id = static_cast<int64_t>(package);
    if (draw.OneOf(4)) {
      text += "Section: net\n";
      ++labelled_;
    } else {
      ++missing_["Section"];
    }
    text += "Depends: " + relate(id) + " (>= 1), " + relate(id);
    if (draw.OneOf(3)) {
      text += " | mail";
      ++edges->read;
      mail_users.push_back(id);
    }
    if (draw.OneOf(3)) {
      text += ", nobody-has-this";
      ++edges->read;
      ++edges->left_out["that no package has or provides"];
    }
    text += "\n";
    if (draw.OneOf(4)) {
      text += "Provides: mail\n";
      provided.insert(package);
    }
    text += "\n";
  }
  for (const int64_t user : mail_users) {
    for (const uint64_t p : provided) {
      drawn.emplace_back(static_cast<int64_t>(p), user);
      ++mail_relations;
    }
  }
  if (provided.empty() && !mail_users.empty()) {
    edges->left_out["that no package has or provides"] += mail_users.size();
  } else if (mail_relations > mail_users.size()) {
    edges->added["further providers"] = mail_relations - mail_users.size();
  }
  vertices->made = num_packages;
  ImportOptions counted = options_;
  counted.symmetric = true;
  counted.drop_self_loops = true;
  CountEdges(drawn, counted, edges);
  DebianSource source;
  source.path = Write("Packages", text);
  source.feature_columns = 4;
  return From(ImportDebian, source);
}

TEST_F(ImportAccountTest, OfAnNpzArchiveAddsUp) {
  ForEachSource([this](Draw& draw, Expected* edges, Expected* vertices) {
    return Arrays(draw, edges, vertices, /*npz=*/true);
  });
}

TEST_F(ImportAccountTest, OfNumpyFilesAddsUp) {
  ForEachSource([this](Draw& draw, Expected* edges, Expected* vertices) {
    return Arrays(draw, edges, vertices, /*npz=*/false);
  });
}

TEST_F(ImportAccountTest, OfOgbAddsUp) {
  ForEachSource([this](Draw& draw, Expected* edges, Expected*) {
    return Ogb(draw, edges);
  });
}

TEST_F(ImportAccountTest, OfGraphBoltAddsUp) {
  ForEachSource([this](Draw& draw, Expected* edges, Expected*) {
    return GraphBolt(draw, edges);
  });
}

TEST_F(ImportAccountTest, OfDebianAddsUp) {
  ForEachSource([this](Draw& draw, Expected* edges, Expected* vertices) {
    return Debian(draw, edges, vertices);
  });
}

}  // namespace fgnn
