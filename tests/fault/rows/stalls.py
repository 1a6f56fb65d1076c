"""Rows of daemons that stand still, or nearly."""

import os
import signal
import subprocess
import sys
import time

import harness
from row import (JOB, check, committed_of, pids_of, same_run, service_in,
                 submit, wait_for)


def hang(options, chance):
    """found within 6 s, replaced, and the job ends right"""
    settings = {**JOB, 'training.epochs': 1500, 'model.hidden': 256}
    found = []
    with service_in(options) as service:
        expected = service.run(settings, '--digest')
        run_dir = service.folder / 'hung'
        service.fgnn('up')
        job = submit(service, settings, run_dir, '--digest')
        for program in ('fgnn-sampler', 'fgnn-trainer'):
            here = committed_of(run_dir)
            wait_for(lambda: committed_of(run_dir) > here + 200, 60, 'progress')
            pid = chance.choice(pids_of(service, program))
            started = time.monotonic()
            os.kill(pid, signal.SIGSTOP)
            wait_for(lambda: pid not in service.processes(), 30, 'the hang')
            found.append(time.monotonic() - started)
        service.fgnn('watch', job)
        service.fgnn('down')
        same_run(run_dir, expected)
    check(max(found) <= 6, f'found after {max(found):.1f} s')
    return ('stopped a sampler and a trainer: found after '
            f'{", ".join(f"{seconds:.1f} s" for seconds in found)}, same result')


def starvation(options, _):
    """0 false kills at four times as many busy processes as cores"""
    with service_in(options) as service:
        run_dir = service.folder / 'starved'
        service.fgnn('up')
        job = submit(service, {**JOB, **harness.ENDLESS}, run_dir)
        busy = [subprocess.Popen([sys.executable, '-c', 'while True: pass'])
                for _ in range(4 * os.cpu_count())]
        try:
            time.sleep(options.starve)
            restarts = service.json('show', job)['progress'].get('restarts', 0)
        finally:
            for process in busy:
                process.kill()
                process.wait()
        service.fgnn('cancel', job)
        service.fgnn('down')
    check(restarts == 0, f'{restarts} daemons were killed')
    return f'{len(busy)} busy processes for {options.starve} s: 0 kills'
