// A worker without torch: the package's own fgnn.worker, with
// fake_worker_model.py in the place of fgnn.worker_model.
#ifndef FGNN_TESTS_UNIT_TRAINER_SERVICE_NN_PYTHON_WORKER_FOLDER_H_
#define FGNN_TESTS_UNIT_TRAINER_SERVICE_NN_PYTHON_WORKER_FOLDER_H_

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/fakes/temp_folder.h"
#include "trainer_service/nn/model.h"

namespace fgnn {

class WorkerTest : public testing::Test {
 protected:
  WorkerTest() {
    namespace fs = std::filesystem;
    const fs::path source = TEST_SOURCE_DIR;
    const fs::path package = folder_ / "fgnn";
    fs::create_directory(package);
    std::ofstream(package / "__init__.py");
    fs::create_symlink(source / "tools/python/src/fgnn/worker.py",
                       package / "worker.py");
    fs::create_symlink(source /
                           "tests/unit/trainer_service/nn/python/"
                           "fake_worker_model.py",
                       package / "worker_model.py");
    std::ofstream(folder_ / "model.py");
    ::setenv("PYTHONPATH", folder_.path().c_str(), 1);
    ::setenv("PYTHONDONTWRITEBYTECODE", "1", 1);
  }
  ~WorkerTest() override { ::unsetenv("PYTHONPATH"); }

  ModelOptions Options(const std::string& class_name) const {
    ModelOptions options;
    options.kind = "python";
    options.file = folder_ / "model.py";
    options.class_name = class_name;
    options.layers = 2;
    options.hidden = 3;
    options.input_columns = 2;
    options.num_classes = 4;
    options.dropout = 0.25;
    return options;
  }

  const TempFolder folder_;
};

}  // namespace fgnn

#endif  // FGNN_TESTS_UNIT_TRAINER_SERVICE_NN_PYTHON_WORKER_FOLDER_H_
