"""A row of broken connections and strangers at a head's and a host's ports."""

import json
import os
import pathlib
import re
import subprocess
import sys

from apart import devices_of, exchange_log, hosts_in
from harness import summary_of
from network import Network
from row import check, pids_of, same_run, wait_for

HERE = pathlib.Path(__file__).resolve().parent
_MEMBERS = ('host1',)
_JOB = {'training.batches_per_step': 2, 'training.epochs': 60,
        'training.evaluate_every': 0, 'training.checkpoint_every': 0,
        'training.checkpoint_steps': 500}
_SOURCES = 16  # Addresses of the stranger: each has limits of its own.
_MORE_DESCRIPTORS = 8
_CALM_SECONDS = 30  # For connections to be closed.
# What each kind of stranger may be told: that of role submit has to be told the
# first one at least once.
_ENDS = ('closed', 'go away', 'ALERT', 'EOF', 'RESET', 'ConnectionReset')
_REFUSALS = {'no_certificate': _ENDS, 'foreign_certificate': _ENDS,
             'submit_role': ('status 7', *_ENDS)}


_SAID_BY_PORT = {
    'no_certificate': r'from 10\.79\.1\..*without a certificate',
    'foreign_certificate': r'from 10\.79\.1\..*does not trust the authority',
    'submit_role': r'from 10\.79\.1\..*needs the role worker'}
# gRPC, which shakes hands there, names no address.
_SAID_BY_EXCHANGE = {
    'no_certificate': 'Handshake failed.*did not return a certificate',
    'foreign_certificate': 'Handshake failed.*certificate verify failed',
    'submit_role': r'refused a call of ipv4:10\.79\.1\..*role submit'}


def knocks(options, _):
    """strangers and broken connections are refused and logged; jobs go on"""
    with Network('head', *_MEMBERS, 'stranger') as network, \
            hosts_in(options, network, _MEMBERS) as hosts:
        head = hosts.services['head']
        sources = addresses_of(network)
        tls = certificates_of(hosts)
        expected = head.run(_JOB, '--digest')
        devices = {'devices': devices_of('head', *_MEMBERS)}
        same_run(head.run({**_JOB, **devices}, '--digest'), expected)
        before = descriptors_of(hosts)
        ports = {'head port': (hosts.listens_at(),
                               'MemberService/ReportMember'),
                 'head exchange': (hosts.exchange_of('head'),
                                   'ExchangeService/AskEntries'),
                 'host1 exchange': (hosts.exchange_of('host1'),
                                    'ExchangeService/AskEntries')}
        running = {name: start(network, place, tls, method, options, sources)
                   for name, (place, method) in ports.items()}
        jobs = 0
        try:
            while not jobs or any(process.poll() is None
                                  for process in running.values()):
                run_dir = head.run({**_JOB, **devices}, '--digest')
                same_run(run_dir, expected)
                check(summary_of(run_dir)['restarts'] == 0,
                      'a daemon was restarted')
                jobs += 1
            told = {name: json.loads(process.communicate()[0])
                    for name, process in running.items()}
        finally:
            for process in running.values():
                process.kill()
                process.wait()
                process.stdout.close()
        said = check_answers(told)
        logged = check_logs(hosts, network)
        wait_for(lambda: all(
            now <= before[who] + _MORE_DESCRIPTORS
            for who, now in descriptors_of(hosts).items()), _CALM_SECONDS,
            lambda: f'descriptors {before}, now {descriptors_of(hosts)}: calm')
    return (f'{options.knocks} knocks at each of {", ".join(ports)} in '
            f'{max(one["seconds"] for one in told.values()):.0f} s, '
            f'{jobs} jobs with equal bits meanwhile; {said}; {logged}')


def addresses_of(network):
    """Addresses that the stranger has."""
    found = [f'10.79.1.{number}' for number in range(1, _SOURCES + 1)]
    for address in found:
        network.ip('stranger', 'addr', 'add', f'{address}/16', 'dev', 'eth0')
    for host in ('head', *_MEMBERS):
        network.ip(host, 'route', 'add', '10.79.1.0/24', 'dev', 'eth0')
    return found


def certificates_of(hosts):
    """A folder with `foreign` and `submit`."""
    folder = hosts.folder / 'strangers'
    made = folder / 'authority'
    hosts.certificates('user', 'nobody', '--role', 'submit', '--out',
                       folder / 'submit')
    ours, hosts.tls = hosts.tls, made
    try:
        hosts.certificates('ca')
        # By its words it could be a host.
        hosts.certificates('user', 'root', '--role', 'worker', '--out',
                           folder / 'foreign')
    finally:
        hosts.tls = ours
    return folder


def start(network, place, tls, method, options, sources):
    path = os.pathsep.join((str(HERE), str(HERE.parent / 'port')))
    return subprocess.Popen(
        [*network.command('stranger'), sys.executable, HERE / 'knock.py',
         place, tls, str(options.knocks), f'{options.seed} {place}', method,
         *sources], stdout=subprocess.PIPE, env={**os.environ,
                                                 'PYTHONPATH': path})


def descriptors_of(hosts):
    """Open files of each process that has a port."""
    found = {}
    for host in ('head', *_MEMBERS):
        pids = hosts.pids_of(host, 'exchange')
        if host == 'head':
            pids += pids_of(hosts.services[host], 'fgnn-scheduler')
        for pid in pids:
            found[f'{host} {pid}'] = len(os.listdir(f'/proc/{pid}/fd'))
    return found


def check_answers(told):
    """All were refused, and strangers were told so."""
    words = []
    for name, knocks_of in told.items():
        said = knocks_of['said']
        for answer in said:
            kind, _, what = answer.partition(': ')
            check(any(part in what for part in _REFUSALS[kind]),
                  f'at {name} a stranger was told "{answer}"')
        for kind, refusals in _REFUSALS.items():
            count = sum(number for answer, number in said.items()
                        if answer.startswith(kind))
            check(count > 0, f'no {kind} was tried at {name}')
            check(kind != 'submit_role' or f'{kind}: {refusals[0]}' in said,
                  f'at {name} no {kind} was told {refusals[0]}: {said}')
        words.append(f'{name}: {said}')
    return '; '.join(words)


def check_logs(hosts, network):
    """Both kinds of ports log whom they refused."""
    counts = {}
    for name, text, kinds in (
            ('head port', hosts.log('head'), _SAID_BY_PORT),
            ('head exchange', exchange_log(hosts, 'head'), _SAID_BY_EXCHANGE),
            ('host1 exchange', exchange_log(hosts, 'host1'),
             _SAID_BY_EXCHANGE)):
        lines = text.splitlines()
        for kind, words in kinds.items():
            counts[f'{name}, {kind}'] = sum(
                bool(re.search(words, line)) for line in lines)
    check(all(counts.values()), f'a log says nothing: {counts}')
    return f'lines in logs: {counts}'
