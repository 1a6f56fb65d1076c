"""The Python client on damaged and hostile input: only its documented errors
come, with messages that every terminal shows."""

import json
import random
import struct

import client_case
from client_case import fgnn

from fgnn import checkpoint, errors, progress, spec
from fgnn.v1 import job_service_pb2 as pb

MUTANTS = 1500
DEEP = 100_000
HEADER = {
    '__metadata__': {
        'format': 'fgnn-checkpoint', 'format_version': '5',
        'model.kind': 'graphsage', 'model.layers': '1', 'model.hidden': '2',
        'model.input_columns': '3', 'task': 'node_classification',
        'model.num_classes': '2', 'model.dropout': '0.5',
        'model.input_dropout': '0', 'model.aggregator': 'mean',
        'model.heads': '1', 'model.attention_dropout': '0',
        'model.normalization': 'none', 'model.residual': '0',
        'model.degree_norm': 'both', 'class_names': 'ant\nbee'},
    'weight': {'dtype': 'F32', 'shape': [2, 3], 'data_offsets': [0, 24]},
    'optimizer.moment': {'dtype': 'F32', 'shape': [2],
                         'data_offsets': [24, 32]}}
JOB = '''dataset: graph
model: {kind: graphsage, layers: 2, hidden: 256, dropout: 0.5}
sampling: {kind: khop, fanouts: [10, 10], batch_size: 1024}
training: {epochs: 10, learning_rate: 0.003, seed: 1}
devices: [cpu:0-1]
'''
# What stands in the place of a value, or is inserted.
PIECES = (None, True, -1, 0, 2**63, 10**30, 1e308, float('inf'), float('nan'),
          '', '-1', '9' * 5000, '\ud800', 'a\nb\x1b', [], [[]], {}, {'a': []})
WORDS = (b'"\\ud800"', b'"\\U7fffffff"', b'&a [*a]', b'*b', b'!!python/none',
         b'!!float x', b'%YAML 9.9\n---\n', b'\x00', b'\xff\xfe', b'{', b'[',
         b'? ', b'- ', b': ', b'<<: *a', b'1e999', b'9' * 5000, b'\t', b'---\n')


def checkpoint_of(header):
    text = json.dumps(header).encode()
    return struct.pack('<Q', len(text)) + text + bytes(32)


def mutated_bytes(chance, content):
    content = bytearray(content)
    for _ in range(chance.randint(1, 4)):
        place = chance.randrange(len(content) + 1)
        kind = chance.randrange(4)
        if kind == 0:
            content[place:place + chance.randint(1, 30)] = b''
        elif kind == 1:
            content[place:place] = chance.choice(WORDS)
        elif kind == 2 and content:
            content[place % len(content)] ^= 1 << chance.randrange(8)
        else:
            content[place:place] = content[:chance.randint(0, 60)]
    return bytes(content)


def mutated_value(chance, value):
    """A copy with one value, at any depth, replaced, added or taken out."""
    if not isinstance(value, (dict, list)) or not value or (
            chance.random() < 0.1):
        return chance.choice(PIECES)
    value = value.copy()
    key = chance.choice(list(value) if isinstance(value, dict)
                        else range(len(value)))
    if chance.random() < 0.2:
        del value[key]
    elif isinstance(value, dict) and chance.random() < 0.2:
        value[chance.choice(('x', '\udfff', ''))] = chance.choice(PIECES)
    else:
        value[key] = mutated_value(chance, value[key])
    return value


