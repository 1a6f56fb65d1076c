"""tools/run_tests against test programs that fail as they are told to."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Fails as often as it is told to, and reports one case. argv: name, failures,
# words of a failure, what it prints; "-" as words: it writes no report.
PROGRAM = '''
import os, pathlib, sys
name, failures, words, printed = sys.argv[1:]
count = pathlib.Path(__file__).with_name(name + '.count')
runs = int(count.read_text()) + 1 if count.exists() else 1
count.write_text(str(runs))
failed = runs <= int(failures)
print(printed)
folder = os.environ['GTEST_OUTPUT'].partition(':')[2]
if words != '-':
    failure = f'<failure message="{words}"/>' if failed else ''
    (pathlib.Path(folder) / f'{name}.xml').write_text(
        f'<testsuites><testsuite><testcase name="Case" classname="Suite" '
        f'status="run">{failure}</testcase></testsuite></testsuites>')
sys.exit(failed)
'''
WORDS = 'not there within 20 seconds'


class RunTestsTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.build = pathlib.Path(folder.name)
        (self.build / 'program.py').write_text(PROGRAM)
        self.listing = ''

    def add(self, name, failures, words=WORDS, printed='', label='unit;clock'):
        self.listing += (
            f'add_test({name} "{sys.executable}" "{self.build}/program.py" '
            f'"{name}" "{failures}" "{words}" "{printed}")\n'
            f'set_tests_properties({name} PROPERTIES LABELS "{label}")\n')

    def run_all(self):
        (self.build / 'CTestTestfile.cmake').write_text(self.listing)
        done = subprocess.run(
            [sys.executable, ROOT / 'tools/run_tests', str(self.build)],
            check=False, capture_output=True, text=True,
            env={name: value for name, value in os.environ.items()
                 if name != 'GTEST_OUTPUT'})
        lines = done.stdout.splitlines()
        return done.returncode, lines[-1], [
            line for line in lines if line.startswith(('failed:', 'unsteady:'))]

    def runs_of(self, name):
        return int((self.build / f'{name}.count').read_text())

    def test_counts_what_passes(self):
        self.add('one', 0)
        self.add('two', 0)
        self.assertEqual(self.run_all(), (0, '2 passed, 0 failed, 0 skipped',
                                          []))
        self.assertEqual(self.runs_of('one'), 1)

    def test_what_passes_twice_alone_is_unsteady_and_passes(self):
        self.add('one', 0)
        self.add('flaky', 1, printed='as it was')
        self.add('other', 1)
        code, count, named = self.run_all()
        self.assertEqual((code, count), (0, '3 passed, 0 failed, 0 skipped'))
        self.assertEqual(len(named), 2)
        self.assertIn('unsteady: flaky', named[0])
        self.assertIn('Suite.Case', named[0])
        self.assertIn('unsteady: other', named[1])
        self.assertEqual([self.runs_of(name) for name in
                          ('one', 'flaky', 'other')], [1, 3, 3])

    def test_what_fails_again_fails(self):
        for failures in (2, 3):
            self.add(f'broken{failures}', failures)
        code, count, named = self.run_all()
        self.assertEqual((code, count), (1, '0 passed, 2 failed, 0 skipped'))
        self.assertEqual(named, ['failed: Suite.Case'] * 2)

    def test_what_no_clock_explains_is_not_run_again(self):
        self.add('fault', 1, label='fault')
        self.add('value', 1, label='unit')
        self.add('bits', 1, words='harness.NoClock: the weights differ')
        self.add('crash', 1, words='-')
        code, count, named = self.run_all()
        self.assertEqual((code, count), (1, '0 passed, 4 failed, 0 skipped'))
        self.assertEqual(len(named), 4)
        for name in ('fault', 'value', 'bits', 'crash'):
            self.assertEqual(self.runs_of(name), 1, name)

    def test_a_program_that_is_missing_fails(self):
        self.add('one', 0)
        self.add('flaky', 1)
        self.listing += f'add_test(gone "{self.build}/no_such_program")\n'
        code, count, named = self.run_all()
        self.assertEqual((code, count), (1, '2 passed, 1 failed, 0 skipped'))
        self.assertIn('failed: gone (no case: crashed or out of time)', named)

    def test_nothing_that_passes_is_a_failure(self):
        self.assertEqual(self.run_all()[0], 1)
