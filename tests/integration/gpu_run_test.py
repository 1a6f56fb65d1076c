"""tests/gpu/run in a folder that holds programs alone, which stand for those of
a GPU."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import harness

RUN = pathlib.Path(__file__).resolve().parents[1] / 'gpu' / 'run'


class GpuRunTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.bin = pathlib.Path(folder.name)
        self.script = shutil.copy(RUN, self.bin / 'run')

    def add(self, name, script):
        program = self.bin / name
        program.write_text(f'#!/bin/sh\n{script}\n')
        program.chmod(0o755)

    def run_part(self, *words, path=None):
        done = subprocess.run(
            [self.script, *words], capture_output=True, text=True, check=False,
            timeout=harness.COMMAND_SECONDS,
            env=dict(os.environ, PATH=path or '/usr/bin:/bin'))
        return done.returncode, (done.stdout + done.stderr).splitlines()

    def test_counts_what_the_programs_of_a_part_count(self):
        self.add('fgnn_gpu_extract', 'echo "3 passed, 0 failed"')
        self.add('fgnn_gpu_aggregate', 'echo "$1"; echo "4 passed, 0 failed"')
        self.add('fgnn_gpu_sample', 'echo "50 passed, 0 failed"')
        code, lines = self.run_part('train', '--seconds')
        self.assertEqual(code, 0, lines)
        self.assertEqual(lines[-1], '7 passed, 0 failed')
        self.assertIn('--seconds', lines)

    def test_a_failure_and_a_crash_fail(self):
        self.add('fgnn_gpu_sample_a', 'echo "3 passed, 2 failed"; exit 1')
        self.add('fgnn_gpu_sample_b', 'echo "3 passed, 0 failed"; exit 9')
        code, lines = self.run_part('sample')
        self.assertEqual((code, lines[-1]), (1, '6 passed, 3 failed'))

    def test_without_a_gpu_all_is_skipped_and_said(self):
        self.add('fgnn_gpu_facts', 'echo "skipped: no GPU"; exit 77')
        code, lines = self.run_part('facts')
        self.assertEqual(code, 77)
        self.assertEqual(lines[-2:], ['1 skipped, named above',
                                      '0 passed, 0 failed'])

    def test_check_runs_the_four_tools_where_they_are(self):
        self.add('fgnn_gpu_check_x', 'echo "1 passed, 0 failed"')
        code, lines = self.run_part('check')
        self.assertEqual((code, lines[-1]), (0, '1 passed, 0 failed'))
        self.assertIn('4 skipped, named above', lines)

        tools = self.bin / 'tools'
        tools.mkdir()
        # compute-sanitizer --tool NAME --error-exitcode 9 PROGRAM --short
        self.add('tools/compute-sanitizer',
                 'echo "tool $2"; [ "$6" = --short ] || exit 3; exec "$5"')
        code, lines = self.run_part('check', path=f'{tools}:/usr/bin:/bin')
        self.assertEqual((code, lines[-1]), (0, '5 passed, 0 failed'))
        for tool in ('memcheck', 'racecheck', 'synccheck', 'initcheck'):
            self.assertIn(f'tool {tool}', lines)

    def test_wrong_words_are_answered(self):
        self.add('fgnn_gpu_facts', 'exit 0')
        for words, said in ((('frobnicate',), "unknown part 'frobnicate'"),
                            (('--fast',), "unknown flag '--fast'")):
            code, lines = self.run_part(*words)
            self.assertEqual(code, 2)
            self.assertIn(said, lines[-1])
        code, lines = self.run_part('train')
        self.assertEqual(code, 77)
        self.assertIn("no program of part 'train'", lines[-1])


if __name__ == '__main__':
    harness.main()