class DamageTest(client_case.ClientTest):

    def allow(self, call):
        """Whether the call succeeded; an error is one of the package's."""
        try:
            call()
            return True
        except fgnn.Error as error:
            self.assertIsNot(type(error), fgnn.Error)
            str(error).encode()
            self.assertTrue(str(error).isprintable(), repr(str(error)))
            self.assertLess(len(str(error)), 2500)
            return False

    def read_checkpoint(self, content):
        file = self.folder / 'x.safetensors'
        file.write_bytes(content)
        return self.allow(lambda: checkpoint.read(file))

    def read_job(self, content):
        file = self.folder / 'job.yaml'
        file.write_bytes(content)
        return self.allow(lambda: spec.from_file(file))

    def test_checkpoints(self):
        chance = random.Random(5)
        self.assertTrue(self.read_checkpoint(checkpoint_of(HEADER)))
        read = [self.read_checkpoint(checkpoint_of(
            mutated_value(chance, HEADER))) for _ in range(MUTANTS)]
        read += [self.read_checkpoint(mutated_bytes(
            chance, checkpoint_of(HEADER))) for _ in range(MUTANTS)]
        self.assertIn(True, read)
        self.assertIn(False, read)
        for brackets in ('[', '{"a":'):
            text = brackets.encode() * DEEP
            self.assertFalse(self.read_checkpoint(
                struct.pack('<Q', len(text)) + text))

    def test_job_files(self):
        chance = random.Random(6)
        self.assertTrue(self.read_job(JOB.encode()))
        read = [self.read_job(mutated_bytes(chance, JOB.encode()))
                for _ in range(MUTANTS)]
        self.assertIn(True, read)
        self.assertIn(False, read)
        for text in ('[' * 900, '{a: ' * 900, 'dataset: "\\ud800"',
                     'dataset: "\\U7fffffff"', 'x' * 100_000 + ': 1',
                     'training: &a {epochs: *a}'):
            self.assertFalse(self.read_job(text.encode()))
        self.assertFalse(self.allow(lambda: spec.from_file('a\0b')))
        self.assertFalse(self.allow(lambda: spec.from_file('\ud800')))

    def test_jobs_of_values(self):
        chance = random.Random(7)
        job = {'dataset': 'graph', 'devices': ['cpu:0'],
               'sampling': {'fanouts': [5, 5]}, 'training': {'epochs': 2}}
        for _ in range(MUTANTS):
            value = mutated_value(chance, job)
            if isinstance(value, dict):
                self.allow(lambda: self.client.submit(value))
        for overrides in ({'training.epochs': 10**5000}, {'dataset': '\ud800'},
                          {'\ud800': 1}, {'training': {}}):
            self.allow(lambda: self.client.submit(job, overrides=overrides))
            self.allow(lambda: self.client.resume(self.folder,
                                                  overrides=overrides))
        for text in ('\ud800', '\0', 'x' * 10_000):
            self.allow(lambda: self.client.job(text))
            self.allow(lambda: self.client.submit(job, name=text))
            self.allow(lambda: self.client.submit(job, after=[text]))
            self.allow(lambda: list(self.client.jobs(search=text)))
            self.allow(lambda: self.client.resume(text.replace('\0', '')))

    def test_what_a_run_left(self):
        chance = random.Random(8)
        self.service.tell(pb.Job(job_id='job-0', run_dir=str(self.folder),
                                 state=pb.JOB_STATE_COMPLETED))
        job = self.client.job('job-0')
        list(job.watch(progress=False))
        summary = json.dumps({'job_id': 'job-0', 'epochs': 2, 'best_epoch': 1})
        line = json.dumps({'epoch': 1, 'loss': 0.5, 'stages': {'train': 1.5}})
        read = []
        for _ in range(MUTANTS // 5):
            damaged = mutated_bytes(chance, line.encode())
            (self.folder / 'summary.json').write_bytes(
                mutated_bytes(chance, summary.encode()))
            read.append(self.allow(job.summary))
            self.service.metric_lines = [damaged.decode(errors='replace')]
            read.append(self.allow(job.metrics))
        self.assertIn(True, read)
        self.assertIn(False, read)
        deep = b'[' * DEEP
        (self.folder / 'summary.json').write_bytes(deep)
        self.assertFalse(self.allow(job.summary))

    def test_errors_are_lines_that_every_terminal_shows(self):
        error = errors.InvalidJob('a\nb\x1b[31m\u202ec\ud800 é漢\u3000')
        self.assertEqual(str(error),
                         'a\\nb\\x1b[31m\\u202ec\\ud800 é漢\u3000')
        self.assertEqual(error.message, str(error))

    def test_the_bar_of_an_evaluation(self):
        state, now = fgnn.JobState.RUNNING, self.running(10)
        now.progress.phase = 'evaluating epoch 2'
        shown = fgnn.states.progress_of(now.progress)
        self.assertEqual(progress.bar(state, shown, 80), 'evaluating epoch 2')
        now.progress.evaluated = 0.5
        shown = fgnn.states.progress_of(now.progress)
        self.assertEqual(progress.bar(state, shown, 60),
                         'evaluating epoch 2 [===============>              ]'
                         ' 50 %')
