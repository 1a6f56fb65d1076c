"""A GPU that samples changes no batch and no weight. The GPU is emulated."""

import json
import os
import shutil
import signal
import unittest.mock

import harness

JOB = {'training.batches_per_step': 2, 'training.epochs': 2}
WITH_GPU = {'devices': '[cuda:0, cpu:0]'}
# Less than the graph takes.
FEW_BYTES = 64 << 10


class CudaTest(harness.ServiceTest):

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.programs = harness.emulated_programs()
        cls.addClassCleanup(shutil.rmtree, cls.programs)

    def setUp(self):
        super().setUp()
        self.service.programs = self.programs

    def set_gpus(self, **variables):
        patch = unittest.mock.patch.dict(os.environ, {
            f'FGNN_FAKE_{name}': str(value)
            for name, value in variables.items()})
        patch.start()
        self.addCleanup(patch.stop)

    def refused(self, settings, *words):
        """What a job that does not run says, in one line."""
        result = self.service.fgnn(
            'run', *self.service.job_words({**JOB, **settings}), *words,
            check=False)
        self.assertNotEqual(result.returncode, 0)
        return result.returncode, result.stderr


class SamplingTest(CudaTest):

    def test_a_gpu_that_samples_changes_no_batch_and_no_weight(self):
        expected = self.service.run(JOB, '--digest')
        for devices in ('[cuda:0, cpu:0]', '[cpu:0, cuda:0]',
                        '[cuda:0+cpu:0, cpu:1]'):
            run_dir = self.service.run({**JOB, 'devices': devices}, '--digest')
            self.assert_same_run(run_dir, expected)
        log = self.service.state_dir / 'logs/sampler.0.log'
        self.assertIn('sampling with 2 threads', log.read_text())

    def test_the_gpu_samples_and_the_cores_train(self):
        self.service.fgnn('up')
        job = self.service.json('submit', *self.service.job_words(
            {**harness.ENDLESS, **WITH_GPU}))['job_id']
        self.service.follow(job, lambda p: p.get('batches_committed', 0) > 0)
        executors = self.service.json('show', job)['progress']['executors']
        self.assertEqual(
            {executor['name']: executor['device'] for executor in executors},
            {'sampler.0': 'cuda:0', 'trainer.0': 'cpu:0'})
        self.service.fgnn('cancel', job)
        self.service.fgnn('down')
        self.assert_nothing_left()

    def test_killed_samplers_change_no_weight(self):
        job = {**JOB, **WITH_GPU, 'training.epochs': 60,
               'training.evaluate_every': 0, 'training.checkpoint_every': 0,
               'limits.restarts': 20}
        run_dir = self.service.folder / 'killed'
        self.service.fgnn('up')
        job_id = self.service.json(
            'submit', *self.service.job_words(job), '--run-dir', str(run_dir),
            '--digest')['job_id']
        for _ in range(3):
            count = harness.committed_of(run_dir)
            self.service.wait_for_batches(run_dir, count + 100)
            victim, = (pid for pid, name in self.service.processes().items()
                       if name == 'fgnn-sampler')
            os.kill(victim, signal.SIGKILL)
        self.service.fgnn('watch', job_id)
        summary = json.loads((run_dir / 'summary.json').read_text())
        self.assertEqual(summary['restarts'], 3)
        self.assert_same_run(
            run_dir, self.service.run({**job, 'devices': '[cpu:0]'},
                                      '--digest'))


    def test_a_gpu_that_fails_costs_its_sampler_and_no_weight(self):
        self.set_gpus(GPU_CALLS=5000)
        job = {**JOB, **WITH_GPU, 'training.epochs': 40,
               'training.evaluate_every': 0, 'training.checkpoint_every': 0,
               'limits.restarts': 100}
        run_dir = self.service.run(job, '--digest')
        summary = json.loads((run_dir / 'summary.json').read_text())
        self.assertGreater(summary['restarts'], 0)
        log = self.service.state_dir / 'logs/sampler.0.log'
        self.assertIn('cuda:0 can no longer be used', log.read_text())
        self.assert_same_run(
            run_dir, self.service.run({**job, 'devices': '[cpu:0]'},
                                      '--digest'))


class RefusalTest(CudaTest):

    def test_a_gpu_without_memory_for_the_graph_fails_the_job(self):
        self.set_gpus(GPU_BYTES=FEW_BYTES)
        code, said = self.refused(WITH_GPU)
        self.assertEqual(code, 1, said)
        self.assertRegex(said, r'cuda:0 has .* of 64.0 KiB left, and a job\'s '
                               r'topology takes .*; sample on a cpu device')

    def test_a_gpu_that_is_not_there_is_named(self):
        _, said = self.refused({'devices': '[cuda:3, cpu:0]',
                                'limits.restarts': 0})
        self.assertIn('device cuda:3: this machine has 1 GPU, cuda:0', said)

    def test_a_machine_without_a_driver_is_named(self):
        self.set_gpus(GPUS=0)
        _, said = self.refused({**WITH_GPU, 'limits.restarts': 0})
        self.assertIn("device cuda:0: CUDA finds no GPU", said)
        self.assertIn("NVIDIA's driver", said)

    def test_a_job_that_nobody_trains_is_refused(self):
        for settings, words in (
                ({'devices': '[cuda:0]'}, 'has no device that trains'),
                ({**WITH_GPU, 'executors': 'factored'},
                 'cuda:0 only samples'),
                ({**WITH_GPU, 'executors': 'time_sharing'},
                 'cuda:0 only samples')):
            code, said = self.refused(settings)
            self.assertEqual(code, 2, said)
            self.assertIn(words, said)


if __name__ == '__main__':
    harness.main()
