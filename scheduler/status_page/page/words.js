// Numbers, times and scores in the words of `fgnn show`.

export const count = (number) => number.toLocaleString('en-US');

export function seconds(value) {
  if (value > 0 && value < 9.995e-4) return `${(value * 1e6).toFixed(0)} µs`;
  if (value < 0.9995) return `${(value * 1e3).toFixed(0)} ms`;
  if (value < 59.95) return `${value.toFixed(1)} s`;
  const whole = Math.round(value);
  const two = (number) => String(number).padStart(2, '0');
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${two(whole % 60)} s`;
  return `${Math.floor(whole / 3600)} h ${two(Math.floor(whole % 3600 / 60))} min`;
}

export const milliseconds = (value) => (value > 0 ? `${value.toFixed(2)} ms` : '–');
export const percent = (share, digits = 0) => `${(share * 100).toFixed(digits)} %`;

export function bytes(value) {
  if (value < 1024) return `${value} B`;
  const power = Math.min(4, Math.floor(Math.log2(value) / 10));
  const scaled = value / 1024 ** power;
  return `${scaled < 10 ? scaled.toFixed(1) : scaled.toFixed(0)} ${['', 'KiB', 'MiB', 'GiB', 'TiB'][power]}`;
}

export function rate(value) {
  if (value >= 1e6) return `${(value / 1e6).toFixed(2)} M/s`;
  if (value >= 1e3) return `${(value / 1e3).toFixed(1)} k/s`;
  return `${value.toFixed(0)} /s`;
}

export function clock(ms) {
  return new Date(ms).toLocaleTimeString('en-GB');
}

export function when(ms) {
  if (!ms) return '–';
  const date = new Date(ms);
  const two = (number) => String(number).padStart(2, '0');
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day} ${date.toLocaleTimeString('en-GB')}`;
}

// The scores by which epochs are compared come first: a job has one of these.
const SCORES = {
  accuracy: ['accuracy', (value) => percent(value, 2)],
  mrr: ['MRR', (value) => value.toFixed(4)],
  rmse: ['RMSE', (value) => String(Number(value.toPrecision(5)))],
  micro_f1: ['micro-F1', (value) => value.toFixed(4)],
  macro_f1: ['macro-F1', (value) => value.toFixed(4)],
  roc_auc: ['ROC-AUC', (value) => value.toFixed(4)],
  mean_rank: ['mean rank', (value) => value.toFixed(2)],
  mae: ['MAE', (value) => String(Number(value.toPrecision(5)))],
  r2: ['R2', (value) => value.toFixed(4)],
};

export const scoreWords = (name) => SCORES[name]?.[0] ?? name;
export const scoreFormat = (name) => SCORES[name]?.[1] ?? String;

// The first known score of a split, {name, text}; null: none is known.
export function comparedScore(scores) {
  const name = Object.keys(SCORES).find((one) => scores[one] !== undefined && scores[one] !== null);
  return name ? {name, text: SCORES[name][1](scores[name])} : null;
}

// All known scores of a split as [words, text].
export function allScores(scores) {
  return Object.keys(SCORES).filter((name) => scores[name] !== undefined && scores[name] !== null)
      .map((name) => [SCORES[name][0], SCORES[name][1](scores[name])]);
}

export const nameOf = (job) => job.name || job.job_id;

// Settings of a job file by their dotted names.
export function settingsOf(yaml) {
  const settings = new Map();
  const above = [];
  for (const line of (yaml ?? '').split('\n')) {
    const found = /^( *)([^:#\s][^:]*):\s*(.*)$/.exec(line);
    if (!found) continue;
    const depth = found[1].length / 2;
    above.length = depth;
    above[depth] = found[2];
    if (found[3] !== '') settings.set(above.join('.'), found[3]);
  }
  return settings;
}
