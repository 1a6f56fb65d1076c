"""With weights that may be old, each batch still counts once, whoever dies."""

import os
import signal

import harness

STALENESS = 3
# Seconds of work in 20,000 batches, with checkpoints within epochs.
JOB = {'training.batches_per_step': 2, 'training.epochs': 2000,
       'training.checkpoint_every': 300, 'training.checkpoint_steps': 497,
       'training.evaluate_every': 0, 'samplers': 2, 'trainers': 3,
       'limits.restarts': 20}
STALE = {**JOB, 'training.sync': 'bounded_staleness',
         'training.staleness': STALENESS}


class StalenessTest(harness.ServiceTest):

    def test_batches_are_those_of_synchronous_steps_whoever_dies(self):
        run_dir = self.service.folder / 'stale'
        self.service.fgnn('up')
        self.service.submit(STALE, run_dir=run_dir)
        for batches in (1000, 3000):
            self.service.wait_for_batches(run_dir, batches)
            for pid, name in self.service.processes().items():
                if name == 'fgnn-trainer':
                    os.kill(pid, signal.SIGKILL)
        self.service.wait_for_batches(run_dir, 5000)
        self.service.kill_all()
        # From a checkpoint: what was trained since then is trained again.
        self.service.fgnn('resume', str(run_dir))
        summary = harness.summary_of(run_dir)
        self.assertEqual(summary['state'], 'completed')
        self.assertEqual(summary['batches_committed'],
                         summary['batches_expected'])
        expected = self.service.run(JOB, '--digest')
        self.assert_same_digests(run_dir, expected)
        epochs = harness.lines_of(run_dir)
        self.assertEqual([epoch['epoch'] for epoch in epochs],
                         list(range(1, 1 + JOB['training.epochs'])))
        for epoch in epochs:
            self.assertEqual(epoch['batches'], 10)
            self.assertLessEqual(epoch['staleness_mean'],
                                 epoch['staleness_max'])
            self.assertLessEqual(epoch['staleness_max'], STALENESS)
