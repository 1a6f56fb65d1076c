"""A row of bytes: what hosts send is what the formula says."""

import math
import time

from apart import MEMBERS, devices_of, hosts_in
from harness import last_weights, summary_of
from network import Network
from row import check

_JOB = {'training.batches_per_step': 4, 'training.epochs': 1,
        'training.evaluate_every': 0, 'training.checkpoint_every': 1,
        'model.hidden': 256, 'sampling.fanouts': '[2, 2]',
        'sampling.batch_size': 64}
_SHARES = ([2, 2], [3, 1], [2, 1, 1, 0])
_TOLERANCE = 0.01
_QUIET_SECONDS = 5
# Of the messages in proto/fgnn/v1/exchange.proto; README.md has the sum.
_FLOAT, _RECORD, _PART_FLOATS = 4, 112, 1 << 17
_FIELDS = 12  # Of each part: tags and lengths, the task, gRPC's prefix.
_LAST_FIELDS = 12  # Of an entry's last part: the record's tag, both CRCs.
_FRAME, _FRAME_HEAD = 16384, 9  # Of HTTP/2.
_PROBE = 8 * (512 << 10)  # Before the first step, to each other host.
_TLS_RECORD, _TLS_HEAD = 16384, 22  # Header, kind and tag.
_PACKET_HEAD = 66  # Ethernet, IP, TCP with timestamps.


def framed(message):
    """Bytes on the link for a message of so many bytes, but for packets."""
    frames = message + _FRAME_HEAD * math.ceil(message / _FRAME)
    return frames + _TLS_HEAD * math.ceil(frames / _TLS_RECORD)


def entry_bytes(parameters):
    parts = math.ceil(parameters / _PART_FLOATS)
    return framed(_FLOAT * parameters + _RECORD + parts * _FIELDS +
                  _LAST_FIELDS)


def parameters_of(run_dir):
    return sum(math.prod(shape)
               for name, (_, shape, _) in last_weights(run_dir).items()
               if not name.startswith('optimizer.'))


def sent_by(host, shares, batches, parameters):
    """Bytes that a host sends in a job, but for its packets' heads."""
    before = sum(shares[:host])
    own = sum(before <= batch % sum(shares) < before + shares[host]
              for batch in range(batches))
    return (len(shares) - 1) * (own * entry_bytes(parameters) +
                                framed(_PROBE))


def traffic(options, _):
    """each host sends the bytes of the formula within 1 %"""
    lines = []
    with Network('head', *MEMBERS) as network, \
            hosts_in(options, network, MEMBERS, options.large) as hosts:
        head = hosts.services['head']
        for shares in _SHARES:
            names = ('head', *MEMBERS)[:len(shares)]
            lines.append(measured_of(network, head, names, shares))
    return '; '.join(lines)


def measured_of(network, head, names, shares):
    """A job's bytes beside the formula's."""
    idle = {name: network.counters(name) for name in names}
    time.sleep(_QUIET_SECONDS)
    before = {name: network.counters(name) for name in names}
    begun = time.monotonic()
    run_dir = head.run({**_JOB, 'devices': devices_of(*names),
                        'hosts.shares': str(shares)}, '--digest')
    seconds = time.monotonic() - begun
    after = {name: network.counters(name) for name in names}
    parameters = parameters_of(run_dir)
    check(parameters * _FLOAT >= 500_000, f'{parameters} parameters')
    batches = summary_of(run_dir)['batches_committed']
    errors, wrong = [], []
    for host, name in enumerate(names):
        quiet = (before[name][0][0] - idle[name][0][0]) / _QUIET_SECONDS
        sent, packets = (new - old for new, old in
                         zip(after[name][0], before[name][0]))
        sent -= quiet * seconds
        said = (sent_by(host, shares, batches, parameters) +
                packets * _PACKET_HEAD)
        if shares[host] == 0:
            # It asks, acknowledges and is probed: no gradient.
            sent -= (len(shares) - 1) * framed(_PROBE)
            check(sent < 0.01 * batches * _FLOAT * parameters,
                  f'{name} has no share and sent {sent:.0f} bytes')
            continue
        errors.append(sent / said - 1)
        if abs(errors[-1]) > _TOLERANCE:
            wrong.append(f'{name} of {shares} sent {sent:.0f} bytes, by the '
                         f'formula {said:.0f}')
    check(not wrong, '; '.join(wrong))
    steps = math.ceil(batches / sum(shares))
    return (f'{shares}: {steps} steps of {parameters} parameters, '
            f'{", ".join(f"{100 * error:+.2f} %" for error in errors)}')
