"""Rows of devices that take turns."""

import json
import os
import signal
import time

from row import (JOB, check, committed_of, end_service, goes_on, in_any_order,
                 pids_of, same_run, service_in, submit, wait_for)
from deaths import restart_scheduler

SWITCHES_PER_JOB = 40
DEVICES = ('cpu:0', 'cpu:1')
WAYS = ({}, {'switching': 'false', 'samplers': 1},
        {'executors': 'time_sharing'})
# What follows a loss.
AFTERWARDS = ('nothing', 'a kill of the scheduler', 'a return',
              'a kill of the scheduler and a return')
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
                if not goes_on(run_dir, chance.randrange(20, 200)):
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


def losses(options, chance):
    """digest and weights of an undisturbed run, whichever device is lost"""
    together = {name: value for name, value in JOB.items()
                if name not in ('samplers', 'trainers')}
    settings = {**together, 'devices': f'[{", ".join(DEVICES)}]',
                'training.epochs': 1500, 'training.evaluate_every': 100}
    faults = in_any_order(AFTERWARDS, options.losses, chance)
    made = dict.fromkeys(AFTERWARDS, 0)
    with service_in(options) as service:
        expected = service.run({**settings, 'executors': 'together'},
                               '--digest')
        service.fgnn('up', '--devices', *DEVICES)
        for index, afterwards in enumerate(faults):
            run_dir = service.folder / f'lossy-{index}'
            restarts = chance.randrange(3)
            job = submit(service, {**settings, **chance.choice(WAYS),
                                   'limits.restarts': restarts},
                         run_dir, '--digest')
            device = chance.choice(DEVICES)
            lose(service, job, device, restarts, run_dir, chance)
            if 'scheduler' in afterwards:
                scheduler, = pids_of(service, 'fgnn-scheduler')
                time.sleep(chance.random() * 0.05)
                os.kill(scheduler, signal.SIGKILL)
                restart_scheduler(service, scheduler, job)
                wait_for(lambda: plan_of(service, device) == 'lost' or
                         has_ended(service, job), 60,
                         'finding out who is lost')
            if 'return' in afterwards:
                bring_back(service, job, device)
            service.fgnn('watch', job)
            same_run(run_dir, expected)
            made[afterwards] += 1
        end_service(service)
    counted = ', '.join(f'{count} before {what}'
                        for what, count in made.items() if count > 0)
    return (f'a device lost in mid-job, {counted}: same digests and weights '
            f'in {len(faults)} of {len(faults)} jobs')


def lose(service, job, device, restarts, run_dir, chance):
    """Kills one of its daemons once more often than it is started again."""
    role = chance.choice(('sampler', 'trainer'))
    pid = 0
    for _ in range(restarts + 1):
        goal = committed_of(run_dir) + chance.randrange(20, 200)
        wait_for(lambda: committed_of(run_dir) >= goal, 60, 'progress')
        wait_for(lambda: executor_pid(service, job, device, role)
                 not in (0, pid), 60, f'a {role} on {device}')
        pid = executor_pid(service, job, device, role)
        os.kill(pid, signal.SIGKILL)
    wait_for(lambda: plan_of(service, device) == 'lost', 60, 'the loss')


def executor_pid(service, job, device, role):
    progress = service.json('show', job)['progress']
    return sum(executor.get('pid', 0)
               for executor in progress.get('executors', [])
               if (executor['device'], executor['role']) == (device, role))


def plan_of(service, device):
    return next((found.get('plan', '') for found in
                 service.json('devices')['devices']
                 if found['name'] == device), '')


def has_ended(service, job):
    return service.json('show', job)['state'] == 'completed'


def bring_back(service, job, device):
    def is_back():
        answer = service.fgnn('switch', device, 'auto', '--job', job, '--json',
                              check=False)
        return (answer.returncode == 0 and
                json.loads(answer.stdout)['plan'] != 'lost')
    wait_for(lambda: is_back() or has_ended(service, job), 60, 'the return')
