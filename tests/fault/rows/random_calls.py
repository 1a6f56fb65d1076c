"""Random requests of every method that the protos have, for rpc_fuzz. Needs the
interpreter of .deps/python."""

import importlib
import importlib.resources
import pathlib
import string
import sys

from google.protobuf.descriptor import FieldDescriptor as Field
from google.protobuf.message_factory import GetMessageClass
from grpc_tools import protoc

PROTO = pathlib.Path(__file__).resolve().parent.parent.parent.parent / 'proto'
INTEGERS = (0, 1, 2, -1, 3, 100, 127, 255, 1 << 16, (1 << 31) - 1, 1 << 31,
            -(1 << 31), (1 << 32) - 1, 1 << 32, (1 << 63) - 1, 1 << 63,
            -(1 << 63), (1 << 64) - 1)
FLOATS = (0.0, -0.0, 1.0, -1.0, 0.5, 1e-45, 1e38, 1e308, float('inf'),
          -float('inf'), float('nan'))
RANGES = {
    Field.CPPTYPE_INT32: (-(1 << 31), (1 << 31) - 1),
    Field.CPPTYPE_UINT32: (0, (1 << 32) - 1),
    Field.CPPTYPE_INT64: (-(1 << 63), (1 << 63) - 1),
    Field.CPPTYPE_UINT64: (0, (1 << 64) - 1)}
WORDS = ('', 'cpu:0', 'cpu:1', 'cpu:0-1', 'cpu:99999', 'cuda:0', 'auto',
         'sampler', 'trainer', 'sampler.0', 'trainer.0', 'sampler.1023',
         'khop', 'plugin', 'random_walk', 'labor', 'graphsage', 'torchscript',
         'python', 'together', 'factored', 'time_sharing', 'presc', 'online', 'degree',
         'link_prediction', 'cosine', 'plateau', 'bf16', '1GiB', '-1', '1e999',
         '/', '.', '..', '../' * 20 + 'etc/passwd', '/dev/zero', '/dev/stdin',
         '/proc/self/mem', '\x1b[2J\n', 'a\0b', '%s%n', '\u202e', 'x' * 300,
         'y' * 200_000, string.printable)
MOST_DEPTH = 6
# A submission under a key is not made twice: so jobs do not become ever more.
KEYS = 50


def services(folder):
    """{"fgnn.v1.JobService": its descriptor} of all protos, whose modules are
    made in a folder."""
    known = importlib.resources.files('grpc_tools') / '_proto'
    files = [str(path.relative_to(PROTO)) for path in PROTO.rglob('*.proto')]
    code = protoc.main(['protoc', f'--proto_path={PROTO}',
                        f'--proto_path={known}', f'--python_out={folder}',
                        *files])
    if code != 0:
        raise SystemExit(f'protoc could not read the protos of {PROTO}')
    sys.path.insert(0, str(folder))
    found = {}
    for file in files:
        name = file.removesuffix('.proto').replace('/', '.') + '_pb2'
        module = importlib.import_module(name)
        for service in module.DESCRIPTOR.services_by_name.values():
            found[service.full_name] = service
    return found


class Requests:
    """Makes requests; `words`: strings that mean something to the service."""

    def __init__(self, chance, words, valid_spec):
        self.chance = chance
        self.words = list(words)
        self.valid_spec = valid_spec

    def text(self):
        kind = self.chance.random()
        if kind < 0.6:
            return self.chance.choice(self.words)
        if kind < 0.7:  # The beginning of an id, or a path a level above.
            word = self.chance.choice(self.words)
            return word[:self.chance.randrange(len(word) + 1)]
        if kind < 0.95:
            return self.chance.choice(WORDS)
        return ''.join(chr(self.chance.randrange(1, 0xd7ff))
                       for _ in range(self.chance.randrange(40)))

    def integer(self, low, high):
        if self.chance.random() < 0.2:
            return self.chance.randint(low, high)
        return min(max(self.chance.choice(INTEGERS), low), high)

    def value(self, field, depth):
        kind = field.cpp_type
        if kind in RANGES:
            return self.integer(*RANGES[kind])
        if kind == Field.CPPTYPE_ENUM:  # Open: any number may come.
            return self.integer(*RANGES[Field.CPPTYPE_INT32])
        if kind in (Field.CPPTYPE_DOUBLE, Field.CPPTYPE_FLOAT):
            return self.chance.choice(FLOATS)
        if kind == Field.CPPTYPE_BOOL:
            return self.chance.random() < 0.5
        if field.type == Field.TYPE_BYTES:
            return self.chance.randbytes(
                self.chance.choice((0, 1, 100, 70_000)))
        if kind == Field.CPPTYPE_STRING:
            return self.text()
        return self.message(field.message_type, depth + 1)

    def put(self, message, field, depth):
        """Gives a field of a message any value."""
        if field.is_repeated:
            message.ClearField(field.name)
            count = self.chance.choice((0, 1, 2, 3, 200))
            if field.cpp_type == Field.CPPTYPE_MESSAGE:
                count = min(count, 3)
            getattr(message, field.name).extend(
                self.value(field, depth) for _ in range(count))
        elif field.cpp_type == Field.CPPTYPE_MESSAGE:
            getattr(message, field.name).CopyFrom(self.value(field, depth))
        else:
            setattr(message, field.name, self.value(field, depth))

    def message(self, descriptor, depth=0):
        """Any message of a type."""
        message = GetMessageClass(descriptor)()
        if depth < MOST_DEPTH:
            for field in descriptor.fields:
                if self.chance.random() < 0.5:
                    self.put(message, field, depth)
        return message

    def change(self, message):
        """Changes a field of a message, or of one in it."""
        fields = message.DESCRIPTOR.fields
        if not fields:
            return
        field = self.chance.choice(fields)
        if (field.cpp_type == Field.CPPTYPE_MESSAGE and not field.is_repeated
                and self.chance.random() < 0.9):
            self.change(getattr(message, field.name))
        else:
            self.put(message, field, depth=1)

    def sensible(self, descriptor):
        """One that the service may take, with few fields changed."""
        message = GetMessageClass(descriptor)()
        for field in descriptor.fields:
            if field.name == 'spec':
                message.spec.CopyFrom(self.valid_spec)
            elif field.name in ('job_id', 'path', 'checkpoint'):
                setattr(message, field.name, self.chance.choice(self.words))
        for _ in range(self.chance.choice((0, 0, 1, 1, 2, 5))):
            self.change(message)
        return message

    def content(self, descriptor):
        """The bytes of a request."""
        kind = self.chance.random()
        if kind < 0.05:
            return self.chance.randbytes(self.chance.choice((1, 50, 5000)))
        if kind < 0.07:
            return bytes(self.chance.choice(((1 << 20) + 1, 3 << 20)))
        message = (self.sensible(descriptor) if kind < 0.7 else
                   self.message(descriptor))
        if 'client_key' in descriptor.fields_by_name:
            message.client_key = f'key {self.chance.randrange(KEYS)}'
            # What runs for long would leave no device to others.
            message.priority = min(message.priority, 0)
        content = bytearray(message.SerializeToString())
        is_submission = 'client_key' in descriptor.fields_by_name
        if kind > 0.9 and content and not is_submission:
            for _ in range(self.chance.randrange(1, 8)):
                content[self.chance.randrange(len(content))] ^= (
                    1 << self.chance.randrange(8))
        if kind > 0.97:
            del content[self.chance.randrange(len(content) + 1):]
        return bytes(content)
