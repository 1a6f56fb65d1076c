"""Rows of trainers that die while they fill the table that they share."""

import contextlib
import os
import pathlib
import shutil
import signal
import struct

from row import (JOB, check, end_service, open_files, pids_of, same_run,
                 service_in, submit, wait_for)

# Features of 40 MB, read past the page cache: a fill takes a while.
GRAPH = ('--nodes', '60000', '--features', '160', '--classes', '4',
         '--train-fraction', '0.02', '--seed', '9')
FILLS = {**JOB, 'training.epochs': 2, 'training.checkpoint_steps': 0,
         'features.store': 'disk', 'cache.policy': 'degree'}
WORDS = 256  # Offset of the first chunk's word; see shared/hot_table.
FILLED = 2


def chunks_of(pid):
    """(chunks that are filled, chunks) of the table that a process has."""
    for number, target in open_files(pid).items():
        if 'memfd:fgnn-hot-table' not in target:
            continue
        with contextlib.suppress(OSError):
            with open(f'/proc/{pid}/fd/{number}', 'rb',
                      buffering=0) as table:
                head = table.read(64)
                rows, = struct.unpack_from('<Q', head, 40)
                rows_per_chunk, = struct.unpack_from('<Q', head, 56)
                chunks = (rows + rows_per_chunk - 1) // rows_per_chunk
                table.seek(WORDS)
                words = struct.unpack(f'<{chunks}Q', table.read(8 * chunks))
                return words.count(FILLED), chunks
    return None


def filling(service):
    """Trainers that have a table which is not full."""
    found = []
    for pid in pids_of(service, 'fgnn-trainer'):
        with contextlib.suppress(OSError):
            maps = pathlib.Path(f'/proc/{pid}/maps').read_text()
            chunks = chunks_of(pid) if 'memfd:fgnn-hot-table' in maps else None
            if chunks is not None and chunks[0] < chunks[1]:
                found.append(pid)
    return found


def table_kills(options, chance):
    """digest and weights of a run without faults, whoever dies in mid-fill"""
    kills = jobs = schedulers = 0
    with service_in(options) as service:
        shutil.rmtree(service.dataset)
        service.fgnn('dataset', 'generate', 'sbm', *GRAPH, '--out',
                     service.dataset)
        expected = service.run({**FILLS, 'features.store': 'memory'},
                               '--digest')
        while kills < options.table_kills:
            service.fgnn('up')
            run_dir = service.folder / f'killed-{jobs}'
            job = submit(service, FILLS, run_dir, '--digest')
            jobs += 1
            ended = run_dir / 'summary.json'
            while kills < options.table_kills:
                victims = []
                wait_for(lambda: victims.extend(filling(service)) or victims or
                         ended.exists(), 60, 'a table', every=0.002)
                if ended.exists():
                    break
                if chance.random() < 0.05:
                    victims = pids_of(service, 'fgnn-scheduler')
                    schedulers += len(victims)
                # Some at once, and some later in the fill.
                wait_for_chunks(victims[0], chance.randrange(1, 40))
                for pid in victims[:1 if chance.random() < 0.5 else None]:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
                        kills += 1
                service.wait_until_gone(victims[:1])
                if not pids_of(service, 'fgnn-scheduler'):
                    service.fgnn('up')
            service.fgnn('watch', job)
            same_run(run_dir, expected)
            shutil.rmtree(run_dir)
        end_service(service)
        log = (service.state_dir / 'logs/scheduler.log').read_text()
    given_back = log.count(' chunks of table ')
    check(given_back > 0 or options.table_kills < 10,
          'no kill met a chunk that was being filled')
    return (f'{kills} kills before the table was full, {schedulers} of them of '
            f'the scheduler, in {jobs} jobs: same digests and weights; '
            f'{given_back} had a chunk')


def wait_for_chunks(pid, more):
    """Looks until a process's table has more chunks, or nothing comes of it."""
    with contextlib.suppress(OSError):
        before = chunks_of(pid)
        for _ in range(50):
            now = chunks_of(pid)
            if before is None or now is None or now[0] >= before[0] + more:
                return
