"""Hosts that are apart: a service's folder, and hosts in a network."""

import contextlib
import types

from host_services import HostServices
from row import check, service_in

MEMBERS = ('host1', 'host2', 'host3')


@contextlib.contextmanager
def hosts_in(options, network, members, graph=None, devices=None,
             shares_rows=False):
    """The services of a head and of these members, which have joined it. The
    head's own is `.services['head']`. `devices`: what hosts lend, by host.
    `shares_rows`: each host also has a host folder, in `.shared` on the head.
    """
    graphs = types.SimpleNamespace(graph=graph or options.graph)
    with service_in(graphs) as service:
        hosts = HostServices(service, network)
        hosts.devices.update(devices or {})
        if shares_rows:
            folders = hosts.cut_rows(1 + len(members))
            hosts.shared, *_ = [
                hosts.give_folder(host, folder)
                for host, folder in zip(('head', *members), folders)]
        try:
            hosts.start_head()
            hosts.join(*members)
            yield hosts
            left = hosts.end()
            check(not left, f'processes are left: {left}')
        finally:
            hosts.kill_all()


def devices_of(*hosts, core='cpu:0'):
    """`devices` of a job over these hosts; the head has no name there."""
    return '[' + ', '.join(core if host == 'head' else f'{host}/{core}'
                           for host in hosts) + ']'


def exchange_log(hosts, host):
    """What the host's exchange said, all of them that it had."""
    logs = hosts.services[host].state_dir / 'logs'
    return ''.join(path.read_text(encoding='utf-8', errors='replace')
                   for path in sorted(logs.glob('exchange*.log*')))
