// The arrows of the house (ARCHITECTURE.md, "The house"): which folder may
// include what. A wrong include usually fails to link; this says why.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

namespace fgnn {
namespace {

namespace fs = std::filesystem;

struct Include {
  std::string file;    // "shared/queue/segment.cc"
  std::string target;  // As written between quotes or angles.
};

bool IsSource(const fs::path& path) {
  const std::set<std::string> endings = {".h", ".cc", ".cu", ".cuh"};
  return endings.contains(path.extension().string());
}

std::vector<Include> IncludesOf(const fs::path& root,
                                const std::vector<std::string>& rooms) {
  const std::regex pattern(R"(^\s*#\s*include\s+["<]([^">]+)[">])");
  std::vector<Include> includes;
  for (const std::string& room : rooms) {
    for (const auto& entry : fs::recursive_directory_iterator(root / room)) {
      if (!entry.is_regular_file() || !IsSource(entry.path())) continue;
      std::ifstream in(entry.path());
      std::string line;
      std::smatch match;
      while (std::getline(in, line)) {
        // The search is slow, and most lines include nothing.
        if (line.find("include") == std::string::npos) continue;
        if (std::regex_search(line, match, pattern)) {
          includes.push_back(
              {fs::relative(entry.path(), root).string(), match[1].str()});
        }
      }
    }
  }
  return includes;
}

bool StartsWith(const std::string& text, const std::string& prefix) {
  return text.rfind(prefix, 0) == 0;
}

bool StartsWithAny(const std::string& text,
                   const std::vector<std::string>& prefixes) {
  return std::any_of(
      prefixes.begin(), prefixes.end(),
      [&text](const std::string& prefix) { return StartsWith(text, prefix); });
}

std::string Folder(const std::string& file) {
  return fs::path(file).parent_path().string();
}

std::string Describe(const Include& include) {
  return include.file + " includes " + include.target;
}

class ArrowsTest : public testing::Test {
 protected:
  void SetUp() override {
    const char* root = std::getenv("FGNN_SOURCE_DIR");
    ASSERT_NE(root, nullptr) << "set FGNN_SOURCE_DIR to the root of the tree";
    includes_ = IncludesOf(root, {"shared", "sampler_service",
                                  "trainer_service", "scheduler", "tools"});
    ASSERT_GT(includes_.size(), 100U);
  }

  // The includes that `is_foreign` picks out, except from `allowed` folders.
  template <typename Predicate>
  std::vector<std::string> Violations(const std::vector<std::string>& allowed,
                                      Predicate is_foreign) const {
    std::vector<std::string> found;
    for (const Include& include : includes_) {
      if (is_foreign(include) && !StartsWithAny(include.file, allowed)) {
        found.push_back(Describe(include));
      }
    }
    return found;
  }

