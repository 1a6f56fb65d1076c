"""A row of deaths in every phase of the jobs of two users."""

import collections
import contextlib
import fcntl
import os
import pathlib
import shutil
import signal
import time

import harness
import users
from row import (JOB, check, committed_of, end_service, in_any_order,
                 service_in, wait_for)
from same_folder import same_folder

DEVICES = ('cpu:0', 'cpu:1')
SETTINGS = {**{name: value for name, value in JOB.items()
               if name not in ('samplers', 'trainers')},
            'training.epochs': 1000, 'training.evaluate_every': 250}
# What sets the two users' jobs apart.
WAYS = ({'executors': 'together', 'devices': '[cpu:0]'},
        {'executors': 'factored', 'devices': '[cpu:1]'})
VICTIMS = ('fgnn-scheduler', 'fgnn-scheduler', 'fgnn-sampler', 'fgnn-trainer')
KILLS_PER_PAIR = 8
# A job's start is killed within so long, and a service's end.
START_SECONDS = 0.8
DOWN_SECONDS = 1.0
PROGRESS_SECONDS = 120
# A kill at a job's end waits until so few batches are left.
LAST_BATCHES = 40


class Owned:
    """A job of a user, on a service of another."""

    def __init__(self, service, who, way, run_dir):
        self.service, self.who, self.run_dir = service, who, run_dir
        self.way = way
        self.submit()

    def submit(self):
        self.service.json_as(
            self.who, 'submit',
            *self.service.job_words({**SETTINGS, **self.way}), '--run-dir',
            str(self.run_dir), '--digest')

    def job(self):
        """The newest one of the folder."""
        return next(job for job in self.service.json('jobs')['jobs']
                    if job['run_dir'] == str(self.run_dir))

    def has_ended(self):
        """Whether the run is completed, whatever the service knows of it."""
        path = self.run_dir / 'summary.json'
        with contextlib.suppress(OSError):
            return '"completed"' in path.read_text()
        return False

    def resume(self):
        """Resumes the run if the service's end has cancelled it."""
        job = self.job()
        if job['state'] == 'failed':
            raise AssertionError(f'{self.run_dir}: {job["error_message"]}')
        if job['state'] != 'cancelled':
            return
        if not (self.run_dir / 'job.yaml').exists():
            self.submit()  # It was cancelled before it had its folder.
            return
        client = self.service.start('resume', str(self.run_dir), **self.who)
        try:
            wait_for(lambda: self.job()['job_id'] != job['job_id'] or
                     client.poll() is not None, 60, 'going on')
        finally:
            client.kill()
            _, error = client.communicate()
        check(self.job()['job_id'] != job['job_id'],
              f'resume: {error.decode()!r}')


class Pair:
    """Jobs of two users; `counts` is of all pairs."""

    def __init__(self, service, owners, chance, counts):
        self.service, self.chance, self.counts = service, chance, counts
        self.kills = []  # What was killed in which phase, in order.
        self.jobs = [
            Owned(service, who, way,
                  service.folder / f'run-{counts["pairs"]}-{index}')
            for index, (who, way) in enumerate(zip(owners, WAYS))]
        counts['pairs'] += 1

    def has_ended(self):
        return all(job.has_ended() for job in self.jobs)

    # ---- Phases, and a kill in each.

    def starting(self):
        time.sleep(self.chance.random() * START_SECONDS)
        self.kill('starting')

    def running(self):
        goals = [committed_of(job.run_dir) + self.chance.randrange(20, 400)
                 for job in self.jobs]
        wait_for(lambda: any(
            job.has_ended() or committed_of(job.run_dir) >= goal
            for job, goal in zip(self.jobs, goals)), PROGRESS_SECONDS,
            'progress')
        self.kill('running')

    def ending(self):
        whole = SETTINGS['training.epochs'] * self.counts['batches']
        wait_for(lambda: any(
            committed_of(job.run_dir) >= whole - LAST_BATCHES
            for job in self.jobs), PROGRESS_SECONDS, 'the last batches')
        time.sleep(self.chance.random() * 0.1)
        self.kill('ending')

    def down(self):
        client = self.service.start('down')
        try:
            time.sleep(self.chance.random() * DOWN_SECONDS)
            self.kill('down', again=False)
            client.communicate(timeout=harness.COMMAND_SECONDS)
        finally:
            client.kill()
            client.communicate()
        self.come_back()

    def preparing(self):
        """Kills while both jobs, which were resumed, are prepared."""
        self.service.fgnn('down')
        self.come_back()
        time.sleep(self.chance.random() * START_SECONDS)
        self.kill('preparing')

    def come_back(self):
        wait_for(lambda: 'fgnn-scheduler' not in
                 self.service.processes().values(), 30, 'its end')
        up(self.service)
        for job in self.jobs:
            if not job.has_ended():
                job.resume()

    def kill(self, phase, again=True):
        victim = self.chance.choice(VICTIMS)
        pids = [pid for pid, name in self.service.processes().items()
                if name == victim]
        if not pids:
            return
        pid = self.chance.choice(sorted(pids))
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
            self.counts[phase] += 1
            self.counts[victim] += 1
            self.kills.append(f'{victim} {phase}')
        if victim == 'fgnn-scheduler' and again:
            self.service.wait_until_gone([pid])
            time.sleep(self.chance.choice((0, self.chance.random() * 0.3)))
            up(self.service)

    def end(self, expected):
        for job, run_dir in zip(self.jobs, expected):
            newest = job.job()['job_id']
            watched = self.service.fgnn('watch', newest, check=False)
            why = job.job().get('error_message')
            check(watched.returncode == 0,
                  f'{watched.stderr.strip()}: {why!r} after '
                  f'{", ".join(self.kills)}')
            same_folder(job.run_dir, run_dir)
            check_unlocked(job.run_dir)
            shutil.rmtree(job.run_dir)


