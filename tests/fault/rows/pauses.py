"""Rows of jobs that let go of their devices, and go on later."""

import collections
import contextlib
import os
import pathlib
import shutil
import signal
import tempfile
import time

import harness
from row import (JOB, TINY, check, end_service, go_on, goes_on, has_ended,
                 in_any_order, pids_of, replace_soon, run_in_turn, same_run,
                 service_in, submit, summary_of)

PAUSES_PER_JOB = 10
DEVICES = ('cpu:0', 'cpu:1')
SETTINGS = {**{name: value for name, value in JOB.items()
               if name not in ('samplers', 'trainers')},
            'devices': f'[{", ".join(DEVICES)}]', 'sampling.batch_size': 32,
            'training.epochs': 400, 'training.evaluate_every': 100}
# Of the jobs, in turns.
WAYS = ({'executors': 'together', 'samplers': 2, 'trainers': 2},
        {'executors': 'factored'})
# Of the start of a client somebody is killed: about what a pause takes.
WITHIN_SECONDS = 0.1
# Of a job that was neither paused nor lost.
GOES_ON = ('queued', 'preparing', 'running', 'completed')


class PausedJob:
    """A job that is paused again and again; `counts` is of all of them."""

    def __init__(self, service, chance, counts, expected):
        self.service = service
        self.chance = chance
        self.counts = counts
        self.expected = expected
        self.run_dir = pathlib.Path(tempfile.mkdtemp(dir=service.folder))
        way = WAYS[counts['jobs'] % len(WAYS)]
        self.job = submit(service, {**SETTINGS, **way}, self.run_dir,
                          '--digest')
        counts['jobs'] += 1

    def has_ended(self):
        return has_ended(self.run_dir)

    def wait_for_moment(self):
        """In its training, or while it is prepared or taken over."""
        if self.chance.random() < 0.25:
            time.sleep(self.chance.random() * 0.5)
            return
        goes_on(self.run_dir, self.chance.randrange(20, 200))

    def state(self):
        return self.service.json('show', self.job)['state']

    def check_paused(self):
        state, segments = self.state(), self.service.segments()
        check(state == 'paused', f'its pause was answered, but it is {state}')
        check(not segments, f'it is paused, but {segments}')

    def kill_scheduler(self):
        scheduler, = pids_of(self.service, 'fgnn-scheduler')
        replace_soon(self.service, scheduler, self.chance, WITHIN_SECONDS,
                     DEVICES)
        self.counts['schedulers'] += 1

    def kill_daemon(self):
        time.sleep(self.chance.random() * WITHIN_SECONDS)
        pids = (pids_of(self.service, 'fgnn-sampler') +
                pids_of(self.service, 'fgnn-trainer'))
        with contextlib.suppress(ProcessLookupError):
            for pid in self.chance.sample(pids, min(1, len(pids))):
                os.kill(pid, signal.SIGKILL)
                self.counts['daemons'] += 1

    def end(self):
        self.service.fgnn('watch', self.job)
        same_run(self.run_dir, self.expected)
        self.counts['gave way'] += self.service.json(
            'show', self.job)['preemptions']
        shutil.rmtree(self.run_dir)

    # ---- What happens at a moment.

    def pause(self, meanwhile=lambda: None, may_be_lost=False):
        """`meanwhile` happens while the pause is under way."""
        client = self.service.start('pause', self.job)
        try:
            meanwhile()
            _, error = client.communicate(timeout=harness.COMMAND_SECONDS)
        finally:
            client.kill()
            client.communicate()
        state = self.state()
        if client.returncode == 0 or state == 'paused':
            self.counts['paused'] += 1
            self.check_paused()
            if self.chance.random() < 0.25:
                self.kill_scheduler()
                self.check_paused()
            go_on(self.service, self.job)
        elif state != 'completed':
            check(may_be_lost and state in GOES_ON,
                  f'it is {state}, its pause: {error.decode()}')
            self.counts['lost'] += 1

    def pause_and_kill_scheduler(self):
        self.pause(self.kill_scheduler, may_be_lost=True)

    def pause_and_kill_daemon(self):
        self.pause(self.kill_daemon)

    def give_way(self):
        run_dir = pathlib.Path(tempfile.mkdtemp(dir=self.service.folder))
        first = submit(self.service, TINY, run_dir, '--priority', '1')
        self.kill_scheduler()
        self.service.fgnn('watch', first)
        check(summary_of(run_dir)['state'] == 'completed',
              'the job of higher priority did not complete')
        state = self.state()
        check(state in GOES_ON, f'it gave way, and is {state}')


def pauses(options, chance):
    """no daemon has a paused job; it ends as if left alone, whatever dies"""
    moments = in_any_order(
        (PausedJob.pause, PausedJob.pause_and_kill_scheduler,
         PausedJob.pause_and_kill_daemon, PausedJob.give_way),
        options.pauses, chance)
    counts = collections.Counter()
    with service_in(options) as service:
        service.fgnn('up', '--devices', *DEVICES)
        expected = service.run({**SETTINGS, **WAYS[0]}, '--digest')
        run_in_turn(moments, PAUSES_PER_JOB,
                    lambda: PausedJob(service, chance, counts, expected),
                    options.pauses)
        end_service(service)
    return (f'{counts["paused"]} pauses, {counts["lost"]} lost to a kill of '
            f'the scheduler on the way, {counts["gave way"]} times one gave '
            f'way; {counts["schedulers"]} kills of the scheduler, '
            f'{counts["daemons"]} of a daemon: same digests, metrics and '
            f'weights in {counts["jobs"]} of {counts["jobs"]} jobs')
