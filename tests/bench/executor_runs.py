"""Jobs of tests/bench/executors, their times, and what the simulator makes of
these."""

import json
import statistics

from programs import fgnn, flags_of, lines_of, settings_of


def dataset_of(options):
    folder = options.dir / f"rmat-{options.scale}-{options.columns}"
    if not folder.exists():
        fgnn(options, "dataset", "generate", "rmat", "--scale", options.scale,
             "--features", options.columns, "--train-fraction", 0.5, "--out",
             folder)
        fgnn(options, "dataset", "validate", folder)
    return folder


def write_job(options):
    fanouts = options.fanouts.split(",")
    options.job.write_text(
        f"dataset: {dataset_of(options)}\n"
        f"model: {{kind: graphsage, layers: {len(fanouts)}, "
        f"hidden: {options.hidden}}}\n"
        f"sampling: {{fanouts: [{options.fanouts}], "
        f"batch_size: {options.batch_size}}}\n"
        f"training: {{epochs: {options.epochs}, batches_per_step: 2, "
        "evaluate_every: 0, checkpoint_every: 0}\n", encoding="utf-8")


def words_of_run(options, way, folder):
    """What to give `fgnn`; a way is (devices, fields of the job, words for the
    simulator)."""
    devices, fields, _ = way
    fields = {"devices": f"[{', '.join(options.devices[:devices])}]",
              **settings_of(options), **fields}
    return ["run", options.job, *flags_of(fields), "--run-dir", folder]


def epochs_of(options, way, folder):
    """The lines of metrics.jsonl behind the first epoch."""
    fgnn(options, *words_of_run(options, way, folder))
    return lines_of(folder)[1:]


def run_in_turns(options, ways, folder):
    """{way: its epochs, a list for each round}."""
    runs = {name: [] for name in ways}
    for turn in range(options.rounds):
        for number, (name, way) in enumerate(ways.items()):
            runs[name].append(
                epochs_of(options, way, folder / f"run-{turn}-{number}"))
    return runs


def median_of(epochs, field="seconds"):
    return statistics.median(epoch[field] for epoch in epochs)


def mean_ms(epochs, field, plans):
    values = [device[field] for epoch in epochs
              for device in epoch.get("devices", ())
              if device["plan"] in plans and device[field] > 0]
    return statistics.median(values) if values else 0.0


def times_of(epochs):
    """Ts, Tt and Tt' in milliseconds; 0: nobody did that."""
    any_plan = ("sampler", "trainer", "time_sharing")
    return (mean_ms(epochs, "sample_ms", any_plan),
            mean_ms(epochs, "train_ms", ("trainer", "time_sharing")),
            mean_ms(epochs, "standby_ms", ("sampler",)))


def slots_of(options, devices, words, epochs):
    """Of the queue: those that were set, or of a job that says nothing."""
    if "--slots" in words:
        return ()
    usual = 8 * devices if devices > 1 else epochs[0]["batches"]
    return "--slots", settings_of(options).get("queue.slots", usual)


def simulate(options, way, epochs, ts, tt, standby):
    """The epoch of devices that take so many milliseconds a batch, each."""
    _, fields, words = way
    times = (("--ts", ts), ("--tt", tt), ("--tt-standby", standby))
    answer = fgnn(
        options, "simulate", "--devices", len(ts),
        *(word for flag, values in times
          for word in (flag, ",".join(f"{ms}ms" for ms in values))),
        "--batches", epochs[0]["batches"], "--batches-per-step",
        fields.get("training.batches_per_step", 2), "--epochs",
        max(options.epochs, 2), *slots_of(options, len(ts), words, epochs),
        *words, "--json")
    return statistics.median(json.loads(answer)["seconds_of_epochs"][1:])


def simulated(options, way, epochs):
    """The epoch that `fgnn simulate` makes of a run's times, those of all
    devices alike; None: it cannot."""
    devices, _, words = way
    ts, tt, standby = times_of(epochs)
    if words is None or ts == 0 or tt + standby == 0:
        return None
    return simulate(options, way, epochs, devices * [ts],
                    devices * [tt or standby], devices * [standby or tt])


def simulated_apart(options, way, epochs):
    """The same of times that differ between devices, as they and the plan were
    in the last epoch."""
    devices, fields, words = way
    last = epochs[-1]
    # The simulator has those sample that are best at it.
    ts = [(1 if device["plan"] == "sampler" else 1e3) * device["sample_ms"]
          for device in last["devices"]]
    tt = [device["train_ms"] for device in last["devices"]]
    standby = [device["standby_ms"] or device["train_ms"]
               for device in last["devices"]]
    return simulate(options, (devices, fields,
                              ("--samplers", last["samplers"], *words)),
                    epochs, ts, tt, standby)


WAY_HEADER = ("epoch s", "simulated", "ratio", "Ts ms", "Tt ms", "Tt* ms",
              "wakes")


def way_row(options, way, epochs):
    """What WAY_HEADER names, of a run."""
    seconds = median_of(epochs)
    model = simulated(options, way, epochs)
    beside = (f"{model:.3f}", f"{seconds / model:.2f}") if model else "--"
    return (f"{seconds:.3f}", *beside,
            *(f"{ms:.2f}" for ms in times_of(epochs)),
            f"{median_of(epochs, 'switches'):.0f}")


def print_table(header, rows):
    """Cells are text; those of the first column stand to the left."""
    widths = [max(map(len, column)) for column in zip(header, *rows)]
    for first, *others in (header, *rows):
        print(first.ljust(widths[0]),
              *(cell.rjust(width) for cell, width in zip(others, widths[1:])),
              sep="  ")
