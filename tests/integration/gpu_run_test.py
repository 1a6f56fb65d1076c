"""tests/gpu/run in a folder that holds programs alone, which stand for those of
a GPU."""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import unittest
from unittest import mock

import harness

GPU = pathlib.Path(__file__).resolve().parents[1] / 'gpu'
sys.path.insert(0, str(GPU))
import steps  # noqa: E402
# Starts a daemon of its own, tells that both run, and goes on.
ENDLESS = '''setsid sleep 1000 &
echo $! > "$STAND_IN/daemon"
echo $$ > "$STAND_IN/program"
: > "$STAND_IN/started"
echo "9 passed, 0 failed"
exec sleep 1000'''


class GpuRunTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.bin = pathlib.Path(folder.name)
        self.results = self.bin / 'results'
        for name in ('run', 'steps.py', 'archives.py'):
            shutil.copy(GPU / name, self.bin)

    def add(self, name, script):
        program = self.bin / name
        program.write_text(f'#!/bin/sh\n{script}\n')
        program.chmod(0o755)

    def add_service(self):
        """Programs of a service that knows a GPU and runs no job."""
        for name in ('jobs.py', 'pyg_epochs.py', '../integration/harness.py'):
            shutil.copy(GPU / name, self.bin)
        (self.bin / 'bin').mkdir()
        for name in harness.PROGRAMS:
            self.add(f'bin/{name}', '''case "$3 $4" in
doctor*) echo cuda:0 ;;
dataset*) echo >> "$STAND_IN/graphs"
  while [ "$1" != --out ]; do shift; done; mkdir "$2" ;;
*) exit 5 ;;
esac''')

    def add_modules(self, **modules):
        """Python modules that come before those of the machine."""
        (self.bin / 'modules').mkdir(exist_ok=True)
        for name, text in modules.items():
            (self.bin / f'modules/{name}.py').write_text(text)

    def start(self, *words, path='/usr/bin:/bin', run=None):
        return subprocess.Popen(
            [run or self.bin / 'run', *words], stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True,
            env=dict(os.environ, STAND_IN=self.bin, TMPDIR=self.bin,
                     PYTHONPATH=self.bin / 'modules', PATH=path))

    def run_part(self, *words, **options):
        process = self.start(*words, **options)
        said, _ = process.communicate(timeout=harness.COMMAND_SECONDS)
        return process.returncode, said.splitlines()

    def keep(self, *words):
        return self.run_part('--results', self.results, *words)

    def runs(self):
        """How often the programs that count their runs were run."""
        return len((self.bin / 'runs').read_text(encoding='utf-8'))

    def is_there(self, name):
        """Whether the process runs whose number is in that file."""
        pid = (self.bin / name).read_text(encoding='utf-8').strip()
        try:
            stat = pathlib.Path(f'/proc/{pid}/stat').read_text(
                encoding='utf-8')
        except FileNotFoundError:
            return False
        return stat.rpartition(')')[2].split()[0] != 'Z'

    def test_counts_what_the_programs_of_a_part_count(self):
        self.add('fgnn_gpu_extract', 'echo "3 passed, 0 failed"')
        self.add('fgnn_gpu_aggregate', 'echo "$1"; echo "4 passed, 0 failed"')
        self.add('fgnn_gpu_sample', 'echo "50 passed, 0 failed"')
        code, lines = self.run_part('train', '--', '--seconds')
        self.assertEqual(code, 0, lines)
        self.assertEqual(lines[-1], '7 passed, 0 failed')
        self.assertIn('--seconds', lines)

    def test_a_failure_and_a_crash_fail(self):
        self.add('fgnn_gpu_sample_a', 'echo "3 passed, 2 failed"; exit 1')
        self.add('fgnn_gpu_sample_b', 'echo "3 passed, 0 failed"; exit 9')
        self.add('fgnn_gpu_sample_c', 'kill -SEGV $$')
        code, lines = self.run_part('sample')
        self.assertEqual((code, lines[-1]), (1, '6 passed, 4 failed'))
        self.assertRegex('\n'.join(lines), 'sample_c: exit code -11, ')

    def test_without_a_gpu_all_is_skipped_and_said(self):
        self.add('fgnn_gpu_sample', 'echo "skipped: no GPU"; exit 77')
        code, lines = self.run_part('sample')
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
        self.add('tools/nvidia-smi', 'echo A GPU; echo another')
        code, lines = self.run_part('check', path=f'{tools}:/usr/bin:/bin')
        self.assertEqual((code, lines[-1]), (0, '5 passed, 0 failed'))
        for tool in ('memcheck', 'racecheck', 'synccheck', 'initcheck'):
            self.assertIn(f'tool {tool}', lines)
        self.assertRegex('\n'.join(lines),
                         r'== initcheck.check_x on A GPU, of \w+: ')

    def test_faults_are_parts_of_many_kills(self):
        self.add('fgnn_gpu_kills', 'echo "$@"; echo "1 passed, 0 failed"')
        code, lines = self.run_part('faults')
        self.assertEqual((code, lines[-1]), (0, '40 passed, 0 failed'))
        self.assertIn('--kills 25 --first 975', lines)

    def test_jobs_are_steps_that_share_a_graph(self):
        self.add('fgnn_gpu_x', 'exit 5')
        self.add_service()
        code, lines = self.run_part('jobs', '--only', 'turns',
                                    '--only', 'evaluations')
        self.assertEqual((code, lines[-1]), (1, '0 passed, 7 failed'))
        self.assertIn('-- evaluations.gat', lines)
        self.assertEqual((self.bin / 'graphs').read_text(), '\n')

    def test_all_begins_with_what_is_worth_most(self):
        self.add_service()
        for name in ('check_features', 'check_model', 'check_nn',
                     'check_sample', 'extract', 'kills', 'sample',
                     'train_layers', 'train_products'):
            self.add(f'fgnn_gpu_{name}', 'exit 0')
        _, lines = self.run_part('all', '--minutes', '8.5')
        names = re.findall(r'^== (\S+) on ', '\n'.join(lines), re.MULTILINE)
        self.assertEqual(names[:10], [
            'check_model', 'check_sample', 'sample',
            'train_products', 'batches', 'turns', 'epochs.graphsage.8000',
            'epochs.graphsage.1024', 'pyg.graphsage.8000',
            'pyg.graphsage.1024'])
        self.assertEqual(names[-40:],
                         [f'kills.{first:03}' for first in range(0, 1000, 25)])
        self.assertEqual(len(names), len(set(names)))
        for name in ('check_nn', 'extract', 'epochs.gat', 'resume', 'kills',
                     'memcheck.check_nn'):
            self.assertIn(name, names[10:-40])

    def test_a_label_says_what_is_run(self):
        self.add_service()
        self.add('fgnn_gpu_kills', 'exit 0')
        _, lines = self.run_part('all', '--only', 'kills.975', '--only',
                                 'epochs.graphsage.1024', '--', '--scale', '9')
        said = '\n'.join(lines)
        self.assertRegex(said, r'== kills.975 on .*: fgnn_gpu_kills '
                               r'--kills 25 --first 975 --scale 9\n')
        self.assertRegex(said, r'== epochs.graphsage.1024 on .*: python\S* '
                               r'jobs.py .*--only epochs.graphsage.1024 '
                               r'--scale 9\n')

    def test_libraries_of_pythons_packages_are_found(self):
        self.add('fgnn_gpu_sample', 'echo $LD_LIBRARY_PATH; echo $PYTHONPATH')
        (self.bin / 'pyg').mkdir()
        folders = [self.bin / f'modules/nvidia/{package}/lib'
                   for package in ('cu13', 'nccl', 'other')]
        for folder, name in zip(folders, ('libcublasLt.so.13', 'libnccl.so.2',
                                          'libcublasLt.so.12')):
            folder.mkdir(parents=True)
            (folder / name).touch()
        with mock.patch.dict(os.environ, LD_LIBRARY_PATH='/some'):
            _, lines = self.run_part('sample')
        self.assertIn(f'/some:{folders[0]}:{folders[1]}', lines)
        self.assertIn(f'{self.bin}/modules:{self.bin}/pyg', lines)

    def test_a_step_without_its_library_fails(self):
        shutil.copy(GPU / 'torch_sums.py', self.bin)
        self.add('fgnn_gpu_x', 'exit 5')
        self.add_modules(numpy='', torch='raise ImportError("no torch")')
        code, lines = self.run_part('train')
        self.assertEqual((code, lines[-1]), (1, '0 passed, 1 failed'))
        self.assertIn('no torch; python3 needs torch with CUDA, and numpy',
                      lines)
        # Its torch is for cores: no GPU, or a GPU that it does not find.
        self.add_modules(torch='''import types
__version__ = "2"
cuda = types.SimpleNamespace(is_available=lambda: False)''')
        code, lines = self.run_part('train')
        self.assertEqual((code, lines[-2]), (77, '1 skipped, named above'))
        (self.bin / 'tools').mkdir()
        self.add('tools/nvidia-smi', 'echo A GPU')
        code, lines = self.run_part('train',
                                    path=f'{self.bin}/tools:/usr/bin:/bin')
        self.assertEqual((code, lines[-1]), (1, '0 passed, 1 failed'))
        self.assertIn('torch 2 finds no GPU; it needs CUDA', lines)

    def test_pytorch_geometric_that_is_missing_fails_its_step(self):
        self.add_service()
        self.add('fgnn_gpu_kills', 'exit 0')
        self.add_modules(numpy='', torch='raise ImportError("no torch")')
        code, lines = self.run_part('jobs', '--only', 'pyg.gin')
        self.assertEqual((code, lines[-1]), (1, '0 passed, 1 failed'))
        self.assertIn('no torch; see tests/gpu/pyg_sampler', '\n'.join(lines))

    def test_results_come_back_and_go_there_again_as_one_archive(self):
        self.add('fgnn_gpu_sample_a',
                 'printf a >> "$STAND_IN/runs"; echo "3 passed, 0 failed"')
        self.add('fgnn_gpu_sample_b', 'echo "1 passed, 1 failed"; exit 1')
        self.keep('sample')
        # Another machine has the archive alone.
        shutil.rmtree(self.results)
        self.add('fgnn_gpu_sample_b', ENDLESS)
        code, lines = self.keep('sample', '--minutes',
                                str(0.05 * harness.PATIENCE))
        self.assertEqual((code, lines[-1]), (75, '3 passed, 0 failed'))
        self.assertEqual(self.runs(), 1)
        # What was stopped is in the archive too.
        shutil.rmtree(self.results)
        _, lines = self.keep('sample', '--only', 'sample_a')
        self.assertEqual(self.runs(), 1)
        self.assertIn('9 passed, 0 failed',
                      (self.results / 'sample/sample_b.txt').read_text())

        archive = self.bin / 'results.tgz'
        archive.write_bytes(archive.read_bytes()[:-100])
        code, lines = self.keep('sample')
        self.assertEqual(code, 2)
        self.assertRegex(lines[-1], f'--results: {archive}: .*; move it away')

    def test_an_archive_puts_nothing_beside_the_results(self):
        self.add('fgnn_gpu_sample', 'echo "3 passed, 0 failed"')
        self.keep('sample')
        kept = self.results / 'sample/sample.txt'
        with tarfile.open(self.bin / 'results.tgz', 'w:gz') as archive:
            for name in ('../evil.txt', 'sample/../../evil.txt',
                         'sample/deep/evil.txt', 'sample/evil.sh'):
                archive.add(kept, name)
        before = sorted(self.bin.rglob('*'))
        self.keep('sample')
        self.assertEqual(sorted(self.bin.rglob('*')), before)

    def test_one_archive_has_all_that_goes_to_a_gpu(self):
        programs = self.bin / 'build'
        (programs / 'bin').mkdir(parents=True)
        (programs / 'pyg').mkdir()
        (programs / 'pyg/torch_sparse.so').touch()
        # Of a program, words of the run are its output.
        for name in ('fgnn_gpu_sample',
                     *(f'bin/{name}' for name in harness.PROGRAMS)):
            shutil.copy('/bin/echo', programs / name)
        words = ('--', '3 passed, 0 failed')
        self.keep('sample', '--bin', programs, *words)
        archive = self.bin / 'some-gpu.tgz'
        code, lines = self.run_part('--bin', programs, '--pack', archive,
                                    '--results', self.results, run=GPU / 'run')
        self.assertEqual(code, 0, lines)
        there = self.bin / 'there'
        there.mkdir()
        with tarfile.open(archive) as packed:
            packed.extractall(there)
        command = re.search('there: tar xzf some-gpu.tgz && cd (.*) && '
                            './run PART --results (.*)', lines[-1])
        folder = there / command[1]
        self.assertTrue((folder / 'pyg/torch_sparse.so').exists())
        for name in ('jobs.py', 'harness.py', 'bin/fgnn-trainer', 'lib'):
            self.assertTrue((folder / name).exists(), name)
        results = folder / command[2]
        with tarfile.open(f'{results}.tgz') as kept:
            self.assertEqual(kept.getnames(), ['sample/sample.txt'])
        shutil.rmtree(programs)
        code, lines = self.run_part('sample', '--results', results, *words,
                                    run=folder / 'run')
        self.assertEqual((code, lines[-1]), (0, '3 passed, 0 failed'))

    def test_a_second_run_counts_what_succeeded_and_repeats_the_rest(self):
        self.add('fgnn_gpu_sample_a',
                 'printf a >> "$STAND_IN/runs"; echo "3 passed, 0 failed"')
        self.add('fgnn_gpu_sample_b', '''echo "2 passed, 1 failed"
[ -e "$STAND_IN/mended" ] || exit 1
echo "3 passed, 0 failed"''')
        self.add('fgnn_gpu_sample_c', '[ -e "$STAND_IN/mended" ] || exit 77')
        code, lines = self.keep('sample')
        self.assertEqual((code, lines[-1]), (1, '5 passed, 1 failed'))
        kept = (self.results / 'sample/sample_b.txt').read_text().splitlines()
        self.assertRegex(kept[0], '^== sample_b on .*, of [0-9a-f]+: '
                                  'fgnn_gpu_sample_b$')
        self.assertEqual(kept[1], '2 passed, 1 failed')
        self.assertRegex(kept[2], r'^== sample_b: exit code 1, [0-9.]+ s$')

        (self.bin / 'mended').touch()
        code, lines = self.keep('sample')
        self.assertEqual((code, lines[-1]), (0, '7 passed, 0 failed'))
        self.assertRegex(lines[0], r'^== sample_a: exit code 0, .*, kept, on ')
        self.assertEqual(self.runs(), 1)

    def test_another_program_or_other_words_run_again(self):
        self.add('fgnn_gpu_sample', 'printf a >> "$STAND_IN/runs"')
        words = ('--', '--scale', '20')
        for words, runs in (((), 1), ((), 1), (words, 2), (words, 2)):
            code, lines = self.keep('sample', *words)
            self.assertEqual((code, lines[-1]), (0, '1 passed, 0 failed'))
            self.assertEqual(self.runs(), runs)
        self.add('fgnn_gpu_sample',
                 'printf a >> "$STAND_IN/runs"; printf "5 passed, 0 failed"')
        code, lines = self.keep('sample', *words)
        self.assertEqual((code, lines[-1]), (0, '5 passed, 0 failed'))
        self.assertEqual(self.runs(), 3)

    def test_what_overruns_is_stopped_with_its_daemons_and_left(self):
        few = ('--minutes', str(0.05 * harness.PATIENCE))
        self.add('fgnn_gpu_sample_a', 'echo "3 passed, 0 failed"')
        self.keep('sample')
        self.add('fgnn_gpu_sample_b', ENDLESS)
        self.add('fgnn_gpu_sample_c', 'echo "4 passed, 0 failed"')
        code, lines = self.keep('sample', *few)
        self.assertEqual((code, lines[-1]), (75, '3 passed, 0 failed'))
        self.assertFalse(self.is_there('daemon'))
        said = '\n'.join(lines)
        self.assertRegex(said, r'\n== sample_b: stopped, [0-9.]+ s\n')
        self.assertRegex(said, r'\n2 left: sample_b \(over \d+ s\), sample_c\n')
        self.assertRegex(said, r'needs --only sample_b --minutes [1-9]')
        self.assertIn(f'go on with: {self.bin}/run --results {self.results} '
                      f'sample {" ".join(few)}', lines)

        # It would not fit again; what comes behind it does.
        (self.bin / 'started').unlink()
        code, lines = self.keep('sample', *few)
        self.assertEqual((code, lines[-1]), (75, '7 passed, 0 failed'))
        self.assertFalse((self.bin / 'started').exists())
        self.add('fgnn_gpu_sample_b', 'echo "5 passed, 0 failed"')
        code, lines = self.keep('sample', *few)
        self.assertEqual((code, lines[-1]), (0, '12 passed, 0 failed'))

    def test_a_step_that_hangs_leaves_time_for_others(self):
        work = [steps.Step('x', name, [], [name]) for name in 'abc']
        runner = steps.Runner(self.results, 10, None)
        (self.results / 'x').mkdir(parents=True)
        runner.path_of(work[1]).write_text(
            f'== b on GPU, of {work[1].key}\n== b: stopped, 400.0 s\n')
        given = []
        runner.run = lambda step, seconds: given.append(
            (step.name, round(seconds, -2)))
        runner.run_all(work)
        self.assertEqual(given, [('a', 300), ('b', 600), ('c', 600)])

    def test_a_program_that_does_not_end_when_told_is_killed(self):
        with mock.patch.object(steps, 'GRACE_SECONDS', 0.1):
            code = steps.run_process(
                ['sh', '-c', 'trap "" TERM; exec sleep 1000'], None, print,
                seconds=0.5 * harness.PATIENCE)
        self.assertIsNone(code)

    def cut_off(self, number):
        """Sends a signal to the script once it has kept its step's line."""
        file = self.results / 'sample/sample.txt'
        self.add('fgnn_gpu_sample', ENDLESS)
        process = self.start('sample', '--results', self.results)
        harness.Service(self.bin).wait_for(
            lambda: file.exists() and 'passed' in file.read_text(), 'a line')
        process.send_signal(number)
        process.communicate(timeout=harness.COMMAND_SECONDS)
        kept = file.read_text().splitlines()
        self.assertEqual(kept[1], '9 passed, 0 failed')
        self.add('fgnn_gpu_sample', 'echo "5 passed, 0 failed"')
        code, lines = self.keep('sample')
        self.assertEqual((code, lines[-1]), (0, '5 passed, 0 failed'))
        return process.returncode, kept

    def test_a_step_of_a_script_that_is_stopped_runs_again(self):
        code, kept = self.cut_off(signal.SIGTERM)
        self.assertEqual(code, 75)
        self.assertRegex(kept[-1], r'^== sample: stopped, ')
        self.assertFalse(self.is_there('program'))
        self.assertFalse(self.is_there('daemon'))

    def test_a_step_of_a_script_that_is_killed_runs_again(self):
        code, kept = self.cut_off(signal.SIGKILL)
        self.assertEqual((code, len(kept)), (-signal.SIGKILL, 2))
        harness.Service(self.bin).wait_for(
            lambda: not self.is_there('program'), 'the end of the program')
        os.kill(int((self.bin / 'daemon').read_text()), signal.SIGKILL)

    def test_only_runs_steps_of_a_name_and_those_below_it(self):
        self.add('fgnn_gpu_check_x', 'echo "1 passed, 0 failed"')
        self.add('fgnn_gpu_check_xy', 'echo "2 passed, 0 failed"')
        _, lines = self.run_part('check', '--only', 'check_x')
        self.assertEqual(lines[-1], '1 passed, 0 failed')
        code, lines = self.run_part('check', '--only', 'racecheck')
        self.assertEqual((code, lines[-2]), (77, '2 skipped, named above'))

    def test_wrong_words_are_answered(self):
        self.add('fgnn_gpu_kills', 'exit 0')
        for words, said in (
                ((), 'which part.* check, sample, '),
                (('frobnicate',), "invalid choice: 'frobnicate'.*'check'"),
                (('faults', '--fast'), 'unrecognized arguments: --fast'),
                (('faults', '--minutes', '0'), "--minutes: invalid .*'0'"),
                (('faults', '--bin', '/none'), '--bin: /none is no folder'),
                (('faults', '--results', self.bin / 'run'),
                 '--results: /.*/run: File exists; name a folder'),
                (('--pack', self.bin), '--pack: /.* is no archive; name a '),
                (('--pack', '/none/gpu.tgz'), '--pack: /none is no folder'),
                (('--pack', self.bin / 'gpu.tgz', '--bin', self.bin),
                 'nothing to pack: there is no /.*/bin/fgnn'),
                (('faults', '--only', 'kill'),
                 "unknown name 'kill'; there are kills.000, kills.025, ")):
            code, lines = self.run_part(*words)
            self.assertEqual(code, 2)
            self.assertRegex(lines[-1], said)
        code, lines = self.run_part('train')
        self.assertEqual(code, 77)
        self.assertIn("no program of part 'train'", lines[-1])
