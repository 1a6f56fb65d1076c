"""Rows of time: daemons that stand still, or nearly, and clocks that jump."""

import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import time

import harness
from row import (JOB, Skipped, check, committed_of, ends_undisturbed,
                 has_ended, pids_of, same_run, service_in, submit, wait_for)

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent.parent
STALL_SECONDS = 3  # Less than what is taken for a hang.
GROWTH_KIB = 256
FAKETIME = '*/faketime/libfaketime.so.1'


def hang(options, chance):
    """found within 6 s, replaced, and the job ends right"""
    settings = {**JOB, 'training.epochs': 3000, 'model.hidden': 256}
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


def looping_plugin(options, _):
    """found within 30 s of a core and replaced, also while a job is prepared"""
    with service_in(options) as service:
        mark = build_looping_plugin(service)
        settings = {**JOB, 'sampling.kind': 'plugin', 'samplers': 1,
                    'sampling.plugin': 'loops', 'training.epochs': 3000}
        expected = service.run(settings, '--digest')
        service.fgnn('up')
        found = []
        run_dir = service.folder / 'looped'
        mark.touch()
        job = submit(service, settings, run_dir, '--digest')
        for phase in ('measuring', 'training'):
            if phase == 'training':
                wait_for(lambda: committed_of(run_dir) > 20, 60, 'progress')
                mark.touch()
            else:
                wait_for(lambda: phase in service.json('show', job)
                         ['progress'].get('phase', ''), 60, phase)
            pids = set(pids_of(service, 'fgnn-sampler'))
            started = time.monotonic()
            wait_for(lambda: not pids & set(service.processes()), 120,
                     f'the hang while {phase}', every=0.1)
            found.append(time.monotonic() - started)
            mark.unlink()
        service.fgnn('watch', job)
        service.fgnn('down')
        same_run(run_dir, expected)
    # Less than 25 s would be another death, and other work takes time too.
    check(25 <= min(found) and max(found) <= 60, f'found after {found} s')
    return (f'found after {found[0]:.1f} s of measuring and {found[1]:.1f} s of '
            'training, same result')


def build_looping_plugin(service):
    """A plugin that loops while a file is there. Returns the file."""
    mark = service.folder / 'loop'
    source = service.folder / 'loops.cc'
    text = (ROOT / 'sampler_service/plugin/example/skip_hop.cc').read_text()
    head = 'const uint64_t degree'
    source.write_text('#include <unistd.h>\n' + text.replace(
        head, f'while (::access("{mark}", F_OK) == 0) {{}}\n{head}', 1))
    folder = service.state_dir / 'plugins'
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(['c++', '-std=c++20', '-O2', '-shared', '-fPIC', f'-I{ROOT}',
                    '-o', folder / 'libloops.so', source], check=True)
    return mark


# Ends with the campaign, however that ends.
BUSY = 'import os\nparent = os.getppid()\nwhile os.getppid() == parent: pass'


