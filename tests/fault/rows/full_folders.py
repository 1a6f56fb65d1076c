"""A row of folders that are full for a while."""

import contextlib
import errno
import json
import math
import os
import shutil
import time

from row import (JOB, Skipped, check, committed_of, end_service,
                 ends_undisturbed, same_run, service_in, small_disk, submit,
                 summary_of, wait_for)

SETTINGS = {**JOB, 'samplers': 1, 'trainers': 1, 'training.epochs': 1500}
# This job writes metrics and digests alone until its end. Its epochs are not too
# short: a job holds 16 MiB of lines for a full disk, and these write .33 MB a
# second.
NO_CHECKPOINTS = {**SETTINGS, 'training.checkpoint_steps': 0,
                  'model.hidden': 128}
RUN_MIB = 12
STATE_MIB = 12
DATASET_MIB = 4
WAIT_SECONDS = 90
# Seconds until an end that could not be stored is, once there is room.
STORED_SECONDS = 15
BLOCK = 4096


@contextlib.contextmanager
def full(folder):
    """Has the folder's disk be full meanwhile."""
    ballast = folder / 'ballast'
    with open(ballast, 'wb', buffering=0) as file:
        for size in (1 << 20, BLOCK):
            with contextlib.suppress(OSError):
                while file.write(bytes(size)) == size:
                    pass
    try:
        yield
    finally:
        ballast.unlink()


def state_of(service, job):
    return service.json('show', job)['state']


def metrics_are_whole(run_dir, settings):
    lines = (run_dir / 'metrics.jsonl').read_text().splitlines()
    epochs = [json.loads(line)['epoch'] for line in lines]
    check(epochs == list(range(1, 1 + settings['training.epochs'])),
          f'{run_dir} has metrics of {len(epochs)} epochs, not in order or '
          'not whole')


def with_epochs_for(service, settings, seconds):
    """The settings, with as many epochs as take this long on this machine."""
    measured = summary_of(service.run(settings))
    trained = measured['seconds'] - sum(measured['preparation_seconds'].values())
    epochs = settings['training.epochs']
    return {**settings, 'training.epochs':
            max(epochs, math.ceil(epochs * seconds / trained))}


def full_while_trained(service, chance, settings, seconds):
    """The run's folder is full for a while; the job goes on afterwards, by
    itself."""
    # A job that ended meanwhile would fail for the lack of its last checkpoint.
    settings = with_epochs_for(service, settings, 2 * seconds)
    expected = service.run(settings, '--digest')
    needed = sum(path.stat().st_size for path in expected.rglob('*')) >> 20
    with small_disk(service.folder / 'small', f'{RUN_MIB + needed}m') as small:
        run_dir = small / 'run'
        job = submit(service, settings, run_dir, '--digest')
        goal = chance.randrange(500, 1500)
        wait_for(lambda: committed_of(run_dir) >= goal, WAIT_SECONDS,
                 'progress')
        with full(small):
            time.sleep(seconds)
            shown = service.json('show', job)
            check(shown['state'] == 'running', 'with a full run folder it '
                  f'{shown["state"]}: {shown.get("error_message")!r}')
        ends_undisturbed(service, job, run_dir, expected)
        metrics_are_whole(run_dir, settings)
    (service.folder / 'small').rmdir()


def full_at_a_checkpoint(service, _):
    """The run's folder is full until a checkpoint fails; the next ones are
    written."""
    log = service.state_dir / 'logs/scheduler.log'
    expected = service.run(SETTINGS, '--digest')
    with small_disk(service.folder / 'small', f'{RUN_MIB}m') as small:
        run_dir = small / 'run'
        job = submit(service, SETTINGS, run_dir, '--digest')
        wait_for(lambda: committed_of(run_dir) > 1200, WAIT_SECONDS,
                 'progress')
        before = log.stat().st_size
        with full(small):
            wait_for(lambda: os.strerror(errno.ENOSPC) in
                     log.read_text()[before:], WAIT_SECONDS,
                     'a word of the full disk')
        service.fgnn('watch', job)
        same_run(run_dir, expected)
        metrics_are_whole(run_dir, SETTINGS)
        left = [path.name for path in (run_dir / 'checkpoints').iterdir()
                if path.suffix != '.safetensors']
        check(not left, f'left: {left}')
    (service.folder / 'small').rmdir()


