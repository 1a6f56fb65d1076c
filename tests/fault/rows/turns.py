"""Rows of devices that take turns."""

import os
import signal
import time

from row import (JOB, check, committed_of, end_service, pids_of, same_run,
                 service_in, submit, wait_for)
from deaths import restart_scheduler

SWITCHES_PER_JOB = 40
# Of them a third is followed by a kill.
VICTIMS = ('fgnn-sampler', 'fgnn-trainer', 'fgnn-sampler', 'fgnn-trainer',
           'fgnn-scheduler')


def switches(options, chance):
    """digest and weights of an undisturbed run, whatever is switched or killed"""
    together = {name: value for name, value in JOB.items()
                if name not in ('samplers', 'trainers')}
    settings = {**together, 'devices': '[cpu:0, cpu:1]',
                'training.epochs': 1500}
    left = options.switches
    jobs = made = refused = kills = 0
    with service_in(options) as service:
        expected = service.run({**settings, 'executors': 'together'},
                               '--digest')
        service.fgnn('up', '--devices', 'cpu:0', 'cpu:1')
        while left > 0:
            check(jobs <= options.switches, f'{left} switches came too late')
            run_dir = service.folder / f'switched-{jobs}'
            job = submit(service, settings, run_dir, '--digest')
            jobs += 1
            for _ in range(min(SWITCHES_PER_JOB, left)):
                goal = committed_of(run_dir) + chance.randrange(20, 200)
                wait_for(lambda: committed_of(run_dir) >= goal or
                         (run_dir / 'summary.json').exists(), 60, 'progress')
                if (run_dir / 'summary.json').exists():
                    break
                device = chance.choice(('cpu:0', 'cpu:1'))
                role = chance.choice(('sampler', 'trainer'))
                answer = service.fgnn('switch', device, role, check=False)
                if answer.returncode == 0:
                    left -= 1
                    made += 1
                else:  # The last one that samples does.
                    check('last device' in answer.stderr or
                          'does not run' in answer.stderr or
                          'no job runs' in answer.stderr, answer.stderr)
                    refused += 1
                if chance.random() < 1 / 3:
                    kills += kill(service, job, chance)
            service.fgnn('watch', job)
            same_run(run_dir, expected)
        end_service(service)
    return (f'{made} switches of a device by hand, {refused} more that would '
            f'have left nobody to sample, and {kills} kills: same digests and '
            f'weights in {jobs} of {jobs} jobs')


def kill(service, job, chance):
    victim = chance.choice(VICTIMS)
    pids = pids_of(service, victim)
    if not pids or service.json('show', job)['state'] != 'running':
        return 0
    time.sleep(chance.random() * 0.02)  # Another moment of the switch.
    pid = chance.choice(pids)
    os.kill(pid, signal.SIGKILL)
    if victim == 'fgnn-scheduler':
        restart_scheduler(service, pid, job)
    return 1