def starvation(options, _):
    """0 false kills at four times as many busy processes as cores"""
    with service_in(options) as service:
        run_dir = service.folder / 'starved'
        service.fgnn('up')
        job = submit(service, {**JOB, **harness.ENDLESS}, run_dir)
        busy = [subprocess.Popen([sys.executable, '-c', BUSY])
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


def slow_consumer(options, chance):
    """samplers block, their memory stays flat, nobody dies, same result"""
    slots = chance.choice((4, 8, 16))
    settings = {**JOB, 'training.epochs': 800, 'queue.slots': slots}
    with service_in(options) as service:
        expected = service.run(settings, '--digest')
        service.fgnn('up')
        run_dir = service.folder / 'slow'
        job = submit(service, settings, run_dir, '--digest')
        goal = chance.randrange(200, 1000)
        wait_for(lambda: committed_of(run_dir) >= goal, 60, 'progress')
        before = service.processes()
        trainers = pids_of(service, 'fgnn-trainer')
        for pid in trainers:
            os.kill(pid, signal.SIGSTOP)
        stopped = time.monotonic()
        try:
            # Their counters come with heartbeats.
            time.sleep(STALL_SECONDS / 2)
            first = sampled(service, run_dir), private_memory(service)
            time.sleep(STALL_SECONDS / 2)
            second = sampled(service, run_dir), private_memory(service)
        finally:
            for pid in trainers:
                with contextlib.suppress(ProcessLookupError):  # See below.
                    os.kill(pid, signal.SIGCONT)
        seconds = time.monotonic() - stopped
        check(not has_ended(run_dir), 'it came too late')
        check(service.processes() == before, 'a daemon is another one')
        check(first[0] == second[0], f'they sampled on: {first}, {second}')
        ahead, _ = second[0]
        # Those of the open step have left their slots.
        most = slots + JOB['training.batches_per_step']
        check(0 <= ahead <= most, f'{ahead} batches ahead, at most {most}')
        for pid, kib in second[1].items():
            check(kib <= first[1][pid] * 1.01 + GROWTH_KIB,
                  f'sampler {pid} grew from {first[1][pid]} to {kib} KiB')
        ends_undisturbed(service, job, run_dir, expected)
        service.fgnn('down')
    return (f'trainers stopped for {seconds:.1f} s: {ahead} batches ahead in '
            f'{slots} slots, memory flat, 0 kills, same result')


def sampled(service, run_dir):
    """(batches sampled but not committed, batches sampled) as the host says.

    Not by the job's progress: that stands still, with a count of samplers from
    before, while a stopped trainer is to evaluate or to save a checkpoint.
    """
    batches = sum(executor['batches']
                  for executor in service.json('status')['executors']
                  if executor['role'] == 'sampler')
    return batches - committed_of(run_dir), batches


def private_memory(service):
    """{pid: resident KiB that are not shared} of the samplers."""
    sizes = {}
    for pid in pids_of(service, 'fgnn-sampler'):
        status = pathlib.Path(f'/proc/{pid}/status').read_text()
        sizes[pid] = int(status.split('RssAnon:')[1].split()[0])
    return sizes


def clock_jump(options, chance):
    """same digests and weights, 0 restarts, when the clock jumps by an hour"""
    library = next(pathlib.Path('/usr/lib').glob(FAKETIME), None)
    if library is None:
        raise Skipped("needs libfaketime; Debian's package is faketime")
    # With threads that wait for each other, where there are cores for them.
    settings = {**JOB, 'training.epochs': 600,
                'devices': f'[cpu:0-{min(2, os.cpu_count()) - 1}]'}
    jumps = ['+3600', '-3600']
    chance.shuffle(jumps)
    with service_in(options) as service:
        expected = service.run(settings, '--digest')
        offset = service.folder / 'offset'
        set_clock(offset, '+0')
        service.fgnn('up', env={
            **os.environ, 'LD_PRELOAD': str(library),
            'FAKETIME_TIMESTAMP_FILE': str(offset), 'FAKETIME_NO_CACHE': '1',
            'FAKETIME_DONT_FAKE_MONOTONIC': '1'})
        run_dir = service.folder / 'jumped'
        job = submit(service, settings, run_dir, '--digest')
        for jump in jumps:
            goal = committed_of(run_dir) + chance.randrange(100, 500)
            wait_for(lambda: committed_of(run_dir) >= goal, 20,
                     'progress after a jump of the clock')
            set_clock(offset, jump)
        check(not has_ended(run_dir), 'it came too late')
        ends_undisturbed(service, job, run_dir, expected)
        # The log's times show that the clock did jump.
        log = (service.state_dir / 'logs/scheduler.log').read_text()
        hours = {line[:13] for line in log.splitlines() if line[10:11] == 'T'}
        check(len(hours) >= 3, f'the clock showed only {sorted(hours)}')
        service.fgnn('down')
    return f'jumps of {" and ".join(jumps)} s: same result, 0 restarts'


def set_clock(offset, words):
    """At once as a whole: daemons read it whenever they look at the clock."""
    new = offset.with_suffix('.new')
    new.write_text(words + '\n')
    os.replace(new, offset)