PHASES = (Pair.running, Pair.ending, Pair.down, Pair.preparing)


def up(service):
    service.fgnn('up', '--devices', *DEVICES, **service.owner)


def check_unlocked(folder):
    """No process holds a lock on a file of the folder."""
    for path in (folder, *folder.rglob('*')):
        if path.is_socket():
            continue
        file = os.open(path, os.O_RDONLY)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            check(False, f'{path} is locked')
        finally:
            os.close(file)


def memory_left(state_dir):
    """Processes that have memory of the service's, and no right to."""
    found = []
    for link in pathlib.Path('/proc').glob('[0-9]*/fd/*'):
        with contextlib.suppress(OSError):
            if 'memfd:fgnn' not in os.readlink(link):
                continue
            words = (link.parent.parent / 'cmdline').read_bytes()
            if str(state_dir).encode() in words.split(b'\0'):
                found.append(str(link))
    return found


@contextlib.contextmanager
def service_of_two(options):
    """A service, and two users where this program may be several."""
    if os.geteuid() == 0:
        with users.service_of_a_user(options) as service:
            service.owner = users.SERVICE
            # Job files and runs are anybody's here.
            service.folder.chmod(0o777)
            yield service, (users.MEMBER, users.COLLEAGUE)
    else:
        with service_in(options) as plain:
            service = users.UsersService(plain.folder)
            service.owner = {}
            yield service, ({}, {})


def phases(options, chance):
    """every byte of both users' runs is as if undisturbed; nothing is left"""
    counts = collections.Counter()
    left = options.phase_kills
    with service_of_two(options) as (service, owners):
        up(service)
        expected = []
        for index, way in enumerate(WAYS):
            run_dir = service.folder / f'expected-{index}'
            service.fgnn('run', *service.job_words({**SETTINGS, **way}),
                         '--run-dir', str(run_dir), '--digest', **owners[index])
            expected.append(run_dir)
        counts['batches'] = (committed_of(expected[0]) //
                             SETTINGS['training.epochs'])
        while left > 0:
            check(counts['pairs'] <= options.phase_kills,
                  f'{left} kills came too late')
            pair = Pair(service, owners, chance, counts)
            pair.starting()
            left -= 1
            faults = in_any_order(PHASES, min(KILLS_PER_PAIR, left), chance)
            # The end of the pair is the last phase.
            faults.sort(key=lambda phase: phase is Pair.ending)
            for phase in faults:
                if pair.has_ended():
                    break
                phase(pair)
                left -= 1
            pair.end(expected)
        end_service(service)
        check(not memory_left(service.state_dir), 'memory is left')
        check_unlocked(service.state_dir)
    by_phase = ', '.join(
        f'{counts[phase]} {phase}' for phase in
        ('starting', 'preparing', 'running', 'ending', 'down'))
    by_victim = ', '.join(
        f'{counts[f"fgnn-{victim}"]} of a {victim}'
        for victim in ('scheduler', 'sampler', 'trainer'))
    return (f'kills: {by_phase}; {by_victim}: {2 * counts["pairs"]} of '
            f'{2 * counts["pairs"]} runs of {len(WAYS)} users the same, byte '
            'by byte; nothing left')
