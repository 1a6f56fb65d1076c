"""Rows of run folders that two jobs want."""

import json
import os
import shutil
import signal

import harness
from row import (JOB, TINY, Broken, check, committed_of, end_service, pids_of,
                 service_in, submit, wait_for)
from same_folder import same_folder, untouched

DEVICES = ('cpu:0', 'cpu:1')
ENDED = ('completed', 'failed', 'cancelled')
SETTINGS = {**JOB, 'samplers': 1, 'trainers': 1, 'devices': 1,
            'training.epochs': 1500}
# The graph is this large so that a job of it is PREPARING for a while.
WIDE = ('--nodes', '2000', '--features', '16384', '--classes', '4',
        '--train-fraction', '0.3', '--seed', '7')
WAIT_SECONDS = 60


def state_of(service, job):
    return service.json('show', job)['state']


def names_of(run_dir, chance):
    """All names of a folder that may not be there yet."""
    parent = run_dir.parent
    link = parent.parent / 'linked'
    link.unlink(missing_ok=True)
    link.symlink_to(parent)
    names = [f'{link}/{run_dir.name}', f'{parent}/{run_dir.name}/',
             f'{parent}/../{parent.name}//./{run_dir.name}', str(run_dir)]
    chance.shuffle(names)
    return names


def ends_of(service, jobs):
    """How each of these jobs ended, once all have."""
    wait_for(lambda: all(state_of(service, job) in ENDED for job in jobs),
             WAIT_SECONDS, 'the end of the jobs', every=0.1)
    return [service.json('show', job) for job in jobs]


def one_completed(ends, run_dir, what):
    """Checks that one of the jobs of a folder completed; how many failed."""
    completed = [end for end in ends if end['state'] == 'completed']
    check(len(completed) == 1,
          f'{what}: {len(completed)} of {len(ends)} jobs of one folder '
          'completed')
    for end in ends:
        check(end in completed or run_dir.name in end['error_message'],
              f'{what}: {end["state"]}: {end.get("error_message")!r}')
    return len(ends) - 1


def queued_together(services, run_dir, chance):
    """Submits jobs of a folder that is not there yet, under all its names, and
    lets them start at once; how many were refused, and failed."""
    refused, known = 0, []
    blockers = [
        (service, submit(service, {**harness.ENDLESS, 'devices': f'[{device}]'},
                         service.folder / f'before-{run_dir.name}-{device[4:]}',
                         '--priority', '5'))
        for service, device in zip((services[0], *services), DEVICES * 2)]
    for name in names_of(run_dir, chance):
        for service in services:
            answer = service.fgnn(
                'submit', *services[0].job_words(SETTINGS), '--digest',
                '--json', '--run-dir', name, check=False)
            if answer.returncode == 0:
                known.append((service, json.loads(answer.stdout)['job_id']))
                continue
            check(answer.returncode in (1, 2) and run_dir.name in answer.stderr,
                  f'{name}: said {answer.stderr!r}')
            refused += 1
    # A folder that an unfinished job of the service has is refused at once.
    check(len(known) <= len(services),
          f'{len(known)} jobs of {len(services)} services may have one folder')
    for service, blocker in blockers:
        service.fgnn('cancel', blocker)
    ends = [end for service in services for end in ends_of(
        service, [job for of, job in known if of is service])]
    return refused, one_completed(ends, run_dir, 'queued together')


def resumed_together(services, run_dir, chance):
    """Resumes an ended run under all its names at once; how many commands
    failed."""
    first = submit(services[0], SETTINGS, run_dir, '--digest')
    wait_for(lambda: committed_of(run_dir) > 1200, WAIT_SECONDS, 'progress')
    services[0].fgnn('cancel', first)
    before = [{job['job_id'] for job in service.json('jobs')['jobs']}
              for service in services]
    clients = [service.start('resume', name)
               for name in names_of(run_dir, chance) for service in services]
    try:
        for client in clients:
            client.communicate(timeout=WAIT_SECONDS)
    finally:
        for client in clients:
            client.kill()
            client.communicate()
    ends = [end for service, known in zip(services, before)
            for end in ends_of(service, [
                job['job_id'] for job in service.json('jobs')['jobs']
                if job['job_id'] not in known])]
    one_completed(ends, run_dir, 'resumed together')
    return len(clients) - sum(not client.returncode for client in clients)


