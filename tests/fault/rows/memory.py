"""Rows of memory, descriptors and segments."""

import os
import pathlib
import shutil
import statistics

from row import check, service_in, submit


def leaks(options, _):
    """memory, descriptors and segments flat over many jobs"""
    tiny = {'training.epochs': 1, 'training.evaluate_every': 1,
            'training.checkpoint_every': 1}
    with service_in(options) as service:
        service.fgnn('up')
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
