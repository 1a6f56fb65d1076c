"""The processes of rpc_fuzz that make calls, each as a user of its own."""

import array
import collections
import contextlib
import json
import os
import random
import resource
import socket
import struct
import sys
import time
import traceback

import grpc

import peers
import users
from hold_connections import become
from random_calls import Requests

# A call without a deadline of its own is given up after so long.
PATIENCE_SECONDS = 3
TIMEOUTS = (None, 0.001, 0.02, 0.2, 1, 2, 4000, 1e9)
MOST_HELD = 40
# Calls that the service's user may make, and that harm a job as they should.
HARMFUL = ('Shutdown', 'Stop', 'CancelJob', 'PauseJob', 'ContinueJob',
           'SwitchDevice', 'AttachJob', 'DetachJob', 'SaveCheckpoint',
           'LoadCheckpoint', 'CountInputNodes', 'WriteCounts', 'RankVertices',
           'Evaluate', 'Heartbeat', 'Register', 'SubmitJob')
# The services of each socket, by the beginning of its name.
SERVED = (('scheduler', ('JobService', 'DeviceService', 'HostService')),
          ('daemons', ('HostService',)),
          ('sampler', ('ExecutorService', 'SamplerService')),
          ('trainer', ('ExecutorService', 'TrainerService')))
KINDS = (('call', 60), ('raw', 15), ('stall', 5), ('packet', 10),
         ('cancelled', 10))


def is_served(path, door):
    return any(f'.{service}/' in path for name, services in SERVED
               for service in services if door.startswith(name))


