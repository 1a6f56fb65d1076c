"""Milliseconds a trained batch, or seconds until an accuracy, of a peer and of us
through the whole service, in turns: what graphbolt_train and pyg_train share. A
peer is a function that trains in the environment of environment.py. Of each
batch `compute_ms` is the part of its training: forward and backward pass and
optimizer. A peer does nothing else meanwhile; our sampler may."""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

from environment import ROOT, measure

WARM_BATCHES = 5
TUNABLES = ('glibc.malloc.mmap_threshold=4294967296:'
            'glibc.malloc.trim_threshold=8589934592')
DROPOUT = 0.5
LEARNING_RATE = 0.003
HEADS = 8  # Ours, where a job does not say.


def time_theirs(options, batches, train_batch, valid_accuracy):
    """Trains and prints what was measured. `batches()` are those of an epoch;
    `valid_accuracy()` is seen with full neighbourhoods and not counted."""
    if options.until_accuracy:
        seconds = 0
        for epoch in range(1, options.most_epochs + 1):
            started = time.perf_counter()
            for batch in batches():
                train_batch(batch)
            seconds += time.perf_counter() - started
            accuracy = valid_accuracy()
            if accuracy >= options.until_accuracy:
                break
        print(json.dumps({'seconds': seconds, 'epochs': epoch,
                          'accuracy': accuracy}))
        return
    done = 0
    started = None
    computing = 0
    while done < options.batches + WARM_BATCHES:
        for batch in batches():
            if done == WARM_BATCHES:
                started = time.perf_counter()
            begun = time.perf_counter()
            train_batch(batch)
            if done >= WARM_BATCHES:
                computing += time.perf_counter() - begun
            done += 1
            if done == options.batches + WARM_BATCHES:
                break
    seconds = time.perf_counter() - started
    print(json.dumps({'ms': 1e3 * seconds / options.batches,
                      'compute_ms': 1e3 * computing / options.batches}))


def train_ours(options, folder):
    job = folder / 'job.yaml'
    fanouts = options.fanouts.split(',')
    epochs = options.most_epochs if options.until_accuracy else 2
    norm = ', degree_norm: right' if options.kind == 'gcn' else ''
    job.write_text(
        f'dataset: {pathlib.Path(options.dataset).resolve()}\n'
        f'model: {{kind: {options.kind}, layers: {len(fanouts)}, '
        f'hidden: {options.hidden}, dropout: {DROPOUT}{norm}}}\n'
        f'sampling: {{fanouts: [{options.fanouts}], '
        f'batch_size: {options.batch_size}}}\n'
        f'training: {{epochs: {epochs}, learning_rate: {LEARNING_RATE}, '
        f'evaluate_every: {int(options.until_accuracy > 0)}, '
        f'precision: {options.precision}, seed: {options.seed}}}\n'
        f'devices: ["cpu:0-{options.threads - 1}"]\n', encoding='utf-8')
    run = folder / f'run-{len(list(folder.glob("run-*")))}'
    subprocess.run([options.bin / 'fgnn', '--state-dir', folder / 'state',
                    'run', job, '--run-dir', run], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    lines = (run / 'metrics.jsonl').read_text().splitlines()
    if not options.until_accuracy:
        epoch = json.loads(lines[1])
        # Steps are made in `sync`.
        compute = epoch['stages']['train'] + epoch['stages']['sync']
        return {'ms': 1e3 * epoch['seconds'] / epoch['batches'],
                'compute_ms': 1e3 * compute / epoch['batches']}
    seconds = 0
    for epoch in map(json.loads, lines):
        seconds += epoch['seconds']
        if epoch['valid_accuracy'] >= options.until_accuracy:
            break
    return {'seconds': seconds, 'epochs': epoch['epoch'],
            'accuracy': epoch['valid_accuracy']}


def parse(description, kinds):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument('--dataset', required=True)
    parser.add_argument('--kind', default='graphsage', choices=kinds)
    parser.add_argument('--fanouts', default='15,10,5')
    parser.add_argument('--hidden', type=int, default=256)
    parser.add_argument('--batch-size', type=int, default=1024)
    parser.add_argument('--batches', type=int, default=30)
    parser.add_argument('--threads', type=int, default=2)
    parser.add_argument('--precision', default='f32')
    parser.add_argument('--pairs', type=int, default=3)
    parser.add_argument('--bin', type=pathlib.Path,
                        default=ROOT / '.build/release/bin')
    parser.add_argument('--until-accuracy', type=float, default=0)
    parser.add_argument('--most-epochs', type=int, default=30)
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--theirs', action='store_true',
                        help=argparse.SUPPRESS)
    return parser.parse_args()


def run_pairs(program, description, kinds, train_theirs, install):
    """The program's main(). `install` returns the peer's interpreter, which runs
    `train_theirs`."""
    options = parse(description.split('\n')[0], kinds)
    if options.theirs:
        train_theirs(options)
        return 0
    words = ['--dataset', options.dataset, '--kind', options.kind,
             '--fanouts', options.fanouts, '--hidden', str(options.hidden),
             '--batch-size', str(options.batch_size),
             '--batches', str(options.batches),
             '--threads', str(options.threads), '--until-accuracy',
             str(options.until_accuracy), '--most-epochs',
             str(options.most_epochs)]
    theirs = [install(), program, '--theirs', *words]
    tuned = {**os.environ, 'GLIBC_TUNABLES': TUNABLES}
    ratios = {'stock': [], 'tuned': []}
    with tempfile.TemporaryDirectory(prefix='fgnn-peers-') as temporary:
        for _ in range(options.pairs):
            found = {'stock': measure(theirs),
                     'fgnn': train_ours(options, pathlib.Path(temporary)),
                     'tuned': measure(theirs, env=tuned)}
            times = {name: next(iter(one.values()))
                     for name, one in found.items()}
            for name, values in ratios.items():
                values.append(times[name] / times['fgnn'])
            print(json.dumps({name: {key: round(value, 4)
                                     for key, value in one.items()}
                              for name, one in found.items()}), flush=True)
            options.seed += 1
    for name, values in ratios.items():
        print(f'{options.kind}, {options.precision}, {name}: median '
              f'{statistics.median(values):.2f} times, {min(values):.2f} to '
              f'{max(values):.2f}')
    return 0

