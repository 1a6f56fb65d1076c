"""What the integration tests share: a service's state folder of their own, the
real programs in it, and a look at what they leave behind.

Programs are those of $FGNN_BIN_DIR. Every wait has a deadline, and a test that
fails leaves no process either.
"""

import contextlib
import json
import os
import pathlib
import re
import selectors
import shutil
import signal
import struct
import subprocess
import tempfile
import time
import unittest

# More than 1 where the programs are instrumented.
PATIENCE = int(os.environ.get('FGNN_TEST_PATIENCE', 1))
COMMAND_SECONDS = 150 * PATIENCE
# Time for a process that was told to go, or killed, to be gone.
END_SECONDS = 30 * PATIENCE

BIN_DIR = pathlib.Path(os.environ.get('FGNN_BIN_DIR', '.build/release/bin'))
DAEMONS = ('fgnn-scheduler', 'fgnn-sampler', 'fgnn-trainer')
PROGRAMS = ('fgnn', 'fgnn-gate', *DAEMONS)

SMALL_JOB = {
    'model.layers': 2, 'model.hidden': 16, 'sampling.fanouts': '[5, 5]',
    'sampling.batch_size': 64, 'training.epochs': 2, 'training.seed': 3,
    'devices': '[cpu:0]',
}
SAME_METRICS = ('epoch', 'loss', 'valid_accuracy', 'valid_macro_f1',
                'batches', 'edges', 'input_nodes')
# Goes on until it is cancelled.
ENDLESS = {'training.epochs': 1000000, 'training.evaluate_every': 0,
           'training.checkpoint_every': 0}


class NoClock(AssertionError):
    """A failure that no clock explains, so that tools/run_tests does not run the
    test again."""


def emulated_programs():
    """A folder with this build's programs, whose samplers know emulated GPUs.

    See tests/emulated. Programs look for each other beside their own file, so
    links of another kind would lead back.
    """
    folder = pathlib.Path(
        tempfile.mkdtemp(prefix='emulated-', dir=BIN_DIR.parent))
    for name in PROGRAMS:
        program = BIN_DIR.parent / 'tests' / f'{name}-emulated'
        os.link(program if program.exists() else BIN_DIR / name,
                folder / name)
    return folder


