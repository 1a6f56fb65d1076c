"""Bad input is answered with one line that names it, and exit code 2; data that
is cut or cannot be read, with 1."""

import math
import os
import re
import shutil
import tempfile
import unittest

import harness
from npy_array import Array, write_array


class BadInputTest(harness.ServiceTest):

    graph = ('--nodes', '500', '--features', '8', '--classes', '4',
             '--train-fraction', '0.3', '--seed', '7')

    def assert_refused(self, *names, settings=None, words=(), code=2):
        """`fgnn run` is refused in one line that has all of `names`."""
        run = self.service.fgnn(
            'run', *self.service.job_words(settings), *words, check=False)
        self.assertEqual(run.returncode, code, run.stdout + run.stderr)
        self.assertEqual(len(run.stderr.splitlines()), 1, run.stderr)
        for name in names:
            self.assertIn(str(name), run.stderr)
        self.assert_nothing_left()

    def file(self, name):
        return self.service.dataset / name

    # The dataset.

    def test_missing_array(self):
        for name in ('csc_indptr.npy', 'indices.npy', 'features.npy',
                     'labels.npy', 'train.npy', 'metadata.yaml'):
            with self.subTest(name):
                aside = self.service.folder / name
                os.rename(self.file(name), aside)
                self.assert_refused(self.service.dataset, name)
                os.rename(aside, self.file(name))

    def test_truncated_array(self):
        for name in ('csc_indptr.npy', 'indices.npy', 'features.npy'):
            with self.subTest(name):
                aside = self.service.folder / name
                shutil.copy(self.file(name), aside)
                os.truncate(self.file(name), os.path.getsize(aside) - 100)
                self.assert_refused(self.file(name), code=1)
                os.rename(aside, self.file(name))

    def test_numbers_that_only_the_author_vouches_for(self):
        text = self.file('metadata.yaml').read_text()
        for key, line in (('num_classes', 'num_classes: 2147483648'),
                          ('feature_columns', 'feature_columns: 99999999')):
            with self.subTest(key):
                self.file('metadata.yaml').write_text(
                    re.sub(f'{key}: .*', line, text))
                self.assert_refused(self.file('metadata.yaml'), key)
        self.file('metadata.yaml').write_text(text)

    def test_a_fifo_among_the_files(self):
        for name in ('metadata.yaml', 'train.npy', 'names.txt'):
            with self.subTest(name):
                aside = self.service.folder / name
                there = self.file(name).exists()
                if there:
                    os.rename(self.file(name), aside)
                os.mkfifo(self.file(name))
                self.assert_refused(self.file(name), 'not a plain file')
                os.remove(self.file(name))
                if there:
                    os.rename(aside, self.file(name))

    def test_index_out_of_range(self):
        Array(self.file('indices.npy')).put(3, 500)
        self.assert_refused(self.file('indices.npy'), 500)

    def test_indptr_that_falls(self):
        Array(self.file('csc_indptr.npy')).put(10, 0)
        self.assert_refused(self.file('csc_indptr.npy'))

    def test_nan_features(self):
        Array(self.file('features.npy')).put(17, float('nan'))
        self.assert_refused(self.file('features.npy'))

    def test_labels_out_of_range(self):
        Array(self.file('labels.npy')).put(0, *([99] * 500))
        self.assert_refused(self.file('labels.npy'), 99)

    def test_empty_train_set(self):
        write_array(self.file('train.npy'), '<i8', [])
        self.assert_refused(self.service.dataset, 'train.npy')

    # `validate` and jobs share their checks.

    def check_for(self, settings):
        """`validate --job` of a job with these settings."""
        job = self.service.folder / 'checked.yaml'
        groups = {}
        for key, value in {**harness.SMALL_JOB, **settings}.items():
            group, _, name = key.rpartition('.')
            groups.setdefault(group, []).append(f'{name}: {value}')
        text = '\n'.join(groups.pop(''))
        for group, fields in groups.items():
            text += f'\n{group}: {{{", ".join(fields)}}}'
        job.write_text(f'dataset: elsewhere\n{text}\n', encoding='utf-8')
        return self.service.fgnn('dataset', 'validate',
                                 str(self.service.dataset), '--job', str(job),
                                 check=False)

    def test_validate_refuses_what_a_job_refuses(self):
        sound = self.service.folder / 'sound'
        shutil.copytree(self.service.dataset, sound)
        num_edges = Array(self.file('indices.npy')).count

        def without_features():
            self.file('features.npy').unlink()
            path = self.file('metadata.yaml')
            path.write_text(re.sub('feature_columns: .*', 'feature_columns: 0',
                                   path.read_text()))

        for damage, settings, name in (
                (lambda: Array(self.file('features.npy')).put(17, math.nan),
                 {}, 'features.npy'),
                (lambda: Array(self.file('labels.npy')).put(3, 99), {},
                 'labels.npy'),
                (lambda: Array(self.file('valid.npy')).put(0, 500), {},
                 'valid.npy'),
                (lambda: write_array(self.file('train.npy'), '<i8', []), {},
                 'train.npy'),
                (without_features, {}, 'features.npy'),
                (lambda: None, {'training.task': 'node_regression'},
                 'training.task'),
                (lambda: self.file('valid.npy').unlink(),
                 {'training.patience': 2}, 'training.patience'),
                (lambda: None, {'sampling.kind': 'khop_weighted'},
                 'edge_weights.npy'),
                (lambda: write_array(self.file('edge_weights.npy'), '<f4',
                                     [0.0] * num_edges),
                 {'sampling.kind': 'khop_weighted'}, 'edge_weights.npy'),
                (lambda: None, {'model.layers': 3}, 'fanouts')):
            with self.subTest(settings=settings, name=name):
                damage()
                self.assert_refused(name, settings=settings)
                checked = self.check_for(settings)
                self.assertEqual(checked.returncode, 2, checked.stderr)
                self.assertIn(name, checked.stderr)
                shutil.rmtree(self.service.dataset)
                shutil.copytree(sound, self.service.dataset)

    def test_validate_accepts_what_a_job_accepts(self):
        checked = self.check_for({})
        self.assertEqual(checked.returncode, 0, checked.stderr)
        self.assertIn('its job trains on it', checked.stdout)
        self.assertIn('training.task node_classification: jobs train on it',
                      checked.stdout)
        self.assertIn('training.task node_regression: jobs are refused: ',
                      checked.stdout)
        tasks = self.service.json('dataset', 'validate',
                                  str(self.service.dataset))['tasks']
        self.assertEqual([task['task'] for task in tasks if task['trains']],
                         ['node_classification', 'link_prediction'])

    # The weights of its edges.

    def assert_weights_refused(self, *names, **settings):
        self.assert_refused(*names, settings={
            'sampling.kind': 'khop_weighted',
            **{f'sampling.{key}': value for key, value in settings.items()}})

    def test_weights(self):
        self.assert_weights_refused(self.service.dataset, 'edge_weights.npy')
        indptr = Array(self.file('csc_indptr.npy'))
        num_edges = indptr.get(500)
        # The second vertex that has neighbours.
        vertex = [v for v in range(500)
                  if indptr.get(v) < indptr.get(v + 1)][1]
        edges = range(indptr.get(vertex), indptr.get(vertex + 1))
        weights = self.file('edge_weights.npy')
        for wrong in (-1.0, float('nan'), float('inf')):
            with self.subTest(wrong):
                values = [1.0] * num_edges
                values[edges[0]] = wrong
                write_array(weights, '<f4', values)
                self.assert_weights_refused(weights, edges[0])
        with self.subTest('all zero'):
            write_array(weights, '<f4', [
                0.0 if e in edges else 1.0 for e in range(num_edges)])
            self.assert_weights_refused(weights, f'vertex {vertex}')
        with self.subTest('too few'):
            write_array(weights, '<f4', [1.0] * (num_edges - 1))
            self.assert_weights_refused(weights)

    def test_weights_of_vertices(self):
        self.assert_weights_refused('recent.npy', weights='recent.npy')
        self.assert_weights_refused('weights', weights='../recent.npy')
        recent = self.file('recent.npy')
        write_array(recent, '<f4', [1.0] * 499)
        self.assert_weights_refused(recent, weights='recent.npy')
        write_array(recent, '<i8', [1] * 500)
        self.assert_weights_refused(recent, weights='recent.npy')
        write_array(recent, '<f4', [-1.0] * 500)
        self.assert_weights_refused(recent, 'vertex', weights='recent.npy')

    def test_dataset_that_is_not_there(self):
        self.assert_refused('/nonexistent/graph',
                            settings={'dataset': '/nonexistent/graph'})

    def test_dataset_that_is_not_readable(self):
        # Root reads everything unless it gives that up.
        setpriv = shutil.which('setpriv')
        if os.geteuid() == 0 and setpriv is None:
            self.skipTest('needs setpriv to run without root\'s privileges')
        os.chmod(self.file('features.npy'), 0)
        plain = harness.BIN_DIR / 'fgnn'
        words = [str(plain)]
        if os.geteuid() == 0:
            dropped = '-dac_override,-dac_read_search'
            words = [setpriv, f'--bounding-set={dropped}',
                     f'--inh-caps={dropped}', *words]
        run = harness.subprocess.run(
            [*words, '--state-dir', self.service.state_dir, 'run',
             *self.service.job_words()], capture_output=True, text=True,
            check=False, timeout=harness.COMMAND_SECONDS)
        self.assertEqual(run.returncode, 1, run.stdout + run.stderr)
        self.assertEqual(len(run.stderr.splitlines()), 1, run.stderr)
        self.assertIn(str(self.file('features.npy')), run.stderr)
        self.assert_nothing_left()

    # The job.

    def test_unknown_key(self):
        job = self.service.folder / 'wrong.yaml'
        job.write_text(
            f'dataset: {self.service.dataset}\nsampling:\n  fanout: [5]\n',
            encoding='utf-8')
        run = self.service.fgnn('run', str(job), check=False)
        self.assertEqual(run.returncode, 2)
        self.assertEqual(len(run.stderr.splitlines()), 1, run.stderr)
        self.assertIn(f'{job}:3', run.stderr)
        self.assertIn("'fanout'", run.stderr)
        self.assertIn("'fanouts'", run.stderr)
        self.assertFalse(self.service.state_dir.exists())

    def test_values_out_of_range(self):
        cases = {
            'sampling.fanouts': ('[0, 5]', '[1000000000, 5]', '[5, -2]', 'x',
                                 '[]'),
            'sampling.batch_size': ('0', '-1', '1.5'),
            'training.epochs': ('0', 'many'),
            'training.learning_rate': ('-1', 'nan'),
            'model.layers': ('0',),
            'model.kind': ('graphsaeg',),
            'limits.memory': ('lots',),
            'cache.capacity': ('2',),
            'sampling.kind': ('khops',),
            'sampling.replace': ('maybe', '1'),
            'sampling.batch_dependency': ('0', '65536', '-1', '1.5', 'all'),
            'sampling.walks.num': ('0', '5000'),
            'sampling.order': ('sorted',),
            'sampling.window': ('0', '65'),
            'sampling.walks.restart': ('1', '-0.1'),
        }
        for field, values in cases.items():
            for value in values:
                with self.subTest(f'{field}={value}'):
                    self.assert_refused(field.rsplit('.', maxsplit=1)[-1],
                                        settings={field: value})

    def test_devices_that_are_not_there(self):
        for name in ('cpu:99', 'gpu'):
            with self.subTest(name):
                self.assert_refused(name, settings={'devices': f'[{name}]'})

    def test_more_devices_than_there_are(self):
        have = len(os.sched_getaffinity(0))
        self.assert_refused(f'needs {have + 1}', f'has {have}', 'ask for fewer',
                            settings={'devices': have + 1})
        self.assert_refused('devices.min is 2', 'devices.max is 1',
                            settings={'devices': '{min: 2, max: 1}'})
        self.assert_refused('devices.kind', 'tpu',
                            settings={'devices': '{kind: tpu}'})

    def test_settings_that_do_not_fit_an_algorithm(self):
        self.assert_refused('replace', 'labor', settings={
            'sampling.kind': 'labor', 'sampling.replace': 'true'})
        self.assert_refused('fanouts', 'random_walk', settings={
            'sampling.kind': 'random_walk', 'sampling.fanouts': '[5, -1]'})
        self.assert_refused('walks', '4160', settings={
            'sampling.kind': 'random_walk', 'sampling.walks.num': 65,
            'sampling.walks.length': 64})

    def test_more_layers_than_hops(self):
        self.assert_refused('layers', 'fanouts', settings={'model.layers': 3})

    def test_override_without_a_value_or_with_an_unknown_key(self):
        self.assert_refused('training.epochs',
                            words=('--set', 'training.epochs'))
        self.assert_refused('epoch', "'epochs'",
                            words=('--set', 'training.epoch=3'))

    def test_a_memory_limit_below_what_the_job_needs(self):
        self.assert_refused('limits.memory', settings={'limits.memory': '1MiB'})
        # Before as much as one step is tried.
        self.assert_refused('limits.memory', 'one training step', 'at least',
                            settings={'limits.memory': '16MiB',
                                      'model.hidden': 65536})

    def test_a_job_file_that_is_not_there(self):
        run = self.service.fgnn('run', '/nonexistent.yaml', check=False)
        self.assert_user_error(run, '/nonexistent.yaml')

    def test_a_state_folder_whose_sockets_would_have_too_long_names(self):
        self.service.state_dir = self.service.folder / ('x' * 100)
        self.assert_refused('107')


