"""All hosts of a job evaluate together: the scores of one host, whoever dies."""

import os
import pathlib
import re
import signal
import time
import unittest

import harness
from host_services import HostsTest

JOB = {'training.batches_per_step': 2, 'training.epochs': 3,
       'hosts.evaluation': 'all'}
# Evaluations that take long enough to be met.
LONG = {**JOB, 'model.layers': 3, 'model.hidden': 128,
        'sampling.fanouts': '[3, 3, 3]', 'sampling.batch_size': 1024,
        'training.epochs': 4, 'limits.restarts': 20}
TWO = {'devices': '[cpu:0, host1/cpu:0]'}


def scores_of(summary):
    """Scores of the best weights, on the vertices for validation and test."""
    return {name: value for name, value in summary.items()
            if name.startswith(('valid_', 'test_'))}


class EvaluationTest(HostsTest):

    def chunks_that_came(self, host):
        """Chunks of evaluations that the host got from others, one by one."""
        logs = self.hosts.services[host].state_dir / 'logs'
        text = (logs / 'exchange.0.log').read_text(encoding='utf-8')
        return [int(count) for count in re.findall(
            r'(\d+) chunks of an evaluation came', text)]


class SameScoresTest(EvaluationTest):

    graph = ('--nodes', '2000', '--features', '16', '--classes', '2',
             '--train-fraction', '0.3', '--seed', '7')

    def test_all_hosts_have_the_scores_of_one(self):
        self.hosts.join('host1', 'host2')
        for model in ('graphsage', 'gat'):
            # So large steps that the best weights are not the last ones.
            settings = {**JOB, 'model.kind': model,
                        'training.batches_per_step': 3,
                        'training.learning_rate': 0.5}
            expected = self.service.run({**settings, 'devices': '[cpu:0]'},
                                        '--digest')
            summary = harness.summary_of(expected)
            self.assertLess(summary['best_epoch'], summary['epochs'])
            scores = scores_of(summary)
            self.assertGreater(len(scores), 3)
            for devices in ('[cpu:0, host1/cpu:0]',
                            '[cpu:0, host1/cpu:0, host2/cpu:0]'):
                with self.subTest(model=model, devices=devices):
                    run_dir = self.service.run({**settings, 'devices': devices},
                                               '--digest')
                    self.assert_same_run(run_dir, expected)
                    self.assertEqual(scores_of(harness.summary_of(run_dir)),
                                     scores)
        for host in ('head', 'host1', 'host2'):
            self.assertGreater(max(self.chunks_that_came(host)), 0, host)
        self.assertEqual(self.hosts.end(), {})
        self.assertEqual(self.service.leftovers(), [])


class KilledEvaluationTest(EvaluationTest):

    graph = ('--nodes', '40000', '--features', '64', '--classes', '2',
             '--train-fraction', '0.05', '--seed', '7')
    undisturbed = {**LONG, 'devices': '[cpu:0]'}

    def wait_for_evaluation(self, host):
        """Waits until trainer and exchange of the host evaluate."""
        # What is waited for is in another process: there is nothing to block on.
        deadline = time.monotonic() + harness.COMMAND_SECONDS
        while True:
            pids = {role: [pid for pid in self.hosts.pids_of(host, role)
                           if self.evaluates(pid)]
                    for role in ('trainer', 'exchange')}
            if all(pids.values()):
                return {role: found[0] for role, found in pids.items()}
            self.assertLess(time.monotonic(), deadline, 'nobody evaluates')
            time.sleep(0.005)

    @staticmethod
    def evaluates(pid):
        try:
            maps = pathlib.Path(f'/proc/{pid}/maps').read_text(encoding='utf-8')
        except OSError:
            return False
        return 'memfd:fgnn-scratch' in maps

    def start(self, **settings):
        self.hosts.join('host1')
        return self.service.submit_run('far', {**LONG, **TWO, **settings})

    def end_as_one_host(self, run_dir, job):
        self.service.fgnn('watch', job)
        self.assert_same_run(run_dir, self.expected)

    def test_killed_daemons_change_no_score(self):
        run_dir, job = self.start()
        for host in ('head', 'host1'):
            for role in ('trainer', 'exchange'):
                pid = self.wait_for_evaluation(host)[role]
                os.kill(pid, signal.SIGKILL)
                self.hosts.services[host].wait_until_gone([pid])
        self.end_as_one_host(run_dir, job)

    def test_a_host_that_is_lost_leaves_the_head_alone(self):
        run_dir, job = self.start()
        self.wait_for_evaluation('host1')
        self.hosts.kill_host('host1')
        self.service.wait_for(
            lambda: 'evaluates on this host alone' in self.hosts.log('head'),
            'the head')
        self.hosts.start_member('host1')
        self.end_as_one_host(run_dir, job)

    def test_a_head_that_is_killed_evaluates_again(self):
        run_dir, job = self.start()
        self.wait_for_evaluation('head')
        self.hosts.kill('head', 'scheduler')
        self.hosts.start_head()
        self.end_as_one_host(run_dir, job)


if __name__ == '__main__':
    unittest.main()
