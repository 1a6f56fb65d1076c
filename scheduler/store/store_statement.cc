#include "scheduler/store/store_statement.h"

#include <sqlite3.h>

#include <cstddef>

namespace fgnn {

void StoreStatement::Reset::operator()(sqlite3_stmt* statement) const {
  sqlite3_reset(statement);
  sqlite3_clear_bindings(statement);
}

void StoreStatement::Bind(int64_t value) {
  sqlite3_bind_int64(statement_.get(), ++bound_, value);
}

void StoreStatement::Bind(double value) {
  sqlite3_bind_double(statement_.get(), ++bound_, value);
}

void StoreStatement::Bind(const std::string& text) {
  sqlite3_bind_text(statement_.get(), ++bound_, text.data(),
                    static_cast<int>(text.size()), SQLITE_TRANSIENT);
}

void StoreStatement::BindBlob(const std::string& bytes) {
  sqlite3_bind_blob(statement_.get(), ++bound_, bytes.data(),
                    static_cast<int>(bytes.size()), SQLITE_TRANSIENT);
}

void StoreStatement::BindNull() {
  sqlite3_bind_null(statement_.get(), ++bound_);
}

int StoreStatement::Step() { return sqlite3_step(statement_.get()); }

int64_t StoreStatement::Integer(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}

double StoreStatement::Real(int column) const {
  return sqlite3_column_double(statement_.get(), column);
}

std::string StoreStatement::Text(int column) const {
  const void* bytes = sqlite3_column_blob(statement_.get(), column);
  const int size = sqlite3_column_bytes(statement_.get(), column);
  if (bytes == nullptr) return "";
  return std::string(static_cast<const char*>(bytes),
                     static_cast<size_t>(size));
}

}  // namespace fgnn
