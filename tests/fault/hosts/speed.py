"""A row of times: a step beside its training alone and its exchange alone."""

import json
import os
import pathlib
import subprocess
import sys
import time

import traffic
from apart import hosts_in
from harness import COMMAND_SECONDS, committed_of
from network import DelayedNetwork, Network
from row import Skipped, check, has_ended, same_run, submit

HERE = pathlib.Path(__file__).resolve().parent
_PAIR = ('head', 'host1')
_PLACES = 16  # Of a step; half of them on each host.
_JOB = {'training.batches_per_step': _PLACES, 'training.evaluate_every': 0,
        'training.checkpoint_every': 0, 'training.checkpoint_steps': 0,
        'model.hidden': 256, 'executors': 'together'}
# Which is longer in them: training, or the exchange at 1 Gbit/s. Both hosts
# share the machine's cores. So training is much longer: what the exchange and
# the network take of the cores would else count as waiting.
_JOBS = {'training': {**_JOB, 'sampling.fanouts': '[10, 10]',
                      'sampling.batch_size': 256},
         'exchange': {**_JOB, 'sampling.fanouts': '[1, 1]',
                      'sampling.batch_size': 8}}
_ONE_HOST = '[cpu:0, cpu:1]'
_TWO_HOSTS = '[cpu:0, host1/cpu:1]'
_LENT = {'head': 'cpu:0-1', 'host1': 'cpu:1'}
_MOST = 1.15  # Of the longer of both.
_MOST_CPU = 2  # Times OpenSSL's.
_RAW_BYTES = 64 << 20
_RATE, _FAST = '1gbit', '10gbit'
_LEAST_BARE = 1.1e9 / 8  # Bytes a second without a limit.
_FAST_ENOUGH = 9.3e9 / 8  # Bytes a second of payload at 10 Gbit/s.
_LEAST_LIMITED = 0.9e9 / 8  # Bytes a second at _RATE.
_MOST_RUNS = 12
_RUNS = 3  # Of each job in each place, and of OpenSSL; the quickest counts.
_PORT = 9000


def network_of(delay):
    return DelayedNetwork(delay, *_PAIR) if delay else Network(*_PAIR)


def step_times(options, _):
    """a step takes 1.15 of training or exchange; twice OpenSSL's processor"""
    lines, broken = [f'load {os.getloadavg()[0]:.1f}'], []
    for delay in options.delays:
        with network_of(delay) as network, \
                hosts_in(options, network, ['host1'], options.large,
                         _LENT) as hosts:
            bare = best_raw(network, hosts)['rate']
            if bare < _LEAST_BARE:
                # The limit would not be what limits.
                raise Skipped(f'without a limit OpenSSL alone passes '
                              f'{in_gbit(bare)} at {delay:g} ms: too busy a '
                              f'machine, load {os.getloadavg()[0]:.1f}')
            network.limit(_RATE)
            alone = best_raw(network, hosts, _LEAST_LIMITED)
            lines.append(
                f'\n    {delay:g} ms: OpenSSL {in_gbit(bare)} bare, '
                f'{in_gbit(alone["rate"])} limited, '
                f'{1e9 * alone["cpu"]:.2f} s a GB')
            for longer in _JOBS:
                said, faults = compare(options, hosts, alone, delay, longer)
                lines.append(said)
                broken += faults
    with Network(*_PAIR) as network, \
            hosts_in(options, network, ['host1'], options.large,
                     _LENT) as hosts:
        network.limit(_FAST)
        alone = best_raw(network, hosts)
        said = f'\n    10 Gbit/s: OpenSSL {in_gbit(alone["rate"])}'
        if alone['rate'] < _FAST_ENOUGH:
            lines.append(f'{said}, so no job is measured')
        else:
            lines.append(said)
            for longer in _JOBS:
                said, faults = compare(options, hosts, alone, 0, longer)
                lines.append(said)
                broken += faults
    lines.append(f'\n    load {os.getloadavg()[0]:.1f}')
    measured = '; '.join(lines).replace('; \n', '\n')
    check(not broken, f'{"; ".join(broken)}:\n    {measured}')
    return measured


def in_gbit(rate):
    return f'{rate * 8e-9:.2f} Gbit/s'


def best_raw(network, hosts, least=0):
    """The best of several raw(). More are made while none reaches `least`: the
    limit drops packets at the begin, and TCP may then stand for long."""
    tries = []
    while len(tries) < _RUNS or (len(tries) < _MOST_RUNS and
                                 max(one['rate'] for one in tries) < least):
        tries.append(raw(network, hosts))
    return {'rate': max(one['rate'] for one in tries),
            'cpu': min(one['cpu'] for one in tries)}


