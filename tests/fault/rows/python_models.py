"""Rows of models in a process of the user's Python."""

import os
import pathlib
import signal

import python_package
from python_model import SAGE
from row import (JOB, Skipped, check, end_service, goes_on, in_any_order,
                 pids_of, same_run, service_in, submit, wait_for)


def python_kills(options, chance):
    """digest and weights of a run without faults, whoever is killed"""
    python = python_package.PYG_HOME / 'bin/python'
    if not (python_package.PYG_HOME / 'complete').exists():
        raise Skipped(python_package.PYG_MISSING)
    python_package.install(python)
    os.environ['PYTHONPATH'] = str(python_package.SITE)
    victims = in_any_order(('worker', 'worker', 'fgnn-trainer'),
                           options.python_kills, chance)
    done = []
    with service_in(options) as service:
        file = service.folder / 'sage.py'
        file.write_text(SAGE)
        settings = {**JOB, 'model.kind': 'python', 'model.file': file,
                    'model.class_name': 'Sage', 'model.python': python,
                    'training.epochs': 40 * len(victims)}
        expected = service.run(settings, '--digest')
        service.fgnn('up')
        run_dir = service.folder / 'killed'
        job = submit(service, settings, run_dir, '--digest')
        for victim in victims:
            if not goes_on(run_dir, chance.randrange(10, 100)):
                break
            pids = []
            wait_for(lambda: pids.extend(of_name(service, victim)) or pids,
                     60, f'a living {victim}')
            os.kill(chance.choice(pids), signal.SIGKILL)
            done.append(victim)
        service.fgnn('watch', job)
        same_run(run_dir, expected)
        end_service(service)
        check(not workers(service), 'a worker has outlived its trainer')
    check(len(done) == len(victims), f'only {len(done)} kills were in time')
    return (f"killed {done.count('worker')} workers and "
            f"{done.count('fgnn-trainer')} trainers: same digests and weights")


def of_name(service, victim):
    return workers(service) if victim == 'worker' else pids_of(service, victim)


def workers(service):
    """Processes that have a module of this folder."""
    found = []
    for entry in pathlib.Path('/proc').glob('[0-9]*'):
        try:
            words = (entry / 'cmdline').read_bytes().decode().split('\0')
        except (OSError, ValueError):
            continue
        if 'fgnn.worker' in words and words[3].startswith(str(service.folder)):
            found.append(int(entry.name))
    return found
