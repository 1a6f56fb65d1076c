"""Rows of batches with parts, which trainers train together."""

import collections
import os
import shutil
import signal
import subprocess

from row import (JOB, Skipped, check, end_service, goes_on, in_any_order,
                 open_files, pids_of, same_run, service_in, submit, wait_for)

# Of a job at most; of few faults, each job has some.
KILLS_PER_JOB = 20
DAMAGES_PER_JOB = 12
DEVICES = ('cpu:0', 'cpu:1')
PARTS = (2, 3)
SETTINGS = {**{name: value for name, value in JOB.items()
               if name not in ('samplers', 'trainers')},
            'training.batches_per_step': 1, 'sampling.batch_size': 128,
            'model.layers': 3, 'sampling.fanouts': '[5, 5, 5]',
            'training.parts_on_fewer_trainers': 'true'}
# Three parts on two devices wait for each other: a batch takes half a second.
FEW = {'training.epochs': 12, 'training.checkpoint_steps': 10}
MANY = {'training.epochs': 120, 'training.checkpoint_steps': 100}
# Of the jobs, in turns.
WAYS = ({'executors': 'together', 'samplers': 2, 'trainers': 3},
        {'executors': 'together', 'samplers': 1, 'trainers': 4},
        {'executors': 'factored', 'devices': f'[{", ".join(DEVICES)}]'},
        {'executors': 'time_sharing', 'devices': f'[{", ".join(DEVICES)}]'})
# Of a kill: who is killed, and when.
MOMENTS = (('fgnn-trainer', 'publication'), ('fgnn-trainer', 'wait'),
           ('fgnn-trainer', 'any time'), ('fgnn-sampler', 'between'),
           ('fgnn-sampler', 'any time'))


def settings_of(way, parts, is_slow):
    return {**SETTINGS, **(FEW if is_slow else MANY), **way,
            'training.parts': parts}


def share_of(faults, most):
    """How many of the faults a job has, so that jobs of all ways have some."""
    return max(1, min(most, faults // len(WAYS)))


class PartJobs:
    """Jobs of each way and number of parts, one after the other, which have to
    end as a run without faults."""

    def __init__(self, service, options, chance):
        self.service, self.options, self.chance = service, options, chance
        self.program = options.bin.parent / 'tests/part_faults'
        if not self.program.exists():
            raise Skipped('no part_faults: tools/build release part_faults')
        self.made = 0
        self.expected = {
            (parts, is_slow): service.run(settings_of(WAYS[0], parts, is_slow),
                                          '--digest')
            for parts, is_slow in ((2, False), (3, False), (3, True))}
        service.fgnn('up', '--devices', *DEVICES)

    def disturbed_by(self, fault):
        """Runs a job in which fault(run_dir, batches) happens: that does not
        come more than so many batches apart. Its result."""
        way = WAYS[self.made % len(WAYS)]
        parts = PARTS[self.made // len(WAYS) % len(PARTS)]
        is_slow = parts > len(DEVICES) and 'devices' in way
        run_dir = self.service.folder / f'disturbed-{self.made}'
        self.made += 1
        job = submit(self.service, settings_of(way, parts, is_slow), run_dir,
                     '--digest')
        goes_on(run_dir, 1)
        result = fault(run_dir, 3 if is_slow else 20)
        self.service.fgnn('watch', job)
        same_run(run_dir, self.expected[parts, is_slow])
        shutil.rmtree(run_dir)
        return result

    def faults(self, *words):
        """The words that the program prints. It ends within a minute."""
        mode, *more = words
        segment = self.segment()
        if segment is None:  # The job has trained all.
            return ['0', '0']
        answer = subprocess.run(
            [self.program, mode, segment,
             str(self.chance.randrange(1 << 32)), *map(str, more)],
            capture_output=True, text=True, timeout=600, check=False)
        check(answer.returncode == 0, f'{words}: {answer.returncode}, '
              f'{answer.stderr}: nothing moves any more')
        return answer.stdout.split()

    def segment(self):
        """The scheduler's descriptor of the job's segment; None: it has none
        any more."""
        scheduler, = pids_of(self.service, 'fgnn-scheduler')
        found = [f'/proc/{scheduler}/fd/{name}'
                 for name, link in open_files(scheduler).items()
                 if 'memfd:fgnn-segment' in link]
        check(len(found) <= 1, f'segments of one job: {found}')
        return found[0] if found else None

    def end(self):
        end_service(self.service)


def part_kills(options, chance):
    """digest and weights of a run without faults, whoever has which part"""
    victims = in_any_order(MOMENTS, options.part_kills, chance)
    killed = collections.Counter()
    most = share_of(options.part_kills, KILLS_PER_JOB)
    with service_in(options) as service:
        jobs = PartJobs(service, options, chance)

        def kill_some(run_dir, batches):
            for _ in range(min(most, len(victims))):
                if not goes_on(run_dir, 1 + chance.randrange(batches)):
                    return
                program, moment = victims[-1]
                if kill_at(jobs, program, moment):
                    victims.pop()
                    killed[f'{program} at {moment}'] += 1

        while victims:
            check(jobs.made <= options.part_kills + len(WAYS),
                  f'{len(victims)} kills came too late')
            jobs.disturbed_by(kill_some)
        jobs.end()
    counted = ', '.join(f'{count} {what}' for what, count in killed.items())
    return (f'killed {counted}: same digests and weights in {jobs.made} of '
            f'{jobs.made} jobs')


def kill_at(jobs, program, moment):
    """Whether one of the program's processes was killed."""
    pids = []
    wait_for(lambda: pids.extend(pids_of(jobs.service, program)) or pids, 60,
             f'a living {program}')
    pid = jobs.chance.choice(pids)
    if moment != 'any time':
        return jobs.faults('kill', moment, pid) == ['1']
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def part_damage(options, chance):
    """digest and weights of a run without faults, whichever parts are damaged"""
    left = options.part_damages
    damaged = retracted = 0
    most = share_of(options.part_damages, DAMAGES_PER_JOB)
    with service_in(options) as service:
        jobs = PartJobs(service, options, chance)

        def damage_some(*_):
            return [int(count) for count in
                    jobs.faults('damage', min(left, most))]

        while left > 0:
            check(jobs.made <= options.part_damages + len(WAYS),
                  f'{left} damages came too late')
            of_job = jobs.disturbed_by(damage_some)
            damaged += of_job[0]
            retracted += of_job[1]
            left -= sum(of_job)
        found = sum(path.read_text(errors='replace').count(
                        'is damaged and will be sampled again')
                    for path in (service.state_dir / 'logs').glob('*.log*'))
        check(found == damaged, f'{damaged} were damaged, {found} found')
        jobs.end()
    return (f'{damaged} parts damaged, each found, and {retracted} retracted: '
            f'same digests and weights in {jobs.made} of {jobs.made} jobs')
