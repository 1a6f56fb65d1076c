#include "tools/fgnn/commands/machine_checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

namespace fgnn {
namespace {

MachineCheck Find(const std::vector<MachineCheck>& checks,
                  const std::string& name) {
  for (const MachineCheck& check : checks) {
    if (check.name == name) return check;
  }
  ADD_FAILURE() << "no check is named " << name;
  return {};
}

TEST(MachineChecksTest, SaysWhatIsMissingAndWhatMendsIt) {
  const std::string long_name(100, 'x');
  const auto checks = CheckMachine("/proc/" + long_name);
  EXPECT_FALSE(Find(checks, "socket path").ok);
  EXPECT_TRUE(Find(checks, "kernel").ok);
  // The programs lie in another folder than this test.
  EXPECT_FALSE(Find(checks, "fgnn-sampler").ok);
  for (const MachineCheck& check : checks) {
    EXPECT_NE(check.detail, "") << check.name;
    EXPECT_EQ(check.fix.empty(), check.ok) << check.name;
  }
}

TEST(MachineChecksTest, LeavesNothingBehind) {
  const std::filesystem::path state_dir =
      testing::TempDir() + "fgnn_doctor_state";
  CheckMachine(state_dir);
  EXPECT_FALSE(std::filesystem::exists(state_dir));
}

TEST(MachineChecksTest, TellsTheVersionsOfLibraries) {
  const MachineCheck found = JudgeLibrary("libtorch", "libtorch 2.11.0\n", 0);
  EXPECT_TRUE(found.ok);
  EXPECT_EQ(found.name, "libtorch");
  EXPECT_EQ(found.detail, "2.11.0");
  EXPECT_EQ(JudgeLibrary("NCCL", "NCCL 2.28.9\n", 0).detail, "2.28.9");

  const MachineCheck none =
      JudgeLibrary("libtorch", "fgnn: models need libtorch\n", 1);
  EXPECT_TRUE(none.ok);
  EXPECT_EQ(none.detail, "none; models need libtorch");

  const MachineCheck older = JudgeLibrary("libtorch", "0.1.0\n", 0);
  EXPECT_FALSE(older.ok);
  EXPECT_THAT(older.detail, testing::HasSubstr("another release"));

  const MachineCheck broken = JudgeLibrary(
      "libtorch", "cannot open shared object\nfile libgrpc++.so\n", 127);
  EXPECT_FALSE(broken.ok);
  EXPECT_EQ(broken.detail,
            "fgnn-trainer: cannot open shared object file libgrpc++.so");
  EXPECT_NE(broken.fix, "");
  // A version counts from a program that ended well, a reason from our own.
  EXPECT_FALSE(JudgeLibrary("NCCL", "NCCL 2.28.9\n", 139).ok);
  EXPECT_FALSE(JudgeLibrary("NCCL", "cannot open libgrpc++.so\n", 1).ok);
}

TEST(MachineChecksTest, TellsTheGpus) {
  const MachineCheck found = JudgeGpus("cuda:0 NVIDIA H100, 80.0 GiB\n", 0);
  EXPECT_TRUE(found.ok);
  EXPECT_EQ(found.detail, "cuda:0 NVIDIA H100, 80.0 GiB");

  const MachineCheck none = JudgeGpus("fgnn: CUDA finds no GPU; do x\n", 2);
  EXPECT_TRUE(none.ok);
  EXPECT_EQ(none.detail, "none; CUDA finds no GPU; do x");

  const MachineCheck broken = JudgeGpus("cannot open\nlibgrpc++.so\n", 127);
  EXPECT_FALSE(broken.ok);
  EXPECT_EQ(broken.detail, "fgnn-sampler: cannot open libgrpc++.so");
  EXPECT_NE(broken.fix, "");
}

TEST(MachineChecksTest, OneMissingPieceMakesTheWholeNotOk) {
  const std::vector<MachineCheck> checks = {{"a", true, "x", ""},
                                            {"b", false, "y", "do z"}};
  EXPECT_EQ(ChecksText(checks),
            "ok       a  x\nmissing  b  y\n         mend: do z\n");
  const auto json = ChecksJson(checks);
  EXPECT_EQ(json["ok"], false);
  EXPECT_EQ(json["checks"][1]["fix"], "do z");
}

}  // namespace
}  // namespace fgnn
