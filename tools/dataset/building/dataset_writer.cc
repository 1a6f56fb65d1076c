#include "tools/dataset/building/dataset_writer.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "shared/base/files/file.h"
#include "shared/base/permutation.h"
#include "shared/base/status.h"
#include "shared/base/utf8.h"
#include "shared/graph/npy.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;

std::string PartialPrefix(const fs::path& out) {
  return absl::StrCat(".", out.filename().string(), ".partial-");
}

// Locks the folder. The lock lives as long as the process that made it, in any
// PID namespace. Invalid if another process holds it.
UniqueFd TryLockFolder(const fs::path& folder) {
  UniqueFd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd.valid() && ::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) fd.Reset();
  return fd;
}

// Removes what killed writers of the same dataset left.
void RemoveAbandoned(const fs::path& out) {
  const std::string prefix = PartialPrefix(out);
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(out.parent_path(), ignored)) {
    if (entry.path().filename().string().rfind(prefix, 0) != 0) continue;
    const UniqueFd lock = TryLockFolder(entry.path());
    if (lock.valid()) fs::remove_all(entry.path(), ignored);
  }
}

absl::Status CheckOut(const fs::path& out, const fs::path& given) {
  std::error_code error;
  const fs::file_status status = fs::symlink_status(out, error);
  if (status.type() == fs::file_type::not_found) return absl::OkStatus();
  if (fs::is_directory(out, error) && fs::is_empty(out, error) && !error) {
    return absl::OkStatus();
  }
  return absl::AlreadyExistsError(absl::StrCat(
      "dataset folder ", given.string(),
      ": is there already and not empty; name another with --out, or remove "
      "it first"));
}

absl::StatusOr<std::vector<fs::path>> MakeParents(const fs::path& out) {
  std::vector<fs::path> missing;
  std::error_code error;
  for (fs::path at = out.parent_path(); !fs::exists(at, error);
       at = at.parent_path()) {
    if (error) {
      return ErrnoToStatus(error.value(),
                           absl::StrCat("look at ", at.string()));
    }
    missing.insert(missing.begin(), at);
  }
  for (size_t i = 0; i < missing.size(); ++i) {
    fs::create_directory(missing[i], error);
    if (error) {
      const std::string what = absl::StrCat("create ", missing[i].string());
      while (i-- > 0) ::rmdir(missing[i].c_str());
      return ErrnoToStatus(error.value(), what);
    }
  }
  return missing;
}

absl::Status SyncFile(const fs::path& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid() || ::fsync(fd.get()) != 0) {
    return ErrnoToStatus(errno, absl::StrCat("flush ", path.string()));
  }
  return absl::OkStatus();
}

absl::Status SyncFolderAndFiles(const fs::path& folder) {
  std::error_code error;
  for (const auto& entry : fs::recursive_directory_iterator(folder, error)) {
    FGNN_RETURN_IF_ERROR(SyncFile(entry.path()));
  }
  if (error) {
    return ErrnoToStatus(error.value(), absl::StrCat("list ", folder.string()));
  }
  return SyncFile(folder);
}

absl::Status WriteIds(const fs::path& path, absl::Span<const int64_t> values) {
  FGNN_ASSIGN_OR_RETURN(NpyWriter writer,
                        NpyWriter::Create(path, NpyType::kI64, {}));
  FGNN_RETURN_IF_ERROR(
      writer.Append(values.data(), values.size() * sizeof(int64_t)));
  return writer.Close();
}

}  // namespace

absl::Status NameWholeFolder(const absl::Status& error, const fs::path& out) {
  const fs::path normal = out.lexically_normal();
  const std::string whole =
      (normal.has_filename() ? normal : normal.parent_path())
          .filename()
          .string();
  const std::string partial = absl::StrCat(PartialPrefix(whole), ::getpid());
  return absl::Status(
      error.code(), absl::StrReplaceAll(MessageOf(error), {{partial, whole}}));
}

absl::StatusOr<DatasetWriter> DatasetWriter::Create(
    const fs::path& out, InterruptCleanup* interrupt) {
  if (out.empty()) {
    return absl::InvalidArgumentError(
        "the folder to write is empty; name it with --out");
  }
  std::error_code error;
  fs::path whole = fs::absolute(out, error).lexically_normal();
  if (!whole.has_filename()) whole = whole.parent_path();
  if (error || !whole.has_filename()) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", out.string(), "' is no name for a dataset folder"));
  }
  FGNN_RETURN_IF_ERROR(CheckOut(whole, out));

  RemoveAbandoned(whole);
  InterruptCleanup::Hold hold(interrupt);
  DatasetWriter writer;
  writer.out_ = whole;
  FGNN_ASSIGN_OR_RETURN(writer.made_parents_, MakeParents(whole));
  const fs::path partial =
      whole.parent_path() / absl::StrCat(PartialPrefix(whole), ::getpid());
  if (::mkdir(partial.c_str(), 0777) != 0) {
    return ErrnoToStatus(errno, absl::StrCat("create ", partial.string()));
  }
  writer.partial_ = partial;
  writer.lock_ = TryLockFolder(partial);
  if (!writer.lock_.valid()) {
    return absl::UnavailableError(absl::StrCat(
        "lock ", partial.string(), ": another process holds it; try again"));
  }
  hold.Remember({whole, partial, writer.made_parents_});
  // Set only here: abandoned folders were removed within this hold.
  writer.interrupt_ = interrupt;
  return writer;
}

