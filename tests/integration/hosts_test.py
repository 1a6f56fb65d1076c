"""A job over several hosts: schedulers with state folders of their own, on the
loopback."""

import json
import os
import pwd
import shutil
import time
import unittest

import harness
from host_services import HostsTest

JOB = {'training.batches_per_step': 2, 'training.epochs': 3}
# The learning rate falls in mid-job, on all hosts at the same step.
LONG = {**JOB, 'training.epochs': 40, 'training.schedule': 'plateau',
        'training.plateau_epochs': 1}
TWO = {'devices': '[cpu:0, host1/cpu:0]'}


class SameBitsTest(HostsTest):
    undisturbed = LONG

    def start_long(self):
        """Submits the long job over two hosts, and waits until it trains."""
        self.hosts.join('host1')
        run_dir, job = self.service.submit_run('far', {**LONG, **TWO})
        self.service.wait_for_batches(run_dir, 30)
        return run_dir, job

    def end_as_one_host(self, run_dir, job):
        self.service.fgnn('watch', job)
        self.assert_same_run(run_dir, self.expected)

    def test_two_hosts_end_with_the_bits_of_one(self):
        self.hosts.join('host1')
        expected = self.service.run(JOB, '--digest')
        for shares in ('[1, 1]', '[2, 0]', '[0, 2]'):
            with self.subTest(shares=shares):
                begun = time.time()
                run_dir = self.service.run(
                    {**JOB, **TWO, 'hosts.shares': shares}, '--digest',
                    '--trace')
                self.assert_same_run(run_dir, expected)
                self.assert_in_trace(run_dir, shares, time.time() - begun)
        self.logs_of_the_member_are_here()
        self.assertEqual(self.hosts.end(), {})
        self.assertEqual(self.service.leftovers(), [])

    def assert_in_trace(self, run_dir, shares, seconds):
        """Expects each batch in the rows of its host, within the run."""
        head, member = json.loads(shares)
        events = json.loads((run_dir / 'trace.json').read_text())
        rows = {event['tid']: event['args']['name'] for event in events
                if event['name'] == 'thread_name'}
        for event in events:
            if not event['name'].startswith(('train ', 'sample ')):
                continue
            is_far = int(event['name'].split()[1]) % (head + member) >= head
            self.assertEqual(rows[event['tid']].startswith('host1/'), is_far)
            # Both hosts have one clock. A link's probe may find it off by half
            # a round trip.
            self.assertGreater(event['ts'] * 1e-6, -seconds)
            self.assertLess(event['ts'] * 1e-6, 2 * seconds)

    def logs_of_the_member_are_here(self):
        def logs(*words):
            return self.service.fgnn('logs', *words).stdout

        self.service.wait_for(
            lambda: 'sampler.0' in logs('--host', 'host1', '--daemon',
                                        'sampler.0', 'last'),
            'the log of its sampler')
        self.assertNotIn('sampler.0', logs('--host', 'host1', '--daemon',
                                           'exchange.0'))
        unknown = self.service.fgnn('logs', '--host', 'host2', check=False)
        self.assert_user_error(unknown)
        self.assertIn('there are host1', unknown.stderr)

    def test_a_member_finds_a_copy_of_the_dataset_by_its_name(self):
        copies = self.service.folder / 'copies'
        copies.mkdir()
        # It reads nothing outside of this folder.
        self.hosts.flags['host1'] = ['--dataset-root', copies]
        self.hosts.join('host1')
        dataset = self.service.dataset
        refused = self.service.fgnn(
            'run', *self.service.job_words({**JOB, **TWO}), check=False)
        self.assertEqual(refused.returncode, 2)
        for words in ('host host1', str(dataset), str(copies / dataset.name),
                      '--dataset-root'):
            self.assertIn(words, refused.stderr)
        shutil.copytree(dataset, copies / dataset.name)
        run_dir = self.service.run({**JOB, **TWO}, '--digest')
        self.assert_same_run(run_dir, self.service.run(JOB, '--digest'))

    def test_a_job_that_pauses_goes_on(self):
        run_dir, job = self.start_long()
        self.service.fgnn('pause', job)
        self.service.fgnn('resume', job)
        self.end_as_one_host(run_dir, job)

    def test_killed_daemons_change_no_bit(self):
        run_dir, job = self.start_long()
        for host in ('head', 'host1'):
            for role in ('sampler', 'trainer', 'exchange'):
                self.service.wait_for_batches(
                    run_dir, harness.committed_of(run_dir) + 10)
                self.hosts.kill(host, role)
        self.service.wait_for(lambda: self.restarts_of(job) >= 6, 'restarts')
        self.assertIn('host1/sampler.0', self.service.fgnn('show', job).stdout)
        self.end_as_one_host(run_dir, job)

    def restarts_of(self, job):
        return self.service.json('show', job)['progress']['restarts']

    def test_a_member_that_is_killed_comes_back(self):
        run_dir, job = self.start_long()
        self.hosts.kill_host('host1')
        self.hosts.start_member('host1')
        self.end_as_one_host(run_dir, job)
        self.assertIn('lets go of its devices', self.hosts.log('head'))

    def test_a_head_that_is_killed_takes_its_job_over(self):
        run_dir, job = self.start_long()
        self.hosts.kill('head', 'scheduler')
        self.hosts.start_head()
        self.end_as_one_host(run_dir, job)
        self.assertIn('taken over at step', self.hosts.log('head'))


