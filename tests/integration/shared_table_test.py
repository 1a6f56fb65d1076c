"""Trainers that read features from the disk share one table of hot rows. It
changes how many rows are read, and nothing else."""

import os
import pathlib
import re
import signal

import harness

JOB = {'training.batches_per_step': 2, 'training.epochs': 3,
       'training.evaluate_every': 0, 'features.store': 'disk',
       'features.match': 'off', 'cache.policy': 'degree'}
# So long that a trainer that was killed is back well before the job ends.
LONG = {**JOB, 'training.epochs': 1000, 'training.checkpoint_every': 100,
        'limits.restarts': 20}


class SharedTableTest(harness.ServiceTest):

    def rows_filled(self):
        """Rows that trainers have read to fill their tables, by their logs."""
        rows = 0
        for path in (self.service.state_dir / 'logs').glob('trainer*.log'):
            text = path.read_text(encoding='utf-8')
            for words in (r'cached the features of (\d+) vertices',
                          r'; (\d+) were read here'):
                rows += sum(int(number) for number in re.findall(words, text))
        return rows

    def run_and_count(self, **fields):
        """A run's folder, and the rows that its trainers read in all."""
        before = self.rows_filled()
        run_dir = self.service.run(
            {**JOB, **{name.replace('__', '.'): value
                       for name, value in fields.items()}}, '--digest')
        filled = self.rows_filled() - before
        return run_dir, filled, filled + sum(
            line['rows_loaded'] for line in harness.lines_of(run_dir))

    def test_two_trainers_read_what_one_with_the_whole_table_would(self):
        plain = self.service.run({**JOB, 'features.store': 'memory',
                                  'cache.policy': 'none'}, '--digest')
        one, filled, rows = self.run_and_count(cache__capacity=0.4)
        self.assert_same_run(one, plain)
        self.assertEqual(filled, 800)
        for ahead in (0, 2):
            two, filled, rows_of_two = self.run_and_count(
                cache__capacity=0.2, trainers=2, features__ahead=ahead)
            self.assert_same_run(two, plain)
            self.assertEqual(filled, 800)
            self.assertLessEqual(rows_of_two, rows)
            self.assertEqual([line['cache_hit_rate'] for line in
                              harness.lines_of(two)],
                             [line['cache_hit_rate'] for line in
                              harness.lines_of(one)])
        # With a table of its own each has a row in five, read twice.
        alone, _, rows_alone = self.run_and_count(cache__capacity=0.2)
        self.assert_same_run(alone, plain)
        self.assertGreater(rows_alone, rows)

    def test_a_plan_has_one_item_for_it(self):
        words = self.service.job_words({**JOB, 'cache.capacity': 0.2,
                                        'trainers': 2})
        plan = self.service.json('plan', *words)
        self.assertEqual(plan['cache_rows'], 800)
        self.assertEqual(plan['cache_shared'], True)
        self.assertEqual(sum(item['bytes'] for item in plan['memory']),
                         plan['total_bytes'])
        items = [item for item in plan['memory'] if 'cache' in item['name']]
        self.assertEqual([item['name'] for item in items],
                         ['cache of 800 rows that 2 trainers share'])
        self.assertEqual(items[0]['bytes'], 800 * 16 * 4)
        text = self.service.fgnn('plan', *words).stdout
        self.assertIn('all trainers share a cache of the features of 800 of '
                      '2,000 vertices', text)
        alone = self.service.json('plan', *words, '--set', 'trainers=1')
        self.assertEqual(alone['cache_shared'], False)

    def test_standby_trainers_read_it_too(self):
        self.service.fgnn('up', '--devices', 'cpu:0', 'cpu:1')
        plain = self.service.run({**JOB, 'cache.policy': 'none'}, '--digest')
        devices = {'devices': '[cpu:0, cpu:1]'}
        # Both sample, so that standby trainers train all batches.
        for executors, samplers in (('factored', 2), ('factored', 1),
                                    ('time_sharing', 0)):
            run_dir, _, _ = self.run_and_count(
                **devices, executors=executors, samplers=samplers,
                cache__capacity=0.5)
            self.assert_same_run(run_dir, plain)
            for line in harness.lines_of(run_dir):
                self.assertEqual(line['cache_hit_rate'], 1, executors)

    def with_a_table(self, program='fgnn-trainer'):
        """Processes that have mapped a table."""
        found = []
        for pid, name in self.service.processes().items():
            try:
                maps = pathlib.Path(f'/proc/{pid}/maps').read_text()
            except OSError:
                continue
            if name == program and 'memfd:fgnn-hot-table' in maps:
                found.append(pid)
        return found

    def kill_some(self, job, run_dir):
        # In mid-fill, as far as a look from outside finds it; then later.
        for goal in (None, 200, 1200):
            if goal is not None:
                self.service.wait_for_batches(run_dir, goal)
            self.service.wait_for(self.with_a_table, 'a table')
            os.kill(self.with_a_table()[0], signal.SIGKILL)
        # A trainer that comes back reads the table that is there.
        tables = set()
        self.service.wait_for_batches(run_dir, 1500)
        self.service.wait_for(lambda: len(self.with_a_table()) == 2,
                              'two trainers with a table')
        for pid in self.with_a_table() + self.with_a_table('fgnn-scheduler'):
            maps = pathlib.Path(f'/proc/{pid}/maps').read_text()
            tables.add(re.search(r'(\d+) +/memfd:fgnn-hot-table',
                                 maps).group(1))
        self.assertEqual(len(tables), 1)
        return tables

    def test_who_fills_it_may_die_and_so_may_the_scheduler(self):
        plain = self.service.run({**LONG, 'features.store': 'memory'},
                                 '--digest')
        self.service.fgnn('up')
        run_dir, job = self.service.submit_run('killed', LONG, trainers=2)
        tables = self.kill_some(job, run_dir)
        scheduler, = self.with_a_table('fgnn-scheduler')
        os.kill(scheduler, signal.SIGKILL)
        self.service.wait_until_gone([scheduler])
        self.service.fgnn('up')
        # It has the table back from the trainers.
        self.service.wait_for(lambda: self.with_a_table('fgnn-scheduler'),
                              'a scheduler with a table')
        maps = pathlib.Path(
            f'/proc/{self.with_a_table("fgnn-scheduler")[0]}/maps').read_text()
        self.assertEqual({re.search(r'(\d+) +/memfd:fgnn-hot-table',
                                    maps).group(1)}, tables)
        self.service.fgnn('watch', job)
        self.assert_same_run(run_dir, plain)
        self.end_service()
