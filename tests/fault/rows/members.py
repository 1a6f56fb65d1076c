"""A row of what a member of the service's group, and an outsider, may do."""

import subprocess
import sys
import time

import harness
import rpc
import users
from member_attempts import ROWS, Attempts, can_connect, memory_of
from row import (JOB, TINY, check, committed_of, end_service,
                 ends_undisturbed, pids_of, wait_for)

LONG = {**JOB, 'samplers': 1, 'trainers': 1, 'training.epochs': 2500}
DEVICES = ('cpu:0', 'cpu:1')


def is_member_served(service):
    """A member submits, watches and cancels jobs of its own."""
    words = service.job_words({**TINY, 'devices': '[cpu:1]'})
    job = service.json_as(users.MEMBER, 'submit', *words)['job_id']
    service.fgnn('watch', job, **users.MEMBER)
    service.fgnn('jobs', **users.MEMBER)
    endless = service.json_as(
        users.MEMBER, 'submit',
        *service.job_words({**harness.ENDLESS, 'devices': '[cpu:1]'}))
    service.fgnn('pause', endless['job_id'], **users.MEMBER)
    service.fgnn('cancel', endless['job_id'], **users.MEMBER)
    # A claim in the metadata does not make a job another's.
    request = (f'spec {{ dataset: "{service.dataset}" devices: "cpu:1" '
               'training { epochs: 1 } }')
    status, _ = rpc.call(service.state_dir / 'scheduler.sock',
                         'JobService/SubmitJob', 'SubmitJobRequest', request,
                         [('fgnn-user', 'root')], **users.MEMBER)
    check(status == 0, f'a submission was answered with {status}')
    named = service.json('jobs')['jobs'][0]['user']
    check(named != 'root', f'a job of a member is of {named}')
    return job


def group_member(options, _):
    """may submit and watch, and nothing else; an outsider not even connect"""
    return members_of(options, users.SERVICE)


def socket_group(options, _):
    """the same of a group that --socket-group lets in"""
    return members_of(options, users.SERVICE_OF_A_GROUP, users.OPEN_TO_GROUP)


def flood(service):
    """Floods of HTTP/2 by a member keep nobody else waiting."""
    before = memory_of(service)
    for kind in ('rapid', 'string', 'noack', 'pings', 'halves'):
        crowd = subprocess.Popen(
            [sys.executable, ROWS.parent / 'port/floods.py', kind, '--become',
             users.numbers_of(users.MEMBER), '--connections', '8', '--seconds',
             '2', '--unix', service.state_dir / 'scheduler.sock'],
            stdout=subprocess.DEVNULL)
        while crowd.poll() is None:
            started = time.monotonic()
            service.fgnn('status', **users.COLLEAGUE)
            check(time.monotonic() - started < 5 * harness.PATIENCE,
                  f'another user waited in a flood of {kind}')
    growth = memory_of(service) - before
    check(growth < 64 << 20, f'the scheduler grew by {growth} bytes')


def members_of(options, user, words_of_up=()):
    rpc.needs_tools()
    with users.service_of_a_user(options, user) as service:
        service.fgnn('up', '--devices', *DEVICES, *words_of_up, **user)
        runs = service.folder_of(user, 'runs')
        runs.chmod(0o777)
        words = service.job_words(LONG)
        expected = runs / 'expected'
        service.fgnn('run', *words, '--run-dir', str(expected), '--digest',
                     **users.COLLEAGUE)
        run_dir = runs / 'run'
        job = service.json_as(users.COLLEAGUE, 'submit', *words, '--run-dir',
                              str(run_dir), '--digest')['job_id']
        wait_for(lambda: committed_of(run_dir) > 0, 30, 'the first batch')
        endless = service.json_as(
            users.COLLEAGUE, 'submit', *service.job_words(
                {**harness.ENDLESS, 'devices': '[cpu:0]'}))['job_id']
        before = pids_of(service, 'fgnn-scheduler')
        is_member_served(service)
        attempts = Attempts(service, job, endless, run_dir)
        kept = attempts.replace_executors()
        for attempt in (attempts.speak_as_daemon,
                        lambda: attempts.change_jobs(expected),
                        attempts.connect, attempts.write,
                        lambda: attempts.plant_links(expected / 'checkpoints'),
                        lambda: attempts.take_folders(expected),
                        lambda: attempts.hold_locks(runs),
                        attempts.plant_plugin):
            attempt()
            service.fgnn('status')
        flood(service)
        outsiders = sum(outside(service, door)
                        for door in service.state_dir.rglob('*.sock'))
        check(pids_of(service, 'fgnn-scheduler') == before,
              'the scheduler is another one')
        ends_undisturbed(service, job, run_dir, expected)
        progress = service.json('show', endless)['progress']
        check(progress.get('restarts', 0) == 0,
              'a daemon of the endless job was restarted')
        service.fgnn('cancel', endless, **users.COLLEAGUE)
        end_service(service)
        check(kept.read_text() == 'kept', f'{kept} was changed')
    return (f'{attempts.count} attempts of a member refused, {outsiders} '
            'sockets closed to an outsider; the job of a third is as if alone')


def outside(service, door):
    words = can_connect(users.OUTSIDER, door)
    check(words == 'refused', f'an outsider at {door}: {words}')
    answer = service.fgnn('status', check=False, **users.OUTSIDER)
    check(answer.returncode == 1 and 'Permission denied' in answer.stderr,
          f'an outsider was told {answer.stdout!r}, {answer.stderr!r}')
    return 1
