"""Rows of damaged, full and left-over files."""

import os
import subprocess

import harness
from row import (JOB, Skipped, check, committed_of, same_run, service_in,
                 submit, wait_for)


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
        small = service.folder / 'small'
        small.mkdir()
        mounted = subprocess.run(
            ['mount', '-t', 'tmpfs', '-o', 'size=700k', 'tmpfs', small],
            capture_output=True, check=False).returncode == 0
        if not mounted:
            raise Skipped('mounting is not allowed here')
        try:
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
        finally:
            subprocess.run(['umount', small], check=False)
    return f'{len(left)} whole checkpoints are left, no torn one'
