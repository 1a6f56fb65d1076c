// Inference whose chunks a device computes, beside that of cores.
#include "trainer_service/infer/device_layers.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <set>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "tests/fakes/status_matchers.h"
#include "tests/unit/trainer_service/infer/host_device.h"
#include "tests/unit/trainer_service/infer/infer_world.h"
#include "trainer_service/infer/block_maker.h"
#include "trainer_service/infer/shared_inference.h"

namespace fgnn {
namespace {

Shape ShapeOf(const std::string& kind, uint32_t num_nodes = 60) {
  Shape shape;
  shape.num_nodes = num_nodes;
  shape.model.kind = kind;
  shape.model.layers = 3;
  shape.model.input_columns = 7;
  shape.model.hidden = 12;
  shape.model.num_classes = 5;
  shape.model.heads = 3;
  shape.model.residual = true;
  return shape;
}

std::vector<GlobalId> EveryVertexOf(const World& world) {
  std::vector<GlobalId> all(world.num_nodes());
  for (GlobalId v = 0; v < all.size(); ++v) all[v] = v;
  return all;
}

absl::StatusOr<std::vector<float>> LogitsOf(
    const InferenceInput& input, absl::Span<const GlobalId> vertices) {
  const size_t columns = input.model->options().num_classes;
  std::vector<float> logits(vertices.size() * columns, NAN);
  FGNN_RETURN_IF_ERROR(InferLogits(
      input, vertices, [&](size_t first, int64_t rows, const float* values) {
        std::copy_n(values, static_cast<size_t>(rows) * columns,
                    &logits[first * columns]);
      }));
  return logits;
}

void ExpectTheSameLogits(const std::vector<float>& values,
                         const std::vector<float>& expected) {
  ASSERT_EQ(values.size(), expected.size());
  for (size_t i = 0; i < values.size(); ++i) {
    ASSERT_NEAR(values[i], expected[i], 1e-5 * (1 + std::abs(expected[i])))
        << i;
  }
}

// A world, and its logits as cores alone compute them.
struct Inference {
  explicit Inference(const Shape& shape, std::vector<GlobalId> more = {})
      : world(shape), input(world.Input()), vertices(EveryVertexOf(world)) {
    vertices.insert(vertices.end(), more.begin(), more.end());
    expected = LogitsOf(input, vertices).value();
  }
  std::vector<float> LogitsOn(InferenceDevice* device) {
    input.device = device;
    return LogitsOf(input, vertices).value();
  }
  void ExpectTheSameOn(InferenceDevice* device) {
    ExpectTheSameLogits(LogitsOn(device), expected);
  }

