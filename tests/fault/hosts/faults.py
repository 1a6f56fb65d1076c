"""Rows of faults: whoever ends, and whatever link."""

import contextlib
import os
import signal
import time

from apart import devices_of, exchange_log, hosts_in
from harness import COMMAND_SECONDS
from host_services import ROLES
from network import Network
from row import (check, committed_of, goes_on, has_ended, in_any_order,
                 run_in_turn, same_run, submit, wait_for)

import hosts as loopback_rows

MEMBERS = ('host1', 'host2')
HOSTS = ('head', *MEMBERS)
# The learning rate falls in mid-job, on all hosts at the same step.
JOB = {'training.batches_per_step': 3, 'training.epochs': 300,
       'training.evaluate_every': 10, 'training.schedule': 'plateau',
       'training.plateau_epochs': 2, 'training.checkpoint_every': 0,
       'training.checkpoint_steps': 100, 'limits.restarts': 1000}
ENDLESS = {'training.epochs': 1_000_000}
FAULTS_PER_JOB = 5
AGAIN_SECONDS = 2  # After an exchange died.
SILENT_SECONDS = 6  # The time-out of 5 s, and one more.
KILLED_SECONDS = 1
# After a cut: the steps whose gradients were there are made, and the head, which
# writes them down ten times a second, has done so.
SETTLED_SECONDS = 1
# A host starts a daemon again at once, then waits for longer with each death in
# ten minutes: .4 s after the fourth one.
DEATHS_WITHOUT_WAIT = 4


class JobOverHosts:
    """A job over all hosts, and what is done to it."""

    def __init__(self, hosts, network, expected, chance, **more):
        self.hosts = hosts
        self.network = network
        self.expected = expected
        self.chance = chance
        self.head = hosts.services['head']
        self.run_dir = self.head.folder / f'job-{chance.getrandbits(32):08x}'
        self.job = submit(self.head, {**JOB, 'devices': devices_of(*HOSTS),
                                      **more}, self.run_dir, '--digest')

    def wait_for_moment(self):
        goes_on(self.run_dir, self.chance.randrange(5, 60))

    def has_ended(self):
        return has_ended(self.run_dir)

    def end(self):
        """It ends in the bits of a job that nothing was done to."""
        self.head.fgnn('watch', self.job)
        same_run(self.run_dir, self.expected)


@contextlib.contextmanager
def three_hosts(options, chance, shares_rows=False, **more):
    """Hosts in a network, and a function that begins a job on them. `more`:
    fields of a job that goes on for as long as it is wanted, so that there is
    nothing to compare it with. `shares_rows`: each host has a host folder, and
    the job is compared with one that has the whole dataset."""
    with Network(*HOSTS) as network, \
            hosts_in(options, network, MEMBERS,
                     shares_rows=shares_rows) as hosts:
        head = hosts.services['head']
        expected = None if more else head.run(JOB, '--digest')
        if shares_rows:
            head.dataset = hosts.shared
        yield hosts, network, lambda: JobOverHosts(hosts, network, expected,
                                                   chance, **more)


def run_faults(options, chance, faults):
    """Does all of them to jobs, whose bits are checked; their number."""
    with three_hosts(options, chance) as (_, _, make):
        count = len(faults)
        run_in_turn(faults, FAULTS_PER_JOB, make, count)
    return count


def kill(host, role):
    """Kills it; a fault for run_in_turn(), as are the next two."""
    def at(job):
        check(loopback_rows.fault(job.hosts, host, role),
              f'there was nothing to kill: {role} on {host}')
    return at


def cut(host, seconds, went_on=None):
    """Cuts the host's link. Adds the seconds to the next step to `went_on`."""
    def down(job):
        with job.network.cut(host):
            time.sleep(SETTLED_SECONDS)
            before = committed_of(job.run_dir)
            time.sleep(seconds - SETTLED_SECONDS)
            stood = committed_of(job.run_dir)
            # No further step than those whose gradients were there.
            check(stood - before <= 2 * JOB['training.batches_per_step'],
                  f'{stood - before} batches without {host}')
        up = time.monotonic()
        comes_back(job)
        if went_on is not None:
            went_on.append(time.monotonic() - up)
    return down


def restart(host):
    """Tells its scheduler to end, and starts it again."""
    def again(job):
        scheduler = job.hosts.running[host]
        scheduler.send_signal(signal.SIGTERM)
        scheduler.wait(COMMAND_SECONDS)
        if host == 'head':
            job.hosts.start_head()
            job.head.fgnn('resume', job.job, check=False)
        else:
            job.hosts.start_member(host)
    return again


def kinds_of_kills():
    return ([kill(host, role) for host in HOSTS for role in ROLES] +
            [kill(host, 'host') for host in MEMBERS])


def host_kills(options, chance):
    """bits of one host, whichever role is killed on which host"""
    kinds = kinds_of_kills()
    faults = in_any_order(kinds, options.kills * len(kinds), chance)
    count = run_faults(options, chance, faults)
    return (f'{count} kills: each of {", ".join(ROLES)} on each of '
            f'{len(HOSTS)} hosts, and each member as a whole: all bits equal')


def cut_links(options, chance):
    """bits of one host, whichever host's link is down for however long"""

    went_on = {seconds: [] for seconds in options.cuts}
    faults = [cut(host, seconds, went_on[seconds]) for host in HOSTS
              for seconds in options.cuts]
    chance.shuffle(faults)
    count = run_faults(options, chance, faults)
    after = '; '.join(f'after {seconds:g} s in {texts(times)} s'
                      for seconds, times in went_on.items())
    return (f'{count} cuts, at each of {len(HOSTS)} hosts: all bits equal; '
            f'went on {after}')


