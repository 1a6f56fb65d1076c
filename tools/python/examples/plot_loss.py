#!/usr/bin/env python3
"""Submits a job, watches it and plots its loss.

    plot_loss.py JOB.yaml [OUT.png]
"""

# %% Submit.
import pathlib
import sys

import fgnn

if len(sys.argv) not in (2, 3):
    sys.exit(__doc__)
out = pathlib.Path(sys.argv[2] if len(sys.argv) == 3 else 'loss.png')
client = fgnn.Client()
job = client.submit(sys.argv[1], name='plot_loss')

# %% Watch: a bar here, and the loss as it goes.
batches, losses = [], []
for now in job.watch():
    if now.progress.loss > 0:
        batches.append(now.progress.batches_committed)
        losses.append(now.progress.loss)
job.wait()

# %% Look at epochs.
epochs = job.metrics()
print(epochs['loss'].to_string())

# %% Plot.
try:
    import matplotlib
except ImportError:
    sys.exit("no matplotlib, so no plot: pip install 'fgnn[plot]'")
matplotlib.use('Agg')  # A file needs no screen.
from matplotlib import pyplot  # noqa: E402

per_epoch = job.progress.batches_per_epoch
figure, axes = pyplot.subplots()
axes.plot(batches, losses, color='tab:gray', label='epoch so far')
axes.plot([epoch * per_epoch for epoch in epochs.index], epochs['loss'],
          'o-', color='tab:blue', label='whole epochs')
axes.set_xlabel('batches')
axes.set_ylabel('loss')
axes.set_title(f'job {job.id}')
axes.legend()
figure.savefig(out)
print(f'{out.resolve()} has the plot')
