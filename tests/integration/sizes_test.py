"""tools/sizes counts classes, files and rooms, and the scheduler keeps its
limits."""

import pathlib
import shutil
import subprocess
import tempfile
import unittest

import harness

SIZES = pathlib.Path(__file__).resolve().parents[2] / 'tools' / 'sizes'


def run(script, *words):
    return subprocess.run([script, *words], capture_output=True, text=True,
                          check=False, timeout=harness.COMMAND_SECONDS)


class SizesTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        (self.root / 'tools').mkdir()
        self.script = shutil.copy(SIZES, self.root / 'tools' / 'sizes')
        self.room = self.root / 'shared'
        self.room.mkdir()

    def test_counts_methods_and_fields_of_a_class(self):
        (self.room / 'a.h').write_text('''
class Small {
 public:
  explicit Small(int a) : a_(a) {}
  Small(const Small&) = delete;
  ~Small();
  template <typename T>
  T Get(std::function<void(int)> f) const { return f(a_); }
  bool operator==(const Small&) const = default;
  static constexpr int kMost = 3;
  enum class Kind { kA, kB };
  struct Inner { int x = 0; void F(); };
  // int commented_out_;

 private:
  int a_ = 0;
  std::map<int, std::vector<int>> b_ ABSL_GUARDED_BY(mutex_);
  std::function<void(int)> c_ = [](int) {};
};
class ABSL_LOCKABLE Lockable {
  int a_ = f(1, 2), b_;
};
enum class Word { kNone };
class Declared;
''', encoding='utf-8')
        result = run(self.script, '--all', 'shared')
        self.assertIn('class Small: 4 methods, 3 fields (shared/a.h)',
                      result.stdout)
        self.assertIn('class Lockable: 0 methods, 2 fields (shared/a.h)',
                      result.stdout)
        self.assertIn('2 classes, 1 files, 1 rooms; 0 over a limit',
                      result.stdout)
        self.assertEqual(result.returncode, 0)

    def test_names_what_is_over_a_limit(self):
        (self.room / 'a.h').write_text(
            'class Methods {\n' + ''.join(
                f'  void F{i}();\n' for i in range(26)) + '};\n'
            'class Fields {\n' + ''.join(
                f'  int f{i}_ = 0;\n' for i in range(16)) + '};\n'
            'class AtTheLimits {\n' + ''.join(
                f'  void F{i}();\n' for i in range(25)) + ''.join(
                f'  int f{i}_ = 0;\n' for i in range(15)) + '};\n',
            encoding='utf-8')
        (self.room / 'b.cc').write_text('\n' * 401, encoding='utf-8')
        for i in range(24):
            (self.room / f'c{i}.h').touch()
        result = run(self.script, 'shared')
        self.assertEqual(result.returncode, 1)
        self.assertEqual(result.stdout.splitlines(), [
            'class Methods: 26 methods, 0 fields (shared/a.h)',
            'class Fields: 0 methods, 16 fields (shared/a.h)',
            'file shared/b.cc: 401 lines',
            'room shared: 26 files',
            '3 classes, 26 files, 1 rooms; 4 over a limit'])
        (self.room / 'README.md').write_text(
            'More than 25 files: one for each kind.\n', encoding='utf-8')
        self.assertNotIn('room shared', run(self.script, 'shared').stdout)

    def test_refuses_a_folder_that_is_not_there(self):
        result = run(self.script, 'nowhere')
        self.assertEqual(result.returncode, 2)
        self.assertIn("no folder 'nowhere'", result.stderr)

    def test_the_scheduler_is_within_its_limits(self):
        result = run(SIZES, 'scheduler')
        self.assertEqual(result.returncode, 0, result.stdout)


if __name__ == '__main__':
    harness.main()
