"""Executors of GPUs that change their roles, pause, and go on after everything
died: not a bit of a run changes."""

import emulated
import harness

# Small batches, which an emulated GPU makes quickly; checkpoints within epochs.
JOB = {'sampling.batch_size': 20, 'sampling.fanouts': '[3, 3]',
       'training.batches_per_step': 2, 'training.epochs': 30,
       'training.evaluate_every': 0, 'training.checkpoint_every': 0,
       'training.checkpoint_steps': 17}
BATCHES = 900
HANDS = (('cuda:0', 'sampler'), ('cuda:1', 'trainer'), ('cuda:1', 'sampler'),
         ('cuda:0', 'trainer'), ('cuda:0', 'auto'), ('cuda:1', 'auto'))


class TurnsTest(emulated.EmulatedTest):

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.graphs.programs = cls.programs
        cls.expected = cls.graphs.run({**JOB, 'devices': '[cuda:0]'},
                                      '--digest')

    def setUp(self):
        super().setUp()
        self.set_gpus(GPUS=2, GPU_ACCOUNTS=self.service.folder / 'gpu')

    def wait_for_more(self, run_dir, batches):
        self.service.wait_for_batches(
            run_dir, harness.committed_of(run_dir) + batches)

    def disturb(self, name, settings, hands=()):
        """Runs the job with roles given by hand, a death of everything, and a
        pause; its run folder."""
        self.service.fgnn('up')
        run_dir, job = self.submit(name, {**JOB, **settings})
        # Past a checkpoint.
        self.wait_for_more(run_dir, 40)
        for device, role in hands:
            answer = self.service.json('switch', device, role)
            self.assertEqual(answer['by_hand'], role != 'auto')
            self.wait_for_more(run_dir, 12)
        self.service.kill_all()
        self.service.fgnn('up')
        self.service.wait_until_it_trains(job)
        self.wait_for_more(run_dir, 12)
        self.assertEqual(self.service.json('pause', job)['state'], 'paused')
        self.assertEqual(self.service.segments(), [])
        self.service.fgnn('resume', job)
        self.end_service()
        summary = harness.summary_of(run_dir)
        self.assertEqual(summary['batches_committed'], BATCHES)
        return run_dir

    def test_two_gpus_that_change_roles(self):
        run_dir = self.disturb('two', {'devices': '[cuda:0, cuda:1]',
                                       'samplers': 1}, HANDS)
        self.assert_same_run(run_dir, self.expected)

    def test_one_gpu_that_takes_turns_with_itself(self):
        run_dir = self.disturb('one', {'devices': '[cuda:0]',
                                       'executors': 'factored'})
        self.assert_same_run(run_dir, self.expected)

    def test_gpus_that_change_roles_beside_cores(self):
        run_dir = self.disturb('beside', {
            'devices': '[cpu:0, cuda:0, cuda:1]', 'executors': 'factored'},
            HANDS[:2])
        self.assert_same_run(run_dir, self.expected)
        for line in harness.lines_of(run_dir):
            cores, *gpus = line['devices']
            self.assertEqual((cores['device'], cores['plan']),
                             ('cpu:0', 'sampler'))
            self.assertEqual((cores['trained'], cores['train_ms']), (0, 0))
            self.assertEqual(len(gpus), 2)

    def test_a_gpu_beside_cores(self):
        run_dir = self.disturb('mixed', {'devices': '[cuda:0, cpu:0]'})
        self.assert_same_run(run_dir, self.expected)
