"""`fgnn bench`: what it prints, and that what it sampled is a sample."""

import collections
import json
import os
import re
import signal
import subprocess
import time
import xml.etree.ElementTree
import zipfile

import harness
from npy_array import values

FANOUTS = (4, 3, -1)
BATCH_SIZE = 50
BATCHES = 3
WORDS = ('--fanouts', ','.join(map(str, FANOUTS)), '--batch-size',
         str(BATCH_SIZE), '--batches', str(BATCHES), '--rounds', '2')


def read_npz(path):
    """{name: values} of an archive whose checksums are right."""
    with zipfile.ZipFile(path) as archive:
        return {name.removesuffix('.npy'): values(archive.read(name))
                for name in archive.namelist()}


class BenchTest(harness.ServiceTest):

    def beside_two_step(self, *words):
        """What fgnn_bench_sample prints, which is no command of fgnn."""
        return subprocess.run(
            [harness.BIN_DIR / 'fgnn_bench_sample', '--baseline', 'two-step',
             '--dataset', self.service.dataset, *WORDS, *words], check=True,
            timeout=harness.COMMAND_SECONDS, stdout=subprocess.PIPE,
            text=True).stdout

    def bench(self, *words):
        return json.loads(self.service.fgnn(
            'bench', *words[:1], '--dataset', self.service.dataset, *WORDS,
            *words[1:], '--json').stdout)

    def array(self, name):
        return values((self.service.dataset / name).read_bytes())

    def assert_sampled(self, batch, indptr, indices, train):
        """That a batch is one of k-hop sampling, by the dataset alone."""
        nodes = batch['input_nodes']
        seeds = batch['seeds']
        self.assertEqual(len(seeds), BATCH_SIZE)
        self.assertLessEqual(set(seeds), set(train))
        self.assertEqual(nodes[:len(seeds)], seeds)
        self.assertEqual(len(set(nodes)), len(nodes), 'a vertex twice')
        known = len(seeds)
        for hop, fanout in enumerate(FANOUTS):
            offsets = batch[f'hop{hop}_indptr']
            local_ids = batch[f'hop{hop}_indices']
            # The destinations are all vertices so far.
            self.assertEqual(len(offsets), known + 1)
            self.assertEqual((offsets[0], offsets[-1]), (0, len(local_ids)))
            for v, begin, end in zip(nodes, offsets, offsets[1:]):
                there = collections.Counter(indices[indptr[v]:indptr[v + 1]])
                drawn = collections.Counter(
                    nodes[i] for i in local_ids[begin:end])
                self.assertLessEqual(drawn, there, 'edges that are not there')
                degree = there.total()
                self.assertEqual(
                    end - begin, degree if fanout < 0 else min(fanout, degree))
            # Local ids in order of first appearance.
            for local_id in local_ids:
                self.assertLessEqual(local_id, known)
                known += local_id == known
        self.assertEqual(known, len(nodes))

    def test_sample(self):
        dump = self.service.folder / 'dump'
        report = self.bench('sample', '--dump', dump)
        self.assertEqual(report['algorithm'], 'khop')
        self.assertEqual(report['fanouts'], list(FANOUTS))
        self.assertEqual((report['batch_size'], report['batches'],
                          report['threads']), (BATCH_SIZE, BATCHES, 1))
        # None: a build with sanitizers.
        self.assertIn(report['allocations_per_batch'], (0, None))
        self.assertGreater(report['workspace_bytes_per_node'], 4)
        self.assertAlmostEqual(report['edges_per_second'],
                               report['edges'] / report['seconds'],
                               delta=report['edges_per_second'] * 1e-6)
        self.assertEqual(list(report['stages']),
                         ['sample', 'id_map', 'mark', 'copy'])
        self.assertNotIn('baseline', report)

        self.assertEqual(sorted(path.name for path in dump.iterdir()),
                         [f'batch-{i}.npz' for i in range(BATCHES)])
        indptr = self.array('csc_indptr.npy')
        indices = self.array('indices.npy')
        train = self.array('train.npy')
        seen = set()
        for i in range(BATCHES):
            batch = read_npz(dump / f'batch-{i}.npz')
            self.assert_sampled(batch, indptr, indices, train)
            self.assertTrue(seen.isdisjoint(batch['seeds']))
            seen.update(batch['seeds'])

    def test_sample_beside_a_baseline(self):
        report = json.loads(self.beside_two_step('--json'))
        self.assertEqual(report['baseline']['name'], 'two-step')
        self.assertGreater(report['baseline']['ratio'], 0)
        self.assertNotEqual(report['baseline']['allocations_per_batch'], 0)
        self.assertIn('times as fast as two-step', self.beside_two_step())

    def test_dumps_depend_on_the_seed_alone(self):
        contents = []
        for i, words in enumerate((('--seed', '4'),
                                   ('--seed', '4', '--threads', '2'),
                                   ('--seed', '5'))):
            dump = self.service.folder / f'dump-{i}'
            self.bench('sample', '--dump', dump, *words)
            contents.append([(dump / f'batch-{b}.npz').read_bytes()
                             for b in range(BATCHES)])
        self.assertEqual(contents[0], contents[1])
        for one, other in zip(contents[0], contents[2]):
            self.assertNotEqual(one, other)

    def test_numpy_reads_a_dump(self):
        try:
            import numpy
        except ImportError:
            self.skipTest('NumPy is not installed')
        dump = self.service.folder / 'dump'
        self.bench('sample', '--dump', dump)
        ours = read_npz(dump / 'batch-0.npz')
        with numpy.load(dump / 'batch-0.npz') as theirs:
            self.assertEqual(set(theirs), set(ours))
            for name, array in ours.items():
                self.assertEqual(theirs[name].dtype, numpy.uint32)
                self.assertEqual(theirs[name].tolist(), array)

    def test_idmap(self):
        report = self.bench('idmap')
        self.assertGreater(report['ids'], report['nodes'])
        self.assertEqual([row['id_map'] for row in report['id_maps']],
                         ['direct', 'hash'])
        self.assertEqual([row['chosen'] for row in report['id_maps']],
                         [True, False])
        for row in report['id_maps']:
            self.assertGreater(row['ids_per_second'], 0)
            self.assertGreater(row['random_updates_per_second'], 0)

    def extract(self, *words, **options):
        return self.service.fgnn('bench', 'extract', '--batch-rows', '100',
                                 '--batches', '2', '--rounds', '2', *words,
                                 **options)

    def test_extract(self):
        for words in (('--dataset', self.service.dataset),
                      ('--rows', '1000', '--columns', '3', '--type', 'f16')):
            report = json.loads(self.extract(
                *words, '--threads', '2', '--capacity', '150', '--hit-rate',
                '0.75', '--json').stdout)
            width = {'f32': 4, 'f16': 2}[report['type']] * report['columns']
            self.assertEqual(report['rows'], 200)
            self.assertEqual(report['bytes'], 200 * width)
            self.assertEqual(report['hit_rate'], 0.75)
            self.assertAlmostEqual(report['bytes_per_second'],
                                   report['bytes'] / report['seconds'],
                                   delta=report['bytes_per_second'] * 1e-6)
            self.assertGreater(report['copy_bytes_per_second'], 0)
            self.assertGreater(report['uncached_bytes_per_second'], 0)
        disk = self.extract('--dataset', self.service.dataset, '--store',
                            'disk', '--json', check=False)
        if not ('io_uring is refused' in disk.stderr or
                'O_DIRECT' in disk.stderr):
            report = json.loads(disk.stdout)
            self.assertGreater(report['reads_per_second'], 0)
            self.assertIsNone(report['copy_bytes_per_second'])
        self.assertIn('plain copy', self.extract('--rows', '1000').stdout)
        for words, says in ((('--rows', '99'), '--batch-rows 100'),
                            (('--store', 'disk'), '--dataset'),
                            (('--rows', '1000', '--hit-rate', '0.5'),
                             '--capacity')):
            refused = self.extract(*words, check=False)
            self.assert_user_error(refused, says)

    def test_extract_and_aggregate(self):
        words = ('--rows', '1000', '--columns', '65', '--type', 'f16',
                 '--edges-per-row', '2.5')
        report = json.loads(self.extract(*words, '--json').stdout)
        self.assertEqual(report['destinations'], 100)
        self.assertEqual(report['edges'], 500)
        self.assertAlmostEqual(
            report['time_ratio'], report['in_place']['seconds'] /
            report['extract_first']['seconds'], delta=1e-6)
        self.assertLess(report['bytes_ratio'], 1)
        self.assertIn('in place', self.extract(*words).stdout)
        refused = self.extract('--dataset', self.service.dataset, '--store',
                               'disk', '--edges-per-row', '2', check=False)
        self.assertNotEqual(refused.returncode, 0)

    def cache(self, *words):
        return self.service.fgnn(
            'bench', 'cache', '--dataset', self.service.dataset, '--fanouts',
            '4,3', '--batch-size', str(BATCH_SIZE), *words).stdout

    def test_cache(self):
        plot = self.service.folder / 'hits.svg'
        policies = ['presc#1', 'presc#8', 'degree', 'random', 'vip', 'auto',
                    'optimal']
        report = json.loads(self.cache(
            '--policies', ','.join(policies), '--capacities', '0.1,0.3,1',
            '--epochs', '3', '--plot', plot, '--json'))
        self.assertEqual([entry['policy'] for entry in report['policies']],
                         policies)
        self.assertEqual([(row['policy'], row['capacity'])
                          for row in report['rows']],
                         [(policy, capacity) for policy in policies
                          for capacity in (0.1, 0.3, 1)])
        self.assertEqual(report['row_bytes'], 4 * self.num_features())
        self.assertTrue(0 < report['similarity'] <= 1)
        rates = {}
        for row in report['rows']:
            self.assertLessEqual(row['hit_rate'], row['optimal_hit_rate'])
            self.assertAlmostEqual(
                row['bytes_missed'],
                (1 - row['hit_rate']) * report['input_nodes_per_epoch'] *
                report['row_bytes'], delta=1)
            rates[row['policy'], row['capacity']] = row['hit_rate']
            if row['policy'] == 'optimal':
                self.assertEqual(row['hit_rate'], row['optimal_hit_rate'])
            if row['capacity'] == 1:
                self.assertEqual(row['hit_rate'], 1)
        self.assertGreater(rates['presc#8', 0.3], rates['random', 0.3])
        self.assertGreater(rates['auto', 0.3], rates['random', 0.3])

        root = xml.etree.ElementTree.parse(plot).getroot()
        svg = '{http://www.w3.org/2000/svg}'
        self.assertEqual(len(root.findall(svg + 'polyline')),
                         len(policies) + 1)
        texts = [text.text for text in root.iter(svg + 'text')]
        self.assertIn('presc#8', texts)
        self.assertIn('optimum', texts)

    def num_features(self):
        header = (self.service.dataset / 'features.npy').read_bytes()[:200]
        return int(re.search(rb"'shape': \(\d+, (\d+)\)", header)[1])

    def test_cache_refuses_a_policy_that_is_none(self):
        failed = self.service.fgnn(
            'bench', 'cache', '--dataset', self.service.dataset, '--policies',
            'lru', check=False)
        self.assert_user_error(failed, "'lru' is no cache policy")

    def match(self, *words, check=True):
        return self.service.fgnn(
            'bench', 'match', '--dataset', self.service.dataset, '--fanouts',
            '4,3', '--batch-size', str(BATCH_SIZE), '--batches', '12', *words,
            check=check)

    def test_match(self):
        words = ('--cache', '0,0.2', '--dependency', '1,4')
        report = json.loads(self.match(
            *words, '--window', '6', '--threads', '2', '--json').stdout)
        self.assertEqual((report['batches'], report['window']), (12, 6))
        self.assertEqual(report['row_bytes'], 4 * self.num_features())
        self.assertEqual([(row['dependency'], row['cache'])
                          for row in report['rows']],
                         [(1, 0), (1, 0.2), (4, 0), (4, 0.2)])
        for row in report['rows']:
            self.assertEqual(row['missed'] - row['matched'], row['loaded'])
            self.assertEqual(len(row['trainers']), 1)
            # By the smaller batch, and by either one.
            self.assertGreaterEqual(row['match_degree'], row['mean_match'])
            self.assertLessEqual(row['match_degree_spread'], 1)
            self.assertEqual(row['loaded_with_kept']['1'], row['loaded'])
            self.assertLessEqual(row['best'], row['greedy'])
            self.assertLessEqual(row['best'], row['loaded'])
            self.assertAlmostEqual(
                row['hit_rate'], 1 - row['missed'] / row['input_nodes'])
            if row['cache'] == 0:
                self.assertEqual(row['missed'], row['input_nodes'])
                self.assertEqual(row['belady_hit_rate'], {'16': 0, '64': 0})
            else:
                self.assertGreater(row['belady_hit_rate']['64'],
                                   row['hit_rate'])
        alone, _, sharing, _ = report['rows']
        self.assertLess(sharing['loaded'] / sharing['missed'],
                        alone['loaded'] / alone['missed'])
        long_window = json.loads(self.match(*words, '--json').stdout)
        self.assertIsNone(long_window['rows'][0]['best'])
        for row, other in zip(report['rows'], long_window['rows']):
            self.assertEqual(row['loaded'], other['loaded'])
        self.assertIn('Belady 64', self.match().stdout)
        self.assertNotIn('rows of each trainer', self.match().stdout)
        self.assertIn('rows of each trainer',
                      self.match('--trainers', '2').stdout)
        dealt = json.loads(self.match(
            *words, '--window', '6', '--trainers', '3', '--json').stdout)
        for row, other in zip(report['rows'], dealt['rows']):
            self.assertIsNone(other['best'])
            self.assertEqual(row['missed'], other['missed'])
            for count in ('input_nodes', 'missed', 'matched', 'loaded',
                          'greedy'):
                self.assertEqual(
                    sum(trainer[count] for trainer in other['trainers']),
                    other[count])
        for flag, value in (('--cache', '2'), ('--dependency', '0'),
                            ('--window', '65'), ('--batches', '0'),
                            ('--trainers', '65')):
            refused = self.match(flag, value, check=False)
            self.assert_user_error(refused, flag)

    # Two epochs of 20 batches, the last of each smaller. One thread samples
    # and one trainer takes the batches in their order.
    def test_match_counts_what_a_job_loads(self):
        job = {'sampling.fanouts': '[4, 3]', 'sampling.batch_size': 31,
               'sampling.threads': 1, 'training.batches_per_step': 1,
               'training.evaluate_every': 0, 'training.seed': 1,
               'features.store': 'disk', 'features.match': 'on',
               'cache.capacity': 0.2}
        counted = json.loads(self.service.fgnn(
            'bench', 'match', '--dataset', self.service.dataset, '--fanouts',
            '4,3', '--batch-size', '31', '--batches', '40', '--window', '16',
            '--cache', '0,0.2', '--dependency', '1,8', '--json').stdout)
        for row in counted['rows']:
            job['cache.policy'] = 'presc' if row['cache'] else 'none'
            job['sampling.batch_dependency'] = row['dependency']
            for order, count in (('drawn', 'loaded'), ('matched', 'greedy')):
                job['sampling.order'] = order
                with self.subTest(job):
                    lines = harness.lines_of(self.service.run(job))
                    self.assertEqual(sum(line['input_nodes']
                                         for line in lines),
                                     row['input_nodes'])
                    self.assertEqual(sum(line['rows_loaded']
                                         for line in lines), row[count])

    def test_epoch(self):
        words = ('bench', 'epoch', '--dataset', str(self.service.dataset),
                 '--hidden', '8', '--fanouts', '3,2', '--batch-size', '50',
                 '--batches', '20', '--devices', 'cpu:0')
        report = json.loads(self.service.fgnn(*words, '--json').stdout)
        self.assertEqual(report['model'], 'graphsage')
        self.assertEqual(report['fanouts'], [3, 2])
        # 600 seeds are 12 batches, so that two epochs count.
        self.assertEqual((report['batches'], report['epochs']), (12, 2))
        self.assertAlmostEqual(report['milliseconds_per_batch'],
                               1e3 * report['seconds'] / 12)
        self.assertGreater(report['stages']['train'], 0)
        self.assertRegex(self.service.fgnn(*words).stdout, 'ms a batch')
        self.assert_nothing_left()

    def test_an_interrupted_epoch_leaves_nothing(self):
        # The service's folder, and all that a test looks for.
        temporary = self.service.folder / 'tmp'
        temporary.mkdir()
        bench = subprocess.Popen(
            [harness.BIN_DIR / 'fgnn', 'bench', 'epoch', '--dataset',
             self.service.dataset, '--batches', '999999', '--devices',
             'cpu:0'], env={**os.environ, 'TMPDIR': str(temporary)},
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(bench.kill)
        own = harness.Service(self.service.folder)
        deadline = time.monotonic() + harness.COMMAND_SECONDS
        while not list(temporary.glob('fgnn-*/runs/*/metrics.jsonl')):
            self.assertLess(time.monotonic(), deadline, 'no epoch ended')
            self.assertIsNone(bench.poll(), 'the benchmark ended')
        own.state_dir, = temporary.glob('fgnn-*')
        self.addCleanup(own.kill_all)
        bench.send_signal(signal.SIGINT)
        _, errors = bench.communicate(timeout=harness.COMMAND_SECONDS)
        self.assertEqual(bench.returncode, 130, errors)
        self.assertEqual(own.wait_until_gone(), {}, 'processes were left')
        self.assertEqual(list(temporary.iterdir()), [])

    def test_train(self):
        words = ('bench', 'train', '--dataset', str(self.service.dataset),
                 '--hidden', '8', '--fanouts', '3,2', '--batch-size', '50',
                 '--batches', '7', '--devices', 'cpu:0')
        report = json.loads(self.service.fgnn(*words, '--json').stdout)
        self.assertEqual((report['batches'], report['epochs']), (7, 5))
        self.assertEqual(list(report['stages']),
                         ['sample', 'extract', 'train', 'sync'])
        self.assertAlmostEqual(report['milliseconds_per_batch'],
                               1e3 * report['seconds'] / 7)
        self.assertRegex(self.service.fgnn(*words).stdout,
                         'medians of 5 rounds')
        answer = self.service.fgnn(*words, 'cpu:1', check=False)
        self.assert_user_error(answer, '--devices')

    def test_epoch_refuses_what_a_job_refuses(self):
        for words, named in ((('--hidden', '0'), 'model.hidden'),
                             (('--layers', '2'), 'model.layers'),
                             (('--model', 'gct'), 'gcn')):
            answer = self.service.fgnn(
                'bench', 'epoch', '--dataset', str(self.service.dataset),
                *words, check=False)
            self.assert_user_error(answer, named)

    def test_tables_for_people(self):
        self.assertIn('(optimum)', self.cache())
        for word, says in (('sample', 'bytes a vertex'),
                           ('idmap', 'in use for this dataset')):
            out = self.service.fgnn('bench', word, '--dataset',
                                    self.service.dataset, *WORDS).stdout
            self.assertIn(says, out)