class Service:
    """A state folder, and the commands of `fgnn` in it."""

    programs = None  # Folder of the programs; None: BIN_DIR.

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.state_dir = self.folder / 'state'
        self.dataset = self.folder / 'graph'

    def program(self):
        return (self.programs or BIN_DIR) / 'fgnn'

    def fgnn(self, *args, check=True, **options):
        """Runs a command to its end; asserts that it succeeds if `check`."""
        result = subprocess.run(
            [self.program(), '--state-dir', self.state_dir, *args],
            stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=COMMAND_SECONDS, check=False, **options)
        if check and result.returncode != 0:
            raise (AssertionError if result.returncode > 0 else NoClock)(
                f'fgnn {args} ended with {result.returncode}: {result.stderr}')
        return result

    def json(self, *args):
        return json.loads(self.fgnn(*args, '--json').stdout)

    def start(self, *args, **options):
        """Starts a command; its stdout is a pipe of lines."""
        return subprocess.Popen(
            [self.program(), '--state-dir', self.state_dir, *args],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, **options)

    def job_words(self, settings=None, **more):
        """JOB and --set words of the small job with some fields changed."""
        job = self.folder / 'job.yaml'
        job.write_text(f'dataset: {self.dataset}\n', encoding='utf-8')
        fields = {**SMALL_JOB, **(settings or {}), **more}
        words = [str(job)]
        for key, value in fields.items():
            words += ['--set', f'{key}={value}']
        return words

    def run(self, settings=None, *words):
        """Runs a job to its end; its run folder."""
        run_dir = tempfile.mkdtemp(prefix='run-', dir=self.folder)
        self.fgnn('run', *self.job_words(settings), '--run-dir', run_dir,
                  *words)
        return pathlib.Path(run_dir)

    def submit(self, settings=None, *words, run_dir=None, **more):
        """Submits the small job with some fields changed; its id. It writes its
        results and digests to `run_dir`, if there is one."""
        if run_dir:
            words += '--run-dir', str(run_dir), '--digest'
        return self.json('submit', *self.job_words(settings, **more),
                         *words)['job_id']

    def submit_run(self, name, settings, *words, **more):
        """The same with a run folder of that name; it and the job's id."""
        run_dir = self.folder / name
        return run_dir, self.submit(settings, *words, run_dir=run_dir, **more)

    def follow(self, job_id, condition, seconds=COMMAND_SECONDS):
        """Watches a job until a line of progress meets `condition`."""
        watch = self.start('watch', job_id, '--json')
        try:
            for line in lines_within(watch.stdout, seconds):
                progress = json.loads(line)
                if condition(progress):
                    return progress
            raise AssertionError(
                f'job {job_id} ended first: {watch.stderr.read().decode()}')
        finally:
            watch.kill()
            watch.communicate()

    def wait_until_it_trains(self, job_id):
        """Its progress then."""
        return self.follow(job_id,
                           lambda job: job.get('batches_committed', 0) > 0)

    def wait_for_batches(self, run_dir, count):
        """Waits until a run with digests has more batches than that. Quicker
        than follow(), for what has to come before the job can have ended."""
        self.wait_for(lambda: committed_of(run_dir) > count,
                      f'batch {count} of {run_dir}')

    def wait_for(self, condition, what):
        """Polls: what is waited for is another process's files."""
        deadline = time.monotonic() + COMMAND_SECONDS
        while not condition():
            if time.monotonic() >= deadline:
                raise AssertionError(f'{what} took over {COMMAND_SECONDS} s')
            time.sleep(0.01)

    def processes(self):
        """{pid: program} of the daemons of this state folder.

        A child that has not called exec yet has its parent's command line; it
        is not counted.
        """
        found, parents = {}, {}
        for entry in pathlib.Path('/proc').iterdir():
            if not entry.name.isdigit():
                continue
            with contextlib.suppress(OSError):
                words = (entry / 'cmdline').read_bytes().split(b'\0')
                program = os.path.basename(words[0].decode())
                if (program in DAEMONS and
                        str(self.state_dir).encode() in words):
                    status = (entry / 'stat').read_text(encoding='utf-8')
                    parents[int(entry.name)] = int(
                        status.rpartition(')')[2].split()[1])
                    found[int(entry.name)] = program
        return {pid: program for pid, program in found.items()
                if found.get(parents[pid]) != program}

    def segments(self):
        """Segments of jobs that a daemon of the folder has open or mapped."""
        found = []
        for pid, program in self.processes().items():
            with contextlib.suppress(OSError):
                if 'memfd:fgnn-segment' in pathlib.Path(
                        f'/proc/{pid}/maps').read_text(encoding='utf-8'):
                    found.append(f'{program} {pid} maps one')
            for link in pathlib.Path(f'/proc/{pid}/fd').glob('*'):
                with contextlib.suppress(OSError):
                    if 'memfd:fgnn-segment' in os.readlink(link):
                        found.append(f'{program} {pid} has one open')
        return found

    def wait_until_gone(self, pids=None):
        """Waits until these are gone, or no daemon of the folder is left; the
        daemons that are, in the end."""
        deadline = time.monotonic() + END_SECONDS
        for pid in self.processes() if pids is None else pids:
            with contextlib.suppress(ProcessLookupError):
                process = os.pidfd_open(pid)
                with selectors.DefaultSelector() as selector:
                    selector.register(process, selectors.EVENT_READ)
                    selector.select(max(0, deadline - time.monotonic()))
                os.close(process)
        return self.processes()

    def reports(self):
        """Lines of the daemons' logs that a sanitizer wrote."""
        return [line for path in (self.state_dir / 'logs').glob('*.log')
                for line in path.read_text(errors='replace').splitlines()
                if 'Sanitizer' in line or 'runtime error:' in line]

    def leftovers(self):
        """Sockets, and files that say that they are temporary.

        Temporaries in a dataset's derived/ do not count: another service may
        be writing one, so that the scheduler removes old ones alone.
        """
        found = []
        for path in self.folder.rglob('*'):
            with contextlib.suppress(OSError):
                temporary = (('.tmp' in path.name or '.partial' in path.name)
                             and path.parent.name != 'derived')
                if path.is_socket() or temporary:
                    found.append(str(path))
        return found

    def kill_newest(self, program):
        os.kill(max(pid for pid, name in self.processes().items()
                    if name == program), signal.SIGKILL)

    def kill_in_turn(self, run_dir, programs, batches):
        """Kills these programs of a run, so many batches apart."""
        goal = 0
        for program in programs:
            self.wait_for_batches(run_dir, goal)
            goal = committed_of(run_dir) + batches
            self.kill_newest(program)

    def kill_scheduler(self):
        """Kills it alone."""
        scheduler, = (pid for pid, name in self.processes().items()
                      if name == 'fgnn-scheduler')
        os.kill(scheduler, signal.SIGKILL)
        self.wait_until_gone([scheduler])

    def kill_all(self):
        # Again, for what a scheduler started while it was looked for.
        for _ in range(3):
            pids = self.processes()
            for pid in pids:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            self.wait_until_gone(pids)


