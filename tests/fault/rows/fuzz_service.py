"""rpc_fuzz: a service, a user's jobs, clients that make random calls, and what
came of the service."""

import collections
import json
import os
import pathlib
import signal
import statistics
import subprocess
import tempfile
import time

import fuzz_clients
import harness
import poison
import random_calls
import users
from row import (JOB, Broken, Skipped, check, end_service, pids_of, same_run,
                 summary_of, wait_for)

GRAPH = ('--nodes', '2000', '--features', '16', '--classes', '4',
         '--train-fraction', '0.3', '--seed', '7')
SETTINGS = {**JOB, 'samplers': 1, 'trainers': 1, 'training.epochs': 1000,
            'devices': '[cpu:0]'}
DEVICES = ('cpu:0', 'cpu:1')
# Seconds that a command of root may take meanwhile.
ANSWER_SECONDS = 8
LOOK_SECONDS = 0.5
# A random job is cancelled after so long with a device.
MOST_JOB_SECONDS = 3
MOST_GROWTH = 1.05
# The second half of a short run still fills caches.
SLACK_KIB = 16 << 10
SLACK_DESCRIPTORS = 40


class Measured:
    """Jobs of a user, one after the other, and the scheduler's sizes."""

    def __init__(self, service, expected, runs):
        self.service, self.expected, self.runs = service, expected, runs
        self.scheduler, = pids_of(service, 'fgnn-scheduler')
        self.count = 0
        self.sizes = []
        self.slowest = 0
        # Members of the group may end a service that has no job of others.
        self.paused = self.submit_to(runs / 'paused')
        service.fgnn('pause', self.paused)
        self.waiting = [self.submit(), self.submit()]

    def submit(self):
        run_dir = self.runs / f'run-{self.count}'
        self.count += 1
        self.submit_to(run_dir)
        return run_dir

    def submit_to(self, run_dir):
        return self.service.json_as(
            users.COLLEAGUE, 'submit', *self.service.job_words(SETTINGS),
            '--run-dir', str(run_dir), '--digest')['job_id']

    def look(self):
        """Whether all is well; the next job is submitted when one has ended."""
        check(pids_of(self.service, 'fgnn-scheduler') == [self.scheduler],
              'the scheduler died')
        started = time.monotonic()
        jobs = self.service.json('jobs', '--limit', '100')['jobs']
        self.slowest = max(self.slowest, time.monotonic() - started)
        check(self.slowest <= ANSWER_SECONDS,
              f'fgnn jobs took {self.slowest:.1f} s')
        for job in jobs:
            if (not job['run_dir'].startswith(str(self.runs)) and
                    job['run_seconds'] > MOST_JOB_SECONDS and
                    job['state'] == 'running'):
                # The job may have ended meanwhile: either answer is right.
                self.service.fgnn('cancel', job['job_id'], check=False)
        folder = pathlib.Path(f'/proc/{self.scheduler}')
        self.sizes.append((poison.resident_kib(self.scheduler),
                           len(os.listdir(folder / 'fd'))))
        if (self.waiting[0] / 'summary.json').exists():
            self.ended(self.waiting.pop(0))
            self.waiting.append(self.submit())

    def ended(self, run_dir):
        state = summary_of(run_dir)['state']
        job = next(job for job in self.service.json('jobs', '--limit', '1000')
                   ['jobs'] if job['run_dir'] == str(run_dir))
        check(state == 'completed', f'{run_dir} {state}: '
              f'{job.get("error_message")!r}')
        same_run(run_dir, self.expected)
        restarts = summary_of(run_dir)['restarts']
        check(restarts == 0, f'{restarts} daemons were restarted')

    def finish(self):
        for run_dir in self.waiting:
            wait_for((run_dir / 'summary.json').exists, 120, str(run_dir))
            self.ended(run_dir)
        state = self.service.json('show', self.paused)['state']
        check(state == 'paused', f'the job that is paused is {state}')
        check(pids_of(self.service, 'fgnn-scheduler') == [self.scheduler],
              'the scheduler died')

    def growth(self):
        """Memory and descriptors of both halves of the time, in words."""
        half = len(self.sizes) // 2
        grown = []
        for index, slack in ((0, SLACK_KIB), (1, SLACK_DESCRIPTORS)):
            before, after = (
                statistics.median(size[index] for size in sizes)
                for sizes in (self.sizes[:half], self.sizes[half:]))
            name = ('resident KiB', 'descriptors')[index]
            check(after <= max(before * MOST_GROWTH, before + slack),
                  f'{name} of the scheduler grew from {before} to {after}')
            grown.append(f'{name} {before:.0f} and {after:.0f}')
        return ', '.join(grown)


