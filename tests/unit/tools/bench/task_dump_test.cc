#include "tools/bench/files/task_dump.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "shared/minibatch/task.h"
#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"
#include "tools/dataset/reading/array_stream.h"

namespace fgnn {
namespace {

using testing::ElementsAre;

TEST(TaskDumpTest, WritesTheWeightsOfTheHopsThatHaveThem) {
  alignas(64) std::byte block[4096] = {};
  TaskWriter writer(absl::MakeSpan(block), /*job_key=*/7, BatchSeq(0),
                    /*num_seeds=*/1);
  for (const bool with_weights : {true, false}) {
    const uint32_t num_destinations = with_weights ? 1 : 2;
    FGNN_ASSERT_OK_AND_ASSIGN(
        const TaskWriter::HopArrays hop,
        writer.AddHop(num_destinations, /*num_edges=*/2, with_weights));
    std::fill_n(hop.indptr, num_destinations + 1, 2u);
    hop.indptr[0] = 0;
    std::fill_n(hop.indices, 2, 1u);
    if (with_weights) std::fill_n(hop.weights, 2, 0.25f);
    writer.SetNumSources(2);
  }
  FGNN_ASSERT_OK_AND_ASSIGN(uint32_t* const nodes, writer.AddInputNodes(2));
  nodes[0] = 40;
  nodes[1] = 30;
  writer.Finish({});
  FGNN_ASSERT_OK_AND_ASSIGN(const TaskView task,
                            ReadTask(absl::MakeSpan(block), 7));

  const TempFolder folder;
  FGNN_ASSERT_OK(WriteTaskNpz(task, folder / "task.npz"));

  FGNN_ASSERT_OK_AND_ASSIGN(const NpzArchive archive,
                            NpzArchive::Open(folder / "task.npz"));
  EXPECT_THAT(archive.Names(),
              ElementsAre("seeds", "input_nodes", "hop0_indptr", "hop0_indices",
                          "hop0_weights", "hop1_indptr", "hop1_indices"));
  FGNN_ASSERT_OK_AND_ASSIGN(ArrayStream weights,
                            archive.OpenArray("hop0_weights"));
  std::vector<float> read(2);
  FGNN_ASSERT_OK(weights.Read(absl::MakeSpan(read)));
  EXPECT_THAT(read, ElementsAre(0.25f, 0.25f));
}

}  // namespace
}  // namespace fgnn
