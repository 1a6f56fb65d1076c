"""Jobs whose GPUs, which are emulated, exchange gradients by NCCL: the weights
that the board makes, whoever is killed."""

import os
import re
import signal

import cuda_test
import harness

JOB = {'training.batches_per_step': 3, 'training.epochs': 2,
       'devices': '[cpu:0, cuda:0, cuda:1]'}
NCCL = {**JOB, 'training.sync': 'nccl'}
LONG = {'training.epochs': 30, 'training.evaluate_every': 0,
        'training.checkpoint_every': 0, 'limits.restarts': 100}


class NcclTest(cuda_test.CudaTest):

    def setUp(self):
        super().setUp()
        # A plan has 512 MiB for NCCL's own buffers.
        self.set_gpus(GPUS=2, GPU_BYTES=1 << 30)

    def exchanged(self):
        """Steps that each trainer says that it has exchanged."""
        return [int(steps)
                for name in ('trainer.0', 'trainer.1')
                for steps in re.findall(
                    r'gradients of (\d+) steps were exchanged by NCCL',
                    (self.service.state_dir / f'logs/{name}.log').read_text())]


class JobTest(NcclTest):

    def test_makes_the_weights_that_the_board_makes(self):
        expected = self.service.run(JOB, '--digest')
        self.assert_same_run(self.service.run(NCCL, '--digest'), expected)
        # In an order of its own, with weights that differ by rounding.
        in_any_order = self.service.run(
            {**NCCL, 'training.deterministic': 'false'}, '--digest')
        self.assert_same_digests(in_any_order, expected)
        for line, other in zip(harness.lines_of(in_any_order),
                               harness.lines_of(expected), strict=True):
            self.assertAlmostEqual(line['loss'], other['loss'], delta=1e-3)
        exchanged = self.exchanged()
        self.assertEqual(len(exchanged), 2 * 2)
        self.assertGreater(min(exchanged), 0)

    def test_killed_trainers_change_no_weight(self):
        self.service.fgnn('up')
        run_dir, job = self.service.submit_run('killed', {**NCCL, **LONG})
        kills = ('trainer.0', 'trainer.1')
        for name in kills:
            count = harness.committed_of(run_dir)
            self.service.wait_for_batches(run_dir, count + 30)
            shown = self.service.json('show', job)['progress']
            victim, = (executor['pid'] for executor in shown['executors']
                       if executor['name'] == name)
            os.kill(victim, signal.SIGKILL)
        self.service.fgnn('watch', job)
        summary = harness.summary_of(run_dir)
        self.assertEqual(summary['restarts'], len(kills))
        self.service.fgnn('down')
        self.assertGreater(min(self.exchanged()), 0)
        self.assert_same_run(run_dir,
                             self.service.run({**JOB, **LONG}, '--digest'))


class RefusalTest(NcclTest):

    def test_says_how_to_fetch_what_is_not_there(self):
        self.set_gpus(NCCL='missing')
        code, said = self.refused({**NCCL, 'limits.restarts': 0})
        self.assertEqual(code, 1, said)
        self.assertIn('pip install --no-deps --target', said)
        self.assertIn('training.sync: steps', said)

    def test_devices_that_switch_exchange_through_the_board(self):
        code, said = self.refused({**NCCL, 'devices': '[cuda:0, cuda:1]',
                                   'executors': 'factored'})
        self.assertEqual(code, 2, said)
        self.assertIn('use together', said)
