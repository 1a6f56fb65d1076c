"""What trainers cache changes where features come from, and nothing else."""

import shutil

import harness

JOB = {'training.batches_per_step': 2, 'training.epochs': 2,
       'training.evaluate_every': 0}


def hit_rates(run_dir):
    return [line['cache_hit_rate'] for line in harness.lines_of(run_dir)]


class CacheTest(harness.ServiceTest):

    def orders(self):
        """The saved orders, by name."""
        return {path.name: path.read_bytes() for path in
                (self.service.dataset / 'derived').glob('ranks-*')}

    def run_cached(self, policy, capacity=0.1, **settings):
        run_dir = self.service.run(
            {**JOB, 'cache.policy': policy, 'cache.capacity': capacity,
             **settings}, '--digest')
        self.assertEqual(list(run_dir.glob('*.u32')), [], 'counts left behind')
        return run_dir

    def test_no_policy_changes_a_batch_or_a_weight(self):
        plain = self.run_cached('none')
        self.assertEqual(hit_rates(plain), [0, 0])
        self.assertEqual(self.orders(), {})
        rates = {}
        for policy in ('presc', 'auto', 'optimal', 'online', 'vip', 'degree',
                       'random'):
            run_dir = self.run_cached(policy, trainers=2)
            self.assert_same_digests(run_dir, plain, policy)
            self.assert_same_weights(run_dir, plain, policy)
            rates[policy] = sum(hit_rates(run_dir))
        self.assertEqual(len(self.orders()), 7)
        # The very epochs are ranked best by themselves, and chance hits as many
        # of a hundred vertices as it caches.
        del rates['online']  # Half of its epochs are not cached.
        self.assertEqual(max(rates, key=rates.get), 'optimal')
        self.assertEqual(min(rates, key=rates.get), 'random')
        self.assertLess(abs(rates['random'] / 2 - 0.1), 0.05)

    def test_standby_trainers_have_caches_of_their_own(self):
        self.service.fgnn('up', '--devices', 'cpu:0', 'cpu:1')
        devices = {'devices': '[cpu:0, cpu:1]'}
        plain = self.run_cached('none', **devices, executors='together')
        # Both sample, so that standby trainers train all batches.
        for standby, lowest, highest in ((0, 0, 0), (0.5, 0.5, 0.99),
                                         (1, 1, 1), ('auto', 1, 1)):
            run_dir = self.run_cached(
                'degree', 1, samplers=2, **devices,
                **{'cache.standby_capacity': standby})
            self.assert_same_digests(run_dir, plain, standby)
            self.assert_same_weights(run_dir, plain, standby)
            for rate in hit_rates(run_dir):
                self.assertTrue(lowest <= rate <= highest, (standby, rate))
        # One of them trains: what it has trained was cached.
        run_dir = self.run_cached('degree', 1, samplers=1, **devices,
                                  **{'cache.standby_capacity': 0})
        self.assert_same_weights(run_dir, plain)
        for line in harness.lines_of(run_dir):
            for device in line['devices']:
                trains = device['plan'] == 'trainer' and device['trained'] > 0
                self.assertEqual(device['cache_hit_rate'], trains, line)

    def test_features_from_the_disk_are_the_same(self):
        plain = self.run_cached('none')
        for capacity, rate in ((0, 0), (1, 1)):
            run_dir = self.run_cached('degree', capacity,
                                      **{'features.store': 'disk'})
            self.assert_same_weights(run_dir, plain)
            self.assertEqual(hit_rates(run_dir), [rate, rate])

    def test_a_dataset_that_cannot_be_written_trains_the_same(self):
        """What is derived is then in the state folder."""
        plain = self.run_cached('none')
        derived = self.service.dataset / 'derived'
        shutil.rmtree(derived, ignore_errors=True)
        derived.write_text('in the way, which also stops root\n')
        for number, policy in enumerate(('presc', 'auto', 'optimal', 'online',
                                         'vip', 'degree', 'random')):
            store = ('disk', 'memory', 'auto')[number % 3]
            run_dir = self.run_cached(policy, **{'features.store': store})
            self.assert_same_weights(run_dir, plain, (policy, store))
            self.assertGreater(sum(hit_rates(run_dir)), 0, (policy, store))
        kept = list(self.service.state_dir.glob('derived/*/ranks-*.bin'))
        self.assertEqual(len(kept), 7)
        self.assertTrue(derived.is_file())

    def test_a_whole_cache_is_always_hit(self):
        self.assertEqual(hit_rates(self.run_cached('degree', 1)), [1, 1])

    def test_who_counts_plays_no_part_and_nobody_counts_twice(self):
        expected = None
        for samplers, threads in ((1, 1), (2, 1), (3, 2)):
            for order in (self.service.dataset / 'derived').glob('ranks-*'):
                order.unlink()
            for seed in (1, 2):
                self.run_cached('presc', samplers=samplers,
                                **{'sampling.threads': threads,
                                   'training.seed': seed})
                expected = expected or self.orders()
                self.assertEqual(len(expected), 1)
                self.assertTrue(self.orders() == expected,
                                f'{samplers} samplers of {threads} threads')

    def test_the_first_epochs_are_counted_online(self):
        jobs = {'training.epochs': 4, 'cache.epochs': 2}
        optimal = self.run_cached('optimal', **{**jobs, 'training.epochs': 2})
        # Behind the header, which has the policy's key.
        ranked = [order[64:] for order in self.orders().values()]
        for samplers, trainers in ((1, 1), (3, 2)):
            for order in (self.service.dataset / 'derived').glob('ranks-*'):
                order.unlink()
            run_dir = self.run_cached('online', samplers=samplers,
                                      trainers=trainers, **jobs)
            rates = hit_rates(run_dir)
            self.assertEqual(rates[:2], [0, 0])
            # What is in the queue by then has no ranks.
            self.assertGreater(rates[3], 0.5 * hit_rates(optimal)[1])
            # The same epochs, counted before or on the way.
            self.assertTrue(
                [order[64:] for order in self.orders().values()] == ranked)
        # Found again, it serves from the first batch on.
        again = hit_rates(self.run_cached('online', **jobs))
        self.assertGreater(min(again), 0)

    def test_a_plan_adds_up_and_refuses_what_does_not_fit(self):
        words = self.service.job_words({'cache.policy': 'degree',
                                        'cache.capacity': 0.5})
        plan = self.service.json('plan', *words)
        self.assertEqual(sum(item['bytes'] for item in plan['memory']),
                         plan['total_bytes'])
        self.assertEqual(plan['cache_rows'], 1000)
        self.assertEqual([item['name'] for item in plan['mapped']],
                         ['topology', 'features'])
        self.assertGreater(plan['seconds_per_sampled_batch'], 0)
        self.assertGreater(plan['seconds_per_trained_batch'], 0)
        self.assertIn('1 cache of 1000 rows', self.service.fgnn(
            'plan', *words).stdout)
        two = [*words, '--set', 'devices=[cpu:0, cpu:1]', '--set',
               'cache.standby_capacity=0.1']
        by_role = self.service.fgnn('plan', *two).stdout
        self.assertNotIn('memory allows', by_role)
        for words_of_it in ('1 cache of 1000 rows',
                            '1 standby cache of 200 rows',
                            'each standby trainer of 200'):
            self.assertIn(words_of_it, by_role)
        roomy = self.service.json('plan', *two)['allocation']
        self.assertEqual(
            (roomy['most_samplers'], roomy['most_trainers']), (2, 1))
        limit = plan['total_bytes'] // 2
        refused = self.service.fgnn('plan', *words, '--set',
                                    f'limits.memory={limit}', check=False)
        self.assert_user_error(refused, 'limits.memory', 'queue of',
                               '1 trainer', '1 cache')
        self.assert_nothing_left()

    def test_a_damaged_order_is_made_again(self):
        self.run_cached('presc')
        expected = self.orders()
        (name, order), = expected.items()
        path = self.service.dataset / 'derived' / name
        path.write_bytes(order[:-1])
        self.run_cached('presc')
        self.assertTrue(self.orders() == expected)
