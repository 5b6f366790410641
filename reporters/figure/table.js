'use strict';
// The table of benchmarks. It can be sorted; rows are added in pieces, so that thousands of rows do not block the page.
dlroof.noteOf = (record) =>
    dlroof.text(record.reason) || dlroof.list(record.remarks).map(dlroof.text).join('; ') || dlroof.text(record.advice);

// Columns: key, heading, value for sorting, text, alignment.
dlroof.columns = [
  {key: 'name', title: 'Benchmark', value: (r) => dlroof.text(r.name), show: dlroof.shownName, kind: 'name'},
  {key: 'status', title: 'Status', value: (r) => dlroof.text(r.status), show: (r) => dlroof.text(r.status), kind: 'status'},
  {
    key: 'seconds',
    title: 'Time',
    value: (r) => dlroof.map(r.seconds).median,
    show: (r) => dlroof.marked(r, dlroof.scaled(dlroof.map(r.seconds).median, 's')),
    kind: 'number'
  },
  {
    key: 'rate',
    title: 'FLOP/s',
    value: (r) => dlroof.ratesOf(r).flops_per_second,
    show: (r) => dlroof.scaled(dlroof.ratesOf(r).flops_per_second, 'FLOP/s'),
    kind: 'number'
  },
  {
    key: 'intensity',
    title: 'FLOP/byte',
    value: (r) => dlroof.ratesOf(r).intensity,
    kind: 'number',
    show: (r) => dlroof.digits(dlroof.ratesOf(r).intensity)
  },
  {
    key: 'fraction',
    title: '% of roof',
    value: (r) => dlroof.exactOrLimit(dlroof.ratesOf(r), 'fraction', 'fraction_at_most'),
    show: (r) => dlroof.shareText(dlroof.ratesOf(r), dlroof.isNoisy(r)),
    kind: 'number'
  },
  {key: 'bound', title: 'Bound by', value: dlroof.boundText, show: dlroof.boundText, kind: 'bound'},
  {
    key: 'gap',
    title: '× roof',
    value: (r) => dlroof.slowdown(r.time),
    show: (r) => dlroof.slowdownText(dlroof.map(r.time), dlroof.isNoisy(r)),
    kind: 'number'
  },
  {
    key: 'clean',
    title: 'Clean',
    value: (r) => dlroof.list(r.repetitions).filter((one) => !one.disturbed).length,
    show: dlroof.repetitions,
    kind: 'number'
  },
  {key: 'algorithm', title: 'Algorithm', value: dlroof.algorithm, show: dlroof.algorithm, kind: 'algorithm'},
  {key: 'note', title: 'Reason, remark or advice', value: dlroof.noteOf, show: dlroof.noteOf, kind: 'note'},
];
dlroof.piece = 200;  // rows drawn at once
dlroof.rows = {
  order: [],
  drawn: 0
};

dlroof.compare = (a, b) => {
  const unknown = (value) => value === undefined || value === '' || value === null;
  if (unknown(a) || unknown(b)) return Number(unknown(a)) - Number(unknown(b));  // unknown values come last in both directions
  return typeof a === 'number' && typeof b === 'number' ? a - b : String(a).localeCompare(String(b), 'en', {numeric: true});
};

dlroof.sorted = (shown) => {
  const [key, direction] = dlroof.state.sort.split(':');
  const column = dlroof.columns.find((one) => one.key === key);
  if (column === undefined) return shown;
  const values = new Map(shown.map((index) => [index, column.value(dlroof.records[index])]));
  const sign = direction === 'down' ? -1 : 1;
  return shown.slice().sort((a, b) => {
    const known = dlroof.compare(values.get(a), values.get(b));
    const missing = [a, b].some((index) => [undefined, '', null].includes(values.get(index)));
    return (missing ? known : sign * known) || a - b;
  });
};

dlroof.makeHead = (changed) => {
  for (const column of dlroof.columns) {
    const head = dlroof.add(dlroof.byId('records-head'), 'th', column.kind === 'number' ? 'number' : '');
    head.scope = 'col';
    head.dataset.key = column.key;
    const button = dlroof.add(head, 'button', '', column.title);
    button.type = 'button';
    button.addEventListener('click', () => {
      const first = column.kind === 'number' ? 'down' : 'up';
      const [key, direction] = dlroof.state.sort.split(':');
      dlroof.state.sort =
          key !== column.key ? `${column.key}:${first}` : (direction === first ? `${key}:${first === 'up' ? 'down' : 'up'}` : '');
      changed();
    });
  }
};

dlroof.markHead = () => {
  const [key, direction] = dlroof.state.sort.split(':');
  for (const head of dlroof.byId('records-head').children) {
    if (head.dataset.key === key) head.setAttribute('aria-sort', direction === 'down' ? 'descending' : 'ascending');
    else head.removeAttribute('aria-sort');
  }
};