def raw(network, hosts):
    """What OpenSSL alone does in this network, both ways at once: bytes a
    second of the slower way, and processor's seconds a byte sent and got."""
    tls = hosts.tls / 'hosts/all'
    takers, senders = [], []
    words = [sys.executable, HERE / 'raw_tls.py']
    try:
        for host in _PAIR:
            taker = subprocess.Popen(
                [*network.command(host), *words, 'get', tls,
                 network.address(host), str(_PORT), str(_RAW_BYTES // 2)],
                stdout=subprocess.PIPE)
            takers.append(taker)
            check(taker.stdout.readline() == b'up\n', 'nobody listens')
        for host, other in zip(_PAIR, reversed(_PAIR)):
            senders.append(subprocess.Popen(
                [*network.command(host), *words, 'send', tls,
                 network.address(other), str(_PORT), str(_RAW_BYTES)],
                stdout=subprocess.PIPE))
        said = [json.loads(process.communicate(timeout=COMMAND_SECONDS)[0])
                for process in (*takers, *senders)]
    finally:
        for process in (*takers, *senders):
            process.kill()
            process.communicate()
    check(all(one['bytes'] == _RAW_BYTES for one in said), f'{said}')
    return {'rate': min(one['rate'] for one in said[:2]),
            'cpu': sum(one['cpu'] for one in said) / (2 * _RAW_BYTES)}


def compare(options, hosts, alone, delay, longer):
    """What was measured of a job, and which limits it breaks."""
    settings = {**_JOBS[longer], 'training.epochs': epochs_of(
        options, _JOBS[longer])}
    one, two = [], []
    for _ in range(_RUNS):
        one.append(timed(hosts, {**settings, 'devices': _ONE_HOST}))
        two.append(timed(hosts, {**settings, 'devices': _TWO_HOSTS}))
        same_run(two[-1]['run_dir'], one[-1]['run_dir'])
    parameters = traffic.parameters_of(two[0]['run_dir'])
    # Each way.
    step_bytes = _PLACES // 2 * traffic.entry_bytes(parameters)
    training = min(run['step'] for run in one)
    exchange = step_bytes / alone['rate'] + delay / 1000
    step = min(run['step'] for run in two)
    cpu = min(run['cpu'] for run in two) / (
        two[0]['batches'] * traffic.entry_bytes(parameters))
    ratio, cpu_ratio = step / max(training, exchange), cpu / alone['cpu']
    said = (f'\n      {longer} longer: {1e3 * step:.1f} ms a step, training '
            f'{1e3 * training:.1f}, exchange {1e3 * exchange:.1f} '
            f'({step_bytes / 1e6:.2f} MB): {ratio:.2f}; exchange processes '
            f'{1e9 * cpu:.2f} s a GB: {cpu_ratio:.2f} of OpenSSL')
    name = f'{longer} longer, {delay:g} ms'
    faults = []
    if (training > exchange) != (longer == 'training'):
        faults.append(f'{name}: it is not longer')
    if step < 0.8 * exchange:
        faults.append(f'{name}: quicker than its bytes can pass')
    if ratio > _MOST:
        faults.append(f'{name}: {ratio:.2f} of the longer one')
    if cpu_ratio > _MOST_CPU:
        faults.append(f'{name}: {cpu_ratio:.2f} times OpenSSL\'s processor')
    return said, faults


def epochs_of(options, settings):
    """Epochs for so many steps: an epoch has 16384 train vertices."""
    steps = 16384 // (_PLACES * settings['sampling.batch_size'])
    return max(1, -(-options.steps // steps))


def timed(hosts, settings):
    """A run: its seconds a step without its first fifth, and the seconds of
    the exchanges' processors."""
    head = hosts.services['head']
    run_dir = head.folder / f'timed-{time.monotonic_ns()}'
    before = processor_seconds(hosts)
    submit(head, settings, run_dir, '--digest')
    seen = []
    while not has_ended(run_dir):
        count = committed_of(run_dir)
        if not seen or count != seen[-1][1]:
            seen.append((time.monotonic(), count))
        time.sleep(0.005)
    last = committed_of(run_dir)
    seen = [one for one in seen if one[1] >= last / 5]
    check(len(seen) > 4, f'{len(seen)} looks at {last} batches')
    (begun, first), (ended, most) = seen[0], seen[-1]
    return {'run_dir': run_dir, 'batches': last,
            'cpu': processor_seconds(hosts) - before,
            'step': (ended - begun) / (most - first) * _PLACES}


def processor_seconds(hosts):
    """Of all exchanges, with what other jobs took before."""
    ticks = 0
    for host in _PAIR:
        for pid in hosts.pids_of(host, 'exchange'):
            stat = pathlib.Path(f'/proc/{pid}/stat').read_text()
            ticks += sum(map(int, stat.rpartition(')')[2].split()[11:13]))
    return ticks / os.sysconf('SC_CLK_TCK')