def two_names(options, chance):
    """one of the jobs of a folder runs, as if alone; others change no byte"""
    refused = failed = not_resumed = 0
    with service_in(options) as service, service_in(options) as neighbour:
        services = (service, neighbour)
        service.fgnn('up', '--devices', *DEVICES)
        neighbour.fgnn('up', '--devices', DEVICES[1])
        runs = service.folder / 'runs'
        runs.mkdir()
        expected = service.run(SETTINGS, '--digest')
        for number in range(options.names):
            run_dir = runs / f'queued-{number}'
            counts = queued_together(services, run_dir, chance)
            refused, failed = refused + counts[0], failed + counts[1]
            same_folder(run_dir, expected)
            run_dir = runs / f'resumed-{number}'
            not_resumed += resumed_together(services, run_dir, chance)
            same_folder(run_dir, expected)
        interrupted_while_preparing(neighbour, expected)
        for each in services:
            end_service(each)
    return (f'of {2 * options.names} folders that jobs of two services wanted '
            f'under four names, each is as of a quiet run: {refused} refused, '
            f'{failed} failed, {not_resumed} not resumed; interrupted while '
            f'preparing by {", ".join(map(name_of, WAYS))}: no byte of the run '
            'that was there changed')


# ---- A job that is interrupted before it has its folder.

def by_pause(service, job):
    service.fgnn('pause', job)
    return service.start('resume', job)


def by_priority(service, _):
    run_dir = service.folder / 'urgent'
    shutil.rmtree(run_dir, ignore_errors=True)
    urgent = submit(service, {**TINY, 'devices': '[cpu:1]'}, run_dir,
                    '--priority', '9')
    service.fgnn('watch', urgent)


def by_a_kill(service, _):
    scheduler, = pids_of(service, 'fgnn-scheduler')
    os.kill(scheduler, signal.SIGKILL)
    service.wait_until_gone([scheduler])
    service.fgnn('up', '--devices', 'cpu:1')


WAYS = (by_pause, by_priority, by_a_kill)


def name_of(way):
    return way.__name__.replace('_', ' ').removeprefix('by ')


def interrupted_while_preparing(neighbour, expected):
    """A job of the neighbour finds a finished run in its folder only when it
    starts."""
    shutil.rmtree(neighbour.dataset)
    neighbour.fgnn('dataset', 'generate', 'sbm', *WIDE, '--out',
                   neighbour.dataset)
    for way in WAYS:
        name = name_of(way)
        run_dir = neighbour.folder / 'wanted'
        blocker = submit(neighbour, {**harness.ENDLESS, 'devices': '[cpu:1]'},
                         neighbour.folder / f'blocker-{name}',
                         '--priority', '5')
        settings = {**SETTINGS, 'devices': '[cpu:1]', 'training.seed': 8}
        job = submit(neighbour, settings, run_dir, '--digest')
        shutil.copytree(expected, run_dir)
        before = untouched(run_dir)
        # Validated anew each time.
        os.utime(neighbour.dataset / 'features.npy')
        neighbour.fgnn('cancel', blocker)
        wait_for(lambda: state_of(neighbour, job) in ('preparing', 'failed'),
                 WAIT_SECONDS, 'preparing', every=0)
        client = None
        if state_of(neighbour, job) == 'preparing':
            client = way(neighbour, job)
        wait_for(lambda: state_of(neighbour, job) in ('failed', 'completed'),
                 WAIT_SECONDS, f'{name}: the end of the job that came second',
                 every=0.1)
        if client is not None:
            client.communicate(timeout=WAIT_SECONDS)
        shown = neighbour.json('show', job)
        check(shown['state'] == 'failed' and str(run_dir) in
              shown['error_message'], f'{name}: {shown["state"]}, '
              f'{shown.get("error_message")!r}')
        now = untouched(run_dir)
        changed = [each for each in {*before, *now}
                   if before.get(each) != now.get(each)]
        if changed:
            raise Broken(f'{name}: the finished run lost {sorted(changed)}')
        shutil.rmtree(run_dir)
