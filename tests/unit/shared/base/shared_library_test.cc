#include "shared/base/shared_library.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fakes/status_matchers.h"

namespace fgnn {
namespace {

constexpr char kNowhere[] = "/nowhere/one.so";
constexpr char kMaths[] = "libm.so.6";

TEST(SharedLibraryTest, OpensTheFirstPathThatHasAllFunctions) {
  double (*root)(double) = nullptr;
  const auto find = [&root](LibrarySymbols& symbols) {
    symbols.Find("sqrt", &root);
  };
  FGNN_ASSERT_OK(OpenSharedLibrary({kNowhere, kMaths}, find));
  ASSERT_NE(root, nullptr);
  EXPECT_EQ(root(49), 7);
}

TEST(SharedLibraryTest, ItsNamesStayItsOwn) {
  constexpr char kName[] = "_nss_compat_setpwent";
  int (*function)() = nullptr;
  FGNN_ASSERT_OK(OpenSharedLibrary(
      {"libnss_compat.so.2"},
      [&](LibrarySymbols& symbols) { symbols.Find(kName, &function); }));
  EXPECT_NE(function, nullptr);
  EXPECT_EQ(::dlsym(RTLD_DEFAULT, kName), nullptr);
}

TEST(SharedLibraryTest, SaysOfEachPathWhyItIsNotTheOne) {
  void (*function)() = nullptr;
  const auto find = [&function](LibrarySymbols& symbols) {
    double (*root)(double) = nullptr;
    symbols.Find("sqrt", &root);
    symbols.Find("fgnn_one", &function);
    symbols.Find("fgnn_two", &function);
  };
  EXPECT_THAT(
      OpenSharedLibrary({kNowhere, kMaths}, find),
      NotFound("/nowhere/one.so: cannot open", "; libm.so.6 has no fgnn_one"));
  EXPECT_EQ(function, nullptr);
}

TEST(SharedLibraryTest, NamesAFolderBesideThatOfTheProgram) {
  FGNN_ASSERT_OK_AND_ASSIGN(const std::filesystem::path folder,
                            LibraryFolder("some"));
  EXPECT_THAT(folder.string(), testing::EndsWith("/lib/fgnn/some"));
  EXPECT_TRUE(folder.is_absolute());
}

}  // namespace
}  // namespace fgnn
