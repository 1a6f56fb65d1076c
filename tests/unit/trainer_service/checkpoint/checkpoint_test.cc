#include "trainer_service/checkpoint/checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "shared/base/files/file.h"
#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"
#include "tests/unit/trainer_service/random_floats.h"
#include "trainer_service/checkpoint/safetensors.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

CheckpointInfo SmallInfo() {
  CheckpointInfo info;
  info.job_id = "j-\"quoted\" crc32c\":\"";
  info.model.layers = 2;
  info.model.hidden = 6;
  info.model.input_columns = 11;
  info.model.num_classes = 3;
  info.model.dropout = 0.1;
  info.model.input_dropout = 1.0 / 3;
  info.model.heads = 3;
  info.model.attention_dropout = 0.7;
  info.model.normalization = "layer";
  info.model.degree_norm = "right";
  info.model.residual = true;
  info.version = 12345678901234;
  info.epoch = 7;
  info.seed = UINT64_MAX;
  return info;
}

void WriteBytes(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

class CheckpointTest : public testing::Test {
 protected:
  CheckpointTest()
      : path_(folder_ / "epoch-0007.safetensors"),
        info_(SmallInfo()),
        weights_(NormalFloats(NumParameters(info_.model), 1)),
        state_(NormalFloats(2 * NumParameters(info_.model), 2)) {}

  void Write() {
    FGNN_ASSERT_OK(WriteCheckpoint(path_, info_, {weights_, state_}));
  }
  std::string Bytes() { return *ReadSmallFile(path_); }

  TempFolder folder_;
  fs::path path_;
  CheckpointInfo info_;
  std::vector<float> weights_;
  std::vector<float> state_;
};

TEST_F(CheckpointTest, ReadsBackWhatWasWritten) {
  Write();
  FGNN_ASSERT_OK_AND_ASSIGN(const Checkpoint read, ReadCheckpoint(path_));
  EXPECT_EQ(read.weights, weights_);
  EXPECT_EQ(read.optimizer_state, state_);
  EXPECT_EQ(read.info.job_id, info_.job_id);
  EXPECT_EQ(read.info.version, info_.version);
  EXPECT_EQ(read.info.epoch, info_.epoch);
  EXPECT_EQ(read.info.seed, info_.seed);
  EXPECT_EQ(read.info.model, info_.model);
  // Nothing else is left in the folder.
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_.path()), {}), 1);
}

TEST_F(CheckpointTest, SaysHowGradientsWereShared) {
  Write();
  EXPECT_THAT(Bytes(), testing::Not(HasSubstr("\"sync\"")));
  info_.sync = "nccl, in any order";
  Write();
  FGNN_ASSERT_OK_AND_ASSIGN(const Checkpoint read, ReadCheckpoint(path_));
  EXPECT_EQ(read.info.sync, info_.sync);
}

TEST_F(CheckpointTest, SaysOnWhichGpusItWasTrained) {
  Write();
  EXPECT_THAT(Bytes(), testing::Not(testing::HasSubstr("\"gpu\"")));
  info_.gpu = "NVIDIA H100 80GB HBM3";
  Write();
  FGNN_ASSERT_OK_AND_ASSIGN(const Checkpoint read, ReadCheckpoint(path_));
  EXPECT_EQ(read.info.gpu, info_.gpu);
}

TEST_F(CheckpointTest, SaysThatItsModelPredictsLinks) {
  info_.model.objective = Objective::kLinks;
  info_.model.num_classes = 0;
  weights_ = NormalFloats(NumParameters(info_.model), 1);
  state_ = NormalFloats(2 * weights_.size(), 2);
  Write();
  FGNN_ASSERT_OK_AND_ASSIGN(const Checkpoint read, ReadCheckpoint(path_));
  EXPECT_EQ(read.info.model.objective, Objective::kLinks);
  EXPECT_EQ(read.weights, weights_);
  EXPECT_THAT(Bytes(), HasSubstr("link_prediction"));
}

TEST_F(CheckpointTest, SaysThatItsModelHasTargets) {
  for (const Objective objective :
       {Objective::kValues, Objective::kLabelSets}) {
    info_.model.objective = objective;
    info_.names.targets = {"price", "", "rooms"};
    Write();
    EXPECT_THAT(Bytes(), HasSubstr(std::string(TaskOf(objective))));
    FGNN_ASSERT_OK_AND_ASSIGN(const Checkpoint read, ReadCheckpoint(path_));
    EXPECT_EQ(read.info.model.objective, objective);
    EXPECT_EQ(read.info.names, info_.names);
    EXPECT_EQ(read.weights, weights_);
  }
}

