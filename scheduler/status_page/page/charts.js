// Pictures as SVG elements. Texts become text nodes, so that no name is markup.

const SVG = 'http://www.w3.org/2000/svg';

function make(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith('on')) element[name] = value;
    else element.setAttribute(name, value === true ? '' : value);
  }
  for (const child of children.flat(4)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : String(child));
  }
  return element;
}

// Makes an element of HTML: h('td', {class: 'n'}, 'text', otherElement).
export function h(tag, attributes, ...children) {
  return make(document.createElement(tag), attributes, children);
}

export function s(tag, attributes, ...children) {
  return make(document.createElementNS(SVG, tag), attributes, children);
}

const round = (number) => Math.round(number * 10) / 10;

// Ticks between the values, at most `most` + 1 of them, and the axis around them.
function axisOf(least, most, ticks, whole) {
  // Values that differ by their last digits alone have no ticks between them.
  if (!(most - least > 1e-12 * Math.max(Math.abs(least), Math.abs(most)))) {
    const room = whole ? 1 : Math.abs(least) * 0.1 || 1;
    [least, most] = whole ? [least, least + 1] : [least - room, most + room];
  }
  const rough = (most - least) / ticks;
  const power = 10 ** Math.floor(Math.log10(rough));
  let step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= rough * 0.999);
  if (whole) step = Math.max(1, Math.round(step));
  const values = [];
  for (let n = Math.ceil(least / step - 1e-9); n * step <= most + step * 1e-9; ++n) values.push(n * step);
  return {least, most, step, values};
}

const decimalsOf = (step) => Math.max(0, Math.min(6, -Math.floor(Math.log10(step) + 1e-9)));

function tickText(value, step, share) {
  if (share) return `${(value * 100).toFixed(decimalsOf(step * 100))} %`;
  if (Math.abs(value) >= 10000) return `${round(value / 1000)} k`;
  return value.toFixed(decimalsOf(step));
}

// A path through the points; it is broken where a value is missing.
function pathOf(points) {
  let path = '';
  let goesOn = false;
  for (const [x, y] of points) {
    if (y !== null) path += `${goesOn ? 'L' : 'M'}${round(x)} ${round(y)}`;
    goesOn = y !== null;
  }
  return path;
}

const isNumber = (value) => typeof value === 'number' && Number.isFinite(value);
const CLASSES = ['one', 'two'];

export function key(index) {
  return s('svg', {class: 'key', width: 18, height: 8, 'aria-hidden': 'true'},
      s('line', {class: `curve ${CLASSES[index]}`, x1: 0, y1: 4, x2: 18, y2: 4}));
}

// Draws a curve through the points, and a dot at the last one.
function curve(points, colour) {
  const last = points.findLast(([, value]) => value !== null);
  return last && [s('path', {class: `curve ${colour}`, d: pathOf(points)}),
    s('circle', {class: `fill-${colour}`, cx: round(last[0]), cy: round(last[1]), r: 2.8})];
}

// Lets the pointer and the arrow keys read a chart.
function makeReadable(svg, reading) {
  svg.reading = reading;
  svg.onpointermove = (event) => {
    const at = event.clientX - svg.getBoundingClientRect().left;
    read(svg, nearest(svg.reading, (value) => Math.abs(svg.reading.xAt(value) - at)));
  };
  svg.onpointerleave = () => read(svg, null);
  svg.onblur = () => read(svg, null);
  svg.onkeydown = (event) => {
    const step = {ArrowLeft: -1, ArrowRight: 1}[event.key];
    if (!step) return;
    event.preventDefault();
    const all = [...new Set(svg.reading.lines.flatMap((line) => line.xs))].sort((a, b) => a - b);
    const now = isNumber(svg.read) ? all.indexOf(svg.read) : all.length;
    read(svg, all[Math.max(0, Math.min(all.length - 1, now + step))]);
  };
}

