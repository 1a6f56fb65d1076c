"""Rows of memory, descriptors and segments."""

import contextlib
import os
import pathlib
import re
import shutil
import statistics

from row import TINY, check, refused, service_in, submit, wait_for

ROOM_MIB = 64
SLOTS = 512


def leaks(options, _):
    """memory, descriptors and segments flat over many jobs"""
    tiny = {'training.epochs': 1, 'training.evaluate_every': 1,
            'training.checkpoint_every': 1}
    with service_in(options) as service:
        # Where the jobs run, so that one pair of daemons serves them all.
        service.fgnn('up', '--devices', 'cpu:0')
        samples = []
        for number in range(options.jobs):
            run_dir = service.folder / 'run'
            job = submit(service, tiny, run_dir)
            service.fgnn('watch', job)
            shutil.rmtree(run_dir)
            check(not service.segments(), f'left: {service.segments()}')
            samples.append(sizes_of(service))
        service.fgnn('down')
    # The first half fills caches and pools.
    second = samples[len(samples) // 2:]
    few = max(1, len(second) // 4)
    grown = []
    for program in samples[-1]:
        for kind in ('rss', 'fds'):
            before = statistics.median(s[program][kind] for s in second[:few])
            after = statistics.median(s[program][kind] for s in second[-few:])
            check(after <= before * 1.01 + (4096 if kind == 'rss' else 0),
                  f'{kind} of {program} grew from {before} to {after}')
            grown.append(after / before - 1)
    return (f'{options.jobs} jobs: largest growth over the second half '
            f'{100 * max(grown):+.1f} %, no segment left')


def sizes_of(service):
    """{program: resident KiB and open descriptors} of the daemons."""
    sizes = {}
    for pid, program in service.processes().items():
        status = pathlib.Path(f'/proc/{pid}/status').read_text()
        sizes[program] = {
            'rss': int(status.split('VmRSS:')[1].split()[0]),
            'fds': len(os.listdir(f'/proc/{pid}/fd'))}
    return sizes


def memory_limit(options, chance):
    """refused with need and have, exit code 2 (1 where the machine has no
    more); nothing is killed or left"""
    # Most of the job's memory is that of its weights, which do not vary.
    settings = {**TINY, 'samplers': 1, 'trainers': 1, 'model.layers': 3,
                'model.hidden': 512, 'sampling.fanouts': '[5, 5, 5]'}
    with service_in(options) as service:
        service.fgnn('up', '--devices', 'cpu:0')
        tight = f'{chance.randint(12, 32)}MiB'
        refused_need(service, {**settings, 'limits.memory': tight}, 'allowed')
        need = service.json('plan', *service.job_words(settings))[
            'total_bytes'] / (1 << 20)
        # A few of its MiB are measured, and not the same twice.
        most = f'{int(need * 0.9)}MiB'
        refused_need(service, {**settings, 'limits.memory': most},
                     most.removesuffix('MiB'))
        enough = f'{int(need * 1.2)}MiB'
        service.run({**settings, 'limits.memory': enough})
        group = measured_in_a_group(service, settings)
        service.fgnn('down')
        check(not service.leftovers(), f'left: {service.leftovers()}')
    return (f'needs {need:.0f} MiB: {tight} and {most} refused, {enough} '
            f'completed; {group}')


def refused_need(service, settings, have, code=2):
    """MiB that the job needs, as its refusal says."""
    run_dir = service.folder / 'refused'
    answer = service.fgnn('run', *service.job_words(settings), '--run-dir',
                          str(run_dir), check=False)
    refused(answer, 'the job needs', have, code=code)
    check(not run_dir.exists(), f'{run_dir} is left')
    check(not service.segments(), f'left: {service.segments()}')
    number, unit = re.search(
        r'the job needs (?:about |at least )?([\d.]+) (MiB|GiB)',
        answer.stderr).groups()
    return float(number) * {'MiB': 1, 'GiB': 1024}[unit]


def measured_in_a_group(service, settings):
    """What comes of a limit that the kernel guards, in words."""
    group = make_group()
    if group is None:
        return 'no memory cgroup can be made here'
    folder, limit, usage, kills = group
    pids = list(service.processes())
    try:
        for pid in pids:
            (folder / 'cgroup.procs').write_text(str(pid))
        # What they held before stays with the group that they came from.
        have = int((folder / usage).read_text()) + (ROOM_MIB << 20)
        (folder / limit).write_text(str(have))
        larger = {**settings, 'sampling.batch_size': 1024,
                  'queue.slots': SLOTS}
        need = refused_need(service, larger, 'MiB', code=1)
        check(need > ROOM_MIB / 2, f'{need} MiB are few beside {ROOM_MIB}')
        found = re.search(kills[1], (folder / kills[0]).read_text())
        check(found is None or found[1] == '0', 'the kernel has killed')
        check(list(service.processes()) == pids, 'a daemon is another one')
        (folder / limit).write_text(str(4 << 30))
        service.run(larger)
    finally:
        leave_group(folder)
    return (f'in a cgroup with {ROOM_MIB} MiB left {need:.0f} MiB were '
            'refused, in a larger one not')


def make_group():
    """(folder, limit's, usage's, kills' file) of a new cgroup, or None."""
    mount = pathlib.Path('/sys/fs/cgroup')
    for parent, names in (
            (mount, ('memory.max', 'memory.current',
                     ('memory.events', r'oom_kill (\d+)'))),
            (mount / 'memory', ('memory.limit_in_bytes',
                                'memory.usage_in_bytes',
                                ('memory.oom_control', r'oom_kill (\d+)')))):
        folder = parent / f'fgnn-fc-{os.getpid()}'
        try:
            folder.mkdir()
        except OSError:
            continue
        if (folder / names[0]).exists():
            return folder, *names
        folder.rmdir()
    return None


def leave_group(folder):
    for pid in (folder / 'cgroup.procs').read_text().split():
        with contextlib.suppress(OSError):
            (folder.parent / 'cgroup.procs').write_text(pid)

    def is_gone():
        with contextlib.suppress(OSError):
            folder.rmdir()
        return not folder.exists()
    wait_for(is_gone, 10, f'removing {folder}')
