"""Rows of jobs whose batches share draws, come in matched order, and copy rows
of the batch before."""

import harness
from deaths import kill_some
from row import (JOB, check, end_service, in_any_order, same_run, service_in,
                 submit)

KILLS_PER_JOB = 3
# 20 batches an epoch: a window of 7 ends with it, and checkpoints fall within
# windows.
_BASE = {**JOB, 'sampling.batch_size': 30, 'training.epochs': 150,
         'training.checkpoint_steps': 333}
_ORDER = {'sampling.order': 'matched', 'sampling.window': 7}
_MATCH = {'features.store': 'disk', 'features.match': 'on',
          'cache.policy': 'degree', 'cache.capacity': 0.2}
_SHARED = {'sampling.batch_dependency': 8}
KINDS = {'all three': {**_ORDER, **_MATCH, **_SHARED}, 'order': _ORDER,
         'match': _MATCH, 'shared draws': _SHARED}


def overlap_kills(options, chance):
    """digest and weights of a run without faults, copied rows or not"""
    victims = in_any_order(('fgnn-sampler', 'fgnn-trainer', 'fgnn-scheduler'),
                           options.overlap_kills, chance)
    names = list(KINDS)
    expected, jobs, restarts = {}, 0, 0
    with service_in(options) as service:
        service.fgnn('up')
        while victims:
            check(jobs <= options.overlap_kills,
                  f'{len(victims)} kills came too late')
            name = names[jobs % len(names)]
            settings = {**_BASE, **KINDS[name]}
            if name not in expected:
                # No weight may depend on which rows are copied.
                plain = {**settings, 'features.match': 'off'}
                expected[name] = service.run(plain, '--digest')
            run_dir = service.folder / f'killed-{jobs}'
            job = submit(service, settings, run_dir, '--digest')
            jobs += 1
            _, back = kill_some(service, job, run_dir, victims, KILLS_PER_JOB,
                                chance)
            restarts += len(back)
            service.fgnn('watch', job)
            same_run(run_dir, expected[name])
            matched = any(epoch['match_rate'] > 0
                          for epoch in harness.lines_of(run_dir))
            check(matched == ('features.match' in settings),
                  f'{name}: rows copied: {matched}')
        end_service(service)
    return (f'{options.overlap_kills} kills, {restarts} of them of the '
            f'scheduler: same digests and weights in {jobs} of {jobs} jobs '
            f'({", ".join(names[:jobs])})')
