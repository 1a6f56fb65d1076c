"""The row of containers of many sizes: what comes of a job in each."""

import contextlib
import json
import pathlib
import re
import tempfile

from memory import leave_group, make_group
from row import Skipped, check, service_in

SMALLEST_MIB, LARGEST_MIB = 64, 1024
# Columns of the hidden layer: the step of the largest takes some 550 MiB.
WIDTHS = (64, 4096, 16384)
SIZE = r'[\d.]+ (?:B|KiB|MiB|GiB)'
NEED_AND_HAVE = re.compile(
    rf'need(?:s|ed)? .*{SIZE}.*{SIZE} (?:available|allowed|are allowed)')
LIMIT_MIB = 256


def memory_sizes(options, chance):
    """in memory cgroups of 64 MiB to 1 GiB, `plan`, `run` and `up` train the
    job, or name need and have; no daemon has more than limits.memory"""
    group = make_group()
    if group is None:
        raise Skipped('no memory cgroup can be made here')
    folder, limit = group[:2]
    outcomes = {'trained': 0, 'refused': 0, 'killed': 0}
    try:
        with service_in(options) as service:
            service.fgnn('dataset', 'generate', 'sbm', '--nodes', '3000',
                         '--classes', '4', '--features', '16', '--out',
                         str(service.folder / 'graph-3000'))
            service.dataset = service.folder / 'graph-3000'
            for number in range(options.memory_sizes):
                size = size_of(number, options.memory_sizes)
                (folder / limit).write_text(str(size << 20))
                width = chance.choice(WIDTHS)
                for outcome in try_all(service, folder, width):
                    outcomes[outcome] += 1
            peak = peak_of_a_limited_job(service)
    finally:
        leave_group(folder)
    words = ', '.join(f'{count} {name}' for name, count in outcomes.items())
    return (f'{options.memory_sizes} sizes: {words}; at most {peak} MiB with '
            f'limits.memory {LIMIT_MIB} MiB')


def size_of(number, count):
    """MiB of one of `count` sizes, from the smallest to the largest."""
    span = LARGEST_MIB - SMALLEST_MIB
    return SMALLEST_MIB + span * number // max(count - 1, 1)


def job_of(service, width, **more):
    return service.job_words({
        'model.hidden': width, 'sampling.fanouts': '[-1, -1]',
        'sampling.batch_size': 3000, 'training.batches_per_step': 1,
        'training.epochs': 1, 'devices': '[cpu:0]', **more})


def try_all(service, folder, width):
    """Outcomes of `plan`, of `run` on its own, and of a job of `up`."""
    job = job_of(service, width)
    yield judge(inside(service, folder, 'plan', *job))
    yield judge(inside(service, folder, 'run', *job, '--run-dir',
                       tempfile.mkdtemp(dir=service.folder)))
    up = inside(service, folder, 'up', '--devices', 'cpu:0')
    if up.returncode == 0:
        yield judge(inside(service, folder, 'run', *job, '--run-dir',
                           tempfile.mkdtemp(dir=service.folder)))
        inside(service, folder, 'down')
    else:
        yield judge(up)
    service.kill_all()


def inside(service, folder, *args):
    """Runs a command in the cgroup, with all that it starts."""
    def enter():
        (folder / 'cgroup.procs').write_text('0')
    return service.fgnn(*args, check=False, preexec_fn=enter)


def judge(answer):
    """One of the outcomes; anything else breaks the promise."""
    if answer.returncode == 0:
        return 'trained'
    said = answer.stderr.strip()
    check(answer.returncode > 0, f'ended by signal {-answer.returncode}')
    check('memory' in said and NEED_AND_HAVE.search(said) is not None,
          f'no need and have in {said[-400:]!r}')
    return 'killed' if 'from the kernel' in said else 'refused'


def peak_of_a_limited_job(service):
    """MiB that the largest daemon had while a job of too much was refused."""
    job = job_of(service, 2 * WIDTHS[-1],
                 **{'limits.memory': f'{LIMIT_MIB}MiB'})
    run = service.start('run', *job, '--run-dir',
                        tempfile.mkdtemp(dir=service.folder))
    peak = 0
    while run.poll() is None:
        for pid in service.processes():
            with contextlib.suppress(OSError, LookupError):
                status = pathlib.Path(f'/proc/{pid}/status').read_text()
                peak = max(peak, int(status.split('VmHWM:')[1].split()[0]))
    said = run.communicate()[1].decode()
    check('limits.memory' in said and f'{LIMIT_MIB} MiB' in said or
          'allowed' in said, f'said {json.dumps(said)}')
    check(peak <= LIMIT_MIB << 10, f'a daemon had {peak} KiB')
    return peak >> 10
