"""Rows that a trainer keeps from one batch for others change where features come
from, and nothing else."""

import harness

JOB = {'training.batches_per_step': 2, 'training.epochs': 3,
       'training.evaluate_every': 0, 'features.store': 'disk',
       # By itself it would hold all of a small graph.
       'cache.policy': 'none'}
# Seconds of work, so that kills meet batches.
LONG = {**JOB, 'training.epochs': 600, 'training.checkpoint_every': 100,
        'training.checkpoint_steps': 97, 'limits.restarts': 20}


class MatchTest(harness.ServiceTest):

    def run_job(self, job=None, **fields):
        return self.service.run({**(job or JOB), **{
            name.replace('__', '.'): value for name, value in fields.items()}},
                                '--digest')

    def assert_adds_up(self, run_dir, matches):
        """Every input node was cached, copied or loaded."""
        for line in harness.lines_of(run_dir):
            nodes, loaded = line['input_nodes'], line['rows_loaded']
            missed = nodes - round(line['cache_hit_rate'] * nodes)
            matched = round(line['match_rate'] * missed)
            self.assertEqual(missed, matched + loaded, line)
            self.assertEqual(matched > 0, matches, line)

    def test_no_batch_or_weight_depends_on_it(self):
        plain = self.run_job(features__match='off')
        self.assert_adds_up(plain, matches=False)
        for trainers in (1, 2, 3):
            for ahead, capacity in ((0, 0), (1, 0.2), (3, 0.2)):
                run_dir = self.run_job(
                    trainers=trainers, features__ahead=ahead,
                    cache__policy='degree', cache__capacity=capacity)
                self.assert_same_run(run_dir, plain)
                self.assert_adds_up(run_dir, matches=True)

    def test_a_window_keeps_rows_and_changes_no_batch_or_weight(self):
        cache = {'cache.policy': 'degree', 'cache.capacity': 0.2}
        plain = self.run_job(features__match='off')
        for ahead in (0, 1, 3):
            run_dir = self.run_job({**JOB, **cache}, features__ahead=ahead)
            self.assert_same_run(run_dir, plain)
            self.assert_adds_up(run_dir, matches=True)
        # More trainers than one look at no batch ahead.
        run_dir = self.run_job({**JOB, **cache}, trainers=2,
                               features__match='window')
        self.assert_same_run(run_dir, plain)

    def test_a_trainer_with_a_window_is_killed(self):
        job = {**LONG, 'features.match': 'window', 'cache.policy': 'degree',
               'cache.capacity': 0.2}
        plain = self.run_job(LONG, features__match='off')
        self.service.fgnn('up')
        run_dir, job = self.service.submit_run('killed', job)
        self.service.kill_in_turn(run_dir, ['fgnn-trainer'] * 3, 500)
        self.service.fgnn('watch', job)
        self.assert_same_run(run_dir, plain)
        self.assert_adds_up(run_dir, matches=True)

    # They give batches back at the ends of turns.
    def test_devices_that_take_turns_match_too(self):
        plain = self.run_job(features__match='off')
        self.service.fgnn('up', '--devices', 'cpu:0', 'cpu:1')
        for executors, devices in (('factored', '[cpu:0, cpu:1]'),
                                   ('time_sharing', '[cpu:0]')):
            run_dir = self.run_job(executors=executors, devices=devices,
                                   features__ahead=3)
            self.assert_same_run(run_dir, plain)
            self.assert_adds_up(run_dir, matches=True)

    def test_rows_in_memory_are_not_copied_unless_the_job_says_so(self):
        memory = {**JOB, 'features.store': 'memory', 'model.kind': 'gat'}
        plain = self.run_job(memory)
        self.assert_adds_up(plain, matches=False)
        run_dir = self.run_job(memory, features__match='on')
        self.assert_same_run(run_dir, plain)
        self.assert_adds_up(run_dir, matches=True)

    # A batch of all seeds and all of their neighbours has the same input nodes
    # in each epoch, which nobody has to sample to know.
    def test_a_batch_that_comes_again_loads_nothing(self):
        whole = {**JOB, 'sampling.batch_size': 2000, 'training.epochs': 4,
                 'sampling.fanouts': '[-1, -1]',
                 'training.batches_per_step': 1}
        for ahead in (0, 1):
            run_dir = self.run_job(whole, features__ahead=ahead)
            nodes = {line['input_nodes'] for line in harness.lines_of(run_dir)}
            self.assertEqual(len(nodes), 1)
            self.assertEqual([line['rows_loaded'] for line in
                              harness.lines_of(run_dir)], [*nodes, 0, 0, 0])
            self.assertEqual([line['match_rate'] for line in
                              harness.lines_of(run_dir)], [0, 1, 1, 1])

    # One thread samples, so that batches are published in their order.
    def test_one_trainer_loads_the_same_rows_each_time(self):
        loaded = {}
        for ahead in (0, 1, 1, 1):
            run_dir = self.run_job(features__ahead=ahead,
                                   sampling__threads=1,
                                   features__match='on',
                                   cache__policy='degree',
                                   cache__capacity=0.2)
            rows = [line['rows_loaded'] for line in harness.lines_of(run_dir)]
            self.assertEqual(rows, loaded.setdefault('rows', rows), ahead)

    def test_trainers_are_killed_and_the_service_too(self):
        plain = self.run_job(LONG, features__match='off')
        self.service.fgnn('up')
        run_dir, job = self.service.submit_run('killed', LONG, trainers=2)
        self.service.kill_in_turn(run_dir, ['fgnn-trainer'] * 3, 500)
        self.service.fgnn('watch', job)
        self.assert_same_run(run_dir, plain)
        self.service.fgnn('down')
        # Everything at once, within an epoch; then it goes on.
        self.service.fgnn('up')
        run_dir = self.service.folder / 'resumed'
        self.service.submit(LONG, run_dir=run_dir)
        self.service.wait_for_batches(run_dir, 1500)
        self.service.kill_all()
        self.service.fgnn('resume', str(run_dir))
        self.assert_same_run(run_dir, plain)
        self.assert_adds_up(run_dir, matches=True)

    def test_a_plan_says_whether_and_why(self):
        def plan(**fields):
            words = self.service.job_words({**JOB, **{
                name.replace('__', '.'): value
                for name, value in fields.items()}})
            return (self.service.json('plan', *words)['match'],
                    self.service.fgnn('plan', *words).stdout)
        match, text = plan()
        self.assertTrue(match['on'])
        self.assertGreater(match['bytes'], 0)
        self.assertIn('where they lie: features are not all in memory', text)
        self.assertIn("of each trainer's memory", text)
        match, text = plan(cache__policy='degree')
        self.assertTrue(match['window'])
        self.assertIn('a part of the cache keeps rows that the next batches '
                      'need', text)
        match, text = plan(features__store='memory')
        self.assertEqual(match, {'on': False, 'window': False, 'bytes': 0,
                                 'reason': 'features are in memory'})
        self.assertIn('are loaded again: features are in memory', text)
        match, _ = plan(model__input_dropout=0.5)
        self.assertFalse(match['on'])
        self.assertIn('input_dropout', match['reason'])
        refused = self.service.fgnn(
            'plan', *self.service.job_words({
                **JOB, 'model.input_dropout': 0.5, 'features.match': 'on'}),
            check=False)
        self.assert_user_error(refused, 'features.match is on, but')