DatasetWriter::DatasetWriter(DatasetWriter&& other) noexcept
    : out_(std::exchange(other.out_, {})),
      partial_(std::exchange(other.partial_, {})),
      made_parents_(std::exchange(other.made_parents_, {})),
      interrupt_(std::exchange(other.interrupt_, nullptr)),
      lock_(std::move(other.lock_)) {}

DatasetWriter& DatasetWriter::operator=(DatasetWriter&& other) noexcept {
  if (this == &other) return *this;
  Abandon();
  out_ = std::exchange(other.out_, {});
  partial_ = std::exchange(other.partial_, {});
  made_parents_ = std::exchange(other.made_parents_, {});
  interrupt_ = std::exchange(other.interrupt_, nullptr);
  lock_ = std::move(other.lock_);
  return *this;
}

DatasetWriter::~DatasetWriter() { Abandon(); }

void DatasetWriter::Abandon() {
  InterruptCleanup::Hold hold(interrupt_);
  hold.Forget();
  std::error_code ignored;
  if (!partial_.empty()) fs::remove_all(partial_, ignored);
  partial_.clear();
  // Removes only folders that are still empty.
  for (; !made_parents_.empty(); made_parents_.pop_back()) {
    ::rmdir(made_parents_.back().c_str());
  }
}

absl::Status DatasetWriter::WriteLabels(absl::Span<const int64_t> labels) {
  return WriteIds(partial_ / "labels.npy", labels);
}

absl::Status DatasetWriter::WriteSplit(const std::string& name,
                                       absl::Span<const int64_t> ids) {
  return WriteIds(partial_ / absl::StrCat(name, ".npy"), ids);
}

absl::Status DatasetWriter::WriteLines(
    const std::string& file, uint64_t count,
    absl::FunctionRef<std::string_view(uint64_t)> line) const {
  const fs::path path = partial_ / file;
  std::ofstream out(path, std::ios::binary);
  for (uint64_t i = 0; i < count && out; ++i) {
    const std::string_view text = line(i);
    if (text.find('\n') != std::string_view::npos) {
      return absl::InvalidArgumentError(
          absl::StrCat(file, ": line ", i + 1,
                       " would hold a line end itself; take it out of the name "
                       "in the source"));
    }
    // names.txt has the bytes of the source, whatever they are.
    if (file != "names.txt" && FindNotUtf8(text) != std::string_view::npos) {
      return absl::InvalidArgumentError(
          absl::StrCat(file, ": line ", i + 1,
                       " would not be UTF-8 text; save the source as UTF-8"));
    }
    out << text << '\n';
  }
  out.close();
  if (out) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("write ", path.string(), ": failed; is the disk full?"));
}

absl::Status DatasetWriter::Commit(const DatasetMetadata& metadata) {
  DatasetMetadata named = metadata;
  if (named.name.empty()) named.name = out_.filename().string();
  FGNN_RETURN_IF_ERROR(
      WriteFileAtomically(partial_ / "metadata.yaml", FormatMetadata(named)));
  const absl::Status valid =
      Dataset::Open(partial_, Validation::kStructure).status();
  if (!valid.ok()) {
    return NameWholeFolder(valid, out_);
  }
  return CommitAsItIs();
}

absl::Status DatasetWriter::CommitAsItIs() {
  FGNN_RETURN_IF_ERROR(SyncFolderAndFiles(partial_));
  InterruptCleanup::Hold hold(interrupt_);
  if (::rename(partial_.c_str(), out_.c_str()) != 0) {
    return ErrnoToStatus(errno, absl::StrCat("rename ", partial_.string(),
                                             " to ", out_.string()));
  }
  hold.Forget();
  partial_.clear();
  made_parents_.clear();
  lock_.Reset();
  return SyncFile(out_.parent_path());
}

Splits MakeSplits(absl::Span<const int64_t> labels, double train_fraction,
                  uint64_t seed) {
  return MakeSplits(
      labels.size(),
      [labels](uint64_t v) { return labels[static_cast<size_t>(v)] >= 0; },
      train_fraction, seed);
}

Splits MakeSplits(uint64_t num_nodes,
                  absl::FunctionRef<bool(uint64_t)> is_labelled,
                  double train_fraction, uint64_t seed) {
  uint64_t labelled = 0;
  for (uint64_t v = 0; v < num_nodes; ++v) {
    labelled += static_cast<uint64_t>(is_labelled(v));
  }
  Splits splits;
  if (labelled == 0) return splits;
  const double share = std::clamp(train_fraction, 0.0, 1.0);
  const auto train = std::min(
      labelled, static_cast<uint64_t>(
                    std::llround(share * static_cast<double>(labelled))));
  const uint64_t valid = (labelled - train) / 2;
  splits.train.reserve(train);
  splits.valid.reserve(valid);
  splits.test.reserve(labelled - train - valid);
  const KeyedPermutation place_of(
      labelled, MakePhiloxKey(seed, 0, 0, 0, Purpose::kSplit));
  uint64_t rank = 0;  // Number of the vertex among the labelled ones.
  for (uint64_t v = 0; v < num_nodes; ++v) {
    if (!is_labelled(v)) continue;
    const uint64_t place = place_of(rank++);
    std::vector<int64_t>& part = place < train           ? splits.train
                                 : place < train + valid ? splits.valid
                                                         : splits.test;
    part.push_back(static_cast<int64_t>(v));
  }
  return splits;
}

}  // namespace fgnn