TEST_F(CheckpointTest, ReadsBackTheClassAndTheInterpreterOfAModel) {
  info_.model.kind = "python";
  info_.model.file = "/models/sage.py";
  info_.model.class_name = "Sage";
  info_.model.python = "/venv/bin/python";
  info_.parameters = {{.name = "w", .shape = {7}}};
  weights_ = NormalFloats(7, 1);
  state_ = NormalFloats(14, 2);
  Write();
  FGNN_ASSERT_OK_AND_ASSIGN(const Checkpoint read, ReadCheckpoint(path_));
  EXPECT_EQ(read.info.model.file, "/models/sage.py");
  EXPECT_EQ(read.info.model.class_name, "Sage");
  EXPECT_EQ(read.info.model.python, "/venv/bin/python");
}

// A user's model is what its parameters are.
TEST_F(CheckpointTest, ReadsBackAUsersModelByItsTensors) {
  info_.model.kind = "plugin";
  info_.model.plugin = "sage";
  info_.code_crc32c = 4294967295U;
  info_.parameters = {{.name = "layers.0.z", .shape = {2, 3}, .offset = 0},
                      {.name = "layers.1.a", .shape = {}, .offset = 6}};
  weights_ = NormalFloats(7, 1);
  state_ = NormalFloats(14, 2);
  Write();
  FGNN_ASSERT_OK_AND_ASSIGN(const Checkpoint read, ReadCheckpoint(path_));
  EXPECT_EQ(read.weights, weights_);
  EXPECT_EQ(read.optimizer_state, state_);
  EXPECT_EQ(read.info.model.plugin, "sage");
  EXPECT_EQ(read.info.code_crc32c, info_.code_crc32c);
  EXPECT_THAT(CheckParameters(read.info, info_.parameters), IsOk());
  info_.parameters[1].shape = {1};
  EXPECT_THAT(CheckParameters(read.info, info_.parameters),
              InvalidArgument("no layers.1.a [1]"));
  info_.parameters.pop_back();
  EXPECT_THAT(CheckParameters(read.info, info_.parameters),
              InvalidArgument("2 parameters, the user's model 1"));
}

TEST_F(CheckpointTest, KeepsTheStateOfEveryOptimizer) {
  const size_t parameters = weights_.size();
  for (const size_t floats : {0, 1, 2}) {
    state_ = NormalFloats(floats * parameters, 3);
    Write();
    FGNN_ASSERT_OK_AND_ASSIGN(const Checkpoint read, ReadCheckpoint(path_));
    EXPECT_EQ(read.optimizer_state, state_) << floats;
    EXPECT_EQ(Bytes().find("optimizer.momentum.convs.0.lin_l.weight") !=
                  std::string::npos,
              floats == 1);
  }
  for (const size_t size : {3 * parameters, parameters - 1, parameters + 1}) {
    state_ = NormalFloats(size, 3);
    EXPECT_THAT(WriteCheckpoint(path_, info_, {weights_, state_}),
                InvalidArgument("optimizer state"))
        << size;
  }
}

// As the format's specification says, so that Python reads it.
TEST_F(CheckpointTest, IsAPlainSafetensorsFile) {
  Write();
  const std::string bytes = Bytes();
  uint64_t header_bytes = 0;
  std::memcpy(&header_bytes, bytes.data(), 8);
  ASSERT_LE(8 + header_bytes, bytes.size());
  EXPECT_EQ((8 + header_bytes) % 8, 0U);
  EXPECT_EQ(bytes[8], '{');
  const auto header = nlohmann::json::parse(bytes.substr(8, header_bytes));
  uint64_t end = 0;
  std::map<uint64_t, uint64_t> ranges;
  for (const auto& [name, tensor] : header.items()) {
    if (name == "__metadata__") {
      for (const auto& value : tensor) EXPECT_TRUE(value.is_string());
      continue;
    }
    EXPECT_EQ(tensor["dtype"], "F32");
    const uint64_t begin = tensor["data_offsets"][0];
    ranges[begin] = tensor["data_offsets"][1];
    uint64_t size = 4;
    for (const uint64_t extent : tensor["shape"]) size *= extent;
    EXPECT_EQ(ranges[begin] - begin, size) << name;
  }
  for (const auto& [begin, range_end] : ranges) {
    EXPECT_EQ(begin, end);
    end = range_end;
  }
  EXPECT_EQ(8 + header_bytes + end, bytes.size());
  const auto weight = header["convs.0.lin_l.weight"];
  EXPECT_EQ(weight["shape"], (std::vector<int>{6, 11}));
  const uint64_t at = weight["data_offsets"][0];
  EXPECT_EQ(0, std::memcmp(bytes.data() + 8 + header_bytes + at,
                           weights_.data(), 6 * 11 * sizeof(float)));
  EXPECT_TRUE(header.contains("optimizer.m.convs.1.lin_l.bias"));
  EXPECT_TRUE(header.contains("optimizer.v.convs.1.lin_r.weight"));
}

