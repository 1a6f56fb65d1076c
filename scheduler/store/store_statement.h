// A prepared statement of the job store's database.
#ifndef FGNN_SCHEDULER_STORE_STORE_STATEMENT_H_
#define FGNN_SCHEDULER_STORE_STORE_STATEMENT_H_

#include <cstdint>
#include <memory>
#include <string>

struct sqlite3_stmt;

namespace fgnn {

// Columns are counted from 0. Two at once are of different text. Not
// thread-safe; the database outlives it.
class StoreStatement {
 public:
  // Borrows the statement, which is reset for its next use in the end.
  explicit StoreStatement(sqlite3_stmt* statement) : statement_(statement) {}

  // Each binds the next parameter.
  void Bind(int64_t value);
  void Bind(double value);
  void Bind(const std::string& text);
  void BindBlob(const std::string& bytes);
  void BindNull();

  // Returns SQLITE_ROW, SQLITE_DONE or an error's code.
  int Step();

  int64_t Integer(int column) const;
  double Real(int column) const;
  // Text or bytes; empty: NULL.
  std::string Text(int column) const;

 private:
  struct Reset {
    void operator()(sqlite3_stmt* statement) const;
  };
  std::unique_ptr<sqlite3_stmt, Reset> statement_;
  int bound_ = 0;  // Parameters so far.
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_STORE_STORE_STATEMENT_H_
