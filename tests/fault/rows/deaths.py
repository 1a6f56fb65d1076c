"""Rows of daemons that die."""

import datetime
import json
import os
import re
import shutil
import signal
import subprocess
import time

import harness
from row import (JOB, TINY, check, end_service, goes_on, in_any_order,
                 pids_of, replace_soon, same_run, service_in, submit,
                 summary_of, wait_for)

KILLS_PER_JOB = 10
KILLS_PER_QUEUE = 8000  # The test's weights are exact up to there.
HAS_JOB = ('running', 'completed')


def queue_kills(options, chance):
    """0 batches lost or doubled, 0 slots leaked, 0 hangs"""
    program = options.bin.parent / 'tests/queue_kill_test'
    started = time.monotonic()
    left = options.queue_kills
    while left > 0:
        kills = min(left, KILLS_PER_QUEUE)
        left -= kills
        seed = chance.randrange(1 << 32)
        result = subprocess.run(
            [program], capture_output=True, text=True, timeout=3600,
            check=False, env={**os.environ, 'FGNN_TEST_SEED': str(seed),
                              'FGNN_TEST_KILLS': str(kills)})
        check(result.returncode == 0,
              f'seed {seed}, {kills} kills: {result.stdout[-2000:]}')
    return (f'{options.queue_kills} kills of samplers and trainers in '
            f'{time.monotonic() - started:.0f} s: 0 lost, 0 doubled')


def service_kills(options, chance):
    """digest and weights of a run without faults, whoever is killed"""
    settings = {**JOB, 'training.epochs': 1500}
    victims = in_any_order(('fgnn-sampler', 'fgnn-trainer', 'fgnn-scheduler'),
                           options.kills, chance)
    counted = ', '.join(f'{victims.count(name)} {name}'
                        for name in dict.fromkeys(victims))
    back, recoveries = [], []
    jobs = 0
    with service_in(options) as service:
        expected = service.run(settings, '--digest')
        service.fgnn('up')
        while victims:
            check(jobs <= options.kills, f'{len(victims)} kills came too late')
            run_dir = service.folder / f'killed-{jobs}'
            job = submit(service, settings, run_dir, '--digest')
            jobs += 1
            killed, seconds = kill_some(service, job, run_dir, victims,
                                        KILLS_PER_JOB, chance)
            back += seconds
            service.fgnn('watch', job)
            same_run(run_dir, expected)
            recoveries += recovery_seconds(service, killed)
            shutil.rmtree(run_dir)
        end_service(service)
    check(not back or max(back) <= 3, f'it was back after {max(back):.1f} s')
    p99 = sorted(recoveries)[int(len(recoveries) * 0.99)]
    check(p99 <= 0.25 or len(recoveries) < 100,  # Of a few it says nothing.
          f'slots of the dead were free after {p99:.3f} s (p99)')
    seconds = (f'; the scheduler had the job back within {max(back):.1f} s'
               if back else '')
    return (f'killed {counted}: same digests and weights in {jobs} of {jobs} '
            f'jobs; slots of the dead free after {1000 * p99:.0f} ms (p99 of '
            f'{len(recoveries)}){seconds}')


def kill_some(service, job, run_dir, victims, most, chance):
    """Kills `most` daemons of a running job, or fewer if it ends before.

    Their names are taken from the end of `victims`. Returns the pids of
    samplers and trainers with the time of their deaths, and the seconds until
    each scheduler was replaced.
    """
    killed, back = {}, []
    for _ in range(min(most, len(victims))):
        if not goes_on(run_dir, chance.randrange(50, 500)):
            break
        victim = victims.pop()
        pids = []
        wait_for(lambda: pids.extend(pids_of(service, victim)) or pids,
                 60, f'a living {victim}')
        pid = chance.choice(pids)
        when = time.time()
        os.kill(pid, signal.SIGKILL)
        if victim == 'fgnn-scheduler':
            back.append(restart_scheduler(service, pid, job))
        else:
            killed[pid] = when
    return killed, back


