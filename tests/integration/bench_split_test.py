"""`fgnn bench split`: what batches of several parts save, beside real jobs."""

import json

import harness

FEATURES = 16  # Columns of the graph of ServiceTest.


class BenchSplitTest(harness.ServiceTest):

    def split(self, *words, check=True):
        return self.service.fgnn(
            'bench', 'split', '--dataset', self.service.dataset, '--fanouts',
            '4,3', '--batch-size', '32', '--batches', '12', '--rounds', '2',
            *words, check=check)

    def test_split(self):
        self.assert_user_error(self.split(check=False),
                               "make one with 'fgnn dataset partition")
        self.service.fgnn('dataset', 'partition', self.service.dataset)
        report = json.loads(self.split('--hidden', '8', '--precision', 'bf16',
                                       '--cache', '0,0.2', '--json').stdout)
        self.assertEqual([row['parts'] for row in report['rows']], [2, 4])
        whole = None
        for row in report['rows']:
            whole = whole or row['whole_hops']
            self.assertEqual(row['whole_hops'], whole)
            for hop, parts in zip(whole, row['part_hops']):
                for count in ('destinations', 'edges', 'sources'):
                    self.assertEqual(parts[count], hop[count])
            # Behind the hidden layer, and features.
            hidden, features = row['sent']
            self.assertEqual([hidden['layer'], features['layer']], [1, 0])
            self.assertEqual(hidden['bytes'], 16 * hidden['remote_rows'])
            self.assertEqual(features['bytes'], 4 * FEATURES *
                             features['remote_rows'])
            self.assertAlmostEqual(
                row['unshared_loads'],
                features['remote_rows'] / features['rows'])
            without, cached = row['loaded']
            self.assertEqual(without['split'], whole[-1]['sources'])
            self.assertEqual(without['micro_alone'],
                             row['micro_hops'][-1]['sources'])
            self.assertGreater(cached['micro_alone'], cached['micro_shared'])
            self.assertGreater(cached['micro_shared'], cached['split'])
            self.assertGreater(row['milliseconds']['ratio'], 0)
        two, four = report['rows']
        self.assertGreater(two['local_edges'], four['local_edges'])
        self.assertGreater(four['load_redundancy'], two['load_redundancy'])
        self.assertIn('unshared', self.split().stdout)
        for flag, value in (('--parts', '3'), ('--parts', '32'),
                            ('--cache', '2')):
            self.assert_user_error(self.split(flag, value, check=False), flag)

    # Trainers that share a cache load each row of a batch once.
    def test_split_counts_what_a_job_loads_and_sends(self):
        self.service.fgnn('dataset', 'partition', self.service.dataset)
        # Two epochs of 18 batches and one of 24 seeds.
        row, = json.loads(self.service.fgnn(
            'bench', 'split', '--dataset', self.service.dataset, '--fanouts',
            '4,3', '--batch-size', '32', '--batches', '38', '--rounds', '1',
            '--parts', '2', '--cache', '0,0.2', '--hidden', '8',
            '--json').stdout)['rows']
        hidden, features = (sent['bytes'] for sent in row['sent'])
        for cache, loaded in zip((0, 0.2), row['loaded']):
            run_dir = self.service.run({
                'sampling.fanouts': '[4, 3]', 'sampling.batch_size': 32,
                'model.hidden': 8, 'training.parts': 2,
                'training.batches_per_step': 1,
                'executors': 'together', 'trainers': 2,
                'training.share_inputs': 'on', 'training.evaluate_every': 0,
                'training.seed': 1, 'cache.capacity': cache or 'auto',
                'cache.policy': 'presc' if cache else 'none'})
            lines = harness.lines_of(run_dir)
            self.assertEqual(sum(line['rows_loaded'] for line in lines),
                             loaded['split'])
            self.assertEqual(sum(line['message_bytes'] for line in lines),
                             2 * hidden + features)
