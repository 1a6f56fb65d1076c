"""A row of bits: whatever the hosts and their shares."""

import hosts as loopback_rows
from apart import MEMBERS, devices_of, hosts_in
from network import Network
from row import Broken, check, same_run

# Shares of 1, 2 and 4 hosts, the head's first.
_SHARES = (('[2, 2]', 1), ('[3, 1]', 1), ('[2, 1, 1, 0]', 3))


def bits(options, _):
    """digests, metrics and weights of 1, 2 and 4 hosts are equal bits"""
    runs = 0
    with Network('head', *MEMBERS) as network, \
            hosts_in(options, network, MEMBERS) as hosts:
        head = hosts.services['head']
        for model in loopback_rows.MODELS:
            for precision in ('f32', 'bf16'):
                settings = {**loopback_rows.SHORT, **model,
                            'training.precision': precision}
                expected = head.run(settings, '--digest')
                check_that_runs_can_differ(head, settings, expected)
                for shares, members in _SHARES:
                    run_dir = head.run(
                        {**settings, 'hosts.shares': shares, 'devices':
                         devices_of('head', *MEMBERS[:members])}, '--digest')
                    same_run(run_dir, expected)
                    runs += 1
        sent = {host: network.counters(host)[0][0] for host in network.hosts}
    check(min(sent.values()) > 100_000, f'hosts sent {sent} bytes')
    models = ', '.join(model['model.kind'] for model in loopback_rows.MODELS)
    return (f'{runs} runs of 2 and 4 hosts, {runs // len(_SHARES)} of one '
            f'({models}; f32, bf16; shares '
            f'{", ".join(shares for shares, _ in _SHARES)}): all equal; those '
            'of another seed differ')


def check_that_runs_can_differ(head, settings, expected):
    """Another seed has another run, or the comparison says nothing."""
    other = head.run({**settings, 'training.seed': 4}, '--digest')
    try:
        same_run(other, expected)
    except Broken:
        return
    raise Broken('a run of another seed counts as the same')
