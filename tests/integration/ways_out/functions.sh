# What the rows call, beside the programs.

# plan WORD…: reads the small job, and checks all that can be checked before it runs.
plan() { fgnn plan job.yaml "$@" >/dev/null; }
# job WORD…: trains the small job.
job() { fgnn run job.yaml --quiet "$@"; }
# array FILE TYPE "VALUES" [COLUMNS]: as numpy.save(file, values.astype(type)).
array() { python3 -B "$TESTS/ways_out/array.py" "$@"; }
# imp WORD…: imports into the folder out, again and again.
imp() { rm -rf out && fgnn dataset import "$@" --out out; }
# py LINES: runs them, with the package fgnn and a client of the service.
py() {
  PYTHONPATH=$SITE "$PYTHON" -B -c "import fgnn, os, pathlib
JOB = {'dataset': 'g', 'model': {'hidden': 8}, 'sampling': {'fanouts': [3, 3]},
       'training': {'epochs': 1}, 'devices': ['cpu:0']}
$1"
}
# zip FILE NAME…: an archive of arrays, as numpy.savez makes it.
zip() { python3 -c 'import sys, zipfile
with zipfile.ZipFile(sys.argv[1], "w") as z: [z.write(name) for name in sys.argv[2:]]' "$@"; }
# checked [DATASET]: reads all of the dataset.
checked() { fgnn dataset validate "${1:-g}" >/dev/null; }
# numbers COUNT [FIRST]: that many numbers from FIRST, or 0, on.
numbers() { seq -s' ' "${2:-0}" $((${2:-0} + $1 - 1)); }
# up WORD…: the row's service; it is stopped when the row has ended.
up() { fgnn up "$@" >/dev/null; }
# endless WORD…: queues a job that goes on until it is cancelled; its id.
endless() {
  fgnn submit job.yaml --set training.epochs=1000000 --set training.evaluate_every=0 \
    --set training.checkpoint_every=0 --set devices=1 "$@"
}
# ran WORD…: trains the small job into the folder r.
ran() { rm -rf r && job --run-dir r "$@" >/dev/null; }
# links: a trained model of links in the folder r.
links() {
  fgnn dataset split-edges g --out s >/dev/null
  ran --set training.task=link_prediction --set dataset=s
}
# predict WORD…: predicts with the run in the folder r, again and again.
predict() { rm -f p.csv && fgnn predict r --dataset g --out p.csv "$@" >/dev/null; }
# kinds: a trained model in the folder r, of the dataset h, whose two columns of
# ids count apart. Sources are a, b, c and d, destinations a, b and c.
kinds() {
  head -n 4 n.csv >destinations.csv
  fgnn dataset import csv e.csv --bipartite --nodes source=n.csv \
    --nodes destination=destinations.csv --train-fraction 0.5 --out h
  ran --set dataset=h
}
# of_kinds: predicts the vertices of h that the file ids names.
of_kinds() { fgnn predict r --dataset h --vertices ids --out q.csv --force >/dev/null; }
# until COMMAND…: waits for it to succeed.
until_ok() { for _ in $(seq 200); do "$@" >/dev/null 2>&1 && return; sleep 0.05; done; "$@"; }
# member WORD…: calls as a user of group 65534.
member() {
  setpriv --reuid 65534 --regid 65534 --clear-groups bash -c '. "$FUNCTIONS"; "$@"' - "$@"
}
# certs WORD…: fgnn-certificates in the folder tls.
certs() { fgnn-certificates --dir tls "$@" >/dev/null; }
me() { id -un; }
# port WORD…: a service on a port, whose address is in the file address.
port() {
  mkdir -p -m 700 state
  fgnn-scheduler --state-dir "$FGNN_STATE_DIR" --spawn-daemons --devices cpu:0 \
    --listen 127.0.0.1:0 "$@" >/dev/null 2>log &
  until_ok grep -q 'listening on' log
  grep -o 'listening on 127.0.0.1:[0-9]*' log | grep -o '127.*' >address
}
# remote WORD…: calls the service on the port as the user of the folder u.
remote() { fgnn --server "$(cat address)" --tls-dir u "$@"; }
