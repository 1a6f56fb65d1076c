"""Hosts that share the features of a dataset out: each has a host folder."""

import json
import shutil
import unittest

import harness
from host_services import HostsTest

# A cache would have the rows of so small a graph, all of them.
JOB = {'training.batches_per_step': 2, 'training.epochs': 3,
       'cache.policy': 'none'}
LONG = {**JOB, 'training.epochs': 40}
TWO = {'devices': '[cpu:0, host1/cpu:0]'}


class HostRowsTest(HostsTest):
    # Its evaluation and its test take longer than hosts take to let go, and
    # than a host takes to be missed.
    graph = ('--nodes', '40000', '--features', '16', '--classes', '4',
             '--train-fraction', '0.02', '--seed', '7')
    undisturbed = LONG

    def setUp(self):
        super().setUp()
        self.whole = self.service.dataset
        self.addCleanup(setattr, self.service, 'dataset', self.whole)

    def cut(self, name, owners):
        """Cuts the dataset; the folder of each owner."""
        folders = self.hosts.cut_rows(owners, name)
        cut = self.service.folder / name
        self.assertEqual(folders, [cut / f'host{i}' for i in range(owners)])
        return folders

    def give(self, host, folder):
        """Puts the folder where the host alone finds it."""
        shared = self.hosts.give_folder(host, folder)
        if host == 'head':
            self.service.dataset = shared

    def refused(self, settings, code=2):
        """What is said of a job that is refused, or fails with code 1."""
        answer = self.service.fgnn(
            'run', *self.service.job_words(settings), check=False)
        self.assertEqual(answer.returncode, code, answer.stderr)
        return answer.stderr

    def waits_for(self, job, words):
        self.service.wait_for(
            lambda: words in self.service.json('show', job).get(
                'waiting_for', ''), words)

    def test_two_hosts_end_with_the_bits_of_the_whole_dataset(self):
        expected = self.service.run(JOB, '--digest')
        first, second = self.cut('cut', 2)
        self.give('head', first)
        self.give('host1', second)
        self.hosts.devices['host1'] = 'cpu:0,cpu:1'
        self.hosts.join('host1')
        for shares in ('[1, 1]', '[2, 0]', '[0, 2]'):
            with self.subTest(shares=shares):
                self.assert_same_run(
                    self.service.run({**JOB, **TWO, 'hosts.shares': shares},
                                     '--digest'), expected)
        with self.subTest('rows of other hosts are counted'):
            run_dir = self.service.run({**JOB, **TWO}, '--trace')
            remote = sum(line['rows_remote']
                         for line in harness.lines_of(run_dir))
            loaded = sum(line['rows_loaded']
                         for line in harness.lines_of(run_dir))
            self.assertGreater(remote, 0.3 * loaded)
            self.assertLess(remote, 0.7 * loaded)
            spans = json.loads((run_dir / 'trace.json').read_text())
            self.assertEqual(sum(span.get('args', {}).get('remote_rows', 0)
                                 for span in spans), remote)
        # Each trainer's own cache with a window, and one of two trainers.
        cached = {**JOB, 'cache.policy': 'degree', 'cache.capacity': 0.2}
        for devices in ('[cpu:0, host1/cpu:0]',
                        '[cpu:0, host1/cpu:0, host1/cpu:1]'):
            with self.subTest(devices=devices):
                run_dir = self.service.run(
                    {**cached, 'devices': devices, 'hosts.shares': '[1, 1]'},
                    '--digest')
                self.assert_same_run(run_dir, expected)
                last = harness.lines_of(run_dir)[-1]
                self.assertGreater(last['cache_hit_rate'], 0.1)
                self.assertGreater(last['match_rate'], 0)
        # A host with the whole dataset has the rows of all.
        self.service.dataset = self.whole
        shutil.copytree(self.whole, self.service.folder / 'data-host1' /
                        self.whole.name)
        self.assert_same_run(self.service.run({**JOB, **TWO}, '--digest'),
                             expected)

    def test_killed_daemons_change_no_bit(self):
        first, second = self.cut('cut', 2)
        self.give('head', first)
        self.give('host1', second)
        self.hosts.join('host1')
        run_dir, job = self.service.submit_run('rows', {**LONG, **TWO})
        self.service.wait_for_batches(run_dir, 30)
        for host in ('host1', 'head'):
            for role in ('exchange', 'trainer'):
                self.hosts.kill(host, role)
                self.service.wait_for_batches(
                    run_dir, harness.committed_of(run_dir) + 10)
        self.service.fgnn('watch', job)
        self.assert_same_run(run_dir, self.expected)

    def test_rounded_features_are_those_of_one_host(self):
        rounded = {**JOB, 'features.wire': 'f16'}
        stored = self.service.run(JOB)
        expected = self.service.run(rounded, '--digest')
        self.assertNotEqual(harness.metrics_of(stored),
                            harness.metrics_of(expected))
        first, second = self.cut('cut', 2)
        self.give('head', first)
        self.give('host1', second)
        self.hosts.join('host1')
        self.assert_same_run(
            self.service.run({**rounded, **TWO}, '--digest'), expected)

    def test_what_hosts_cannot_share_is_refused(self):
        first, second = self.cut('cut', 2)
        others = self.cut('others', 3)
        self.give('head', first)
        self.give('host1', first)
        self.hosts.join('host1')
        said = self.refused(JOB)
        self.assertIn('owner 0 of 2', said)
        self.assertIn('; name devices of the hosts with the others', said)
        self.assertIn('no host of the job has the rows of owner 1 of 2',
                      self.refused({**JOB, **TWO}, code=1))
        self.give('host1', others[1])
        said = self.refused({**JOB, **TWO}, code=1)
        for words in ('host head has the rows of owner 0 of 2',
                      'host host1 has the rows of owner 1 of 3',
                      "'fgnn dataset partition DIR --hosts 2 --out DIR2'"):
            self.assertIn(words, said)
        self.give('host1', second)
        self.service.run({**JOB, **TWO})

    def test_a_plan_says_which_rows_are_here(self):
        first, _ = self.cut('cut', 2)
        self.give('head', first)
        words = self.service.job_words(JOB)
        rows = self.service.json('plan', *words)['rows']
        self.assertEqual((rows['owner'], rows['owners'], rows['rows']),
                         (0, 2, 40000))
        self.assertAlmostEqual(rows['own_rows'], 20000, delta=2000)
        # A partition keeps most of them, and a random half would keep half.
        self.assertGreater(rows['local_edges'], 0.6)
        text = self.service.fgnn('plan', *words).stdout
        self.assertIn('this host has the rows of owner 0 of 2, book', text)
        self.service.dataset = self.whole
        self.assertNotIn('rows', self.service.json(
            'plan', *self.service.job_words(JOB)))

    def test_a_job_waits_for_the_only_host_with_some_rows(self):
        first, second = self.cut('cut', 2)
        self.give('head', first)
        self.give('host1', second)
        # It may go on without the other host, but for the rows.
        run_dir, job = self.service.submit_run('rows', {
            **LONG, 'devices': '[]', 'hosts.min': 1, 'hosts.max': 2,
            'limits.host_wait': 0})
        self.waits_for(job, 'no host of the job has the rows of owner 1 of 2')
        self.hosts.join('host1')
        self.service.wait_for_batches(run_dir, 30)
        self.hosts.kill_host('host1')
        # The head may have let go of host1 before it looks at the rows.
        self.waits_for(job, 'has the rows of owner 1 of 2')
        self.hosts.start_member('host1')
        self.service.fgnn('watch', job)
        self.assert_same_run(run_dir, self.expected)


if __name__ == '__main__':
    unittest.main()