class Client:
    """Makes random calls until its time is up; counts what they came to."""

    def __init__(self, seed, state_dir, methods, words, valid_spec):
        self.chance = random.Random(seed)
        self.state_dir = state_dir
        self.methods = methods  # (path, request's descriptor, is a stream)
        self.requests = Requests(self.chance, words, valid_spec)
        self.counts = collections.Counter()
        self.held = []
        self.channels = {}

    def doors(self):
        """Sockets of gRPC; what is not visible is tried by its name."""
        known = [self.state_dir / name for name in
                 ('scheduler.sock', 'daemons.sock', 'executors/sampler.0.sock',
                  'executors/trainer.0.sock', 'executors/sampler.1.sock',
                  'executors/trainer.1.sock')]
        return [door for door in known if self.can_connect(door)]

    def can_connect(self, door):
        peer = socket.socket(socket.AF_UNIX)
        peer.settimeout(1)
        with peer:
            try:
                peer.connect(str(door))
            except OSError:
                self.counts[f'{door.name} refused'] += 1
                return False
        self.counts[f'{door.name} connected'] += 1
        return True

    def run(self, seconds):
        end = time.monotonic() + seconds
        looked, doors = 0, []
        kinds, weights = zip(*KINDS)
        while time.monotonic() < end:
            if time.monotonic() > looked + 1:
                doors, looked = self.doors(), time.monotonic()
                self.forget_channels()
            kind = self.chance.choices(kinds, weights)[0]
            if kind == 'packet':
                self.packet()
            elif not doors:
                time.sleep(0.05)
            else:
                getattr(self, kind)(self.chance.choice(doors))
        self.forget_channels()
        for peer in self.held:
            peer.close()

    # ---- gRPC.

    def channel(self, door):
        if door not in self.channels:
            self.channels[door] = grpc.insecure_channel(
                f'unix:{door}', [('grpc.use_local_subchannel_pool', 1),
                                 ('grpc.max_send_message_length', -1)])
        return self.channels[door]

    def forget_channels(self):
        for channel in self.channels.values():
            channel.close()
        self.channels.clear()

    def metadata(self):
        kind = self.chance.random()
        if kind < 0.3:
            return None
        if kind < 0.9:
            name = self.chance.choice(('root', '64003', 'uid 64003', 'service',
                                       'x' * 500))
            return [('fgnn-user', name)] * self.chance.choice((1, 1, 3))
        return [(f'key-{number}-bin', self.chance.randbytes(500))
                for number in range(self.chance.choice((1, 10, 60)))]

    def start(self, door):
        """A call that is under way, and its method."""
        methods = self.methods
        if self.chance.random() < 0.9:  # Others are not served there.
            methods = [method for method in methods
                       if is_served(method[0], door.name)] or methods
        path, descriptor, is_stream = self.chance.choice(methods)
        if self.chance.random() < 0.02:
            path = path[:-1]
        content = self.requests.content(descriptor)
        timeout = self.chance.choice(TIMEOUTS)
        channel, metadata = self.channel(door), self.metadata()
        if is_stream or self.chance.random() < 0.05:
            several = [content] * self.chance.choice((0, 1, 1, 3))
            call = channel.stream_stream(path)(iter(several), timeout=timeout,
                                               metadata=metadata)
        else:
            call = channel.unary_unary(path).future(content, timeout=timeout,
                                                    metadata=metadata)
        return call, path

    def call(self, door):
        try:
            call, path = self.start(door)
        except (ValueError, OverflowError):  # The client's own refusal.
            self.counts['not sent'] += 1
            return
        end = time.monotonic() + PATIENCE_SECONDS
        while not call.done() and time.monotonic() < end:
            time.sleep(0.001)
        if not call.done():
            call.cancel()
        code = call.code()
        self.counts[f'{path.rpartition("/")[2]} {code.name}'] += 1

    def cancelled(self, door):
        """Several calls at once, each cancelled before its answer."""
        calls = []
        for _ in range(self.chance.randint(1, 20)):
            with contextlib.suppress(ValueError, OverflowError):
                calls.append(self.start(door)[0])
        time.sleep(self.chance.random() * 0.05)
        for call in calls:
            call.cancel()
        self.counts['cancelled'] += len(calls)
        if self.chance.random() < 0.3:
            self.forget_channels()

    # ---- Bytes.

    def connected(self, door, kind=socket.SOCK_STREAM):
        peer = socket.socket(socket.AF_UNIX, kind)
        peer.settimeout(1)
        try:
            peer.connect(str(door))
        except OSError:
            peer.close()
            return None
        return peer

    def raw(self, door):
        peer = self.connected(door)
        if peer is None:
            return
        with peer, contextlib.suppress(OSError):
            self.chance.choice((peers.random_bytes, peers.broken_frames,
                                peers.huge_message, peers.gone))(
                                    peer, self.chance)
        self.counts['raw'] += 1

    def stall(self, door):
        """A connection that stays, in the middle of something."""
        peer = self.connected(door)
        if peer is None:
            return
        with contextlib.suppress(OSError):
            self.chance.choice((peers.half_open, peers.gone, self.half_a_call))(
                peer, self.chance)
        self.held.append(peer)
        if len(self.held) > MOST_HELD:
            self.held.pop(self.chance.randrange(len(self.held))).close()
        self.counts['stalled'] += 1

    def half_a_call(self, peer, chance):
        """The frames of a call up to any byte."""
        path, descriptor, _ = chance.choice(self.methods)
        content = self.requests.content(descriptor)[:16_000]
        headers = {':method': 'POST', ':scheme': 'http', ':path': path,
                   ':authority': 'localhost', 'te': 'trailers',
                   'content-type': 'application/grpc', 'grpc-timeout': '5S'}
        frames = (peers.PREFACE + peers.frame(4, 0, 0, b'') +
                  peers.frame(1, 4, 1, peers.header_block(headers)) +
                  peers.frame(0, 1, 1, struct.pack('>BI', 0, len(content)) +
                              content))
        peer.sendall(frames[:chance.randrange(len(frames))])

    def packet(self):
        """A packet to the socket of descriptors, perhaps with some of them."""
        peer = self.connected(self.state_dir / 'host.sock',
                              socket.SOCK_SEQPACKET)
        if peer is None:
            self.counts['host.sock refused'] += 1
            time.sleep(0.01)
            return
        job = self.chance.choice(self.requests.words)
        word = self.chance.choice(
            ('segment', 'scratch 1', 'scratch 18446744073709551616', 'return',
             'table', '', 'segment  ', 'x'))
        with peer, contextlib.suppress(OSError):
            content = f'{word} {job}'.encode()[:60_000]
            memory = os.memfd_create('strange')
            try:
                os.truncate(memory, self.chance.choice((0, 4096, 1 << 40)))
                fds = array.array('i', [memory] * self.chance.choice(
                    (0, 1, 1, 3)))
                peer.sendmsg([content] if content else [b'x'],
                             [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)]
                             if fds else [])
            finally:
                os.close(memory)
            if self.chance.random() < 0.5:
                answer = peer.recv(4096)
                first = answer.split(b' ')[0].decode('latin1')
                self.counts[f'packet {first}'] += 1
        if self.chance.random() < 0.2:
            peers_held = self.connected(self.state_dir / 'host.sock',
                                        socket.SOCK_SEQPACKET)
            if peers_held is not None:
                self.held.append(peers_held)


def start(name, who, seed, service, methods, words, valid_spec, seconds):
    """Forks a client; (pid, file that it reports to). The fork comes before
    gRPC is used: a process that has used it cannot be forked."""
    report = service.folder / f'report-{name}.json'
    pid = os.fork()
    if pid != 0:
        return pid, report
    code = 1
    try:
        file = open(report, 'w', encoding='utf-8')
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        become(users.numbers_of(who))
        os.chdir('/')
        client = Client(f'{seed} {name}', service.state_dir, methods, words,
                        valid_spec)
        client.run(seconds)
        json.dump(client.counts, file)
        file.flush()
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)