// A name may be broken after each of its parts.
dlroof.addBreakable = (cell, text) => {
  for (const part of text.split(/(?<=[/_])/)) cell.append(part, document.createElement('wbr'));
};

dlroof.addCell = (row, column, record) => {
  const text = column.show(record);
  const cell = dlroof.add(row, 'td', column.kind);
  if (text === '') return;
  if (column.kind !== 'name') cell.dataset.label = column.title;
  if (column.kind === 'status')
    dlroof.add(cell, 'span', `badge ${['ok', 'unsupported', 'failed', 'wrong'].includes(text) ? text : ''}`, text);
  else if (column.kind === 'note' || column.kind === 'algorithm') dlroof.add(cell, 'span', 'clamp', text).title = text;
  else if (column.kind === 'name') dlroof.addBreakable(cell, text);
  else cell.textContent = text;
  if (column.kind === 'name' && text !== record.name) cell.title = dlroof.text(record.name);
  if (column.key === 'intensity') dlroof.add(cell, 'small', '', `of ${dlroof.levelName(dlroof.ratesOf(record).level)}`);
  if (column.key === 'seconds')
    dlroof.add(cell, 'small', '', dlroof.interval(dlroof.map(record.seconds).ci95, 's')).title = '95 % confidence interval of the median';
};

dlroof.addRow = (body, index) => {
  const record = dlroof.records[index];
  const row = dlroof.add(body, 'tr');
  row.dataset.index = String(index);
  row.tabIndex = -1;
  row.setAttribute('aria-selected', String(dlroof.text(record.name) === dlroof.state.selected && dlroof.state.selected !== ''));
  for (const column of dlroof.columns) dlroof.addCell(row, column, record);
};

dlroof.addRows = (count) => {
  const body = document.createDocumentFragment();
  const end = Math.min(dlroof.rows.order.length, dlroof.rows.drawn + count);
  for (; dlroof.rows.drawn < end; dlroof.rows.drawn += 1) dlroof.addRow(body, dlroof.rows.order[dlroof.rows.drawn]);
  dlroof.byId('records-body').append(body);
  const more = dlroof.byId('records-more');
  const left = dlroof.rows.order.length - dlroof.rows.drawn;
  more.hidden = left === 0;
  more.textContent = `Show ${Math.min(left, 1000)} more of ${left}`;
};

dlroof.drawTable = (shown) => {
  const body = dlroof.byId('records-body');
  body.replaceChildren();
  dlroof.rows = {order: dlroof.sorted(shown), drawn: 0};
  dlroof.addRows(dlroof.piece);
  dlroof.markHead();
  if (shown.length === 0) {
    const cell = dlroof.add(dlroof.add(body, 'tr'), 'td', 'empty', 'No benchmark matches the filter.');
    cell.colSpan = dlroof.columns.length;
  }
  const first = body.querySelector('tr[aria-selected="true"]') || body.querySelector('tr[data-index]');
  if (first) first.tabIndex = 0;
};

// Why numbers of the shown benchmarks are limits: each ceiling with its reason once.
dlroof.drawLimits = (shown) => {
  const counts = new Map();
  for (const index of shown)
    for (const [ceiling, reason] of Object.entries(dlroof.map(dlroof.records[index].limited_by))) {
      const text = `${dlroof.levelName(ceiling)}: ${dlroof.text(reason)}`;
      counts.set(text, (counts.get(text) || 0) + 1);
    }
  const list = dlroof.byId('limits');
  list.replaceChildren();
  dlroof.byId('limits-section').hidden = counts.size === 0;
  for (const [text, count] of counts) dlroof.add(list, 'li', '', `${text} (${count} benchmark${count === 1 ? '' : 's'})`);
};

dlroof.focusRow = (row) => {
  if (!row || row.dataset.index === undefined) return;
  for (const other of dlroof.byId('records-body').querySelectorAll('tr[tabindex="0"]')) other.tabIndex = -1;
  row.tabIndex = 0;
  row.focus();
};

dlroof.watchTable = () => {
  const body = dlroof.byId('records-body');
  body.addEventListener('click', (event) => {
    const row = event.target.closest('tr[data-index]');
    if (row && String(getSelection()) === '') dlroof.select(Number(row.dataset.index));
  });
  body.addEventListener('keydown', (event) => {
    const row = event.target.closest('tr[data-index]');
    if (!row) return;
    if (event.key === 'ArrowDown') dlroof.focusRow(row.nextElementSibling);
    else if (event.key === 'ArrowUp') dlroof.focusRow(row.previousElementSibling);
    else if (event.key === 'Enter' || event.key === ' ') dlroof.select(Number(row.dataset.index));
    else return;
    event.preventDefault();
  });
  dlroof.byId('records-more').addEventListener('click', () => dlroof.addRows(1000));
};
