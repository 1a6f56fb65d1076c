"""The messages of a step of hosts, counted from real batches and a book.

A round is a matrix [hosts, hosts]: the bytes that each sends to each other. In
*vanilla* partitioning a host has the topology of its own vertices alone: each
hop behind the first asks the owners of its destinations, and they answer with
what they drew. *Hybrid* partitioning has the whole topology on each host. Both
ask for the rows of the input vertices, and get them (FastSample, section 4).
"""

import pathlib

import numpy as np

ID_BYTES = 4
_HEADER_BYTES, _FINE_PARTS = 64, 64  # shared/graph/book
WAYS = ("vanilla", "hybrid")


def owners_of(dataset, hosts):
    """The owner of each vertex, by the dataset's book."""
    book, = pathlib.Path(dataset, "derived").glob("book-*.bin")
    parts = np.fromfile(book, np.uint8, offset=_HEADER_BYTES).astype(np.int64)
    return ((parts + 1) * hosts - 1) // _FINE_PARTS


def _ask(rounds, host, asked, answer_bytes):
    """Adds a host's questions to a round, and the answers to the next.
    `asked`: the owner of each vertex; `answer_bytes`: of each answer."""
    questions, answers = rounds
    for owner in range(len(questions)):
        if owner == host:
            continue
        here = asked == owner
        questions[host, owner] += ID_BYTES * np.count_nonzero(here)
        answers[owner, host] += int(np.sum(answer_bytes[here]))


def rounds_of(way, batches, owners, row_bytes):
    """The rounds of a step. `batches`: an .npz of each host's batch, whose
    seeds are its own."""
    hosts = len(batches)
    num_hops = sum(name.endswith("_indptr") for name in batches[0].files)
    rounds = []
    if way == "vanilla":
        for hop in range(1, num_hops):
            pair = np.zeros((2, hosts, hosts), np.int64)
            for host, batch in enumerate(batches):
                degrees = np.diff(batch[f"hop{hop}_indptr"].astype(np.int64))
                asked = owners[batch["input_nodes"][:len(degrees)]]
                # An answer has the number of the drawn, and their ids.
                _ask(pair, host, asked, ID_BYTES * (1 + degrees))
            rounds += list(pair)
    pair = np.zeros((2, hosts, hosts), np.int64)
    for host, batch in enumerate(batches):
        asked = owners[batch["input_nodes"]]
        _ask(pair, host, asked, np.full(len(asked), row_bytes))
    return rounds + list(pair)


def seconds_by_formula(rounds, delay, rate):
    """Rounds times the delay, and the bytes of the host that sends most in
    each round at the rate."""
    return sum(delay + one.sum(axis=1).max() / rate for one in rounds)
