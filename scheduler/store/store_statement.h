// A prepared statement of the job store's database.
#ifndef FGNN_SCHEDULER_STORE_STORE_STATEMENT_H_
#define FGNN_SCHEDULER_STORE_STORE_STATEMENT_H_

#include <cstdint>
#include <memory>
#include <string>

struct sqlite3_stmt;

namespace fgnn {

// Columns count from 0. Two statements in use at the same time have different
// texts. Not thread-safe; the database outlives it.
class StoreStatement {
 public:
  // Borrows the statement, and resets it for its next use when destroyed.
  explicit StoreStatement(sqlite3_stmt* statement) : statement_(statement) {}

  // Each call binds the next parameter.
  void Bind(int64_t value);
  void Bind(double value);
  void Bind(const std::string& text);
  void BindBlob(const std::string& bytes);
  void BindNull();

  // Runs to the next row. Returns SQLITE_ROW, SQLITE_DONE or an error code.
  int Step();

  int64_t Integer(int column) const;
  double Real(int column) const;
  // Returns text or bytes; empty: NULL.
  std::string Text(int column) const;

 private:
  struct Reset {
    void operator()(sqlite3_stmt* statement) const;
  };
  std::unique_ptr<sqlite3_stmt, Reset> statement_;
  int bound_ = 0;  // Number of parameters bound so far.
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_STORE_STORE_STATEMENT_H_