class CommandsTest(unittest.TestCase):
    """Every command that `fgnn --help` has."""

    def setUp(self):
        folder = tempfile.mkdtemp(prefix='fgnn-it-', dir='/tmp')
        self.service = harness.Service(folder)
        self.addCleanup(shutil.rmtree, folder)
        self.addCleanup(self.service.kill_all)

    def commands(self, *words):
        """[(words, the text of its help)] of the commands below."""
        text = self.service.fgnn(*words, '--help').stdout
        _, _, below = text.partition('\nSubcommands:\n')
        below, _, _ = below.partition('\nExample:\n')
        names = re.findall(r'^  (\S+)', below, re.M)
        found = [(words, text)] if words else []
        for name in names:
            found += self.commands(*words, name)
        return found

    def commands_of_a_job(self):
        """[words], each with a job 'nobody' and what else they require."""
        found = []
        for words, text in self.commands():
            if not re.search(r'^  (JOB|RUN) \S*(ID|JOB|RUN)\S* REQUIRED', text,
                             re.M):
                continue
            flags = re.findall(r'^  (--\S+) \S+ REQUIRED', text, re.M)
            found.append([*words, 'nobody', *(
                word for flag in flags for word in (flag, 'x'))])
        return found

    def assert_answers(self, code, words, *names):
        """One line on stderr that has all of `names`, nothing on stdout."""
        with self.subTest(' '.join(words)):
            run = self.service.fgnn(*words, check=False)
            self.assertEqual(run.returncode, code, run.stderr)
            self.assertEqual(run.stdout, '')
            self.assertEqual(len(run.stderr.splitlines()), 1, run.stderr)
            for name in names:
                self.assertIn(name, run.stderr)

    def test_a_flag_that_nobody_knows(self):
        commands = self.commands()
        self.assertGreater(len(commands), 25)
        for words, _ in commands:
            self.assert_answers(2, [*words, '--qqqqqqqqqq'], "'--qqqqqqqqqq'",
                                ' '.join(words) + ' --help')

    def test_a_job_that_is_not_there(self):
        commands = self.commands_of_a_job()
        self.assertLessEqual(
            {'show', 'watch', 'cancel', 'resume', 'predict'},
            {words[0] for words in commands})
        commands.append(['logs', 'nobody'])  # The job may be left out there.
        self.service.fgnn('up')
        for words in commands:
            self.assert_answers(2, words, "'nobody'")

    def test_no_service(self):
        job = self.service.folder / 'job.yaml'
        job.write_text('dataset: /nowhere\n', encoding='utf-8')
        # What is left of a job serves these.
        ask = [words for words in self.commands_of_a_job()
               if words[0] not in ('metrics', 'predict', 'resume')]
        for words in (*ask, ['jobs'], ['status'], ['submit', str(job)]):
            self.assert_answers(1, words, str(self.service.state_dir),
                                "'fgnn up'")
        self.assertFalse(self.service.state_dir.exists())