class ChangingHostsTest(HostsTest):
    """The hosts of a job change while it runs, and no bit does."""
    undisturbed = {**LONG, 'training.batches_per_step': 4}
    # So long that more hosts pay.
    endless = {**undisturbed, 'training.epochs': 100000, 'devices': '[]'}

    def start_on_any(self, **settings):
        """Submits a job of one to three hosts, and waits until it trains."""
        run_dir, job = self.service.submit_run(
            'changing', {**self.endless, 'hosts.min': 1, 'hosts.max': 3,
                         **settings})
        self.service.wait_for_batches(run_dir, 0)
        return run_dir, job

    def wait_for_hosts(self, job, *hosts):
        """Waits until the job trains on the service's own host and these."""
        wanted = ['cpu:0', *(f'{host}/cpu:0' for host in hosts)]

        def has_them():
            shown = self.service.json('show', job)
            return shown['state'] == 'running' and shown['devices'] == wanted
        self.service.wait_for(has_them, f'{job} on {wanted}')

    def end_as_one_host(self, run_dir, job):
        """Compares the epochs that the undisturbed job has."""
        epochs = len(harness.lines_of(self.expected))
        self.service.wait_for(
            lambda: len(harness.lines_of(run_dir)) >= epochs, 'the epochs')
        self.service.fgnn('cancel', job)
        self.assert_exactly(
            harness.metrics_of(run_dir)[:epochs] ==
            harness.metrics_of(self.expected), 'the metrics differ')
        expected = (self.expected / 'batches.crc').read_bytes()
        digests = (run_dir / 'batches.crc').read_bytes()
        self.assert_exactly(digests.startswith(expected), 'digests differ')

    def shares_of(self, job):
        """Batches of each host, by its name."""
        shares = self.service.json('show', job)['progress']['shares']
        for share in shares:
            self.assertGreater(share['batches_per_second'], 0)
        return {share['host']: share['batches'] for share in shares}

    def times_shared(self):
        return self.hosts.log('head').count(
            "shares of a step's 4 batches by measured speed: head ")

    def test_two_three_one_and_two_hosts(self):
        self.hosts.join('host1')
        run_dir, job = self.start_on_any(
            **{'limits.host_wait': 0, 'hosts.shares': 'auto'})
        self.wait_for_hosts(job, 'host1')
        self.hosts.join('host2')
        self.wait_for_hosts(job, 'host1', 'host2')
        shares = self.shares_of(job)
        self.assertEqual(list(shares), ['', 'host1', 'host2'])
        self.assertEqual(sum(shares.values()), 4)
        self.assertGreaterEqual(min(shares.values()), 1)
        self.hosts.end_host('host1')
        self.hosts.kill_host('host2')
        self.wait_for_hosts(job)
        self.hosts.start_member('host1')
        self.wait_for_hosts(job, 'host1')
        self.end_as_one_host(run_dir, job)

    def test_shares_by_speed_stay_while_the_hosts_do(self):
        self.hosts.join('host1')
        run_dir, job = self.start_on_any(
            **{'hosts.shares': 'auto', 'limits.host_wait': 86400})
        shares = self.shares_of(job)
        self.hosts.kill_host('host1')
        self.service.wait_for(
            lambda: 'lets go of its devices' in self.hosts.log('head'),
            'the loss')
        self.hosts.start_member('host1')
        self.wait_for_hosts(job, 'host1')
        self.hosts.kill('head', 'scheduler')
        self.hosts.start_head()
        self.service.wait_for(
            lambda: 'taken over at step' in self.hosts.log('head'),
            'the job to be taken over')
        self.assertEqual(self.shares_of(job), shares)
        self.assertEqual(self.times_shared(), 1)
        self.end_as_one_host(run_dir, job)

    def test_devices_by_number_are_of_all_hosts(self):
        run_dir, job = self.service.submit_run('changing', {
            **self.endless, 'devices': '{min: 2, max: 3}', 'hosts.max': 3})
        self.service.wait_for(
            lambda: 'needs 2 devices of at most 3 hosts, 1 is there' in
            self.service.json('show', job).get('waiting_for', ''),
            'the reason')
        self.hosts.join('host1')
        self.wait_for_hosts(job, 'host1')
        self.hosts.join('host2')
        self.wait_for_hosts(job, 'host1', 'host2')
        self.end_as_one_host(run_dir, job)

    def test_a_host_that_is_lost_is_waited_for(self):
        self.hosts.join('host1')
        _, job = self.start_on_any(**{'limits.host_wait': 86400})
        self.wait_for_hosts(job, 'host1')
        self.hosts.kill_host('host1')
        self.service.wait_for(
            lambda: 'host host1, lost' in self.service.json(
                'show', job).get('waiting_for', ''), 'the wait')
        self.hosts.start_member('host1')
        self.wait_for_hosts(job, 'host1')

    def test_a_job_waits_for_enough_hosts(self):
        job = self.service.submit({**self.endless, 'hosts.min': 2,
                                   'hosts.max': 2})
        self.service.wait_for(
            lambda: 'needs 2 hosts, 1 is there' in self.service.json(
                'show', job).get('waiting_for', ''), 'the reason')
        self.hosts.join('host1')
        self.wait_for_hosts(job, 'host1')


