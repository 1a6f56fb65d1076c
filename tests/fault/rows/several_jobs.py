"""Jobs side by side: what happens to one, or to the scheduler of all."""

import collections
import os
import shutil
import signal

from row import (JOB, check, committed_of, end_service, go_on, has_ended,
                 in_any_order, replace_soon, run_in_turn, same_run,
                 service_in, submit, summary_of, wait_for)

DEVICES = ('cpu:0', 'cpu:1')
SETTINGS = {**{name: value for name, value in JOB.items()
               if name not in ('samplers', 'trainers')},
            'sampling.batch_size': 32, 'training.epochs': 1500,
            'training.evaluate_every': 500}
# Of the jobs, in turns: one works on a device, the other one is given any.
WAYS = ({'executors': 'together', 'devices': '[cpu:0]'},
        {'executors': 'factored', 'devices': '1'})
FAULTS_PER_PAIR = 8


class Pair:
    """Two jobs of the same batches; `counts` is of all pairs."""

    def __init__(self, service, chance, counts, expected):
        self.service = service
        self.chance = chance
        self.counts = counts
        self.expected = expected
        self.run_dirs = {}
        self.daemon_kills = collections.Counter()  # By job.
        for number, way in enumerate(WAYS):
            run_dir = service.folder / f'run-{number}'
            job = submit(service, {**SETTINGS, **way}, run_dir, '--digest')
            self.run_dirs[job] = run_dir
        counts['pairs'] += 1

    def wait_for_moment(self):
        """Both have gone on, as long as none has ended."""
        goals = {run_dir: committed_of(run_dir) + self.chance.randrange(20, 200)
                 for run_dir in self.run_dirs.values()}
        wait_for(lambda: self.has_ended() or
                 all(committed_of(run_dir) >= goal
                     for run_dir, goal in goals.items()), 60, 'progress')

    def has_ended(self):
        return any(map(has_ended, self.run_dirs.values()))

    def daemons(self):
        """{pid: job} of those that work."""
        executors = self.service.json('status')['executors']
        return {executor['pid']: executor['job_id'] for executor in executors
                if executor.get('job_id') in self.run_dirs}

    # ---- What happens at a moment.

    def kill_daemon(self):
        daemons = self.daemons()
        check(len(set(daemons.values())) == len(WAYS) or self.has_ended(),
              f'of two jobs {len(set(daemons.values()))} have daemons')
        if daemons:
            pid = self.chance.choice(sorted(daemons))
            os.kill(pid, signal.SIGKILL)
            self.daemon_kills[daemons[pid]] += 1
            self.counts['daemons'] += 1

    def kill_scheduler(self):
        pid = self.service.json('status')['pid']
        replace_soon(self.service, pid, self.chance, devices=DEVICES)
        self.counts['schedulers'] += 1

    def pause_one(self):
        job = self.chance.choice(sorted(self.run_dirs))
        if self.service.fgnn('pause', job, check=False).returncode == 0:
            go_on(self.service, job)
            self.counts['paused'] += 1

    def end(self):
        for job, run_dir in self.run_dirs.items():
            self.service.fgnn('watch', job)
            same_run(run_dir, self.expected)
            restarts = summary_of(run_dir)['restarts']
            check(restarts <= self.daemon_kills[job],
                  f'{restarts} restarts, {self.daemon_kills[job]} kills')
            shutil.rmtree(run_dir)


def several_jobs(options, chance):
    """each ends as if alone, whatever happens to another, or to the service"""
    faults = in_any_order(
        (Pair.kill_daemon, Pair.kill_scheduler, Pair.pause_one),
        options.several, chance)
    counts = collections.Counter()
    with service_in(options) as service:
        service.fgnn('up', '--devices', *DEVICES)
        expected = service.run({**SETTINGS, **WAYS[0]}, '--digest')
        run_in_turn(faults, FAULTS_PER_PAIR,
                    lambda: Pair(service, chance, counts, expected),
                    options.several)
        end_service(service)
    jobs = counts['pairs'] * len(WAYS)
    return (f'{counts["daemons"]} kills of a daemon of one, '
            f'{counts["schedulers"]} of the scheduler, {counts["paused"]} '
            f'pauses of one: same digests, metrics and weights in {jobs} of '
            f'{jobs} jobs')
