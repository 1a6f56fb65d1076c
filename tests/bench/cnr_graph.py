"""cnr-2000 of the shared data as a dataset, for several benchmarks."""

import array
import pathlib
import random
import struct
import tempfile

SEED = 7


def write_npy(path, descr, values, columns=None):
    """Numbers of one row each, or of so many; little endian."""
    rows = len(values) // (columns or 1)
    shape = f"({rows},)" if columns is None else f"({rows}, {columns})"
    head = (f"{{'descr': '{descr}', 'fortran_order': False, "
            f"'shape': {shape}, }}").encode()
    head += b" " * (-(len(head) + 11) % 64) + b"\n"
    with open(path, "wb") as out:
        out.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head)
        values.tofile(out)


def import_cnr(fgnn, data, out, columns=0, flags=()):
    """A tenth of the vertices is to be trained. Features are random. fgnn: runs
    the words that it is given. flags: more of them."""
    source = data / "cnr-2000"
    num_nodes = ((source / "indptr.npy").stat().st_size - 128) // 8 - 1
    with tempfile.TemporaryDirectory(prefix="fgnn-cnr-") as folder:
        folder = pathlib.Path(folder)
        for name in ("indptr.npy", "indices.npy"):
            (folder / name).symlink_to((source / name).resolve())
        # Splits are drawn from vertices that have a label.
        write_npy(folder / "labels.npy", "<i8",
                  array.array("q", bytes(8 * num_nodes)))
        if columns > 0:
            draw = random.Random(SEED).random
            write_npy(folder / "features.npy", "<f4", array.array(
                "f", (draw() for _ in range(num_nodes * columns))), columns)
        fgnn("dataset", "import", "numpy", folder, "--name", "cnr-2000",
             "--train-fraction", "0.1", "--seed", SEED, *flags, "--out", out)
