"""Link prediction, from the split of a graph's edges to embeddings."""

import harness
from npy_array import Array, values


class LinkTest(harness.ServiceTest):

    # Edges stay within twenty blocks; a vertex's own features say little.
    graph = ('--nodes', '2000', '--features', '16', '--classes', '20',
             '--average-degree', '20', '--homophily', '1',
             '--feature-noise', '2', '--seed', '7')
    job = {'training.task': 'link_prediction', 'training.epochs': 4,
           'training.learning_rate': 0.01, 'model.dropout': 0,
           'sampling.batch_size': 512}

    def setUp(self):
        super().setUp()
        self.whole = self.service.dataset
        self.service.dataset = self.service.folder / 'split'
        self.service.fgnn('dataset', 'split-edges', str(self.whole),
                          '--valid', '0.05', '--test', '0.1', '--seed', '3',
                          '--out', str(self.service.dataset))

    def summary(self, run_dir):
        return harness.summary_of(run_dir)

    def assert_refused(self, *names, settings):
        run = self.service.fgnn('run', *self.service.job_words(settings),
                                check=False)
        self.assertEqual(run.returncode, 2, run.stdout + run.stderr)
        self.assertEqual(len(run.stderr.splitlines()), 1, run.stderr)
        for name in names:
            self.assertIn(str(name), run.stderr)
        self.assert_nothing_left()

    def test_embeddings_learn_which_vertices_are_joined(self):
        untrained = self.summary(self.service.run(
            {**self.job, 'training.epochs': 1,
             'training.learning_rate': 1e-12}))
        run_dir = self.service.folder / 'run'
        run = self.service.fgnn('run', *self.service.job_words(self.job),
                                '--run-dir', str(run_dir))
        trained = self.summary(run_dir)
        self.assertGreater(trained['test_mrr'], 1.5 * untrained['test_mrr'])
        self.assertLess(trained['test_mean_rank'],
                        0.7 * untrained['test_mean_rank'])
        self.assertGreater(trained['test_roc_auc'], 0.8)
        self.assertNotIn('test_accuracy', trained)
        epochs = harness.lines_of(run_dir)
        self.assertEqual(len(epochs), 4)
        self.assertEqual(trained['valid_mrr'],
                         max(epoch['valid_mrr'] for epoch in epochs))
        for epoch in epochs:
            self.assertGreaterEqual(epoch['valid_mean_rank'], 1)
            self.assertNotIn('valid_accuracy', epoch)
        self.assertIn('valid MRR', run.stdout)
        self.assertIn('test MRR', run.stdout)
        self.assertNotIn('accuracy', run.stdout)

        out = run_dir / 'rows.npy'
        self.service.fgnn('predict', str(run_dir), '--dataset',
                          str(self.service.dataset), '--what', 'embeddings',
                          '--out', str(out))
        self.assertEqual(Array(out).header['shape'], (2000, 16))
        for what in ('classes', 'probabilities'):
            refused = self.service.fgnn(
                'predict', str(run_dir), '--dataset',
                str(self.service.dataset), '--what', what, '--out', str(out),
                '--force', check=False)
            self.assert_user_error(refused, '--what embeddings')

    def test_a_graph_whose_edges_are_all_trained_on_is_told_of(self):
        """Where the job is submitted, or planned; and the way out works."""
        words = self.service.job_words({**self.job, 'training.epochs': 1},
                                       dataset=str(self.whole))
        way_out = f"'fgnn dataset split-edges {self.whole} --out DIR'"
        for command in (['run'], ['run', '--quiet'], ['plan']):
            answer = self.service.fgnn(*command, *words)
            self.assertEqual(answer.stderr.count(way_out), 1, answer.stderr)
        self.assertIn(way_out, self.service.json('plan', *words)['notes'][0])
        self.service.fgnn('up')
        self.assertIn(way_out, self.service.json('submit', *words)['notes'][0])
        self.service.fgnn(*way_out[6:-4].split(),
                          str(self.service.folder / 'held'))
        words += ['--set', f'dataset={self.service.folder / "held"}']
        self.assertEqual(self.service.json('submit', *words)['notes'], [])

    def test_neither_trainers_nor_samplers_change_a_bit(self):
        fields = {**self.job, 'training.epochs': 1,
                  'training.batches_per_step': 3}
        alone = self.service.run(fields, '--digest')
        many = self.service.run({**fields, 'samplers': 2, 'trainers': 3},
                                '--digest')
        self.assert_same_digests(alone, many)
        self.assert_same_weights(alone, many)

    def test_no_label_is_needed(self):
        for name in ('labels.npy', 'train.npy', 'valid.npy', 'test.npy'):
            (self.service.dataset / name).unlink()
        metadata = self.service.dataset / 'metadata.yaml'
        metadata.write_text(metadata.read_text().replace(
            'num_classes: 20', 'num_classes: 0'))
        summary = self.summary(self.service.run(
            {**self.job, 'training.epochs': 1}))
        self.assertEqual(summary['state'], 'completed')

    def test_test_edges_that_are_trained_on_are_warned_of(self):
        clean = self.summary(self.service.run(
            {**self.job, 'training.epochs': 1}))
        self.assertNotIn('warning', clean)
        # Reversed, so that nothing but their reverses is in the graph.
        trained = values((self.service.dataset / 'train_edges.npy')
                         .read_bytes())
        edges = Array(self.service.dataset / 'test_edges.npy')
        count = edges.header['shape'][0]
        edges.put(0, *(end for i in range(0, 2 * count, 2)
                       for end in (trained[i + 1], trained[i])))
        leak = f'{count} of {count} edges of test_edges.npy are trained on'
        run_dir = self.service.folder / 'run'
        run = self.service.fgnn(
            'run', *self.service.job_words({**self.job, 'training.epochs': 2}),
            '--run-dir', str(run_dir))
        self.assertEqual((run.stdout + run.stderr).count(leak), 1)
        self.assertIn(leak, self.summary(run_dir)['warning'])

        self.service.fgnn('up')
        job = self.service.submit({**self.job, 'training.epochs': 1})
        watched = self.service.fgnn('watch', job)
        self.assertEqual((watched.stdout + watched.stderr).count(leak), 1)
        self.assertIn(leak, self.service.fgnn('show', job).stdout)
        self.assertIn(leak, self.service.fgnn('logs', job).stdout)

    def test_bad_input_is_named(self):
        links = self.job
        self.assert_refused('training.negatives', 'link_prediction',
                            settings={'training.negatives': 3})
        self.assert_refused('model.kind gcn', 'graphsage',
                            settings={**links, 'model.kind': 'gcn'})
        self.assert_refused('training.label_smoothing',
                            settings={**links,
                                      'training.label_smoothing': 0.1})
        edges = self.service.dataset / 'train_edges.npy'
        Array(edges).put(5, 2000)
        self.assert_refused(edges, 'row 2, column 1 is 2000', settings=links)
        edges.unlink()
        (self.service.dataset / 'valid_edges.npy').unlink()
        self.assert_refused('training.patience', 'valid_edges.npy',
                            settings={**links, 'training.patience': 2})

    def test_edges_are_split_once(self):
        ends = [values((self.service.dataset / f'{name}_edges.npy').read_bytes())
                for name in ('train', 'valid', 'test')]
        edges = len(values((self.whole / 'indices.npy').read_bytes()))
        self.assertEqual(sum(map(len, ends)), 2 * edges)
        for share, part in zip((0.85, 0.05, 0.1), ends):
            self.assertAlmostEqual(len(part) / 2 / edges, share, delta=0.02)
        for words in ((str(self.service.dataset), '--out', 'x'),
                      (str(self.whole), '--valid', '1', '--out', 'x'),
                      (str(self.whole), '--valid', '0.5', '--test', '0.5',
                       '--out', 'x')):
            refused = self.service.fgnn('dataset', 'split-edges', *words,
                                        check=False,
                                        cwd=self.service.folder)
            self.assertEqual(refused.returncode, 2, refused.stderr)
            self.assertEqual(len(refused.stderr.splitlines()), 1)
