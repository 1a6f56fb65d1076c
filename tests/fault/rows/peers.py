"""Rows of strange clients and strange daemons."""

import array
import collections
import contextlib
import json
import os
import shutil
import socket
import struct
import subprocess

import harness
import rpc
from row import (JOB, TINY, check, committed_of, has_ended, open_files,
                 replace_soon, same_run, service_in, submit, summary_of,
                 wait_for)

ALREADY_EXISTS = 6
KEYS = 3
PREFACE = b'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'
SEND_SECONDS = 1
ROUNDS = 3


def duplicates(options, chance):
    """one key, one job, run once, across kills; another spec is refused"""
    rpc.needs_tools()
    kills = lost = 0
    with service_in(options) as service:
        pid = service.json('up')['pid']
        door = service.state_dir / 'scheduler.sock'
        jobs = []
        for number in range(KEYS):
            run_dir = service.folder / f'run-{number}'
            request = request_of(service, run_dir, number, epochs=3)
            ids = set()
            for _ in range(3):
                calls = [rpc.start_submit(door, request)
                         for _ in range(chance.randint(1, 3))]
                if chance.random() < 0.5:
                    pid = replace_soon(service, pid, chance)
                    kills += 1
                for call in calls:
                    try:
                        ids.add(rpc.finish_submit(call))
                    except rpc.Lost:
                        lost += 1
            ids.add(rpc.finish_submit(rpc.start_submit(door, request)))
            check(len(ids) == 1, f'one key was answered with {ids}')
            (status, job), = ids
            check(status == 0, f'{status}: {job}')
            other = request_of(service, run_dir, number, epochs=4)
            status, message = rpc.finish_submit(rpc.start_submit(door, other))
            check(status == ALREADY_EXISTS and job in message,
                  f'another spec: {status}, {message}')
            jobs.append(job)
            service.fgnn('watch', job)
            ran_once(run_dir)
        known = [job['job_id'] for job in service.json('jobs')['jobs']]
        check(sorted(known) == sorted(jobs), f'{known}, not {jobs}')
        service.fgnn('down')
    return (f'{KEYS} keys, {kills} kills, {lost} answers lost: {len(jobs)} '
            f'jobs, each ran once; {KEYS} other specs refused')


def request_of(service, run_dir, number, epochs):
    """A SubmitJobRequest as text."""
    return (f'spec {{ dataset: "{service.dataset}" devices: "cpu:0" '
            f'sampling {{ batch_size: 64 fanouts: [5, 5] }} '
            f'model {{ hidden: 16 }} training {{ epochs: {epochs} }} }} '
            f'run_dir: "{run_dir}" client_key: "key {number}" digest: true')


def ran_once(run_dir):
    summary = summary_of(run_dir)
    check(summary['state'] == 'completed', f'{run_dir} did not complete')
    lines = (run_dir / 'batches.crc').read_text().splitlines()
    seqs = [int(line.split()[0]) for line in lines]
    check(seqs == list(range(summary['batches_expected'])),
          f'{run_dir} has batches twice or not at all')
    epochs = [json.loads(line)['epoch'] for line in
              (run_dir / 'metrics.jsonl').read_text().splitlines()]
    check(epochs == [1, 2, 3], f'{run_dir} has epochs {epochs}')


def junk(options, chance):
    """every server lives, the job ends right, no descriptor stays open"""
    settings = {**JOB, 'training.epochs': 1500, 'samplers': 1, 'trainers': 1}
    sent = 0
    with service_in(options) as service:
        service.fgnn('up', '--devices', 'cpu:0')
        expected = service.run(settings, '--digest')
        before = descriptors_of(service)
        run_dir = service.folder / 'pestered'
        job = submit(service, settings, run_dir, '--digest')
        with contextlib.ExitStack() as held:
            wait_for(lambda: committed_of(run_dir) > 0, 30, 'the first batch')
            for _ in range(ROUNDS):
                sent += pester(service.state_dir, chance, held)
            check(not has_ended(run_dir), 'it came too late')
            service.fgnn('watch', job)
            # While the halves of requests are still there.
            service.run(TINY)
        check(summary_of(run_dir)['restarts'] == 0, 'a daemon was restarted')
        same_run(run_dir, expected)
        wait_for(lambda: not further_descriptors(service, before), 5,
                 lambda: f'closing {further_descriptors(service, before)}')
        service.fgnn('down')
        check(not service.leftovers(), f'left: {service.leftovers()}')
    return f'{sent} strange connections: same processes, descriptors, result'


def descriptors_of(service):
    """{pid: what its descriptors are, sorted} of the daemons."""
    # Sockets have numbers of their own.
    return {pid: sorted(target.split(':[')[0]
                        for target in open_files(pid).values())
            for pid in service.processes()}


def further_descriptors(service, before):
    """What daemons have open that they had not `before`."""
    now = descriptors_of(service)
    check(now.keys() == before.keys(), f'{list(now)} are not {list(before)}')
    return [link for pid, links in now.items() for link in
            (collections.Counter(links) -
             collections.Counter(before[pid])).elements()]


