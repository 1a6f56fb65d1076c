"""A row of daemons whose GPUs are emulated; see tests/emulated."""

import collections
import contextlib
import os
import re
import shutil
import signal
import time
import unittest.mock

import harness
from deaths import restart_scheduler
from row import (JOB, Skipped, check, committed_of, end_service, in_any_order,
                 pids_of, same_run, service_in, submit, wait_for)

KILLS_PER_JOB = 10
EMULATED = ('fgnn-sampler-emulated', 'fgnn-trainer-emulated')
# Steps of a known size, so that the number of devices changes no weight.
SETTINGS = {**{name: value for name, value in JOB.items()
               if name not in ('samplers', 'trainers')},
            'training.epochs': 40, 'training.checkpoint_steps': 50}
ALONE = {'devices': '[cuda:0]'}
# Of the jobs, in turns. All trainers are GPUs.
WAYS = (ALONE, {'devices': '[cuda:0, cuda:1]'}, {'devices': '[cpu:0, cuda:0]'},
        {**ALONE, 'executors': 'factored'},
        {'devices': '[cuda:0, cuda:1]', 'executors': 'together'})
# Of them a fifth is the scheduler.
VICTIMS = ('fgnn-sampler', 'fgnn-trainer', 'fgnn-sampler', 'fgnn-trainer',
           'fgnn-scheduler')
# Less than what daemons take that the dead would leave behind.
GPU_BYTES = 16 << 20


@contextlib.contextmanager
def service_with_gpus(options):
    """A service on a machine with two GPUs; daemons share their memory."""
    for name in EMULATED:
        if not (options.bin.parent / 'tests' / name).exists():
            raise Skipped(f'no {name}: tools/build release '
                          f'{" ".join(EMULATED)}')
    programs = harness.emulated_programs()
    try:
        with service_in(options) as service, unittest.mock.patch.dict(
                os.environ, {
                    'FGNN_FAKE_GPUS': '2',
                    'FGNN_FAKE_GPU_BYTES': str(GPU_BYTES),
                    'FGNN_FAKE_GPU_ACCOUNTS': str(service.folder / 'gpu')}):
            service.programs = programs
            yield service
    finally:
        shutil.rmtree(programs)


def hit(service, program, number, chance):
    """Sends the signal to a process of the program. Its pid."""
    while True:
        pids = []
        wait_for(lambda: pids.extend(pids_of(service, program)) or pids, 60,
                 f'a living {program}')
        pid = chance.choice(pids)
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)
            return pid


def disturb(service, job, run_dir, victims, chance, counts):
    """Kills the daemons at the end of `victims` while the job runs, and lets
    GPUs fail between two kills."""
    for _ in range(min(KILLS_PER_JOB, len(victims))):
        goal = committed_of(run_dir) + chance.randrange(5, 40)
        wait_for(lambda: committed_of(run_dir) >= goal or
                 (run_dir / 'summary.json').exists(), 60, 'progress')
        if (run_dir / 'summary.json').exists():
            return
        time.sleep(chance.random() * 0.02)  # Another moment of a batch.
        victim = victims.pop()
        pid = hit(service, victim, signal.SIGKILL, chance)
        counts[victim] += 1
        if victim == 'fgnn-scheduler':
            restart_scheduler(service, pid, job)
        if chance.random() < 0.5:
            time.sleep(chance.random() * 0.5)
            hit(service, chance.choice(VICTIMS[:2]), signal.SIGUSR2, chance)
            counts['errors'] += 1


def gpu_kills(options, chance):
    """digest and weights of an undisturbed run, whoever dies or loses a GPU"""
    victims = in_any_order(VICTIMS, options.gpu_kills, chance)
    counts = collections.Counter()
    with service_with_gpus(options) as service:
        expected = service.run({**SETTINGS, **ALONE}, '--digest')
        service.fgnn('up')
        while victims:
            check(counts['jobs'] <= options.gpu_kills,
                  f'{len(victims)} kills came too late')
            way = WAYS[counts['jobs'] % len(WAYS)]
            run_dir = service.folder / f'killed-{counts["jobs"]}'
            counts['jobs'] += 1
            job = submit(service, {**SETTINGS, **way}, run_dir, '--digest')
            disturb(service, job, run_dir, victims, chance, counts)
            service.fgnn('watch', job)
            same_run(run_dir, expected)
            shutil.rmtree(run_dir)
        end_service(service)
        met = sum(len(re.findall('cudaErrorIllegalAddress.*this process ends',
                                 log.read_text()))
                  for log in (service.state_dir / 'logs').glob('*r.*.log'))
    check(met > 0 or counts['errors'] < 10, 'no daemon met an error of its GPU')
    killed = ', '.join(f'{counts[name]} {name}'
                       for name in dict.fromkeys(VICTIMS))
    return (f'killed {killed}; {counts["errors"]} faults of a GPU between, '
            f'which ended {met} daemons: same digests and weights in '
            f'{counts["jobs"]} of {counts["jobs"]} jobs')