  std::vector<Include> includes_;
};

TEST_F(ArrowsTest, RoomsIncludeOnlyWhatLiesBelowThem) {
  const std::map<std::string, std::vector<std::string>> forbidden = {
      {"shared/",
       {"sampler_service/", "trainer_service/", "scheduler/", "tools/",
        "tests/"}},
      {"sampler_service/",
       {"trainer_service/", "scheduler/", "tools/", "tests/"}},
      {"trainer_service/",
       {"sampler_service/", "scheduler/", "tools/", "tests/"}},
      {"scheduler/",
       {"sampler_service/", "trainer_service/", "tools/", "tests/"}},
      {"tools/", {"tests/"}}};
  std::vector<std::string> found;
  for (const Include& include : includes_) {
    for (const auto& [room, targets] : forbidden) {
      if (StartsWith(include.file, room) &&
          StartsWithAny(include.target, targets)) {
        found.push_back(Describe(include));
      }
    }
  }
  EXPECT_THAT(found, testing::IsEmpty());
}

TEST_F(ArrowsTest, DomainsDoNotKnowTheirDaemonNorTheirMain) {
  std::vector<std::string> found;
  for (const Include& include : includes_) {
    for (const std::string service :
         {"sampler_service/", "trainer_service/", "scheduler/"}) {
      if (!StartsWith(include.file, service)) continue;
      const bool from_main = StartsWith(include.file, service + "main/");
      const bool from_daemon = StartsWith(include.file, service + "daemon/");
      if (StartsWith(include.target, service + "main/") && !from_main) {
        found.push_back(Describe(include));
      }
      if (StartsWith(include.target, service + "daemon/") && !from_main &&
          !from_daemon) {
        found.push_back(Describe(include));
      }
    }
  }
  EXPECT_THAT(found, testing::IsEmpty());
}

TEST_F(ArrowsTest, OnlyProgramsJobsAndToolsReachIntoBackEnds) {
  std::vector<std::string> found;
  for (const Include& include : includes_) {
    const bool back_end = include.target.find("/cpu/") != std::string::npos ||
                          include.target.find("/cuda/") != std::string::npos;
    if (!back_end || Folder(include.file) == Folder(include.target)) continue;
    if (include.file.find("/main/") == std::string::npos &&
        include.file.find("/commands/") == std::string::npos &&
        include.file.find("/job/") == std::string::npos &&
        include.file.find("/cpu/") == std::string::npos &&
        include.file.find("/cuda/") == std::string::npos &&
        !StartsWith(include.file, "tools/")) {
      found.push_back(Describe(include));
    }
  }
  EXPECT_THAT(found, testing::IsEmpty());
}

TEST_F(ArrowsTest, OnlyRpcLeavesSeeGrpc) {
  EXPECT_THAT(
      Violations({"shared/rpc/", "sampler_service/rpc/", "trainer_service/rpc/",
                  "scheduler/rpc/", "tools/fgnn/", "tools/examples/"},
                 [](const Include& include) {
                   return StartsWithAny(include.target, {"grpc"}) ||
                          include.target.find(".grpc.pb.h") !=
                              std::string::npos;
                 }),
      testing::IsEmpty());
}

TEST_F(ArrowsTest, OnlyRpcLeavesAndConfigSeeProtobuf) {
  EXPECT_THAT(Violations({"shared/rpc/", "shared/config/",
                          "sampler_service/rpc/", "trainer_service/rpc/",
                          "scheduler/rpc/", "tools/fgnn/", "tools/examples/"},
                         [](const Include& include) {
                           return StartsWithAny(
                               include.target, {"google/protobuf", "fgnn/v1/"});
                         }),
              testing::IsEmpty());
}

// Clang checks the users of shared/base/threads/mutex.h, and of no std::mutex.
TEST_F(ArrowsTest, OnlyTheCheckedMutexSeesStdMutex) {
  EXPECT_THAT(Violations({"shared/base/threads/mutex.h",
                          // For std::call_once().
                          "shared/graph/dataset.cc",
                          // For a mutex that libtorch owns.
                          "trainer_service/nn/torch/torch_call.cc"},
                         [](const Include& include) {
                           return std::set<std::string>{"mutex", "shared_mutex",
                                                        "condition_variable"}
                               .contains(include.target);
                         }),
              testing::IsEmpty());
}

TEST_F(ArrowsTest, OnlyPartsOfTheTrainerSeeTorch) {
  EXPECT_THAT(
      Violations(
          {"trainer_service/nn/torch/", "trainer_service/plugin/"},
          [](const Include& include) {
            return StartsWithAny(include.target, {"torch/", "ATen/", "c10/"});
          }),
      testing::IsEmpty());
}

TEST_F(ArrowsTest, OnlyCudaLeavesAndSyncSeeCudaAndNccl) {
  std::vector<std::string> found;
  for (const Include& include : includes_) {
    if (StartsWithAny(include.target, {"cuda", "nccl", "cub/"}) &&
        include.file.find("/cuda/") == std::string::npos &&
        include.file.find("/sync/") == std::string::npos) {
      found.push_back(Describe(include));
    }
  }
  EXPECT_THAT(found, testing::IsEmpty());
}

// nvcc compiles each file for every kind of GPU: a file with Abseil takes five
// times as long, one with CUB ten times.
TEST_F(ArrowsTest, KernelsSeeNoAbseilAndOneFileSeesCub) {
  std::vector<std::string> found;
  std::set<std::string> with_cub;
  for (const Include& include : includes_) {
    if (fs::path(include.file).extension() != ".cu") continue;
    if (StartsWithAny(include.target, {"absl/"})) {
      found.push_back(Describe(include));
    }
    if (StartsWithAny(include.target, {"cub/"})) with_cub.insert(include.file);
  }
  EXPECT_THAT(found, testing::IsEmpty());
  EXPECT_LE(with_cub.size(), 1U);
}

// Its Launch() exists in kernels alone.
TEST_F(ArrowsTest, OnlyKernelsSeeTheirLaunch) {
  std::vector<std::string> found;
  for (const Include& include : includes_) {
    if (include.target == "shared/device/cuda/launch.h" &&
        !StartsWith(fs::path(include.file).extension().string(), ".cu")) {
      found.push_back(Describe(include));
    }
  }
  EXPECT_THAT(found, testing::IsEmpty());
}

// nvcc takes std::bit_width() for 0 in device code, and says nothing. The
// emulator cannot see that.
TEST_F(ArrowsTest, KernelsCountNoBitsByTheLibrary) {
  const std::regex calls(
      R"(std::(bit_(width|ceil|floor)|count[lr]_\w+|popcount|has_single_bit)\([^)])");
  std::vector<std::string> found;
  std::set<std::string> files;
  for (const Include& include : includes_) files.insert(include.file);
  size_t num_kernels = 0;
  for (const std::string& file : files) {
    std::ifstream in(fs::path(std::getenv("FGNN_SOURCE_DIR")) / file);
    const std::string text((std::istreambuf_iterator<char>(in)),
                           std::istreambuf_iterator<char>());
    if (!StartsWith(fs::path(file).extension().string(), ".cu") &&
        text.find("FGNN_HOST_DEVICE ") == std::string::npos) {
      continue;
    }
    ++num_kernels;
    std::smatch match;
    if (std::regex_search(text, match, calls)) {
      found.push_back(file + " calls " + match.str());
    }
  }
  EXPECT_GT(num_kernels, 20U);
  EXPECT_THAT(found, testing::IsEmpty());
}

// A cycle between leaf folders would be one room with two names.
TEST_F(ArrowsTest, LeafFoldersHaveNoCycle) {
  std::map<std::string, std::set<std::string>> below;
  std::set<std::string> folders;
  for (const Include& include : includes_) folders.insert(Folder(include.file));
  for (const Include& include : includes_) {
    const std::string from = Folder(include.file);
    const std::string to = Folder(include.target);
    // A back end and its interface are one feature.
    if (from == to || !folders.contains(to) || Folder(from) == to) continue;
    below[from].insert(to);
  }
  // Peel off folders that include nothing that is left.
  bool peeled = true;
  while (peeled) {
    peeled = false;
    for (auto folder = folders.begin(); folder != folders.end();) {
      std::set<std::string>& targets = below[*folder];
      std::erase_if(targets, [&folders](const std::string& target) {
        return !folders.contains(target);
      });
      if (targets.empty()) {
        folder = folders.erase(folder);
        peeled = true;
      } else {
        ++folder;
      }
    }
  }
  EXPECT_THAT(folders, testing::IsEmpty()) << "these include each other";
}

// Words that the house does not use for a file, because they say nothing.
TEST_F(ArrowsTest, NoFileIsNamedAfterNothing) {
  std::set<std::string> found;
  const std::regex nothing("(util|utils|helper|helpers|common|misc)");
  for (const Include& include : includes_) {
    if (std::regex_search(fs::path(include.file).stem().string(), nothing)) {
      found.insert(include.file);
    }
  }
  EXPECT_THAT(found, testing::IsEmpty());
}

}  // namespace
}  // namespace fgnn
