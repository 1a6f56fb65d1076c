"""The memory of GPUs, which are emulated: what a plan has there, and jobs whose
daemons share a small one."""

import re

import harness
from cuda_test import ALONE, CudaTest, JOB

CACHED = re.compile('cached the features of (.*) vertices on the device')


def bytes_of(plan, gpu=0):
    """{first word: bytes} of a plan's items on a GPU."""
    items = plan['gpus'][gpu]['memory']
    return {item['name'].lstrip('1 ').split()[0]: item['bytes']
            for item in items}


class MemoryTest(CudaTest):

    def plan(self, settings):
        return self.service.json(
            'plan', *self.service.job_words({**JOB, **settings}))

    def shrink_gpus(self, roomy, beyond_work):
        """Gives GPUs, each shared by its daemons, the memory that a job takes
        for its work alone by a plan, and some bytes beyond."""
        work = sum(roomy[name] for name in ('batches', 'trainer', 'evaluation'))
        self.set_gpus(
            GPU_BYTES=work + beyond_work,
            GPU_ACCOUNTS=self.service.folder / 'accounts')

    def test_a_plan_has_the_items_of_each_gpu(self):
        self.set_gpus(GPUS=2)
        words = self.service.job_words({**JOB, **ALONE})
        plan = self.service.json('plan', *words)
        gpu, = plan['gpus']
        self.assertEqual((gpu['gpu'], gpu['available_bytes']),
                         ('cuda:0', 256 << 20))
        self.assertEqual([item['name'] for item in gpu['memory']],
                         ['topology', 'hot ranks', 'batches of 1 sampler',
                          '1 trainer', 'evaluation', 'hidden states',
                          '1 cache of 2000 rows'])
        self.assertTrue(plan['hidden_on_gpu'])
        self.assertEqual(gpu['total_bytes'],
                         sum(item['bytes'] for item in gpu['memory']))
        self.assertEqual(plan['total_bytes'],
                         sum(item['bytes'] for item in plan['memory']))
        self.assertNotIn('cache', str(plan['memory']))
        self.assertEqual(plan['notes'], [])
        self.assertRegex(self.service.fgnn('plan', *words).stdout,
                         r"in cuda:0's memory +bytes\ntopology ")
        turns = self.plan({'devices': '[cuda:0, cuda:1]'})
        self.assertEqual(turns['standby_cache_rows'], 2000)
        self.assertEqual(bytes_of(turns, 0), bytes_of(turns, 1))
        # Trainers that evaluate together share hidden states on the host.
        self.assertFalse(turns['hidden_on_gpu'])
        of_one = bytes_of(plan)
        del of_one['hidden']
        self.assertEqual(bytes_of(turns), of_one)

    def test_cores_and_gpus_are_measured_apart(self):
        mixed = {'devices': '[cuda:0, cpu:0]', 'executors': 'factored'}
        plan = self.plan(mixed)
        self.assertEqual([of['kind'] for of in plan['sampling']],
                         ['cpu', 'cuda'])
        cores, gpu = (of['seconds_per_batch'] for of in plan['sampling'])
        self.assertEqual(plan['seconds_per_sampled_batch'], cores)
        self.assertNotEqual(cores, gpu)
        self.assertEqual(
            [(of['device'], of['sample_ms']) for of in
             plan['allocation']['devices']],
            [('cuda:0', gpu * 1e3), ('cpu:0', cores * 1e3)])
        self.assertEqual(plan['allocation']['devices'][1]['train_ms'], 0)
        # What the GPU's sampler takes is as if it were alone.
        self.assertEqual(bytes_of(plan), bytes_of(self.plan(ALONE)))
        words = self.service.job_words({**JOB, **mixed})
        self.assertRegex(
            self.service.fgnn('plan', *words).stdout,
            r'sampled in \S+ ms on cores, in \S+ ms on a GPU, and trained in')
        self.assertNotIn('sampling', self.plan(ALONE))

    def test_where_no_gpu_is_a_plan_says_so(self):
        self.set_gpus(GPUS=0)
        plan = self.plan(ALONE)
        self.assertEqual(plan['gpus'], [])
        self.assertRegex(plan['notes'][0],
                         "measured on cores .*NVIDIA's driver")

    def test_a_small_gpu_trains_as_a_large_one(self):
        expected = self.service.run({**JOB, **ALONE}, '--digest')
        roomy = bytes_of(self.plan(ALONE))
        self.shrink_gpus(roomy, roomy['topology'] * 3 // 4)
        plan = self.plan(ALONE)
        self.assertTrue(plan['topology_on_host'])
        self.assertIn('pinned', str(plan['memory']))
        self.assertTrue(0 < plan['cache_rows'] < 2000, plan['cache_rows'])
        run_dir = self.service.run({**JOB, **ALONE}, '--digest')
        self.assert_same_run(run_dir, expected)
        logs = {role: (self.service.state_dir /
                       f'logs/{role}.0.log').read_text()
                for role in ('sampler', 'trainer')}
        self.assertIn("stays in the host's memory", logs['sampler'])
        # The host has room for more, and may not count.
        self.assertEqual(CACHED.findall(logs['trainer']),
                         ['2000', str(plan['cache_rows'])])
        self.assertNotIn('no memory left', logs['trainer'])
        self.assertGreater(
            harness.lines_of(run_dir)[1]['cache_hit_rate'], 0)

    def test_a_standby_trainers_cache_lies_beside_the_topology(self):
        turns = {**JOB, **ALONE, 'executors': 'factored'}
        expected = self.service.run(turns, '--digest')
        roomy = bytes_of(self.plan(turns))
        self.shrink_gpus(roomy, roomy['topology'] + roomy['hot'] +
                         roomy['cache'] // 2)
        plan = self.plan(turns)
        self.assertFalse(plan['topology_on_host'])
        self.assertTrue(0 < plan['cache_rows'] < 1000, plan['cache_rows'])
        self.assertEqual(plan['standby_cache_rows'], plan['cache_rows'])
        run_dir = self.service.run(turns, '--digest')
        self.assert_same_run(run_dir, expected)
        log = (self.service.state_dir / 'logs/trainer.0.log').read_text()
        self.assertEqual(CACHED.findall(log),
                         ['2000', str(plan['cache_rows'])])

    def test_what_fits_nowhere_is_refused_with_sizes(self):
        roomy = bytes_of(self.plan(ALONE))
        self.shrink_gpus(roomy, roomy['hot'] + roomy['cache'] // 2)
        code, said = self.refused({**ALONE, 'cache.capacity': 1})
        self.assertEqual(code, 1, said)
        self.assertRegex(
            said, r'memory of cuda:0: the job needs .* there \(.*hot ranks '
                  r'.* \+ 1 trainer .* \+ 1 cache of 2000 rows 125.0 KiB\) '
                  r"beside a topology in the host's memory, and it has .*; "
                  r'lower cache.capacity')
        self.shrink_gpus(roomy, -1)
        code, said = self.refused(ALONE)
        self.assertEqual(code, 1, said)
        self.assertRegex(said, 'memory of cuda:0: .*; lower sampling.batch_size'
                               '.*let cores sample')
