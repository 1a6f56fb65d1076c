#include "trainer_service/infer/files/csv_file.h"

#include <cstddef>

#include "shared/base/status.h"

namespace fgnn {
namespace {

constexpr size_t kMostHeldBytes = 1 << 20;

}  // namespace

absl::StatusOr<CsvFile> CsvFile::Create(const std::filesystem::path& path) {
  FGNN_ASSIGN_OR_RETURN(std::unique_ptr<UnfinishedFile> file,
                        UnfinishedFile::Create(path));
  return CsvFile(std::move(file));
}

absl::Status CsvFile::EndLine() {
  text_.push_back('\n');
  return text_.size() < kMostHeldBytes ? absl::OkStatus() : Flush();
}

absl::Status CsvFile::Commit() {
  FGNN_RETURN_IF_ERROR(Flush());
  return file_->Commit();
}

absl::Status CsvFile::Flush() {
  FGNN_RETURN_IF_ERROR(file_->Write(written_, text_));
  written_ += text_.size();
  text_.clear();
  return absl::OkStatus();
}

}  // namespace fgnn
