"""Batches of parts whose devices are lost, paused, taken over or called away."""

import os
import signal

import harness

DEVICES = ('cpu:0', 'cpu:1')
JOB = {'training.parts': 2, 'training.batches_per_step': 1,
       'sampling.batch_size': 128, 'model.layers': 3,
       'sampling.fanouts': '[5, 5, 5]', 'devices': f'[{", ".join(DEVICES)}]',
       'training.epochs': 200, 'training.evaluate_every': 50,
       'training.checkpoint_every': 0, 'limits.restarts': 0}
TOGETHER = {'executors': 'together', 'trainers': 2}
# One device takes fifths of a second for a batch: parts wait for each other.
SHORT = {**JOB, 'model.layers': 2, 'sampling.fanouts': '[5, 5]',
         'training.epochs': 16, 'training.evaluate_every': 0}
TINY = {'training.epochs': 1, 'training.evaluate_every': 0}


class PartsFaultsTest(harness.ServiceTest):

    undisturbed = {**JOB, **TOGETHER}

    def setUp(self):
        super().setUp()
        self.service.fgnn('up', '--devices', *DEVICES)

    def kill(self, job, device, role):
        executors = self.service.json('show', job)['progress']['executors']
        os.kill(next(each['pid'] for each in executors
                     if (each['device'], each['role']) == (device, role)),
                signal.SIGKILL)

    def log(self):
        return (self.service.state_dir / 'logs/scheduler.log').read_text()

    def test_a_lost_device_changes_no_bit(self):
        expected = self.service.run({**SHORT, **TOGETHER}, '--digest')
        for executors, role in (('factored', 'trainer'),
                                ('time_sharing', 'sampler')):
            with self.subTest(f'{executors}, {role}'):
                run_dir, job = self.service.submit_run(
                    executors, {**SHORT, 'executors': executors})
                self.service.wait_for_batches(run_dir, 0)
                self.kill(job, 'cpu:1', role)
                self.service.fgnn('watch', job)
                self.assert_same_run(run_dir, expected)
                told = [line for line in self.log().splitlines()
                        if f'job {job}: cpu:1 is lost' in line]
                self.assertEqual(len(told), 1, told)
                self.assertIn('goes on with cpu:0, which computes each batch '
                              'of 2 parts about 2 times', told[0])

    def test_pauses_and_take_overs_change_no_bit(self):
        for more in (TOGETHER, {'executors': 'time_sharing'}):
            with self.subTest(more['executors']):
                run_dir, job = self.service.submit_run(
                    more['executors'], {**JOB, **more})
                for batches in (100, 300):
                    self.service.wait_for_batches(run_dir, batches)
                    self.service.fgnn('pause', job)
                    self.assertEqual(self.service.segments(), [])
                    client = self.service.start('resume', job)
                    self.service.wait_for_batches(run_dir, batches + 50)
                    client.kill()
                    client.communicate()
                    self.service.kill_scheduler()
                    self.service.fgnn('up', '--devices', *DEVICES)
                self.service.fgnn('watch', job)
                self.assert_same_run(run_dir, self.expected)

    def test_a_job_that_gives_way_changes_no_bit(self):
        run_dir, job = self.service.submit_run(
            'gave-way', {**JOB, 'executors': 'factored'})
        self.service.wait_for_batches(run_dir, 100)
        first = self.service.submit(TINY, '--priority', '1')
        self.service.fgnn('watch', first)
        self.service.fgnn('watch', job)
        self.assertEqual(self.service.json('show', job)['preemptions'], 1)
        self.assert_same_run(run_dir, self.expected)
