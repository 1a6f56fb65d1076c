"""In the place of fgnn.worker_model: a module without torch. The name of the class
says what it does."""

import json
import os
import pathlib
import signal
import struct
import sys


class Worker:

    def __init__(self, target, arrays):
        file, _, self.name = target.rpartition(':')
        self.deaths = pathlib.Path(file + '.deaths')
        self.arrays = arrays

    def floats(self, at, count):
        return struct.unpack_from(f'{count}f', self.arrays(), at)

    def may_die(self, most):
        died = len(self.deaths.read_text()) if self.deaths.exists() else 0
        if died < most:
            self.deaths.write_text('x' * (died + 1))
            os.kill(os.getpid(), signal.SIGKILL)

    def answer(self, request):
        return getattr(self, request['do'])(request)

    def describe(self, request):
        if self.name == 'EndsAtOnce':
            print('no luck today', file=sys.stderr)
            sys.exit(3)
        if self.name == 'DiesInStart':
            self.may_die(1)
        if self.name == 'IsRefused':
            return {'error': 'line\x1b[2J of a refusal', 'code': 'NOT_FOUND'}
        if self.name == 'IsDamaged':
            return {'parameters': [{'name': 'w', 'shape': [1 << 30, 1 << 30],
                                    'trained': True}], 'layers': None}
        assert request['arguments'] == {
            'in_channels': 2, 'hidden_channels': 3, 'out_channels': 4,
            'num_layers': 2, 'dropout': 0.25}, request
        self.seed = request['seed']
        if self.name == 'Changes' and self.deaths.exists():
            return {'parameters': [{'name': 'v', 'shape': [5],
                                    'trained': True}], 'layers': 2}
        return {'parameters': [
            {'name': 'a', 'shape': [2, 3], 'trained': True},
            {'name': 'b', 'shape': [4], 'trained': True},
            {'name': 'c', 'shape': [1, 1], 'trained': False}],
            'layers': None if self.name == 'HasNoLayers' else 2}

    def place(self, request):
        self.places = request
        count = request['count']
        struct.pack_into(f'{count}f', self.arrays(), request['weights'],
                         *range(self.seed, self.seed + count))
        return {}

    def gradient(self, request):
        """The gradient is twice the weights; the loss is what came."""
        if self.name == 'DiesTwice' and not request['compare']:
            self.may_die(2)
        if self.name == 'DiesAlways' and not request['compare']:
            self.may_die(9)
        if self.name == 'Changes' and not request['compare']:
            self.may_die(1)
        if self.name == 'IsNotFinite':
            return {'error': 'not finite', 'code': 'ABORTED'}
        weights = self.floats(self.places['weights'], 11)
        struct.pack_into('11f', self.arrays(), self.places['gradient'],
                         *(2 * weight for weight in weights))
        at, rows, columns = request['x']
        seeds, _ = request['shape']
        edges = sum(
            struct.unpack_from(f"{block['num_dst'] + 1}I", self.arrays(),
                               block['indptr'])[-1]
            for block in request['blocks'])
        labels = struct.unpack_from(f'{seeds}q', self.arrays(),
                                    request['answers'])
        # Before the answer, somebody may ask for what was seen.
        pathlib.Path(str(self.deaths) + '.seen').write_text(json.dumps({
            'seed': request['seed'], 'batch': request['batch'],
            'dst': [block['num_dst'] for block in request['blocks']],
            'edges': edges, 'labels': labels}))
        return {'loss': sum(self.floats(at, rows * columns)),
                'num_correct': 1}

    def layer(self, request):
        """Each output is the sum of the sources' rows and the first weight."""
        at, rows, columns = request['x']
        total = sum(self.floats(at, rows * columns))
        weight, = self.floats(self.places['weights'], 1)
        rows, columns = request['shape']
        struct.pack_into(f'{rows * columns}f', self.arrays(), request['out'],
                         *[total + weight] * (rows * columns))
        return {}
