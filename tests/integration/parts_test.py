"""Batches that are split into parts, which trainers train together (GSplit)."""

import array

import harness
from npy_array import Array, write_array

# Two layers have one exchange of rows each way, three have two.
JOB = {'training.parts': 2, 'training.epochs': 2, 'training.batches_per_step': 1,
       'sampling.batch_size': 128, 'model.layers': 3,
       'sampling.fanouts': '[5, 5, 5]', 'model.hidden': 32,
       'executors': 'together', 'trainers': 2}
WHOLE = {**JOB, 'training.parts': 1}
# Seconds of work, so that kills meet batches.
LONG = {**JOB, 'training.epochs': 400, 'training.evaluate_every': 0,
        'training.checkpoint_every': 100, 'training.checkpoint_steps': 97,
        'limits.restarts': 40}


def numbers(run_dir):
    """{name: its floats} of the model's parameters in the newest checkpoint."""
    return {name: array.array('f', content)
            for name, (_, _, content) in harness.last_weights(run_dir).items()
            if not name.startswith('optimizer.')}


def farthest(some, others):
    """The largest difference between two models' parameters."""
    assert some.keys() == others.keys()
    return max(abs(a - b) for name in some
               for a, b in zip(some[name], others[name]))


class PartsTest(harness.ServiceTest):

    def run_job(self, *settings, **fields):
        job = {name: value for one in (settings or (JOB,))
               for name, value in one.items()}
        return self.service.run({**job, **{
            name.replace('__', '.'): value for name, value in fields.items()}},
                                '--digest')

    def test_batches_are_those_of_whole_ones(self):
        graph = self.service.dataset
        write_array(graph / 'edge_weights.npy', '<f4',
                    [1 + e % 7 for e in
                     range(Array(graph / 'csc_indptr.npy').get(-1))])
        once = {'sampling.resample': 'false'}
        shared = {'sampling.batch_dependency': 4}
        weighted = {'sampling.kind': 'khop_weighted'}
        labor = {'sampling.kind': 'labor'}
        walks = {'sampling.kind': 'random_walk', 'model.kind': 'pinsage'}
        matched = {'sampling.order': 'matched', 'sampling.window': 8,
                   'cache.policy': 'degree', 'cache.capacity': 0.2,
                   'features.store': 'disk'}
        everything = set()
        for more in ({}, once, shared, matched, {**matched, **labor},
                     weighted, {**weighted, **once},
                     labor, {**labor, **once}, {**labor, **shared},
                     walks, {**walks, **once}, {**walks, **shared}):
            with self.subTest(str(more)):
                more = {**more, 'training.epochs': 1,
                        'training.evaluate_every': 0}
                whole = self.run_job(WHOLE, more)
                everything.update(harness.digests_of(whole))
                for parts in (2, 4):
                    self.assert_same_digests(
                        self.run_job(JOB, more, training__parts=parts,
                                     trainers=parts), whole)
        self.assertGreater(len(everything), 12 * 4, 'two jobs drew the same')

    # One optimizer step is linear in the gradient, as Adam's is not.
    def test_weights_are_those_of_whole_batches(self):
        for more in ({}, {'model.kind': 'gat', 'model.heads': 4},
                     {'model.kind': 'gcn', 'model.residual': 'true',
                      'model.normalization': 'layer'}):
            with self.subTest(str(more)):
                more = {**more, 'model.dropout': 0, 'training.optimizer': 'sgd',
                        'training.learning_rate': 0.05, 'training.epochs': 5}
                whole = numbers(self.run_job(WHOLE, more))
                parts = numbers(self.run_job(JOB, more))
                worst = farthest(whole, parts)
                self.assertLess(worst, 1e-5)
                self.assertGreater(worst, 0)  # Sums have another order.

    # Micro-batches that share their draws have the batch's edges among them.
    def test_weights_are_those_of_micro_batches_that_share_draws(self):
        more = {'model.dropout': 0, 'training.optimizer': 'sgd',
                'training.learning_rate': 0.05, 'training.epochs': 4,
                'sampling.kind': 'labor'}
        for parts in (2, 4):
            with self.subTest(parts):
                micro = numbers(self.run_job(WHOLE, more, {
                    'sampling.batch_size': 128 // parts,
                    'training.batches_per_step': parts,
                    'sampling.batch_dependency': parts}))
                split = numbers(self.run_job(JOB, more, training__parts=parts,
                                             trainers=parts))
                self.assertLess(farthest(micro, split), 1e-5)

    def test_bits_depend_on_no_executor(self):
        expected = self.run_job()
        fewer = {'training.parts_on_fewer_trainers': 'true'}
        for more in ({'trainers': 3, 'samplers': 2}, {**fewer, 'trainers': 1}):
            with self.subTest(str(more)):
                self.assert_same_run(self.run_job(JOB, more), expected)
        self.service.fgnn('up', '--devices', 'cpu:0', 'cpu:1')
        for executors, devices in (('factored', '[cpu:0, cpu:1]'),
                                   ('time_sharing', '[cpu:0, cpu:1]'),
                                   ('time_sharing', '[cpu:0]')):
            with self.subTest(executors + devices):
                job = {name: value for name, value in JOB.items()
                       if name != 'trainers'}
                self.assert_same_run(
                    self.run_job(job, fewer, executors=executors,
                                 devices=devices), expected)

    def test_features_of_other_parts_come_by_exchange(self):
        disk = {'features.store': 'disk', 'features.match': 'off',
                'cache.policy': 'degree', 'cache.capacity': 0.1}

        def sums(run_dir):
            lines = harness.lines_of(run_dir)
            return [sum(line[name] for line in lines)
                    for name in ('input_nodes', 'rows_loaded')]

        for parts in (2, 3):
            with self.subTest(parts):
                fields = {'trainers': parts, 'training.parts': parts}
                each = self.run_job(JOB, fields)
                whole = self.run_job(WHOLE, disk, trainers=parts)
                self.assertGreater(sums(each)[0], sums(whole)[0])
                # From a disk each row is read once, and the trainers' table
                # has no row twice.
                for more in (disk, {**disk, 'features.store': 'memory',
                                    'training.share_inputs': 'on'}):
                    shared = self.run_job(JOB, fields, more)
                    self.assert_same_weights(shared, each)
                    self.assertEqual(sums(shared), sums(whole))
                self.assert_same_run(
                    self.run_job(JOB, fields, disk,
                                 training__share_inputs='off'), each)
        one_layer = {'model.layers': 1, 'sampling.fanouts': '[5]'}
        self.assert_same_weights(self.run_job(JOB, one_layer, disk),
                                 self.run_job(JOB, one_layer))

    def test_steps_of_several_batches_have_equal_bits_too(self):
        two = {'training.batches_per_step': 2}
        self.assert_same_run(self.run_job(JOB, two, trainers=4),
                             self.run_job(JOB, two))

    def test_killed_daemons_change_no_bit(self):
        expected = self.run_job(LONG)
        self.service.fgnn('up')
        run_dir, job = self.service.submit_run('killed', LONG)
        self.service.kill_in_turn(
            run_dir, ['fgnn-trainer', 'fgnn-sampler'] * 4, 100)
        self.service.fgnn('pause', job)
        self.service.fgnn('resume', job)  # Until it ends.
        self.assert_same_run(run_dir, expected)
        # Everything at once, within an epoch.
        run_dir, job = self.service.submit_run('again', LONG)
        self.service.wait_for_batches(run_dir, 500)
        self.service.kill_all()
        self.service.fgnn('up')
        self.service.fgnn('watch', job)
        self.assert_same_run(run_dir, expected)

    def test_a_run_goes_on_with_its_book_and_parts_alone(self):
        run_dir = self.run_job(JOB, {'training.checkpoint_steps': 2})
        (run_dir / 'summary.json').unlink()

        def refused(*words):
            answer = self.service.fgnn('resume', str(run_dir), *words,
                                       check=False)
            self.assertNotEqual(answer.returncode, 0)
            return answer.stderr

        said = refused('--set', 'training.parts=1')
        self.assertIn('training.parts 2 by the partition book', said)
        self.assertIn('this job has 1', said)
        self.service.fgnn('dataset', 'partition', self.service.dataset,
                          '--method', 'random')
        self.assertIn("make the book again as it was with 'fgnn dataset",
                      refused())
        self.service.fgnn('dataset', 'partition', self.service.dataset)
        self.service.fgnn('resume', str(run_dir))

    def test_plans_and_jobs_say_their_parts(self):
        self.service.fgnn('up')
        words = self.service.job_words(JOB)
        plan = self.service.json('plan', *words)['parts']
        self.assertEqual((plan['count'], plan['shares_inputs']), (2, False))
        self.assertGreater(plan['hidden_rows'], 128)
        # Two hidden layers, to and fro, to one other part.
        self.assertGreaterEqual(plan['most_message_bytes'],
                                2 * 32 * 4 * plan['hidden_rows'])
        self.assertIn('a batch is trained as 2 parts (training.parts)',
                      self.service.fgnn('plan', *words).stdout)
        whole = self.service.job_words(WHOLE)
        self.assertEqual(self.service.json('plan', *whole)['parts']['count'],
                         1)
        self.assertNotIn('parts', self.service.fgnn('plan', *whole).stdout)
        self.run_job()
        self.assertRegex(self.service.fgnn('show', 'last').stdout,
                         r'parts +2 of each batch\n')

    def test_what_does_not_work_with_parts_is_refused(self):
        for more, *words in (
                ({'trainers': 1}, '1 trainer may train', 'use 1'),
                ({'training.sync': 'bounded_staleness'}, 'use steps'),
                ({'model.normalization': 'batch'}, 'use layer'),
                ({'training.task': 'link_prediction'}, 'use 1'),
                ({'queue.slots': 5}, 'queue.slots is 5', 'use 6'),
                ({'training.parts': 17}, '1 to 16')):
            with self.subTest(str(more)):
                self.assert_user_error(
                    self.service.fgnn('run', *self.service.job_words(
                        {**JOB, **more}), check=False), *words)
