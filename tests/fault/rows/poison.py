"""Rows of datasets and run folders that are traps."""

import json
import os
import pathlib
import shutil
import struct
import time

import rpc
from row import (JOB, TINY, check, committed_of, end_service,
                 ends_undisturbed, pids_of, service_in, submit, summary_of,
                 wait_for)

DEVICES = ('cpu:0', 'cpu:1')
HEALTHY = {**JOB, 'samplers': 1, 'trainers': 1, 'training.epochs': 1500}
POISON = {**TINY, 'devices': '[cpu:1]'}
# A submission, or a job that is refused while it is prepared, takes less.
ANSWER_SECONDS = 30
DEADLINE_EXCEEDED = 4
DOWN_SECONDS = 12
MOST_GROWTH_KIB = 200 << 10
NUMBERS = (
    ('num_classes', ('2147483648', '4294967295', '4294967296', '-1', '1e9')),
    ('num_nodes', ('0', '4294967296', '18446744073709551615')),
    ('num_edges', ('9223372036854775807', '9223372036854775808', '-5')),
    ('feature_columns', ('9223372036854775807', '18446744073709551615',
                         '1099511627776')))
SHAPES = ('(1152921504606846976,)', '(2305843009213693952, 16)', '(0,)',
          '(2000, 1152921504606846976)', '(-1,)', '(4294967296, 4294967296)',
          '((1, 2),)', '(' + '9, ' * 2000 + ')')


def copy_of(service, name):
    folder = service.folder / name
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(service.dataset, folder)
    return folder


# ---- What is wrong with a dataset: (words, function of its folder).

def number(key, value):
    def spoil(folder):
        path = folder / 'metadata.yaml'
        lines = [line for line in path.read_text().splitlines()
                 if not line.startswith(f'{key}:')]
        path.write_text('\n'.join([*lines, f'{key}: {value}', '']))
    return f'{key} {value}', spoil


def header(name, shape):
    def spoil(folder):
        path = folder / name
        content = path.read_bytes()
        size, = struct.unpack('<H', content[8:10])
        words = content[10:10 + size].decode('latin1')
        start = words.index("'shape': ") + len("'shape': ")
        end = words.index(')', start) + 1
        words = (words[:start] + shape + words[end:].rstrip()).encode()
        words += b' ' * (-(len(words) + 11) % 64) + b'\n'
        path.write_bytes(content[:8] + struct.pack('<H', len(words)) + words +
                         content[10 + size:])
    return f'{name} of shape {shape[:30]}', spoil


def fifo(name):
    def spoil(folder):
        (folder / name).unlink()
        os.mkfifo(folder / name)
    return f'a FIFO as {name}', spoil


def zeros(name):
    def spoil(folder):
        (folder / name).unlink()
        (folder / name).symlink_to('/dev/zero')
    return f'/dev/zero as {name}', spoil


def poisons(chance, count):
    """`count` of the many numbers and shapes, and each of the others."""
    many = [number(key, value) for key, values in NUMBERS for value in values]
    many += [header(name, shape) for shape in SHAPES for name in
             ('features.npy', 'labels.npy', 'train.npy', 'csc_indptr.npy')]
    chosen = chance.sample(many, min(count, len(many)))
    return [number('num_classes', '2147483648'), *chosen,
            fifo('metadata.yaml'), fifo('features.npy'), fifo('train.npy'),
            zeros('metadata.yaml'), zeros('labels.npy')]


def expect_failure(service, folder, what):
    """Submits a job of the dataset; how it failed, which has to be soon, and
    in words that name the dataset."""
    run_dir = service.folder / 'poisoned'
    shutil.rmtree(run_dir, ignore_errors=True)
    client = service.start('submit', *service.job_words(POISON), '--set',
                           f'dataset={folder}', '--run-dir', str(run_dir),
                           '--json')
    try:
        wait_for(lambda: client.poll() is not None, ANSWER_SECONDS,
                 f'{what}: the answer to the submission')
    finally:
        client.kill()
        answer, error = client.communicate()
    if client.returncode != 0:
        check(client.returncode in (1, 2) and str(folder) in error.decode(),
              f'{what}: {client.returncode}, {error!r}')
        return 'refused'
    job = json.loads(answer)['job_id']
    wait_for(lambda: service.json('show', job)['state'] in
             ('failed', 'completed'), ANSWER_SECONDS, f'{what}: its end',
             every=0.05)
    shown = service.json('show', job)
    check(shown['state'] == 'failed', f'{what}: it completed')
    check(str(folder) in shown['error_message'],
          f'{what}: said {shown["error_message"]!r}')
    return 'failed'


