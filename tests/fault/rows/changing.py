"""Rows of datasets that change while they are in use."""

import contextlib
import os
import pathlib
import shutil
import signal
import time

import harness
from npy_array import Array
from row import (JOB, check, committed_of, end_service, ends_undisturbed,
                 pids_of, same_run, service_in, submit, wait_for)

DEVICES = ('cpu:0', 'cpu:1')
HEALTHY = {**JOB, 'samplers': 1, 'trainers': 1, 'training.epochs': 2000}
OTHER = {**HEALTHY, 'devices': '[cpu:1]', 'limits.restarts': 5}
# The graph is this large so that its validation takes a while.
WIDE = ('--nodes', '2000', '--features', '16384', '--classes', '4',
        '--train-fraction', '0.3', '--seed', '7')
END_SECONDS = 60
# A file that is not mapped by then is cut all the same.
MAPPED_SECONDS = 2
ENDED = ('failed', 'completed', 'cancelled')


class OtherJob:
    """A job of a dataset of its own, beside one that is to be left alone."""

    def __init__(self, service, dataset, name, settings):
        self.service = service
        self.dataset = dataset
        self.run_dir = service.folder / name
        self.job = submit(service, {**OTHER, **settings}, self.run_dir,
                          '--digest', '--set', f'dataset={dataset}')

    def shown(self):
        return self.service.json('show', self.job)

    def wait_for_batches(self, count):
        wait_for(lambda: committed_of(self.run_dir) >= count, END_SECONDS,
                 'progress')

    def check_failed(self, what):
        """Failed within its time, in words that name dataset or batch."""
        wait_for(lambda: self.shown()['state'] in ENDED, END_SECONDS,
                 f'{what}: the end of its job', every=0.1)
        shown = self.shown()
        check(shown['state'] == 'failed', f'{what}: it {shown["state"]}')
        check(str(self.dataset) in shown['error_message'],
              f'{what}: said {shown["error_message"]!r}')


def cut(path, chance):
    os.truncate(path, chance.randrange(path.stat().st_size))


def written_anew(path, chance):
    """As a program does that saves an array over the file."""
    content = path.read_bytes()
    with open(path, 'wb') as file:
        time.sleep(chance.random() * 0.1)
        file.write(content[:chance.randrange(len(content))])


def wait_until_mapped(service, path):
    """Waits until a process of the service has mapped a file, which begins its
    validation."""
    word = str(path).encode()
    pids = list(service.processes())
    deadline = time.monotonic() + MAPPED_SECONDS
    while time.monotonic() < deadline:
        for pid in pids:
            with contextlib.suppress(OSError):
                if word in pathlib.Path(f'/proc/{pid}/maps').read_bytes():
                    return


def cut_while_validated(service, wide, chance):
    """Cuts the dataset's features at some moment of the job's start."""
    path = wide / 'features.npy'
    kept = service.folder / 'features.kept'
    shutil.copyfile(path, kept)  # Validated anew, as its time is another.
    other = OtherJob(service, wide, f'cut-{time.monotonic_ns()}',
                     harness.ENDLESS)
    wait_until_mapped(service, path)
    time.sleep(chance.random() * 0.03)
    way = chance.choice((cut, written_anew))
    way(path, chance)
    other.check_failed(f'{path.name} {way.__name__} at its start')
    os.replace(kept, path)


def cut_while_trained(service, chance):
    """Cuts an array that daemons have mapped."""
    name = chance.choice(('features.npy', 'indices.npy'))
    dataset = service.folder / 'cut'
    shutil.copytree(service.dataset, dataset)
    other = OtherJob(service, dataset, f'trained-{time.monotonic_ns()}',
                     harness.ENDLESS)
    other.wait_for_batches(100)
    os.truncate(dataset / name, 4096)
    other.check_failed(f'{name} cut while it was trained on')
    shutil.rmtree(dataset)


def other_contents(dataset, kept):
    """Replaces an array by one of the same shape; `kept` is the one before."""
    path = dataset / 'features.npy'
    os.rename(path, kept)
    shutil.copyfile(kept, path)
    array = Array(path)
    for index in range(0, array.count, 7):
        array.put(index, array.get(index) + 1)


def changed_before_it_goes_on(service, chance, expected):
    """A run that ended early is refused on other contents, not on its own."""
    dataset = service.folder / 'changed'
    shutil.copytree(service.dataset, dataset)
    other = OtherJob(service, dataset, 'resumed', {})
    other.wait_for_batches(chance.randrange(1200, 3000))
    service.fgnn('cancel', other.job)
    kept = service.folder / 'kept.npy'
    other_contents(dataset, kept)
    answer = service.fgnn('resume', str(other.run_dir), check=False)
    check(answer.returncode != 0, 'it went on with other contents')
    check(str(dataset) in answer.stderr, f'resume said {answer.stderr!r}')
    os.replace(kept, dataset / 'features.npy')
    service.fgnn('resume', str(other.run_dir))
    same_run(other.run_dir, expected)
    shutil.rmtree(dataset)


def changed_before_daemons_come(service, chance):
    """The daemon that replaces a dead one does not go on with other contents.
    """
    dataset = service.folder / 'changed'
    shutil.copytree(service.dataset, dataset)
    other = OtherJob(service, dataset, 'restarted', harness.ENDLESS)
    other.wait_for_batches(200)
    other_contents(dataset, service.folder / 'kept.npy')
    role = chance.choice(('sampler', 'trainer'))
    executors = service.json('status')['executors']
    pid, = (each['pid'] for each in executors
            if (each['role'], each.get('job_id')) == (role, other.job))
    os.kill(pid, signal.SIGKILL)
    other.check_failed(f'other contents, and another {role}')
    shutil.rmtree(dataset)


def shrinking(options, chance):
    """a job whose dataset changes fails alone, in words; the service lives"""
    with service_in(options) as service:
        service.fgnn('up', '--devices', *DEVICES)
        wide = service.folder / 'wide'
        service.fgnn('dataset', 'generate', 'sbm', *WIDE, '--out', wide)
        expected = service.run(HEALTHY, '--digest')
        run_dir = service.folder / 'healthy'
        job = submit(service, HEALTHY, run_dir, '--digest')
        scheduler = pids_of(service, 'fgnn-scheduler')
        steps = [lambda: cut_while_validated(service, wide, chance)
                 for _ in range(options.shrinks)]
        steps += [lambda: cut_while_trained(service, chance),
                  lambda: changed_before_it_goes_on(service, chance, expected),
                  lambda: changed_before_daemons_come(service, chance)]
        for step in steps:
            step()
            check(pids_of(service, 'fgnn-scheduler') == scheduler,
                  'the scheduler is another one')
        ends_undisturbed(service, job, run_dir, expected)
        end_service(service)
    return (f'{options.shrinks} datasets cut while they were validated, one '
            'while it was trained on, two of other contents: each job failed '
            'in words, the job beside them ended as if alone')
