"""Hosts of one machine in network namespaces of their own.

A Network is a bridge with a veth to each host. A DelayedNetwork has a
forwarder in its place, which delays each packet. Both have what HostServices asks of
where hosts are. Nothing of either is left once end() has returned.
"""

import contextlib
import itertools
import json
import os
import pathlib
import shutil
import subprocess
import sys

from row import Skipped

HERE = pathlib.Path(__file__).resolve().parent
DEVICE = 'eth0'  # Of each host.
_BRIDGE = 'br0'
# Bytes that may pass a limit at once: several of the largest packets.
_BURST = '256kb'
_numbers = itertools.count()


def check_allowed():
    """Skipped: this machine cannot have such hosts."""
    if os.geteuid() != 0:
        raise Skipped('root makes network namespaces; run this as root')
    lacking = [name for name in ('ip', 'tc') if shutil.which(name) is None]
    if lacking:
        raise Skipped(f'{" and ".join(lacking)} not found; install iproute2')
    probe = f'fgnn-{os.getpid()}-probe'
    made = _try('ip', 'netns', 'add', probe)
    _try('ip', 'netns', 'del', probe)
    if made.returncode != 0:
        raise Skipped(f'no network namespace here: {made.stderr.strip()}')


def _try(*words):
    return subprocess.run(words, capture_output=True, text=True, check=False)


def _do(*words):
    done = _try(*words)
    if done.returncode != 0:
        raise OSError(f'{" ".join(words)}: {done.stderr.strip()}')
    return done.stdout


class _Hosts:
    """Namespaces by host; what both kinds of networks share."""

    def __init__(self, hosts):
        self.hosts = tuple(hosts)
        self.prefix = f'fgnn-{os.getpid()}-{next(_numbers)}'
        self.addresses = tuple(self.address(host) for host in self.hosts)

    def address(self, host):
        return f'10.79.0.{self.hosts.index(host) + 1}'

    def namespace(self, host):
        return f'{self.prefix}-{host}'

    def command(self, host):
        """The words before those of a program that is to run there."""
        return ['ip', 'netns', 'exec', self.namespace(host)]

    def add(self, name):
        _do('ip', 'netns', 'add', self.namespace(name))
        self.ip(name, 'link', 'set', 'lo', 'up')

    def ip(self, host, *words):
        return _do('ip', '-n', self.namespace(host), *words)

    def counters(self, host):
        """(bytes, packets) that the host has sent, and that it has got."""
        shown = self.ip(host, '-s', '-j', 'link', 'show', DEVICE)
        stats = json.loads(shown)[0]['stats64']
        return ((stats['tx']['bytes'], stats['tx']['packets']),
                (stats['rx']['bytes'], stats['rx']['packets']))

    def limit(self, rate):
        """No host sends faster than at a rate such as '1gbit'."""
        for host in self.hosts:
            _do('tc', '-n', self.namespace(host), 'qdisc', 'replace', 'dev',
                DEVICE, 'root', 'tbf', 'rate', rate, 'burst', _BURST,
                'latency', '50ms')

    def end(self):
        for name in self.names():
            _try('ip', 'netns', 'del', self.namespace(name))

    def names(self):
        return self.hosts

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()


class Network(_Hosts):
    """One bridge, in a namespace of its own: nothing is seen outside."""

    def __init__(self, *hosts):
        super().__init__(hosts)
        try:
            self.add('bridge')
            self.ip('bridge', 'link', 'add', _BRIDGE, 'type', 'bridge')
            self.ip('bridge', 'link', 'set', _BRIDGE, 'up')
            for host in hosts:
                self.add(host)
                self.ip('bridge', 'link', 'add', self.port(host), 'type',
                        'veth', 'peer', 'name', DEVICE, 'netns',
                        self.namespace(host))
                self.ip('bridge', 'link', 'set', self.port(host), 'master',
                        _BRIDGE, 'up')
                self.ip(host, 'addr', 'add', f'{self.address(host)}/24', 'dev',
                        DEVICE)
                self.ip(host, 'link', 'set', DEVICE, 'up')
        except BaseException:
            self.end()
            raise

    def port(self, host):
        """The bridge's end of its cable."""
        return f'p{self.hosts.index(host)}'

    def names(self):
        return (*self.hosts, 'bridge')

    @contextlib.contextmanager
    def cut(self, host):
        """The host's cable is out. Its own device stays as it is."""
        self.ip('bridge', 'link', 'set', self.port(host), 'down')
        try:
            yield
        finally:
            self.ip('bridge', 'link', 'set', self.port(host), 'up')


class DelayedNetwork(_Hosts):
    """The way between any two hosts takes so many milliseconds."""

    def __init__(self, milliseconds, *hosts):
        super().__init__(hosts)
        self.forwarder = None
        try:
            for host in hosts:
                self.add(host)
            # Ends once its stdin is closed, so with this process at last.
            self.forwarder = subprocess.Popen(
                [sys.executable, HERE / 'delay_packets.py', str(milliseconds),
                 *(f'{self.namespace(host)}={self.address(host)}'
                   for host in hosts)],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            if self.forwarder.stdout.readline() != b'up\n':
                raise Skipped('no tun device here')
        except BaseException:
            self.end()
            raise

    def end(self):
        if self.forwarder is not None:
            self.forwarder.kill()
            self.forwarder.communicate()
        super().end()
