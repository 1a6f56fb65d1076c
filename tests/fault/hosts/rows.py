"""A row of bits: hosts that share the features out."""

from apart import MEMBERS, devices_of, hosts_in
from bits import check_that_runs_can_differ
from network import Network
from row import check, same_run

import hosts as loopback_rows

# Shares of hosts that all have rows, the head's first. A host without a place
# serves the others.
_SHARES = ('[1, 1, 1, 1]', '[3, 1, 0, 0]', '[0, 4, 0, 0]')


def row_bits(options, _):
    """weights, scores and digests of the whole dataset, whoever has the rows"""
    with Network('head', *MEMBERS) as network, \
            hosts_in(options, network, MEMBERS, shares_rows=True) as hosts:
        head = hosts.services['head']
        whole, runs = head.dataset, 0
        for wire in ('stored', 'f16'):
            settings = {**loopback_rows.SHORT, 'features.wire': wire}
            head.dataset = whole
            expected = head.run(settings, '--digest')
            check_that_runs_can_differ(head, settings, expected)
            head.dataset = hosts.shared
            for shares in _SHARES:
                run_dir = head.run(
                    {**settings, 'hosts.shares': shares,
                     'devices': devices_of('head', *MEMBERS)}, '--digest')
                same_run(run_dir, expected)
                runs += 1
        sent = {host: network.counters(host)[0][0] for host in network.hosts}
    check(min(sent.values()) > 100_000, f'hosts sent {sent} bytes')
    return (f'{runs} runs of 4 hosts with a part of the rows each (stored, '
            f'f16; shares {", ".join(_SHARES)}): equal to those of one host '
            'with all rows')