// Draws lines over an axis of whole numbers.
//   chart: {title, unit, xLabel, lines: [{name, xs, ys}], format, share, fromZero, empty}
// The reading below the pointer, or moved by the arrow keys, stands in the caption.
export function lineChart(chart, width) {
  const height = 168;
  const lines = chart.lines.map((line) => ({...line, ys: line.ys.map((y) => (isNumber(y) ? y : null))}));
  const ys = lines.flatMap((line) => line.ys.filter(isNumber));
  const xs = lines.flatMap((line) => line.xs);
  const last = lines.map((line) => line.ys.filter(isNumber).at(-1));
  const format = chart.format;
  const readings = last.map((value, i) => [lines.length > 1 ? key(i) : null, isNumber(value) ? format(value) : '–', ' ']);
  const caption = h('figcaption', {}, h('h3', {}, chart.title), h('span', {class: 'soft'}, chart.unit),
      h('span', {class: lines.length > 1 ? 'last pair' : 'last'}, ...readings));
  if (ys.length === 0) return h('figure', {}, caption, h('p', {class: 'empty'}, chart.empty ?? 'not measured yet'));

  const low = chart.fromZero ? 0 : Math.min(...ys);
  const y = axisOf(low, Math.max(...ys), 4, false);
  y.least = Math.min(y.least, Math.floor(low / y.step + 1e-9) * y.step);
  const texts = y.values.map((value) => tickText(value, y.step, chart.share));
  const box = {left: Math.max(...texts.map((text) => text.length)) * 6.4 + 8, top: 8, right: width - 8, bottom: height - 30};
  const x = axisOf(Math.min(...xs), Math.max(...xs), Math.max(2, width / 70), true);
  const xAt = (value) => box.left + (value - x.least) / (x.most - x.least) * (box.right - box.left);
  const yAt = (value) => value === null ? null : box.bottom - (value - y.least) / (y.most - y.least) * (box.bottom - box.top);

  const drawn = lines.map((line, i) => curve(line.xs.map((value, j) => [xAt(value), yAt(line.ys[j])]), CLASSES[i]));
  const said = lines.map((line, i) => `${lines.length > 1 ? `${line.name}: ` : ''}${isNumber(last[i]) ? format(last[i]) : 'not measured'}`);
  const svg = s('svg', {width, height, role: 'img', tabindex: 0,
    'aria-label': `${chart.title}, ${chart.unit}, by ${chart.xLabel}. Last: ${said.join('; ')}. Arrow keys read other values.`},
      y.values.map((value, i) => [
        s('line', {class: 'grid', x1: box.left, x2: box.right, y1: round(yAt(value)), y2: round(yAt(value))}),
        s('text', {x: box.left - 6, y: round(yAt(value)) + 4, 'text-anchor': 'end'}, texts[i])]),
      x.values.map((value) => s('text', {x: round(xAt(value)), y: box.bottom + 14, 'text-anchor': 'middle'}, value)),
      s('text', {x: box.right, y: box.bottom + 27, 'text-anchor': 'end'}, chart.xLabel),
      s('line', {class: 'axis', x1: box.left, x2: box.right, y1: box.bottom, y2: box.bottom}),
      drawn,
      s('line', {class: 'cross', x1: -9, x2: -9, y1: box.top, y2: box.bottom, visibility: 'hidden'}));
  makeReadable(svg, {lines, xAt, format, label: chart.xLabel});
  return h('figure', {}, caption, svg);
}

function nearest(reading, distance) {
  const all = reading.lines.flatMap((line) => line.xs);
  return all.reduce((best, value) => distance(value) < distance(best) ? value : best, all[0]);
}

// Shows the values at `x`, or the last ones again (null).
function read(svg, x) {
  svg.read = x;
  const cross = svg.querySelector('.cross');
  const place = svg.parentElement.querySelector('.last');
  if (x === null) {
    cross.setAttribute('visibility', 'hidden');
    if (svg.lastReading) place.replaceChildren(...svg.lastReading);
    svg.lastReading = null;
    return;
  }
  const {lines, xAt, format, label} = svg.reading;
  cross.setAttribute('visibility', 'visible');
  cross.setAttribute('x1', xAt(x));
  cross.setAttribute('x2', xAt(x));
  svg.lastReading ??= [...place.childNodes];
  const values = lines.map((line, i) => {
    const value = line.ys[line.xs.indexOf(x)];
    return [lines.length > 1 ? key(i) : null, isNumber(value) ? format(value) : '–', ' '];
  });
  place.setAttribute('aria-live', 'polite');
  place.replaceChildren(...h('span', {}, h('span', {class: 'soft'}, `${label} ${x}: `), ...values).childNodes);
}

