"""Rows of datasets that are not what they say."""

import os
import shutil

from npy_array import Array
from row import TINY, check, refused, service_in

NAN = float('nan')


def corrupt_dataset(options, chance):
    """refused in one line that names the file, nothing left; exit code 1 if
    the file is cut, else 2"""
    with service_in(options) as service:
        service.fgnn('up', '--devices', 'cpu:0')
        # It is known as valid from here on.
        service.run(TINY)
        runs = sorted(service.folder.glob('run-*'))
        for name, damage in damages(service.dataset):
            path = service.dataset / name
            sound = service.folder / 'sound'
            shutil.copy2(path, sound)
            what = damage(path, chance)
            run_dir = service.folder / 'refused'
            answer = service.fgnn('run', *service.job_words(TINY), '--run-dir',
                                  str(run_dir), check=False)
            code = 1 if damage is cut else 2
            check(answer.returncode == code,
                  f'{name}, {what}: {answer.returncode}, {answer.stderr!r}')
            refused(answer, str(path), code=code)
            check(not run_dir.exists(), f'{name}, {what}: a run folder')
            check(not service.segments(), f'left: {service.segments()}')
            os.replace(sound, path)
        service.run(TINY)
        check(len(list(service.folder.glob('run-*'))) == len(runs) + 1,
              'a refused run left its folder')
        service.fgnn('down')
        check(not service.leftovers(), f'left: {service.leftovers()}')
        count = len(damages(service.dataset))
    return f'{count} damages refused, each named; the sound dataset still runs'


def damages(dataset):
    """(array, function that damages it and says how), each sure to harm."""
    ids = ('train.npy', 'valid.npy', 'test.npy')
    found = [('csc_indptr.npy', indptr_falls), ('csc_indptr.npy', indptr_ends),
             ('indices.npy', id_too_large), ('features.npy', not_a_number),
             ('labels.npy', label_too_large)]
    found += [(name, id_too_large) for name in ids]
    for name in ('csc_indptr.npy', 'indices.npy', 'features.npy', 'labels.npy',
                 *ids):
        found += [(name, cut), (name, magic_flipped)]
    return [(name, damage) for name, damage in found
            if (dataset / name).exists()]


def indptr_falls(path, chance):
    array = Array(path)
    rising = [index for index in range(1, array.count - 1)
              if array.get(index) > 0]
    index = chance.choice(rising)
    array.put(index, chance.randrange(-5, 0))
    return f'element {index} falls'


def indptr_ends(path, chance):
    array = Array(path)
    last = array.count - 1
    array.put(last, array.get(last) + chance.randint(1, 1 << 40))
    return 'it ends past the edges'


def id_too_large(path, chance):
    array = Array(path)
    index = chance.randrange(array.count)
    array.put(index, chance.randrange(2000, 1 << 31))
    return f'element {index} is no vertex'


def not_a_number(path, chance):
    array = Array(path)
    index = chance.randrange(array.count)
    array.put(index, chance.choice((NAN, float('inf'), -float('inf'))))
    return f'element {index} is not finite'


def label_too_large(path, chance):
    array = Array(path)
    index = chance.randrange(array.count)
    array.put(index, chance.choice((4, -2, 1 << 40)))
    return f'the label of {index} is none'


def cut(path, chance):
    size = chance.randrange(os.path.getsize(path))
    os.truncate(path, size)
    return f'cut to {size} bytes'


def magic_flipped(path, chance):
    content = bytearray(path.read_bytes())
    index = chance.randrange(6)
    content[index] ^= 1 << chance.randrange(8)
    path.write_bytes(content)
    return f'byte {index} flipped'