def restarts(options, chance):
    """bits of one host, whichever scheduler is told to end and starts again"""

    faults = [restart(host) for host in HOSTS] * options.kills
    chance.shuffle(faults)
    count = run_faults(options, chance, faults)
    return f'{count} schedulers ended and came back: all bits equal'


def row_campaigns(options, chance):
    """the same where hosts share the features out: bits of the whole dataset"""
    return campaigns(options, chance, shares_rows=True)


def campaigns(options, chance, shares_rows=False):
    """bits of one host, whatever happens in whatever order: one job a campaign"""
    kinds = kinds_of_kills() + [restart(host) for host in HOSTS]
    kinds += [cut(host, seconds) for host in HOSTS for seconds in options.cuts]
    faults = in_any_order(kinds, FAULTS_PER_JOB * options.campaigns, chance)
    with three_hosts(options, chance, shares_rows) as (_, _, make):
        for number in range(options.campaigns):
            mine = faults[number::options.campaigns]
            run_in_turn(mine, FAULTS_PER_JOB, make, FAULTS_PER_JOB)
            print(f'campaign {number + 1} of {options.campaigns}: equal bits',
                  flush=True)
    return (f'{options.campaigns} campaigns, {len(faults)} faults of '
            f'{len(kinds)} kinds: all bits equal')


def longest_stall(run_dir, seconds):
    """Seconds of the longest time without a batch from now on."""
    now = time.monotonic()
    until, last, longest = now + seconds, now, 0
    count = committed_of(run_dir)
    while now < until:
        time.sleep(0.005)
        now = time.monotonic()
        if (more := committed_of(run_dir)) != count:
            count, last = more, now
        longest = max(longest, now - last)
    return longest


def stepping_again(options, chance):
    """steps are made again at most 2 s after an exchange died"""
    took, quiet = [], []
    left = options.told
    while left > 0:
        with three_hosts(options, chance, **ENDLESS) as (hosts, _, make):
            job = make()
            for _ in range(min(left, DEATHS_WITHOUT_WAIT)):
                for host in HOSTS:
                    check(goes_on(job.run_dir, 30), 'the job ended')
                    quiet.append(longest_stall(job.run_dir, 1))
                    check(hosts.kill(host, 'exchange'),
                          f'{host} has no exchange')
                    took.append(longest_stall(job.run_dir,
                                              2 * AGAIN_SECONDS))
            check(not job.has_ended(), 'the job ended')
            job.head.fgnn('cancel', job.job)
        left -= DEATHS_WITHOUT_WAIT
    check(max(took) <= AGAIN_SECONDS, f'stood for {texts(took)} s')
    return (f'{len(took)} kills: stood for {texts(took)} s; without one up to '
            f'{max(quiet):.2f} s')


def texts(seconds):
    return ', '.join(f'{one:.2f}' for one in seconds)


class Said:
    """What a log has had since this was made."""

    def __init__(self, log):
        self.log = log
        self.before = len(log())
        self.begun = time.monotonic()

    def seconds_until(self, words, most=20):
        wait_for(lambda: words in self.log()[self.before:], most,
                 f'"{words}"', every=0.005)
        return time.monotonic() - self.begun


def told(options, chance):
    """of a silent host others are told within 6 s, of a killed one in 1 s"""
    times = {'silent': [], 'head silent': [], 'killed': [],
             'exchange killed': []}
    lost = 'lets go of its devices'
    with three_hosts(options, chance, **ENDLESS) as (
            hosts, network, make):
        job = make()
        for _ in range(options.told):
            check(goes_on(job.run_dir, 30), 'the job ended')
            on_head = Said(lambda: hosts.log('head'))
            on_member = Said(lambda: hosts.log('host1'))
            with network.cut('host1'):
                times['head silent'].append(
                    on_member.seconds_until('the head does not answer'))
                times['silent'].append(on_head.seconds_until(lost))
            comes_back(job)
            on_head = Said(lambda: hosts.log('head'))
            hosts.kill_host('host1')
            times['killed'].append(on_head.seconds_until(lost))
            hosts.start_member('host1')
            comes_back(job)
            on_exchange = Said(lambda: exchange_log(hosts, 'head'))
            check(hosts.kill('host1', 'exchange'), 'there is no exchange')
            times['exchange killed'].append(
                on_exchange.seconds_until('the link to host1 broke'))
        job.head.fgnn('cancel', job.job)
    measured = '; '.join(f'{kind}: {texts(seconds)} s'
                         for kind, seconds in times.items())
    check(max(times['silent']) <= SILENT_SECONDS, measured)
    check(min(times['silent']) > KILLED_SECONDS, f'no silence: {measured}')
    check(max(times['head silent']) <= SILENT_SECONDS, measured)
    check(max(times['killed']) <= KILLED_SECONDS, measured)
    check(max(times['exchange killed']) <= KILLED_SECONDS, measured)
    return measured


def comes_back(job):
    """Waits until the job makes steps again, or has ended."""
    before = committed_of(job.run_dir)
    wait_for(lambda: committed_of(job.run_dir) > before or job.has_ended(), 70,
             lambda: f'going on: {job.hosts.log("head")[-500:]}')
