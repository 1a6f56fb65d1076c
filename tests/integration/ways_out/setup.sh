# What each row's folder holds.
fgnn dataset generate sbm --nodes 300 --classes 3 --features 4 \
  --train-fraction 0.5 --seed 7 --out g
cat >job.yaml <<'J'
dataset: g
model: {hidden: 8}
sampling: {fanouts: [3, 3], batch_size: 64}
training: {epochs: 1}
devices: [cpu:0]
J
printf '0 1\n1 2\n2 0\n3 1\n' >e.txt
printf 'source,destination\na,b\nb,c\nc,a\nd,b\n' >e.csv
printf 'id,label,x\na,red,1\nb,blue,2\nc,red,3\nd,blue,4\n' >n.csv
# The arrays of a graph of three vertices.
mkdir a
array a/indptr.npy '<i8' '0 1 2 3'
array a/indices.npy '<i8' '1 2 0'
array a/features.npy '<f4' '1 2 3' 1
array a/labels.npy '<i8' '0 1 0'
