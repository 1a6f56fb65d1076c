"""Rows of damaged, full and left-over files."""

import contextlib
import os
import pathlib
import shutil
import socket
import sqlite3
import time

import harness
from row import (JOB, TINY, Skipped, check, committed_of, same_run,
                 service_in, small_disk, submit, wait_for)


def torn_checkpoints(options, chance):
    """a damaged checkpoint is never loaded; the one before is"""
    settings = {**JOB, 'training.epochs': 600, 'training.keep_checkpoints': 2}
    with service_in(options) as service:
        expected = service.run(settings, '--digest')
        for number in range(options.torn):
            run_dir = service.folder / f'torn-{number}'
            service.fgnn('up')
            submit(service, settings, run_dir, '--digest')
            wait_for(lambda: committed_of(run_dir) > 2600, 60, 'progress')
            service.kill_all()
            newest = max((run_dir / 'checkpoints').glob('epoch-*.safetensors'))
            content = bytearray(newest.read_bytes())
            if chance.random() < 0.3:
                del content[chance.randrange(len(content)):]
            else:
                content[chance.randrange(len(content))] ^= (
                    1 << chance.randrange(8))
            newest.write_bytes(content)
            service.fgnn('resume', str(run_dir))
            service.fgnn('down')
            same_run(run_dir, expected)
    return f'{options.torn} torn or flipped: passed over, same result'


def full_disk(options, _):
    """the checkpoint before stays whole; the job says what was full"""
    if os.geteuid() != 0:
        raise Skipped('needs root, to mount')
    settings = {**JOB, 'training.epochs': 3000, 'model.hidden': 256,
                'training.keep_checkpoints': 5}
    with service_in(options) as service:
        with small_disk(service.folder / 'small', '700k') as small:
            service.fgnn('up')
            job = submit(service, settings, small / 'run')
            watch = service.fgnn('watch', job, check=False)
            check(watch.returncode != 0 and 'No space left' in watch.stderr,
                  f'it ended with {watch.returncode}: {watch.stderr!r}')
            left = sorted((small / 'run/checkpoints').iterdir())
            check(left, 'no checkpoint is left')
            for path in left:
                check(path.suffix == '.safetensors', f'left: {path.name}')
                harness.tensors(path)
            service.fgnn('down')
    return f'{len(left)} whole checkpoints are left, no torn one'


def leftovers(options, chance):
    """up within 2 s whatever is left; what cannot be read is named at once"""
    settings = {**TINY, 'training.epochs': 150,
                'training.checkpoint_steps': 100}
    slowest = 0
    outcomes = []
    with service_in(options) as service:
        expected = service.run(settings, '--digest')
        shutil.rmtree(service.state_dir)
        service.fgnn('up')
        job = service.json('submit', *service.job_words(settings),
                           '--digest')['job_id']
        run_dir = service.state_dir / 'runs' / job
        wait_for(lambda: committed_of(run_dir) > 200, 60, 'progress')
        service.kill_all()
        kept = service.folder / 'kept'
        shutil.copytree(service.state_dir, kept, ignore=sockets_in)
        for leave in LEAVINGS:
            if leave is not sockets:  # First those that the killed left.
                shutil.rmtree(service.state_dir)
                shutil.copytree(kept, service.state_dir)
            leave(service.state_dir, run_dir, chance)
            started = time.monotonic()
            up = service.fgnn('up', check=False)
            seconds = time.monotonic() - started
            slowest = max(slowest, seconds)
            name = leave.__name__
            check(seconds <= 2, f'{name}: {seconds:.1f} s')
            outcomes.append(up.returncode == 0)
            if up.returncode != 0:
                check(leave in MAY_BE_REFUSED and up.returncode in (1, 2),
                      f'{name}: {up.returncode}, {up.stderr!r}')
                check(len(up.stderr.splitlines()) == 1 and
                      str(service.state_dir / 'jobs.sqlite') in up.stderr,
                      f'{name}: said {up.stderr!r}')
                check(not service.wait_until_gone(), f'{name}: processes')
                continue
            known = [each['job_id'] for each in service.json('jobs')['jobs']]
            check(known == [job] or leave in MAY_LOSE_JOBS,
                  f'{name}: job {job} is not known any more')
            if leave in (sockets, half_made_files):
                service.fgnn('watch', job)
                same_run(run_dir, expected)
            service.kill_all()
    return (f'{len(outcomes)} kinds: {sum(outcomes)} times up, within '
            f'{slowest:.2f} s; {outcomes.count(False)} damaged databases '
            'named')