def pester(state_dir, chance, held):
    """One strange connection of each kind to each socket; their number."""
    doors = [state_dir / 'scheduler.sock', *state_dir.glob('executors/*.sock')]
    visits = [(door, kind) for door in doors for kind in
              (random_bytes, broken_frames, huge_message, half_open, gone)]
    visits += [(state_dir / 'host.sock', kind) for kind in
               (random_packet, strange_descriptors, half_open, gone)]
    chance.shuffle(visits)
    for door, kind in visits:
        is_host = door.name == 'host.sock'
        peer = socket.socket(
            socket.AF_UNIX,
            socket.SOCK_SEQPACKET if is_host else socket.SOCK_STREAM)
        peer.settimeout(SEND_SECONDS)
        # That a server hangs up is its right.
        with contextlib.suppress(OSError):
            peer.connect(str(door))
            kind(peer, chance)
        if kind is half_open:
            held.enter_context(peer)
        else:
            peer.close()
    return len(visits)


def random_bytes(peer, chance):
    peer.sendall(chance.randbytes(chance.randrange(1, 100_000)))


def frame(kind, flags, stream, content):
    return struct.pack('>I', len(content))[1:] + struct.pack(
        '>BBI', kind, flags, stream) + content


def broken_frames(peer, chance):
    """What begins as HTTP/2 does."""
    peer.sendall(PREFACE + frame(4, 0, 0, b'') + b''.join(
        frame(chance.randrange(12), chance.randrange(256), chance.randrange(4),
              chance.randbytes(chance.randrange(64))) for _ in range(20)))
    peer.sendall(chance.randbytes(1000))


def header_block(headers):
    """Headers as HTTP/2 has them, none of them compressed."""
    return b''.join(
        b'\0' + bytes([len(name)]) + name.encode() + bytes([len(value)]) +
        value.encode() for name, value in headers.items())


def huge_message(peer, chance):
    """A call whose message says that it is too large, and is."""
    service = chance.choice(('JobService/SubmitJob', 'HostService/Register',
                             'ExecutorService/AttachJob'))
    headers = {':method': 'POST', ':scheme': 'http', ':authority': 'localhost',
               ':path': f'/fgnn.v1.{service}', 'te': 'trailers',
               'content-type': 'application/grpc', 'grpc-timeout': '5S'}
    block = header_block(headers)
    claimed = chance.choice((2 << 20, 0xffffffff))
    peer.sendall(PREFACE + frame(4, 0, 0, b'') + frame(1, 4, 1, block) +
                 frame(0, 0, 1, struct.pack('>BI', 0, claimed)))
    for _ in range(128):
        peer.sendall(frame(0, 0, 1, chance.randbytes(16384)))


def half_open(peer, chance):
    """The beginning of a request whose end never comes."""
    if peer.type == socket.SOCK_STREAM:
        peer.sendall(PREFACE[:chance.randrange(len(PREFACE))])


def gone(peer, _):
    """Away before it is answered."""


def random_packet(peer, chance):
    word = chance.choice((b'', b'segment ', b'return ', b'segment'))
    peer.sendall(word + chance.randbytes(chance.choice((0, 20, 4096, 50_000))))


def strange_descriptors(peer, chance):
    """Descriptors that are no segment, or too many."""
    with open('/dev/null', 'rb') as null:
        fds = array.array('i', [null.fileno()] * chance.choice((1, 2, 50)))
        peer.sendmsg([chance.choice((b'return x', b'segment x', b'x'))],
                     [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)])


def version_skew(options, chance):
    """refused at registration; the error names both versions"""
    victim = chance.choice(('sampler', 'trainer'))
    with service_in(options) as service:
        folder = service.folder / 'bin'
        folder.mkdir()
        for program in harness.PROGRAMS:
            shutil.copy(options.bin / program, folder)
        stranger = folder / f'fgnn-{victim}'
        ours, theirs = make_other_version(stranger, chance)
        harness.BIN_DIR = folder
        try:
            service.fgnn('up')
            run_dir = service.folder / 'run'
            job = submit(service, {**TINY, 'limits.restarts': 0}, run_dir)
            watch = service.fgnn('watch', job, check=False)
            check(watch.returncode != 0, 'the job completed')
            words = (f'{victim}.0', f'of version {theirs}',
                     f'the scheduler of {ours}')
            for word in words:
                check(word in watch.stderr, f'no "{word}" in {watch.stderr!r}')
            # It cannot be written to while it runs.
            shutil.copy(options.bin / stranger.name, folder / 'new')
            os.rename(folder / 'new', stranger)
            service.run(TINY)
            service.fgnn('down')
        finally:
            harness.BIN_DIR = options.bin
    return f'a {victim} of {theirs}, a scheduler of {ours}: refused, named'


def make_other_version(program, chance):
    """Changes the version in the program's file; both of them."""
    _, ours, *_ = subprocess.run(
        [harness.BIN_DIR / 'fgnn', '--version'], capture_output=True,
        text=True, check=True, timeout=60).stdout.split()
    numbers = ours.split('.')
    place = chance.randrange(len(numbers))
    # As long as it was: it is changed in place.
    digits = [digit for digit in '123456789' if digit != numbers[place][0]]
    numbers[place] = chance.choice(digits) + numbers[place][1:]
    theirs = '.'.join(numbers)
    content = program.read_bytes()
    word = b'\0' + ours.encode() + b'\0'
    check(content.count(word) == 1, f'{program.name} has not one version')
    program.write_bytes(
        content.replace(word, b'\0' + theirs.encode() + b'\0'))
    return ours, theirs
