"""Rows of very many clients: those that watch, and those that say nothing."""

import contextlib
import json
import os
import pathlib
import resource
import signal
import subprocess
import sys
import time

import harness
import users
from row import (JOB, TINY, check, committed_of, end_service, has_ended,
                 pids_of, same_run, service_in, submit, summary_of, wait_for)

ROWS = pathlib.Path(__file__).resolve().parent
# A command that takes longer was not answered.
ANSWER_SECONDS = 8
SUBMISSIONS = 20
# A user may have 1,000 jobs that have not ended. None of these starts while the
# watched job runs.
MOST_ROUNDS = 48
MOST_P99_MS = 20
# What shells and service managers give.
SOFT_LIMIT = 1024
NEEDED_LIMIT = 4096


def timed(service, *words, **options):
    """(seconds, answer) of a command that has to succeed, and soon."""
    started = time.monotonic()
    answer = service.fgnn(*words, check=False, **options)
    seconds = time.monotonic() - started
    check(answer.returncode == 0,
          f'fgnn {words[0]} ended with {answer.returncode}: {answer.stderr!r}')
    check(seconds <= ANSWER_SECONDS, f'fgnn {words[0]} took {seconds:.1f} s')
    return seconds, answer


def milliseconds_of_submissions(options, service, seed):
    """What each of some submissions took."""
    result = subprocess.run(
        [options.bin.parent / 'tests/submit_clients', service.state_dir,
         service.dataset, '1', str(SUBMISSIONS), str(seed)],
        capture_output=True, text=True, check=False,
        timeout=harness.COMMAND_SECONDS)
    check(result.returncode == 0, f'a submission: {result.stderr!r}')
    return [json.loads(line)['ms'] for line in result.stdout.splitlines()]


def next_line(process, seconds):
    """One line of what a program says."""
    return next(harness.lines_within(process.stdout, seconds)).decode()


def watchers(options, chance):
    """no daemon is restarted, every command is answered, all see the job"""
    with service_in(options) as service:
        service.fgnn('up', '--devices', 'cpu:0')
        # No submission has it give way.
        job = submit(service, {**JOB, **harness.ENDLESS},
                     service.folder / 'watched', '--priority', '100')
        wait_for(lambda: service.json('show', job)['state'] == 'running', 30,
                 'the job')
        before = service.processes()
        watching = subprocess.Popen(
            [options.bin.parent / 'tests/watch_clients', service.state_dir,
             job, str(options.watchers)], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE)
        try:
            answered = next_line(watching, 60)
            measured = while_watched(options, chance, service, watching)
            check(answered == f'{options.watchers} answered',
                  f'of {options.watchers} watchers {answered}')
            check(service.processes() == before, 'a daemon is another one')
            restarts = service.json('show', job)['progress'].get('restarts', 0)
            check(restarts == 0, f'{restarts} daemons were killed')
            last, _ = timed(service, 'down')
            check(not service.wait_until_gone(), 'processes are left')
        finally:
            watching.kill()
            watching.communicate()
    return f'{measured}; down after {last:.1f} s'


def while_watched(options, chance, service, watching):
    """What came of commands meanwhile, in words."""
    slowest, latencies = 0, []
    started = time.monotonic()
    end = started + options.watch_seconds
    for round_number in range(MOST_ROUNDS):
        if time.monotonic() >= end and latencies:
            break
        latencies += milliseconds_of_submissions(
            options, service, chance.randrange(1 << 31))
        seconds, answer = timed(service, 'submit', *service.job_words(TINY),
                                '--json')
        other = json.loads(answer.stdout)['job_id']
        slowest = max(slowest, seconds, timed(service, 'status')[0],
                      timed(service, 'cancel', other)[0])
        next_round = (started + options.watch_seconds * (round_number + 1) /
                      MOST_ROUNDS)
        time.sleep(max(0, next_round - time.monotonic()))
    watching.stdin.write(b'\n')
    watching.stdin.flush()
    seen = json.loads(next_line(watching, 30))
    check(seen['refused'] == 0,
          f'{seen["refused"]} watchers were refused: {seen["words"]}')
    check(seen['messages'] >= options.watchers * (options.watch_seconds - 1),
          f'{seen["messages"]} messages to {options.watchers} watchers')
    latencies.sort()
    p99 = latencies[int(len(latencies) * 0.99)]
    # A short run on a machine that others use says little of it.
    check(p99 < MOST_P99_MS or options.watch_seconds < 60,
          f'a submission took {p99:.1f} ms (p99)')
    return (f'{options.watchers} watchers for {options.watch_seconds:.0f} s: '
            f'0 restarts, {seen["messages"]} messages, {len(latencies)} '
            f'submissions in {latencies[len(latencies) // 2]:.1f} ms (median), '
            f'{p99:.1f} ms (p99); status, submit, cancel within '
            f'{slowest:.1f} s')


