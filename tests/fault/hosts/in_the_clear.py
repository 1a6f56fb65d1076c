"""A row of secrets: a capture of a job over hosts shows no gradient."""

import contextlib
import json
import os
import pathlib
import struct
import subprocess
import sys

from apart import devices_of, hosts_in
from network import Network
from row import check, goes_on, submit

HERE = pathlib.Path(__file__).resolve().parent
# The head trains all batches, so each gradient on the member's board came from
# it. At this rate weights stay as they began, which the member got too.
_JOB = {'training.batches_per_step': 2, 'hosts.shares': '[2, 0]',
        'training.optimizer': 'sgd', 'training.learning_rate': 1e-12,
        'training.epochs': 100_000, 'training.evaluate_every': 0,
        'training.checkpoint_every': 0, 'model.hidden': 256}
_RATE = '100mbit'  # So that the capture keeps up.
_PIECE = 32  # Bytes that are looked for at once: eight numbers.
_MOST_PIECES = 200
_SNAPSHOTS = 3
_PORT = 9000  # For what is sent in the clear.


def in_the_clear(options, chance):
    """no gradient and no weight of a job passes in the clear"""
    with Network('head', 'host1') as network, \
            hosts_in(options, network, ['host1'], options.large) as hosts:
        network.limit(_RATE)
        folder = hosts.folder
        with captured(network, folder / 'job.packets') as seen:
            pieces = pieces_that_crossed(hosts, chance)
        shown = found_in(folder / 'job.packets', pieces)
        # The same bytes, the same link, the same search, and no TLS.
        (folder / 'secrets').write_bytes(
            b''.join(piece + b'-' * 7 for piece in pieces))
        with captured(network, folder / 'clear.packets') as seen_clear:
            send_clear(network, folder / 'secrets')
        control = found_in(folder / 'clear.packets', pieces)
    check(seen['dropped'] == 0, f'{seen["dropped"]} packets were not captured')
    check(seen['bytes'] > 4 * len(pieces) * _PIECE, f'captured {seen}')
    check(control > 0.9 * len(pieces),
          f'the search finds {control} of {len(pieces)} in the clear')
    check(shown == 0, f'{shown} of {len(pieces)} pieces passed in the clear')
    return (f'{seen["packets"]} packets, {seen["bytes"] / 1e6:.1f} MB: none '
            f'of {len(pieces)} pieces of gradients and weights that crossed; '
            f'sent in the clear, the search finds {control} of them in '
            f'{seen_clear["bytes"] / 1e6:.1f} MB')


@contextlib.contextmanager
def captured(network, path):
    """Captures at the head's cable; the counts are in what this yields, in the
    end."""
    counts = {}
    process = subprocess.Popen(
        [*network.command('bridge'), sys.executable, HERE / 'capture.py',
         network.port('head'), path],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        check(process.stdout.readline() == b'up\n', 'nothing is captured')
        yield counts
        counts.update(json.loads(process.communicate()[0]))
    finally:
        process.kill()
        process.communicate()


def pieces_that_crossed(hosts, chance):
    """Pieces of numbers that the boards of both hosts had while a job ran."""
    head = hosts.services['head']
    run_dir = head.folder / 'watched'
    job = submit(head, {**_JOB, 'devices': devices_of('head', 'host1')},
                 run_dir, '--digest')
    found = set()
    for _ in range(_SNAPSHOTS):
        check(goes_on(run_dir, 6), 'the job ended')
        found |= (numbers_of(segment_of(head)) &
                  numbers_of(segment_of(hosts.services['host1'])))
    head.fgnn('cancel', job)
    check(len(found) > 1000, f'the boards share {len(found)} pieces')
    found = sorted(found)
    return chance.sample(found, min(len(found), _MOST_PIECES))


def segment_of(service):
    """The bytes of the segment of the host's job."""
    for pid in service.processes():
        for link in pathlib.Path(f'/proc/{pid}/fd').iterdir():
            with contextlib.suppress(OSError):
                if 'memfd:fgnn-segment' in os.readlink(link):
                    return link.read_bytes()
    raise LookupError('no process has a segment')


def numbers_of(content):
    """Its pieces that look like gradients or weights: no two numbers alike,
    all small, none 0."""
    found = set()
    for at in range(0, len(content) - _PIECE, _PIECE):
        piece = content[at:at + _PIECE]
        if piece.count(0) > 2:
            continue
        numbers = struct.unpack('<8f', piece)
        if (len(set(numbers)) == len(numbers) and
                all(1e-20 < abs(number) < 100 for number in numbers)):
            found.add(piece)
    return found


def found_in(path, pieces):
    """How many of the pieces a capture has, wherever they begin."""
    content = path.read_bytes()
    return sum(content.find(piece) >= 0 for piece in pieces)


def send_clear(network, path):
    words = [sys.executable, HERE / 'raw_tls.py']
    place = [network.address('host1'), str(_PORT)]
    taker = subprocess.Popen([*network.command('host1'), *words, 'get-clear',
                              *place], stdout=subprocess.PIPE)
    try:
        check(taker.stdout.readline() == b'up\n', 'nobody listens')
        subprocess.run([*network.command('head'), *words, 'send-clear', *place,
                        path], check=True, capture_output=True, timeout=60)
        taker.communicate(timeout=60)
    finally:
        taker.kill()
        taker.communicate()