def sockets_in(folder, names):
    folder = pathlib.Path(folder)
    return [name for name in names if (folder / name).is_socket()]


def sockets(state, _, chance):
    """Those of daemons that are no more, and of some that never were."""
    for name in ('scheduler.sock', 'host.sock', 'executors/sampler.0.sock',
                 'executors/trainer.0.sock',
                 f'executors/trainer.{chance.randint(1, 63)}.sock'):
        with contextlib.suppress(FileNotFoundError):
            (state / name).unlink()
        with socket.socket(socket.AF_UNIX) as dead:
            dead.bind(str(state / name))


def lock_of_another(state, _, chance):
    """Its number is by now that of another process, or of none."""
    lock = chance.choice((f'{os.getpid()}\n', '1\n', '4194303\n', ''))
    (state / 'fgnn.lock').write_text(lock)


def half_made_files(state, run_dir, chance):
    """Of files that were being written, and of a socket."""
    content = next((run_dir / 'checkpoints').glob('*')).read_bytes()
    for name in ('checkpoints/epoch-0399.safetensors', 'summary.json'):
        (run_dir / f'{name}.tmp-a1B2c3').write_bytes(
            content[:chance.randrange(len(content))])
    with socket.socket(socket.AF_UNIX) as dead:
        (state / '.sa1B2c3').mkdir()
        dead.bind(str(state / '.sa1B2c3/s'))


def wal_is_empty(state, *_):
    (state / 'jobs.sqlite-wal').write_bytes(b'')


def wal_is_cut(state, _, chance):
    wal = state / 'jobs.sqlite-wal'
    os.truncate(wal, chance.randrange(wal.stat().st_size))


def wal_is_flipped(state, _, chance):
    """From some place on, as pages that were not written before the power cut.
    """
    wal = state / 'jobs.sqlite-wal'
    content = wal.read_bytes()
    end = chance.randrange(len(content))
    wal.write_bytes(content[:end] + chance.randbytes(len(content) - end))


def index_is_garbage(state, _, chance):
    (state / 'jobs.sqlite-shm').write_bytes(chance.randbytes(32768))


def written_back(state):
    """The database with what its log held."""
    database = state / 'jobs.sqlite'
    with contextlib.closing(sqlite3.connect(database)) as store:
        store.execute('PRAGMA wal_checkpoint(TRUNCATE)')
    return database


def database_is_empty(state, *_):
    """Made, but not yet written."""
    written_back(state).write_bytes(b'')


def database_is_cut(state, _, chance):
    database = written_back(state)
    os.truncate(database, chance.randrange(4096, database.stat().st_size))


def database_is_garbage(state, _, chance):
    database = written_back(state)
    database.write_bytes(chance.randbytes(database.stat().st_size))


LEAVINGS = (sockets, lock_of_another, half_made_files, wal_is_empty,
            wal_is_cut, wal_is_flipped, index_is_garbage, database_is_empty,
            database_is_cut, database_is_garbage)
# What was synced was synced: a disk that loses it loses the job with it.
MAY_LOSE_JOBS = (wal_is_empty, wal_is_cut, wal_is_flipped, database_is_empty)
MAY_BE_REFUSED = (database_is_cut, database_is_garbage)
