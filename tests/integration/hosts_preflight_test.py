"""What the hosts of a job find out before it trains: whether they reach each
other, and how good their links are."""

import unittest

from host_services import HostsTest

JOB = {'training.batches_per_step': 2, 'training.epochs': 1,
       'devices': '[cpu:0, host1/cpu:0]'}


class HostsPreflightTest(HostsTest):

    def test_links_are_shown_and_planned_with(self):
        self.hosts.join('host1')
        self.assertNotIn('round trip', self.service.fgnn('devices').stdout)
        plan = self.service.json('plan', *self.service.job_words(JOB))
        self.assertIsNone(plan['exchange']['seconds'])
        one, another = plan['exchange']['hosts']
        self.assertEqual(one['sent_bytes'], 4 * plan['parameters'])
        self.assertEqual(another['received_bytes'], 4 * plan['parameters'])
        self.assertIsNone(plan['evaluation']['all_seconds'])
        self.assertEqual(plan['evaluation']['by'], 'head')
        self.service.run(JOB)
        listed = self.service.json('devices')
        self.assertEqual(listed['host'], 'head')
        self.assertEqual([(link['from'], link['to'])
                          for link in listed['links']],
                         [('head', 'host1'), ('host1', 'head')])
        for link in listed['links']:
            self.assertGreater(link['round_trip_ms'], 0)
            self.assertGreater(link['bytes_per_second'], 0)
            # Both hosts are this machine.
            self.assertLessEqual(abs(link['clock_offset_ms']),
                                 link['round_trip_ms'])
        self.assertIn('round trip', self.service.fgnn('devices').stdout)
        words = self.service.job_words(JOB)
        plan = self.service.json('plan', *words)
        self.assertGreater(plan['exchange']['seconds'], 0)
        # Two hosts do not meet for so small a graph.
        evaluation = plan['evaluation']
        self.assertEqual(evaluation['by'], 'head')
        self.assertGreater(evaluation['all_seconds'],
                           evaluation['alone_seconds'])
        self.assertGreater(evaluation['bytes'], 0)
        text = self.service.fgnn('plan', *words).stdout
        self.assertIn('batches a step', text)
        self.assertIn("the service's own host evaluates: an evaluation", text)

    def test_a_host_that_is_not_reached_ends_the_job_and_is_named(self):
        # Its certificate is for another address, so nobody speaks to it there.
        self.hosts.addresses['host1'] = '127.0.0.2'
        self.hosts.join('host1')
        port = self.hosts.ports['host1']
        job = self.service.submit(JOB)
        answer = self.service.fgnn('watch', job, check=False)
        self.assertNotEqual(answer.returncode, 0)
        for words in ('host head cannot reach host host1 at '
                      f'127.0.0.2:{port}', "'fgnn-certificates host'"):
            self.assertIn(words, answer.stderr)
            self.assertIn(words, self.hosts.log('head'))
        # A job that may go on with fewer hosts does.
        run_dir, _ = self.service.submit_run('alone', {**JOB, 'hosts.min': 1})
        self.service.wait_for(lambda: (run_dir / 'summary.json').exists(),
                              'the job')
        self.assertIn('goes on without host host1', self.hosts.log('head'))
        # The service is well.
        self.service.run({**JOB, 'devices': '[cpu:0]'})


if __name__ == '__main__':
    unittest.main()
