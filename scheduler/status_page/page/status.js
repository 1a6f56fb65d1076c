// The status page: asks the scheduler once a second, and shows what it answers.

import {h, morph} from './charts.js';
import {overview, shownJob} from './overview.js';
import {allJobs, byId, state} from './parts.js';
import {compareView, jobView} from './runs.js';
import * as words from './words.js';

const EVERY_MS = 1000;
const SLOWEST_MS = 10000;

// "#job=ID" and "#compare=ID,ID".
function place() {
  const [kind, value] = decodeURIComponent(location.hash.slice(1)).split('=');
  if (kind === 'job' && value) return {kind, ids: [value]};
  if (kind === 'compare' && value) return {kind, ids: value.split(',').slice(0, 2)};
  return {kind: 'all', ids: []};
}

// ---- Asking

async function ask(path) {
  const answer = await fetch(path, {cache: 'no-store', signal: AbortSignal.timeout(8000)});
  const json = await answer.json();
  if (!answer.ok) throw new Error(json.error ?? `HTTP status ${answer.status}`);
  return json;
}

const versionOf = (job) => `${job.state} ${job.progress.epochs_done} ${job.attempts}`;

// Asks for a job's epochs again where the job has changed since. The answer may
// be of a moment before the last status, so the version is the answer's own.
async function askForDetails(id) {
  const job = allJobs().find((one) => one.job_id === id);
  const version = job ? versionOf(job) : 'ended';
  const known = state.details.get(id);
  if (known && known.version === version) return;
  try {
    const answer = await ask(`api/job?id=${encodeURIComponent(id)}`);
    state.details.set(id, {...answer, version: job ? versionOf(answer.job) : version});
  } catch (error) {
    if (error instanceof TypeError || error.name === 'TimeoutError') throw error;
    state.details.set(id, {version, error: error.message});
  }
}

function wantedIds() {
  const {kind, ids} = place();
  if (kind !== 'all') return ids;
  const shown = shownJob();
  return shown ? [shown.job_id] : [];
}

// Jobs that newer ones push out of the status stay, once older ones are shown.
function keepOlder(fresh) {
  if (state.older.length === 0) return;
  const ids = new Set([...fresh.ended, ...state.older].map((job) => job.job_id));
  state.older.unshift(...state.status.ended.filter((job) => !ids.has(job.job_id)));
}

let timer = null;

async function update() {
  clearTimeout(timer);
  try {
    const fresh = await ask('api/status');
    keepOlder(fresh);
    state.status = fresh;
    const wanted = wantedIds();
    for (const id of [...state.details.keys()]) if (!wanted.includes(id)) state.details.delete(id);
    for (const id of wanted) await askForDetails(id);
    state.failures = 0;
    state.lastMs = Date.now();
  } catch (error) {
    state.failures += 1;
    state.error = error.message;
  }
  draw();
  const wait = Math.min(SLOWEST_MS, EVERY_MS * 2 ** Math.max(0, state.failures - 2));
  clearTimeout(timer);
  if (!document.hidden) timer = setTimeout(update, wait);
}

async function showOlder() {
  const last = [...state.status.ended, ...state.older].at(-1);
  if (!last) return;
  try {
    const {jobs} = await ask(`api/jobs?before=${encodeURIComponent(last.job_id)}`);
    state.hasOlder = jobs.length > 0;
    state.older.push(...jobs);
    draw();
  } catch (error) {
    state.error = error.message;
  }
}

// ---- Drawing

function drawHead() {
  const {status} = state;
  const isStale = state.failures > 1;
  document.body.classList.toggle('stale', isStale);
  byId('updated').textContent = state.lastMs ? `${isStale ? 'last update' : 'live'} ${words.clock(state.lastMs)}` : 'loading';
  const error = byId('error');
  error.hidden = !isStale;
  if (!error.hidden) {
    const text = `The scheduler does not answer (${state.error}). ${status ? 'This is what it said last. ' : ''}The page goes on asking; ‘fgnn status’ says whether the service runs, ‘fgnn up’ starts it.`;
    if (error.textContent !== text) error.textContent = text;
  }
  if (!status) return;
  byId('service').textContent = `${status.state_dir} · version ${status.version} · up ${words.seconds((status.time_ms - status.started_ms) / 1000)}`;
  document.title = status.jobs_running ? `FGNN: ${status.jobs_running} running` : 'FGNN';
}

function draw() {
  drawHead();
  if (!state.status) return;
  const {kind, ids} = place();
  const view = {all: () => overview(showOlder), job: () => jobView(ids[0]), compare: () => compareView(ids)}[kind]();
  const fresh = h('div', {id: 'view', 'data-place': location.hash}, view);
  const old = byId('view');
  if (old.dataset.place === location.hash) morph(old, fresh);
  else old.replaceWith(fresh);
}

addEventListener('hashchange', () => { update(); byId('main').focus(); scrollTo(0, 0); });
addEventListener('resize', draw);
document.addEventListener('visibilitychange', () => { if (!document.hidden) update(); });
update();
