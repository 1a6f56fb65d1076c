"""fgnn.loader: the service's batches in a training loop of one's own."""

import collections
import gc
import os
import pathlib
import re
import threading

import numpy

import harness
import python_package

fgnn = python_package.load()

SAMPLING = {'fanouts': [5, 5], 'batch_size': 32}


def digests(batches):
    return [f'{batch.seq} {batch.digest:08x}' for batch in batches]


def epochs(loader, count):
    return [batch for _ in range(count) for batch in loader]


class LoaderTest(harness.ServiceTest):

    def setUp(self):
        super().setUp()
        path = os.environ['PATH']
        self.addCleanup(os.environ.update, PATH=path)
        self.addCleanup(os.environ.pop, 'XDG_CACHE_HOME')
        os.environ['PATH'] = f'{harness.BIN_DIR.resolve()}:{path}'
        os.environ['XDG_CACHE_HOME'] = str(self.service.folder / 'cache')

    def loader(self, **fields):
        return fgnn.loader(self.service.dataset,
                           **{'layout': 'numpy', **SAMPLING, **fields})

    def run_job(self, **settings):
        """The digests of two epochs of the service."""
        run_dir = self.service.run(
            {'training.epochs': 2, 'sampling.fanouts': '[5, 5]',
             'sampling.batch_size': 32, 'training.seed': 1,
             'training.evaluate_every': 0, **settings}, '--digest')
        return list(harness.digests_of(run_dir))

    def test_batches_are_those_of_the_service(self):
        cases = (
            ({}, {}),
            ({'sampling.kind': 'labor', 'training.seed': 7},
             {'kind': 'labor', 'seed': 7}),
            ({'sampling.kind': 'random_walk', 'model.kind': 'pinsage'},
             {'kind': 'random_walk'}),
            ({'sampling.resample': 'false', 'sampling.replace': 'true'},
             {'resample': False, 'replace': True}),
            ({'sampling.batch_dependency': 4}, {'batch_dependency': 4}),
            ({'sampling.order': 'matched', 'sampling.window': 8,
              'training.batches_per_step': 1},
             {'order': 'matched', 'window': 8}),
            ({'training.task': 'link_prediction'},
             {'task': 'link_prediction'}),
            ({'features.store': 'disk'}, {'store': 'disk'}))
        for settings, fields in cases:
            with self.subTest(str(fields)):
                expected = self.run_job(**settings)
                for threads in (1, 3):
                    loader = self.loader(threads=threads, **fields)
                    self.assertEqual(digests(epochs(loader, 2)), expected)

    def test_a_job_file_gives_the_batches_of_its_job(self):
        job = self.service.folder / 'own.yaml'
        job.write_text(
            'dataset: graph\nmodel: {layers: 3}\n'
            'sampling: {fanouts: [3, 4, 5], batch_size: 64}\n'
            'training: {epochs: 1, seed: 5, evaluate_every: 0}\n', 'utf-8')
        run_dir = self.service.folder / 'run'
        self.service.fgnn('run', job, '--run-dir', run_dir, '--digest')
        self.assertEqual(digests(fgnn.loader(job=job, layout='blocks')),
                         list(harness.digests_of(run_dir)))
        # Fields by name go before those of the file.
        first = next(iter(fgnn.loader(job=job, layout='blocks',
                                      fanouts=[2, 2, 2])))
        self.assertEqual(max(numpy.diff(first.blocks[-1].indptr)), 2)

    def test_ranks_share_out_the_same_batches(self):
        expected = digests(epochs(self.loader(drop_last='none'), 2))
        for world in (2, 3):
            found = [line for rank in range(world) for line in digests(epochs(
                self.loader(rank=rank, world=world, drop_last='none'), 2))]
            self.assertEqual(sorted(found), sorted(expected))
        steps = [epochs(self.loader(rank=rank, world=3), 1) for rank in range(3)]
        self.assertEqual({len(batches) for batches in steps},
                         {len(expected) // 2 // 3})
        for step, batches in enumerate(zip(*steps)):
            self.assertEqual([batch.seq for batch in batches],
                             [3 * step, 3 * step + 1, 3 * step + 2])

    def test_a_state_goes_on_in_the_middle_of_an_epoch(self):
        expected = digests(epochs(self.loader(), 2))
        loader = self.loader(threads=3)
        seen = []
        for batch in loader:
            seen += digests([batch])
            if len(seen) == 7:
                state = loader.state_dict()
                break
        other = self.loader(threads=1, ahead=1)
        other.load_state_dict(state)
        self.assertEqual(seen + digests(epochs(other, 2)), expected)
        # Two ranks deal out the rest from there.
        rest = []
        for rank in range(2):
            other = self.loader(rank=rank, world=2, drop_last='none')
            other.load_state_dict(state)
            rest += digests(other)
        size = other.batches_per_epoch
        self.assertEqual(sorted(seen + rest), sorted(expected[:size]))

    def test_a_loop_that_breaks_off_begins_with_the_next_epoch(self):
        loader = self.loader()
        size = loader.batches_per_epoch
        self.assertEqual(len(loader), size)
        first = next(iter(loader))
        self.assertEqual((first.seq, loader.epoch), (0, 1))
        # What is saved behind it goes on as the program itself does.
        other = self.loader()
        other.load_state_dict(loader.state_dict())
        self.assertEqual([next(iter(one)).seq for one in (loader, other)],
                         [size, size])
        # A loop that has taken nothing leaves nothing out.
        iter(loader)
        self.assertEqual(next(iter(loader)).seq, 2 * size)

    def test_a_state_after_the_last_whole_step_is_of_the_next_epoch(self):
        loader = self.loader(rank=0, world=2)
        size = loader.batches_per_epoch
        self.assertEqual(size % 2, 1)
        for _ in loader:
            state = loader.state_dict()
        self.assertEqual((state['batch'], state['epoch']), (size, 1))
        other = self.loader()
        other.load_state_dict(state)
        self.assertEqual(next(iter(other)).seq, size)

    def test_a_second_loop_ends_the_first(self):
        loader = self.loader()
        first = iter(loader)
        next(first)
        second = iter(loader)
        next(second)
        with self.assertRaisesRegex(fgnn.WrongState, 'another loop'):
            next(first)
        state = loader.state_dict()
        next(second)
        loader.load_state_dict(state)
        with self.assertRaisesRegex(fgnn.WrongState, 'a state was'):
            next(second)

    def test_a_state_of_another_job_or_dataset_is_refused(self):
        state = self.loader().state_dict()
        with self.assertRaisesRegex(fgnn.InvalidJob, r'sampling\.fanouts'):
            self.loader(fanouts=[4, 5]).load_state_dict(state)
        with self.assertRaisesRegex(fgnn.InvalidJob, r'training\.seed'):
            self.loader(seed=2).load_state_dict(state)
        with self.assertRaisesRegex(fgnn.InvalidJob, 'split'):
            self.loader(split=[1, 2, 3]).load_state_dict(state)
        with self.assertRaisesRegex(fgnn.InvalidJob, 'state: it is none'):
            self.loader().load_state_dict({'batch': 3})
        matched = {'order': 'matched', 'window': 8}
        chains = self.loader(batches_per_step=2, **matched).state_dict()
        with self.assertRaisesRegex(fgnn.InvalidJob, 'batches_per_step'):
            self.loader(batches_per_step=4, **matched).load_state_dict(chains)
        self.service.fgnn('dataset', 'generate', 'sbm', *self.graph[:-1], '8',
                          '--out', self.service.folder / 'other')
        other = fgnn.loader(self.service.folder / 'other', layout='numpy',
                            **SAMPLING)
        with self.assertRaisesRegex(fgnn.InvalidJob, 'dataset'):
            other.load_state_dict(state)

    def test_arrays_are_those_of_the_dataset(self):
        features = numpy.load(self.service.dataset / 'features.npy')
        labels = numpy.load(self.service.dataset / 'labels.npy')
        indptr = numpy.load(self.service.dataset / 'csc_indptr.npy')
        indices = numpy.load(self.service.dataset / 'indices.npy')
        for batch in self.loader():
            numpy.testing.assert_array_equal(batch.x, features[batch.n_id])
            numpy.testing.assert_array_equal(
                batch.y, labels[batch.n_id[:batch.batch_size]])
            self.assertEqual(sum(batch.num_sampled_nodes), len(batch.n_id))
            for block in batch.blocks:
                self.assertEqual(block.indptr[-1], len(block.indices))
                for v in range(0, block.num_dst, 17):
                    first, last = block.indptr[v:v + 2]
                    vertex = batch.n_id[v]
                    self.assertLessEqual(
                        set(batch.n_id[block.indices[first:last]]),
                        set(indices[indptr[vertex]:indptr[vertex + 1]]))

    def test_seeds_are_ids_or_a_mask_of_the_users(self):
        mask = numpy.zeros(2000, bool)
        mask[[5, 1500, 20]] = True
        for split in (mask, [1500, 5, 20], numpy.array([20, 5, 1500])):
            batch, = self.loader(split=split)
            self.assertEqual(sorted(batch.n_id[:batch.batch_size]),
                             [5, 20, 1500])
        with self.assertRaisesRegex(fgnn.InvalidJob, 'vertex 5 is there twice'):
            self.loader(split=[5, 5])
        with self.assertRaisesRegex(fgnn.InvalidJob, '2000 is not a vertex'):
            self.loader(split=[2000])
        with self.assertRaisesRegex(fgnn.InvalidJob, 'float64'):
            self.loader(split=[.5])
        with self.assertRaisesRegex(fgnn.InvalidJob, 'mask of 30'):
            self.loader(split=numpy.ones(30, bool))
        with self.assertRaisesRegex(fgnn.InvalidJob, 'no vertex'):
            self.loader(split=[])

    def test_seeds_may_come_in_their_order(self):
        loader = self.loader(split='test', shuffle=False, drop_last='none')
        seeds = [batch.n_id[:batch.batch_size] for batch in epochs(loader, 2)]
        test = numpy.load(self.service.dataset / 'test.npy')
        numpy.testing.assert_array_equal(numpy.concatenate(seeds),
                                         numpy.concatenate([test, test]))

    def test_layers_are_the_whole_neighbourhoods_in_order(self):
        indptr = numpy.load(self.service.dataset / 'csc_indptr.npy')
        indices = numpy.load(self.service.dataset / 'indices.npy')
        layers = list(self.loader(fanouts=[3, 3, 3]).layers(batch_size=700))
        self.assertEqual(len(layers), 3)
        for layer in layers[:2]:
            batches = list(layer)
            self.assertEqual([batch.batch_size for batch in batches],
                             [700, 700, 600])
            first = 0
            for batch in batches:
                self.assertIsNone(batch.x)
                last = first + batch.batch_size
                block, = batch.blocks
                numpy.testing.assert_array_equal(
                    batch.n_id[:batch.batch_size], numpy.arange(first, last))
                numpy.testing.assert_array_equal(
                    batch.n_id[block.indices],
                    indices[indptr[first]:indptr[last]])
                first = last

    def test_datasets_may_lack_what_a_loop_does_not_need(self):
        for name in ('train', 'labels', 'features'):
            (self.service.dataset / f'{name}.npy').unlink()
        metadata = self.service.dataset / 'metadata.yaml'
        text = re.sub(r'num_classes: \d+', 'num_classes: 0',
                      metadata.read_text('utf-8'))
        metadata.write_text(re.sub(r'(?m)^feature_.*\n', '', text), 'utf-8')
        for name in ('valid', 'test'):
            (self.service.dataset / f'{name}.npy').unlink()
        with self.assertRaisesRegex(fgnn.InvalidJob, "no vertices in 'train'"):
            self.loader()
        batch, = self.loader(split=[7, 3])
        self.assertEqual((batch.x, batch.y), (None, None))
        self.assertEqual(sorted(batch.n_id[:2]), [3, 7])
        first = next(iter(self.loader(split=[7]).layers()))
        self.assertEqual(first.num_features, 0)

    def test_pairs_of_link_prediction(self):
        batch = next(iter(self.loader(task='link_prediction', negatives=2)))
        self.assertEqual(batch.edge_label_index.shape, (2, 96))
        self.assertEqual(batch.edge_label.sum(), 32)
        self.assertLess(batch.edge_label_index.max(), batch.batch_size)

    def test_targets_are_those_of_the_seeds(self):
        draws = numpy.random.default_rng(3)
        arrays = self.service.folder / 'arrays'
        arrays.mkdir()
        targets = draws.normal(size=(240, 2)).astype('f4')
        targets[5] = numpy.nan  # Not known, and so in no split.
        numpy.save(arrays / 'indptr.npy', 4 * numpy.arange(241))
        numpy.save(arrays / 'indices.npy', draws.integers(0, 240, 960))
        numpy.save(arrays / 'labels.npy', targets)
        numpy.save(arrays / 'train_mask.npy', numpy.arange(240) % 2 == 0)
        self.service.fgnn(
            'dataset', 'import', 'numpy', arrays, '--labels-are', 'numbers',
            '--out', self.service.folder / 'numbers')
        for split, count in (('train', 120), ([5, 7, 9], 3)):
            seen = 0
            for batch in fgnn.loader(
                    self.service.folder / 'numbers', layout='numpy',
                    task='node_regression', split=split, **SAMPLING,
                    drop_last='none'):
                self.assertEqual((batch.y.dtype, batch.y.shape[1]),
                                 (numpy.float32, 2))
                numpy.testing.assert_array_equal(
                    batch.y, targets[batch.n_id[:batch.batch_size]])
                seen += len(batch.y)
            self.assertEqual(seen, count)

    def test_wrong_use_is_told_in_a_line(self):
        for word, fields in (
                ("did you mean 'fanouts'", {'fanout': [5]}),
                ("did you mean 'numpy'", {'layout': 'nunpy'}),
                (r'sampling\.fanouts', {'fanouts': [0, 5]}),
                ('fanouts: there are 9', {'fanouts': [1] * 9}),
                ("fanouts: 'all' is no list", {'fanouts': 'all'}),
                ('split: batches of link_prediction are of the training',
                 {'task': 'link_prediction', 'split': 'valid'}),
                ('device: arrays of layout', {'device': 'cuda'}),
                ('threads: 0 is not in', {'threads': 0}),
                ('rank: 3 is not below world 2', {'rank': 3, 'world': 2}),
                ('drop_last', {'drop_last': 'all'}),
                ('needs the service', {'kind': 'plugin', 'plugin': 'x'}),
                ('world: 900 ranks', {'rank': 0, 'world': 900})):
            with self.subTest(word), self.assertRaisesRegex(fgnn.Error, word):
                self.loader(**fields)
        with self.assertRaisesRegex(fgnn.NotFound, '/nowhere'):
            fgnn.loader('/nowhere', layout='numpy', **SAMPLING)
        with self.assertRaisesRegex(fgnn.InvalidJob, 'give the folder'):
            fgnn.loader(layout='numpy')

    def test_a_dataset_that_changed_is_refused(self):
        loader = self.loader()
        next(iter(loader))
        (self.service.dataset / 'names.txt').write_text('a\n' * 2000, 'utf-8')
        with self.assertRaisesRegex(fgnn.WrongState, 'make it again'):
            next(iter(loader))

    def test_a_process_that_was_forked_is_refused(self):
        loader = self.loader()
        next(iter(loader))
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                next(iter(loader))
            except fgnn.WrongState as error:
                os.write(write, error.message.encode())
            finally:
                os._exit(0)
        os.close(write)
        with os.fdopen(read) as said:
            self.assertIn('forked', said.read())
        os.waitpid(child, 0)
        self.assertEqual(len(list(loader)), loader.batches_per_epoch)

    def test_nothing_grows_and_nothing_stays(self):
        def descriptors():
            return len(os.listdir('/proc/self/fd'))

        def threads():
            return sum(
                pathlib.Path(f'/proc/self/task/{task}/comm').read_text('utf-8')
                .startswith('fgnn-loader')
                for task in os.listdir('/proc/self/task'))

        gc.collect()  # Loaders of other tests.
        loader = self.loader(threads=2)
        collections.deque(loader, 0)
        before, shared = descriptors(), os.listdir('/dev/shm')
        for _ in range(20):
            collections.deque(loader, 0)
        self.assertEqual(descriptors(), before)
        kept = list(loader)
        numbers = [batch.n_id.sum() for batch in kept]
        self.assertEqual(threads(), 2)
        del loader
        gc.collect()
        self.assertEqual(threads(), 0)
        self.assertEqual(os.listdir('/dev/shm'), shared)
        # Batches outlive their loader.
        self.assertEqual([batch.n_id.sum() for batch in kept], numbers)

    def test_a_loader_is_for_one_thread_at_a_time(self):
        loader = self.loader()
        loop = iter(loader)
        takes, may_end = threading.Event(), threading.Event()
        take = loader._take

        def slow():
            takes.set()
            may_end.wait(60)
            return take()

        loader._take = slow
        thread = threading.Thread(target=lambda: next(loop))
        thread.start()
        takes.wait(60)
        with self.assertRaisesRegex(fgnn.WrongState, 'two threads'):
            next(loop)
        may_end.set()
        thread.join()
        self.assertEqual(next(loop).seq, 1)

    def test_pyg_says_what_is_missing(self):
        with self.assertRaisesRegex(fgnn.Error, 'pip install torch'):
            fgnn.loader(self.service.dataset, **SAMPLING)