def lines_within(stream, seconds):
    """Lines of a pipe; AssertionError once the time is up."""
    deadline = time.monotonic() + seconds
    rest = b''
    with selectors.DefaultSelector() as selector:
        selector.register(stream, selectors.EVENT_READ)
        while selector.select(max(0, deadline - time.monotonic())):
            chunk = os.read(stream.fileno(), 65536)
            if not chunk:
                return
            *lines, rest = (rest + chunk).split(b'\n')
            yield from lines
    raise AssertionError(f'nothing came within {seconds} s')


def tensors(file):
    """{name: (type, shape, bytes)} of a safetensors file."""
    content = pathlib.Path(file).read_bytes()
    header_bytes, = struct.unpack('<Q', content[:8])
    header = json.loads(content[8:8 + header_bytes])
    data = content[8 + header_bytes:]
    return {
        name: (entry['dtype'], tuple(entry['shape']),
               data[slice(*entry['data_offsets'])])
        for name, entry in header.items() if name != '__metadata__'
    }


def gates_of(scheduler):
    """Ids of the processes that read clients' bytes for a scheduler's process."""
    return [int(process.name) for process in pathlib.Path('/proc').glob('[0-9]*')
            if _name_and_parent(process) == ('fgnn-gate', scheduler)]


def _name_and_parent(process):
    try:
        before, _, behind = (process / 'stat').read_text().rpartition(') ')
    except OSError:  # It has ended.
        return None
    return before.partition('(')[2], int(behind.split()[1])


def digests_of(run_dir):
    """A line for each batch, in the order in which they are trained."""
    return tuple((run_dir / 'batches.crc').read_text().splitlines())


def committed_of(run_dir):
    """Batches whose digests are written; 0 before there are any."""
    with contextlib.suppress(OSError):
        return (run_dir / 'batches.crc').read_bytes().count(b'\n')
    return 0


def summary_of(run_dir):
    """What summary.json says."""
    return json.loads((run_dir / 'summary.json').read_text(encoding='utf-8'))


def lines_of(run_dir):
    """The lines of metrics.jsonl, one for each epoch."""
    lines = (run_dir / 'metrics.jsonl').read_text(encoding='utf-8')
    return [json.loads(line) for line in lines.splitlines()]