class RefusalsTest(HostsTest):

    def refused(self, **settings):
        """What is said of a job over two hosts with these fields."""
        answer = self.service.fgnn(
            'submit', *self.service.job_words({**JOB, **TWO, **settings}),
            check=False)
        self.assert_user_error(answer)
        return answer.stderr

    def test_what_is_wrong_in_a_job_is_said_at_once(self):
        self.assertIn('hosts that have: none', self.refused())
        self.hosts.join('host1')
        self.assertIn('hosts that have: host1', self.refused(
            devices='[cpu:0, host2/cpu:0]'))
        self.assertIn('training.batches_per_step is 1', self.refused(
            **{'training.batches_per_step': 1}))
        self.assertIn('sums to 3', self.refused(**{'hosts.shares': '[2, 1]'}))
        self.assertIn('host1/cpu:0', self.service.fgnn('devices').stdout)
        self.assertIn('hosts.min is 3', self.refused(**{'hosts.min': 3}))
        self.assertIn('hosts.min is 3', self.refused(
            **{'hosts.min': 3, 'hosts.max': 4}))
        self.assertIn('devices asks for at most 1', self.refused(
            devices='1', **{'hosts.min': 2, 'hosts.max': 2}))

    def test_a_host_that_may_not_join_says_why_and_ends(self):
        self.hosts.start_member('head2', name='head')
        self.assertEqual(self.end_of('head2'), 2)
        self.assertIn("the head's own", self.hosts.log('head2'))
        # A certificate of a user.
        user = pwd.getpwuid(os.getuid()).pw_name
        mine = self.service.folder / 'mine'
        self.hosts.certificates('user', user, '--role', 'submit', '--out', mine)
        for name in ('pem', 'key'):
            self.hosts.use_as(f'host.{name}', mine / f'user.{name}')
        self.hosts.start_member('host1')
        self.assertNotEqual(self.end_of('host1'), 0)
        self.assertIn('needs the role worker', self.hosts.log('host1'))

    def end_of(self, host):
        """The exit code of its scheduler."""
        return self.hosts.running[host].wait(harness.COMMAND_SECONDS)


if __name__ == '__main__':
    unittest.main()