  World world;
  InferenceInput input;
  std::vector<GlobalId> vertices;
  std::vector<float> expected;
};

TEST(DeviceLayersTest, HasTheLogitsOfCores) {
  for (const std::string kind : {"graphsage", "gcn", "gin", "gat"}) {
    for (const bool bfloat16 : {false, true}) {
      SCOPED_TRACE(kind);
      Shape shape = ShapeOf(kind, 700);
      shape.bfloat16 = bfloat16;
      Inference of(shape, {17});  // Once more.
      // Enough for some 20 vertices and their neighbours.
      HostDevice device(of.input.model, 100);
      of.ExpectTheSameOn(&device);
      EXPECT_GT(device.num_chunks, 3 * 700 / 100U);
      EXPECT_LE(device.largest, 100U);
      EXPECT_EQ(device.num_open, 0);
    }
  }
}

TEST(DeviceLayersTest, LeavesVerticesWithTooManyNeighborsToCores) {
  Inference of(ShapeOf("graphsage"));
  // No destination fits; messages do.
  HostDevice none(of.input.model, 1);
  of.ExpectTheSameOn(&none);
  EXPECT_LE(none.largest, 1U);
  // The hub has all vertices as sources.
  HostDevice some(of.input.model, 50);
  of.ExpectTheSameOn(&some);
  EXPECT_GT(some.num_chunks, 0U);
}

// Layers that send products and that send features.
TEST(DeviceLayersTest, NamesTheVerticesWhoseFeaturesItNeeds) {
  for (const uint64_t columns : {7, 20}) {
    for (const bool bfloat16 : {false, true}) {
      Shape shape = ShapeOf("graphsage");
      shape.model.input_columns = columns;
      shape.bfloat16 = bfloat16;
      Inference of(shape);
      HostDevice device(of.input.model, 100);
      device.features = of.input.features;
      of.ExpectTheSameOn(&device);
      EXPECT_GT(device.num_features, 60U);
    }
  }
}

// Of every width, and with features that are no floats.
TEST(DeviceLayersTest, KeepsHiddenStatesOnTheDevice) {
  for (const std::string kind : {"graphsage", "gcn", "gin", "gat"}) {
    for (const uint64_t columns : {7, 20}) {
      for (const bool bfloat16 : {false, true}) {
        SCOPED_TRACE(kind);
        Shape shape = ShapeOf(kind, 700);
        shape.model.input_columns = columns;
        shape.bfloat16 = bfloat16;
        Inference of(shape, {17});  // Once more.
        HostDevice device(of.input.model, 4000);
        const std::vector<float> expected = of.LogitsOn(&device);
        EXPECT_EQ(device.num_kept, 0U);
        const uint64_t chunks = device.num_chunks;
        of.input.keeps_on_device = true;
        EXPECT_EQ(of.LogitsOn(&device), expected);
        EXPECT_EQ(device.num_chunks, 2 * chunks);
        // Outputs of two layers, and messages of one at least.
        EXPECT_GE(device.num_kept, 3 * 700U);
        EXPECT_EQ(device.num_given_back, 0U);
        device.may_keep = false;
        device.num_kept = 0;
        EXPECT_EQ(of.LogitsOn(&device), expected);
        EXPECT_EQ(device.num_kept, 0U);
      }
    }
  }
}

// Cores then go on with the host's arrays: from the hub on, or once the device
// has no memory any more.
TEST(DeviceLayersTest, GivesHiddenStatesBackWhereCoresNeedThem) {
  for (const std::string kind : {"graphsage", "gcn", "gat"}) {
    for (const uint64_t columns : {7, 20}) {
      for (const uint64_t memory : {uint64_t{0}, uint64_t{10000}}) {
        SCOPED_TRACE(kind);
        Shape shape = ShapeOf(kind, 700);
        shape.model.input_columns = columns;
        shape.bfloat16 = true;
        Inference of(shape);
        HostDevice device(of.input.model, 300);  // The hub has no room.
        device.memory = memory;
        of.input.keeps_on_device = true;
        of.ExpectTheSameOn(&device);
        EXPECT_EQ(device.num_given_back, 1U);
        EXPECT_EQ(device.num_open, 0);
      }
    }
  }
}

// The last layer alone has a vertex that is too large: it needs what the layers
// before have kept.
TEST(DeviceLayersTest, GivesBackWhatEarlierLayersHaveKept) {
  Inference of(ShapeOf("graphsage", 700));
  HostDevice device(of.input.model, 4000);
  device.room_of_last = 300;  // Without the hub.
  of.input.keeps_on_device = true;
  of.ExpectTheSameOn(&device);
  EXPECT_EQ(device.num_given_back, 1U);
  EXPECT_GE(device.num_kept, 3 * 700U);
}

TEST(DeviceLayersTest, TakesLessWhereThereIsNoMemory) {
  Inference of(ShapeOf("gcn"));
  HostDevice device(of.input.model, 1000);
  device.memory = 40;
  of.ExpectTheSameOn(&device);
  EXPECT_GT(device.num_chunks, 0U);
  EXPECT_LE(device.largest, 40U);
}

TEST(DeviceLayersTest, LeavesAllToCoresWithoutMemory) {
  Inference of(ShapeOf("gat"));
  HostDevice device(of.input.model, 1000);
  device.memory = 0;
  EXPECT_EQ(of.LogitsOn(&device), of.expected);
  device.memory = UINT64_MAX;
  device.begins_with = absl::ResourceExhaustedError("no memory for weights");
  EXPECT_EQ(of.LogitsOn(&device), of.expected);
  EXPECT_EQ(device.num_chunks, 0U);
  EXPECT_EQ(device.num_open, 0);
}

TEST(DeviceLayersTest, AsksWhetherToGoOn) {
  World world(ShapeOf("gin", 5000));
  InferenceInput input = world.Input();
  HostDevice device(input.model, 10'000);
  input.device = &device;
  const std::vector<GlobalId> all = EveryVertexOf(world);
  std::atomic<int> asked = 0;
  input.check = [&asked] { return ++asked, absl::OkStatus(); };
  FGNN_ASSERT_OK(LogitsOf(input, all).status());
  const int on_device = asked;
  // Cores take the place of the device, and are asked for each chunk too.
  device.memory = 0;
  asked = 0;
  FGNN_ASSERT_OK(LogitsOf(input, all).status());
  EXPECT_GT(asked, on_device);
  for (const int questions : {0, on_device / 2, on_device}) {
    asked = 0;
    input.check = [&asked, questions] {
      return ++asked > questions ? absl::CancelledError("given up")
                                 : absl::OkStatus();
    };
    EXPECT_THAT(LogitsOf(input, all), Cancelled());
    EXPECT_EQ(device.num_open, 0);
  }
}

TEST(DeviceLayersTest, ReturnsTheDevicesErrors) {
  World world(ShapeOf("gin"));
  InferenceInput input = world.Input();
  const std::vector<GlobalId> all = EveryVertexOf(world);
  HostDevice device(input.model, 1000);
  input.device = &device;
  device.fails_with = absl::InternalError("it is lost");
  EXPECT_THAT(LogitsOf(input, all), Internal("it is lost"));
  device.fails_with = absl::OkStatus();
  device.begins_with = absl::InternalError("it was lost");
  EXPECT_THAT(LogitsOf(input, all), Internal("it was lost"));
  EXPECT_EQ(device.num_open, 0);
}

// Two with devices and one with cores alone, each with a world of its own.
TEST(DeviceLayersTest, SharesAnInferenceWithOthers) {
  const Shape shape = ShapeOf("graphsage", 3000);
  World alone(shape);
  const std::vector<GlobalId> all = EveryVertexOf(alone);
  FGNN_ASSERT_OK_AND_ASSIGN(const auto expected, LogitsOf(alone.Input(), all));
  const UniqueFd memory(
      ::memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(::fcntl(memory.get(), F_ADD_SEALS, F_SEAL_SHRINK), 0);
  // Each process gets the rows that it computes itself.
  std::vector<float> logits(expected.size(), NAN);
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&, i] {
      World world(shape);
      InferenceInput input = world.Input();
      HostDevice device(input.model, 4000);
      input.keeps_on_device = true;  // But others need what it makes.
      if (i < 2) input.device = &device;
      const auto shared =
          SharedInference::Open(Duplicate(memory.get())).value();
      input.shared = shared.get();
      const size_t columns = world.options().num_classes;
      EXPECT_THAT(
          InferLogits(input, all,
                      [&](size_t first, int64_t rows, const float* values) {
                        std::copy_n(values, static_cast<size_t>(rows) * columns,
                                    &logits[first * columns]);
                      }),
          IsOk());
    });
  }
  for (std::thread& thread : threads) thread.join();
  ExpectTheSameLogits(logits, expected);
}

TEST(DeviceLayersTest, CountsTheHostsMemoryOfADevice) {
  World world(ShapeOf("graphsage"));
  InferenceInput input = world.Input();
  const uint64_t without = InferenceBytes(input);
  HostDevice device(input.model, 1);
  input.device = &device;
  EXPECT_EQ(InferenceBytes(input),
            without + device.HostBytes(0, 0) + 60 * sizeof(uint32_t));
}

TEST(BlockMakerTest, NumbersEachSourceOnce) {
  World world(ShapeOf("gcn"));
  const InferenceInput input = world.Input();
  const CscView& graph = *input.graph;
  std::vector<float> scales(60);
  for (size_t v = 0; v < 60; ++v) scales[v] = static_cast<float>(v);
  ThreadTeam team(3);
  BlockMaker maker(&graph, &team);
  // Twice, so that places of the first block are free again; with a hub.
  for (const std::vector<GlobalId>& nodes :
       {std::vector<GlobalId>{5, 3, 9, 5}, std::vector<GlobalId>{59, 0}}) {
    FGNN_ASSERT_OK(maker.Make(nodes, scales.data()));
    const InferenceBlock& block = maker.block();
    ASSERT_EQ(block.num_destinations(), nodes.size());
    ASSERT_EQ(block.num_sources, maker.sources().size());
    for (size_t i = 0; i < nodes.size(); ++i) {
      EXPECT_EQ(maker.sources()[i], nodes[i]);
      std::vector<GlobalId> neighbors;
      for (uint32_t e = block.indptr[i]; e < block.indptr[i + 1]; ++e) {
        neighbors.push_back(maker.sources()[block.indices[e]]);
      }
      const auto all = std::get<absl::Span<const uint32_t>>(graph.indices);
      const auto begin = static_cast<size_t>(graph.indptr[nodes[i]]);
      const auto end = static_cast<size_t>(graph.indptr[nodes[i] + 1]);
      EXPECT_THAT(neighbors,
                  testing::ElementsAreArray(all.subspan(begin, end - begin)));
    }
    const std::set<GlobalId> others(
        maker.sources().begin() + static_cast<ptrdiff_t>(nodes.size()),
        maker.sources().end());
    EXPECT_EQ(others.size() + nodes.size(), maker.sources().size());
    for (const GlobalId v : nodes) EXPECT_EQ(others.count(v), 0U);
    for (size_t s = 0; s < block.num_sources; ++s) {
      EXPECT_EQ(block.degree_scales[s], scales[maker.sources()[s]]);
    }
  }
}

}  // namespace
}  // namespace fgnn