def recovery_seconds(service, killed):
    """From each kill to the scheduler's word that the slots are free again.

    Daemons that were not attached held none.
    """
    log = (service.state_dir / 'logs/scheduler.log').read_text()
    seconds = []
    for when, pid in re.findall(
            r'^(\S+Z) .* gave back .* \(pid (\d+)\)$', log, re.MULTILINE):
        if int(pid) in killed:
            free = datetime.datetime.fromisoformat(when)
            seconds.append(free.timestamp() - killed[int(pid)])
    return seconds


def restart_scheduler(service, dead, job):
    """Seconds until another one has the job, whatever that takes."""
    started = time.monotonic()
    service.wait_until_gone([dead])
    service.fgnn('up')
    wait_for(lambda: service.json('show', job)['state'] in HAS_JOB, 60,
             'taking the job back')
    return time.monotonic() - started


def submissions(options, chance):
    """0 acknowledged jobs lost, 0 run twice"""
    kills = 0
    with service_in(options) as service:
        words = service.job_words(TINY)
        pid = service.json('up')['pid']
        acknowledged = {}
        for number in range(options.submissions):
            run_dir = service.folder / f'run-{number}'
            client = service.start('submit', *words, '--json', '--run-dir',
                                   str(run_dir), '--digest')
            if chance.random() < 0.5:
                pid = replace_soon(service, pid, chance)
                kills += 1
            answer, _ = client.communicate(timeout=harness.COMMAND_SECONDS)
            if client.returncode == 0:
                acknowledged[json.loads(answer)['job_id']] = run_dir
        for job, run_dir in acknowledged.items():
            service.fgnn('watch', job)  # Fails for a job that is not known.
            check(summary_of(run_dir)['state'] == 'completed',
                  f'job {job} did not complete')
            lines = (run_dir / 'batches.crc').read_text().splitlines()
            seqs = [int(line.split()[0]) for line in lines]
            check(seqs == list(range(len(seqs))) and seqs,
                  f'job {job} has batches twice or not at all')
        service.fgnn('down')
    return (f'{kills} kills while {options.submissions} jobs were submitted: '
            f'{len(acknowledged)} acknowledged, all ran once')


def crash_loop(options, chance):
    """the job fails and says who died and how; the next one completes"""
    restarts = chance.randint(1, 4)
    settings = {**JOB, **harness.ENDLESS, 'samplers': 1,
                'limits.restarts': restarts}
    killed = set()
    with service_in(options) as service:
        service.fgnn('up')
        scheduler, = pids_of(service, 'fgnn-scheduler')
        job = submit(service, settings, service.folder / 'failed')
        wait_for(lambda: service.json('show', job)['state'] == 'running', 30,
                 'the job')

        def kill_newcomers():
            for pid in pids_of(service, 'fgnn-sampler'):
                if pid not in killed and len(killed) <= restarts:
                    killed.add(pid)
                    time.sleep(chance.random() * 0.1)
                    os.kill(pid, signal.SIGKILL)
            return service.json('show', job)['state'] == 'failed'
        wait_for(kill_newcomers, 60, 'the failure')
        watch = service.fgnn('watch', job, check=False)
        check(watch.returncode == 1, f'it ended with {watch.returncode}')
        log = service.state_dir / 'logs/sampler.0.log'
        for word in ('sampler.0', f'died {restarts + 1} times', 'signal 9',
                     str(log)):
            check(word in watch.stderr, f'no "{word}" in {watch.stderr!r}')
        check(len(killed) == restarts + 1, f'failed after {len(killed)} kills')
        check(pids_of(service, 'fgnn-scheduler') == [scheduler],
              'the scheduler is another one')
        service.run(TINY)
        service.fgnn('down')
    return (f'failed at the death no. {restarts + 1} of sampler.0, by signal '
            '9; the service lives, the next job completed')