def resident_kib(pid):
    status = pathlib.Path(f'/proc/{pid}/status').read_text()
    return int(status.split('VmRSS:')[1].split()[0])


def poison(options, chance):
    """a poison job fails alone, in words; the service lives, and ends soon"""
    rpc.needs_tools()
    with service_in(options) as service:
        service.fgnn('up', '--devices', *DEVICES)
        expected = service.run(HEALTHY, '--digest')
        ended = service.run(TINY)
        scheduler, = pids_of(service, 'fgnn-scheduler')
        resident = resident_kib(scheduler)
        run_dir = service.folder / 'healthy'
        job = submit(service, HEALTHY, run_dir, '--digest')
        wait_for(lambda: committed_of(run_dir) > 0, ANSWER_SECONDS,
                 'the first batch')
        outcomes = []
        for what, spoil in poisons(chance, options.poisons):
            folder = copy_of(service, 'poison')
            spoil(folder)
            outcomes.append(expect_failure(service, folder, what))
            check(pids_of(service, 'fgnn-scheduler') == [scheduler],
                  f'{what}: the scheduler died')
        ends_undisturbed(service, job, run_dir, expected)
        flood(service, options.fifos)
        metrics_that_never_end(service, ended)
        check(pids_of(service, 'fgnn-scheduler') == [scheduler],
              'the scheduler died')
        grown = resident_kib(scheduler) - resident
        check(grown < MOST_GROWTH_KIB, f'it grew by {grown} KiB')
        started = time.monotonic()
        end_service(service)
        seconds = time.monotonic() - started
        check(seconds <= DOWN_SECONDS, f'down took {seconds:.1f} s')
    return (f'{outcomes.count("refused")} poison jobs refused, '
            f'{outcomes.count("failed")} failed, each in words; '
            f'{options.fifos} submissions of a FIFO at once; down after '
            f'{seconds:.1f} s')


def flood(service, count):
    """Submits as many jobs of a dataset that is a FIFO at once."""
    folder = copy_of(service, 'fifo')
    fifo('metadata.yaml')[1](folder)
    words = service.job_words(POISON)
    clients = [service.start('submit', *words, '--set', f'dataset={folder}')
               for _ in range(count)]
    try:
        wait_for(lambda: all(each.poll() is not None for each in clients),
                 2 * ANSWER_SECONDS, f'answering {count} submissions')
    finally:
        for client in clients:
            client.kill()
            client.communicate()
    check(all(client.returncode for client in clients),
          'a FIFO was taken for a dataset')
    service.fgnn('status')


def metrics_that_never_end(service, run_dir):
    """A run's metrics are replaced by what cannot be read to its end."""
    job = summary_of(run_dir)['job_id']
    door = service.state_dir / 'scheduler.sock'
    path = run_dir / 'metrics.jsonl'
    for what, make in (('a FIFO', os.mkfifo),
                       ('/dev/zero', lambda at: at.symlink_to('/dev/zero')),
                       ('a sparse file', sparse)):
        path.unlink()
        make(path)
        status, message = rpc.call(door, 'JobService/GetMetrics',
                                   'GetMetricsRequest', f'job_id: "{job}"')
        check(status not in (0, DEADLINE_EXCEEDED) and str(path) in message,
              f'{what} as metrics.jsonl: {status}, {message!r}')
        client = service.start('resume', str(run_dir))
        try:
            wait_for(lambda: client.poll() is not None, ANSWER_SECONDS,
                     f'{what} as metrics.jsonl: resuming')
        finally:
            client.kill()
            client.communicate()


def sparse(path):
    path.touch()
    os.truncate(path, 1 << 40)
