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

    def add_lines(self, name, count):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text('\n' * count, encoding='utf-8')

    def add_readme(self, *lines):
        (self.room / 'README.md').write_text('\n'.join(lines) + '\n',
                                             encoding='utf-8')

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
        self.add_lines('tests/unit/shared/a_test.cc', 2)
        self.add_lines('tests/integration/a_test.py', 1)
        self.add_lines('tests/data/a.yaml', 9)
        result = run(self.script, '--all', 'shared')
        self.assertIn('class Small: 4 methods, 3 fields (shared/a.h)',
                      result.stdout)
        self.assertIn('class Lockable: 0 methods, 2 fields (shared/a.h)',
                      result.stdout)
        self.assertIn('struct Inner: 1 fields (shared/a.h)', result.stdout)
        self.assertIn('room shared: 1 files, 24 lines, 2 of tests',
                      result.stdout)
        self.assertIn('2 classes, 1 structs, 1 files of 24 lines, 1 rooms; '
                      'tests 3 lines; 0 over a limit', result.stdout)
        self.assertEqual(result.returncode, 0)

    def test_names_what_is_over_a_limit(self):
        (self.room / 'a.h').write_text(
            'class Methods {\n' + ''.join(
                f'  void F{i}();\n' for i in range(26)) + '};\n'
            'class Fields {\n' + ''.join(
                f'  int f{i}_ = 0;\n' for i in range(16)) + '};\n'
            'class AtTheLimits {\n' + ''.join(
                f'  void F{i}();\n' for i in range(25)) + ''.join(
                f'  int f{i}_ = 0;\n' for i in range(15)) + '};\n' +
            ''.join(f'struct Of{fields} {{\n' + '  int f = 0;\n' * fields +
                    '};\n' for fields in (15, 16)), encoding='utf-8')
        for lines in (379, 380, 400, 401):
            self.add_lines(f'shared/{lines}.cc', lines)
        for i in range(21):
            (self.room / f'c{i}.h').touch()
        result = run(self.script, 'shared')
        self.assertEqual(result.returncode, 1)
        self.assertEqual(result.stdout.splitlines(), [
            'class Methods: 26 methods, 0 fields (shared/a.h)',
            'class Fields: 0 methods, 16 fields (shared/a.h)',
            'struct Of16: 16 fields (shared/a.h)',
            'file shared/401.cc: 401 lines',
            'room shared: 26 files, 1683 lines',
            'at its limit: class AtTheLimits: 25 methods, 15 fields '
            '(shared/a.h)',
            'at its limit: file shared/400.cc: 400 lines',
            'at its limit: file shared/380.cc: 380 lines',
            '3 classes, 2 structs, 26 files of 1683 lines, 1 rooms; tests 0 '
            'lines; 5 over a limit'])
        self.add_readme('More than 25 files: one for each kind.',
                        'More than 15 fields: `Of16`: a form has them.',
                        'More than 15 fields: `Fields`: no class may.')
        said = run(self.script, 'shared').stdout
        self.assertNotIn('room shared', said)
        self.assertNotIn('Of16', said)
        self.assertIn('3 over a limit', said)
        (self.room / 'c0.h').unlink()
        self.assertIn('at its limit: room shared: 25 files',
                      run(self.script, 'shared').stdout)

    def test_a_reason_may_stand_above_a_room_and_must_be_given(self):
        (self.root / 'shared/room').mkdir()
        (self.root / 'shared/room/a.h').write_text(
            'struct Wide {\n' + '  int f = 0;\n' * 16 + '};\n',
            encoding='utf-8')
        for line, code in (('More than 15 fields: `Wide`: a form.', 0),
                           ('More than 15 fields: `Wide`:', 1),
                           ('More than 15 fields: `Wider`: a form.', 1)):
            self.add_readme(line)
            self.assertEqual(run(self.script, 'shared').returncode, code, line)

    def test_refuses_a_folder_that_is_not_there(self):
        result = run(self.script, 'nowhere')
        self.assertEqual(result.returncode, 2)
        self.assertIn("no folder 'nowhere'", result.stderr)

    def test_the_scheduler_is_within_its_limits(self):
        result = run(SIZES, 'scheduler')
        self.assertEqual(result.returncode, 0, result.stdout)
