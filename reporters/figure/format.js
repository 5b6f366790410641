'use strict';
// Formats numbers and adds text to the page. Numbers of the file are only scaled by powers of ten.
const dlroof = {
  content: JSON.parse(document.getElementById('content').textContent)
};

dlroof.prefixes = [
  [1e18, 'E'], [1e15, 'P'], [1e12, 'T'], [1e9, 'G'], [1e6, 'M'], [1e3, 'k'], [1, ''], [1e-3, 'm'], [1e-6, 'µ'], [1e-9, 'n'], [1e-12, 'p']
];

dlroof.isNumber = (value) => typeof value === 'number' && Number.isFinite(value);

// Three significant digits, with an exponent only for very small and very large numbers.
dlroof.digits = (value) => {
  if (!dlroof.isNumber(value)) return '';
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-4 || size >= 1e6)) return value.toExponential(2);
  return size >= 999.5 ? value.toFixed(0) : value.toPrecision(3);
};

dlroof.algorithm =
    (record) => [dlroof.text(record.algorithm), record.isa ? `isa ${dlroof.text(record.isa)}` : ''].filter(Boolean).join('; ');

// 1.6e11, 'FLOP/s' -> '160 GFLOP/s'. An unknown number gives ''.
dlroof.scaled = (value, unit) => {
  if (!dlroof.isNumber(value)) return '';
  if (value === 0) return `0 ${unit}`;
  const size = Math.abs(value);
  const found = dlroof.prefixes.find(([scale]) => size >= scale * 0.9995) || dlroof.prefixes[dlroof.prefixes.length - 1];
  return `${dlroof.digits(value / found[0])} ${found[1]}${unit}`;
};

// 0.664 -> '66.4 %', 0.00812 -> '0.812 %', 1 -> '100 %'.
dlroof.percent = (fraction) => (dlroof.isNumber(fraction) ? `${fraction === 0 ? 0 : dlroof.digits(fraction * 100)} %` : '');

// A number under `exact`, or its limit under `limit` (of a roof that is not validated), for sorting.
dlroof.exactOrLimit = (object, exact, limit) => (dlroof.isNumber(dlroof.map(object)[exact]) ? object[exact] : dlroof.map(object)[limit]);
// '', or `sign` if only a limit is known; '~' for a noisy time, which is itself a limit.
dlroof.limit = (exact, sign, noisy) => (noisy ? '~' : dlroof.isNumber(exact) ? '' : sign);
// '34.0 %', or '≤ 34.0 %' of a roof that is not validated. An unknown share gives ''.
dlroof.shareText = (entry, noisy) => {
  const share = dlroof.percent(dlroof.exactOrLimit(entry, 'fraction', 'fraction_at_most'));
  if (share === '') return '';
  return `${dlroof.limit(entry.fraction, '≤ ', noisy)}${share}`;
};
// '2.92×', or '≥ 2.92×'. An unknown slowdown gives ''.
dlroof.slowdown = (time) => dlroof.exactOrLimit(time, 'gap', 'gap_at_least');
dlroof.slowdownText = (time, noisy) => {
  const slowdown = dlroof.digits(dlroof.slowdown(time));
  return slowdown === '' ? '' : `${dlroof.limit(dlroof.map(time).gap, '≥ ', noisy)}${slowdown}×`;
};
// The time above the roof, '≥ 1.20 ms' above one that is not validated.
dlroof.aboveRoofText = (entry, noisy) => `${dlroof.limit(entry.above_roof_seconds, '≥ ', noisy)}${
    dlroof.scaled(dlroof.exactOrLimit(entry, 'above_roof_seconds', 'above_roof_seconds_at_least'), 's')}`;

// Capacities of caches are in powers of 1024.
dlroof.capacity = (bytes) => {
  if (!dlroof.isNumber(bytes)) return '';
  return bytes >= 1048576 ? `${dlroof.digits(bytes / 1048576)} MiB` : `${dlroof.digits(bytes / 1024)} KiB`;
};

dlroof.interval = (ends, unit) => {
  if (!Array.isArray(ends) || ends.length !== 2 || !ends.every(dlroof.isNumber)) return '';
  const [low, high] = ends.map((end) => dlroof.scaled(end, unit));
  const [lowUnit, highUnit] = [low, high].map((text) => text.slice(text.indexOf(' ')));
  return `${lowUnit === highUnit ? low.slice(0, low.indexOf(' ')) : low} – ${high}`;
};

dlroof.text = (value) => (typeof value === 'string' ? value : (dlroof.isNumber(value) ? String(value) : ''));

// plotly interprets hover texts and annotations as HTML.
dlroof.escape = (value) => dlroof.text(value).replace(/[&<>"'`\n\r]/g, (c) => (c === '\n' || c === '\r' ? ' ' : `&#${c.charCodeAt(0)};`));

// The names of a program's kernels are long: tables and charts show short ones.
dlroof.shownName = (record) => dlroof.text(record.short_name) || dlroof.text(record.name);

dlroof.byId = (id) => document.getElementById(id);

// Text is added to the page only here and by plotly, never as HTML.
dlroof.add = (parent, tag, className, text) => {
  const element = document.createElement(tag);
  if (className) element.className = className;
  if (text !== undefined) element.textContent = text;
  parent.append(element);
  return element;
};

dlroof.levelNames = {
  l1: 'L1',
  l2: 'L2',
  l3: 'L3',
  dram: 'DRAM',
  host: 'host'
};
dlroof.levelName = (level) => dlroof.levelNames[level] || dlroof.text(level);
// The entries of a map by level, nearest level first.
dlroof.byLevel = (value) =>
    Object.keys(dlroof.levelNames).filter((level) => level in dlroof.map(value)).map((level) => [level, value[level]]);
dlroof.list = (value) => (Array.isArray(value) ? value : []);
dlroof.map = (value) => (value !== null && typeof value === 'object' && !Array.isArray(value) ? value : {});

dlroof.threadsText = (threads) => `${threads} thread${String(threads) === '1' ? '' : 's'}`;

// '~' marks a noisy time and the numbers that follow from it.
dlroof.isNoisy = (record) => dlroof.map(record.seconds).disturbed === true;
dlroof.marked = (record, text) => (dlroof.isNoisy(record) && text !== '' ? `~${text}` : text);

dlroof.boundText = (record) => {
  const time = dlroof.map(record.time);
  const byMemory = time.bound === 'memory' && time.bound_level;
  return dlroof.marked(record, byMemory ? `${dlroof.levelName(time.bound_level)} bandwidth` : dlroof.text(time.bound)) +
      (time.given === true ? ' (specified)' : '');
};

dlroof.specifiedText = 'specified, not measured here';

// The point whose roof binds.
dlroof.binding = (record) => dlroof.list(record.classic)[record.binding];
// FLOP/s, share of the roof, and FLOP/byte of DRAM.
dlroof.ratesOf = (record) => dlroof.map(record.rate);

dlroof.repetitions = (record) => {
  const all = dlroof.list(record.repetitions);
  return all.length === 0 ? '' : `${all.filter((one) => !one.disturbed).length} / ${all.length}`;
};
