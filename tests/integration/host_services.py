"""Schedulers of several hosts on this machine, each with a state folder and
ports of its own: a head, and members that join it."""

import collections
import os
import pathlib
import shutil
import signal
import socket
import subprocess

import harness

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
ROLES = ('sampler', 'trainer', 'exchange', 'scheduler')


def free_port():
    with socket.socket() as one:
        one.bind(('127.0.0.1', 0))
        return one.getsockname()[1]


def role_of(pid):
    """One of ROLES; None for a process that has gone."""
    try:
        words = pathlib.Path(f'/proc/{pid}/cmdline').read_bytes().split(b'\0')
    except OSError:
        return None
    program = os.path.basename(words[0].decode()).removeprefix('fgnn-')
    return 'exchange' if b'--exchange' in words and program == 'trainer' \
        else program


class Loopback:
    """Where hosts are that share this machine's network."""

    addresses = ('127.0.0.1',)  # All of them.

    def address(self, _host):
        return '127.0.0.1'

    def command(self, _host):
        """The words before those of a program that is to run there."""
        return []


class HostServices:
    """`services` has each host's state folder by its name; "head" is one.

    `network` says where hosts are: a Loopback, or what has its functions.
    """

    def __init__(self, service, network=Loopback()):
        self.folder = service.folder
        self.network = network
        self.tls = self.folder / 'tls'
        self.services = {'head': service}
        self.running = {}  # Scheduler by host.
        self.ports = collections.defaultdict(free_port)
        # Addresses of exchanges that are not where their host is.
        self.addresses = {}
        self.devices = collections.defaultdict(lambda: 'cpu:0')  # By host.
        self.flags = collections.defaultdict(list)  # Further ones, by host.
        self.certificates('ca')
        self.certificates('server', *network.addresses)
        self.certificates('host', 'all', *network.addresses)
        for name in ('host.pem', 'host.key'):
            self.use_as(name, self.tls / 'hosts/all' / name)

    def certificates(self, *words):
        subprocess.run([ROOT / 'tools/fgnn-certificates', '--dir', self.tls,
                        *words], check=True, capture_output=True, text=True)

    def use_as(self, name, made):
        """Copies a certificate or key to where hosts look for it."""
        (self.tls / name).write_bytes(pathlib.Path(made).read_bytes())
        (self.tls / name).chmod(0o600)

    def log(self, host):
        """What the host's scheduler said."""
        path = self.services[host].folder / 'scheduler.log'
        return path.read_text(encoding='utf-8') if path.exists() else ''

    def listens_at(self):
        """The head's port for members and clients."""
        return f'{self.network.address("head")}:{self.ports["listen"]}'

    def exchange_of(self, host):
        address = self.addresses.get(host, self.network.address(host))
        return f'{address}:{self.ports[host]}'

    def cut_rows(self, owners, name='cut'):
        """Cuts the head's dataset; the folder of each owner."""
        head = self.services['head']
        cut = self.folder / name
        said = head.json('dataset', 'partition', head.dataset, '--hosts',
                         str(owners), '--out', cut)
        return [pathlib.Path(folder['folder']) for folder in said['hosts']]

    def give_folder(self, host, folder):
        """Puts the folder where the host alone finds it once it starts, by a
        name that all such folders have; its new path."""
        root = self.folder / f'data-{host}'
        shutil.rmtree(root, ignore_errors=True)
        shutil.copytree(folder, root / 'shared')
        if host != 'head':  # Which would then read no other dataset.
            self.flags[host] = ['--dataset-root', root]
        return root / 'shared'

    def _start(self, host, *words, name=None):
        service = self.services[host]
        service.folder.mkdir(exist_ok=True)
        with open(service.folder / 'scheduler.log', 'ab') as log:
            self.running[host] = subprocess.Popen(
                [*self.network.command(host),
                 harness.BIN_DIR / 'fgnn-scheduler', '--spawn-daemons',
                 '--state-dir', service.state_dir, '--devices',
                 self.devices[host], '--tls-dir', self.tls, '--host-name',
                 name or host, '--exchange', self.exchange_of(host),
                 *self.flags[host], *words],
                stderr=log)

    def start_head(self):
        said = self.log('head').count('listening on ')
        self._start('head', '--listen', self.listens_at())
        self.services['head'].wait_for(
            lambda: self.log('head').count('listening on ') > said, 'the port')

    def start_member(self, host, name=None):
        """Without a wait for its joining. `name`: what it calls itself."""
        self.services.setdefault(host, harness.Service(self.folder / host))
        self._start(host, '--join', self.listens_at(), name=name)

    def join(self, *hosts):
        for host in hosts:
            self.start_member(host)
        for host in hosts:
            self.services['head'].wait_for(
                lambda host=host: f'host {host} has joined' in self.log('head'),
                host)

    def pids_of(self, host, role):
        return sorted(pid for pid in self.services[host].processes()
                      if role_of(pid) == role)

    def kill(self, host, role):
        """Kills such a process of the host; False if there is none."""
        pids = self.pids_of(host, role)
        if not pids:
            return False
        os.kill(pids[-1], signal.SIGKILL)
        if role == 'scheduler':
            self.running[host].wait(harness.END_SECONDS)
        return True

    def kill_host(self, host):
        """As if its machine lost its power."""
        self.services[host].kill_all()
        self.running[host].wait(harness.END_SECONDS)

    def end_host(self, host):
        """As its service manager would."""
        self.running[host].send_signal(signal.SIGTERM)
        self.running[host].wait(harness.END_SECONDS)

    def end(self):
        """Ends all schedulers; processes that are left behind them."""
        for process in self.running.values():
            process.send_signal(signal.SIGTERM)
        for process in self.running.values():
            process.wait(harness.END_SECONDS)
        return {host: left for host, service in self.services.items()
                if (left := service.wait_until_gone())}

    def kill_all(self):
        for service in self.services.values():
            service.kill_all()
        for process in self.running.values():
            process.wait(harness.END_SECONDS)


class HostsTest(harness.ServiceTest):
    """Tests with a head, and members that a test lets join."""

    def setUp(self):
        super().setUp()
        self.hosts = HostServices(self.service)
        self.addCleanup(self.hosts.kill_all)
        self.hosts.start_head()
