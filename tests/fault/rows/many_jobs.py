"""Many jobs of several users on one service that is killed meanwhile."""

import json
import os
import pathlib
import signal
import subprocess
import tempfile

import harness
from row import check, pids_of, service_in, wait_for

CLIENTS = 8
# Seconds that the share of a user may be off: what a kill or a pause leaves
# uncounted in the journal, and a job that was under way.
SHARE_SLACK = 2
END_SECONDS = 3600
# Between two looks at all jobs, which cost the service that is measured.
LOOK_SECONDS = 0.5


def jobs_of(service):
    return service.json('jobs', '--limit', '100000')['jobs']


def check_ran_once(job):
    lines = (pathlib.Path(job['run_dir']) /
             'batches.crc').read_text().splitlines()
    seqs = [int(line.split()[0]) for line in lines]
    check(job['state'] == 'completed',
          f'job {job["job_id"]} is {job["state"]}: {job["error_message"]}')
    check(seqs == list(range(len(seqs))) and seqs,
          f'job {job["job_id"]} has batches twice or not at all')


def check_priorities(jobs):
    """No job was started while one of higher priority was queued."""
    for job in jobs:
        for other in jobs:
            check(not (other['priority'] > job['priority'] and
                       other['submitted_ms'] + 1 < job['started_ms'] <
                       other['started_ms']),
                  f'job {job["job_id"]} was started before '
                  f'{other["job_id"]} of higher priority')


def check_shares(jobs):
    """Of equal priority, the user who had less was served; the most that one
    was ahead, in seconds."""
    jobs = sorted(jobs, key=lambda job: job['started_ms'])
    ended = sorted(jobs, key=lambda job: job['finished_ms'])
    had, worst, next_ended = {}, 0, 0
    for job in jobs:
        now = job['started_ms']
        while ended[next_ended]['finished_ms'] <= now:
            user = ended[next_ended]['user']
            had[user] = had.get(user, 0) + ended[next_ended]['run_seconds']
            next_ended += 1
        waiting = {other['user'] for other in jobs
                   if other['priority'] == job['priority'] and
                   other['submitted_ms'] + 1 < now < other['started_ms']}
        for user in waiting:
            worst = max(worst, had.get(job['user'], 0) - had.get(user, 0))
    check(worst <= SHARE_SLACK, f'a user was {worst:.1f} s ahead of another')
    return worst


def many_jobs(options, chance):
    """none of them lost, none twice; order by priority, and share of users"""
    clients = options.bin.parent / 'tests/submit_clients'
    kills = 0
    # A file: nobody reads the answers before the last kill, and a pipe that is
    # full would hold the clients up.
    with (service_in(options) as service,
          tempfile.TemporaryFile('w+', encoding='utf-8') as answers):
        service.fgnn('up')
        submitting = subprocess.Popen(
            [clients, service.state_dir, service.dataset, str(CLIENTS),
             str(options.many), str(chance.randrange(1 << 31))],
            stdout=answers)
        ended = []

        def all_ended():
            ended[:] = service.json(
                'jobs', '--limit', '100000', '--state',
                'completed,failed,cancelled')['jobs']
            return len(ended) == options.many
        # At as many moments of the jobs' way, the first while they come.
        for kill in range(options.many_kills):
            goal = kill * options.many // max(options.many_kills, 1)
            wait_for(lambda: all_ended() or len(ended) >= goal, END_SECONDS,
                     f'{goal} jobs', LOOK_SECONDS)
            wait_for(lambda: pids_of(service, 'fgnn-scheduler'), 60,
                     'a scheduler')
            scheduler, = pids_of(service, 'fgnn-scheduler')
            os.kill(scheduler, signal.SIGKILL)
            service.wait_until_gone([scheduler])
            service.fgnn('up')
            kills += 1
        submitting.wait(timeout=harness.COMMAND_SECONDS)
        check(submitting.returncode == 0, 'a client was not answered')
        answers.seek(0)
        acknowledged = [json.loads(line) for line in answers]
        wait_for(all_ended, END_SECONDS, lambda: f'{len(ended)} of the jobs',
                 LOOK_SECONDS)
        jobs = jobs_of(service)
        check({job['job_id'] for job in jobs} ==
              {answer['job'] for answer in acknowledged} and
              len(jobs) == len(acknowledged) == options.many,
              f'{len(jobs)} jobs, {len(acknowledged)} acknowledged')
        for job in jobs:
            check_ran_once(job)
        check_priorities(jobs)
        worst = check_shares(jobs)
        service.fgnn('down')
        check(not service.wait_until_gone(), 'processes are left')
    latencies = sorted(answer['ms'] for answer in acknowledged
                       if answer['attempts'] == 1)
    p99 = latencies[int(len(latencies) * 0.99)]
    return (f'{options.many} jobs of {CLIENTS} users, {kills} kills of the '
            f'scheduler: all ran once, by priority; '
            f'{sum(job["preemptions"] for job in jobs)} gave way, users at '
            f'most {worst:.1f} s ahead; a submission took '
            f'{latencies[len(latencies) // 2]:.1f} ms (median), {p99:.1f} ms '
            f'(p99)')
