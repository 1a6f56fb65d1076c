#!/usr/bin/env python3
"""Jobs on a GPU through the whole service: what tests/gpu/run jobs runs.

  tests/gpu/jobs.py --bin DIR [--only NAME]… [--dataset DIR] [--scale 20]
                    [--kills 50]

  batches  the same batches on cores, on the GPU, and on both; the same weights
           wherever the GPU trains
  kills    daemons killed at random moments change no weight
  resume   a job that is cancelled and resumed has the same weights
  turns    seconds an epoch of one GPU whose executors take turns, and where they
           share it all the time
  epochs.MODEL[.SEEDS]
           seconds an epoch, with the seconds of its stages
  evaluations.MODEL
           seconds an evaluation, on the GPU and on cores, and whether the plan
           keeps hidden states on the GPU
  pyg.MODEL[.SEEDS]
           seconds an epoch beside PyTorch Geometric on this GPU, and both
           accuracies; python3 needs it (pyg_sampler, pyg_epochs.py)

The graph is R-MAT with 100 features. Its size goes by --scale, so that the parts
take minutes on a GPU and seconds in the emulator. Batches have --batch-size seeds,
or SEEDS. Each line says what its job was: what the service settled on, not what
was asked for.
"""

import argparse
import contextlib
import functools
import json
import os
import pathlib
import random
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
# A packed folder has the module beside this file.
sys.path[:0] = [str(HERE), str(HERE.parent / 'integration')]
import harness  # noqa: E402
from steps import SKIPPED  # noqa: E402

CORES = f'cpu:0-{len(os.sched_getaffinity(0)) - 1}'
ON_CORES = {'devices': f'[{CORES}]'}
ON_GPU = {'devices': '[cuda:0]'}
ON_BOTH = {'devices': f'[cuda:0, {CORES}]'}
MODELS = {
    'graphsage': {}, 'gcn': {'model.kind': 'gcn'},
    'gin': {'model.kind': 'gin'}, 'gat': {'model.kind': 'gat'},
    'pool': {'model.aggregator': 'pool'},
    'pinsage': {'model.kind': 'pinsage', 'sampling.kind': 'random_walk'}}
TIMED_EPOCHS = 4
# Seeds of a batch, for the model that is measured with two numbers of them.
SEEDS = {'graphsage': (8000, 1024)}
# What executors of one device do.
EXECUTORS = {'factored': 'take turns', 'together': 'share the GPU'}
# Models that PyTorch Geometric has, and how many times as fast ours are to be.
BESIDE_PYG = {
    'graphsage': ({}, 5),
    'gcn': ({'model.kind': 'gcn', 'model.degree_norm': 'right'}, 5),
    'gin': ({'model.kind': 'gin'}, 3), 'gat': ({'model.kind': 'gat'}, 3)}


class Report:
    """Lines as tests/gpu/report.h has them."""

    def __init__(self):
        self.passed = self.failed = 0

    def figure(self, name, value, beside):
        print(f'{name:<62} {value:<14} {beside}', flush=True)
        self.passed += 1

    def check(self, name, holds, beside=''):
        print(f'{name:<62} {"ok" if holds else "FAILED":<14} {beside}',
              flush=True)
        if holds:
            self.passed += 1
        else:
            self.failed += 1


def field_of(run_dir, name):
    """A field of the job that ran, as text."""
    spec = (run_dir / 'job.yaml').read_text(encoding='utf-8')
    return re.search(rf'^ *{name}: (.*)$', spec, re.MULTILINE)[1]


def what_ran(run_dir):
    """In words, by what the run left."""
    metadata = pathlib.Path(field_of(run_dir, 'dataset')) / 'metadata.yaml'
    nodes = int(re.search(r'^num_nodes: (\d+)', metadata.read_text(),
                          re.MULTILINE)[1])
    switches = json.loads((run_dir / 'summary.json').read_text())['switches']
    return (f'{field_of(run_dir, "devices")} {field_of(run_dir, "executors")}, '
            f'batches of {int(field_of(run_dir, "batch_size")):,}, '
            f'{nodes:,} vertices, {switches} changes of roles')


