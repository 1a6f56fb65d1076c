"""The user's module of a job with `model.kind: python`, and what its trainer asks
of it: see worker."""

import importlib.util
import inspect
import mmap
import os
import pathlib
import random
import sys
import traceback
from collections.abc import Callable
from typing import Any

import numpy
import torch
import torch.nn.functional as F

from fgnn import errors, worker
from fgnn.batch_arrays import Block
from fgnn.worker import Answer, Request

_NOT_FINITE = 'ABORTED'
# Arguments of the class, by name, as PyTorch Geometric's models have them.
_ARGUMENTS = ('in_channels', 'hidden_channels', 'out_channels', 'num_layers',
              'dropout')


class _Refused(Exception):
    """One line for the user, and a name of a status."""

    def __init__(self, line: str, code: str = 'INVALID_ARGUMENT') -> None:
        super().__init__(line)
        self.code = code


class Worker:
    """Answers requests, one at a time. `arrays`: the shared memory as it is
    now."""

    def __init__(self, target: str, arrays: Callable[[], mmap.mmap]) -> None:
        file, _, self._class_name = target.rpartition(':')
        self._file = pathlib.Path(file)
        self._name = f'model.file {file}: {self._class_name}'
        self._arrays = arrays
        self._module: Any = None
        self._layers: list[Any] | None = None
        self._parameters: list[Any] = []
        self._gradient: Any = None
        self._functions = {'describe': self._describe, 'place': self._place,
                           'gradient': self._learn, 'layer': self._infer}

    def answer(self, request: Request) -> Answer:
        try:
            return self._functions[request['do']](request)
        except _Refused as refused:
            return {'error': str(refused), 'code': refused.code}
        except MemoryError:
            return {'error': f'{self._name}: out of memory; lower '
                             'sampling.batch_size, sampling.fanouts or '
                             'model.hidden', 'code': 'RESOURCE_EXHAUSTED'}
        except Exception as error:  # A mistake of ours.
            traceback.print_exc()
            return {'error': f"{self._name}: '{request['do']}' threw "
                             f'{type(error).__name__}: {error}'}

    # What is asked.

    def _describe(self, request: Request) -> Answer:
        if request['layout'] != worker.LAYOUT:
            raise _Refused(
                f'the package fgnn of {sys.executable} is of another release '
                f"than the service; install that of {request['version']} there")
        torch.set_num_interop_threads(1)
        torch.use_deterministic_algorithms(True)
        _prepare(request['seed'])
        made = self._make(request['arguments'])
        if not isinstance(made, torch.nn.Module):
            raise _Refused(f'{self._name} is no torch.nn.Module; derive it '
                           'from that')
        self._module = made.train()
        self._check_parameters()
        return {'parameters': [
            {'name': name, 'shape': list(parameter.shape),
             'trained': parameter.requires_grad}
            for name, parameter in self._module.named_parameters()],
            'layers': self._find_layers(request['arguments']['num_layers'])}

    def _place(self, request: Request) -> Answer:
        """Lets the parameters lie in the shared memory, with their values."""
        weights = self._floats(request['weights'], request['count'])
        self._gradient = self._floats(request['gradient'], request['count'])
        at = 0
        for parameter in self._module.parameters():
            end = at + parameter.numel()
            place = weights[at:end].view(parameter.shape)
            with torch.no_grad():
                place.copy_(parameter)
            parameter.data = place
            self._parameters.append((parameter, slice(at, end)))
            at = end
        return {}

    def _learn(self, request: Request) -> Answer:
        if request['compare'] and self._layers is not None:
            self._compare_layers(request)
        _prepare(request['seed'])
        self._module.train()
        x, blocks = self._batch(request)
        logits = self._call('forward', self._module, x, blocks)
        self._check(logits, request, f"batch {request['batch']}")
        answers = self._answers(request)
        self._check_finite(logits, request)
        loss = _loss(logits, answers, request)
        self._differentiate(loss)
        value = loss.item()
        right = 0
        if request['task'] == 'classes':
            right = int(logits.argmax(1).eq(answers).sum())
        return {'loss': value if numpy.isfinite(value) else None,
                'num_correct': right}

    def _compare_layers(self, request: Request) -> None:
        """Whether layers() are what forward() does, in evaluation."""
        assert self._layers is not None
        self._module.eval()
        x, blocks = self._batch(request)
        with torch.no_grad():
            whole = self._call('forward', self._module, x, blocks)
            self._check(whole, request, f"batch {request['batch']}")
            for layer, block in zip(self._layers, blocks):
                x = self._call('a layer of layers()', layer, x, block)
        self._check(x, request, 'the last of layers()')
        self._check_finite(whole, request)
        if not torch.allclose(whole, x, rtol=1e-4, atol=1e-5):
            raise _Refused(
                f'{self._name}: in evaluation its layers(), one after the '
                'other, give other numbers than forward(); let forward() call '
                'them')

    def _infer(self, request: Request) -> Answer:
        assert self._layers is not None
        self._module.eval()
        _prepare(0)
        layer = request['layer']
        x, (block,) = self._batch(request)
        with torch.no_grad():
            out = self._call(f'layer {layer}', self._layers[layer], x, block)
        self._check(out, request, f'layer {layer}')
        rows, columns = request['shape']
        self._floats(request['out'], rows * columns).view(rows, columns).copy_(
            out)
        return {}

    # The user's code.

    def _make(self, arguments: dict[str, Any]) -> Any:
        if not self._file.is_file():
            raise _Refused(f'model.file {self._file} does not exist',
                           'NOT_FOUND')
        # As for a program, what lies beside the file can be imported.
        sys.path.insert(0, str(self._file.parent))
        sys.dont_write_bytecode = True
        spec = importlib.util.spec_from_file_location(
            f'fgnn_model_{self._file.stem}', self._file)
        if spec is None or spec.loader is None:
            raise _Refused(f'model.file {self._file} is no file of Python; '
                           'name one that ends in .py')
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        self._call('the file', spec.loader.exec_module, module)
        found = getattr(module, self._class_name, None)
        if not isinstance(found, type):
            classes = sorted(
                name for name, value in vars(module).items()
                if isinstance(value, type) and value.__module__ == spec.name)
            raise _Refused(
                f'model.file {self._file} has no class {self._class_name}; '
                f"name one of it in model.class_name: {', '.join(classes)}")
        return self._call(
            f"__init__({', '.join(_ARGUMENTS)})",
            lambda: found(**{name: arguments[name] for name in _ARGUMENTS}))

    def _check_parameters(self) -> None:
        for name, _ in self._module.named_buffers():
            raise _Refused(
                f'{self._name} has the buffer {name}, which no trainer would '
                'share; make it a parameter (without a gradient, if it is a '
                'constant), or normalise without statistics')
        count = 0
        for name, parameter in self._module.named_parameters():
            if torch.nn.parameter.is_lazy(parameter):
                raise _Refused(
                    f'{self._name} has the parameter {name} without a shape; '
                    'give its layer the number of columns')
            if (parameter.dtype != torch.float32 or
                    parameter.device.type != 'cpu'):
                raise _Refused(
                    f'{self._name} has the parameter {name} of '
                    f'{parameter.dtype} on {parameter.device}; make it '
                    'torch.float32 on cpu')
            count += parameter.numel()
        if count == 0:
            raise _Refused(f'{self._name} has no parameters to train')

    def _find_layers(self, num_layers: int) -> int | None:
        # A ModuleList of that name is something of its own.
        if not inspect.ismethod(getattr(self._module, 'layers', None)):
            return None
        self._layers = list(self._call('layers()', self._module.layers))
        if len(self._layers) != num_layers:
            raise _Refused(
                f'{self._name}: layers() gives {len(self._layers)}, but '
                f'model.layers is {num_layers}; give one for each')
        return len(self._layers)

    def _call(self, what: str, function: Any, *arguments: Any) -> Any:
        """What the user's code returns, or the last line of what it raises."""
        try:
            return function(*arguments)
        except (MemoryError, KeyboardInterrupt):
            raise
        except BaseException as error:  # sys.exit() too.
            traceback.print_exc()
            own = [f'line {frame.lineno}'
                   for frame in traceback.extract_tb(error.__traceback__)
                   if os.path.abspath(frame.filename) == str(self._file)]
            line = ' '.join(str(error).split())
            raise _Refused(errors.printable(
                f'{self._name}: {what} threw '
                f"{type(error).__name__}: {line}"[:1000] +
                (f' ({own[-1]})' if own else ''))) from None

    # A batch, and what came of it.

    def _floats(self, at: int, count: int) -> Any:
        if count == 0:
            return torch.empty(0)
        return torch.frombuffer(self._arrays(), dtype=torch.float32,
                                count=count, offset=at)

    def _batch(self, request: Request) -> tuple[Any, list[Block]]:
        """x, and the blocks by layer."""
        memory = self._arrays()

        def array(at: int, count: int, kind: str) -> Any:
            return numpy.frombuffer(memory, kind, count, at)

        at, rows, columns = request['x']
        blocks = [
            Block(array(block['indptr'], block['num_dst'] + 1, 'int32'),
                  array(block['indices'], block['num_edges'], 'int32'),
                  block['num_src'], block['num_dst'],
                  array(block['weights'], block['num_edges'], 'float32')
                  if block['weights'] else None)
            for block in request['blocks']]
        return self._floats(at, rows * columns).view(rows, columns), blocks

    def _answers(self, request: Request) -> Any:
        rows, columns = request['shape']
        if request['task'] == 'classes':
            return torch.frombuffer(self._arrays(), dtype=torch.int64,
                                    count=rows, offset=request['answers'])
        return self._floats(request['answers'], rows * columns).view(
            rows, columns)

    def _check(self, out: Any, request: Request, what: str) -> None:
        rows, columns = request['shape']
        if not isinstance(out, torch.Tensor):
            found = f'no tensor but {type(out).__name__}'
        elif out.device.type != 'cpu':
            found = f'a tensor on {out.device}'
        else:
            found = f'{out.dtype} {list(out.shape)}'
        expected = f'torch.float32 [{rows}, {columns}]'
        if found != expected:
            raise _Refused(
                f'{self._name} returned {found} of {what}; it must be '
                f'{expected} on cpu: a row for each destination of the last '
                "block, and as many columns as model.hidden, or as the dataset "
                'has classes')

    def _check_finite(self, logits: Any, request: Request) -> None:
        if torch.isfinite(logits).all():
            return
        raise _Refused(
            f'{self._name} returned numbers that are not finite of batch '
            f"{request['batch']}: {self._first_not_finite(request)}; lower "
            'training.learning_rate, limit the gradient by training.clip_norm, '
            "or check the features with 'fgnn dataset validate'", _NOT_FINITE)

    def _first_not_finite(self, request: Request) -> str:
        """Which part of the module made the first of them."""
        if any(not torch.isfinite(parameter).all()
               for parameter, _ in self._parameters):
            return 'its weights are not either'
        x, blocks = self._batch(request)
        if not torch.isfinite(x).all():
            return 'its features are not either'
        found: list[str] = []

        def look(name: str) -> Callable[[Any, Any, Any], None]:
            def hook(module: Any, given: Any, out: Any) -> None:
                if isinstance(out, torch.Tensor) and not torch.isfinite(
                        out).all():
                    found.append(name)
            return hook

        handles = [part.register_forward_hook(look(name))
                   for name, part in self._module.named_modules() if name]
        _prepare(request['seed'])
        with torch.no_grad():
            self._call('forward', self._module, x, blocks)
        for handle in handles:
            handle.remove()
        return (f'those of {found[0]} are the first' if found
                else 'forward() made them itself')

    def _differentiate(self, loss: Any) -> None:
        """Writes the gradient; 0 for parameters that have none."""
        if not loss.requires_grad:
            raise _Refused(
                f'the logits of {self._name} depend on no parameter that asks '
                'for a gradient; compute them from its parameters')
        asked = [(parameter, place) for parameter, place in self._parameters
                 if parameter.requires_grad]
        gradients = self._call(
            'backward', lambda: torch.autograd.grad(
                loss, [parameter for parameter, _ in asked],
                allow_unused=True))
        self._gradient.zero_()
        for (_, place), gradient in zip(asked, gradients):
            if gradient is not None:
                self._gradient[place].copy_(gradient.reshape(-1))


def _prepare(seed: int) -> None:
    """Makes what comes a pure function of its arguments."""
    torch.set_num_threads(1)  # Sums depend on their number.
    torch.manual_seed(seed)
    random.seed(seed)
    numpy.random.seed(seed % 2**32)


def _loss(logits: Any, answers: Any, request: Request) -> Any:
    if request['task'] == 'values':
        return F.mse_loss(logits, answers)
    if request['task'] == 'label_sets':
        return F.binary_cross_entropy_with_logits(logits, answers)
    return F.cross_entropy(logits, answers,
                           label_smoothing=request['label_smoothing'])
