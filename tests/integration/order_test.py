"""The order of batches is the job's: who works changes no batch and weight."""

import harness

# 20 batches an epoch: a window of 16, and one of 4.
JOB = {'training.batches_per_step': 2, 'training.epochs': 2,
       'training.evaluate_every': 0, 'sampling.fanouts': '[3, 2]',
       'sampling.batch_size': 30, 'sampling.order': 'matched'}
# Seconds of work, with checkpoints within windows.
LONG = {**JOB, 'training.epochs': 500, 'training.checkpoint_every': 100,
        'training.checkpoint_steps': 333, 'limits.restarts': 20}


def digests_of(run_dir):
    """CRC32C of each batch, in the order in which they are trained."""
    lines = harness.digests_of(run_dir)
    return [line.split()[1] for line in lines]


class OrderTest(harness.ServiceTest):

    def assert_window_by_window(self, matched, drawn, window):
        """The same batches in each window, in another order."""
        self.assertEqual(len(matched), 40)
        self.assertNotEqual(matched, drawn)
        for epoch in (0, 20):
            for first in range(0, 20, window):
                batches = slice(epoch + first,
                                epoch + min(first + window, 20))
                self.assertEqual(sorted(matched[batches]),
                                 sorted(drawn[batches]), batches)

    def test_who_works_changes_no_batch_and_no_weight(self):
        expected = self.service.run(JOB, '--digest')
        drawn = self.service.run({**JOB, 'sampling.order': 'drawn'},
                                 '--digest')
        self.assert_window_by_window(digests_of(expected), digests_of(drawn),
                                     16)
        self.assertFalse(harness.last_weights(expected) ==
                         harness.last_weights(drawn),
                         'the comparisons below could not fail')
        for settings in ({'samplers': 3}, {'sampling.threads': 4},
                         {'samplers': 2, 'sampling.threads': 2, 'trainers': 3},
                         {'cache.policy': 'online', 'cache.capacity': 0.2,
                          'samplers': 2},
                         {'features.store': 'disk', 'features.ahead': 3},
                         {'executors': 'time_sharing'}):
            with self.subTest(settings):
                self.assert_same_run(
                    self.service.run({**JOB, **settings}, '--digest'),
                    expected)

    def test_the_window_and_the_step_are_of_the_job(self):
        drawn = digests_of(self.service.run(
            {**JOB, 'sampling.order': 'drawn'}, '--digest'))
        orders = []
        for window, batches_per_step in ((16, 2), (7, 2), (16, 1)):
            orders.append(digests_of(self.service.run(
                {**JOB, 'sampling.window': window,
                 'training.batches_per_step': batches_per_step}, '--digest')))
            self.assert_window_by_window(orders[-1], drawn, window)
        self.assertEqual(len(set(map(tuple, orders))), 3)
        # A window of one batch.
        self.assertEqual(digests_of(self.service.run(
            {**JOB, 'sampling.window': 1}, '--digest')), drawn)

    def test_a_sampler_says_what_the_order_gained_and_took(self):
        def seconds_of(run_dir):
            return [line['stages']['order']
                    for line in harness.lines_of(run_dir)]

        drawn = {'sampling.order': 'drawn'}
        self.assertEqual(seconds_of(self.service.run({**JOB, **drawn})), [0, 0])
        matched = self.service.run({**JOB, 'features.store': 'disk'})
        self.assertGreater(min(seconds_of(matched)), 0)
        logs = ''.join(path.read_text() for path in
                       (self.service.state_dir / 'logs').glob('sampler.*'))
        for epoch in (1, 2):
            self.assertEqual(
                logs.count(f'sampling.order matched, epoch {epoch}, '
                           'windows: 2, input nodes: '), 1, logs)

    def test_the_plan_says_that_it_cannot_pay(self):
        def notes(**settings):
            words = self.service.job_words(JOB, **settings)
            return ' '.join(self.service.json('plan', *words)['notes'])

        self.assertIn('features are in memory', notes())
        disk = {'features.store': 'disk', 'trainers': 2}
        self.assertNotIn('sampling.order', notes(**disk))
        self.assertIn('for 2 trainers', notes(**{**disk, 'trainers': 1}))
        self.assertIn('Raise sampling.window above 2',
                      notes(**disk, **{'sampling.window': 2}))
        self.assertNotIn('sampling.order', notes(**{'sampling.order': 'drawn'}))


class FaultTest(harness.ServiceTest):

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.expected = cls.graphs.run({**LONG, 'samplers': 2}, '--digest')

    def submit(self, settings):
        self.service.fgnn('up')
        return self.service.submit_run('run', settings)

    def test_a_killed_sampler_changes_nothing(self):
        run_dir, job = self.submit({**LONG, 'samplers': 2})
        for batches in (1000, 2500, 4007):
            self.service.wait_for_batches(run_dir, batches)
            self.service.kill_newest('fgnn-sampler')
        self.service.fgnn('watch', job)
        self.end_service()
        summary = harness.summary_of(run_dir)
        self.assertEqual(summary['restarts'], 3)
        self.assert_same_run(run_dir, self.expected)

    def test_a_run_goes_on_within_a_window(self):
        run_dir, _ = self.submit({**LONG, 'samplers': 3})
        for batches in (1500, 5000):
            self.service.wait_for_batches(run_dir, batches)
            self.service.kill_all()
            self.assertFalse(self.service.processes())
            self.service.fgnn('up')
        self.service.wait_for_batches(run_dir, 6000)
        self.service.kill_all()
        self.service.fgnn('resume', str(run_dir))
        self.assert_same_run(run_dir, self.expected)

    def test_another_order_is_another_run(self):
        run_dir, job_id = self.submit({**LONG, 'samplers': 2})
        self.service.wait_for_batches(run_dir, 2000)
        self.service.fgnn('cancel', job_id)
        self.service.fgnn('down')
        job = run_dir / 'job.yaml'
        written = job.read_text()
        for old, new in (('order: matched', 'order: drawn'),
                         ('window: 16', 'window: 8')):
            self.assertIn(old, written)
            changed = written.replace(old, new)
            job.write_text(changed)
            result = self.service.fgnn('resume', str(run_dir), check=False)
            self.assertNotEqual(result.returncode, 0)
            self.assertIn('set sampling.order and sampling.window back',
                          result.stderr)
        job.write_text(written)
        self.service.fgnn('resume', str(run_dir))
        self.assert_same_run(run_dir, self.expected)