def full_state_folder(service, chance):
    """A job's end cannot be stored, nor logged: it is, once there is room."""
    job = submit(service, NO_CHECKPOINTS, service.folder / 'ended', '--digest')
    run_dir = service.folder / 'ended'
    goal = chance.randrange(500, 5000)
    wait_for(lambda: committed_of(run_dir) >= goal, WAIT_SECONDS, 'progress')
    after = service.json('submit', *service.job_words(NO_CHECKPOINTS),
                         '--after', job)['job_id']
    with full(service.state_dir):
        wait_for(lambda: (run_dir / 'summary.json').exists(), WAIT_SECONDS,
                 'its end')
        check(summary_of(run_dir)['state'] == 'completed', 'it did not '
              f'complete: {summary_of(run_dir)}')
        time.sleep(1)  # The store is tried meanwhile.
        service.fgnn('status')
    wait_for(lambda: state_of(service, job) == 'completed', STORED_SECONDS,
             lambda: f'storing its end: it is {state_of(service, job)}, and')
    listed = {each['job_id']: each['state']
              for each in service.json('jobs')['jobs']}
    check(listed[job] == 'completed', f'jobs says {listed[job]}')
    service.fgnn('watch', job)
    wait_for(lambda: state_of(service, after) != 'queued', WAIT_SECONDS,
             'the job behind it')
    # It may have started while there was no room, and may have ended since.
    service.fgnn('cancel', after, check=False)
    shown = service.json('show', after)
    check(shown['state'] != 'failed' or
          os.strerror(errno.ENOSPC) in shown['error_message'],
          f'the job behind it: {shown["error_message"]!r}')


def full_derived(service, _):
    """What is kept with a dataset is kept once there is room; a job that can do
    without it ends as if it were there."""
    settings = {**SETTINGS, 'training.epochs': 100,
                'cache.policy': 'presc', 'cache.capacity': 0.1}
    expected = service.run(settings, '--digest')
    sound = service.folder / 'sound'
    shutil.copytree(service.dataset, sound)
    shutil.rmtree(sound / 'derived')
    with small_disk(service.folder / 'small', f'{DATASET_MIB}m') as small:
        dataset = small / 'graph'
        shutil.copytree(sound, dataset)
        words = ('--set', f'dataset={dataset}', '--digest')
        with full(small):
            plain = service.folder / 'plain'
            ran = service.fgnn(
                'run', *service.job_words({**settings, 'cache.policy': 'none'}),
                '--run-dir', str(plain), *words, check=False)
            check(ran.returncode == 0 or 'No space left' in ran.stderr,
                  f'with a full dataset folder: {ran.stderr!r}')
            run_dir = service.folder / 'ranked'
            ran = service.fgnn('run', *service.job_words(settings),
                               '--run-dir', str(run_dir), *words, check=False)
            check(ran.returncode == 0 or (str(dataset) in ran.stderr and
                                          'No space left' in ran.stderr),
                  f'with a full dataset folder: {ran.stderr!r}')
        shutil.rmtree(run_dir, ignore_errors=True)
        service.fgnn('run', *service.job_words(settings), '--run-dir',
                     str(run_dir), *words)
        same_run(run_dir, expected)
        left = [path.name for path in (dataset / 'derived').iterdir()
                if path.suffix not in ('.bin', '.json', '')]
        check(not left, f'left: {left}')


def full_folders(options, chance):
    """jobs wait for room, or say what was full; nothing is lost of those that
    end"""
    if os.geteuid() != 0:
        raise Skipped('needs root, to mount')
    with service_in(options) as service:
        with small_disk(service.state_dir, f'{STATE_MIB}m'):
            try:
                service.fgnn('up', '--devices', 'cpu:0')
                full_while_trained(service, chance, NO_CHECKPOINTS,
                                   options.full_seconds)
                full_at_a_checkpoint(service, chance)
                full_state_folder(service, chance)
                full_derived(service, chance)
                end_service(service)
            finally:
                service.kill_all()
    return (f'run folder full for {options.full_seconds:.0f} s of metrics, and '
            'until a checkpoint failed: the job went on, same result; state '
            'folder full at an end: stored when there was room; derived/ '
            'full: same result behind it')