def metrics_of(run_dir):
    """What metrics.jsonl says of each epoch and no disturbance may change."""
    return [[line[key] for key in SAME_METRICS] for line in lines_of(run_dir)]


def last_weights(run_dir):
    """The tensors of the newest checkpoint of a run."""
    checkpoints = sorted((run_dir / 'checkpoints').glob('epoch-*.safetensors'))
    if not checkpoints:
        raise AssertionError(f'no checkpoint in {run_dir}')
    found = tensors(checkpoints[-1])
    if not found:
        raise AssertionError(f'no tensor in {checkpoints[-1]}')
    return found


def compile_line(example, **places):
    """The words of the compile line in an example's first comment, in which
    the names of `places`, as PREFIX, become these paths."""
    text = pathlib.Path(example).read_text(encoding='utf-8')
    lines = re.search(r'^//   (c\+\+ .*\n(?://     .*\n)*)', text, re.M)[1]
    words = lines.replace('//', ' ').split()
    for name, place in places.items():
        words = [re.sub(rf'^{name}\b', str(place), word) for word in words]
    return words


class ServiceTest(unittest.TestCase):
    """Each test has a service's folder with a small graph in it."""

    graph = ('--nodes', '2000', '--features', '16', '--classes', '4',
             '--train-fraction', '0.3', '--seed', '7')
    undisturbed = None  # Settings of a run with digests, made as `expected`.
    maxDiff = 4000

    @classmethod
    def setUpClass(cls):
        # Sockets have short names.
        cls.graphs = Service(tempfile.mkdtemp(prefix='fgnn-it-', dir='/tmp'))
        cls.addClassCleanup(shutil.rmtree, cls.graphs.folder)
        cls.graphs.fgnn('dataset', 'generate', 'sbm', *cls.graph, '--out',
                        cls.graphs.dataset)
        if cls.undisturbed:
            cls.expected = cls.graphs.run(cls.undisturbed, '--digest')

    def setUp(self):
        self.service = Service(tempfile.mkdtemp(prefix='fgnn-it-', dir='/tmp'))
        self.addCleanup(shutil.rmtree, self.service.folder)
        self.addCleanup(lambda: self.assert_exactly(
            not self.service.reports(), f'{self.service.reports()}'))
        self.addCleanup(self.service.kill_all)
        shutil.copytree(self.graphs.dataset, self.service.dataset)

    def assert_exactly(self, holds, what):
        """Asserts what has to be so, however slow the machine is."""
        if not holds:
            raise NoClock(what)

    def assert_same_digests(self, run_dir, expected, who=''):
        """The batches are those of another run, bit by bit."""
        self.assert_exactly((run_dir / 'batches.crc').read_bytes() ==
                            (expected / 'batches.crc').read_bytes(),
                            f'digests of {run_dir} and {expected} differ {who}')

    def assert_same_weights(self, run_dir, expected, who=''):
        """The weights are those of another run, bit by bit."""
        self.assert_exactly(last_weights(run_dir) == last_weights(expected),
                            f'weights of {run_dir} and {expected} differ {who}')

    def assert_same_run(self, run_dir, expected):
        """Digests, metrics and weights are those of another run, bit by bit."""
        self.assert_same_digests(run_dir, expected)
        self.assert_exactly(
            metrics_of(run_dir) == metrics_of(expected),
            f'{metrics_of(run_dir)} is not {metrics_of(expected)}')
        self.assert_same_weights(run_dir, expected)

    def assert_user_error(self, answer, *words):
        """A command refused what its user gave it, and said all of that."""
        self.assertEqual(answer.returncode, 2, answer.stderr)
        for word in words:
            self.assertIn(word, answer.stderr)

    def end_service(self):
        self.service.fgnn('down')
        self.assert_nothing_left()

    def assert_nothing_left(self):
        self.assertEqual(self.service.wait_until_gone(), {},
                         'processes were left')
        self.assertEqual(self.service.leftovers(), [])