class Jobs:

    def __init__(self, options, folder):
        self.options = options
        self.report = Report()
        self.chance = random.Random(options.seed)
        self.environment = dict(os.environ)  # For programs of others.
        # Daemons of a packed folder find their libraries in lib/.
        os.environ['LD_LIBRARY_PATH'] = ':'.join(
            [f'{HERE}/lib', *filter(None, [os.getenv('LD_LIBRARY_PATH')])])
        self.service = harness.Service(folder)
        self.service.programs = options.bin
        self.service.dataset = options.dataset or self.service.dataset
        if self.service.dataset.exists():
            return
        self.service.fgnn(
            'dataset', 'generate', 'rmat', '--scale', str(options.scale),
            '--edge-factor', '16', '--features', '100', '--classes', '47',
            '--train-fraction', '0.1', '--seed', '7', '--out',
            self.service.dataset)

    def settings(self, *more):
        found = {'model.layers': 3, 'model.hidden': self.options.hidden,
                 'sampling.fanouts': '[15, 10, 5]',
                 'sampling.batch_size': self.options.batch_size,
                 'training.epochs': 2, 'training.batches_per_step': 2}
        for one in more:
            found.update(one)
        return found

    def run(self, *more):
        return self.service.run(self.settings(*more), '--digest')

    def is_same(self, name, run_dir, expected):
        digests = [(folder / 'batches.crc').read_bytes()
                   for folder in (run_dir, expected)]
        self.report.check(f'{name}: batches', digests[0] == digests[1])
        self.report.check(
            f'{name}: weights, bit by bit',
            harness.last_weights(run_dir) == harness.last_weights(expected))

    def batches(self):
        on_gpu = self.run(ON_GPU)
        self.is_same('GPU, and cores that sample', self.run(ON_BOTH), on_gpu)
        self.is_same('GPU, again', self.run(ON_GPU), on_gpu)
        on_cores = self.run(ON_CORES)
        self.report.check('cores: batches',
                          (on_cores / 'batches.crc').read_bytes() ==
                          (on_gpu / 'batches.crc').read_bytes())
        losses = [[line['loss'] for line in harness.lines_of(run_dir)]
                  for run_dir in (on_gpu, on_cores)]
        distance = max(abs(a - b) for a, b in zip(*losses, strict=True))
        self.report.check('losses of GPU and cores', distance < 1e-3,
                          f'{distance:.1e} apart, at most 1e-3')

    def kills(self):
        job = (ON_GPU, {'training.epochs': 10 + self.options.kills // 2,
                        'training.evaluate_every': 0,
                        'training.checkpoint_every': 0,
                        'limits.restarts': 10 * self.options.kills})
        expected = self.run(*job)
        whole = harness.committed_of(expected)
        self.service.fgnn('up')
        job_id, run_dir = self.submit(*job)
        done = 0
        while done < self.options.kills:
            gap = self.chance.randrange(1, max(2, whole // (
                2 * self.options.kills + 2)))
            goal = harness.committed_of(run_dir) + gap
            if goal >= whole:
                break
            self.service.wait_for_batches(run_dir, goal)
            daemons = [pid for pid, name in self.service.processes().items()
                       if name != 'fgnn-scheduler']
            with contextlib.suppress(ProcessLookupError, IndexError):
                os.kill(self.chance.choice(sorted(daemons)), signal.SIGKILL)
                done += 1
        self.service.fgnn('watch', job_id)
        self.service.fgnn('down')
        self.report.figure('daemons killed', f'{done} kills',
                           f'{self.options.kills} wanted')
        self.is_same('killed', run_dir, expected)

    def submit(self, *more):
        run_dir = self.service.folder / f'run-{self.chance.random()}'
        answer = self.service.json(
            'submit', *self.service.job_words(self.settings(*more)),
            '--run-dir', str(run_dir), '--digest')
        return answer['job_id'], run_dir

    def resume(self):
        job = (ON_GPU, {'training.epochs': 20, 'training.checkpoint_steps': 5,
                        'training.evaluate_every': 0})
        expected = self.run(*job)
        # The job must not end before it is cancelled.
        early = harness.committed_of(expected) // 8
        self.service.fgnn('up')
        job_id, run_dir = self.submit(*job)
        self.service.wait_for_batches(run_dir, early)
        self.service.fgnn('cancel', job_id)
        self.service.fgnn('resume', str(run_dir))
        self.service.fgnn('down')
        self.is_same('resumed', run_dir, expected)

    def timed(self, *more):
        """Runs epochs that are timed; the run's folder."""
        return self.run({'training.epochs': TIMED_EPOCHS,
                         'training.evaluate_every': 0}, *more)

    def median_of(self, run_dir):
        """The median of the epochs behind the first, and its line."""
        lines = harness.lines_of(run_dir)[1:]
        median = statistics.median_low(line['seconds'] for line in lines)
        return median, next(line for line in lines
                            if line['seconds'] == median)

    def turns(self):
        for executors in EXECUTORS:
            run_dir = self.timed(ON_GPU, {'executors': executors})
            seconds, _ = self.median_of(run_dir)
            name = EXECUTORS[field_of(run_dir, 'executors')]
            self.report.figure(f'an epoch, executors {name}',
                               f'{seconds:.3f} s', what_ran(run_dir))

    def epochs(self, kind, seeds):
        for precision in ('f32', 'tf32', 'bf16'):
            for devices in (ON_GPU, ON_BOTH):
                run_dir = self.timed(devices, MODELS[kind], seeds, {
                    'training.precision': precision})
                seconds, line = self.median_of(run_dir)
                stages = {name: value for name, value in line['stages'].items()
                          if value}
                work = sum(stages.values()) - stages.get('wait', 0)
                self.report.figure(
                    f'{kind} {precision}: an epoch', f'{seconds:.3f} s',
                    f'{what_ran(run_dir)}; '
                    f'stages that work take {work / seconds:.2f} of it, over 1 '
                    f'where they overlap; {line["batches"]} batches; ms a '
                    'batch: ' + ', '.join(
                        f'{name} {1e3 * value / line["batches"]:.2f}'
                        for name, value in stages.items()))

    def evaluations(self, kind):
        model = MODELS[kind]
        seconds = [
            min(line['evaluate_seconds']
                for line in harness.lines_of(self.run(devices, model)))
            for devices in (ON_GPU, ON_CORES)]
        plan = self.service.json(
            'plan', *self.service.job_words(self.settings(ON_GPU, model)))
        kept = 'the GPU\'s' if plan['hidden_on_gpu'] else 'the host\'s'
        self.report.figure(f'{kind}: an evaluation', f'{seconds[0]:.3f} s',
                           f'on cores {seconds[1]:.3f} s; hidden states in '
                           f'{kept} memory')

    def pyg(self, kind, seeds):
        model, limit = BESIDE_PYG[kind]
        batch_size = seeds.get('sampling.batch_size', self.options.batch_size)
        theirs = subprocess.run(
            ['python3', HERE / 'pyg_epochs.py', '--dataset',
             self.service.dataset, '--kind', kind, '--hidden',
             str(self.options.hidden), '--batch-size', str(batch_size),
             '--epochs', str(TIMED_EPOCHS)],
            capture_output=True, text=True, check=False,
            env=self.environment)
        if theirs.returncode != 0:
            raise AssertionError(f'pyg_epochs.py: {theirs.stderr}')
        theirs = json.loads(theirs.stdout.splitlines()[-1])
        beside = (f'PyTorch Geometric {theirs["seconds"]:.3f} s, '
                  f'{theirs["ran"]}, {batch_size:,} seeds')
        ours = []
        for devices in (ON_GPU, ON_BOTH):
            run_dir = self.run(devices, model, seeds, {
                'model.dropout': 0.5, 'training.learning_rate': 0.003,
                'training.batches_per_step': 1,
                'training.epochs': TIMED_EPOCHS,
                'training.evaluate_every': TIMED_EPOCHS})
            ours.append(self.median_of(run_dir)[0])
            self.report.figure(f'{kind}: an epoch', f'{ours[-1]:.3f} s',
                               f'{what_ran(run_dir)}; {beside}')
        ratio = theirs['seconds'] / min(ours)
        self.report.check(
            f'{kind}: an epoch beside PyTorch Geometric', ratio >= limit,
            f'{ratio:.1f} times as fast, at least {limit}')
        accuracy = harness.lines_of(run_dir)[-1]['valid_accuracy']
        self.report.figure(f'{kind}: accuracy, of all neighbours',
                           f'{accuracy:.4f}',
                           f'{theirs["accuracy"]:.4f}, of as many as in '
                           'training')


