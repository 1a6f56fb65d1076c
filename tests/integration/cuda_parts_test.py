"""Batches that are split into parts, which emulated GPUs train together."""

import emulated
import harness
import parts_test

GPUS = {'devices': '[cuda:0, cuda:1]', 'executors': 'together', 'trainers': 2}
# Cores have as many places in a step.
SMALL = {'training.parts': 2, 'training.epochs': 1,
         'training.batches_per_step': 1, 'sampling.batch_size': 128,
         'model.layers': 3, 'sampling.fanouts': '[3, 3, 3]', 'model.hidden': 16}
JOB = {**SMALL, **GPUS}
ON_CORES = {**SMALL, 'executors': 'together', 'trainers': 2}
FEWER = {'training.parts_on_fewer_trainers': 'true'}
# 160 batches, so that kills meet some.
LONG = {**JOB, 'sampling.batch_size': 30, 'sampling.fanouts': '[2, 2, 2]',
        'training.epochs': 8, 'training.evaluate_every': 0,
        'training.checkpoint_every': 0, 'training.checkpoint_steps': 17,
        'limits.restarts': 40}


class CudaPartsTest(emulated.EmulatedTest):

    def setUp(self):
        super().setUp()
        self.set_gpus(GPUS=3)

    def run_job(self, *settings):
        return self.service.run(
            {name: value for one in settings for name, value in one.items()},
            '--digest')

    # One optimizer step is linear in the gradient, as Adam's is not.
    def test_weights_are_those_of_cores_and_of_whole_batches(self):
        for more in ({'model.kind': 'gat', 'model.heads': 4},
                     {'model.dropout': 0.5},
                     {'model.kind': 'gcn', 'model.residual': 'true',
                      'model.normalization': 'layer'}):
            with self.subTest(str(more)):
                more = {'model.dropout': 0, 'training.optimizer': 'sgd',
                        'training.learning_rate': 0.05, **more}
                run_dir = self.run_job(JOB, more)
                weights = parts_test.numbers(run_dir)
                # Parts draw their dropout apart, on GPUs as on cores.
                whole = ([{**JOB, 'training.parts': 1}]
                         if more['model.dropout'] == 0 else [])
                for other in [ON_CORES, *whole]:
                    expected = self.run_job(other, more)
                    self.assert_same_digests(run_dir, expected)
                    worst = max(
                        abs(a - b)
                        for name, floats in parts_test.numbers(expected).items()
                        for a, b in zip(weights[name], floats, strict=True))
                    self.assertLess(worst, 1e-5)
                    self.assertGreater(worst, 0)

    def test_bits_depend_on_no_executor(self):
        expected = self.run_job(JOB)
        three = {'devices': '[cuda:0, cuda:1, cuda:2]', 'trainers': 3}
        self.assert_same_run(self.run_job(JOB, three), expected)
        one = {**FEWER, 'devices': '[cuda:0]'}
        for more in ({'devices': '[cuda:0, cuda:1]'}, one,
                     {**one, 'devices': '[cuda:1, cpu:0]'},
                     {**one, 'executors': 'factored'},
                     {'devices': '[cuda:0, cuda:1]',
                      'executors': 'time_sharing'}):
            with self.subTest(str(more)):
                self.assert_same_run(self.run_job(SMALL, more), expected)
        bf16 = {'training.precision': 'bf16'}
        self.assert_same_run(self.run_job(SMALL, bf16, one),
                             self.run_job(JOB, bf16))

    def test_features_of_other_parts_come_by_exchange(self):
        disk = {'features.store': 'disk', 'cache.policy': 'degree',
                'cache.capacity': 0.1}

        def sums(run_dir):
            lines = harness.lines_of(run_dir)
            return [sum(line[name] for line in lines)
                    for name in ('input_nodes', 'rows_loaded')]

        each = self.run_job(JOB)
        whole = self.run_job({**JOB, 'training.parts': 1}, disk)
        alone = self.run_job(JOB, disk, {'training.share_inputs': 'off'})
        self.assert_same_weights(alone, each)
        for more in ({}, {'features.store': 'memory',
                          'training.share_inputs': 'on'},
                     {'training.precision': 'bf16'}):
            with self.subTest(str(more)):
                shared = self.run_job(JOB, disk, more)
                # Each row is loaded by one GPU, and cached by one.
                self.assertEqual(sums(shared)[0], sums(whole)[0])
                self.assertLess(sums(shared)[1], sums(whole)[1])
                if 'training.precision' not in more:
                    self.assert_same_weights(shared, each)
        # One GPU has both homes, and so the rows that one caches for whole
        # batches.
        one = self.run_job(SMALL, disk, FEWER, {'devices': '[cuda:0]'})
        self.assert_same_weights(one, each)
        self.assertEqual(sums(one), sums(whole))

    def test_killed_daemons_change_no_bit(self):
        expected = self.run_job(LONG)
        self.service.fgnn('up')
        run_dir, job = self.submit('killed', LONG)
        self.service.kill_in_turn(
            run_dir, ['fgnn-trainer', 'fgnn-sampler', 'fgnn-trainer'], 15)
        self.service.fgnn('pause', job)
        self.service.fgnn('resume', job)  # Until it ends.
        self.assert_same_run(run_dir, expected)
        # Everything at once, within an epoch.
        run_dir, job = self.submit('again', LONG)
        self.service.wait_for_batches(run_dir, 40)
        self.service.kill_all()
        self.service.fgnn('up')
        self.service.fgnn('watch', job)
        self.assert_same_run(run_dir, expected)
