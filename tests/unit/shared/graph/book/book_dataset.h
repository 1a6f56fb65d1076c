// Datasets of any edges, for tests of partition books.
#ifndef FGNN_TESTS_UNIT_SHARED_GRAPH_BOOK_BOOK_DATASET_H_
#define FGNN_TESTS_UNIT_SHARED_GRAPH_BOOK_BOOK_DATASET_H_

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "shared/base/philox.h"
#include "shared/graph/dataset.h"
#include "tests/unit/shared/graph/dataset_folder.h"

namespace fgnn {

class BookDatasetTest : public DatasetTest {
 protected:
  Dataset Open(uint64_t num_nodes, std::vector<Edge> edges,
               std::vector<int64_t> train) {
    std::stable_sort(edges.begin(), edges.end(),
                     [](const Edge& a, const Edge& b) {
                       return a.destination < b.destination;
                     });
    content_.metadata.num_nodes = num_nodes;
    content_.metadata.num_edges = edges.size();
    content_.indptr.assign(num_nodes + 1, 0);
    content_.indices.clear();
    content_.names.clear();
    for (const Edge& edge : edges) {
      ++content_.indptr[edge.destination + 1];
      content_.indices.push_back(static_cast<uint32_t>(edge.source));
    }
    for (uint64_t v = 0; v < num_nodes; ++v) {
      content_.indptr[v + 1] += content_.indptr[v];
      content_.names += "v\n";
    }
    content_.features.assign(2 * num_nodes, 0);
    content_.labels.assign(num_nodes, 0);
    content_.weights.assign(edges.size(), 1);
    content_.train = std::move(train);
    content_.valid.clear();
    Write();
    auto dataset = Dataset::Open(folder(), Validation::kEverything);
    EXPECT_THAT(dataset, IsOk());
    return *std::move(dataset);
  }

  // Edges between random vertices, with self-loops and equal edges.
  static std::vector<Edge> RandomEdges(uint64_t num_nodes, uint64_t count) {
    std::vector<Edge> edges;
    for (uint64_t i = 0; i < count; ++i) {
      edges.push_back({UniformBelow(Mix64(2 * i), num_nodes),
                       UniformBelow(Mix64(2 * i + 1), num_nodes)});
      if (i % 7 == 0) edges.push_back(edges.back());
      if (i % 11 == 0)
        edges.push_back({edges.back().source, edges.back().source});
    }
    return edges;
  }

  // `count` rings of `size` vertices, each joined to the next by an edge, and
  // as many isolated vertices behind them as there are vertices in a ring.
  static std::vector<Edge> Rings(uint64_t count, uint64_t size) {
    std::vector<Edge> edges;
    for (uint64_t ring = 0; ring < count; ++ring) {
      for (uint64_t i = 0; i < size; ++i) {
        for (const uint64_t step : {1, 2, 3}) {
          edges.push_back({ring * size + i, ring * size + (i + step) % size});
        }
      }
      if (ring > 0) edges.push_back({ring * size, (ring - 1) * size});
    }
    return edges;
  }
};

}  // namespace fgnn

#endif  // FGNN_TESTS_UNIT_SHARED_GRAPH_BOOK_BOOK_DATASET_H_