// Draws a device's batches: sampled ones upwards, trained ones downwards, one bar for each moment or
// epoch. `plans` are runs [plan, number of bars]; a strip in the middle has their colours.
export function lane(device, most, width) {
  const half = 17;
  const middle = half + 3;
  const number = device.sampled.length;
  const group = Math.max(1, Math.ceil(number / (width / 3)));
  const at = (i) => i / Math.max(1, number) * width;
  const bars = [];
  for (let i = 0; i < number; i += group) {
    const sum = (counts) => counts.slice(i, i + group).reduce((all, count) => all + (count ?? 0), 0) / group;
    const up = Math.min(1, sum(device.sampled) / most) * half;
    const down = Math.min(1, sum(device.trained) / most) * half;
    const place = {x: round(at(i)), width: Math.max(0.5, round(at(i + group) - at(i)) - (width / number > 2 ? 0.6 : 0))};
    if (up > 0) bars.push(s('rect', {class: 'fill-one', ...place, y: round(middle - 3 - up), height: round(up)}));
    if (down > 0) bars.push(s('rect', {class: 'fill-two', ...place, y: middle + 3, height: round(down)}));
  }
  const strips = [];
  let from = 0;
  for (const [plan, count] of device.plans) {
    const colour = {sampler: 'one', trainer: 'two', lost: 'bad', '': 'faint'}[plan] ?? 'grey';
    strips.push(s('rect', {class: `fill-${colour}`, x: round(at(from)), y: middle - 1.5, height: 3, width: round(at(count))},
        s('title', {}, plan || 'no job')));
    from += count;
  }
  return s('svg', {width, height: 2 * middle, role: 'img', 'aria-label': device.label}, strips, bars);
}

// Draws amounts of moments as an area, from 0 to `most`; null: there was none.
export function strip(amounts, most, label, width) {
  const height = 40;
  const at = (i) => i / Math.max(1, amounts.length) * width;
  let path = '';
  amounts.forEach((amount, i) => {
    if (amount === null) return;
    const top = round(height - 1 - amount / most * (height - 3));
    path += `${path && amounts[i - 1] !== null ? 'L' : `${path ? 'Z' : ''}M${round(at(i))} ${height - 1}L`}${round(at(i))} ${top}H${round(at(i + 1))}`;
    if (i + 1 === amounts.length || amounts[i + 1] === null) path += `V${height - 1}`;
  });
  return s('svg', {width, height, role: 'img', 'aria-label': label},
      s('line', {class: 'grid', x1: 0, x2: width, y1: 2, y2: 2}), s('line', {class: 'axis', x1: 0, x2: width, y1: height - 1, y2: height - 1}),
      path && s('path', {class: 'area', d: `${path}Z`}));
}

// Brings `old` to the state of `fresh`, and keeps what has not changed, with its focus and its place.
export function morph(old, fresh) {
  if (old.nodeName !== fresh.nodeName || old.id !== fresh.id) {
    old.replaceWith(fresh);
    return;
  }
  if (old.nodeType === Node.TEXT_NODE) {
    if (old.data !== fresh.data) old.data = fresh.data;
    return;
  }
  // What a reader of a chart has moved stays.
  if (old.classList.contains('cross')) return;
  if (old.classList.contains('last') && isNumber(old.closest('figure')?.querySelector('svg[tabindex]')?.read)) return;
  for (const {name} of [...old.attributes]) {
    if (!fresh.hasAttribute(name) && name !== 'open' && name !== 'aria-live') old.removeAttribute(name);
  }
  for (const {name, value} of fresh.attributes) {
    if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
  if (fresh.reading) old.reading = fresh.reading;
  for (const event of ['onchange', 'onclick']) old[event] = fresh[event];
  const before = [...old.childNodes];
  const after = [...fresh.childNodes];
  after.forEach((node, i) => (before[i] ? morph(before[i], node) : old.append(node)));
  before.slice(after.length).forEach((node) => node.remove());
}
