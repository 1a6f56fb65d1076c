"""Runs programs one after another within some minutes, and keeps what they say.

A step is a program with its words. Its output is kept in RESULTS/PART/NAME.txt,
between a line that says where it ran, of which bytes and with which words, and a
line that says how it ended. Without the last line, the step was cut off with this
process.

  == check_nn on NVIDIA H100 80GB HBM3, of 8d0c3f5e11a09b72: fgnn_gpu_check_nn
  …
  == check_nn: exit code 0, 12.3 s
"""

import contextlib
import ctypes
import dataclasses
import functools
import hashlib
import os
import pathlib
import re
import selectors
import shlex
import shutil
import signal
import subprocess
import sys
import time

SKIPPED = 77
# For a program that is told to end, before it is killed.
GRACE_SECONDS = 10
# What a step may take at least that has not been run yet.
SECONDS_OF_UNKNOWN = 60
# Of linux/prctl.h.
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
LIBC = ctypes.CDLL(None)


@dataclasses.dataclass
class Step:
    part: str
    name: str
    files: list  # Programs whose bytes decide what the step says.
    command: list

    @property
    def words(self):
        """The command, wherever its files lie."""
        return [os.path.basename(word) for word in map(str, self.command)]

    @functools.cached_property
    def key(self):
        """The same for the same words and bytes."""
        key = hashlib.sha256(repr(self.words).encode())
        for path in self.files:
            key.update(digest_of(path))
        return key.hexdigest()[:16]


@functools.cache
def digest_of(path):
    with open(path, 'rb') as file:
        return hashlib.file_digest(file, 'sha256').digest()


@dataclasses.dataclass
class Kept:
    """What a step's file says."""

    key: str = ''
    where: str = ''
    code: int | None = None  # None: never run to its end.
    seconds: float = 0
    passed: int = 0
    failed: int = 0

    def fits(self, seconds):
        # What was stopped takes longer than it had.
        return self.seconds * (1.1 if self.code is None else 1) < seconds


def read_kept(path):
    kept = Kept()
    with contextlib.suppress(FileNotFoundError):
        lines = path.read_text(errors='replace').splitlines() or ['']
        if first := re.match(r'== \S+ on (.*?), of (\w+)', lines[0]):
            kept.where, kept.key = first.groups()
        if last := re.fullmatch(
                r'== \S+: (?:exit code (-?\d+)|stopped), ([\d.]+) s',
                lines[-1]):
            kept.code = int(last[1]) if last[1] else None
            kept.seconds = float(last[2])
        for line in lines:
            if counts := re.match(r'(\d+) passed, (\d+) failed', line):
                kept.passed, kept.failed = map(int, counts.groups())
        if kept.code in (None, SKIPPED):
            kept.passed = kept.failed = 0
        elif kept.code == 0 and not kept.passed + kept.failed:
            kept.passed = 1
        elif kept.code and not kept.failed:
            kept.failed = 1
    return kept


def name_of_gpu():
    if not shutil.which('nvidia-smi'):
        return 'an unknown GPU'
    said = subprocess.run(
        ['nvidia-smi', '--query-gpu=name', '--format=csv,noheader'],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    return said.stdout.partition('\n')[0].strip() or 'no GPU'


class Runner:
    """Runs steps while there is time. No process outlives its step."""

    def __init__(self, results, minutes, environment):
        self.results = pathlib.Path(results)
        self.ends = time.monotonic() + 60 * minutes
        self.environment = environment
        self.where = name_of_gpu()
        # Daemons that a step leaves behind become children of this process.
        LIBC.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)

    def kept(self, step):
        """What is known of a step, for the bytes that its programs have."""
        kept = read_kept(self.path_of(step))
        return kept if kept.key == step.key else Kept()

    def run_all(self, steps, keep=None):
        """Runs what has not ended yet, then again what did not succeed. Calls
        keep() with the folder of results behind each of them. Returns what is
        kept of each step."""
        before = [(step, self.kept(step)) for step in steps]
        for step, kept in before:
            if kept.code == 0:
                print(f'== {step.name}: exit code 0, {kept.seconds} s, kept, '
                      f'on {kept.where}', flush=True)
        waiting = [one for one in before if one[1].code is None]
        waiting += [one for one in before if one[1].code]
        for number, (step, kept) in enumerate(waiting, 1):
            left = self.ends - time.monotonic()
            if not kept.fits(left):
                continue
            # A step that hangs leaves time for those behind it.
            if number < len(waiting) and not kept.seconds:
                left = min(left, max(left / 2, SECONDS_OF_UNKNOWN))
            try:
                self.run(step, left)
            finally:
                if keep:
                    keep(self.results)
        return [self.kept(step) for step in steps]

    def path_of(self, step):
        return self.results / step.part / f'{step.name}.txt'

    def run(self, step, seconds):
        path = self.path_of(step)
        path.parent.mkdir(parents=True, exist_ok=True)
        started = time.monotonic()
        code = None
        with open(path, 'wb', buffering=0) as file:

            def write(data):
                file.write(data)
                sys.stdout.buffer.write(data)
                sys.stdout.flush()

            write(f'== {step.name} on {self.where}, of {step.key}: '
                  f'{shlex.join(step.words)}\n'.encode())
            try:
                code = run_process(step.command, self.environment, write,
                                   seconds)
            finally:
                end_children()
                how = 'stopped' if code is None else f'exit code {code}'
                write(f'== {step.name}: {how}, '
                      f'{time.monotonic() - started:.1f} s\n'.encode())


def run_process(command, environment, write, seconds):
    """Hands on a program's output. Returns its exit code, or None if it had to
    be stopped. Its children may be left."""
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, env=environment,
        preexec_fn=lambda: LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGTERM))
    stops = [signal.SIGKILL, signal.SIGTERM]
    deadline = time.monotonic() + seconds
    last = b'\n'
    with (process.stdout as pipe, selectors.DefaultSelector() as selector,
          open(os.pidfd_open(process.pid), 'rb', buffering=0) as ended):
        selector.register(pipe, selectors.EVENT_READ)
        selector.register(ended, selectors.EVENT_READ)
        while selector.get_map():
            ready = {key.fileobj for key, _ in selector.select(
                max(0, deadline - time.monotonic()) if stops else None)}
            if pipe in ready:
                data = os.read(pipe.fileno(), 65536)
                write(data)
                last = data or last
                if not data:
                    selector.unregister(pipe)
            elif ended in ready:
                selector.unregister(ended)
                process.wait()
                end_children()  # They may hold the pipe.
            if not ready:
                process.send_signal(stops.pop())
                deadline += GRACE_SECONDS
        if last[-1:] != b'\n':
            write(b'\n')
    return process.returncode if len(stops) == 2 else None


def end_children():
    """Ends all processes that descend from this one."""
    while pids := descendants():
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(-1, 0)


def descendants():
    children = {}
    for stat in pathlib.Path('/proc').glob('[0-9]*/stat'):
        with contextlib.suppress(OSError):
            fields = stat.read_text(errors='replace').rpartition(')')[2].split()
            children.setdefault(int(fields[1]), []).append(
                int(stat.parent.name))
    found = children.get(os.getpid(), [])
    for pid in found:  # Grows while it is read.
        found += children.get(pid, [])
    return found