def words_for(service, expected):
    """Strings that mean something to the service."""
    fifo = service.folder / 'fifo'
    os.mkfifo(fifo, 0o666)
    traps = service.folder / 'traps'
    traps.mkdir()
    os.mkfifo(traps / 'metadata.yaml', 0o666)
    poisoned = poison.copy_of(service, 'poisoned')
    poison.number('num_classes', '2147483648')[1](poisoned)
    checkpoint = next((expected / 'checkpoints').glob('*.safetensors'))
    return [str(word) for word in (
        service.dataset, fifo, traps, poisoned, expected, checkpoint,
        expected / 'metrics.jsonl', service.state_dir,
        service.state_dir / 'jobs.sqlite', service.folder / 'runs/new',
        summary_of(expected)['job_id'], summary_of(expected)['job_id'][:8])]


def methods_of(descriptors, left_out):
    """(path, descriptor of the request, whether it answers with a stream)."""
    return [(f'/{name}/{method.name}', method.input_type,
             method.server_streaming)
            for name, service in sorted(descriptors.items())
            for method in service.methods
            if method.name not in left_out]


def fuzz(options, service, descriptors):
    """Runs it all; what was measured, in words."""
    service.fgnn('up', '--devices', *DEVICES, **users.SERVICE)
    runs = service.folder_of(users.SERVICE, 'runs')
    runs.chmod(0o777)
    expected = runs / 'expected'
    service.fgnn('run', *service.job_words(SETTINGS), '--run-dir',
                 str(expected), '--digest', **users.COLLEAGUE)
    spec_of = random_calls.GetMessageClass(
        descriptors['fgnn.v1.JobService'].methods_by_name['SubmitJob']
        .input_type.fields_by_name['spec'].message_type)
    valid = spec_of(dataset=str(service.dataset), devices=['cpu:1'])
    valid.training.epochs = 2
    words = words_for(service, expected)
    measured = Measured(service, expected, runs)
    callers = {'service-user': users.SERVICE} if options.as_service_user else {
        'member': users.MEMBER, 'other member': users.MEMBER,
        'outsider': users.OUTSIDER}
    methods = methods_of(descriptors, {
        *options.leave_out,
        *(fuzz_clients.HARMFUL if options.as_service_user else ())})
    clients = {
        name: fuzz_clients.start(name, who, options.seed, service, methods,
                                 words, valid, options.seconds)
        for name, who in callers.items()}
    counts = collections.Counter()
    try:
        end = time.monotonic() + options.seconds
        while time.monotonic() < end:
            measured.look()
            time.sleep(LOOK_SECONDS)
        for name, (pid, report) in clients.items():
            _, status = os.waitpid(pid, 0)
            clients[name] = (0, report)
            check(status == 0, f'the {name} ended with {status}')
            of_client = json.loads(report.read_text())
            if callers[name] is users.OUTSIDER:
                let_in = [what for what in of_client
                          if not what.endswith('refused')]
                check(not let_in, f'an outsider: {let_in}')
            counts += of_client
    finally:
        for pid, _ in clients.values():
            if pid:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
    measured.finish()
    grown = measured.growth()
    service.fgnn('status')
    end_service(service)
    for what, count in sorted(counts.items()):
        print(f'  {count:8} {what}')
    return (f'{sum(counts.values())} calls and connections, {measured.count} '
            f'jobs in the weights of a quiet run, 0 restarts; {grown} (halves '
            f'of the time); answers to root within {measured.slowest:.1f} s')


def run(options):
    harness.BIN_DIR = options.bin
    print(f'rpc_fuzz of seed {options.seed}, {options.seconds:.0f} s',
          flush=True)
    with tempfile.TemporaryDirectory(prefix='fgnn-rf-', dir='/tmp') as folder:
        graph = harness.Service(folder)
        graph.fgnn('dataset', 'generate', 'sbm', *GRAPH, '--out',
                   graph.dataset)
        options.graph = graph.dataset
        modules = pathlib.Path(folder) / 'modules'
        modules.mkdir()
        descriptors = random_calls.services(modules)
        try:
            with users.service_of_a_user(options) as service:
                service.folder.chmod(0o777)  # For runs of anybody.
                measured = fuzz(options, service, descriptors)
        except Skipped as lacking:
            print(f'skipped: {lacking}\n0 passed, 0 failed, 1 skipped')
            return 0
        except (Broken, AssertionError, OSError, LookupError, ValueError,
                subprocess.SubprocessError) as broken:
            print(f'FAIL: {type(broken).__name__}: {broken}\n'
                  f'repeat with --seed {options.seed}\n0 passed, 1 failed')
            return 1
    print(f'{measured}\n1 passed, 0 failed')
    return 0