def steps_of(step, kinds):
    """{name: step} for each model, and for each number of seeds of a model that
    has some."""
    found = {}
    for kind in kinds:
        name = f'{step.__name__}.{kind}'
        for seeds in SEEDS.get(kind, ()):
            found[f'{name}.{seeds}'] = functools.partial(
                step, kind=kind, seeds={'sampling.batch_size': seeds})
        if kind not in SEEDS:
            found[name] = functools.partial(step, kind=kind, seeds={})
    return found


STEPS = {
    'batches': Jobs.batches, 'kills': Jobs.kills, 'resume': Jobs.resume,
    'turns': Jobs.turns, **steps_of(Jobs.epochs, MODELS),
    **steps_of(Jobs.pyg, BESIDE_PYG),
    **{f'evaluations.{kind}': functools.partial(Jobs.evaluations, kind=kind)
       for kind in MODELS}}


def parse():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument('--bin', type=pathlib.Path, required=True)
    parser.add_argument('--only', action='append', metavar='NAME',
                        choices=STEPS)
    parser.add_argument('--dataset', type=pathlib.Path, metavar='DIR',
                        help='the graph; it is made where there is none yet')
    parser.add_argument('--scale', type=int, default=20)
    parser.add_argument('--hidden', type=int, default=256)
    parser.add_argument('--batch-size', type=int, default=1024)
    parser.add_argument('--kills', type=int, default=50)
    parser.add_argument('--seed', type=int, default=1)
    return parser.parse_args()


def main():
    options = parse()
    # Daemons are ended first.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    folder = tempfile.mkdtemp(prefix='fgnn-gpu-')
    harness.COMMAND_SECONDS = 500
    jobs = None
    try:
        jobs = Jobs(options, folder)
        if 'cuda:0' not in jobs.service.fgnn('doctor', check=False).stdout:
            print("skipped: 'fgnn doctor' finds no GPU")
            return SKIPPED
        for name in options.only or STEPS:
            print(f'-- {name}', flush=True)
            STEPS[name](jobs)
    except AssertionError as error:
        print(f'FAILED: {error}')
        if jobs:
            jobs.report.failed += 1
    finally:
        if jobs:
            jobs.service.kill_all()
        shutil.rmtree(folder, ignore_errors=True)
    if jobs is None:
        return 1
    print(f'{jobs.report.passed} passed, {jobs.report.failed} failed')
    if not jobs.report.passed + jobs.report.failed:
        return SKIPPED
    return 1 if jobs.report.failed else 0


if __name__ == '__main__':
    sys.exit(main())
