"""Rows of daemons whose GPUs are emulated; see tests/emulated."""

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
from row import (JOB, Skipped, check, end_service, goes_on, in_any_order,
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
        {'devices': '[cuda:0, cuda:1]', 'executors': 'together'},
        {'devices': '[cpu:0, cuda:0, cuda:1]', 'executors': 'factored'})
# Two parts of each batch, which exchange rows. One GPU alone gives each part
# back for every exchange.
PARTS = {'training.parts': 2, 'training.parts_on_fewer_trainers': 'true',
         'training.epochs': 8}
PART_WAYS = ({'devices': '[cuda:0, cuda:1]', 'executors': 'together',
              'trainers': 2},
             {'devices': '[cuda:0, cuda:1]'},
             {'devices': '[cpu:0, cuda:0, cuda:1]', 'executors': 'factored'})
# Of them a fifth is the scheduler.
VICTIMS = ('fgnn-sampler', 'fgnn-trainer', 'fgnn-sampler', 'fgnn-trainer',
           'fgnn-scheduler')
# Less than what daemons take that the dead would leave behind.
GPU_BYTES = 16 << 20
NCCL = {'devices': '[cpu:0, cuda:0, cuda:1]', 'training.sync': 'nccl'}
NCCL_VICTIMS = ('fgnn-trainer', 'fgnn-trainer', 'fgnn-trainer',
                'fgnn-sampler', 'fgnn-scheduler')
# An exchange makes emulated steps slower.
NCCL_EPOCHS = {'training.epochs': 20}
# A plan has 512 MiB for NCCL's own buffers.
NCCL_GPU_BYTES = 1 << 30


@contextlib.contextmanager
def service_with_gpus(options, gpu_bytes):
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
                    'FGNN_FAKE_GPU_BYTES': str(gpu_bytes),
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
        if not goes_on(run_dir, chance.randrange(5, 40)):
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


def run_jobs(service, settings, ways, victims, chance, undisturbed=ALONE):
    """Runs jobs in turns of `ways` until all `victims` are killed, each to the
    end of an undisturbed run; what was counted, and what daemons logged."""
    counts = collections.Counter()
    kills = len(victims)
    expected = service.run({**settings, **undisturbed}, '--digest')
    service.fgnn('up')
    while victims:
        check(counts['jobs'] <= kills, f'{len(victims)} kills came too late')
        way = ways[counts['jobs'] % len(ways)]
        run_dir = service.folder / f'killed-{counts["jobs"]}'
        counts['jobs'] += 1
        job = submit(service, {**settings, **way}, run_dir, '--digest')
        disturb(service, job, run_dir, victims, chance, counts)
        service.fgnn('watch', job)
        same_run(run_dir, expected)
        shutil.rmtree(run_dir)
    end_service(service)
    logs = ''.join(log.read_text() for log in
                   (service.state_dir / 'logs').glob('*r.*.log'))
    counts['met'] = len(re.findall(
        'cudaErrorIllegalAddress.*this process ends', logs))
    check(counts['met'] > 0 or counts['errors'] < 10,
          'no daemon met an error of its GPU')
    return counts, logs


def summed_up(counts):
    killed = ', '.join(f'{counts[name]} {name}'
                       for name in dict.fromkeys(VICTIMS))
    return (f'killed {killed}; {counts["errors"]} faults of a GPU between, '
            f'which ended {counts["met"]} daemons: same digests and weights in '
            f'{counts["jobs"]} of {counts["jobs"]} jobs')


def gpu_kills(options, chance):
    """digest and weights of an undisturbed run, whoever dies or loses a GPU"""
    victims = in_any_order(VICTIMS, options.gpu_kills, chance)
    with service_with_gpus(options, GPU_BYTES) as service:
        counts, _ = run_jobs(service, SETTINGS, WAYS, victims, chance)
    return summed_up(counts)


def gpu_part_kills(options, chance):
    """the same where GPUs train the parts of a batch, and wait for rows"""
    victims = in_any_order(VICTIMS, options.gpu_part_kills, chance)
    with service_with_gpus(options, GPU_BYTES) as service:
        counts, _ = run_jobs(service, {**SETTINGS, **PARTS}, PART_WAYS, victims,
                             chance, undisturbed=PART_WAYS[0])
    return summed_up(counts)


def nccl_kills(options, chance):
    """the same where two GPUs exchange gradients by NCCL: its groups die"""
    victims = in_any_order(NCCL_VICTIMS, options.nccl_kills, chance)
    with service_with_gpus(options, NCCL_GPU_BYTES) as service:
        counts, logs = run_jobs(service, {**SETTINGS, **NCCL_EPOCHS}, (NCCL,),
                                victims, chance)
    exchanged = sum(int(steps) for steps in re.findall(
        r'gradients of (\d+) steps were exchanged by NCCL', logs))
    check(exchanged > 0, 'no step was exchanged by NCCL')
    lost = len(re.findall('its gradients are added from the board', logs))
    return (f'{summed_up(counts)}; trainers that ended in order had exchanged '
            f'{exchanged} steps, and {lost} exchanges were given up')
