#include "trainer_service/infer/files/row_file.h"

#include <string>

#include "shared/base/status.h"
#include "shared/graph/npy.h"

namespace fgnn {

absl::StatusOr<RowFile> RowFile::Create(const std::filesystem::path& path,
                                        uint64_t rows, uint64_t columns) {
  const uint64_t shape[] = {rows, columns};
  const std::string header = MakeNpyHeader(NpyType::kF32, shape);
  FGNN_ASSIGN_OR_RETURN(std::unique_ptr<UnfinishedFile> file,
                        UnfinishedFile::Create(path));
  FGNN_RETURN_IF_ERROR(
      file->Reserve(header.size() + rows * columns * sizeof(float)));
  FGNN_RETURN_IF_ERROR(file->Write(0, header));
  return RowFile(std::move(file), columns, header.size());
}

absl::Status RowFile::Write(uint64_t first,
                            absl::Span<const float> rows) const {
  return file_->Write(data_offset_ + first * columns_ * sizeof(float),
                      {reinterpret_cast<const char*>(rows.data()),
                       rows.size() * sizeof(float)});
}

absl::Status RowFile::Read(uint64_t first, absl::Span<float> rows) const {
  return file_->Read(
      data_offset_ + first * columns_ * sizeof(float),
      {reinterpret_cast<std::byte*>(rows.data()), rows.size() * sizeof(float)});
}

}  // namespace fgnn