@contextlib.contextmanager
def silent_connections(doors, count, who):
    """Holds `count` connections to each of these sockets, which say nothing."""
    holder = subprocess.Popen(
        [sys.executable, ROWS / 'hold_connections.py', str(count),
         users.numbers_of(who), *doors], stdin=subprocess.PIPE,
        stdout=subprocess.PIPE)
    try:
        yield next_line(holder, 60)
    finally:
        holder.kill()
        holder.communicate()


def limit_descriptors():
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (SOFT_LIMIT, hard))


def kill_one(service, program, chance):
    """Kills a daemon of a job; waits until another one has registered."""
    before = pids_of(service, program)
    os.kill(chance.choice(before), signal.SIGKILL)

    def replaced():
        executors = service.json('status')['executors']
        living = {each['pid'] for each in executors
                  if each['state'] in ('working', 'standby', 'idle')}
        return living.intersection(pids_of(service, program)) - set(before)
    wait_for(replaced, 30, f'another {program}', every=0.1)


def descriptors(options, chance):
    """answers other users meanwhile, everybody afterwards; daemons come back"""
    users.needs_descriptors(NEEDED_LIMIT)
    settings = {**JOB, 'training.epochs': options.silent_epochs}
    count = options.silent
    with users.service_of_a_user(options) as service:
        service.fgnn('up', preexec_fn=limit_descriptors, **users.SERVICE)
        expected_dir = service.folder_of(users.SERVICE, 'expected')
        run_dir = service.folder_of(users.SERVICE, 'crowded')
        service.fgnn('run', *service.job_words(settings), '--run-dir',
                     str(expected_dir), '--digest', **users.SERVICE)
        job = service.json_as(
            users.SERVICE, 'submit', *service.job_words(settings),
            '--run-dir', str(run_dir), '--digest')['job_id']
        wait_for(lambda: committed_of(run_dir) > 0, 30, 'the first batch')
        scheduler = pids_of(service, 'fgnn-scheduler')
        slowest = 0
        with silent_connections([service.state_dir / 'scheduler.sock'], count,
                                users.MEMBER) as held:
            for who in (users.COLLEAGUE, {}):
                slowest = max(slowest, timed(service, 'status', **who)[0],
                              timed(service, 'show', job, **who)[0])
            kill_one(service, 'fgnn-sampler', chance)
        for who in (users.COLLEAGUE, {}):
            slowest = max(slowest, timed(service, 'status', **who)[0])
        doors = [path for path in service.state_dir.rglob('*.sock')
                 if path.name != 'scheduler.sock']
        with silent_connections(doors, count // 2, users.SERVICE) as inner:
            slowest = max(slowest, timed(service, 'status')[0])
            check(not has_ended(run_dir), 'it came too late')
            os.kill(chance.choice(pids_of(service, 'fgnn-trainer')),
                    signal.SIGKILL)
            time.sleep(1)  # While the one after it comes.
        service.fgnn('watch', job)
        same_run(run_dir, expected_dir)
        check(summary_of(run_dir)['restarts'] == 2, 'other daemons died')
        check(pids_of(service, 'fgnn-scheduler') == scheduler,
              'the scheduler is another one')
        # The member's command may wait four seconds, for the connections made.
        for who in (users.MEMBER, {}):
            slowest = max(slowest, timed(service, 'status', **who)[0])
        end_service(service)
    return (f'{held} of {count} connections by a member of the group, '
            f'{inner} of {count // 2} each to {len(doors)} sockets by the '
            f'service\'s user: answers within {slowest:.1f} s, 2 killed '
            'daemons came back, same result')