TEST_F(CheckpointTest, ReplacesTheOldFileOnlyByAWholeOne) {
  Write();
  const std::string before = Bytes();
  weights_.pop_back();
  EXPECT_THAT(WriteCheckpoint(path_, info_, {weights_, state_}),
              InvalidArgument());
  EXPECT_EQ(Bytes(), before);
  EXPECT_THAT(
      WriteCheckpoint(folder_ / "no" / "such", info_,
                      {NormalFloats(NumParameters(info_.model), 1), state_}),
      NotFound());
}

TEST_F(CheckpointTest, SaysThatAMissingFileIsMissing) {
  EXPECT_THAT(ReadCheckpoint(path_), NotFound("epoch-0007"));
}

TEST_F(CheckpointTest, RefusesEveryTruncation) {
  Write();
  const std::string bytes = Bytes();
  for (size_t length = 0; length < bytes.size(); length += 97) {
    WriteBytes(path_, bytes.substr(0, length));
    ASSERT_THAT(ReadCheckpoint(path_), DataLoss(path_.string()))
        << "cut to " << length;
  }
  WriteBytes(path_, bytes + "x");
  EXPECT_THAT(ReadCheckpoint(path_), DataLoss());
}

TEST_F(CheckpointTest, RefusesEveryFlippedBit) {
  Write();
  const std::string bytes = Bytes();
  std::fstream file(path_, std::ios::binary | std::ios::in | std::ios::out);
  const auto put = [&file](size_t at, char byte) {
    file.seekp(static_cast<std::streamoff>(at));
    file.put(byte);
    file.flush();
  };
  for (size_t at = 0; at < bytes.size(); ++at) {
    put(at, static_cast<char>(bytes[at] ^ (1 << (at % 8))));
    ASSERT_THAT(ReadCheckpoint(path_), DataLoss()) << "byte " << at;
    put(at, bytes[at]);
  }
  FGNN_ASSERT_OK(ReadCheckpoint(path_));
}

// A header of the right checksum and wrong content: what a buggy or hostile
// writer would make.
class ForgedTest : public CheckpointTest {
 protected:
  // Writes tensors and metadata as they are, with a good checksum.
  absl::Status ReadForged(const std::map<std::string, std::string>& metadata,
                          const std::vector<Tensor>& tensors) {
    EXPECT_THAT(WriteSafetensors(path_, metadata, tensors), IsOk());
    return ReadCheckpoint(path_).status();
  }

  // The metadata and tensors of a good checkpoint.
  std::pair<std::map<std::string, std::string>, std::vector<Tensor>> Good() {
    Write();
    auto file = SafetensorsFile::Open(path_);
    EXPECT_THAT(file, IsOk());
    std::vector<Tensor> tensors;
    values_.clear();
    for (const StoredTensor& stored : file->tensors()) {
      values_.emplace_back(stored.num_values);
      EXPECT_THAT(file->Read(stored, values_.back().data()), IsOk());
      tensors.push_back({stored.name, stored.shape, values_.back()});
    }
    return {file->metadata(), std::move(tensors)};
  }

  std::vector<std::vector<float>> values_;  // Those of the tensors.
};

TEST_F(ForgedTest, RefusesMetadataThatDoesNotFitItsTensors) {
  auto [metadata, tensors] = Good();
  FGNN_ASSERT_OK(ReadForged(metadata, tensors));
  const std::vector<std::pair<std::string, std::string>> changes = {
      {"format", "other"},
      {"format_version", "4"},
      {"format_version", "6"},
      {"task", "clustering"},
      {"format_version", "x"},
      {"model.hidden", "7"},
      {"model.hidden", "65536"},
      {"model.hidden", "-1"},
      {"model.layers", "99999999"},
      {"model.input_columns", "16777216"},
      {"model.num_classes", "0"},
      {"model.dropout", "nan"},
      {"model.degree_norm", "left"},
      {"model.kind", "gat"},
      {"version", "1e5"},
      {"epoch", ""},
      {"seed", "18446744073709551616"}};
  for (const auto& [key, value] : changes) {
    auto changed = metadata;
    changed[key] = value;
    EXPECT_THAT(ReadForged(changed, tensors), InvalidArgument(path_.string()))
        << key << "=" << value;
    changed.erase(key);
    EXPECT_THAT(ReadForged(changed, tensors), InvalidArgument())
        << "without " << key;
  }
}

TEST_F(ForgedTest, RefusesTensorsOfAnotherModel) {
  const auto [metadata, tensors] = Good();
  auto fewer = tensors;
  fewer.pop_back();
  EXPECT_THAT(ReadForged(metadata, fewer), InvalidArgument());
  EXPECT_THAT(ReadForged(metadata, {}), InvalidArgument("holds 0 floats"));
  auto renamed = tensors;
  renamed[3].name = "convs.9.lin_l.weight";
  EXPECT_THAT(ReadForged(metadata, renamed), InvalidArgument());
  auto reshaped = tensors;
  std::swap(reshaped[0].shape[0], reshaped[0].shape[1]);
  EXPECT_THAT(ReadForged(metadata, reshaped), InvalidArgument());
}

}  // namespace
}  // namespace fgnn
