'use strict';
// Numbers to text and text to the page. Nothing here adds or divides two numbers of the file: a value is only
// scaled for display by a power of ten.
const dlroof = { content: JSON.parse(document.getElementById('content').textContent) };

dlroof.prefixes = [[1e18, 'E'], [1e15, 'P'], [1e12, 'T'], [1e9, 'G'], [1e6, 'M'], [1e3, 'k'],
  [1, ''], [1e-3, 'm'], [1e-6, 'µ'], [1e-9, 'n'], [1e-12, 'p']];

dlroof.isNumber = (value) => typeof value === 'number' && Number.isFinite(value);

// Three significant digits, without an exponent where it reads well.
dlroof.digits = (value) => {
  if (!dlroof.isNumber(value)) return '';
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-4 || size >= 1e6)) return value.toExponential(2);
  return size >= 999.5 ? value.toFixed(0) : value.toPrecision(3);
};

dlroof.algorithm = (record) => [dlroof.text(record.algorithm), record.isa ? `isa ${dlroof.text(record.isa)}` : ''].filter(Boolean).join('; ');

// 1.6e11, 'FLOP/s' -> '160 GFLOP/s'; '' for what is unknown.
dlroof.scaled = (value, unit) => {
  if (!dlroof.isNumber(value)) return '';
  if (value === 0) return `0 ${unit}`;
  const size = Math.abs(value);
  const found = dlroof.prefixes.find(([scale]) => size >= scale * 0.9995)
    || dlroof.prefixes[dlroof.prefixes.length - 1];
  return `${dlroof.digits(value / found[0])} ${found[1]}${unit}`;
};

dlroof.percent = (fraction) => {
  if (!dlroof.isNumber(fraction)) return '';
  return `${(fraction * 100).toFixed(fraction < 0.0995 ? 2 : 1)} %`;
};

// Capacities of caches come in powers of 1024.
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

// plotly reads hover texts and annotations as HTML.
dlroof.escape = (value) => dlroof.text(value).replace(/[&<>"'`\n\r]/g,
  (c) => (c === '\n' || c === '\r' ? ' ' : `&#${c.charCodeAt(0)};`));

dlroof.byId = (id) => document.getElementById(id);

// Text enters the page only here and through plotly, as text.
dlroof.add = (parent, tag, className, text) => {
  const element = document.createElement(tag);
  if (className) element.className = className;
  if (text !== undefined) element.textContent = text;
  parent.append(element);
  return element;
};

dlroof.levelNames = { l1: 'L1', l2: 'L2', l3: 'L3', dram: 'DRAM', host: 'host' };
dlroof.levelName = (level) => dlroof.levelNames[level] || dlroof.text(level);
// A map by level, nearest first.
dlroof.byLevel = (value) => Object.keys(dlroof.levelNames)
  .filter((level) => level in dlroof.map(value)).map((level) => [level, value[level]]);
dlroof.list = (value) => (Array.isArray(value) ? value : []);
dlroof.map = (value) => (value !== null && typeof value === 'object' && !Array.isArray(value) ? value : {});

dlroof.threadsText = (threads) => `${threads} thread${String(threads) === '1' ? '' : 's'}`;

// Stands before a noisy time and what rests on it.
dlroof.isDisturbed = (record) => dlroof.map(record.seconds).noisy === true;
dlroof.marked = (record, text) => (dlroof.isDisturbed(record) && text !== '' ? `~${text}` : text);

dlroof.boundText = (record) => {
  const time = dlroof.map(record.time);
  const byMemory = time.bound === 'memory' && time.bound_level;
  return dlroof.marked(record, byMemory ? `${dlroof.levelName(time.bound_level)} bandwidth` : dlroof.text(time.bound)) + (time.given === true ? ' (given)' : '');
};

dlroof.givenText = 'given, not measured here';

// The placement that binds: the lowest of the record's roofs.
dlroof.binding = (record) => dlroof.list(record.classic)[record.binding];

dlroof.repetitions = (record) => {
  const all = dlroof.list(record.repetitions);
  return all.length === 0 ? '' : `${all.filter((one) => !one.disturbed).length} / ${all.length}`;
};
