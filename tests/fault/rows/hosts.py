"""Rows of jobs over several hosts."""

import shutil

from host_services import ROLES, HostServices
from row import JOB, check, goes_on, same_run, service_in, submit

KILLS_PER_JOB = 6
MODELS = ({'model.kind': 'graphsage'}, {'model.kind': 'gcn'},
          {'model.kind': 'gin'}, {'model.kind': 'gat', 'model.heads': 4},
          {'model.kind': 'pinsage', 'sampling.kind': 'random_walk'})
SHORT = {'training.batches_per_step': 4, 'training.epochs': 2}
# Devices and shares of hosts; the head's first.
HOSTS = (('[cpu:0, host1/cpu:0]', '[2, 2]'),
         ('[cpu:0, host1/cpu:0]', '[3, 1]'),
         ('[cpu:0, host1/cpu:0, host2/cpu:0, host3/cpu:0]', '[2, 1, 1, 0]'))


def host_bits(options, _chance):
    """digests, metrics and weights of one host, for each model and precision"""
    runs = 0
    with service_in(options) as service:
        hosts = HostServices(service)
        try:
            hosts.start_head()
            hosts.join('host1', 'host2', 'host3')
            for model in MODELS:
                for precision in ('f32', 'bf16'):
                    settings = {**SHORT, **model,
                                'training.precision': precision}
                    expected = service.run(settings, '--digest')
                    for devices, shares in HOSTS:
                        same_run(service.run(
                            {**settings, 'devices': devices,
                             'hosts.shares': shares}, '--digest'), expected)
                        runs += 1
            check(not hosts.end(), 'processes are left')
        finally:
            hosts.kill_all()
    return (f'{runs} runs of 2 and 4 hosts, shares '
            f'{", ".join(shares for _, shares in HOSTS)}: all equal')


def host_kills(options, chance):
    """digest and weights of one host, whoever is killed on which host"""
    settings = {**{name: value for name, value in JOB.items()
                   if name not in ('samplers', 'trainers')},
                'training.epochs': 300, 'training.evaluate_every': 10,
                'hosts.evaluation': 'all', 'training.schedule': 'plateau',
                'training.plateau_epochs': 2}
    names = ('head', 'host1', 'host2')
    faults = [(host, role) for host in names for role in ROLES]
    faults += [(host, 'host') for host in names[1:]]
    left = options.host_kills
    killed, jobs = 0, 0
    with service_in(options) as service:
        hosts = HostServices(service)
        try:
            expected = service.run(settings | {
                'training.batches_per_step': 3}, '--digest')
            hosts.start_head()
            hosts.join(*names[1:])
            while left > 0:
                check(jobs <= options.host_kills, 'the kills came too late')
                run_dir = service.folder / f'killed-{jobs}'
                job = submit(service, {
                    **settings, 'training.batches_per_step': 3,
                    'devices': '[cpu:0, host1/cpu:0, host2/cpu:0]'}, run_dir,
                    '--digest')
                jobs += 1
                for _ in range(min(KILLS_PER_JOB, left)):
                    if not goes_on(run_dir, chance.randrange(5, 60)):
                        break
                    killed += fault(hosts, *chance.choice(faults))
                    left -= 1
                service.fgnn('watch', job)
                same_run(run_dir, expected)
                shutil.rmtree(run_dir)
            check(not hosts.end(), 'processes are left')
        finally:
            hosts.kill_all()
    return (f'{killed} kills of samplers, trainers, exchanges, schedulers and '
            f'whole members of 3 hosts: same digests and weights in {jobs} of '
            f'{jobs} jobs')


def fault(hosts, host, role):
    """Kills it, and starts again what nothing of ours starts."""
    if role == 'host':
        hosts.kill_host(host)
        hosts.start_member(host)
        return True
    was_there = hosts.kill(host, role)
    if role == 'scheduler' and was_there:
        hosts.start_head() if host == 'head' else hosts.start_member(host)
    return was_there
